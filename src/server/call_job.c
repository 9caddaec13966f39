/* Calls about one job: see call_job.h. */
#include "server/call_job.h"

#include <string.h>

#include "base/name.h"
#include "base/nearest.h"
#include "server/hide.h"
#include "server/show.h"
#include "server/view.h"

static void forget(struct call_job *job)
{
    row_free(ROW_JOB, job->row);
    job->row = NULL;
    job_spec_freep(&job->spec);
}

static void free_state(void *state)
{
    forget(state);
    free(state);
}

void call_job_of(struct call *call, uint64_t id)
{
    struct call_job *job = NEW0(struct call_job);

    job->id = id;
    call->state = job;
    call->free_state = free_state;
}

bool call_job_begin(struct call *call)
{
    uint64_t id;

    if (!call_job_id(call, call->args[0], &id))
        return false;
    call_job_of(call, id);
    return true;
}

struct call_job *call_job(struct call *call)
{
    return call->state;
}

int call_job_load(struct call *call, struct reader *reader, struct err *err)
{
    struct call_job *job = call_job(call);
    char name[NAME_ATTEMPT_SIZE];
    int r;

    forget(job);
    r = reader_job(reader, job->id, &job->row, err);
    if (r < 0)
        return r;
    name_job(job->id, name);
    if (r == READER_NONE || !call_sees(call, job->row->ns)) {
        forget(job);
        return call_not_found(call, "job", name);
    }
    r = job_spec_from_canonical(job->row->spec, &job->spec, err);
    return r < 0 ? err_wrap(err, "read job %s", name) : 0;
}

/* The first task that failed, by group and index: what the job died of. */
static int take_failed(const void *row, void *arg)
{
    const struct row_attempt *attempt = row;
    struct call *call = arg;
    const struct call_job *job = call_job(call);
    struct show_task task = { .job = job->row,
                              .spec = job->spec,
                              .group = (uint32_t)attempt->grp,
                              .index = (uint32_t)attempt->idx,
                              .last = attempt };

    if (attempt->then != THEN_FAILED || (size_t)attempt->grp >= job->spec->n_groups)
        return 0;
    show_set(call->answer, "failure", show_task(&task));
    return 1;
}

static int show_failure(struct call *call, struct reader *reader, struct err *err)
{
    const struct call_job *job = call_job(call);

    if (job->row->state != JOB_FAILED)
        return 0;
    return reader_last_attempts(reader, job->id, NULL, 0, take_failed, call, err);
}

struct held {
    const struct call_job *job;
    json_t *list;
    json_t *waits; /* the keys of the attempts that the open ones wait, or waited, for */
};

static int add_reservation(const void *row, void *arg)
{
    struct held *held = arg;
    json_t *object = show_reservation(row);

    show_set(object, "rooms", json_array());
    json_array_append_new(held->list, object);
    return 0;
}

/* Adds the keys of a room to those that are listed, each once. */
static void add_waits(const struct row_part *row, json_t *list)
{
    json_t *keys = row->waits[0] ? json_loads(row->waits, 0, NULL) : NULL, *key, *other;
    size_t i, k;

    json_array_foreach(keys, i, key)
    {
        bool is_new = true;
        json_array_foreach(list, k, other) is_new = is_new && !json_equal(key, other);
        if (is_new && json_array_size(list) < STOPPING_MAX)
            json_array_append(list, key);
    }
    json_decref(keys);
}

static int add_room(const void *data, void *arg)
{
    const struct row_part *row = data;
    struct held *held = arg;
    json_t *reservation;
    size_t i;

    json_array_foreach(held->list, i, reservation)
    {
        json_t *id = json_object_get(reservation, "id");
        if ((uint64_t)json_integer_value(id) == row->reservation &&
            (size_t)row->grp < held->job->spec->n_groups)
            json_array_append_new(json_object_get(reservation, "rooms"),
                                  show_room(row, held->job->spec->groups[row->grp].name));
    }
    if (row->state == RESERVATION_OPEN)
        add_waits(row, held->waits);
    return 0;
}

static uint64_t number_at(const json_t *list, size_t i)
{
    return (uint64_t)json_integer_value(json_array_get(list, i));
}

/* Whether an attempt has not ended yet. */
static int find_live(struct reader *reader, const struct attempt_key *key, bool *live,
                     struct err *err)
{
    struct row_attempt *row = NULL;
    int r = reader_attempt(reader, key, &row, err);

    *live = r == 0 && row->state != ATTEMPT_ENDED;
    row_free(ROW_ATTEMPT, row);
    return r < 0 ? r : 0;
}

/* Adds the name of an attempt that is live yet, if the caller sees its job. */
static int name_live(const struct call *call, struct reader *reader, const json_t *numbers,
                     json_t *names, struct err *err)
{
    struct attempt_key key = { number_at(numbers, 0), (uint32_t)number_at(numbers, 1),
                               (uint32_t)number_at(numbers, 2), (uint32_t)number_at(numbers, 3) };
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct row_job *row = NULL;
    char name[NAME_ATTEMPT_SIZE];
    bool live;
    int r = find_live(reader, &key, &live, err);

    if (r < 0 || !live)
        return r;
    r = reader_job(reader, key.job, &row, err);
    if (r == 0 && call_sees(call, row->ns))
        r = job_spec_from_canonical(row->spec, &spec, err);
    row_free(ROW_JOB, row);
    if (r < 0 || !spec || key.group >= spec->n_groups)
        return r < 0 ? r : 0;
    name_attempt(key.job, spec->groups[key.group].name, key.index, key.number, name);
    json_array_append_new(names, json_string(name));
    return 0;
}

/* Whose end what is held waits for yet, at most so many. Only one of a job's is open. */
static int show_stopping(const struct call *call, struct reader *reader, const struct held *held,
                         struct err *err)
{
    CLEANUP(json_decrefp) json_t *names = json_array();
    json_t *numbers, *reservation;
    size_t i;
    int r = 0;

    json_array_foreach(held->waits, i, numbers)
    {
        if (r >= 0 && json_array_size(names) < STOPPING_MAX)
            r = name_live(call, reader, numbers, names, err);
    }
    json_array_foreach(held->list, i, reservation)
    {
        if (json_array_size(names) &&
            text_eq(json_string_value(json_object_get(reservation, "state")),
                    reservation_state_words[RESERVATION_OPEN]))
            show_set(reservation, "stopping", json_incref(names));
    }
    return r;
}

/* What was and is held for it: whom that cost, and what became of it. */
static int show_held(struct call *call, struct reader *reader, struct err *err)
{
    CLEANUP(json_decrefp) json_t *waits = json_array();
    struct held held = { call_job(call), json_array(), waits };
    int r = reader_reservations(reader, held.job->id, add_reservation, &held, err);

    if (r >= 0 && json_array_size(held.list))
        r = reader_parts(reader, held.job->id, add_room, &held, err);
    if (r >= 0)
        r = show_stopping(call, reader, &held, err);
    hide_jobs_of(held.list, &call->who, hide_by_reader, reader);
    if (r >= 0 && json_array_size(held.list))
        show_set(call->answer, "reservations", held.list);
    else
        json_decref(held.list);
    return r;
}

/* Nodes that the job lost attempts with, each once. */
struct lost {
    json_t *nodes; /* an object by name */
    struct attempt_key last;
    size_t n; /* attempts looked at */
};

static int add_lost(const void *data, void *arg)
{
    const struct row_attempt *row = data;
    struct lost *lost = arg;

    lost->last = (struct attempt_key){ row->job, (uint32_t)row->grp, (uint32_t)row->idx,
                                       (uint32_t)row->number };
    lost->n++;
    if (row->cause == CAUSE_NODE_LOST)
        json_object_set_new(lost->nodes, row->node, json_null());
    return 0;
}

static int find_lost(struct reader *reader, uint64_t job, struct lost *lost, struct err *err)
{
    int r;

    do {
        bool is_first = !lost->last.number;
        lost->n = 0;
        r = reader_attempts(reader, job, is_first ? NULL : &lost->last, READER_ROWS_MAX, add_lost,
                            lost, err);
    } while (r >= 0 && lost->n == READER_ROWS_MAX);
    return r;
}

/* Attempts of the job that a lost node may run on. */
static void add_kept(const struct row_node *row, uint64_t job, json_t *list)
{
    CLEANUP(json_decrefp) json_t *info = NULL;
    json_t *name;
    size_t i;

    if (row->state != NODE_LOST)
        return;
    info = show_read_object(row->info);
    json_array_foreach(json_object_get(info, "kept"), i, name)
    {
        struct name_parts parts = { 0 };
        struct err err = { 0 };

        if (name_parse(json_string_value(name), &parts, &err) == 0 && parts.job == job)
            json_array_append_new(list, json_pack("{s:O,s:s}", "attempt", name, "node", row->name));
    }
}

int call_job_kept(struct call *call, struct reader *reader, struct err *err)
{
    const struct call_job *job = call_job(call);
    struct lost lost = { 0 };
    json_t *list, *none;
    const char *name;
    int r;

    if (!job->spec || job->spec->on_disconnect != ON_DISCONNECT_KEEP)
        return 0;
    list = json_array();
    lost.nodes = json_object();
    r = find_lost(reader, job->id, &lost, err);
    json_object_foreach(lost.nodes, name, none)
    {
        struct row_node *row = NULL;

        if (r >= 0)
            r = reader_node(reader, name, &row, err);
        if (row)
            add_kept(row, job->id, list);
        row_free(ROW_NODE, row);
    }
    if (r >= 0 && json_array_size(list))
        show_set(call->answer, "kept", json_incref(list));
    json_decref(list);
    json_decref(lost.nodes);
    return r < 0 ? r : 0;
}

int call_job_show(struct call *call, struct reader *reader, struct err *err)
{
    struct call_job *job = call_job(call);
    struct verdicts *verdicts;
    struct show_view view = { .nodes = call->server->nodes,
                              .reader = reader,
                              .hides_jobs = call->who.ns[0] };
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    verdicts = cycle_verdicts(call->server->cycle);
    view.verdicts = verdicts;
    call->answer = show_job(job->row, job->spec, &view);
    call->etag = job->row->rev;
    verdicts_unref(verdicts);
    r = show_held(call, reader, err);
    if (r >= 0)
        r = call_job_kept(call, reader, err);
    return r < 0 ? r : show_failure(call, reader, err);
}

int64_t call_job_group(const struct job_spec *spec, const char *name)
{
    if (!name[0])
        return spec->n_groups == 1 ? 0 : -1;
    for (size_t i = 0; i < spec->n_groups; i++)
        if (text_eq(spec->groups[i].name, name))
            return (int64_t)i;
    return -1;
}

/* Which tasks there are; and the group that may have been meant. */
static void refuse_task(struct call *call, const struct job_spec *spec, const char *text,
                        const char *group)
{
    CLEANUP(str_fini) struct str all = { 0 };
    const char *names[JOB_GROUPS_MAX], *meant;
    bool is_known = group[0] && call_job_group(spec, group) >= 0;

    for (size_t i = 0; i < spec->n_groups; i++)
        names[i] = spec->groups[i].name;
    meant = group[0] && !is_known ? nearest(group, names, spec->n_groups) : NULL;
    for (size_t i = 0; i < spec->n_groups; i++) {
        const char *name = names[i];
        uint32_t last = (uint32_t)spec->groups[i].replicas - 1;

        if ((is_known && !text_eq(name, group)) || (meant && !text_eq(name, meant)))
            continue;
        str_addf(&all, "%s%s.0", all.len ? ", " : "", name);
        if (last)
            str_addf(&all, " to %s.%u", name, last);
    }
    problem_set(&call->problem, PROBLEM_NOT_FOUND, "there is no task %.80s%s; %s %.240s%s", text,
                meant ? "" : " in the job", meant ? "did you mean one of" : "there is", all.data,
                meant ? "?" : "");
}

bool call_job_task(struct call *call, const struct job_spec *spec, const char *text,
                   uint32_t *group, uint32_t *index)
{
    const char *dot = strrchr(text, '.');
    CLEANUP(freep) char *name = mem_copy(text, dot ? (size_t)(dot - text) : 0);
    int64_t at = call_job_group(spec, name), number = 0;

    if (at < 0 ||
        text_to_int(dot ? dot + 1 : text, 0, spec->groups[at].replicas - 1, &number) < 0) {
        refuse_task(call, spec, text, name);
        return false;
    }
    *group = (uint32_t)at;
    *index = (uint32_t)number;
    return true;
}
