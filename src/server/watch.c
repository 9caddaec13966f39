/* Watch: see watch.h. Revisions are dense, so an event's place in memory follows from its
 * number. */
#include "server/watch.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"

/* The event numbered first + i; each holds its batch. */
struct held {
    struct batch *batch;
    struct watch_event shown;
};

struct wait {
    struct wait *next;
    uint64_t revision;
    loop_fn *fn;
    void *arg;
};

struct watch {
    uint64_t revision;
    struct held held[WATCH_EVENTS_MAX]; /* by revision, modulo its size */
    uint64_t first;                     /* the oldest one held; revision + 1: none */
    struct map namespaces;              /* of live jobs: char * */
    struct watcher *watchers;
    struct wait *waits;
};

struct watch *watch_new(void)
{
    struct watch *watch = NEW0(struct watch);

    watch->first = 1;
    return watch;
}

static struct held *held_at(struct watch *watch, uint64_t revision)
{
    return &watch->held[revision % WATCH_EVENTS_MAX];
}

static void let_go(struct held *held)
{
    if (held->batch)
        batch_unref(held->batch);
    mem_free(held->shown.ns);
    *held = (struct held){ 0 };
}

static void forget_all(struct watch *watch)
{
    for (size_t i = 0; i < WATCH_EVENTS_MAX; i++)
        let_go(&watch->held[i]);
    MAP_EACH (entry, &watch->namespaces)
        free(entry->value);
    map_fini(&watch->namespaces);
    watch->namespaces = (struct map){ 0 };
}

void watch_end(struct watch *watch)
{
    if (!watch)
        return;
    forget_all(watch);
    for (struct wait *wait = watch->waits, *next; wait; wait = next) {
        next = wait->next;
        free(wait);
    }
    free(watch);
}

static void note_job(struct watch *watch, const struct batch_event *event)
{
    const struct row_job *job = event->row.job;
    char *was;

    if (event->kind != ROW_JOB)
        return;
    was = map_get_int(&watch->namespaces, job->id);
    if (event->is_deleted) {
        map_remove_int(&watch->namespaces, job->id);
        free(was);
    } else if (!was) {
        map_put_int(&watch->namespaces, job->id, text_copy(job->ns));
    }
}

/* The number of the job that an event is about; 0 if none. */
static uint64_t job_of(const struct batch_event *event)
{
    if (event->kind == ROW_JOB)
        return event->row.job->id;
    if (event->kind == ROW_TASK)
        return event->row.task->job;
    if (event->kind == ROW_RESERVATION)
        return event->row.reservation->job;
    if (event->kind == ROW_PART)
        return event->row.part->job;
    return event->kind == ROW_ATTEMPT ? event->row.attempt->job : 0;
}

static void hold(struct watch *watch, struct batch *batch, const struct batch_event *event)
{
    struct held *held = held_at(watch, event->rev);
    uint64_t job = job_of(event);

    if (held->batch)
        watch->first = held->shown.event->rev + 1;
    let_go(held);
    held->batch = batch_ref(batch);
    held->shown = (struct watch_event){ event, job, NULL };
    if (job)
        held->shown.ns = text_copy(event->kind == ROW_JOB ? event->row.job->ns
                                                          : map_get_int(&watch->namespaces, job));
}

/* Answers those that waited for a revision that has come by; they may wait again. */
static void tell_waits(struct watch *watch)
{
    struct wait *waits = TAKE(watch->waits);

    while (waits) {
        struct wait *wait = waits;
        waits = wait->next;
        if (wait->revision > watch->revision) {
            wait->next = watch->waits;
            watch->waits = wait;
            continue;
        }
        wait->fn(wait->arg);
        free(wait);
    }
}

void watch_batch(struct watch *watch, struct batch *batch)
{
    if (batch->is_base) {
        forget_all(watch);
        watch->first = batch->revision + 1;
    }
    for (size_t i = 0; i < batch->n_events; i++) {
        if (!batch->is_base)
            hold(watch, batch, &batch->events[i]);
        note_job(watch, &batch->events[i]);
    }
    watch->revision = batch->revision;
    tell_waits(watch);
    for (struct watcher *watcher = watch->watchers, *next; watcher; watcher = next) {
        next = watcher->next;
        watcher->wake(watcher);
    }
}

const char *watch_namespace(const struct watch *watch, uint64_t job)
{
    return map_get_int(&watch->namespaces, job);
}

uint64_t watch_revision(const struct watch *watch)
{
    return watch->revision;
}

void watch_when(struct watch *watch, uint64_t revision, loop_fn *fn, void *arg)
{
    struct wait *wait;

    if (revision <= watch->revision) {
        fn(arg);
        return;
    }
    wait = NEW0(struct wait);
    *wait = (struct wait){ .next = watch->waits, .revision = revision, .fn = fn, .arg = arg };
    watch->waits = wait;
}

void watch_forget(struct watch *watch, const void *arg)
{
    for (struct wait **at = &watch->waits; *at;) {
        struct wait *wait = *at;

        if (wait->arg != arg) {
            at = &wait->next;
            continue;
        }
        *at = wait->next;
        free(wait);
    }
}

void watch_add(struct watch *watch, struct watcher *watcher)
{
    watcher->next = watch->watchers;
    watcher->at = &watch->watchers;
    if (watcher->next)
        watcher->next->at = &watcher->next;
    watch->watchers = watcher;
}

void watch_remove(struct watcher *watcher)
{
    if (!watcher->at)
        return;
    *watcher->at = watcher->next;
    if (watcher->next)
        watcher->next->at = watcher->at;
    watcher->at = NULL;
}

int watch_next(const struct watch *watch, uint64_t after, const struct watch_event **out)
{
    const struct held *held = &watch->held[(after + 1) % WATCH_EVENTS_MAX];

    if (after >= watch->revision)
        return 1;
    if (after + 1 < watch->first || !held->batch || held->shown.event->rev != after + 1)
        return 2;
    *out = &held->shown;
    return 0;
}
