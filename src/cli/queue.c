/* berth queue: shares of the cluster. */
#include <errno.h>

#include "base/quantity.h"
#include "cli/amount.h"
#include "cli/verb.h"

/* ---- columns ---- */

/* "8 cpu, 2Gi memory" of an object of amounts. */
static void add_amounts(const json_t *amounts, struct str *out)
{
    const char *resource;
    json_t *amount;

    json_object_foreach((json_t *)amounts, resource, amount)
    {
        CLEANUP(str_fini) struct str text = { 0 };

        output_text(amounts, resource, &text);
        if (out->len)
            str_add(out, ", ");
        amount_add(str_text(&text), resource, out);
        str_addf(out, " %s", resource);
    }
}

static void column_guarantee(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_amounts(json_object_get(item, "guarantee"), out);
}

static void column_deserved(const json_t *item, const struct output *output, struct str *out)
{
    const json_t *counted = output_at(item, "usage/deserved");

    (void)output;
    add_amounts(counted ? counted : json_object_get(item, "deserved"), out);
}

static void column_allocated(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_amounts(output_at(item, "usage/allocated"), out);
}

static void column_requested(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_amounts(output_at(item, "usage/requested"), out);
}

static void column_demand(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_amounts(output_at(item, "usage/demand"), out);
}

static void column_fair(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_amounts(output_at(item, "usage/fairShare"), out);
}

static void column_cap(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_amounts(json_object_get(item, "cap"), out);
}

static void column_reclaimable(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    str_add(out, json_is_false(json_object_get(item, "reclaimable")) ? "no" : "yes");
}

static void column_preemption(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    output_text(item, "preemption", out);
    str_add(out, out->len ? "" : "allowed");
}

/* "2h"; where a queue above it allows less: "1h (of lab)". */
static void column_max_limit(const json_t *item, const struct output *output, struct str *out)
{
    const char *whose = json_string_value(json_object_get(item, "longestLimitOf"));

    (void)output;
    if (!whose || text_eq(whose, json_string_value(json_object_get(item, "name")))) {
        output_text(item, "maxLimit", out);
        return;
    }
    output_text(item, "longestLimit", out);
    str_addf(out, " (of %s)", whose);
}

static const struct column columns[] = {
    { "QUEUE", "name", NULL, 0 },
    { "STATE", "state", NULL, COLUMN_STATE },
    { "WEIGHT", "weight", NULL, COLUMN_RIGHT },
    { "GUARANTEED", NULL, column_guarantee, 0 },
    { "DESERVED", NULL, column_deserved, 0 },
    { "ALLOCATED", NULL, column_allocated, 0 },
    { "CAP", NULL, column_cap, 0 },
    { "PENDING", "usage/pending", NULL, COLUMN_RIGHT },
    { "RUNNING", "usage/running", NULL, COLUMN_RIGHT },
    { "PARENT", "parent", NULL, COLUMN_WIDE },
    { "REQUESTED", NULL, column_requested, COLUMN_WIDE },
    { "DEMAND", NULL, column_demand, COLUMN_WIDE },
    { "FAIR", NULL, column_fair, COLUMN_WIDE },
    { "PRIORITY", "priority", NULL, COLUMN_RIGHT | COLUMN_WIDE },
    { "RECLAIMABLE", NULL, column_reclaimable, COLUMN_WIDE },
    { "MIN_RUNTIME", "minRuntime", NULL, COLUMN_RIGHT | COLUMN_WIDE | COLUMN_HERE | COLUMN_TIME },
    { "REVISION", "revision", NULL, COLUMN_RIGHT | COLUMN_WIDE | COLUMN_HERE },
    { "PREEMPTION", NULL, column_preemption, COLUMN_WIDE },
    { "MAX_LIMIT", "maxLimit", column_max_limit,
      COLUMN_RIGHT | COLUMN_WIDE | COLUMN_HERE | COLUMN_TIME },
};
static const struct listing listing = { columns, COUNT_OF(columns), "name", "name" };

static int run_list(struct cli *cli, const struct args *args)
{
    return cli_list(cli, args, "/v1/queues", "queue.*,job.*,attempt.*", &listing);
}

static int run_show(struct cli *cli, const struct args *args)
{
    return cli_show(cli, args, "/v1/queues/", &listing);
}

static int run_delete(struct cli *cli, const struct args *args)
{
    return cli_delete_each(cli, args, "/v1/queues/", "deleted");
}

/* ---- create and set ---- */

/* Puts one "RESOURCE=AMOUNT" into an object, or null for "RESOURCE-", which takes it back. */
static int put_amount(const char *flag, const char *word, json_t *amounts, struct err *err)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    bool is_back = !equals && n > 1 && word[n - 1] == '-';
    CLEANUP(freep) char *resource = NULL;
    int64_t amount;

    if (!is_back && (!equals || equals == word))
        return err_set(err, -EINVAL, "--%s: '%s' is not RESOURCE=AMOUNT", flag, word);
    resource = mem_copy(word, is_back ? n - 1 : n);
    if (!is_back && quantity_parse(equals + 1, quantity_unit_of(resource), &amount, err) < 0)
        return err_wrap(err, "--%s %s", flag, word);
    if (json_object_get(amounts, resource))
        return err_set(err, -EINVAL, "--%s: %s is there twice", flag, resource);
    json_object_set_new(amounts, resource, is_back ? json_null() : json_string(equals + 1));
    return 0;
}

/* Puts what each flag of that name says into an object of the body: "RESOURCE=AMOUNT,...". */
static int put_amounts(const struct args *args, const char *flag, const char *key, json_t *body,
                       struct err *err)
{
    json_t *amounts = json_object_get(body, key);

    for (size_t i = 0; i < args->flags.n; i++) {
        CLEANUP(freep) char *words = text_copy(args->flags.at[i].value);
        char *rest = words, *word;

        if (!text_eq(args->flags.at[i].flag->name, flag))
            continue;
        if (!amounts) {
            amounts = json_object();
            json_object_set_new(body, key, amounts);
        }
        while ((word = strsep(&rest, ",")))
            if (put_amount(flag, word, amounts, err) < 0)
                return err->code;
    }
    return 0;
}

/* The object under a key, made if it is not there. */
static json_t *object_under(json_t *body, const char *key)
{
    json_t *object = json_object_get(body, key);

    if (!object) {
        object = json_object();
        json_object_set_new(body, key, object);
    }
    return object;
}

/* "A,B" of a flag as a list of names; "" is none of them. */
static void put_groups(const struct args *args, const char *flag, const char *key,
                       const char *member, json_t *body)
{
    CLEANUP(freep) char *words = text_copy(args_get(args, flag));
    char *rest = words, *word;
    json_t *names;

    if (!words)
        return;
    names = json_array();
    while ((word = strsep(&rest, ",")))
        if (word[0])
            json_array_append_new(names, json_string(word));
    json_object_set_new(object_under(body, key), member, names);
}

/* "GROUP:RESOURCE=AMOUNT,..." of each --group-limit. */
static int put_limits(const struct args *args, json_t *body, struct err *err)
{
    for (size_t i = 0; i < args->flags.n; i++) {
        CLEANUP(freep) char *group = text_copy(args->flags.at[i].value);
        char *colon = strchr(group, ':'), *rest, *word;

        if (!text_eq(args->flags.at[i].flag->name, "group-limit"))
            continue;
        if (!colon || colon == group)
            return err_set(err, -EINVAL, "--group-limit: '%s' is not GROUP:RESOURCE=AMOUNT", group);
        *colon = '\0';
        rest = colon + 1;
        while ((word = strsep(&rest, ",")))
            if (put_amount("group-limit", word,
                           object_under(object_under(body, "nodeGroupLimits"), group), err) < 0)
                return err->code;
    }
    return 0;
}

static int put_number(const struct args *args, const char *flag, json_t *body, struct err *err)
{
    int64_t value = 0;

    if (!args_has(args, flag))
        return 0;
    if (args_int(args, flag, INT32_MIN, INT32_MAX, &value, err) < 0)
        return err->code;
    json_object_set_new(body, flag, json_integer(value));
    return 0;
}

static int make_body(const struct args *args, json_t *body, struct err *err)
{
    static const char *const amounts[][2] = { { "guarantee", "guarantee" },
                                              { "deserved", "deserved" },
                                              { "cap", "cap" },
                                              { "capability", "cap" } };
    static const char *const texts[][2] = { { "parent", "parent" },
                                            { "state", "state" },
                                            { "min-runtime", "minRuntime" },
                                            { "preemption", "preemption" },
                                            { "max-limit", "maxLimit" },
                                            { "hierarchy", "hierarchy" },
                                            { "hierarchy-weights", "hierarchyWeights" } };
    static const char *const groups[][3] = {
        { "require-groups", "nodeGroupAffinity", "required" },
        { "prefer-groups", "nodeGroupAffinity", "preferred" },
        { "forbid-groups", "nodeGroupAntiAffinity", "required" },
        { "avoid-groups", "nodeGroupAntiAffinity", "preferred" },
    };
    static const char *const numbers[] = { "weight", "priority" };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (args_has(args, texts[i][0]))
            json_object_set_new(body, texts[i][1], json_string(args_get(args, texts[i][0])));
    for (size_t i = 0; i < COUNT_OF(numbers) && r == 0; i++)
        r = put_number(args, numbers[i], body, err);
    for (size_t i = 0; i < COUNT_OF(amounts) && r == 0; i++)
        r = put_amounts(args, amounts[i][0], amounts[i][1], body, err);
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        put_groups(args, groups[i][0], groups[i][1], groups[i][2], body);
    if (r == 0)
        r = put_limits(args, body, err);
    if (args_has(args, "reclaimable"))
        json_object_set_new(body, "reclaimable",
                            json_boolean(text_eq(args_get(args, "reclaimable"), "yes") ||
                                         text_eq(args_get(args, "reclaimable"), "true")));
    return r;
}

static int run_create(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "name", args->rest.at[0]);
    struct err err = { 0 };

    if (make_body(args, body, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return cli_change(cli, args, &(struct client_request){ .method = "POST", .path = "/v1/queues" },
                      body, &listing);
}

static int run_set(struct cli *cli, const struct args *args)
{
    static const char *const headers[] = { "If-Match: *", NULL };
    CLEANUP(json_decrefp) json_t *body = json_object();
    CLEANUP(freep) char *path = cli_path("/v1/queues/", args->rest.at[0], "");
    struct err err = { 0 };

    if (make_body(args, body, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (json_object_size(body) == 0)
        return cli_fail_usage(cli, "say what to set: --state, --weight, --cap ...");
    return cli_change(
        cli, args, &(struct client_request){ .method = "PATCH", .path = path, .headers = headers },
        body, &listing);
}

static const struct cli_flag own[] = {
    { "parent", 0, "QUEUE", "the queue it is a part of", "@queue", false },
    { "state", 0, "STATE", "open; draining: no new jobs; closed: no new tasks either",
      "open|draining|closed", false },
    { "weight", 0, "N", "its share against its siblings", NULL, false },
    { "priority", 0, "N", "of queues, the higher comes first", NULL, false },
    { "guarantee", 0, "AMOUNTS", "never lent out: RESOURCE=AMOUNT, several with commas", NULL,
      true },
    { "deserved", 0, "AMOUNTS", "what it may take back; without it its weight says", NULL, true },
    { "cap", 0, "AMOUNTS", "never more than this", NULL, true },
    { "capability", 0, "AMOUNTS", "the same as --cap", NULL, true },
    { "reclaimable", 0, "WORD", "whether others may take back what it borrowed",
      "yes|no|true|false", false },
    { "min-runtime", 0, "TIME", "younger work of its is not ended for others", NULL, false },
    { "max-limit", 0, "TIME", "no job of it may have a longer time limit; 0s: none", NULL, false },
    { "preemption", 0, "WORD", "never: its jobs evict nobody, here or in other queues",
      "allowed|never", false },
    { "hierarchy", 0, "PATH", "its place in the tree of plugin drf: root/eng/dev", NULL, false },
    { "hierarchy-weights", 0, "WEIGHTS", "of each step: 100/50/50", NULL, false },
    { "require-groups", 0, "GROUPS", "groups of nodes that its tasks must use (plugin nodegroup)",
      NULL, false },
    { "prefer-groups", 0, "GROUPS", "that they would rather use", NULL, false },
    { "forbid-groups", 0, "GROUPS", "that they must not use", NULL, false },
    { "avoid-groups", 0, "GROUPS", "that they would rather not use", NULL, false },
    { "group-limit", 0, "LIMIT", "GROUP:RESOURCE=AMOUNT: what they may hold in a group", NULL,
      true },
};
static const struct flag_set own_flags = { "Flags of the queue", own, COUNT_OF(own) };
static const struct cli_flag of_list[] = {
    { "state", 0, "STATES", "only these: open,draining,closed", "@=open|draining|closed", false },
};
static const struct flag_set state_flags = { NULL, of_list, COUNT_OF(of_list) };
static const struct grammar list_grammar = { .sets = { &list_flags, &state_flags, &output_flags,
                                                       &client_flags } };
static const struct grammar show_grammar = {
    .sets = { &output_flags, &client_flags },
    .rest = "QUEUE",
    .rest_words = "@queue",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct grammar delete_grammar = {
    .sets = { &client_flags },
    .rest = "QUEUE",
    .rest_words = "@queue",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct grammar change_grammar = {
    .sets = { &own_flags, &output_flags, &client_flags },
    .rest = "QUEUE",
    .rest_words = "@queue",
    .n_rest_min = 1,
    .n_rest_max = 1,
};

/* ---- why ---- */

static const struct cli_flag why_own[] = {
    { "resource", 0, "NAME", "of this resource; default cpu", NULL, false },
};
static const struct flag_set why_flags = { NULL, why_own, COUNT_OF(why_own) };
static const struct grammar why_grammar = {
    .sets = { &why_flags, &output_flags, &client_flags },
    .rest = "QUEUE",
    .rest_words = "@queue",
    .n_rest_min = 1,
    .n_rest_max = 1,
};

static void column_holders(const json_t *item, const struct output *output, struct str *out)
{
    json_t *holder;
    size_t i;

    (void)output;
    json_array_foreach(json_object_get(item, "holders"), i, holder)
    {
        str_add(out, i ? ", " : "");
        str_add(out, json_object_get(holder, "job") ? "" : "another");
        output_text(holder, "job", out);
        str_add(out, " ");
        output_text(holder, "amount", out);
        str_add(out, json_object_get(holder, "stopping") ? " (stopping)" : "");
        str_add(out, json_object_get(holder, "held") ? " (held for it)" : "");
    }
}

static const struct column why_columns[] = {
    { "QUEUE", "queue", NULL, 0 },
    { "RESOURCE", "resource", NULL, 0 },
    { "DESERVED", "deserved", NULL, COLUMN_RIGHT },
    { "FAIR", "fairShare", NULL, COLUMN_RIGHT },
    { "ALLOCATED", "allocated", NULL, COLUMN_RIGHT },
    { "REQUESTED", "requested", NULL, COLUMN_RIGHT },
    { "DEMAND", "demand", NULL, COLUMN_RIGHT },
    { "CAP", "cap", NULL, COLUMN_RIGHT },
    { "BORROWED", "borrowed", NULL, COLUMN_RIGHT },
    { "BELOW", "below", NULL, COLUMN_RIGHT },
    { "GUARANTEED", "guaranteed", NULL, COLUMN_RIGHT },
    { "CLUSTER", "cluster", NULL, COLUMN_RIGHT },
    { "HOLDERS", NULL, column_holders, 0 },
};
static const struct listing why_listing = { why_columns, COUNT_OF(why_columns), "queue", "queue" };

static void why_line(const json_t *why, const char *key, const char *more)
{
    CLEANUP(str_fini) struct str text = { 0 };

    if (!json_object_get(why, key))
        return;
    output_text(why, key, &text);
    printf("%-10s %s%s\n", key, text.data, more);
}

static void print_why(const json_t *why)
{
    CLEANUP(str_fini) struct str holders = { 0 }, more = { 0 };

    column_holders(why, NULL, &holders);
    if (!text_eq(json_string_value(json_object_get(why, "below")), "0")) {
        str_add(&more, "   below what it deserves by ");
        output_text(why, "below", &more);
    } else if (!text_eq(json_string_value(json_object_get(why, "borrowed")), "0")) {
        str_add(&more, "   borrowed ");
        output_text(why, "borrowed", &more);
    }
    why_line(why, "deserved", "");
    why_line(why, "fairShare", "");
    why_line(why, "allocated", str_text(&more));
    why_line(why, "stopping", "   of what is being stopped: on its nodes until it has ended");
    why_line(why, "held", "   for jobs that wait for it");
    why_line(why, "requested", "");
    why_line(why, "demand", "");
    why_line(why, "cap", "");
    if (!text_eq(json_string_value(json_object_get(why, "guaranteed")), "0")) {
        str_clear(&more);
        str_add(&more, " to all queues, of ");
        output_text(why, "cluster", &more);
        str_add(&more, json_object_get(why, "exceeded")
                           ? " that there is: nothing is left for who has no guarantee"
                           : " that there is");
        why_line(why, "guaranteed", str_text(&more));
    }
    printf("%-10s %s\n", "holders", holders.len ? holders.data : "-");
}

static int run_why(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *why = NULL;
    CLEANUP(str_fini) struct str path = { 0 };
    struct output output;
    struct err err = { 0 };
    int r = cli_need_output(cli, args, &output);

    if (r != 0)
        return r;
    str_add(&path, "/v1/queues/");
    client_escape(args->rest.at[0], &path);
    str_add(&path, "/why");
    cli_add_query(&path, "resource", args_get(args, "resource"));
    r = cli_get(cli, path.data, &why);
    if (r != 0)
        return r;
    if (output_is_table(&output) && !output_has_rows(&output))
        print_why(why);
    else if (output_item(&output, &why_listing, why, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

const struct verb verb_queue_why = {
    .name = "queue why",
    .run = run_why,
    .help = "Say who holds a queue's share",
    .usage = "[FLAG...] QUEUE",
    .more =
        "What the queue deserves of a resource, what is its fair share now, what it has, and the\n"
        "jobs that hold it. Requested is all that it holds and waits for; demand leaves out what "
        "could\n"
        "not start (held, waiting for another job, larger than any node), and its fair share goes "
        "by it.\n"
        "What is being stopped is allocated no more, and on its nodes until it has ended; held is\n"
        "what that, or a machine on its way, is to give to jobs that wait.",
    .examples = { "queue why research", "queue why research --resource memory" },
    .grammar = &why_grammar,
};
const struct verb verb_queue_list = {
    .name = "queue list",
    .run = run_list,
    .help = "List the queues",
    .usage = "[FLAG...]",
    .more = "FIELD is one of name state weight priority parent usage.pending usage.running, of\n"
            "usage.allocated usage.requested usage.demand usage.deserved usage.fairShare deserved\n"
            "guarantee cap with a resource (usage.allocated.cpu), or a column's head.",
    .examples = { "queue list --sort -usage.allocated.cpu", "queue list -o json" },
    .grammar = &list_grammar,
};
const struct verb verb_queue_show = {
    .name = "queue show",
    .run = run_show,
    .help = "Show queues",
    .usage = "[FLAG...] QUEUE...",
    .examples = { "queue show research", "queue show research -o yaml" },
    .grammar = &show_grammar,
};
const struct verb verb_queue_create = {
    .name = "queue create",
    .run = run_create,
    .help = "Create a queue",
    .usage = "[FLAG...] QUEUE",
    .examples = { "queue create research --weight 2",
                  "queue create night --parent research --weight 3 --deserved cpu=4,memory=8Gi" },
    .grammar = &change_grammar,
};
const struct verb verb_queue_set = {
    .name = "queue set",
    .run = run_set,
    .help = "Change a queue; what is not named stays",
    .usage = "[FLAG...] QUEUE",
    .more = "Amounts are changed one by one; RESOURCE- instead of RESOURCE=AMOUNT takes one back.",
    .examples = { "queue set research --state draining",
                  "queue set research --cap cpu=32,memory-" },
    .grammar = &change_grammar,
};
const struct verb verb_queue_delete = {
    .name = "queue delete",
    .run = run_delete,
    .help = "Delete queues that have no jobs and no children (also: rm)",
    .usage = "[FLAG...] QUEUE...",
    .examples = { "queue delete night", "queue delete night old" },
    .grammar = &delete_grammar,
};
