/* Where: see nodes_where.h. Nodes of a job are kept in order; few jobs have many. */
#include "server/nodes_where.h"

#include <string.h>

#include "base/vec.h"

struct where_node {
    const char *name;
    size_t n_attempts;
};

struct where_job {
    VEC_OF(struct where_node) nodes; /* by name */
};

static void job_free(struct where_job *job)
{
    VEC_FINI(&job->nodes);
    mem_free(job);
}

void where_init(struct where *where)
{
    *where = (struct where){ 0 };
    pthread_mutex_init(&where->lock, NULL);
}

void where_clear(struct where *where)
{
    pthread_mutex_lock(&where->lock);
    MAP_EACH (entry, &where->jobs)
        job_free(entry->value);
    map_fini(&where->jobs);
    where->jobs = (struct map){ 0 };
    pthread_mutex_unlock(&where->lock);
}

void where_fini(struct where *where)
{
    where_clear(where);
    pthread_mutex_destroy(&where->lock);
}

/* The place of the node, or where it belongs. */
static size_t find_node(const struct where_job *job, const char *node)
{
    size_t low = 0, high = job->nodes.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(job->nodes.at[middle].name, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct where_job *job, size_t i, const char *node)
{
    return i < job->nodes.n && strcmp(job->nodes.at[i].name, node) == 0;
}

static void insert_node(struct where_job *job, size_t at, const char *node)
{
    (void)VEC_ADD(&job->nodes);
    memmove(&job->nodes.at[at + 1], &job->nodes.at[at],
            (job->nodes.n - 1 - at) * sizeof(*job->nodes.at));
    job->nodes.at[at] = (struct where_node){ node, 0 };
}

void where_add(struct where *where, uint64_t id, const char *node)
{
    struct where_job *job;
    size_t i;

    pthread_mutex_lock(&where->lock);
    job = map_get_int(&where->jobs, id);
    if (!job) {
        job = NEW0(struct where_job);
        map_put_int(&where->jobs, id, job);
    }
    i = find_node(job, node);
    if (!is_at(job, i, node))
        insert_node(job, i, node);
    job->nodes.at[i].n_attempts++;
    pthread_mutex_unlock(&where->lock);
}

static void remove_node(struct where_job *job, size_t at)
{
    job->nodes.n--;
    memmove(&job->nodes.at[at], &job->nodes.at[at + 1],
            (job->nodes.n - at) * sizeof(*job->nodes.at));
}

void where_drop(struct where *where, uint64_t id, const char *node)
{
    struct where_job *job;
    size_t i;

    pthread_mutex_lock(&where->lock);
    job = map_get_int(&where->jobs, id);
    i = job ? find_node(job, node) : 0;
    if (job && is_at(job, i, node) && --job->nodes.at[i].n_attempts == 0)
        remove_node(job, i);
    if (job && job->nodes.n == 0) {
        map_remove_int(&where->jobs, id);
        job_free(job);
    }
    pthread_mutex_unlock(&where->lock);
}

size_t where_find(struct where *where, uint64_t id, const char **out, size_t n_max)
{
    const struct where_job *job;
    size_t n;

    pthread_mutex_lock(&where->lock);
    job = map_get_int(&where->jobs, id);
    n = job ? job->nodes.n : 0;
    for (size_t i = 0; i < n && i < n_max; i++)
        out[i] = job->nodes.at[i].name;
    pthread_mutex_unlock(&where->lock);
    return n;
}
