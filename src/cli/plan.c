/* berth plan: what would become of a job if it were submitted now. Nothing is submitted. */
#include <string.h>

#include "cli/explain.h"
#include "cli/job.h"
#include "cli/submit.h"

enum { TASKS_SHOWN = 20 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static void column_frees(const json_t *item, const struct output *output, struct str *out)
{
    const char *resource;
    json_t *amount;

    (void)output;
    json_object_foreach(json_object_get(item, "frees"), resource, amount)
        str_addf(out, "%s%s %s", out->len ? ", " : "", json_string_value(amount), resource);
}

static const struct column task_columns[] = {
    { "TASK", "task", NULL, 0 },
    { "NODE", "node", NULL, 0 },
};
static const struct listing tasks_listing = { task_columns, COUNT_OF(task_columns), "task",
                                              "task" };
/* As rows: each task that would start, then each group of which some would wait. */
static void column_row_info(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    job_add_reason(item, out);
}

static const struct column row_columns[] = {
    { "TASK", "task", NULL, 0 },
    { "NODE", "node", NULL, 0 },
    { "TASKS", "tasks", NULL, COLUMN_RIGHT },
    { "INFO", NULL, column_row_info, 0 },
};
static const struct listing rows_listing = { row_columns, COUNT_OF(row_columns), "task", "task" };

static const struct column victim_columns[] = {
    { "VICTIM", "attempt", NULL, 0 },
    { "NODE", "node", NULL, 0 },
    { "FREES", NULL, column_frees, 0 },
};
static const struct listing victim_listing = { victim_columns, COUNT_OF(victim_columns), "attempt",
                                               "attempt" };

/* How many tasks the job has in all. */
static json_int_t count_tasks(const json_t *job)
{
    const json_t *groups = json_object_get(job, "groups"), *group, *replicas;
    json_int_t n = 0;
    size_t i;

    if (!groups) {
        replicas = json_object_get(job, "replicas");
        return replicas ? json_integer_value(replicas) : 1;
    }
    json_array_foreach(groups, i, group)
    {
        replicas = json_object_get(group, "replicas");
        n += replicas ? json_integer_value(replicas) : 1;
    }
    return n;
}

static int print_rows(struct cli *cli, const struct output *output, const struct listing *listing,
                      const json_t *rows)
{
    CLEANUP(json_decrefp) json_t *first = json_array();
    struct err err = { 0 };

    for (size_t i = 0; i < json_array_size(rows) && i < TASKS_SHOWN; i++)
        json_array_append(first, json_array_get(rows, i));
    if (output_list(output, listing, first, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (json_array_size(rows) > TASKS_SHOWN)
        printf("and %zu more\n", json_array_size(rows) - TASKS_SHOWN);
    return 0;
}

/* Who was told to stop already and must end first: ", until j-3/task.0#1 has ended". */
static void print_stopping(const json_t *plan, const char *before)
{
    const json_t *list = json_object_get(plan, "stopping"), *stopping;
    size_t i, n = json_array_size(list);

    json_array_foreach(list, i, stopping)
        printf("%s%s", i ? ", " : before,
               text_of(stopping, "attempt")[0] ? text_of(stopping, "attempt") : "another");
    if (n)
        printf(" %s ended", n == 1 ? "has" : "have");
}

static void print_wait(const json_t *plan)
{
    json_int_t n_takes = json_integer_value(json_object_get(plan, "takes"));

    printf("would WAIT");
    if (n_takes)
        printf(" for room that is held for %" JSON_INTEGER_FORMAT " other%s now", n_takes,
               n_takes == 1 ? "" : "s");
    print_stopping(plan, ", until ");
    printf("\n");
}

static int print_start(struct cli *cli, const struct output *output, const json_t *job,
                       const json_t *plan)
{
    const json_t *placements = json_object_get(plan, "placements");
    const json_t *victims = json_object_get(plan, "victims");
    json_int_t n_takes = json_integer_value(json_object_get(plan, "takes"));
    size_t n = json_array_size(victims);
    int r;

    if (n)
        printf("would START after evicting %zu task%s", n, n == 1 ? "" : "s");
    else
        printf("would START%s", n_takes ? "" : " now");
    if (n_takes)
        printf(" on room that is held for %" JSON_INTEGER_FORMAT " other%s", n_takes,
               n_takes == 1 ? "" : "s");
    print_stopping(plan, " once ");
    printf(": ");
    printf("%zu of %" JSON_INTEGER_FORMAT " tasks\n", json_array_size(placements),
           count_tasks(job));
    r = print_rows(cli, output, &tasks_listing, placements);
    if (r == 0 && n) {
        printf("\n");
        r = print_rows(cli, output, &victim_listing, victims);
    }
    return r;
}

/* How long its tasks may run, and who says so. */
static void print_limit(const json_t *plan)
{
    const char *whose = text_of(plan, "limitOf");

    if (text_of(plan, "limit")[0])
        printf("limit %s%s%s%s\n", text_of(plan, "limit"), whose[0] ? " (of queue " : "", whose,
               whose[0] ? ")" : "");
}

static int print_plan(struct cli *cli, const struct output *output, const json_t *job,
                      const json_t *plan)
{
    const json_t *why = json_object_get(plan, "explain");
    bool starts = text_eq(text_of(plan, "outcome"), "start");
    int r;

    printf("%s  %s", text_of(job, "name")[0] ? text_of(job, "name") : "job",
           text_of(job, "queue")[0] ? text_of(job, "queue") : "default");
    if (json_object_get(why, "code"))
        printf("  place %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
               json_integer_value(output_at(why, "queue/place")),
               json_integer_value(output_at(why, "queue/of")));
    printf("  revision %" JSON_INTEGER_FORMAT "\n",
           json_integer_value(json_object_get(plan, "revision")));
    print_limit(plan);
    if (starts) {
        r = print_start(cli, output, job, plan);
        if (r != 0)
            return r;
        if (why)
            printf("\nThe rest would wait:\n");
    } else {
        print_wait(plan);
    }
    if (why)
        explain_print(why, output);
    return starts ? EXIT_DONE : EXIT_WAITS;
}

static json_t *list_rows(const json_t *plan)
{
    json_t *rows = json_deep_copy(json_object_get(plan, "placements")), *row;
    const json_t *reason;
    size_t i;

    json_array_foreach(rows, i, row) json_object_set_new(row, "tasks", json_integer(1));
    json_array_foreach(json_object_get(plan, "reasons"), i, reason) json_array_append_new(
        rows, json_pack("{s:O,s:O,s:[O]}", "task", json_object_get(reason, "group"), "tasks",
                        json_object_get(reason, "tasks"), "reasons", reason));
    return rows;
}

static int run_plan(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *object = NULL;
    CLEANUP(json_decrefp) json_t *plan = NULL, *rows = NULL;
    CLEANUP(freep) char *path = NULL;
    struct output output;
    struct err err = { 0 };
    int64_t changes = 3;
    int r = submit_make(cli, args, &object);

    if (r == 0)
        r = cli_need_output(cli, args, &output);
    if (r != 0)
        return r;
    if (args_int(args, "changes", 0, 10, &changes, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    path = text_format("/v1/jobs?dryRun=1&changes=%d", (int)changes);
    r = cli_call(cli,
                 &(struct client_request){ .method = "POST", .path = path, .is_repeatable = true },
                 object, &plan);
    if (r != 0)
        return r;
    if (output.format == OUTPUT_TABLE || output.format == OUTPUT_WIDE)
        return print_plan(cli, &output, object, plan);
    if (output_has_rows(&output)) {
        rows = list_rows(plan);
        r = output_list(&output, &rows_listing, rows, &err);
    } else if (output_has_names(&output)) {
        r = output_list(&output, &tasks_listing, json_object_get(plan, "placements"), &err);
    } else {
        r = output_item(&output, &tasks_listing, plan, &err);
    }
    if (r < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return text_eq(text_of(plan, "outcome"), "start") ? EXIT_DONE : EXIT_WAITS;
}

static const struct cli_flag own[] = {
    { "changes", 0, "N", "name so many changes that would start it, 0 to 10; default 3", NULL,
      false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &job_flags, &output_flags, &client_flags },
    .refused = &job_refused,
    .rest = "FILE",
    .n_rest_max = 1,
    .takes_command = true,
};
const struct verb verb_plan = {
    .name = "plan",
    .run = run_plan,
    .help = "Say what would become of a job, without submitting it",
    .usage = "[FLAG...] [FILE] [-- COMMAND ARG...]",
    .more =
        "Says whether a job would start now, on which nodes and at whose cost; or why it would\n"
        "wait, what would start it, and when it starts at the latest. The scheduler runs for it,\n"
        "on a copy. Exits with 4 if it would wait. FILE and flags are those of submit.",
    .examples = { "plan train.yaml",
                  "plan --cpu 8 --tasks 4 --gang --runtime process -o json -- true" },
    .grammar = &grammar,
};
