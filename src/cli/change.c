/*
 * berth job set, hold and release: changes of a job that is not over.
 */
#include "cli/job.h"

/* Each job named, by the id of the word; *out is its path and what follows, yours. */
static int path_of(struct cli *cli, const struct args *args, const char *word, const char *more,
                   char **out)
{
    struct job_name name;
    int r = job_name_find(cli, args, word, &name);

    if (r != 0)
        return r;
    if (name.task[0])
        return cli_fail_usage(cli, "%s is a task; only whole jobs can be changed", word);
    *out = job_path(name.job, more);
    return 0;
}

static int each(struct cli *cli, const struct args *args, const char *method, const char *more,
                const json_t *body)
{
    static const char *const headers[] = { "If-Match: *", NULL };
    int r = cli_need_client(cli, args);

    for (size_t i = 0; r == 0 && i < args->rest.n; i++) {
        CLEANUP(freep) char *path = NULL;
        struct client_request request = { .method = method, .is_repeatable = true };

        r = path_of(cli, args, args->rest.at[i], more, &path);
        if (r != 0)
            return r;
        request.path = path;
        request.headers = text_eq(method, "PATCH") ? headers : NULL;
        r = cli_change(cli, args, &request, body, &job_listing);
    }
    return r;
}

static int run_set(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = json_object();
    json_t *labels = json_object();
    struct err err = { 0 };
    int64_t priority = 0;

    json_object_set_new(body, "labels", labels);
    for (size_t i = 0; i < args->flags.n; i++)
        if (text_eq(args->flags.at[i].flag->name, "label") &&
            cli_put_label(labels, args->flags.at[i].value, &err) < 0)
            return cli_fail_usage(cli, "--label: %s", err.text);
    if (json_object_size(labels) == 0)
        json_object_del(body, "labels");
    if (args_int(args, "priority", INT32_MIN, INT32_MAX, &priority, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (args_has(args, "priority"))
        json_object_set_new(body, "priority", json_integer(priority));
    if (json_object_size(body) == 0)
        return cli_fail_usage(cli, "say what to set: --priority, --label");
    return each(cli, args, "PATCH", "", body);
}

static int act(struct cli *cli, const struct args *args, const char *action)
{
    CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "action", action);

    return each(cli, args, "POST", "/actions", body);
}

static int run_hold(struct cli *cli, const struct args *args)
{
    return act(cli, args, "hold");
}

static int run_release(struct cli *cli, const struct args *args)
{
    return act(cli, args, "release");
}

static const struct cli_flag own[] = {
    { "priority", 0, "N", "of the jobs of a queue, the higher comes first", NULL, false },
    { "label", 'l', "LABEL", "KEY=VALUE sets it, KEY- takes it away", NULL, true },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar set_grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct grammar grammar = {
    .sets = { &namespace_flags, &output_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};

const struct verb verb_job_set = {
    .name = "job set",
    .run = run_set,
    .help = "Change the priority or labels of jobs",
    .usage = "[FLAG...] JOB...",
    .examples = { "job set j-12 --priority 700", "job set j-12 j-13 --label run=b --label old-" },
    .grammar = &set_grammar,
};
const struct verb verb_job_hold = {
    .name = "job hold",
    .run = run_hold,
    .help = "Start nothing more of jobs; what runs goes on",
    .usage = "[FLAG...] JOB...",
    .examples = { "job hold j-12", "job hold j-12 j-13 -o json" },
    .grammar = &grammar,
};
const struct verb verb_job_release = {
    .name = "job release",
    .run = run_release,
    .help = "Let jobs that were held start",
    .usage = "[FLAG...] JOB...",
    .examples = { "job release j-12", "job release j-12 j-13" },
    .grammar = &grammar,
};
