/* Jobs: see job.h. */
#include "cli/job.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/states.h"
#include "cli/age.h"
#include "cli/amount.h"

enum { NODES_SHOWN = 2 };

/* ---- columns ---- */

static void column_tasks(const json_t *item, const struct output *output, struct str *out)
{
    const json_t *tasks = json_object_get(item, "tasks");
    const char *state = json_string_value(json_object_get(item, "state"));
    json_int_t n = json_integer_value(json_object_get(tasks, "succeeded"));

    (void)output;
    if (!tasks)
        return;
    if (!job_state_is_over(state))
        n += json_integer_value(json_object_get(tasks, "live"));
    str_addf(out, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT, n,
             json_integer_value(json_object_get(tasks, "total")));
}

static void column_waiting(const json_t *item, const struct output *output, struct str *out)
{
    const char *state = json_string_value(json_object_get(item, "state"));

    if (text_eq(state, job_state_words[JOB_PENDING]))
        output_age(item, json_object_get(item, "pendingSince") ? "pendingSince" : "submittedAt",
                   output, out);
}

/* Whether it has places and nothing of it runs there, or ended: its tasks are yet to be started, or are being
 * stopped. */
static bool has_none_running(const json_t *job)
{
    static const char *const run[] = { "running", "succeeded", "failed", "cancelled" };
    const json_t *tasks = json_object_get(job, "tasks");
    const char *state = json_string_value(json_object_get(job, "state"));

    for (size_t i = 0; i < COUNT_OF(run); i++)
        if (json_integer_value(json_object_get(tasks, run[i])))
            return false;
    return text_eq(state, job_state_words[JOB_RUNNING]) &&
           json_integer_value(json_object_get(tasks, "live"));
}

/* Of what was started several times, since the last one. */
static void column_running(const json_t *item, const struct output *output, struct str *out)
{
    const char *since = json_object_get(item, "runningSince") ? "runningSince" : "startedAt";
    const char *state = json_string_value(json_object_get(item, "state"));
    int64_t ms = item_span_ms(item, since, "endedAt");

    if (text_eq(state, job_state_words[JOB_PENDING]) || has_none_running(item))
        return;
    if (ms >= 0 && !output->is_absolute)
        age_format(ms, out);
    else
        output_age(item, since, output, out);
}

static void column_memory(const json_t *item, const struct output *output, struct str *out)
{
    CLEANUP(str_fini) struct str text = { 0 };

    (void)output;
    output_text(item, "resources/memory", &text);
    if (text.len)
        amount_add(text.data, "memory", out);
}

static void column_cpu(const json_t *item, const struct output *output, struct str *out)
{
    CLEANUP(str_fini) struct str text = { 0 };

    (void)output;
    output_text(item, "resources/cpu", &text);
    if (text.len)
        amount_add(text.data, "cpu", out);
}

static void column_age(const json_t *item, const struct output *output, struct str *out)
{
    output_age(item, "submittedAt", output, out);
}

/* "silent for 3m": since when an agent is not heard of; the time is a member of the object. */
static void add_silence(const json_t *object, const char *key, const struct output *output,
                        struct str *out)
{
    str_add(out, output->is_absolute ? "silent since " : "silent for ");
    output_age(object, key, output, out);
}

/* What is said of a node among those that are silent; NULL: it is heard of. */
static const json_t *find_silent(const json_t *item, const json_t *node)
{
    const json_t *silent;
    size_t i;

    json_array_foreach(json_object_get(item, "silent"), i, silent)
    {
        if (json_equal(json_object_get(silent, "node"), node))
            return silent;
    }
    return NULL;
}

/* The nodes that a job runs on: "a (silent for 3m),b +3 (1 silent)". */
static void add_nodes(const json_t *item, const struct output *output, struct str *out)
{
    json_int_t n = json_integer_value(json_object_get(item, "nodeCount"));
    size_t n_silent = json_array_size(json_object_get(item, "silent")), i;
    json_t *node;

    json_array_foreach(json_object_get(item, "nodes"), i, node)
    {
        const json_t *silent = find_silent(item, node);

        if (i == NODES_SHOWN) {
            str_addf(out, " +%" JSON_INTEGER_FORMAT, n - NODES_SHOWN);
            if (n_silent)
                str_addf(out, " (%zu silent)", n_silent);
            break;
        }
        str_addf(out, "%s%s", i ? "," : "", json_string_value(node));
        if (!silent)
            continue;
        str_add(out, " (");
        add_silence(silent, "since", output, out);
        str_add(out, ")");
        n_silent--;
    }
}

static void column_info(const json_t *item, const struct output *output, struct str *out)
{
    const char *state = json_string_value(json_object_get(item, "state"));

    if (job_state_is_over(state)) {
        if (!text_eq(state, job_state_words[JOB_SUCCEEDED]))
            job_add_end(item, out);
        return;
    }
    add_nodes(item, output, out);
    if (has_none_running(item))
        str_add(out, "  no task runs");
    if (json_array_size(json_object_get(item, "reasons")) > 0 && out->len)
        str_add(out, "  ");
    job_add_reason(item, out);
}

static void column_exit(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    output_text(item, "code", out);
}

static void column_ended(const json_t *item, const struct output *output, struct str *out)
{
    output_age(item, "endedAt", output, out);
}

static void column_flags(const json_t *item, const struct output *output, struct str *out)
{
    static const char *const words[] = { "held", "suspended", "degraded" };

    (void)output;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (json_is_true(json_object_get(item, words[i])))
            str_addf(out, "%s%s", out->len ? "," : "", words[i]);
}

/* "1h30m", and what it was submitted with where that was something else. */
static void column_limit(const json_t *item, const struct output *output, struct str *out)
{
    const char *was = json_string_value(json_object_get(item, "limitSubmitted"));

    (void)output;
    output_text(item, "limit", out);
    if (was)
        str_addf(out, "%s (submitted with %s)", out->len ? "" : "none",
                 text_eq(was, "0s") ? "none" : was);
}

static const struct column job_columns[] = {
    { "ID", "id", NULL, 0 },
    { "NAME", "name", NULL, 0 },
    { "QUEUE", "queue", NULL, 0 },
    { "PRI", "priority", NULL, COLUMN_RIGHT },
    { "STATE", "state", NULL, COLUMN_STATE },
    { "TASKS", "tasks", column_tasks, COLUMN_RIGHT },
    { "WAITING", "waiting", column_waiting, COLUMN_RIGHT },
    { "RUNNING", "running", column_running, COLUMN_RIGHT },
    { "INFO", NULL, column_info, 0 },
    { "NAMESPACE", "namespace", NULL, COLUMN_WIDE },
    { "USER", "user", NULL, COLUMN_WIDE },
    { "CPU", NULL, column_cpu, COLUMN_RIGHT | COLUMN_WIDE },
    { "MEM", NULL, column_memory, COLUMN_RIGHT | COLUMN_WIDE },
    { "FLAGS", NULL, column_flags, COLUMN_WIDE },
    { "AGE", "age", column_age, COLUMN_RIGHT | COLUMN_WIDE },
    { "SUBMITTED", "submittedAt", NULL, COLUMN_WIDE },
    { "ENDED", "endedAt", column_ended, COLUMN_RIGHT | COLUMN_WIDE },
    { "EXIT", "code", column_exit, COLUMN_RIGHT | COLUMN_WIDE },
    { "LIMIT", "limit", column_limit, COLUMN_WIDE | COLUMN_HERE | COLUMN_TIME },
};
const struct listing job_listing = { job_columns, COUNT_OF(job_columns), "id", "name" };

static void column_task_name(const json_t *item, const struct output *output, struct str *out)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *slash = name ? strchr(name, '/') : NULL;

    (void)output;
    str_add(out, slash ? slash + 1 : name ? name : "");
}

static void add_member(const json_t *reason, const char *key, const char *before, struct str *out)
{
    if (!json_object_get(reason, key))
        return;
    str_add(out, before);
    output_text(reason, key, out);
}

static void column_task_info(const json_t *item, const struct output *output, struct str *out)
{
    const char *state = json_string_value(json_object_get(item, "state"));

    if (text_eq(state, task_state_words[TASK_PENDING])) {
        output_text(item, "reason", out);
        if (json_object_get(item, "notBefore")) {
            str_add(out, out->len ? "  until " : "until ");
            output_text(item, "notBefore", out);
        }
        add_member(item, "evictedFor", out->len ? "  evicted for " : "evicted for ", out);
    } else {
        const char *message = json_string_value(json_object_get(item, "message"));

        job_add_end(item, out);
        if (message)
            str_addf(out, "%s%s", out->len ? "  " : "", message);
        if (json_object_get(item, "silentSince")) {
            str_add(out, out->len ? "  node " : "node ");
            add_silence(item, "silentSince", output, out);
        }
    }
}

static const struct column task_columns[] = {
    { "TASK", NULL, column_task_name, 0 },
    { "STATE", "state", NULL, COLUMN_STATE },
    { "TRY", "number", NULL, COLUMN_RIGHT },
    { "NODE", "node", NULL, 0 },
    { "RUNNING", NULL, column_running, COLUMN_RIGHT },
    { "INFO", NULL, column_task_info, 0 },
    { "ATTEMPT", "attempt", NULL, COLUMN_WIDE },
    { "STARTED", "startedAt", NULL, COLUMN_WIDE },
    { "ENDED", "endedAt", NULL, COLUMN_WIDE },
};
const struct listing task_listing = { task_columns, COUNT_OF(task_columns), "name", "name" };

/* ---- texts ---- */

void job_print_kept(const json_t *item, FILE *to)
{
    const json_t *list = json_object_get(item, "kept"), *kept;
    size_t i;

    json_array_foreach(list, i, kept) fprintf(
        to, "kept: %s may run on there, beside the next attempt, until %s is heard of again\n",
        json_string_value(json_object_get(kept, "attempt")),
        json_string_value(json_object_get(kept, "node")));
}

bool job_is_lost(const char *job, int64_t shared, const struct problem *why, struct problem *out)
{
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    /* A job's number is the revision of its submit. */
    if (name_parse(job, &parts, &err) == 0 && shared > 0 && parts.job <= (uint64_t)shared)
        return false;
    problem_set(out, why->code,
                "%.250s; %s is not in it: what it ran may go on as an orphan (berth node list "
                "counts them), and it is to be submitted again",
                why->detail, job);
    return true;
}

bool job_state_is_over(const char *state)
{
    int i = state ? states_find(state, job_state_words, JOB_STATE_COUNT) : -1;

    return i >= 0 && job_is_over((enum job_state)i);
}

void job_add_blocker(const json_t *reason, struct str *out)
{
    const char *blocker = json_string_value(json_object_get(reason, "blocker"));
    bool is_job = blocker && text_begins(blocker, "j-");

    if (blocker)
        str_addf(out, "  %s%s",
                 !is_job                               ? ""
                 : json_object_get(reason, "resource") ? "held by "
                                                       : "behind ",
                 blocker);
}

void job_add_asked(const json_t *reason, struct str *out)
{
    output_text(reason, json_object_get(reason, "askedAs") ? "askedAs" : "asked", out);
}

void job_add_reason(const json_t *job, struct str *out)
{
    const json_t *reasons = json_object_get(job, "reasons");
    const json_t *reason = json_array_get(reasons, 0);

    if (!reason)
        return;
    output_text(reason, "code", out);
    add_member(reason, "resource", "  ", out);
    if (json_object_get(reason, "asked")) {
        str_add(out, " asked ");
        job_add_asked(reason, out);
    }
    add_member(reason, "free", ", free ", out);
    add_member(reason, "limit", " of ", out);
    if (json_object_get(reason, "needed")) { /* together */
        add_member(reason, "placed", "  ", out);
        add_member(reason, "needed", " of ", out);
        str_add(out, " fit");
    }
    if (!json_object_get(reason, "node")) { /* nothing that one node lacks */
        add_member(reason, "wants", "  wants ", out);
        add_member(reason, "has", ", the cluster has ", out);
    }
    job_add_blocker(reason, out);
    if (json_array_size(reasons) > 1)
        str_addf(out, "  (and %zu more)", json_array_size(reasons) - 1);
}

/* Whether a thing's state tells the cause: cancelled. */
static bool says_already(const json_t *item, const char *cause)
{
    return text_eq(cause, cause_words[CAUSE_CANCELLED]) &&
           text_eq(json_string_value(json_object_get(item, "state")),
                   job_state_words[JOB_CANCELLED]);
}

/* "  peak 31.9Mi of 32Mi", where the memory was not enough. */
static void add_peak(const json_t *end, struct str *out)
{
    const json_t *peak = output_at(end, "peaks/memory");
    const char *limit = json_string_value(output_at(end, "limits/memory"));

    if (!limit)
        return;
    if (json_is_integer(peak) && json_integer_value(peak) > 0) {
        str_add(out, "  peak ");
        amount_add_bytes(json_integer_value(peak), out);
        str_add(out, " of ");
    } else {
        str_add(out, "  limit ");
    }
    amount_add(limit, "memory", out);
}

/* "  in worker.3", where it could be another. */
static void add_failed_task(const json_t *job, const json_t *failure, struct str *out)
{
    const char *name = json_string_value(json_object_get(failure, "name"));
    const char *slash = name ? strchr(name, '/') : NULL;

    if (slash && json_integer_value(output_at(job, "tasks/total")) > 1)
        str_addf(out, "  in %s", slash + 1);
}

void job_add_end(const json_t *item, struct str *out)
{
    const json_t *failure = json_object_get(item, "failure"), *end = failure ? failure : item;
    const json_t *code = json_object_get(item, "code");
    const char *cause = json_string_value(json_object_get(end, "cause"));

    if (!cause)
        cause = json_string_value(json_object_get(item, "stopCause"));
    if (json_is_integer(code) &&
        (json_integer_value(code) || !cause || text_eq(cause, "COMPLETED")))
        str_addf(out, "exit %" JSON_INTEGER_FORMAT, json_integer_value(code));
    if (cause && !text_eq(cause, cause_words[CAUSE_COMPLETED]) && !says_already(item, cause))
        str_addf(out, "%s%s", out->len ? "  " : "", cause);
    add_member(end, "detail", " ", out);
    add_peak(end, out);
    if (failure) /* which says more than that a task of it failed */
        add_failed_task(item, failure, out);
    else if (json_is_string(json_object_get(item, "reason")))
        add_member(item, "reason", out->len ? "  " : "", out);
}

int64_t item_span_ms(const json_t *item, const char *from, const char *to)
{
    const char *a = json_string_value(json_object_get(item, from));
    const char *b = json_string_value(json_object_get(item, to));
    int64_t from_ms, to_ms;

    if (!a || !b || clock_parse_wall(a, &from_ms) < 0 || clock_parse_wall(b, &to_ms) < 0)
        return -1;
    return to_ms > from_ms ? to_ms - from_ms : 0;
}

/* ---- requests ---- */

char *job_path(const char *job, const char *more)
{
    return cli_path("/v1/jobs/", job, more);
}

char *attempt_path(const char *attempt, const char *more)
{
    return cli_path("/v1/attempts/", attempt, more);
}

static void write_task(struct job_name *name)
{
    const struct name_parts *parts = &name->parts;

    name_job(parts->job, name->job);
    name->task[0] = '\0';
    if (parts->has_index)
        snprintf(name->task, sizeof(name->task), "%s%s%" PRIu32, parts->group,
                 parts->group[0] ? "." : "", parts->index);
}

/* Asks for jobs by a query; *out gets the id of the only one. Returns how many, or -exit code. */
static int ask_one(struct cli *cli, const char *path, struct job_name *out)
{
    CLEANUP(json_decrefp) json_t *list = NULL;
    struct err err = { 0 };
    const json_t *items;
    const char *id;
    int r = cli_get(cli, path, &list);

    if (r != 0)
        return -r;
    items = json_object_get(list, "items");
    id = json_string_value(json_object_get(json_array_get(items, 0), "id"));
    if (id && name_parse(id, &out->parts, &err) == 0)
        write_task(out);
    return id ? (int)json_array_size(items) : 0;
}

/* The newest job of whoever asks. */
static int find_last(struct cli *cli, struct job_name *out)
{
    CLEANUP(json_decrefp) json_t *self = NULL;
    CLEANUP(str_fini) struct str path = { 0 };
    int n, r = cli_get(cli, "/v1/self", &self);

    if (r != 0)
        return r;
    str_add(&path, "/v1/jobs?limit=1");
    cli_add_query(&path, "user", json_string_value(json_object_get(self, "user")));
    n = ask_one(cli, path.data, out);
    if (n < 0)
        return -n;
    return n ? 0 : cli_fail(cli, EXIT_NOT_FOUND, "you have no job yet");
}

/* The one job of that name: of those that are not over, else of all. */
static int find_named(struct cli *cli, const char *word, struct job_name *out)
{
    static const char *const starts[] = { "/v1/jobs?limit=2&active=1", "/v1/jobs?limit=2" };

    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        CLEANUP(str_fini) struct str path = { 0 };
        int n;

        str_add(&path, starts[i]);
        cli_add_query(&path, "namespace", cli->settings.values[SETTING_NAMESPACE]);
        cli_add_query(&path, "name", word);
        n = ask_one(cli, path.data, out);
        if (n < 0)
            return -n;
        if (n > 1)
            return cli_fail(cli, EXIT_USAGE, "several jobs are called %s; say which by its id",
                            word);
        if (n == 1)
            return 0;
    }
    return cli_fail(cli, EXIT_NOT_FOUND, "no job is called %s", word);
}

int job_name_find(struct cli *cli, const struct args *args, const char *word, struct job_name *out)
{
    struct err err = { 0 };
    int r;

    if (name_parse(word, &out->parts, &err) == 0) {
        write_task(out);
        return 0;
    }
    if (!name_is_valid(word))
        return cli_fail_usage(cli, "%s", err.text);
    r = cli_need_client(cli, args);
    if (r != 0)
        return r;
    return text_eq(word, "last") ? find_last(cli, out) : find_named(cli, word, out);
}
