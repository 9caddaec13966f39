/* berth node: the machines that run agents. */
#include "cli/amount.h"
#include "cli/verb.h"

/* An amount at a path of the item; 0 where there is none. */
static void add_amount(const json_t *item, const char *path, const char *resource, struct str *out)
{
    CLEANUP(str_fini) struct str text = { 0 };

    output_text(item, path, &text);
    amount_add(text.len ? text.data : "0", resource, out);
}

/* "8/64": what is used of what is offered. */
static void add_use(const json_t *item, const char *resource, struct str *out)
{
    CLEANUP(freep) char *used = text_format("used/%s", resource);
    CLEANUP(freep) char *offered = text_format("offers/%s", resource);

    if (!output_at(item, offered))
        return;
    add_amount(item, used, resource, out);
    str_add(out, "/");
    add_amount(item, offered, resource, out);
}

static void column_cpu(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_use(item, "cpu", out);
}

static void column_memory(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_use(item, "memory", out);
}

/* What else it offers: counters and devices, used and offered. */
static void column_other(const json_t *item, const struct output *output, struct str *out)
{
    const char *resource;
    json_t *amount;

    (void)output;
    json_object_foreach(json_object_get(item, "offers"), resource, amount)
    {
        CLEANUP(str_fini) struct str use = { 0 };

        if (text_eq(resource, "cpu") || text_eq(resource, "memory") || text_eq(resource, "pods"))
            continue;
        add_use(item, resource, &use);
        str_addf(out, "%s%s %s", out->len ? ", " : "", resource, str_text(&use));
    }
}

static void column_age(const json_t *item, const struct output *output, struct str *out)
{
    output_age(item, "firstRegisteredAt", output, out);
}

static void column_reason(const json_t *item, const struct output *output, struct str *out)
{
    const json_t *cordon = json_object_get(item, "cordon");
    const json_t *disabled = json_object_get(item, "disabled");
    size_t n_orphans = json_array_size(output_at(item, "info/orphans"));
    size_t n_kept = json_array_size(output_at(item, "info/kept"));

    (void)output;
    if (disabled && !cordon)
        output_text(disabled, "reason", out);
    output_text(cordon, "reason", out);
    if (json_object_get(cordon, "by")) {
        str_add(out, out->len ? " (" : "(");
        output_text(cordon, "by", out);
        str_add(out, ")");
    }
    if (json_object_get(item, "notRegistered")) {
        str_add(out, out->len ? "; " : "");
        output_text(item, "notRegistered", out);
    }
    if (n_orphans)
        str_addf(out, "%s%zu orphan%s of another ledger", out->len ? "; " : "", n_orphans,
                 n_orphans == 1 ? "" : "s");
    if (n_kept)
        str_addf(out, "%s%zu task%s may run on there (onDisconnect: keep)", out->len ? "; " : "",
                 n_kept, n_kept == 1 ? "" : "s");
}

static void column_runtimes(const json_t *item, const struct output *output, struct str *out)
{
    const char *name;
    json_t *version;

    (void)output;
    json_object_foreach(output_at(item, "info/runtimes"), name, version)
    {
        const char *text = json_string_value(version);

        str_addf(out, "%s%s%s%s", out->len ? ", " : "", name, text && text[0] ? " " : "",
                 text ? text : "");
    }
}

static void column_connected(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    if (json_object_get(item, "connected"))
        str_add(out, json_is_true(json_object_get(item, "connected")) ? "yes" : "no");
}

static void column_labels(const json_t *item, const struct output *output, struct str *out)
{
    const char *key;
    json_t *value;

    (void)output;
    json_object_foreach(json_object_get(item, "labels"), key, value)
        str_addf(out, "%s%s=%s", out->len ? "," : "", key,
                 json_is_string(value) ? json_string_value(value) : "");
}

static void add_names(const json_t *list, struct str *out)
{
    const json_t *name;
    size_t i;

    json_array_foreach(list, i, name)
        str_addf(out, "%s%s", out->len ? ", " : "", json_string_value(name));
}

/* What it runs that no list of attempts has: of another ledger, or kept while it is cut off. */
static void column_orphans(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_names(output_at(item, "info/orphans"), out);
}

static void column_kept(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_names(output_at(item, "info/kept"), out);
}

static const struct column columns[] = {
    { "NODE", "name", NULL, 0 },
    { "STATE", "state", NULL, COLUMN_STATE },
    { "CPU", "used/cpu", column_cpu, COLUMN_RIGHT },
    { "MEM", "used/memory", column_memory, COLUMN_RIGHT },
    { "OTHER", NULL, column_other, 0 },
    { "TASKS", "attempts", NULL, COLUMN_RIGHT },
    { "AGE", "-firstRegisteredAt", column_age, COLUMN_RIGHT },
    { "REASON", NULL, column_reason, 0 },
    { "AGENT", "info/version", NULL, COLUMN_WIDE | COLUMN_HERE },
    { "RUNTIMES", NULL, column_runtimes, COLUMN_WIDE },
    { "CONNECTED", NULL, column_connected, COLUMN_WIDE },
    { "ADDRESS", "address", NULL, COLUMN_WIDE | COLUMN_HERE },
    { "LABELS", NULL, column_labels, COLUMN_WIDE },
    { "ORPHANS", NULL, column_orphans, COLUMN_WIDE },
    { "KEPT", NULL, column_kept, COLUMN_WIDE },
};
static const struct listing listing = { columns, COUNT_OF(columns), "name", "name" };

static int run_list(struct cli *cli, const struct args *args)
{
    return cli_list(cli, args, "/v1/nodes", "node.*,attempt.*", &listing);
}

static int run_show(struct cli *cli, const struct args *args)
{
    return cli_show(cli, args, "/v1/nodes/", &listing);
}

/* ---- changes ---- */

/* An action on each node named. */
static int act(struct cli *cli, const struct args *args, const json_t *body)
{
    return cli_act_each(cli, args, "/v1/nodes/", body, &listing);
}

static json_t *action_of(const struct args *args, const char *action)
{
    json_t *body = json_pack("{s:s}", "action", action);

    if (args_maybe(args, "reason"))
        json_object_set_new(body, "reason", json_string(args_maybe(args, "reason")));
    return body;
}

static int run_cordon(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = action_of(args, "cordon");

    return act(cli, args, body);
}

static int run_uncordon(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = action_of(args, "uncordon");

    return act(cli, args, body);
}

static int run_drain(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = action_of(args, "drain");
    int r = cli_put_grace(cli, args, body);

    return r != 0 ? r : act(cli, args, body);
}

static int run_label(struct cli *cli, const struct args *args)
{
    static const char *const headers[] = { "If-Match: *", NULL };
    CLEANUP(json_decrefp) json_t *body = json_pack("{s:{}}", "labels");
    CLEANUP(freep) char *path = cli_path("/v1/nodes/", args->rest.at[0], "");
    struct err err = { 0 };

    for (size_t i = 1; i < args->rest.n; i++)
        if (cli_put_label(json_object_get(body, "labels"), args->rest.at[i], &err) < 0)
            return cli_fail_usage(cli, "%s", err.text);
    return cli_change(
        cli, args, &(struct client_request){ .method = "PATCH", .path = path, .headers = headers },
        body, &listing);
}

static int run_forget(struct cli *cli, const struct args *args)
{
    CLEANUP(freep)
    char *what = args->rest.n == 1 ? text_format("forget node %s", args->rest.at[0])
                                   : text_format("forget %zu nodes", args->rest.n);
    int r = cli_confirm(cli, args, what);

    return r != 0 ? r : cli_delete_each(cli, args, "/v1/nodes/", "forgotten");
}

static const struct cli_flag of_list[] = {
    { "state", 0, "STATES", "only these: ready,cordoned,draining,disabled,unreachable,lost,gone",
      "@=ready|cordoned|draining|disabled|unreachable|lost|gone|coming|leaving", false },
    { "label", 'l', "KEY=VALUE", "only with this label; KEY: whatever its value", NULL, false },
};
static const struct flag_set narrow_flags = { NULL, of_list, COUNT_OF(of_list) };
static const struct grammar list_grammar = {
    .sets = { &list_flags, &narrow_flags, &output_flags, &time_flags, &client_flags },
};
static const struct grammar one_grammar = {
    .sets = { &output_flags, &time_flags, &client_flags },
    .rest = "NODE",
    .rest_words = "@node",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct cli_flag own[] = {
    { "reason", 0, "TEXT", "why, for whoever looks at the node", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar cordon_grammar = {
    .sets = { &own_flags, &output_flags, &client_flags },
    .rest = "NODE",
    .rest_words = "@node",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct cli_flag drain[] = {
    { "grace", 0, "TIME", "from TERM to KILL, instead of each job's own", NULL, false },
    { "reason", 0, "TEXT", "why, for whoever looks at the node", NULL, false },
};
static const struct flag_set drain_flags = { NULL, drain, COUNT_OF(drain) };
static const struct grammar drain_grammar = {
    .sets = { &drain_flags, &output_flags, &client_flags },
    .rest = "NODE",
    .rest_words = "@node",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct grammar label_grammar = {
    .sets = { &output_flags, &client_flags },
    .rest = "NODE and LABEL",
    .rest_words = "@node",
    .n_rest_min = 2,
    .n_rest_max = REST_MANY,
};
static const struct cli_flag forget[] = {
    { "yes", 'y', NULL, "without asking", NULL, false },
};
static const struct flag_set forget_flags = { NULL, forget, COUNT_OF(forget) };
static const struct grammar forget_grammar = {
    .sets = { &forget_flags, &client_flags },
    .rest = "NODE",
    .rest_words = "@node",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};

const struct verb verb_node_list = {
    .name = "node list",
    .run = run_list,
    .help = "List the nodes",
    .usage = "[FLAG...]",
    .more = "FIELD is one of name state attempts generation firstRegisteredAt registeredAt "
            "heardAt, of\n"
            "used offers free labels with a key (used.cpu, labels.zone), or a column's head.",
    .examples = { "node list -w -l disk=nvme", "node list --sort -free.cpu -o wide" },
    .grammar = &list_grammar,
};
const struct verb verb_node_show = {
    .name = "node show",
    .run = run_show,
    .help = "Show nodes",
    .usage = "[FLAG...] NODE...",
    .examples = { "node show gpu-a1", "node show gpu-a1 -o json" },
    .grammar = &one_grammar,
};
const struct verb verb_node_cordon = {
    .name = "node cordon",
    .run = run_cordon,
    .help = "Give nodes no new work; what runs there goes on",
    .usage = "[FLAG...] NODE...",
    .examples = { "node cordon gpu-a1 --reason 'kernel update'", "node cordon gpu-a1 gpu-a2" },
    .grammar = &cordon_grammar,
};
const struct verb verb_node_uncordon = {
    .name = "node uncordon",
    .run = run_uncordon,
    .help = "Give nodes work again, cordoned or drained",
    .usage = "[FLAG...] NODE...",
    .examples = { "node uncordon gpu-a1", "node uncordon gpu-a1 gpu-a2" },
    .grammar = &one_grammar,
};
const struct verb verb_node_drain = {
    .name = "node drain",
    .run = run_drain,
    .help = "Give nodes no new work, and stop what runs there to run elsewhere",
    .usage = "[FLAG...] NODE...",
    .more =
        "What runs gets TERM, and after the grace KILL; its tasks wait for room elsewhere, and no\n"
        "try is spent. Budgets of jobs are not asked: who drains decides. The node stays drained "
        "until\n"
        "`berth node uncordon`.",
    .examples = { "node drain gpu-a1 --reason fan", "node drain gpu-a1 gpu-a2 --grace 5m" },
    .grammar = &drain_grammar,
};
const struct verb verb_node_label = {
    .name = "node label",
    .run = run_label,
    .help = "Set labels of a node, or take them back",
    .usage = "[FLAG...] NODE LABEL...",
    .more =
        "LABEL is KEY=VALUE, which lies over what the agent says, or KEY- to take back what was\n"
        "set. Labels survive a restart of the agent.",
    .examples = { "node label gpu-a1 disk=nvme rack=r12", "node label gpu-a1 rack-" },
    .grammar = &label_grammar,
};
const struct verb verb_node_forget = {
    .name = "node forget",
    .run = run_forget,
    .help = "Take nodes that are lost or gone off the list",
    .usage = "[FLAG...] NODE...",
    .more = "A node that is heard of is refused. One that comes back later is a new node.",
    .examples = { "node forget gpu-a1", "node forget old-1 old-2 --yes" },
    .grammar = &forget_grammar,
};
