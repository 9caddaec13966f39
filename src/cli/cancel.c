/* berth cancel: ends jobs, whatever state they are in. */
#include "base/states.h"
#include "cli/job.h"

static void print_outcome(const json_t *job, bool is_quiet)
{
    const char *id = json_string_value(json_object_get(job, "id"));
    const char *state = json_string_value(json_object_get(job, "state"));

    if (is_quiet)
        printf("%s\n", id);
    else if (text_eq(state, job_state_words[JOB_CANCELLED]) && !json_object_get(job, "startedAt"))
        printf("%s  %s (was waiting)\n", id, state);
    else if (text_eq(state, job_state_words[JOB_SUCCEEDED]) ||
             text_eq(state, job_state_words[JOB_FAILED]))
        printf("%s  %s already\n", id, state);
    else
        printf("%s  %s\n", id, state);
}

/* What is asked of each job. */
struct asking {
    json_t *body;
    struct output output;
};

static int cancel_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    struct asking *asking = arg;
    struct output *output = &asking->output;
    CLEANUP(json_decrefp) json_t *job = NULL;
    CLEANUP(freep) char *path = NULL;
    struct job_name name;
    struct err err = { 0 };
    int r = job_name_find(cli, args, word, &name);

    if (r != 0)
        return r;
    if (name.task[0])
        return cli_fail_usage(cli, "%s is a task; only whole jobs can be cancelled", word);
    path = job_path(name.job, "/actions");
    r = cli_call(cli,
                 &(struct client_request){ .method = "POST", .path = path, .is_repeatable = true },
                 asking->body, &job);
    if (r != 0)
        return r;
    if (output->format == OUTPUT_TABLE)
        print_outcome(job, args_has(args, "quiet"));
    else if (output_item(output, &job_listing, job, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    output->has_head = false; /* several jobs have one */
    return EXIT_DONE;
}

static int run_cancel(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "action", "cancel");
    struct asking asking = { .body = body };
    int r = cli_need_output(cli, args, &asking.output);

    if (r == 0)
        r = cli_put_grace(cli, args, body);
    if (r != 0)
        return r;
    if (args_has(args, "reason"))
        json_object_set_new(body, "reason", json_string(args_get(args, "reason")));
    return cli_each(cli, args, cancel_one, &asking);
}

static const struct cli_flag own[] = {
    { "grace", 0, "TIME", "from TERM to KILL, instead of the job's own", NULL, false },
    { "reason", 0, "TEXT", "why, for whoever looks at the job", NULL, false },
    { "quiet", 0, NULL, "print ids only", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
const struct verb verb_cancel = {
    .name = "cancel",
    .run = run_cancel,
    .help = "Cancel jobs",
    .usage = "[FLAG...] JOB...",
    .more = "A waiting job ends at once; a running one gets TERM, and after the grace KILL.",
    .examples = { "cancel j-12", "cancel j-12 train --grace 5s --reason 'wrong data'" },
    .grammar = &grammar,
};
