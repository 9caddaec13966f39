/*
 * berth: the program. One table of verbs; each is a file of src/cli.
 */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "server/server.h"

enum { EXIT_WRONG_USAGE = 2 };

static const struct verb *const verbs[] = {
    &verb_run,          &verb_submit,       &verb_ps,
    &verb_explain,      &verb_explain_code, &verb_logs,
    &verb_cancel,       &verb_wait,         &verb_job_list,
    &verb_job_show,     &verb_job_timeline, &verb_node_list,
    &verb_node_show,    &verb_node_cordon,  &verb_node_uncordon,
    &verb_queue_list,   &verb_queue_show,   &verb_queue_create,
    &verb_queue_set,    &verb_queue_delete, &verb_token_list,
    &verb_token_create, &verb_token_delete, &verb_event_watch,
    &verb_completion,   &verb_version,      &verb_help,
    &verb_server,
};

static int run_server(const struct server_flags *flags)
{
    struct server_options options = { .listen = flags->listen,
                                      .worker_listen = flags->worker_listen,
                                      .data = flags->data,
                                      .store = flags->store,
                                      .token_file = flags->token_file };
    struct err err = { 0 };
    int r = server_serve(&options, flags->config, &err);

    if (r == 0)
        return 0;
    fprintf(stderr, "berth: %s\n", err.text);
    return r == -EINVAL ? EXIT_WRONG_USAGE : 1;
}

static const struct cli_programs programs = { .server = run_server };

int main(int argc, char **argv)
{
    return cli_main(verbs, COUNT_OF(verbs), &programs, argc, (const char *const *)argv);
}
