/* Specifications: what the engine is told of a job by them. */
#include <string.h>

#include "server/feed.h"
#include "server/feed_inside.h"
#include "server/feed_wants.h"

static struct berth_labels to_labels(const struct labels *labels, struct arena *arena)
{
    struct berth_label *at = ARENA_NEW0_N(arena, struct berth_label, labels->n);

    for (size_t i = 0; i < labels->n; i++)
        at[i] = (struct berth_label){ labels->at[i].key, labels->at[i].value };
    return (struct berth_labels){ at, labels->n };
}

static struct berth_amounts to_amounts(const struct amounts *amounts, struct arena *arena)
{
    struct berth_amount *at = ARENA_NEW0_N(arena, struct berth_amount, amounts->n);

    for (size_t i = 0; i < amounts->n; i++)
        at[i] = (struct berth_amount){ amounts->at[i].resource, amounts->at[i].value };
    return (struct berth_amounts){ at, amounts->n };
}

/* Whether a path ("/a/b", or "/a/b:tag") lies in a folder, which may end with a slash. */
static bool is_in_folder(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    while (n && folder[n - 1] == '/')
        n--;
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == ':' || path[n] == '\0');
}

/* What the engine hears of an image: the longest folder known that it lies in, "/" if it lies in
 * none; NULL if it is no path or no node bounds images. */
const char *feed_image_folder(const struct feed *feed, const char *image)
{
    const char *path = strchr(image, ':'), *best = NULL;

    if (!path || path[1] != '/' || feed->folders.n == 0)
        return NULL;
    MAP_EACH (entry, &feed->folders) {
        const char *folder = entry->value;
        if (is_in_folder(path + 1, folder) && (!best || strlen(folder) > strlen(best)))
            best = folder;
    }
    return best ? best : "/";
}

/* Adds what so many members of a group ask for. */
static void add_asks(const struct berth_amounts *asks, uint32_t n, struct berth_amount *sums,
                     size_t *n_sums)
{
    for (size_t i = 0; i < asks->n; i++) {
        size_t at = 0;
        int64_t all;

        while (at < *n_sums && !text_eq(sums[at].name, asks->at[i].name))
            at++;
        if (at == *n_sums)
            sums[(*n_sums)++] = (struct berth_amount){ asks->at[i].name, 0 };
        if (__builtin_mul_overflow(asks->at[i].value, (int64_t)n, &all) ||
            __builtin_add_overflow(sums[at].value, all, &sums[at].value))
            sums[at].value = INT64_MAX;
    }
}

/* What its least members need: of each group its minimum, and then, in the order of the groups, as
 * many as the job's own minimum is more. */
static void state_least(const struct job_spec *spec, struct arena *arena, struct berth_job *out)
{
    size_t n_names = 0, n = 0;
    struct berth_amount *sums;
    uint32_t more = spec->min_available;

    for (size_t i = 0; i < spec->n_groups; i++) {
        uint32_t least = spec->groups[i].min_available;

        n_names += out->groups[i].asks.n;
        more -= least < more ? least : more;
    }
    sums = ARENA_NEW0_N(arena, struct berth_amount, n_names + 1);
    for (size_t i = 0; i < spec->n_groups; i++) {
        const struct job_group *group = &spec->groups[i];
        uint32_t spare = group->replicas - group->min_available, some = spare < more ? spare : more;

        more -= some;
        add_asks(&out->groups[i].asks, group->min_available + some, sums, &n);
    }
    out->has_min_resources = true;
    out->min_resources = (struct berth_amounts){ sums, n };
}

static struct berth_budget to_budget(const struct job_spec *spec)
{
    return (struct berth_budget){ .is_given = spec->budget != JOB_BUDGET_NONE,
                                  .is_max_unavailable = spec->budget == JOB_BUDGET_MAX_UNAVAILABLE,
                                  .is_percent = spec->budget_is_percent,
                                  .value = spec->budget_value };
}

void feed_job_from_spec(const struct feed *feed, const struct job_spec *spec, const char *id,
                        struct arena *arena, struct berth_job *out)
{
    struct berth_task_group *groups = ARENA_NEW0_N(arena, struct berth_task_group, spec->n_groups);
    struct berth_minimum *minima = ARENA_NEW0_N(arena, struct berth_minimum, spec->n_groups);

    *out = (struct berth_job){ .id = id,
                               .name = spec->name,
                               .namespace_ = spec->ns,
                               .queue = spec->queue,
                               .priority = spec->priority,
                               .min_available = spec->min_available,
                               .limit_ms = spec->limit_ms,
                               .preemptable = spec->is_preemptable ? BERTH_YES : BERTH_NO,
                               .budget = to_budget(spec),
                               .groups = groups,
                               .n_groups = spec->n_groups,
                               .minima = minima };
    for (size_t i = 0; i < spec->n_groups; i++) {
        const struct job_group *from = &spec->groups[i];

        groups[i].name = from->name;
        groups[i].role = from->name;
        groups[i].replicas = from->replicas;
        groups[i].image = feed_image_folder(feed, from->image);
        groups[i].asks = to_amounts(&from->holds, arena);
        groups[i].labels = to_labels(&spec->labels, arena);
        groups[i].node_selector = to_labels(&from->node_selector, arena);
        groups[i].preferred_labels = to_labels(&from->preferred_labels, arena);
        groups[i].requires_ = to_amounts(&from->requires_, arena);
        feed_wants(from, arena, &groups[i]);
        if (i == 0) /* the same of all groups */
            out->topology = feed_topology(from);
        if (from->min_available)
            minima[out->n_minima++] = (struct berth_minimum){ from->name, from->min_available };
    }
    if (feed->asks_admission)
        state_least(spec, arena, out);
}
