/* Hunts: see hunt.h. */
#include "engine/hunt.h"

#include <string.h>

#include "engine/company.h"
#include "engine/fit.h"
#include "engine/sheet.h"
#include "engine/tourney.h"

enum { MOST_HUNTS = 4 };

struct hunt {
    const struct kind *kind; /* of whom: tasks of one class, urgency and way of taking */
    bool reclaim;
    int32_t job_priority, group_priority;
    uint64_t epoch, stamp, read; /* touches before number `read` are in it */
    size_t moved_read;           /* likewise of s->hunts->moved */
    size_t n;
    struct tourney tourney;
    struct cost *costs; /* by node->at; of those that take part */
    const uint32_t *names;
    size_t most_tasks;    /* on any node, ever */
    uint64_t *company;    /* by node->at: company_stamp; NULL: it does not matter */
    struct queue **order; /* whose tasks go first */
    size_t n_order;
    uint32_t *dirty; /* to be tried again */
    size_t n_dirty;
    bool *is_dirty;
};

/* A job, and how many tasks it could spare just before and after. */
struct moved {
    struct job *job;
    int64_t spare;
};

struct hunts {
    struct hunt at[MOST_HUNTS];
    size_t n, next;
    VEC_OF(struct moved) moved;
};

/* --- What answers go by */

static const struct hooked *victims_hook(const struct session *s, bool reclaim)
{
    return &s->setup->hooked[reclaim ? HOOKED_RECLAIMABLE : HOOKED_PREEMPTABLE];
}

static bool are_stamped(const struct hooked *hooked, bool may_be_local)
{
    for (size_t i = 0; i < hooked->n; i++)
        if (!hooked->at[i]->plugin->victims_stamp &&
            !(may_be_local && hooked->at[i]->plugin->has_local_victims))
            return false;
    return true;
}

bool hunt_is_kept(struct session *s, const struct task *task, bool reclaim)
{
    const struct job *job = task->group->job;
    struct why why;

    /* Its own tasks are no victims, and whose they are is not part of what is kept. */
    if (s->in.is_cold || s->protect || job_n_ready(job) || job->n[BERTH_TASK_RELEASING] ||
        s->model->nodes.n < 16 || !sheet_is_tracked(s, task->group->kind) ||
        (s->is_dry_run && s->setup->is_reference))
        return false;
    return are_stamped(victims_hook(s, reclaim), true) &&
           (are_stamped(&s->setup->hooked[HOOKED_ALLOCATABLE], false) ||
            queue_may_allocate(s, job->queue, task->group->kind, &why));
}

static uint64_t stamp_of(struct session *s, const struct task *task, bool reclaim)
{
    uint64_t stamp = s->only_there && s->model->n_coming;

    for (size_t i = 0; i < s->setup->n_uses; i++) {
        struct plugin_use *use = &s->setup->uses[i];
        if (use->plugin->victims_stamp)
            stamp = stamp * 0x9e3779b97f4a7c15 +
                    use->plugin->victims_stamp(s, use, task->group->kind, reclaim);
    }
    return stamp;
}

/* Brings the queues into the order in which they lose tasks; whether that is another. */
static bool sort_queues(struct session *s, struct hunt *h, const struct queue *mine)
{
    bool changed = false;

    for (size_t i = 1; i < h->n_order; i++)
        for (size_t k = i; k && victim_queue_before(s, h->order[k], h->order[k - 1], mine); k--) {
            struct queue *queue = h->order[k];
            h->order[k] = h->order[k - 1];
            h->order[k - 1] = queue;
            changed = true;
        }
    return changed;
}

/* --- Filling */

static bool goes_before(const void *arg, uint32_t a, uint32_t b)
{
    const struct hunt *h = arg;
    int cmp = cost_cmp(&h->costs[a], &h->costs[b]);

    return cmp ? cmp < 0 : h->names[a] < h->names[b];
}

/* The dearer, the bigger; where it says no more, the costs do. */
static uwide cost_key(const struct cost *cost)
{
    uint64_t lost = cost->lost >> 62 ? (uint64_t)1 << 62 : (uint64_t)cost->lost;
    uint64_t priority = cost->priority < INT32_MIN ? 0 : (uint64_t)(cost->priority - INT32_MIN + 1);
    uint64_t broken = cost->n_broken >> 24 ? (uint64_t)1 << 24 : cost->n_broken;

    return (uwide)cost->is_late << 126 | (uwide)broken << 100 | (uwide)priority << 64 | lost;
}

/* A try takes back all it did, so what it noted is as if it had not been. */
static uwide try_one(struct session *s, struct task *task, struct hunt *h, uint32_t at,
                     hunt_try_fn *try)
{
    struct model *model = s->model;
    struct node *node = model->nodes.at[at];
    uint64_t base = model->touched_base;
    size_t n_touched = model->touched.n, n_moved = s->hunts->moved.n;
    bool cleared;

    if (node->tasks.n > h->most_tasks)
        h->most_tasks = node->tasks.n;
    if (!take_may_try(s, task->group->kind, node))
        return KEY_NONE;
    s->n_steps++;
    cleared = try(s, task, node, h->reclaim, &h->costs[at]);
    if (model->touched_base == base) {
        if (h->company)
            company_rewind(s, task->group->kind, base + n_touched);
        model->touched.n = n_touched;
    }
    s->hunts->moved.n = n_moved;
    return cleared ? cost_key(&h->costs[at]) : KEY_NONE;
}

static void try_all(struct session *s, struct task *task, struct hunt *h, hunt_try_fn *try)
{
    for (uint32_t at = 0; at < h->n; at++) {
        tourney_keys(&h->tourney)[at] = try_one(s, task, h, at, try);
        if (h->company)
            h->company[at] = company_stamp(s, task->group->kind, s->model->nodes.at[at]);
    }
    tourney_play(&h->tourney);
}

static void add_dirty(struct hunt *h, const struct node *node)
{
    if (node->at == NOWHERE || h->is_dirty[node->at])
        return;
    h->is_dirty[node->at] = true;
    h->dirty[h->n_dirty++] = node->at;
}

/* A job that has more to spare than any node holds goes task by task as before. Tasks that can be
 * no victims change nothing but their own node. */
static void add_moved(struct hunt *h, const struct moved *moved)
{
    bool has_budget = moved->job->kept->budget.is_given;

    if ((moved->spare >= (int64_t)h->most_tasks && !has_budget) || !job_n_ready(moved->job))
        return;
    for (size_t i = 0; i < moved->job->n_tasks; i++)
        if (moved->job->tasks[i].node && state_is_allocated(moved->job->tasks[i].state))
            add_dirty(h, moved->job->tasks[i].node);
}

/* Company may have come, or gone, where nobody touched the node. */
static void add_company(struct session *s, struct hunt *h, struct kind *kind)
{
    for (uint32_t at = 0; h->company && at < h->n; at++) {
        const struct node *node = s->model->nodes.at[at];
        uint64_t stamp = company_stamp(s, kind, node);
        if (stamp != h->company[at])
            add_dirty(h, node);
        h->company[at] = stamp;
    }
}

static void try_changed(struct session *s, struct task *task, struct hunt *h, hunt_try_fn *try)
{
    struct model *model = s->model;
    uint64_t now = model->touched_base + model->touched.n;

    for (; h->read < now; h->read++)
        add_dirty(h, model->nodes.at[model->touched.at[h->read - model->touched_base]]);
    for (; h->moved_read < s->hunts->moved.n; h->moved_read++)
        add_moved(h, &s->hunts->moved.at[h->moved_read]);
    add_company(s, h, task->group->kind);
    for (size_t i = 0; i < h->n_dirty; i++) {
        uint32_t at = h->dirty[i];
        h->is_dirty[at] = false;
        tourney_set(&h->tourney, at, try_one(s, task, h, at, try));
    }
    h->n_dirty = 0;
}

static void hunt_init(struct session *s, struct hunt *h, const struct task *task, bool reclaim)
{
    size_t n = s->model->nodes.n;

    *h = (struct hunt){ .kind = task->group->kind,
                        .reclaim = reclaim,
                        .job_priority = task->group->job->priority,
                        .group_priority = task->group->spec->priority,
                        .n = n };
    tourney_init(&h->tourney, n);
    h->tourney.before = goes_before;
    h->tourney.arg = h;
    h->names = s->model->rows.name;
    h->costs = NEW0_N(struct cost, n + 1);
    h->dirty = NEW0_N(uint32_t, n + 1);
    h->is_dirty = NEW0_N(bool, n + 1);
    if (company_matters(s, task->group->kind))
        h->company = NEW0_N(uint64_t, n + 1);
    h->order = NEW0_N(struct queue *, s->model->queues.n + 1);
    for (size_t i = 0; reclaim && i < s->model->queues.n; i++)
        if (s->model->queues.at[i]->n_jobs && s->model->queues.at[i] != task->group->job->queue)
            h->order[h->n_order++] = s->model->queues.at[i];
}

static void hunt_fini(struct hunt *h)
{
    tourney_fini(&h->tourney);
    free(h->costs);
    free(h->dirty);
    free(h->is_dirty);
    free(h->company);
    free(h->order);
}

static struct hunt *hunt_of(struct session *s, const struct task *task, bool reclaim)
{
    struct hunts *all = s->hunts ? s->hunts : (s->hunts = NEW0(struct hunts));
    struct hunt *h;

    for (size_t i = 0; i < all->n; i++) {
        h = &all->at[i];
        if (h->kind == task->group->kind && h->reclaim == reclaim &&
            h->job_priority == task->group->job->priority &&
            h->group_priority == task->group->spec->priority)
            return h;
    }
    h = &all->at[all->next];
    all->next = (all->next + 1) % MOST_HUNTS;
    if (all->n < MOST_HUNTS)
        all->n++;
    else
        hunt_fini(h);
    hunt_init(s, h, task, reclaim);
    return h;
}

struct node *hunt_best(struct session *s, struct task *task, bool reclaim, hunt_try_fn *try)
{
    struct hunt *h = hunt_of(s, task, reclaim);
    uint64_t stamp = stamp_of(s, task, reclaim);
    bool reordered = sort_queues(s, h, task->group->job->queue);
    uint32_t at;
    uwide key;

    if (h->epoch != s->model->epoch || h->stamp != stamp || reordered) {
        h->epoch = s->model->epoch;
        h->stamp = stamp;
        try_all(s, task, h, try);
        h->read = s->model->touched_base + s->model->touched.n;
        h->moved_read = s->hunts->moved.n;
    } else {
        try_changed(s, task, h, try);
    }
    at = tourney_best(&h->tourney, &key);
    return at == NOWHERE ? NULL : s->model->nodes.at[at];
}

void hunts_note(struct session *s, struct job *job)
{
    int64_t spare = job_spares_any(job);

    VEC_PUSH(&s->hunts->moved, ((struct moved){ job, spare }));
}

void hunts_close(struct session *s)
{
    if (!s->hunts)
        return;
    for (size_t i = 0; i < s->hunts->n; i++)
        hunt_fini(&s->hunts->at[i]);
    VEC_FINI(&s->hunts->moved);
    free(s->hunts);
}
