/* berth job show: one job with its tasks. */
#include "cli/job.h"

enum { TASKS_SHOWN = 100 };

/* The job's tasks, or the one that was named. */
static int get_tasks(struct cli *cli, const struct job_name *name, json_t **out)
{
    CLEANUP(str_fini) struct str more = { 0 };
    CLEANUP(freep) char *path = NULL;

    str_addf(&more, "/tasks?limit=%d", TASKS_SHOWN);
    cli_add_query(&more, "task", name->task);
    path = job_path(name->job, more.data);
    return cli_get(cli, path, out);
}

static int print_tasks(struct cli *cli, const struct output *output, const json_t *tasks,
                       const char *job)
{
    struct err err = { 0 };

    fputc('\n', output->to);
    if (output_list(output, &task_listing, tasks, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (json_object_get(tasks, "next"))
        fprintf(stderr, "the first %d tasks; all: berth job show %s --tasks -o jsonl\n",
                TASKS_SHOWN, job);
    return EXIT_DONE;
}

/* Every task, however many. */
static int print_all_tasks(struct cli *cli, struct output *output, const char *job)
{
    CLEANUP(freep) char *cursor = text_copy("");

    while (cursor) {
        CLEANUP(json_decrefp) json_t *page = NULL;
        CLEANUP(str_fini) struct str more = { 0 };
        CLEANUP(freep) char *path = NULL;
        struct err err = { 0 };
        int r;

        str_add(&more, "/tasks?limit=1000");
        if (cursor[0]) {
            str_add(&more, "&cursor=");
            client_escape(cursor, &more);
        }
        path = job_path(job, more.data);
        r = cli_get(cli, path, &page);
        if (r != 0)
            return r;
        if (output_list(output, &task_listing, page, &err) < 0)
            return cli_fail_usage(cli, "%s", err.text);
        output->has_head = false;
        mem_free(cursor);
        cursor = text_copy(json_string_value(json_object_get(page, "next")));
    }
    return EXIT_DONE;
}

static void print_words(const json_t *list, const char *before, FILE *to)
{
    const json_t *word;
    size_t i;

    json_array_foreach(list, i, word)
        fprintf(to, "%s%s", i ? ", " : before, json_string_value(word));
}

/* Whom room for it cost, and what became of that: "room: preempt of j-3/task.0#1, used". */
static void print_rooms(const struct output *output, const json_t *job)
{
    const json_t *list = json_object_get(job, "reservations"), *reservation;
    size_t i;

    json_array_foreach(list, i, reservation)
    {
        CLEANUP(str_fini) struct str reason = { 0 }, state = { 0 };

        output_text(reservation, "reason", &reason);
        output_text(reservation, "state", &state);
        fprintf(output->to, "%sroom: %s", i ? "" : "\n", str_text(&reason));
        print_words(json_object_get(reservation, "victims"), " of ", output->to);
        fprintf(output->to, ", %s", str_text(&state));
        if (json_object_get(reservation, "why"))
            fprintf(output->to, " %s", json_string_value(json_object_get(reservation, "why")));
        if (json_object_get(reservation, "takenBy"))
            fprintf(output->to, " by %s",
                    json_string_value(json_object_get(reservation, "takenBy")));
        print_words(json_object_get(reservation, "stopping"), ", waits for the end of ",
                    output->to);
        fputc('\n', output->to);
    }
}

static int print_job(struct cli *cli, const struct output *output, const json_t *job,
                     const json_t *tasks)
{
    struct output whole = *output;
    struct err err = { 0 };
    int r;

    if (whole.format == OUTPUT_TABLE)
        whole.format = OUTPUT_WIDE; /* one job has the room */
    if (output_item(&whole, &job_listing, job, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (output->format != OUTPUT_TABLE && output->format != OUTPUT_WIDE)
        return EXIT_DONE;
    r = print_tasks(cli, output, tasks, json_string_value(json_object_get(job, "id")));
    if (r == EXIT_DONE)
        print_rooms(output, job);
    if (r == EXIT_DONE)
        job_print_kept(job, output->to);
    return r;
}

/* An attempt that is named must be there. */
static int check_attempt(struct cli *cli, const struct job_name *name, const json_t *tasks)
{
    const json_t *task = json_array_get(json_object_get(tasks, "items"), 0);
    CLEANUP(json_decrefp) json_t *attempt = NULL;
    CLEANUP(freep) char *path = NULL, *whole = NULL;

    if (!name->parts.has_number || !task)
        return 0;
    whole =
        text_format("%s#%u", json_string_value(json_object_get(task, "name")), name->parts.number);
    path = attempt_path(whole, "");
    return cli_get(cli, path, &attempt);
}

static int show_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    struct output *output = arg;
    CLEANUP(json_decrefp) json_t *job = NULL, *tasks = NULL;
    CLEANUP(freep) char *path = NULL;
    struct job_name name;
    int r = job_name_find(cli, args, word, &name);

    if (r == 0 && args_has(args, "tasks"))
        return print_all_tasks(cli, output, name.job);
    path = r == 0 ? job_path(name.job, "") : NULL;
    if (r == 0)
        r = cli_get(cli, path, &job);
    if (r == 0 &&
        (name.parts.has_index || output->format == OUTPUT_TABLE || output->format == OUTPUT_WIDE))
        r = get_tasks(cli, &name, &tasks);
    if (r == 0)
        r = check_attempt(cli, &name, tasks);
    if (r == 0)
        r = print_job(cli, output, job, tasks);
    if (r == 0)
        output->has_head &= !output_has_rows(output); /* several jobs have one */
    return r;
}

static int run_show(struct cli *cli, const struct args *args)
{
    struct output output;
    int r = cli_need_output(cli, args, &output);

    return r == 0 ? cli_each(cli, args, show_one, &output) : r;
}

static const struct cli_flag own[] = {
    { "tasks", 0, NULL, "list its tasks, all of them, instead of the job", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &time_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
const struct verb verb_job_show = {
    .name = "job show",
    .run = run_show,
    .help = "Show a job and its tasks",
    .usage = "[FLAG...] JOB...",
    .more = "JOB is an id (j-12), the name of one job, or last: your newest. Of j-12/worker.3 only "
            "that\n"
            "task is listed.",
    .examples = { "job show j-12", "job show last -o json" },
    .grammar = &grammar,
};
