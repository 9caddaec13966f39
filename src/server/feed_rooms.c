/* Feed, held room: see feed_rooms.h. */
#include "server/feed_rooms.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

struct room {
    uint64_t reservation;
    int64_t grp, idx;
    char *node, *waits;
};

/* What is held for a job. */
struct rooms {
    struct feed_reservation open; /* id 0: none */
    enum purpose purpose;
    VEC_OF(struct room) parts;
    bool is_told, is_touched;
};

static void drop_part(struct rooms *of, size_t i)
{
    mem_free(of->parts.at[i].node);
    mem_free(of->parts.at[i].waits);
    VEC_SWAP_OUT(&of->parts, i);
}

static void rooms_free(struct rooms *of)
{
    while (of->parts.n)
        drop_part(of, 0);
    VEC_FINI(&of->parts);
    mem_free(of);
}

void feed_rooms_forget(struct feed_rooms *rooms)
{
    MAP_EACH (entry, &rooms->by_job)
        rooms_free(entry->value);
    map_fini(&rooms->by_job);
    VEC_FINI(&rooms->touched);
    *rooms = (struct feed_rooms){ 0 };
}

static struct rooms *touch(struct feed_rooms *rooms, uint64_t job)
{
    struct rooms *of = map_get_int(&rooms->by_job, job);

    if (!of) {
        of = NEW0(struct rooms);
        of->open.job = job;
        map_put_int(&rooms->by_job, job, of);
    }
    if (!of->is_touched)
        VEC_PUSH(&rooms->touched, job);
    of->is_touched = true;
    return of;
}

void feed_rooms_reservation(struct feed_rooms *rooms, const struct row_reservation *row)
{
    struct rooms *of = touch(rooms, row->job);

    if (row->state == RESERVATION_OPEN) {
        of->open = (struct feed_reservation){ row->job, row->id, row->rev, row->until };
        of->purpose = (enum purpose)row->purpose;
    } else if (of->open.id == row->id) {
        of->open.id = 0;
    }
}

void feed_rooms_part(struct feed_rooms *rooms, const struct row_part *row)
{
    struct rooms *of = touch(rooms, row->job);

    for (size_t i = of->parts.n; i-- > 0;)
        if (of->parts.at[i].grp == row->grp && of->parts.at[i].idx == row->idx &&
            of->parts.at[i].reservation == row->reservation)
            drop_part(of, i);
    if (row->state == RESERVATION_OPEN)
        VEC_PUSH(&of->parts, ((struct room){ row->reservation, row->grp, row->idx,
                                             text_copy(row->node), text_copy(row->waits) }));
}

static uint64_t number_at(const json_t *list, size_t i)
{
    return (uint64_t)json_integer_value(json_array_get(list, i));
}

/* The attempts that it waits for, so far as their jobs are live. */
static void read_waits(const char *text, const struct feed *feed, struct arena *arena,
                       struct berth_reservation_part *out)
{
    json_t *list = *text ? json_loads(text, 0, NULL) : NULL, *key;
    struct berth_task_ref *at = ARENA_NEW0_N(arena, struct berth_task_ref, json_array_size(list));
    size_t i;

    json_array_foreach(list, i, key)
    {
        const struct berth_job *job = feed_job(feed, number_at(key, 0));
        uint64_t group = number_at(key, 1);

        if (!job || group >= job->n_groups)
            continue;
        at[out->n_waits++] = (struct berth_task_ref){ .job = job->id,
                                                      .group = job->groups[group].name,
                                                      .index = (uint32_t)number_at(key, 2),
                                                      .attempt = (uint32_t)number_at(key, 3) };
    }
    out->waits = at;
    json_decref(list);
}

static int by_task(const void *a, const void *b)
{
    const struct room *x = a, *y = b;

    if (x->grp != y->grp)
        return x->grp < y->grp ? -1 : 1;
    return (x->idx > y->idx) - (x->idx < y->idx);
}

static void fill(struct rooms *of, const struct feed *feed, const struct berth_job *job,
                 struct arena *arena, struct berth_reservation *out)
{
    struct berth_reservation_part *parts =
        ARENA_NEW0_N(arena, struct berth_reservation_part, of->parts.n);

    qsort(of->parts.at, of->parts.n, sizeof(*of->parts.at), by_task);
    for (size_t i = 0; i < of->parts.n; i++) {
        const struct room *room = &of->parts.at[i];

        parts[i].task = (struct berth_task_ref){ .job = job->id,
                                                 .group = job->groups[room->grp].name,
                                                 .index = (uint32_t)room->idx };
        parts[i].node = arena_text(arena, room->node);
        parts[i].holds = job->groups[room->grp].asks;
        read_waits(room->waits, feed, arena, &parts[i]);
    }
    out->seq = of->open.id;
    out->owner = job->id;
    out->purpose = of->purpose == PURPOSE_MACHINE ? BERTH_FOR_MACHINE : BERTH_FOR_EVICTION;
    out->until_ms = of->open.until_ms;
    out->parts = parts;
    out->n_parts = of->parts.n;
}

static void tell(struct feed_rooms *rooms, uint64_t number, const struct feed *feed,
                 struct arena *arena, struct feed_deltas *deltas)
{
    struct rooms *of = map_get_int(&rooms->by_job, number);
    const struct berth_job *job = feed_job(feed, number);
    struct berth_reservation *reservation = ARENA_NEW0(arena, struct berth_reservation);
    bool is_open = of->open.id && job;

    of->is_touched = false;
    reservation->id = arena_format(arena, "r-j-%" PRIu64, number);
    if (is_open)
        fill(of, feed, job, arena, reservation);
    if (is_open || of->is_told)
        VEC_PUSH(deltas, ((struct berth_delta){
                             .kind = BERTH_RESERVATION, .end = !is_open, .any = reservation }));
    of->is_told = is_open;
    if (is_open)
        return;
    map_remove_int(&rooms->by_job, number);
    rooms_free(of);
}

void feed_rooms_tell(struct feed_rooms *rooms, const struct feed *feed, struct arena *arena,
                     struct feed_deltas *deltas)
{
    for (size_t i = 0; i < rooms->touched.n; i++)
        tell(rooms, rooms->touched.at[i], feed, arena, deltas);
    rooms->touched.n = 0;
}

/* ---- questions ---- */

bool feed_rooms_find(const struct feed_rooms *rooms, uint64_t job, struct feed_reservation *out)
{
    const struct rooms *of = map_get_int(&rooms->by_job, job);

    if (!of || !of->open.id)
        return false;
    *out = of->open;
    return true;
}

int64_t feed_rooms_next_end(const struct feed_rooms *rooms)
{
    int64_t next_ms = BERTH_NEVER;

    MAP_EACH (entry, &rooms->by_job) {
        const struct rooms *of = entry->value;
        if (of->open.id && of->open.until_ms && of->open.until_ms < next_ms)
            next_ms = of->open.until_ms;
    }
    return next_ms;
}

static int by_owner(const void *a, const void *b)
{
    const struct feed_reservation *x = a, *y = b;

    return (x->job > y->job) - (x->job < y->job);
}

size_t feed_rooms_over(const struct feed_rooms *rooms, int64_t now_ms, struct feed_reservation *out,
                       size_t most)
{
    size_t n = 0;

    MAP_EACH (entry, &rooms->by_job) {
        const struct rooms *of = entry->value;
        if (of->open.id && of->open.until_ms && of->open.until_ms <= now_ms && n < most)
            out[n++] = of->open;
    }
    qsort(out, n, sizeof(*out), by_owner);
    return n;
}
