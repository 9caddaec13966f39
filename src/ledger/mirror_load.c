/*
 * How a mirror comes to hold what the store holds: loaded whole, or by the events since. Also
 * whether two mirrors hold the same.
 */
#include "ledger/mirror_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef int live_fn(enum row_kind kind, void *row, void *arg);

struct walk {
    struct store *store;
    live_fn *fn;
    void *arg;
    enum row_kind kind;
    VEC_OF(uint64_t) jobs;
};

static int walk_row(const void *row, void *arg)
{
    struct walk *walk = arg;

    if (walk->kind == ROW_JOB)
        VEC_PUSH(&walk->jobs, ((const struct row_job *)row)->id);
    return walk->fn(walk->kind, (void *)row, walk->arg);
}

static int walk_kind(struct walk *walk, const struct store_query *query, struct err *err)
{
    int r;

    walk->kind = query->kind;
    r = store_find(walk->store, query, walk_row, walk, err);
    if (r < 0 && !err->code)
        return err_set(err, r, "load %s", schema[query->kind].name);
    return r;
}

static int walk_jobs(struct walk *walk, struct err *err)
{
    static const enum row_kind kinds[] = { ROW_PART, ROW_RESERVATION, ROW_TASK, ROW_ATTEMPT };
    struct store_query query = { .kind = ROW_JOB };
    int r;

    store_where(&query, "state", STORE_LT, JOB_SUCCEEDED);
    r = walk_kind(walk, &query, err);
    VEC_EACH (job, &walk->jobs) {
        /* Attempts first: a task's own row is about its end after them. */
        for (size_t i = COUNT_OF(kinds); i-- > 0 && r >= 0;) {
            query = (struct store_query){ .kind = kinds[i] };
            store_where(&query, "job", STORE_EQ, (int64_t)*job);
            if (kinds[i] == ROW_PART || kinds[i] == ROW_RESERVATION)
                store_where(&query, "state", STORE_LT, RESERVATION_USED);
            r = walk_kind(walk, &query, err);
        }
    }
    return r;
}

int live_walk(struct store *store, live_fn *fn, void *arg, struct err *err)
{
    static const enum row_kind whole[] = { ROW_META,  ROW_QUEUE, ROW_QUOTA, ROW_NODE, ROW_BEAT,
                                           ROW_TOKEN, ROW_LEASE, ROW_MEMO,  ROW_ORDER };
    struct walk walk = { .store = store, .fn = fn, .arg = arg };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(whole) && r >= 0; i++)
        r = walk_kind(&walk, &(struct store_query){ .kind = whole[i] }, err);
    if (r >= 0)
        r = walk_jobs(&walk, err);
    VEC_FINI(&walk.jobs);
    return r;
}

struct load {
    struct mirror *mirror;
    struct err *err;
};

static int load_row(enum row_kind kind, void *row, void *arg)
{
    struct load *load = arg;

    return mirror_put(load->mirror, kind, row, NULL, NULL, load->err);
}

int mirror_load(struct mirror *mirror, struct store *store, uint64_t revision, struct err *err)
{
    struct mirror fresh;
    struct load load = { &fresh, err };
    int r;

    mirror_init(&fresh);
    r = live_walk(store, load_row, &load, err);
    if (r < 0) {
        mirror_fini(&fresh);
        return r;
    }
    mirror_settle(&fresh);
    fresh.revision = revision;
    mirror_fini(mirror);
    *mirror = fresh;
    return 0;
}

/* ---- following ---- */

static bool is_deletion(const struct row_event *event)
{
    size_t n = strlen(event->type);

    return n > 8 && strcmp(event->type + n - 8, ".deleted") == 0;
}

static int follow(const void *row, void *arg)
{
    const struct row_event *event = row;
    struct load *load = arg;
    enum row_kind kind = (enum row_kind)event->row_kind;
    void *now;
    int r;

    if (event->rev != load->mirror->revision + 1)
        return err_set(load->err, -EBADMSG, "event %" PRIu64 " comes after %" PRIu64, event->rev,
                       load->mirror->revision);
    r = row_from_json(kind, event->body, strlen(event->body), &now, load->err);
    if (r < 0)
        return err_wrap(load->err, "event %" PRIu64, event->rev);
    if (is_deletion(event))
        mirror_del(load->mirror, kind, now, NULL);
    else
        r = mirror_put(load->mirror, kind, now, NULL, NULL, load->err);
    row_free(kind, now);
    if (r >= 0)
        load->mirror->revision = event->rev;
    return r;
}

int mirror_catch_up(struct mirror *mirror, struct store *store, uint64_t revision, struct err *err)
{
    struct store_query query = { .kind = ROW_EVENT };
    struct load load = { mirror, err };
    int r;

    if (revision == mirror->revision)
        return 0;
    store_where(&query, "rev", STORE_GT, (int64_t)mirror->revision);
    r = store_find(store, &query, follow, &load, err);
    if (r >= 0 && mirror->revision != revision)
        r = err_set(err, -EBADMSG,
                    "the store is at revision %" PRIu64 ", its events end at %" PRIu64, revision,
                    mirror->revision);
    if (r >= 0)
        mirror_settle(mirror);
    return r;
}

/* ---- comparing ---- */

static int compare_cells(const struct mirror *a, const struct mirror *b, enum row_kind kind,
                         struct err *err)
{
    CLEANUP(freep) const char **names = NULL;
    size_t n;

    if (a->cells[kind].n != b->cells[kind].n)
        return err_set(err, -EBADMSG, "%zu rows of %s, not %zu", a->cells[kind].n,
                       schema[kind].name, b->cells[kind].n);
    names = mirror_names(a, kind, &n);
    for (size_t i = 0; i < n; i++) {
        const void *x = mirror_find(a, kind, names[i]), *y = mirror_find(b, kind, names[i]);
        if (!y || !row_eq(kind, x, y))
            return err_set(err, -EBADMSG, "%s %s differs", schema[kind].name, names[i]);
    }
    return 0;
}

static struct mirror_room room_of(const struct mirror_node *node, const char *resource)
{
    for (size_t i = 0; i < node->rooms.n; i++)
        if (strcmp(node->rooms.at[i].resource, resource) == 0)
            return node->rooms.at[i];
    return (struct mirror_room){ 0 };
}

static bool are_rooms_equal(const struct mirror_node *a, const struct mirror_node *b)
{
    for (size_t i = 0; i < a->rooms.n; i++) {
        const struct mirror_room *x = &a->rooms.at[i], y = room_of(b, x->resource);
        if (x->used != y.used || x->held != y.held || x->offered != y.offered)
            return false;
    }
    return a->live.n == b->live.n && a->parts.n == b->parts.n;
}

static int compare_nodes(const struct mirror *a, const struct mirror *b, struct err *err)
{
    MAP_EACH (entry, &a->nodes) {
        const struct mirror_node *x = entry->value, *y = mirror_node(b, x->name);
        if (!y || !row_eq(ROW_NODE, x->row, y->row))
            return err_set(err, -EBADMSG, "node %s differs", x->name);
        if (!are_rooms_equal(x, y) || !are_rooms_equal(y, x))
            return err_set(err, -EBADMSG, "node %s: what is used of it differs", x->name);
    }
    return 0;
}

static int compare_accounts(const char *what, const struct map *a, const struct map *b,
                            struct err *err)
{
    const char *name = accounts_differ(a, b);

    if (!name)
        name = accounts_differ(b, a);
    return name ? err_set(err, -EBADMSG, "%s %s: what is used of it differs", what, name) : 0;
}

static bool are_tasks_equal(const struct mirror_task *a, const struct mirror_task *b)
{
    if (!a->live != !b->live || (a->live && !row_eq(ROW_ATTEMPT, a->live, b->live)))
        return false;
    return a->state == b->state && a->number == b->number && a->tries == b->tries &&
           a->evictions == b->evictions && a->not_before == b->not_before;
}

static bool is_held_equal(const struct mirror_job *a, const struct mirror_job *b)
{
    if (!a->reservation != !b->reservation || a->parts.n != b->parts.n ||
        (a->reservation && !row_eq(ROW_RESERVATION, a->reservation, b->reservation)))
        return false;
    for (size_t i = 0; i < a->parts.n; i++) {
        const struct row_part *x = a->parts.at[i]->row;
        const struct mirror_part *y = mirror_part(b, x->grp, x->idx);
        if (!y || !row_eq(ROW_PART, x, y->row))
            return false;
    }
    return true;
}

static int compare_job(const struct mirror_job *a, const struct mirror_job *b, struct err *err)
{
    uint64_t id = a->row->id;

    if (!b || !row_eq(ROW_JOB, a->row, b->row))
        return err_set(err, -EBADMSG, "j-%" PRIu64 " differs", id);
    for (uint32_t i = 0; i < a->n_tasks; i++)
        if (!are_tasks_equal(&a->tasks[i], &b->tasks[i]))
            return err_set(err, -EBADMSG, "j-%" PRIu64 ": task %u of all differs", id, i);
    if (memcmp(a->counts, b->counts, sizeof(a->counts)) != 0 || a->n_running != b->n_running ||
        a->code != b->code || a->ended_at != b->ended_at)
        return err_set(err, -EBADMSG, "j-%" PRIu64 ": its counts, code or end differ", id);
    if (!is_held_equal(a, b))
        return err_set(err, -EBADMSG, "j-%" PRIu64 ": what is held for it differs", id);
    return 0;
}

int mirror_compare(const struct mirror *a, const struct mirror *b, bool with_quiet, struct err *err)
{
    static const enum row_kind kinds[] = { ROW_TOKEN, ROW_QUEUE, ROW_QUOTA, ROW_MEMO,
                                           ROW_ORDER, ROW_META,  ROW_LEASE, ROW_BEAT };
    size_t n_kinds = with_quiet ? COUNT_OF(kinds) : 5;
    int r = 0;

    if (a->revision != b->revision)
        return err_set(err, -EBADMSG, "revisions %" PRIu64 " and %" PRIu64, a->revision,
                       b->revision);
    for (size_t i = 0; i < n_kinds && r >= 0; i++)
        r = compare_cells(a, b, kinds[i], err);
    if (r >= 0 && (a->nodes.n != b->nodes.n || a->jobs.n != b->jobs.n))
        r = err_set(err, -EBADMSG, "%zu nodes and %zu jobs, not %zu and %zu", a->nodes.n, a->jobs.n,
                    b->nodes.n, b->jobs.n);
    if (r >= 0)
        r = compare_nodes(a, b, err);
    if (r >= 0)
        r = compare_accounts("queue", &a->queues, &b->queues, err);
    if (r >= 0)
        r = compare_accounts("namespace", &a->namespaces, &b->namespaces, err);
    if (r < 0)
        return r;
    MAP_EACH (entry, &a->jobs) {
        const struct mirror_job *job = entry->value;
        r = compare_job(job, mirror_job(b, job->row->id), err);
        if (r < 0)
            return r;
    }
    return 0;
}
