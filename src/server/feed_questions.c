/* Feed, what it is asked: see feed.h. Nothing here changes it. */
#include <string.h>

#include "base/name.h"
#include "server/feed_inside.h"

int64_t feed_group_index(const struct feed *feed, uint64_t job, const char *group)
{
    const struct fed *fed = map_get_int(&feed->jobs, job);

    for (size_t i = 0; fed && fed->spec && i < fed->spec->n_groups; i++)
        if (strcmp(fed->spec->groups[i].name, group) == 0)
            return (int64_t)i;
    return -1;
}

bool feed_first_waiting(const struct feed *feed, uint64_t job, struct berth_task_ref *out)
{
    const struct fed *fed = map_get_int(&feed->jobs, job);

    for (size_t g = 0; fed && fed->spec && g < fed->spec->n_groups; g++) {
        for (uint32_t i = fed->first[g]; i < fed->first[g + 1]; i++) {
            if (fed->tasks[i].state != BERTH_TASK_PENDING)
                continue;
            *out = (struct berth_task_ref){ .job = fed->job.id,
                                            .group = fed->job.groups[g].name,
                                            .index = i - fed->first[g] };
            return true;
        }
    }
    return false;
}

int64_t feed_next_deadline(const struct feed *feed)
{
    const struct heap_item *top = heap_top(&feed->dues);

    return top ? CONTAINER(top, struct fed, due)->job.deadline_at_ms : BERTH_NEVER;
}

size_t feed_overdue(const struct feed *feed, int64_t now_ms, struct feed_due *out, size_t most)
{
    size_t n = 0;

    if (feed_next_deadline(feed) > now_ms)
        return 0;
    for (size_t i = 0; i < feed->dues.n && n < most; i++) {
        const struct fed *fed = CONTAINER(feed->dues.items[i], struct fed, due);

        if (fed->job.deadline_at_ms <= now_ms)
            out[n++] = (struct feed_due){ fed->id, fed->job.version };
    }
    return n;
}

static const struct fed *short_one(const struct feed *feed, size_t i)
{
    return map_get_int(&feed->jobs, feed->degraded.at[i]);
}

struct feed_attempt *feed_running(const struct feed *feed, uint64_t job, size_t *n)
{
    const struct fed *fed = map_get_int(&feed->jobs, job);
    size_t n_groups = fed && fed->spec ? fed->spec->n_groups : 0;
    struct feed_attempt *out = NEW0_N(struct feed_attempt, n_groups ? fed->first[n_groups] + 1 : 1);

    *n = 0;
    for (size_t g = 0; g < n_groups; g++) {
        for (uint32_t i = fed->first[g]; i < fed->first[g + 1]; i++) {
            const struct fed_task *task = &fed->tasks[i];

            if (task->state == BERTH_TASK_BOUND || task->state == BERTH_TASK_RUNNING)
                out[(*n)++] =
                    (struct feed_attempt){ { job, (uint32_t)g, i - fed->first[g], task->number },
                                           task->rev };
        }
    }
    return out;
}

static bool is_running(const struct feed *feed, uint64_t job)
{
    size_t n;

    mem_free(feed_running(feed, job, &n));
    return n > 0;
}

int64_t feed_next_short(const struct feed *feed, int64_t timeout_ms)
{
    int64_t next_ms = BERTH_NEVER;

    for (size_t i = 0; timeout_ms != BERTH_NEVER && i < feed->degraded.n; i++) {
        int64_t at_ms = short_one(feed, i)->degraded_at + timeout_ms;

        if (at_ms < next_ms && is_running(feed, feed->degraded.at[i]))
            next_ms = at_ms;
    }
    return next_ms;
}

uint64_t feed_short(const struct feed *feed, int64_t now_ms, int64_t timeout_ms, uint64_t after)
{
    uint64_t least = 0;

    for (size_t i = 0; timeout_ms != BERTH_NEVER && i < feed->degraded.n; i++) {
        uint64_t id = feed->degraded.at[i];

        if (id > after && (!least || id < least) &&
            short_one(feed, i)->degraded_at + timeout_ms <= now_ms && is_running(feed, id))
            least = id;
    }
    return least;
}

bool feed_reservation(const struct feed *feed, uint64_t job, struct feed_reservation *out)
{
    return feed_rooms_find(&feed->rooms, job, out);
}

int64_t feed_next_release(const struct feed *feed)
{
    return feed_rooms_next_end(&feed->rooms);
}

size_t feed_to_release(const struct feed *feed, int64_t now_ms, struct feed_reservation *out,
                       size_t most)
{
    return feed_rooms_over(&feed->rooms, now_ms, out, most);
}

const struct berth_job *feed_job(const struct feed *feed, uint64_t job)
{
    const struct fed *fed = map_get_int(&feed->jobs, job);

    return fed && fed->spec ? &fed->job : NULL;
}

uint64_t feed_job_number(const char *id)
{
    int64_t number = 0;

    if (!id || !text_begins(id, "j-") || text_to_int(id + 2, 1, INT64_MAX, &number) < 0)
        return 0;
    return (uint64_t)number;
}

int64_t feed_next_order_end(const struct feed *feed, int64_t ttl_ms)
{
    return feed_pools_next_end(&feed->pools, ttl_ms);
}

size_t feed_orders_over(const struct feed *feed, int64_t now_ms, int64_t ttl_ms, const char **out,
                        size_t most)
{
    return feed_pools_over(&feed->pools, now_ms, ttl_ms, out, most);
}
