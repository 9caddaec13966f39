/* The export: the deltas that build an engine anew, in the order of keys. */
#include <string.h>

#include "base/str.h"
#include "engine/engine.h"
#include "engine/shape.h"

bool task_told(const struct task *task, struct berth_task *out)
{
    if (!task->is_told)
        return false;
    *out = (struct berth_task){
        .job = task->group->job->id,
        .group = task->group->spec->name,
        .index = task->index,
        .state = task->state,
        .attempt = task->attempt,
        .version = task->version,
        .node = task->node ? task->node->id : NULL,
        .started_at_ms = task->started_at_ms,
        .checkpoint_at_ms = task->checkpoint_at_ms,
        .limit_at_ms = task->limit_at_ms,
        .not_before_ms = task->not_before_ms,
        .tries = task->tries,
        .evictions = task->evictions,
        .comes_back = task->comes_back,
    };
    if (task->extra) {
        out->holds = task->extra->kept->holds;
        out->shares = task->extra->kept->shares;
        out->n_shares = task->extra->kept->n_shares;
        out->cores = task->extra->kept->cores;
    }
    return true;
}

static const struct berth_task *orphan_find(const struct job *job, const struct berth_task *like)
{
    for (size_t i = 0; i < job->orphans.n; i++)
        if (job->orphans.at[i]->index == like->index &&
            strcmp(job->orphans.at[i]->group, like->group) == 0)
            return job->orphans.at[i];
    return NULL;
}

static const void *task_now(struct model *model, const struct berth_task *like,
                            struct export_now *out)
{
    const struct job *job = job_find(model, like->job);
    const struct task *task = task_find(
        model,
        &(struct berth_task_ref){ .job = like->job, .group = like->group, .index = like->index });

    if (task)
        return task_told(task, &out->task) ? &out->task : NULL;
    return job ? orphan_find(job, like) : NULL;
}

bool export_one(struct model *model, enum berth_kind kind, const void *like, struct export_now *out)
{
    CLEANUP(str_fini) struct str key = { 0 };
    const struct node *node;
    const struct queue *queue;
    const struct job *job;

    if (kind == BERTH_NODE) {
        node = node_find(model, ((const struct berth_node *)like)->id);
        out->object = node ? node->kept : NULL;
    } else if (kind == BERTH_QUEUE) {
        queue = queue_find(model, ((const struct berth_queue *)like)->name);
        out->object = queue ? queue->kept : NULL;
    } else if (kind == BERTH_JOB) {
        job = job_find(model, ((const struct berth_job *)like)->id);
        out->object = job ? job->kept : NULL;
    } else if (kind == BERTH_TASK) {
        out->object = task_now(model, like, out);
    } else {
        shelf_key(kind, like, &key);
        out->object = shelf_get(&model->shelves[kind], str_text(&key));
    }
    return out->object;
}

static int key_cmp(const void *a, const void *b)
{
    return strcmp((*(const struct map_entry *const *)a)->key,
                  (*(const struct map_entry *const *)b)->key);
}

/* A map's entries by key; yours to free. */
static struct map_entry **sorted(const struct map *map)
{
    struct map_entry **entries = NEW0_N(struct map_entry *, map->n + 1);
    size_t n = 0;

    MAP_EACH (entry, map)
        entries[n++] = entry;
    qsort(entries, n, sizeof(*entries), key_cmp);
    return entries;
}

static int emit(enum berth_kind kind, const void *object, berth_sink_fn *sink, void *arg)
{
    return object ? sink(&(struct berth_delta){ kind, false, { .any = object } }, arg) : 0;
}

static int orphan_cmp(const void *a, const void *b)
{
    const struct berth_task *x = *(struct berth_task *const *)a;
    const struct berth_task *y = *(struct berth_task *const *)b;
    int cmp = strcmp(x->group, y->group);

    return cmp ? cmp : (x->index > y->index) - (x->index < y->index);
}

static int export_tasks(struct job *job, berth_sink_fn *sink, void *arg)
{
    int r = 0;

    for (size_t i = 0; i < job->n_tasks && r >= 0; i++) {
        struct berth_task told;
        if (task_told(&job->tasks[i], &told))
            r = emit(BERTH_TASK, &told, sink, arg);
    }
    if (job->orphans.n)
        qsort(job->orphans.at, job->orphans.n, sizeof(*job->orphans.at), orphan_cmp);
    for (size_t i = 0; i < job->orphans.n && r >= 0; i++)
        r = emit(BERTH_TASK, job->orphans.at[i], sink, arg);
    return r;
}

static int export_mapped(const struct map *map, enum berth_kind kind, berth_sink_fn *sink,
                         void *arg)
{
    struct map_entry **entries = sorted(map);
    int r = 0;

    for (size_t i = 0; i < map->n && r >= 0; i++) {
        void *value = entries[i]->value;
        if (kind == BERTH_NODE)
            r = emit(kind, ((struct node *)value)->kept, sink, arg);
        else if (kind == BERTH_QUEUE)
            r = emit(kind, ((struct queue *)value)->kept, sink, arg);
        else if (kind == BERTH_JOB)
            r = emit(kind, ((struct job *)value)->kept, sink, arg);
        else
            r = export_tasks(value, sink, arg);
    }
    free(entries);
    return r;
}

int export_all(struct model *model, berth_sink_fn *sink, void *arg)
{
    int r = 0;

    for (int kind = 0; kind < BERTH_KIND_COUNT && r >= 0; kind++) {
        struct shelf *shelf = &model->shelves[kind];
        if (kind == BERTH_NODE)
            r = export_mapped(&model->node_map, kind, sink, arg);
        else if (kind == BERTH_QUEUE)
            r = export_mapped(&model->queue_map, kind, sink, arg);
        else if (kind == BERTH_JOB || kind == BERTH_TASK)
            r = export_mapped(&model->job_map, kind, sink, arg);
        shelf_sort(shelf);
        for (size_t i = 0; i < shelf->items.n && r >= 0; i++)
            r = emit(kind, shelf->items.at[i]->kept, sink, arg);
    }
    return r;
}
