/*
 * berth version: what this program is. Asks no server unless told to, so that it is quick.
 */
#include "cli/verb.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* The server's own version; null where it cannot be had, which is no failure of ours. */
static json_t *ask_server(struct cli *cli)
{
    CLEANUP(client_answer_fini) struct client_answer answer = { 0 };
    struct client_request request = { .method = "GET", .path = "/v1/version", .timeout_ms = 5000 };
    struct err err = { 0 };
    json_t *document, *version;

    if (client_call(cli->client, &request, &answer, &err) < 0) {
        fprintf(stderr, "berth: %s\n", err.text);
        return json_null();
    }
    document = json_loadb(answer.body.data ? answer.body.data : "", answer.body.len, 0, NULL);
    version = json_incref(json_object_get(document, "version"));
    json_decref(document);
    return version ? version : json_null();
}

void version_print(void)
{
    printf("berth %s\n", BERTH_VERSION);
}

static int run_version(struct cli *cli, const struct args *args)
{
    static const struct column columns[] = {
        { "CLIENT", "client", NULL, 0 },
        { "SERVER", "server", NULL, 0 },
        { "BUILD", "build", NULL, 0 },
        { "COMMIT", "commit", NULL, 0 },
    };
    static const struct listing listing = { columns, COUNT_OF(columns), "client", "client" };
    CLEANUP(json_decrefp) json_t *document = NULL;
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
        json_object_set_new(document, "server", ask_server(cli));
    }
    if (output.format == OUTPUT_TABLE && !args_has(args, "server")) {
        version_print();
        return EXIT_DONE;
    }
    if (output_item(&output, &listing, document, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

static const struct flag flags[] = {
    { "server", 0, NULL, "ask the server for its version too", NULL, false },
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
