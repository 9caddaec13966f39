/*
 * berth version: what this program is. Asks no server unless told to, so that it is quick.
 */
#include "cli/verb.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

void version_print(void)
{
    printf("berth %s\n", BERTH_VERSION);
}

static int run_version(struct cli *cli, const struct args *args)
{
    static const struct column columns[] = {
        { "CLIENT", "client", NULL, 0 },   { "SERVER", "server", NULL, 0 },
        { "PROFILE", "profile", NULL, 0 }, { "BUILD", "build", NULL, 0 },
        { "COMMIT", "commit", NULL, 0 },
    };
    static const struct listing listing = { columns, COUNT_OF(columns), "client", "client" };
    CLEANUP(json_decrefp) json_t *document = NULL;
    CLEANUP(json_decrefp) json_t *server = NULL;
    struct output output;
    struct err err = { 0 };
    int r;

    if (output_from_args(args, NULL, &output, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    document = json_pack("{s:s,s:[s],s:s,s:s}", "client", BERTH_VERSION, "api", "v1", "build",
                         "c17 " COMPILER, "commit", BERTH_COMMIT);
    if (args_has(args, "server")) {
        r = cli_need_client(cli, args);
        if (r != 0)
            return r;
        r = cli_get(cli, "/v1/version", &server);
        if (r != 0)
            return r;
        json_object_set(document, "server", json_object_get(server, "version"));
        json_object_set(document, "profile", json_object_get(server, "profile"));
    }
    if (output.format == OUTPUT_TABLE && !args_has(args, "server")) {
        version_print();
        return EXIT_DONE;
    }
    if (output_item(&output, &listing, document, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

static const struct cli_flag flags[] = {
    { "server", 0, NULL, "ask the server for its version too, and which profile decides there",
      NULL, false },
};
static const struct flag_set own_flags = { NULL, flags, COUNT_OF(flags) };
static const struct grammar grammar = { .sets = { &own_flags, &output_flags, &client_flags } };
const struct verb verb_version = {
    .name = "version",
    .run = run_version,
    .help = "Print the version of this program, and of the server",
    .usage = "[FLAG...]",
    .examples = { "version", "version --server -o json" },
    .grammar = &grammar,
};
