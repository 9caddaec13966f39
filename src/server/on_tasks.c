/* A job's tasks and attempts, and its timeline. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/name.h"
#include "server/call_job.h"
#include "server/cursor.h"
#include "server/hide.h"
#include "server/list_watch.h"
#include "server/routes.h"
#include "server/show.h"

enum { TIMELINE_ATTEMPTS_MAX = 200 };

/* Keys of cursors: GROUP-INDEX-NUMBER, by place. */
static void write_key(const struct attempt_key *key, char out[64])
{
    snprintf(out, 64, "%u-%u-%u", key->group, key->index, key->number);
}

static bool read_key(struct call *call, const struct cursor *cursor, uint64_t job,
                     struct attempt_key *out)
{
    char rest;

    *out = (struct attempt_key){ .job = job };
    if (!cursor->key[0] ||
        sscanf(cursor->key, "%9u-%9u-%9u%c", &out->group, &out->index, &out->number, &rest) == 3)
        return true;
    problem_set(&call->problem, PROBLEM_BAD_CURSOR, "the cursor is damaged");
    return false;
}

/* ---- tasks ---- */

/* A walk over all tasks of a job in order: those without an attempt too. */
struct walk {
    struct call_job job; /* first: call_job() reads it */
    struct cursor cursor;
    unsigned live_states, states; /* wanted, as bits of attempt and task states; both 0: all */
    bool has_only;                /* the next two: of one task */
    uint32_t only_group, only_index;
    struct verdicts *verdicts;
    struct nodes *nodes;
    struct reader *reader;
    struct map ended; /* by place in the job: struct row_task * */
    json_t *items;
    struct attempt_key next;  /* the next task to be shown */
    struct attempt_key after; /* the last attempt that was read; its number 0: from the first */
    size_t n_read;
    char last[64];
    bool has_more;
};

static void walk_free(void *state)
{
    struct walk *walk = state;

    row_free(ROW_JOB, walk->job.row);
    job_spec_freep(&walk->job.spec);
    if (walk->verdicts)
        verdicts_unref(walk->verdicts);
    MAP_EACH (entry, &walk->ended)
        mem_free(entry->value);
    map_fini(&walk->ended);
    json_decref(walk->items);
    free(walk);
}

static uint64_t place_of(int64_t group, int64_t index)
{
    return (uint64_t)group << 32 | (uint64_t)index;
}

static int note_ended(const void *row, void *arg)
{
    const struct row_task *task = row;
    struct walk *walk = arg;
    struct row_task *copy = NEW0(struct row_task);

    *copy = *task; /* it has numbers only */
    mem_free(map_put_int(&walk->ended, place_of(task->grp, task->idx) + 1, copy));
    return 0;
}

static enum wait_code waits_for(const struct walk *walk, uint32_t group)
{
    size_t n = 0;
    const struct berth_verdict *found =
        walk->verdicts ? verdicts_find(walk->verdicts, walk->job.id, &n) : NULL;

    for (size_t i = 0; i < n; i++)
        if (!found[i].group || text_eq(found[i].group, walk->job.spec->groups[group].name))
            return found[i].reason->code;
    return walk->job.row->is_held ? WAIT_HELD : WAIT_NOT_YET_CONSIDERED;
}

static bool is_wanted(const struct walk *walk, const char *state)
{
    int live = states_find(state, attempt_state_words, ATTEMPT_STATE_COUNT);
    int task = states_find(state, task_state_words, TASK_STATE_COUNT);

    if (!walk->states && !walk->live_states)
        return true;
    return (task >= 0 && walk->states & 1u << task) ||
           (live >= 0 && walk->live_states & 1u << live);
}

/* Shows a task, with its last attempt or NULL; false when the page is full. */
static bool show_one(struct walk *walk, uint32_t group, uint32_t index,
                     const struct row_attempt *last)
{
    struct show_task task = { .job = walk->job.row,
                              .spec = walk->job.spec,
                              .group = group,
                              .index = index,
                              .last = last,
                              .ended = map_get_int(&walk->ended, place_of(group, index) + 1),
                              .waits = waits_for(walk, group) };
    struct attempt_key key = { .group = group, .index = index };

    if (walk->has_only && (group != walk->only_group || index != walk->only_index))
        return true;
    if (last && last->state != ATTEMPT_ENDED)
        task.silent_at = show_silent_since(walk->nodes, walk->reader, last->node);
    if (!is_wanted(walk, show_task_state(&task)))
        return true;
    if (json_array_size(walk->items) == walk->cursor.limit) {
        walk->has_more = true;
        return false;
    }
    json_array_append_new(walk->items, show_task(&task));
    write_key(&key, walk->last);
    return true;
}

/* Shows the tasks before a place, none of which has an attempt. */
static bool show_up_to(struct walk *walk, uint32_t group, uint32_t index)
{
    const struct job_spec *spec = walk->job.spec;

    while (walk->next.group < spec->n_groups &&
           place_of(walk->next.group, walk->next.index) < place_of(group, index)) {
        if (walk->next.index >= spec->groups[walk->next.group].replicas) {
            walk->next.group++;
            walk->next.index = 0;
        } else if (show_one(walk, walk->next.group, walk->next.index, NULL)) {
            walk->next.index++;
        } else {
            return false;
        }
    }
    return true;
}

static int walk_attempt(const void *row, void *arg)
{
    const struct row_attempt *attempt = row;
    struct walk *walk = arg;
    uint32_t group = (uint32_t)attempt->grp, index = (uint32_t)attempt->idx;

    walk->n_read++;
    walk->after = (struct attempt_key){
        .job = attempt->job, .group = group, .index = index, .number = (uint32_t)attempt->number
    };
    if (group >= walk->job.spec->n_groups)
        return 0;
    if (!show_up_to(walk, group, index) || !show_one(walk, group, index, attempt))
        return 1;
    walk->next = (struct attempt_key){ .group = group, .index = index + 1 };
    return 0;
}

static int tasks_read(struct call *call, struct reader *reader, struct err *err)
{
    struct walk *walk = call->state;
    const char *task = call_query(call, "task");
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    walk->has_only = task != NULL;
    if (task && !call_job_task(call, walk->job.spec, task, &walk->only_group, &walk->only_index))
        return 0;
    walk->items = json_array();
    walk->nodes = call->server->nodes;
    walk->reader = reader;
    r = reader_ended_tasks(reader, walk->job.id, note_ended, walk, err);
    do {
        walk->n_read = 0;
        if (r >= 0)
            r = reader_last_attempts(reader, walk->job.id, walk->after.number ? &walk->after : NULL,
                                     READER_ROWS_MAX, walk_attempt, walk, err);
    } while (r >= 0 && !walk->has_more && walk->n_read == READER_ROWS_MAX);
    if (r < 0)
        return r;
    if (!walk->has_more)
        show_up_to(walk, UINT32_MAX, 0);
    hide_jobs_of(walk->items, &call->who, hide_by_reader, reader);
    call->answer = cursor_answer(&walk->cursor, TAKE(walk->items), walk->has_more ? walk->last : "",
                                 call->revision);
    return 0;
}

static bool read_task_states(struct call *call, struct walk *walk)
{
    const char *text = call_query(call, "state");

    while (text && *text) {
        size_t n = strcspn(text, ",");
        CLEANUP(freep) char *word = mem_copy(text, n);
        int live = states_find(word, attempt_state_words, ATTEMPT_STATE_COUNT);
        int task = states_find(word, task_state_words, TASK_STATE_COUNT);

        if (task == TASK_LIVE || live == ATTEMPT_ENDED)
            task = live = -1;
        if (task >= 0)
            walk->states |= 1u << task;
        if (live >= 0)
            walk->live_states |= 1u << live;
        if (task < 0 && live < 0) {
            problem_set(&call->problem, PROBLEM_BAD_REQUEST, "state=%s: there is no such state",
                        word);
            return false;
        }
        text += n + (text[n] == ',');
    }
    return true;
}

void on_job_tasks(struct call *call)
{
    struct walk *walk = NEW0(struct walk);

    call->state = walk;
    call->free_state = walk_free;
    if (!call_job_id(call, call->args[0], &walk->job.id) || !cursor_read(call, &walk->cursor) ||
        !read_key(call, &walk->cursor, walk->job.id, &walk->next) ||
        !read_task_states(call, walk)) {
        call_end(call);
        return;
    }
    /* The cursor's task was the last one shown: its attempts are passed over too. */
    walk->after = walk->next;
    if (walk->cursor.key[0]) {
        walk->next.index++;
        walk->after.number = UINT32_MAX;
    }
    walk->verdicts = cycle_verdicts(call->server->cycle);
    call_read(call, tasks_read, NULL);
}

/* ---- attempts ---- */

struct attempts {
    struct call_job job; /* first */
    struct cursor cursor;
    struct attempt_key after;
    json_t *items;
    char last[64];
    bool has_more;
    /* timeline */
    bool has_task;
    uint32_t group, index;
    struct attempt_key previous;
    int64_t previous_end;
};

static void attempts_free(void *state)
{
    struct attempts *attempts = state;

    row_free(ROW_JOB, attempts->job.row);
    job_spec_freep(&attempts->job.spec);
    json_decref(attempts->items);
    free(attempts);
}

static struct attempt_key key_of(const struct row_attempt *row)
{
    return (struct attempt_key){ .job = row->job,
                                 .group = (uint32_t)row->grp,
                                 .index = (uint32_t)row->idx,
                                 .number = (uint32_t)row->number };
}

static const char *group_of(const struct row_attempt *row, const struct job_spec *spec)
{
    bool is_there = row->grp >= 0 && (size_t)row->grp < spec->n_groups;

    return is_there ? spec->groups[row->grp].name : "";
}

static int list_attempt(const void *row, void *arg)
{
    struct attempts *attempts = arg;
    struct attempt_key key = key_of(row);

    if (json_array_size(attempts->items) == attempts->cursor.limit) {
        attempts->has_more = true;
        return 1;
    }
    json_array_append_new(attempts->items, show_attempt(row, group_of(row, attempts->job.spec)));
    write_key(&key, attempts->last);
    return 0;
}

static int attempts_read(struct call *call, struct reader *reader, struct err *err)
{
    struct attempts *attempts = call->state;
    size_t limit = attempts->cursor.limit;
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    attempts->items = json_array();
    r = reader_attempts(reader, attempts->job.id, &attempts->after,
                        limit < READER_ROWS_MAX ? limit + 1 : limit, list_attempt, attempts, err);
    if (r < 0)
        return r;
    if (json_array_size(attempts->items) < limit ||
        (limit < READER_ROWS_MAX && !attempts->has_more))
        attempts->last[0] = '\0';
    hide_jobs_of(attempts->items, &call->who, hide_by_reader, reader);
    call->answer =
        cursor_answer(&attempts->cursor, TAKE(attempts->items), attempts->last, call->revision);
    return 0;
}

static struct attempts *attempts_begin(struct call *call)
{
    struct attempts *attempts = NEW0(struct attempts);

    call->state = attempts;
    call->free_state = attempts_free;
    return call_job_id(call, call->args[0], &attempts->job.id) ? attempts : NULL;
}

/* Whoever sees the job may watch its attempts. */
static void watch_attempts(struct call *call)
{
    list_watch_attempts(call, ((struct attempts *)call->state)->job.id);
}

void on_job_attempts(struct call *call)
{
    struct attempts *attempts = attempts_begin(call);
    bool is_watched;

    if (!attempts || !list_watch_read(call, &is_watched))
        call_end(call);
    else if (is_watched)
        call_read(call, call_job_load, watch_attempts);
    else if (cursor_read(call, &attempts->cursor) &&
             read_key(call, &attempts->cursor, attempts->job.id, &attempts->after))
        call_read(call, attempts_read, NULL);
    else
        call_end(call);
}

/* ---- timeline ---- */

static int list_timeline(const void *row, void *arg)
{
    const struct row_attempt *attempt = row;
    struct attempts *attempts = arg;
    struct attempt_key key = key_of(row);
    bool is_again = attempts->previous.group == key.group &&
                    attempts->previous.index == key.index && attempts->previous_end;
    int64_t since = is_again ? attempts->previous_end : attempts->job.row->submitted_at;

    attempts->previous = key;
    attempts->previous_end = attempt->ended_at;
    if (attempts->has_task && (key.group != attempts->group || key.index != attempts->index))
        return 0;
    if (json_array_size(attempts->items) == TIMELINE_ATTEMPTS_MAX)
        return 1;
    json_array_append_new(attempts->items, show_timeline(attempt, attempts->job.spec, since));
    return 0;
}

static int timeline_read(struct call *call, struct reader *reader, struct err *err)
{
    struct attempts *attempts = call->state;
    const char *task = call_query(call, "task");
    char id[NAME_ATTEMPT_SIZE];
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    attempts->has_task = task != NULL;
    if (task && !call_job_task(call, attempts->job.spec, task, &attempts->group, &attempts->index))
        return 0;
    attempts->items = json_array();
    attempts->after = (struct attempt_key){ .job = attempts->job.id,
                                            .group = attempts->group,
                                            .index = attempts->index };
    r = reader_attempts(reader, attempts->job.id, &attempts->after, READER_ROWS_MAX, list_timeline,
                        attempts, err);
    if (r < 0)
        return r;
    name_job(attempts->job.id, id);
    call->answer = json_object();
    show_text(call->answer, "job", id);
    show_time(call->answer, "submittedAt", attempts->job.row->submitted_at);
    show_set(call->answer, "attempts", TAKE(attempts->items));
    return 0;
}

void on_job_timeline(struct call *call)
{
    if (attempts_begin(call))
        call_read(call, timeline_read, NULL);
    else
        call_end(call);
}

/* ---- one attempt ---- */

static int attempt_read(struct call *call, struct reader *reader, struct err *err)
{
    struct call_job *job = call_job(call);
    struct name_parts parts = { 0 };
    struct attempt_key key;
    struct row_attempt *row = NULL;
    int64_t group;
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    r = name_parse(call->args[0], &parts, err);
    group = r < 0 ? -1 : call_job_group(job->spec, parts.group);
    if (r < 0 || group < 0)
        return r < 0 ? r : call_not_found(call, "attempt", call->args[0]);
    key = (struct attempt_key){ job->id, (uint32_t)group, parts.index, parts.number };
    r = reader_attempt(reader, &key, &row, err);
    if (r == 0) {
        call->answer = show_attempt(row, job->spec->groups[group].name);
        hide_jobs(call->answer, &call->who, hide_by_reader, reader);
        call->etag = row->rev;
        row_free(ROW_ATTEMPT, row);
    } else if (r == READER_NONE) {
        r = call_not_found(call, "attempt", call->args[0]);
    }
    return r;
}

void on_attempt_get(struct call *call)
{
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    if (name_parse(call->args[0], &parts, &err) < 0 || !parts.has_number) {
        call_not_found(call, "attempt", call->args[0]);
        call_end(call);
        return;
    }
    call_job_of(call, parts.job);
    call_read(call, attempt_read, NULL);
}
