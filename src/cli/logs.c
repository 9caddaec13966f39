/*
 * berth logs: what tasks wrote. Of one task byte for byte; of several each line with its task.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/follow.h"
#include "cli/job.h"
#include "cli/logreader.h"

enum { FOLLOW_GIVE_UP_MS = 600000, TAIL_MAX = 1000000000, ATTEMPT_MAX = INT32_MAX };

struct logs {
    struct cli *cli;
    struct loop *loop;
    struct client *client;
    struct job_name name;
    int64_t tail, give_up_ms, until_ms; /* until: boot clock */
    int exit_code;

    /* Without --follow: one after the other. */
    VEC_OF(char *) attempts;
    size_t at;
    char *label;
    struct sink sink;
    struct logreader *reader;
};

/* ---- following ---- */

static void on_follow_end(void *arg, const json_t *job, int status, const struct problem *problem)
{
    struct logs *logs = arg;

    if (!job && status)
        logs->exit_code = cli_fail_problem(logs->cli, problem, status);
    else if (!job)
        logs->exit_code = cli_fail(logs->cli, EXIT_UNREACHABLE, "%s", problem->detail);
    loop_stop(logs->loop);
}

static void follow_job(struct logs *logs, bool has_labels)
{
    struct follow *follow = follow_open(
        &(struct follow_options){ .loop = logs->loop,
                                  .client = logs->client,
                                  .job = logs->name.job,
                                  .after = -1,
                                  .only = logs->name.parts.has_index ? &logs->name.parts : NULL,
                                  .tail = logs->tail,
                                  .give_up_ms = logs->give_up_ms,
                                  .has_labels = has_labels,
                                  .on_end = on_follow_end,
                                  .arg = logs });

    loop_run(logs->loop);
    follow_close(follow);
}

/* ---- reading what is there ---- */

static void read_next(struct logs *logs);

/* All tasks have one time: of many on a silent node each would cost it again. */
static int64_t left_ms(const struct logs *logs)
{
    int64_t left = logs->until_ms - clock_boot_ms(&clock_system);

    return logs->give_up_ms < 0 ? -1 : left > 0 ? left : 0;
}

static void on_bytes(void *arg, enum cri_stream stream, const char *data, size_t n)
{
    struct logs *logs = arg;

    sink_write(&logs->sink, logs->label, stream, data, n);
}

static void on_gap(void *arg, int64_t n_bytes)
{
    (void)arg;
    fprintf(stderr, "berth: %" PRId64 " bytes of the log are gone\n", n_bytes);
}

static void on_wait(void *arg, const struct problem *problem)
{
    const struct logs *logs = arg;

    fprintf(stderr, "berth: %s; trying again for %lld s\n", problem->detail,
            (long long)(left_ms(logs) + 999) / 1000);
}

static void on_end(void *arg, int status, const struct problem *problem)
{
    struct logs *logs = arg;

    logs->reader = NULL;
    sink_flush(&logs->sink);
    if (problem && status)
        logs->exit_code = cli_fail_problem(logs->cli, problem, status);
    else if (problem)
        logs->exit_code = cli_fail(logs->cli, EXIT_UNREACHABLE, "%s", problem->detail);
    logs->at++;
    read_next(logs);
}

static void read_next(struct logs *logs)
{
    const char *attempt;

    mem_free(TAKE(logs->label));
    if (logs->at == logs->attempts.n) {
        loop_stop(logs->loop);
        return;
    }
    attempt = logs->attempts.at[logs->at];
    logs->label = text_copy(strchr(attempt, '/') ? strchr(attempt, '/') + 1 : attempt);
    logs->label[strcspn(logs->label, "#")] = '\0';
    logs->reader = logreader_open(&(struct logreader_options){ .loop = logs->loop,
                                                               .client = logs->client,
                                                               .attempt = attempt,
                                                               .tail = logs->tail,
                                                               .give_up_ms = left_ms(logs),
                                                               .on_bytes = on_bytes,
                                                               .on_gap = on_gap,
                                                               .on_wait = on_wait,
                                                               .on_end = on_end,
                                                               .arg = logs });
}

static bool is_wanted(const struct logs *logs, const char *attempt)
{
    const struct name_parts *only = &logs->name.parts;
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    if (!attempt || name_parse(attempt, &parts, &err) < 0 || !parts.has_number)
        return false;
    if (!only->has_index)
        return true;
    return parts.index == only->index && (!only->group[0] || text_eq(parts.group, only->group)) &&
           (!only->has_number || parts.number == only->number);
}

/* Whether an item is about the task that is wanted. */
static bool is_of_task(const struct logs *logs, const json_t *item)
{
    const struct name_parts *only = &logs->name.parts;
    struct name_parts parts = { 0 };
    struct err err = { 0 };
    const char *name = json_string_value(json_object_get(item, "name"));

    return name && name_parse(name, &parts, &err) == 0 && parts.index == only->index &&
           (!only->group[0] || text_eq(parts.group, only->group));
}

/* Says why there is nothing to read: there is no such task or try, or nothing was placed yet. */
static int fail_nothing(const struct logs *logs, bool has_task)
{
    const struct name_parts *only = &logs->name.parts;
    CLEANUP(str_fini) struct str what = { 0 };

    str_addf(&what, "%s", logs->name.job);
    if (only->has_index)
        str_addf(&what, "/%s%s%" PRIu32, only->group, only->group[0] ? "." : "", only->index);
    if (only->has_number)
        return cli_fail(logs->cli, EXIT_NOT_FOUND, "%s has no attempt %" PRIu32, what.data,
                        only->number);
    if (only->has_index && !has_task)
        return cli_fail(logs->cli, EXIT_NOT_FOUND, "there is no task %s", what.data);
    return cli_fail(logs->cli, EXIT_NOT_FOUND, "%s has not been placed yet, so there is no log",
                    what.data);
}

/* Which attempts to read: the last of each task, or the one that was named. */
static int list_attempts(struct logs *logs)
{
    bool has_number = logs->name.parts.has_number, has_task = false;
    CLEANUP(freep) char *cursor = text_copy("");

    while (cursor) {
        CLEANUP(json_decrefp) json_t *page = NULL;
        CLEANUP(str_fini) struct str more = { 0 };
        CLEANUP(freep) char *path = NULL;
        json_t *item;
        size_t i;
        int r;

        str_add(&more, has_number ? "/attempts?limit=1000" : "/tasks?limit=1000");
        if (cursor[0]) {
            str_add(&more, "&cursor=");
            client_escape(cursor, &more);
        }
        path = job_path(logs->name.job, more.data);
        r = cli_get(logs->cli, path, &page);
        if (r != 0)
            return r;
        json_array_foreach(json_object_get(page, "items"), i, item)
        {
            const char *attempt =
                json_string_value(json_object_get(item, has_number ? "name" : "attempt"));

            has_task = has_task || is_of_task(logs, item);
            if (is_wanted(logs, attempt))
                VEC_PUSH(&logs->attempts, text_copy(attempt));
        }
        mem_free(cursor);
        cursor = text_copy(json_string_value(json_object_get(page, "next")));
    }
    return logs->attempts.n ? 0 : fail_nothing(logs, has_task);
}

static void read_all(struct logs *logs, bool has_labels)
{
    logs->sink = (struct sink){ .fds = { STDOUT_FILENO, STDERR_FILENO }, .has_labels = has_labels };
    logs->until_ms = clock_boot_ms(&clock_system) + logs->give_up_ms;
    read_next(logs);
    loop_run(logs->loop);
    logreader_close(logs->reader);
    if (logs->sink.error && logs->exit_code == 0)
        logs->exit_code =
            cli_fail(logs->cli, EXIT_FAILED, "writing the log: %s", strerror(logs->sink.error));
    sink_fini(&logs->sink);
}

/* ---- the verb ---- */

/* --task worker.3 or 3, and --attempt, put into what the word named. */
static int choose(struct logs *logs, const struct args *args, struct err *err)
{
    struct name_parts *parts = &logs->name.parts;
    int64_t number = 0;

    if (args_has(args, "task")) {
        CLEANUP(freep) char *whole = text_format("%s/%s", logs->name.job, args_get(args, "task"));

        if (name_parse(whole, parts, err) < 0)
            return err_wrap(err, "--task %s", args_get(args, "task"));
    }
    if (args_int(args, "attempt", 1, ATTEMPT_MAX, &number, err) < 0)
        return err->code;
    if (number) {
        parts->has_number = true;
        parts->number = (uint32_t)number;
    }
    return args_int(args, "tail", 0, TAIL_MAX, &logs->tail, err);
}

/* Whether several tasks can be among what is read; an attempt's number alone is of the only one. */
static int ask_labels(struct logs *logs, bool *out)
{
    struct name_parts *parts = &logs->name.parts;
    CLEANUP(json_decrefp) json_t *job = NULL;
    CLEANUP(freep) char *path = job_path(logs->name.job, "");
    int r = cli_get(logs->cli, path, &job);
    bool has_several = json_integer_value(output_at(job, "tasks/total")) > 1;

    *out = !parts->has_index && has_several;
    if (r != 0 || !parts->has_number || parts->has_index)
        return r;
    if (has_several)
        return cli_fail_usage(logs->cli,
                              "%s has several tasks; --attempt needs one: --task or %s/TASK",
                              logs->name.job, logs->name.job);
    parts->has_index = true; /* task 0, whatever its group is called */
    parts->index = 0;
    return 0;
}

static int run_loop(struct logs *logs, const struct args *args, bool has_labels)
{
    struct err err = { 0 };
    int r = loop_open(&logs->loop, &err);

    if (r == 0)
        r = client_open(&logs->cli->settings, logs->loop, &logs->client, &err);
    if (r < 0) {
        loop_close(logs->loop);
        return cli_fail_err(logs->cli, &err);
    }
    client_hold(logs->client, logs->cli->client);
    if (args_has(args, "follow"))
        follow_job(logs, has_labels);
    else
        read_all(logs, has_labels);
    client_close(logs->client);
    loop_close(logs->loop);
    return logs->exit_code;
}

static int run_logs(struct cli *cli, const struct args *args)
{
    struct logs logs = { .cli = cli, .tail = -1 };
    struct err err = { 0 };
    bool has_labels = false;
    int r = cli_need_client(cli, args);

    if (r == 0)
        r = job_name_find(cli, args, args->rest.at[0], &logs.name);
    if (r != 0)
        return r;
    if (choose(&logs, args, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    logs.give_up_ms = cli->give_up_ms;
    if (args_has(args, "follow") && !args_has(args, "give-up"))
        logs.give_up_ms = FOLLOW_GIVE_UP_MS;
    r = ask_labels(&logs, &has_labels);
    if (r == 0 && !args_has(args, "follow"))
        r = list_attempts(&logs);
    if (r == 0)
        r = run_loop(&logs, args, has_labels);
    VEC_EACH (attempt, &logs.attempts)
        mem_free(*attempt);
    VEC_FINI(&logs.attempts);
    return r;
}

static const struct cli_flag own[] = {
    { "follow", 'f', NULL, "go on until the job, or the task, is over", NULL, false },
    { "task", 0, "TASK", "only of this task: worker.3, or 3 where there is one group", NULL,
      false },
    { "attempt", 0, "N", "of this attempt instead of the last; of several tasks, with --task", NULL,
      false },
    { "tail", 0, "N", "only the last lines of each", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &namespace_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = 1,
};
const struct verb verb_logs = {
    .name = "logs",
    .run = run_logs,
    .help = "Print what a job's tasks wrote",
    .usage = "[FLAG...] JOB",
    .more =
        "What a task wrote to stdout goes to stdout, its stderr to stderr. Of one task it is byte\n"
        "for byte what was written; of several each line begins with its task.",
    .examples = { "logs -f j-12", "logs j-12 --task worker.3 --attempt 1 --tail 20" },
    .grammar = &grammar,
};
