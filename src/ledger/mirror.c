/*
 * Mirror: see mirror.h. Every change of a task goes through set_task, which is the only place
 * where counts and used amounts move, so that what is derived cannot drift from the rows.
 */
#include "ledger/mirror.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/quantity.h"
#include "ledger/mirror_inside.h"

void mirror_init(struct mirror *mirror)
{
    *mirror = (struct mirror){ 0 };
}

/* ---- cells: rows found by one text ---- */

/* The text by which a row of a kind with cells is found: its key, or the two parts of it. */
static const char *cell_name(enum row_kind kind, const void *row, struct str *room)
{
    const struct column *columns = schema[kind].columns;

    if (schema[kind].n_keys == 1)
        return row_text(row, &columns[0]);
    str_addf(room, "%s\n%s", row_text(row, &columns[0]), row_text(row, &columns[1]));
    return str_text(room);
}

static void *swap_cell(struct mirror *mirror, enum row_kind kind, const void *key, void *row)
{
    CLEANUP(str_fini) struct str room = { 0 };
    const char *name = cell_name(kind, key, &room);
    struct mirror_cell *cell = map_get(&mirror->cells[kind], name);
    void *was = NULL;

    if (cell) {
        was = cell->row;
        cell->row = row;
    } else if (row) {
        cell = mem_zero(1, sizeof(*cell) + strlen(name) + 1);
        memcpy(cell->name, name, strlen(name) + 1);
        cell->row = row;
        map_put(&mirror->cells[kind], cell->name, cell);
    }
    if (cell && !row) {
        map_remove(&mirror->cells[kind], cell->name);
        mem_free(cell);
    }
    if (kind == ROW_QUEUE)
        queue_changed(mirror, was, row);
    else if (kind == ROW_QUOTA)
        quotas_changed(mirror, ((const struct row_quota *)(row ? row : was))->ns);
    return was;
}

static void empty_cells(struct mirror *mirror, enum row_kind kind)
{
    MAP_EACH (entry, &mirror->cells[kind]) {
        struct mirror_cell *cell = entry->value;
        row_free(kind, cell->row);
        mem_free(cell);
    }
    map_fini(&mirror->cells[kind]);
    mirror->cells[kind] = (struct map){ 0 };
}

void *mirror_find(const struct mirror *mirror, enum row_kind kind, const char *name)
{
    struct mirror_cell *cell = map_get(&mirror->cells[kind], name);

    return cell ? cell->row : NULL;
}

static void *find_in_namespace(const struct mirror *mirror, enum row_kind kind, const char *ns,
                               const char *key)
{
    CLEANUP(freep) char *name = text_format("%s\n%s", ns, key);

    return mirror_find(mirror, kind, name);
}

struct row_idem *mirror_idem(const struct mirror *mirror, const char *ns, const char *key)
{
    return find_in_namespace(mirror, ROW_IDEM, ns, key);
}

struct row_quota *mirror_quota(const struct mirror *mirror, const char *ns, const char *name)
{
    return find_in_namespace(mirror, ROW_QUOTA, ns, name);
}

static int cmp_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **mirror_names(const struct mirror *mirror, enum row_kind kind, size_t *n)
{
    const char **names = NEW0_N(const char *, mirror->cells[kind].n + 1);

    *n = 0;
    MAP_EACH (entry, &mirror->cells[kind])
        names[(*n)++] = ((struct mirror_cell *)entry->value)->name;
    qsort(names, *n, sizeof(*names), cmp_names);
    return names;
}

/* ---- nodes ---- */

const char **mirror_node_names(const struct mirror *mirror, size_t *n)
{
    const char **names = NEW0_N(const char *, mirror->nodes.n + 1);

    *n = 0;
    MAP_EACH (entry, &mirror->nodes)
        names[(*n)++] = ((struct mirror_node *)entry->value)->row->name;
    qsort(names, *n, sizeof(*names), cmp_names);
    return names;
}

struct mirror_node *mirror_node(const struct mirror *mirror, const char *name)
{
    return map_get(&mirror->nodes, name);
}

static void node_free(struct mirror_node *node)
{
    row_free(ROW_NODE, node->row);
    VEC_EACH (room, &node->rooms)
        mem_free(room->resource);
    VEC_FINI(&node->rooms);
    VEC_FINI(&node->live);
    VEC_FINI(&node->parts);
    mem_free(node->name);
    mem_free(node);
}

static struct mirror_room *room_of(struct mirror_node *node, const char *resource)
{
    VEC_EACH (room, &node->rooms)
        if (strcmp(room->resource, resource) == 0)
            return room;
    return NULL;
}

static struct mirror_room *make_room(struct mirror_node *node, const char *resource)
{
    struct mirror_room *room = room_of(node, resource);

    if (!room) {
        room = VEC_ADD(&node->rooms);
        room->resource = text_copy(resource);
    }
    return room;
}

static void take_room(struct mirror_node *node, const char *resource, int64_t value, bool is_held)
{
    struct mirror_room *room = make_room(node, resource);
    int64_t *of = is_held ? &room->held : &room->used;

    *of += value;
    assert(*of >= 0);
}

/* Puts the offered amounts into the node's rooms; those that are neither offered nor used go. */
static void set_offers(struct mirror_node *node, const json_t *offers)
{
    const char *resource;
    json_t *value;

    VEC_EACH (room, &node->rooms)
        room->offered = 0;
    json_object_foreach((json_t *)offers, resource, value) make_room(node, resource)->offered =
        json_integer_value(value);
    for (size_t i = node->rooms.n; i-- > 0;) {
        struct mirror_room *room = &node->rooms.at[i];
        if (room->offered == 0 && room->used == 0 && room->held == 0 &&
            !json_object_get(offers, room->resource)) {
            mem_free(room->resource);
            VEC_SWAP_OUT(&node->rooms, i);
        }
    }
    node->is_pods_offered = json_object_get(offers, "pods") != NULL;
}

static json_t *read_offers(const struct row_node *row)
{
    json_t *offers = json_loads(row->offers[0] ? row->offers : "{}", JSON_REJECT_DUPLICATES, NULL);
    const char *resource;
    json_t *value;

    if (!json_is_object(offers)) {
        json_decref(offers);
        return NULL;
    }
    json_object_foreach(offers, resource, value)
    {
        if (json_is_integer(value) && json_integer_value(value) >= 0 &&
            json_integer_value(value) <= QUANTITY_MAX)
            continue;
        json_decref(offers);
        return NULL;
    }
    return offers;
}

static int put_node(struct mirror *mirror, struct row_node *row, void **was, struct err *err)
{
    struct mirror_node *node = mirror_node(mirror, row->name);
    json_t *offers = NULL;

    if (!node || strcmp(node->row->offers, row->offers) != 0) {
        offers = read_offers(row);
        if (!offers)
            return err_set(err, -EBADMSG, "node %s: its offers cannot be read", row->name);
    }
    if (!node) {
        node = NEW0(struct mirror_node);
        node->name = text_copy(row->name);
        map_put(&mirror->nodes, node->name, node);
    }
    if (offers)
        set_offers(node, offers);
    json_decref(offers);
    *was = node->row;
    node->row = row;
    return 0;
}

/* Takes out a node on which nothing is live or held. Returns its row, the caller's now; NULL:
 * none. */
static struct row_node *drop_node(struct mirror *mirror, const char *name)
{
    struct mirror_node *node = mirror_node(mirror, name);
    struct row_node *row;

    if (!node)
        return NULL;
    assert(node->live.n == 0 && node->parts.n == 0);
    row = TAKE(node->row);
    map_remove(&mirror->nodes, node->name);
    node_free(node);
    return row;
}

static int cmp_attempts(const void *a, const void *b)
{
    return row_cmp(ROW_ATTEMPT, *(void *const *)a, *(void *const *)b);
}

struct row_attempt **mirror_node_attempts(const struct mirror_node *node, size_t *n)
{
    struct row_attempt **rows = NEW0_N(struct row_attempt *, node->live.n + 1);

    *n = node->live.n;
    for (size_t i = 0; i < *n; i++)
        rows[i] = node->live.at[i]->live;
    qsort(rows, *n, sizeof(*rows), cmp_attempts);
    return rows;
}

/* ---- jobs ---- */

struct mirror_job *mirror_job(const struct mirror *mirror, uint64_t id)
{
    return map_get_int(&mirror->jobs, id);
}

struct mirror_task *mirror_task(const struct mirror_job *job, int64_t grp, int64_t idx)
{
    if (grp < 0 || grp >= job->n_groups || idx < 0 || idx >= job->groups[grp].replicas)
        return NULL;
    return &job->tasks[job->groups[grp].first + (uint32_t)idx];
}

static void job_free(struct mirror *mirror, struct mirror_job *job)
{
    held_drop(mirror, job);
    for (uint32_t i = 0; i < job->n_tasks; i++)
        row_free(ROW_ATTEMPT, job->tasks[i].live);
    for (uint32_t g = 0; g < job->n_groups; g++) {
        for (size_t i = 0; i < job->groups[g].n_asks; i++)
            mem_free(job->groups[g].asks[i].resource);
        mem_free(job->groups[g].asks);
        mem_free(job->groups[g].name);
    }
    mem_free(job->groups);
    mem_free(job->tasks);
    row_free(ROW_JOB, job->row);
    mem_free(job);
}

static void read_group(struct mirror_group *to, const struct job_group *from, uint32_t first)
{
    to->name = text_copy(from->name);
    to->first = first;
    to->replicas = from->replicas;
    to->min_available = from->min_available;
    to->counts[TASK_PENDING] = from->replicas;
    to->asks = NEW0_N(struct mirror_amount, from->holds.n + 1);
    for (size_t i = 0; i < from->holds.n; i++) {
        if (strcmp(from->holds.at[i].resource, "pods") == 0)
            continue; /* each task is one, whatever it says */
        to->asks[to->n_asks].resource = text_copy(from->holds.at[i].resource);
        to->asks[to->n_asks++].value = from->holds.at[i].value;
    }
}

static struct mirror_job *job_new(const struct job_spec *spec)
{
    struct mirror_job *job = NEW0(struct mirror_job);

    job->groups = NEW0_N(struct mirror_group, spec->n_groups);
    job->n_groups = (uint32_t)spec->n_groups;
    for (uint32_t g = 0; g < job->n_groups; g++) {
        read_group(&job->groups[g], &spec->groups[g], job->n_tasks);
        job->n_tasks += spec->groups[g].replicas;
    }
    job->tasks = NEW0_N(struct mirror_task, job->n_tasks);
    job->counts[TASK_PENDING] = job->n_tasks;
    job->min_available = spec->min_available;
    job->retries_max = spec->retries_max;
    job->backoff_ms = spec->backoff_ms;
    job->backoff_max_ms = spec->backoff_max_ms;
    job->grace_ms = spec->grace_ms;
    job->stops_on_failure = spec->on_failure == ON_FAILURE_STOP;
    job->keeps_on_disconnect = spec->on_disconnect == ON_DISCONNECT_KEEP;
    return job;
}

static void touch(struct mirror *mirror, struct mirror_job *job)
{
    if (job->is_touched)
        return;
    job->is_touched = true;
    VEC_PUSH(&mirror->touched, job);
}

static int add_job(struct mirror *mirror, struct row_job *row, const struct job_spec *spec,
                   struct err *err)
{
    CLEANUP(job_spec_freep) struct job_spec *own = NULL;
    struct mirror_job *job;

    if (!spec) {
        int r = job_spec_from_canonical(row->spec, &own, err);
        if (r < 0)
            return err_wrap(err, "job %" PRIu64, row->id);
        spec = own;
    }
    job = job_new(spec);
    job->row = row;
    map_put_int(&mirror->jobs, row->id, job);
    touch(mirror, job);
    return 0;
}

static void drop_job(struct mirror *mirror, struct mirror_job *job)
{
    map_remove_int(&mirror->jobs, job->row->id);
    for (size_t i = 0; i < mirror->touched.n; i++) {
        if (mirror->touched.at[i] == job) {
            VEC_SWAP_OUT(&mirror->touched, i);
            break;
        }
    }
    job_free(mirror, job);
}

void mirror_count(const struct mirror_job *job, struct row_job *row)
{
    row->n_tasks = job->n_tasks;
    row->n_pending = job->counts[TASK_PENDING];
    row->n_live = job->counts[TASK_LIVE];
    row->n_running = job->n_running;
    row->n_succeeded = job->counts[TASK_SUCCEEDED];
    row->n_failed = job->counts[TASK_FAILED];
    row->n_cancelled = job->counts[TASK_CANCELLED];
    row->code = job->code;
}

/* ---- tasks ---- */

void mirror_use(struct mirror_node *node, const struct mirror_group *group, int sign, bool is_held)
{
    for (size_t i = 0; i < group->n_asks; i++)
        if (group->asks[i].value)
            take_room(node, group->asks[i].resource, sign * group->asks[i].value, is_held);
    take_room(node, "pods", sign * POD, is_held);
}

static void leave_node(struct mirror *mirror, const struct mirror_job *job,
                       const struct mirror_group *group, struct mirror_task *task)
{
    struct mirror_node *node = mirror_node(mirror, task->live->node);

    mirror_use(node, group, -1, false);
    queue_use(mirror, job->row->queue, group, -1);
    namespace_use(mirror, job->row->ns, group, -1);
    for (size_t i = 0; i < node->live.n; i++) {
        if (node->live.at[i] == task) {
            VEC_SWAP_OUT(&node->live, i);
            return;
        }
    }
    assert(!"a live attempt is among its node's");
}

static void enter_node(struct mirror *mirror, const struct mirror_job *job,
                       const struct mirror_group *group, struct mirror_task *task)
{
    struct mirror_node *node = mirror_node(mirror, task->live->node);

    mirror_use(node, group, 1, false);
    queue_use(mirror, job->row->queue, group, 1);
    namespace_use(mirror, job->row->ns, group, 1);
    VEC_PUSH(&node->live, task);
}

static bool is_running(const struct mirror_task *task)
{
    return task->live && task->live->state == ATTEMPT_RUNNING;
}

/* Moves a task from what it is to what it becomes; counts and rooms follow. The row in
 * to.live is counted already; that in the task is left to the caller. */
static void set_task(struct mirror *mirror, struct mirror_job *job, int64_t grp,
                     struct mirror_task *task, struct mirror_task to)
{
    struct mirror_group *group = &job->groups[grp];
    bool stays = task->live && to.live && strcmp(task->live->node, to.live->node) == 0;

    if (task->live && !stays)
        leave_node(mirror, job, group, task);
    job->counts[task->state]--;
    group->counts[task->state]--;
    job->n_running -= is_running(task);
    *task = to;
    job->counts[task->state]++;
    group->counts[task->state]++;
    job->n_running += is_running(task);
    if (task->live && !stays)
        enter_node(mirror, job, group, task);
    touch(mirror, job);
}

static struct mirror_task task_after(const struct row_attempt *row)
{
    static const uint8_t states[THEN_COUNT] = {
        [THEN_AGAIN] = TASK_PENDING,
        [THEN_SUCCEEDED] = TASK_SUCCEEDED,
        [THEN_FAILED] = TASK_FAILED,
        [THEN_CANCELLED] = TASK_CANCELLED,
    };
    struct mirror_task task = { .number = (uint32_t)row->number,
                                .tries = (uint32_t)row->tries,
                                .evictions = (uint32_t)row->evictions };

    if (attempt_is_live((enum attempt_state)row->state)) {
        task.live = (struct row_attempt *)row;
        task.state = TASK_LIVE;
        return task;
    }
    task.state = states[row->then];
    task.not_before = row->not_before;
    return task;
}

/* What a shell sees of a task for which this was the last attempt. */
static int64_t final_code(const struct row_attempt *row)
{
    int code = cause_shell_code((enum cause)row->cause, (enum detail)row->detail, (int)row->code,
                                (int)row->signal);

    return row->then == THEN_FAILED && code == 0 ? 1 : code;
}

/*
 * When an attempt ended by the ledger's clock, as far as that can be told: an agent's clock that
 * had it start before the ledger let it is behind, by so much at least.
 */
static int64_t final_end(const struct row_attempt *row)
{
    int64_t let_at = row->acked_at ? row->acked_at : row->bound_at;
    bool is_behind = row->started_at && row->started_at < let_at;

    return row->ended_at + (is_behind ? let_at - row->started_at : 0);
}

/* The task that a row of a task or attempt is about. */
static int find_task(const struct mirror *mirror, enum row_kind kind, const void *row,
                     struct mirror_job **job, struct mirror_task **task, struct err *err)
{
    const struct row_task *key = row; /* both begin with job, group, index */

    *job = mirror_job(mirror, key->job);
    *task = *job ? mirror_task(*job, key->grp, key->idx) : NULL;
    if (!*task)
        return err_set(err, -EBADMSG,
                       "%s of j-%" PRIu64 ", group %" PRId64 ", index %" PRId64 ": no such task",
                       schema[kind].name, key->job, key->grp, key->idx);
    return 0;
}
_Static_assert(offsetof(struct row_task, idx) == offsetof(struct row_attempt, idx) &&
                   offsetof(struct row_task, grp) == offsetof(struct row_attempt, grp),
               "find_task reads either");

static int put_attempt(struct mirror *mirror, struct row_attempt *row, struct mirror_undo *undo,
                       struct err *err)
{
    struct mirror_job *job;
    struct mirror_task *task;
    int r = find_task(mirror, ROW_ATTEMPT, row, &job, &task, err);

    if (r < 0)
        return r;
    if (!mirror_node(mirror, row->node))
        return err_set(err, -EBADMSG, "attempt of j-%" PRIu64 ": no node %s", row->job, row->node);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) found without an error */
    undo->task = *task;
    undo->code = job->code;
    undo->ended_at = job->ended_at;
    undo->was = task->live;
    set_task(mirror, job, row->grp, task, task_after(row));
    if (task->state == TASK_LIVE || task->state == TASK_PENDING)
        return 0;
    if (final_code(row) > job->code)
        job->code = final_code(row);
    if (final_end(row) > job->ended_at)
        job->ended_at = final_end(row);
    return 0;
}

static int put_task(struct mirror *mirror, const struct row_task *row, struct mirror_undo *undo,
                    struct err *err)
{
    struct mirror_job *job;
    struct mirror_task *task;
    struct mirror_task to;
    int r = find_task(mirror, ROW_TASK, row, &job, &task, err);

    if (r < 0)
        return r;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) likewise */
    if (task->live)
        return err_set(err, -EBADMSG, "task of j-%" PRIu64 " ended without an attempt, yet has one",
                       row->job);
    undo->task = to = *task;
    undo->code = job->code;
    undo->ended_at = job->ended_at;
    to.state = (uint8_t)row->state;
    to.not_before = 0;
    set_task(mirror, job, row->grp, task, to);
    if (row->state == TASK_FAILED && job->code == 0)
        job->code = 1;
    return 0;
}

static int put_job(struct mirror *mirror, struct row_job *row, const struct job_spec *spec,
                   struct mirror_undo *undo, struct err *err)
{
    struct mirror_job *job = mirror_job(mirror, row->id);

    if (!job)
        return add_job(mirror, row, spec, err);
    undo->was = job->row;
    job->row = row;
    touch(mirror, job);
    return 0;
}

/* ---- changes ---- */

/* A task's row is not kept, nor one of what is over: their task or job tells. */
static bool is_kept(enum row_kind kind, const void *row)
{
    if (kind == ROW_ATTEMPT)
        return attempt_is_live((enum attempt_state)((const struct row_attempt *)row)->state);
    if (kind == ROW_RESERVATION || kind == ROW_PART)
        return held_is_kept(kind, row);
    return kind != ROW_TASK;
}

int mirror_put(struct mirror *mirror, enum row_kind kind, void *row, const struct job_spec *spec,
               struct mirror_undo *undo, struct err *err)
{
    struct mirror_undo own = { .kind = kind, .now = row };
    int r = 0;

    if (kind == ROW_JOB)
        r = put_job(mirror, row, spec, &own, err);
    else if (kind == ROW_TASK)
        r = put_task(mirror, row, &own, err);
    else if (kind == ROW_ATTEMPT)
        r = put_attempt(mirror, row, &own, err);
    else if (kind == ROW_NODE)
        r = put_node(mirror, row, &own.was, err);
    else if (kind == ROW_RESERVATION || kind == ROW_PART)
        r = held_put(mirror, kind, row, &own.was, err);
    else
        own.was = swap_cell(mirror, kind, row, row);
    if (r < 0)
        return r;

    if (is_kept(kind, row))
        row_ref(row);
    row_ref(row);
    if (undo)
        *undo = own;
    else
        mirror_undo_fini(&own);
    return 0;
}

void mirror_del(struct mirror *mirror, enum row_kind kind, const void *key,
                struct mirror_undo *undo)
{
    struct mirror_undo own = { .kind = kind };

    own.was = kind == ROW_NODE ? drop_node(mirror, ((const struct row_node *)key)->name)
                               : swap_cell(mirror, kind, key, NULL);
    if (undo)
        *undo = own;
    else
        mirror_undo_fini(&own);
}

void mirror_undo_fini(struct mirror_undo *undo)
{
    row_free(undo->kind, undo->was);
    row_free(undo->kind, undo->now);
    undo->was = undo->now = NULL;
}

static void take_back_task(struct mirror *mirror, struct mirror_undo *undo)
{
    const struct row_task *key = undo->now;
    struct mirror_job *job = mirror_job(mirror, key->job);
    struct mirror_task *task = mirror_task(job, key->grp, key->idx);
    struct row_attempt *live = task->live;

    set_task(mirror, job, key->grp, task, undo->task);
    job->code = undo->code;
    job->ended_at = undo->ended_at;
    row_free(ROW_ATTEMPT, live);
}

void mirror_take_back(struct mirror *mirror, struct mirror_undo *undo)
{
    enum row_kind kind = undo->kind;
    struct err err = { 0 };
    void *was = NULL;

    if (kind == ROW_TASK || kind == ROW_ATTEMPT) {
        take_back_task(mirror, undo);
    } else if (kind == ROW_JOB && !undo->was) {
        drop_job(mirror, mirror_job(mirror, ((struct row_job *)undo->now)->id));
    } else if (kind == ROW_JOB) {
        struct mirror_job *job = mirror_job(mirror, ((struct row_job *)undo->now)->id);
        was = job->row;
        job->row = undo->was;
    } else if (kind == ROW_NODE && !undo->was) {
        was = drop_node(mirror, ((struct row_node *)undo->now)->name);
    } else if (kind == ROW_NODE) {
        int r = put_node(mirror, undo->was, &was, &err);
        assert(r == 0);
        (void)r;
    } else if (kind == ROW_RESERVATION || kind == ROW_PART) {
        was = held_take_back(mirror, kind, undo->now, undo->was);
    } else {
        was = swap_cell(mirror, kind, undo->now ? undo->now : undo->was, undo->was);
    }
    row_free(kind, was);
    undo->was = NULL; /* it is the mirror's again */
    mirror_undo_fini(undo);
}

void mirror_settle(struct mirror *mirror)
{
    VEC_EACH (at, &mirror->touched) {
        struct mirror_job *job = *at;
        job->is_touched = false;
        if (!job_is_over((enum job_state)job->row->state))
            continue;
        map_remove_int(&mirror->jobs, job->row->id);
        job_free(mirror, job);
    }
    mirror->touched.n = 0;
    empty_cells(mirror, ROW_IDEM);
}

void mirror_fini(struct mirror *mirror)
{
    MAP_EACH (entry, &mirror->jobs)
        job_free(mirror, entry->value);
    map_fini(&mirror->jobs);
    MAP_EACH (entry, &mirror->nodes)
        node_free(entry->value);
    map_fini(&mirror->nodes);
    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++)
        empty_cells(mirror, kind);
    accounts_fini(&mirror->queues);
    accounts_fini(&mirror->namespaces);
    VEC_FINI(&mirror->touched);
    mirror_init(mirror);
}
