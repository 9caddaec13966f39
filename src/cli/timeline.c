/* berth job timeline: where the time of a start went, phase by phase. */
#include "cli/job.h"

static void column_seconds(const json_t *item, const char *key, struct str *out)
{
    const json_t *value = json_object_get(item, key);

    if (json_is_integer(value))
        str_addf(out, "%.3f", (double)json_integer_value(value) / 1e6);
}

static void column_start(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    column_seconds(item, "startUs", out);
}

static void column_took(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    column_seconds(item, "tookUs", out);
}

static const struct column columns[] = {
    { "PHASE", "phase", NULL, 0 },
    { "START", NULL, column_start, COLUMN_RIGHT },
    { "TOOK", NULL, column_took, COLUMN_RIGHT },
    { "NOTE", "note", NULL, 0 },
    { "ATTEMPT", "attempt", NULL, COLUMN_WIDE },
    { "NODE", "node", NULL, COLUMN_WIDE },
};
static const struct listing listing = { columns, COUNT_OF(columns), "phase", "phase" };
/* The whole of it, which has no columns, is known by its job. */
static const struct listing whole_listing = { NULL, 0, "job", "job" };

/* Adds an attempt's phases, each with whose it is. */
static void add_phases(const json_t *attempt, json_t *rows)
{
    json_t *phase;
    size_t i;

    json_array_foreach(json_object_get(attempt, "phases"), i, phase)
    {
        json_object_set(phase, "attempt", json_object_get(attempt, "attempt"));
        json_object_set(phase, "node", json_object_get(attempt, "node"));
        json_array_append(rows, phase);
    }
}

static int print_rows(struct cli *cli, const struct output *output, const json_t *rows)
{
    struct err err = { 0 };

    if (output_list(output, &listing, rows, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

/* The attempts one below the other; as rows they have one head. */
static int print_attempts(struct cli *cli, const struct output *output, const json_t *timeline)
{
    CLEANUP(json_decrefp) json_t *rows = json_array();
    const json_t *attempts = json_object_get(timeline, "attempts");
    json_t *attempt;
    size_t i;

    json_array_foreach(attempts, i, attempt)
    {
        int r;

        add_phases(attempt, rows);
        if (output_has_rows(output))
            continue;
        if (json_array_size(attempts) > 1)
            printf("%s%s on %s\n", i ? "\n" : "",
                   json_string_value(json_object_get(attempt, "attempt")),
                   json_string_value(json_object_get(attempt, "node")));
        r = print_rows(cli, output, rows);
        json_array_clear(rows);
        if (r != EXIT_DONE)
            return r;
    }
    return output_has_rows(output) ? print_rows(cli, output, rows) : EXIT_DONE;
}

static int run_timeline(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *timeline = NULL;
    CLEANUP(str_fini) struct str more = { 0 };
    CLEANUP(freep) char *path = NULL;
    struct job_name name;
    struct output output;
    struct err err = { 0 };
    const char *task;
    int r = cli_need_output(cli, args, &output);

    if (r == 0)
        r = job_name_find(cli, args, args->rest.at[0], &name);
    if (r != 0)
        return r;
    task = args_has(args, "task") ? args_get(args, "task") : name.task;
    str_add(&more, "/timeline");
    if (task[0]) {
        str_add(&more, "?task=");
        client_escape(task, &more);
    }
    path = job_path(name.job, more.data);
    r = cli_get(cli, path, &timeline);
    if (r != 0)
        return r;
    if (output_has_columns(&output) && !json_array_size(json_object_get(timeline, "attempts")))
        fprintf(stderr, "berth: %s%s%s has not been placed yet\n", name.job, task[0] ? "/" : "",
                task);
    if (output_has_columns(&output))
        return print_attempts(cli, &output, timeline);
    if (output_item(&output, &whole_listing, timeline, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

static const struct cli_flag own[] = {
    { "task", 0, "TASK", "only of this task: worker.3", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = 1,
};
const struct verb verb_job_timeline = {
    .name = "job timeline",
    .run = run_timeline,
    .help = "Show where the time of a job's start went",
    .usage = "[FLAG...] JOB",
    .more = "Seconds from the submit, or of a later attempt from the end of the one before.",
    .examples = { "job timeline last", "job timeline j-12 --task worker.3 -o json" },
    .grammar = &grammar,
};
