/*
 * Calls: the settings, the client that blocks, and answers read as JSON. See verb.h.
 */
#include <string.h>

#include "cli/submit.h"
#include "cli/verb.h"

static const struct cli_flag flags[] = {
    { "addr", 0, "URL", "the server, as http://HOST:PORT; several separated by commas", NULL,
      false },
    { "context", 0, "NAME", "which context of the configuration file", NULL, false },
    { "token", 0, "TOKEN", "who asks; others on this machine can see it: rather --token-file", NULL,
      false },
    { "token-file", 0, "FILE", "a file with the token", NULL, false },
    { "cacert", 0, "FILE", "certificates to trust, instead of the system's", NULL, false },
    { "client-cert", 0, "FILE", "a client certificate", NULL, false },
    { "client-key", 0, "FILE", "its key", NULL, false },
    { "give-up", 0, "TIME", "how long to try to get an answer (default 10s); 0s: once", NULL,
      false },
};
const struct flag_set client_flags = { "Flags of the connection", flags, COUNT_OF(flags) };

static const struct cli_flag of_namespace[] = {
    { "namespace", 'n', "NAME", "the namespace", NULL, false },
};
const struct flag_set namespace_flags = { NULL, of_namespace, COUNT_OF(of_namespace) };

/* Which flag gives a setting. Not every verb has each. */
static const char *const setting_flags[SETTING_COUNT] = {
    [SETTING_CONTEXT] = "context",       [SETTING_ADDR] = "addr",
    [SETTING_TOKEN] = "token",           [SETTING_TOKEN_FILE] = "token-file",
    [SETTING_CACERT] = "cacert",         [SETTING_CLIENT_CERT] = "client-cert",
    [SETTING_CLIENT_KEY] = "client-key", [SETTING_NAMESPACE] = "namespace",
    [SETTING_QUEUE] = "queue",           [SETTING_IMAGE] = "image",
    [SETTING_OUTPUT] = "output",
};

static bool has_flag(const struct grammar *grammar, const char *name)
{
    const struct cli_flag *flag;

    for (size_t i = 0; (flag = grammar_flag(grammar, i)); i++)
        if (text_eq(flag->name, name))
            return true;
    return false;
}

int cli_need_settings(struct cli *cli, const struct args *args)
{
    const char *given[SETTING_COUNT] = { 0 };
    struct err err = { 0 };

    if (cli->has_settings)
        return 0;
    for (int i = 0; i < SETTING_COUNT; i++)
        if (has_flag(args->grammar, setting_flags[i]))
            given[i] = args_get(args, setting_flags[i]);
    cli->give_up_ms = CLI_GIVE_UP_MS;
    if (args_duration(args, "give-up", &cli->give_up_ms, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (client_settings_find(given, &cli->settings, &err) < 0)
        return cli_fail_err(cli, &err);
    cli->has_settings = true;
    if (text_eq(cli->settings.values[SETTING_OUTPUT], "json"))
        cli->is_json = true;
    return 0;
}

int cli_need_client(struct cli *cli, const struct args *args)
{
    struct err err = { 0 };
    int r = cli_need_settings(cli, args);

    if (r != 0 || cli->client)
        return r;
    if (client_open(&cli->settings, NULL, &cli->client, &err) < 0)
        return cli_fail_err(cli, &err);
    return 0;
}

int cli_need_output(struct cli *cli, const struct args *args, struct output *out)
{
    struct err err = { 0 };
    int r = cli_need_client(cli, args);

    if (r != 0)
        return r;
    if (output_from_args(args, cli->settings.values[SETTING_OUTPUT], out, &err) < 0) {
        if (!args_get(args, "output")) /* which names itself */
            client_setting_blame(&cli->settings, SETTING_OUTPUT, &err);
        return cli_fail_usage(cli, "%s", err.text);
    }
    return 0;
}

int cli_read_json(struct cli *cli, const struct client_answer *answer, json_t **out)
{
    json_error_t at;

    *out = NULL;
    if (answer->body.len == 0)
        return 0;
    *out = json_loadb(answer->body.data, answer->body.len, 0, &at);
    if (*out)
        return 0;
    return cli_fail(cli, EXIT_FAILED, "the answer of %s is not JSON (line %d, column %d)",
                    client_address(cli->client), at.line, at.column);
}

/* Any answer will do. */
static int ask(struct cli *cli, const struct client_request *request, struct client_answer *answer)
{
    struct client_request full = *request;
    struct err err = { 0 };

    if (!full.timeout_ms) {
        full.timeout_ms = cli->give_up_ms;
        full.is_once = !cli->give_up_ms; /* its answer has the time of any other */
    }
    return client_call(cli->client, &full, answer, &err) < 0 ? cli_fail_err(cli, &err) : 0;
}

static int check_answer(struct cli *cli, const struct client_answer *answer)
{
    struct problem problem = { 0 };

    if (client_answer_is_ok(answer))
        return 0;
    client_answer_problem(answer, &problem);
    if (cli->making && problem.n_fields)
        return submit_fail(cli, &problem, answer->status);
    return cli_fail_problem(cli, &problem, answer->status);
}

int cli_call_answer(struct cli *cli, const struct client_request *request,
                    struct client_answer *answer)
{
    int r = ask(cli, request, answer);

    return r == 0 ? check_answer(cli, answer) : r;
}

int cli_call(struct cli *cli, const struct client_request *request, const json_t *body,
             json_t **out)
{
    CLEANUP(client_answer_fini) struct client_answer answer = { 0 };
    CLEANUP(freep) char *text = NULL;
    struct client_request full = *request;
    int r;

    if (body) {
        text = json_dumps(body, JSON_COMPACT);
        full.body = text;
        full.n_body = strlen(text);
    }
    r = cli_call_answer(cli, &full, &answer);
    if (r != 0 || !out)
        return r;
    return cli_read_json(cli, &answer, out);
}

int cli_call_if(struct cli *cli, const struct client_request *request, const json_t *body,
                enum problem_code but, json_t **out)
{
    CLEANUP(client_answer_fini) struct client_answer answer = { 0 };
    CLEANUP(freep) char *text = json_dumps(body, JSON_COMPACT);
    struct client_request full = *request;
    struct problem problem = { 0 };
    int r;

    *out = NULL;
    full.body = text;
    full.n_body = strlen(text);
    r = ask(cli, &full, &answer);
    if (r != 0)
        return r;
    if (!client_answer_is_ok(&answer)) {
        client_answer_problem(&answer, &problem);
        if (problem.code == but)
            return 0;
    }
    r = check_answer(cli, &answer);
    return r == 0 ? cli_read_json(cli, &answer, out) : r;
}

int cli_get(struct cli *cli, const char *path, json_t **out)
{
    struct client_request request = { .method = "GET", .path = path };

    return cli_call(cli, &request, NULL, out);
}

int cli_find(struct cli *cli, const char *path, json_t **out)
{
    CLEANUP(client_answer_fini) struct client_answer answer = { 0 };
    int r = ask(cli, &(struct client_request){ .method = "GET", .path = path }, &answer);

    *out = NULL;
    if (r != 0 || exit_of_problem(PROBLEM_NONE, answer.status) == EXIT_NOT_FOUND)
        return r;
    r = check_answer(cli, &answer);
    return r == 0 ? cli_read_json(cli, &answer, out) : r;
}
