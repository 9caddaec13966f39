/*
 * berth sim: scenario documents, without a server; what they do lives in another house.
 */
#include "cli/verb.h"

/* Hands the words on, flags first. */
static int run_sim(struct cli *cli, const struct args *args, const char *verb)
{
    VEC_OF(const char *) words = { 0 };
    int exit_code;

    VEC_PUSH(&words, "sim");
    VEC_PUSH(&words, verb);
    if (args_maybe(args, "output")) {
        VEC_PUSH(&words, "-o");
        VEC_PUSH(&words, args_maybe(args, "output"));
    }
    for (size_t i = 0; i < args->rest.n; i++)
        VEC_PUSH(&words, args->rest.at[i]);
    exit_code = cli->programs->sim((int)words.n, (char **)words.at);
    VEC_FINI(&words);
    return exit_code;
}

static int run_check(struct cli *cli, const struct args *args)
{
    return run_sim(cli, args, "check");
}

static int run_show(struct cli *cli, const struct args *args)
{
    return run_sim(cli, args, "show");
}

static const struct cli_flag own[] = {
    { "output", 'o', "FORMAT", "table or json", "table|json", false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar check_grammar = {
    .sets = { &own_flags }, .rest = "FILE", .n_rest_min = 1, .n_rest_max = REST_MANY
};
static const struct grammar show_grammar = { .rest = "FILE", .n_rest_min = 1, .n_rest_max = 1 };

const struct verb verb_sim_check = {
    .name = "sim check",
    .run = run_check,
    .help = "Run scenario documents and compare with what they expect",
    .usage = "[FLAG...] FILE...",
    .more = "A folder stands for all documents in it, *.json and *.yaml; at most 1,000 files and "
            "folders\n"
            "are named at a time. Exits with 1 if one did not come out as it says, with 2 if one "
            "cannot\n"
            "be read or a folder has none.",
    .examples = { "sim check tests/scenario", "sim check -o json gang.json" },
    .grammar = &check_grammar,
};
const struct verb verb_sim_show = {
    .name = "sim show",
    .run = run_show,
    .help = "Show a scenario document and what comes of it",
    .usage = "FILE",
    .examples = { "sim show gang.json",
                  "sim show tests/scenario/batch/allocate/two-tasks-one-node.json" },
    .grammar = &show_grammar,
};
