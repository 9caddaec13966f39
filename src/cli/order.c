/* berth order: machines that the scheduler asks for, and what is said of them. */
#include "cli/amount.h"
#include "cli/verb.h"

/* "cpu 16, memory 64Gi" */
static void column_shape(const json_t *item, const struct output *output, struct str *out)
{
    const char *resource;
    json_t *amount;

    (void)output;
    json_object_foreach(json_object_get(item, "shape"), resource, amount)
        str_addf(out, "%s%s %s", out->len ? ", " : "", resource, json_string_value(amount));
}

static void column_age(const json_t *item, const struct output *output, struct str *out)
{
    output_age(item, "madeAt", output, out);
}

static const struct column columns[] = {
    { "ORDER", "key", NULL, 0 },
    { "POOL", "pool", NULL, 0 },
    { "SHAPE", NULL, column_shape, 0 },
    { "JOB", "job", NULL, COLUMN_HERE },
    { "STATE", "state", NULL, COLUMN_STATE },
    { "AGE", "-madeAt", column_age, COLUMN_RIGHT },
    { "PROVIDER", "provider", NULL, COLUMN_HERE },
    { "REASON", "reason", NULL, COLUMN_HERE },
};
static const struct listing listing = { columns, COUNT_OF(columns), "key", "key" };

static int run_list(struct cli *cli, const struct args *args)
{
    return cli_list(cli, args, "/v1/orders", "order.*", &listing);
}

static int run_show(struct cli *cli, const struct args *args)
{
    return cli_show(cli, args, "/v1/orders/", &listing);
}

/* Says an action of each order named. */
static int act(struct cli *cli, const struct args *args, const char *action)
{
    static const char *const texts[] = { "provider", "reason" };
    CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "action", action);

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (args_maybe(args, texts[i]))
            json_object_set_new(body, texts[i], json_string(args_maybe(args, texts[i])));
    return cli_act_each(cli, args, "/v1/orders/", body, &listing);
}

static int run_place(struct cli *cli, const struct args *args)
{
    return act(cli, args, "place");
}

static int run_fail(struct cli *cli, const struct args *args)
{
    return act(cli, args, "fail");
}

static int run_cancel(struct cli *cli, const struct args *args)
{
    return act(cli, args, "cancel");
}

static const struct cli_flag of_list[] = {
    { "state", 0, "STATES", "only these: wanted,placed,came,failed,cancelled,released",
      "@=wanted|placed|came|failed|cancelled|released", false },
};
static const struct flag_set narrow_flags = { NULL, of_list, COUNT_OF(of_list) };
static const struct grammar list_grammar = {
    .sets = { &list_flags, &narrow_flags, &output_flags, &time_flags, &client_flags },
};
static const struct grammar one_grammar = {
    .sets = { &output_flags, &time_flags, &client_flags },
    .rest = "ORDER",
    .rest_words = "@order",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct cli_flag own[] = {
    { "provider", 0, "NAME", "what the machine is called where it comes from", NULL, false },
    { "reason", 0, "TEXT", "why, for whoever looks at the order", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar act_grammar = {
    .sets = { &own_flags, &output_flags, &client_flags },
    .rest = "ORDER",
    .rest_words = "@order",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};

const struct verb verb_order_list = {
    .name = "order list",
    .run = run_list,
    .help = "List the machines that were ordered",
    .usage = "[FLAG...]",
    .more = "A machine comes when an agent registers under the order's name: berth agent --name "
            "ORDER.\nFIELD is one of key pool state madeAt endedAt, or a column's head.",
    .examples = { "order list --state wanted", "order list -w -o jsonl" },
    .grammar = &list_grammar,
};
const struct verb verb_order_show = {
    .name = "order show",
    .run = run_show,
    .help = "Show orders",
    .usage = "[FLAG...] ORDER...",
    .examples = { "order show spot-48211-1", "order show spot-48211-1 -o json" },
    .grammar = &one_grammar,
};
const struct verb verb_order_place = {
    .name = "order place",
    .run = run_place,
    .help = "Say that ordered machines are on their way",
    .usage = "[FLAG...] ORDER...",
    .examples = { "order place spot-48211-1 --provider i-0abc",
                  "order place spot-48211-1 spot-48211-2" },
    .grammar = &act_grammar,
};
const struct verb verb_order_fail = {
    .name = "order fail",
    .run = run_fail,
    .help = "Say that ordered machines cannot be had",
    .usage = "[FLAG...] ORDER...",
    .more = "Room that was held on them is let go, and their pool orders nothing for a while.",
    .examples = { "order fail spot-48211-1", "order fail spot-48211-1 --reason 'no capacity'" },
    .grammar = &act_grammar,
};
const struct verb verb_order_cancel = {
    .name = "order cancel",
    .run = run_cancel,
    .help = "Take orders back, before their machines come",
    .usage = "[FLAG...] ORDER...",
    .examples = { "order cancel spot-48211-1", "order cancel spot-48211-1 spot-48211-2 -o json" },
    .grammar = &act_grammar,
};
