/*
 * Serverless: each waiting task, oldest first, goes the whole way before the next one does: a node
 * that is ready, one on its way, what stands in for its private pool, a new machine. Quotas are
 * asked first, whether there is room or not. At the end pools that have too little free get one
 * machine more.
 */
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"
#include "engine/serverless.h"

/* A machine that is ordered in this run. */
struct machine {
    const struct berth_pool *pool;
    const char *key;
    int64_t *shape, *left;       /* by dimension */
    VEC_OF(struct task *) tasks; /* that reserve on it */
};

/* What a namespace has of its quota. */
struct tenant {
    const char *namespace_;
    bool has_cpu, has_gpu;
    int64_t cpu_limit, gpu_limit;
    wide cpu, gpu;
};

struct run {
    struct session *s;
    VEC_OF(struct machine *) machines;
    VEC_OF(struct tenant *) tenants;
    uint32_t gpu; /* the dimension, or NOWHERE */
};

/* --- Quotas */

static wide gpu_of(const struct run *run, const struct asks *asks)
{
    return run->gpu == NOWHERE ? 0 : asks_of(asks, run->gpu);
}

static void set_limits(struct run *run, struct tenant *t)
{
    const struct shelf *shelf = &run->s->model->shelves[BERTH_QUOTA];
    bool has_quota = false;

    VEC_EACH (item, &shelf->items) {
        const struct berth_quota *quota = (*item)->kept;
        if (!text_eq(quota->namespace_, t->namespace_))
            continue;
        has_quota = true;
        for (size_t i = 0; i < quota->hard.n; i++) {
            const struct berth_amount *hard = &quota->hard.at[i];
            if (text_eq(hard->name, "cpu") && (!t->has_cpu || hard->value < t->cpu_limit)) {
                t->has_cpu = true;
                t->cpu_limit = hard->value;
            } else if (text_eq(hard->name, "gpu") && (!t->has_gpu || hard->value < t->gpu_limit)) {
                t->has_gpu = true;
                t->gpu_limit = hard->value;
            }
        }
    }
    if (has_quota || !run->s->policy->has_default_quota || run->s->policy->default_cpu <= 0 ||
        run->s->policy->default_gpu <= 0)
        return;
    t->has_cpu = t->has_gpu = true;
    t->cpu_limit = run->s->policy->default_cpu;
    t->gpu_limit = run->s->policy->default_gpu;
}

static bool counts(const struct session *s, const struct job *job, const struct task *task)
{
    (void)s;
    if (state_is_allocated(task->state) || task->state == BERTH_TASK_UNKNOWN)
        return true;
    return (task->state == BERTH_TASK_PENDING || task->state == BERTH_TASK_PIPELINED) &&
           job->kept->phase != BERTH_PHASE_PENDING && !job->kept->stopping;
}

static struct tenant *tenant_of(struct run *run, const char *namespace_)
{
    struct session *s = run->s;
    struct tenant *t;

    VEC_EACH (each, &run->tenants)
        if (text_eq((*each)->namespace_, namespace_))
            return *each;
    t = ARENA_NEW0(&s->arena, struct tenant);
    t->namespace_ = namespace_;
    set_limits(run, t);
    VEC_PUSH(&run->tenants, t);
    JOB_EACH(job, s->model)
    {
        if (!text_eq(job->kept->namespace_ ? job->kept->namespace_ : "", namespace_))
            continue;
        for (size_t i = 0; i < job->n_tasks; i++) {
            if (!counts(s, job, &job->tasks[i]))
                continue;
            t->cpu += asks_of(task_asks(&job->tasks[i]), DIM_CPU);
            t->gpu += gpu_of(run, task_asks(&job->tasks[i]));
        }
    }
    return t;
}

/* Whether the quota lets a task in; over both limits it is the GPU that is named. */
static bool admit(struct run *run, struct job *job, const struct task *task)
{
    struct seat *seat = seat_of(run->s, job);
    struct tenant *t;
    wide cpu = asks_of(task_asks(task), DIM_CPU), gpu = gpu_of(run, task_asks(task));
    const char *over = NULL;

    if (job->kept->phase != BERTH_PHASE_PENDING)
        return true; /* it counts already */
    t = tenant_of(run, task->group->kind->namespace_);
    if (t->has_gpu && gpu && t->gpu + gpu > t->gpu_limit)
        over = "gpu";
    else if (t->has_cpu && cpu && t->cpu + cpu > t->cpu_limit)
        over = "cpu";
    if (!over) {
        t->cpu += cpu;
        t->gpu += gpu;
        seat->is_pending = false;
        seat->was_admitted = true;
        return true;
    }
    seat->why = (struct why){ .code = WAIT_OVER_CAP, .dim = dim_find(run->s->model, over) };
    answer_fail(run->s, job, WAIT_OVER_CAP, over);
    return false;
}

/* --- Nodes */

static bool has_room(const struct run *run, const struct kind *kind, const struct node *node)
{
    const struct model *model = run->s->model;
    bool pinned = kind->spec->pinned_to && kind->spec->pinned_to[0];

    for (size_t i = 0; i < kind->asks.n; i++) {
        uint32_t d = kind->asks.at[i].dim;
        const struct column *c = &model->columns[d];
        int64_t room = wrap_sub(column_idle(c, node->at), c->pipelined[node->at]);
        for (size_t k = 0; !pinned && k < node->kept->rented.n; k++)
            if (text_eq(node->kept->rented.at[k].name, model->dims.at[d]->name))
                room = wrap_sub(room, node->kept->rented.at[k].value);
        if (kind->asks.at[i].value > room)
            return false;
    }
    return true;
}

/* Free capacity for ties: cpu in thousandths, memory in Mi, and a million a GPU. */
static int64_t free_sum(const struct run *run, const struct wish *wish, const struct node *node)
{
    const struct model *model = run->s->model;
    const struct column *cpu = &model->columns[DIM_CPU], *memory = &model->columns[DIM_MEMORY];
    int64_t sum = wrap_sub(column_idle(cpu, node->at), cpu->pipelined[node->at]);

    sum += wrap_sub(column_idle(memory, node->at), memory->pipelined[node->at]) >> 20;
    if (wish->wants_gpu && run->gpu != NOWHERE) {
        const struct column *gpu = &model->columns[run->gpu];
        sum += wrap_sub(column_idle(gpu, node->at), gpu->pipelined[node->at]) / 1000 * 1000000;
    }
    return sum;
}

/* Whether node a is better than b. */
static bool is_better(const struct run *run, const struct wish *wish, const struct node *a,
                      const struct node *b)
{
    struct session *s = run->s;
    size_t x = wish_rank(s, wish, a), y = wish_rank(s, wish, b);
    int64_t p = wish_score(s, wish, a), q = wish_score(s, wish, b);

    if (x != y)
        return x < y;
    if (p != q)
        return p > q;
    p = free_sum(run, wish, a);
    q = free_sum(run, wish, b);
    if (p != q && s->policy->tie == TIE_SPREAD)
        return p > q;
    if (p != q && s->policy->tie == TIE_PACK)
        return p < q;
    return a->name_at < b->name_at;
}

static struct node *best_node(const struct run *run, const struct wish *wish, enum node_state state)
{
    struct node *best = NULL;

    NODE_EACH(node, run->s->model)
    {
        run->s->n_steps++;
        if (node->kept->state != state || wish_filter(run->s, wish, node) ||
            !has_room(run, wish->kind, node))
            continue;
        if (!best || is_better(run, wish, node, best))
            best = node;
    }
    return best;
}

/* --- Machines */

static bool machine_fits(const struct run *run, const struct machine *m, const struct wish *wish)
{
    if (!wish_takes_pool(run->s, wish, m->pool))
        return false;
    for (size_t i = 0; i < wish->kind->asks.n; i++) {
        uint32_t d = wish->kind->asks.at[i].dim;
        if (d != DIM_PODS && wish->kind->asks.at[i].value > m->left[d])
            return false;
    }
    return true;
}

static void machine_give(struct machine *m, struct task *task)
{
    const struct asks *asks = task_asks(task);

    for (size_t i = 0; i < asks->n; i++)
        m->left[asks->at[i].dim] -= asks->at[i].value;
    VEC_PUSH(&m->tasks, task);
}

static struct machine *machine_order(struct run *run, const struct berth_pool *pool,
                                     const struct asks *asks)
{
    struct session *s = run->s;
    size_t n = s->model->dims.n;
    struct machine *m = ARENA_NEW0(&s->arena, struct machine);

    m->pool = pool;
    m->key = arena_format(&s->arena, "%s-%llu-%zu", pool->name, (unsigned long long)s->in.revision,
                          run->machines.n);
    m->shape = ARENA_NEW0_N(&s->arena, int64_t, n + 1);
    for (size_t i = 0; pool->has_machine && !pool->is_private && i < pool->machine.n; i++) {
        uint32_t d = dim_find(s->model, pool->machine.at[i].name);
        if (d != NOWHERE)
            m->shape[d] = pool->machine.at[i].value;
    }
    for (size_t i = 0; asks && i < asks->n; i++)
        if (asks->at[i].value > m->shape[asks->at[i].dim])
            m->shape[asks->at[i].dim] = asks->at[i].value;
    m->left = arena_copy(&s->arena, m->shape, (n + 1) * sizeof(int64_t));
    VEC_PUSH(&run->machines, m);
    return m;
}

static uint32_t machines_of(const struct run *run, const struct berth_pool *pool)
{
    uint32_t n = 0;

    NODE_EACH(node, run->s->model)
    n += text_eq(node->kept->pool, pool->name) && node->kept->state != NODE_GONE &&
         node->kept->state != NODE_LOST;
    VEC_EACH (m, &run->machines)
        n += (*m)->pool == pool;
    return n;
}

static bool may_grow(const struct run *run, const struct berth_pool *pool)
{
    return pool->provisions && (!pool->max_machines || machines_of(run, pool) < pool->max_machines);
}

/* --- One task's way */

static bool on_ready(struct run *run, const struct wish *wish, struct task *task)
{
    struct node *node = best_node(run, wish, NODE_READY);
    struct statement stmt;

    if (!node)
        return false;
    stmt = statement_open(run->s);
    statement_allocate(&stmt, task, node, (double)wish_score(run->s, wish, node));
    statement_commit(&stmt, task->group->job);
    return true;
}

static void wait_for(struct run *run, struct task *task, enum wait_code code, int64_t until_ms)
{
    struct seat *seat = seat_of(run->s, task->group->job);

    seat->why = (struct why){ .code = code, .dim = NOWHERE };
    if (until_ms)
        session_wake_at(run->s, until_ms);
}

static bool on_coming(struct run *run, const struct wish *wish, struct task *task)
{
    struct statement stmt;
    struct node *node;

    VEC_EACH (m, &run->machines) {
        if (machine_fits(run, *m, wish)) {
            machine_give(*m, task);
            wait_for(run, task, WAIT_WAITING_FOR_MACHINE, 0);
            return true;
        }
    }
    node = best_node(run, wish, NODE_COMING);
    if (!node)
        return false;
    stmt = statement_open(run->s);
    statement_pipeline(&stmt, task, node, false, 0);
    answer_reserve(run->s, task, node);
    wait_for(run, task, WAIT_WAITING_FOR_MACHINE, 0);
    return true;
}

/* Orders a machine. 1: done or it waits; 0: there is no candidate at all. */
static int on_new(struct run *run, const struct wish *wish, struct task *task)
{
    struct session *s = run->s;
    const struct berth_pool **pools = ARENA_NEW0_N(&s->arena, const struct berth_pool *,
                                                   s->model->shelves[BERTH_POOL].items.n + 1);
    size_t n = wish_pools(s, wish, pools);
    int64_t backed_off = BERTH_NEVER;

    for (size_t i = 0; i < n; i++) {
        if (!may_grow(run, pools[i]))
            continue;
        if (pools[i]->backoff_until_ms > s->in.now_ms) {
            if (pools[i]->backoff_until_ms < backed_off)
                backed_off = pools[i]->backoff_until_ms;
            continue;
        }
        machine_give(machine_order(run, pools[i], task_asks(task)), task);
        wait_for(run, task, WAIT_WAITING_FOR_MACHINE, 0);
        return 1;
    }
    if (backed_off != BERTH_NEVER)
        wait_for(run, task, WAIT_RETRY_BACKOFF, backed_off);
    return n > 0;
}

/* A private pool that is full and may not grow is left for the open ones. */
static bool fall_back(struct run *run, const struct kind *kind, struct task *task)
{
    const struct berth_pool *pool = pool_find(run->s, kind->spec->pool_selector);
    struct wish wish;

    if (!pool || !pool->is_private || kind->spec->durable_disk || may_grow(run, pool))
        return false;
    wish = wish_of(run->s, kind, true);
    if (on_ready(run, &wish, task) || on_coming(run, &wish, task))
        return true;
    return on_new(run, &wish, task) && seat_of(run->s, task->group->job)->why.code;
}

static void give_up(struct run *run, struct job *job, enum wait_code code)
{
    seat_of(run->s, job)->why = (struct why){ .code = code, .dim = NOWHERE };
    answer_fail(run->s, job, code, NULL);
}

static void place(struct run *run, struct task *task)
{
    const struct kind *kind = task->group->kind;
    struct job *job = task->group->job;
    struct wish wish = wish_of(run->s, kind, false);
    const struct berth_pool *own = pool_find(run->s, wish.selector);
    int64_t most = run->s->policy->provision_attempts;
    bool pinned = kind->spec->pinned_to && kind->spec->pinned_to[0];

    if (on_ready(run, &wish, task) || on_coming(run, &wish, task) || pinned)
        return;
    if (!run->s->model->shelves[BERTH_POOL].items.n || fall_back(run, kind, task))
        return;
    if (most && (int64_t)task->group->spec->provision_attempts >= most) {
        give_up(run, job, WAIT_PROVISION_FAILED);
        return;
    }
    if (!on_new(run, &wish, task) && !(own && own->is_private))
        give_up(run, job, WAIT_NO_NODE_KNOWN);
}

/* --- The whole */

static int by_age(const void *a, const void *b, void *arg)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    (void)arg;
    if (x->kept->created_at_ms != y->kept->created_at_ms)
        return x->kept->created_at_ms < y->kept->created_at_ms ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* Rooms that are held for tasks already: nobody else gets them. */
static void hold_reserved(struct run *run)
{
    struct session *s = run->s;
    struct shelf *shelf = &s->model->shelves[BERTH_RESERVATION];

    shelf_sort(shelf);
    for (size_t i = 0; i < shelf->items.n; i++) {
        const struct berth_reservation *r = shelf->items.at[i]->kept;
        if (!reservation_holds(s, r))
            continue;
        for (size_t k = 0; k < r->n_parts; k++) {
            struct task *task = task_find(s->model, &r->parts[k].task);
            struct node *node = node_find(s->model, r->parts[k].node);
            struct statement stmt = statement_open(s);
            if (task && node && node->at != NOWHERE && task->state == BERTH_TASK_PENDING)
                statement_pipeline(&stmt, task, node, false, 0);
        }
    }
}

/* A task that has room reserved looks for a ready node all the same, and else waits on. */
static void place_reserved(struct run *run, struct task *task)
{
    struct wish wish = wish_of(run->s, task->group->kind, false);
    struct node *node = task->node;
    struct statement stmt = statement_open(run->s);

    statement_unpipeline(&stmt, task);
    if (on_ready(run, &wish, task))
        return;
    statement_pipeline(&stmt, task, node, false, 0);
    wait_for(run, task, WAIT_WAITING_FOR_MACHINE, 0);
}

static void visit(struct run *run, struct job *job)
{
    struct session *s = run->s;
    struct seat *seat = seat_of(s, job);

    if (!job_is_open(s, job, &seat->why))
        return;
    seat->was_tried = true;
    for (size_t i = 0; i < job->n_tasks && !session_is_spent(s); i++) {
        struct task *task = &job->tasks[i];
        if (task->state == BERTH_TASK_PIPELINED && !task->is_told)
            place_reserved(run, task);
        else if (task->state == BERTH_TASK_PENDING && task_is_due(s, task) && admit(run, job, task))
            place(run, task);
    }
}

/* What a pool has free: ready nodes what is left on them, those on their way all of it. */
static wide free_of(const struct run *run, const struct berth_pool *pool, uint32_t d)
{
    const struct column *c = &run->s->model->columns[d];
    wide sum = 0;

    NODE_EACH(node, run->s->model)
    {
        int64_t room = wrap_sub(column_idle(c, node->at), c->pipelined[node->at]);
        if (!text_eq(node->kept->pool, pool->name) || node->kept->cordoned || node->kept->draining)
            continue;
        if (node->kept->state == NODE_COMING)
            sum += c->offers[node->at];
        else if (node->kept->state == NODE_READY && room > 0)
            sum += room;
    }
    VEC_EACH (m, &run->machines)
        if ((*m)->pool == pool)
            sum += (*m)->shape[d];
    return sum;
}

static void keep_free(struct run *run)
{
    struct shelf *shelf = &run->s->model->shelves[BERTH_POOL];

    shelf_sort(shelf);
    for (size_t i = 0; i < shelf->items.n; i++) {
        const struct berth_pool *pool = shelf->items.at[i]->kept;
        bool is_short = false;
        for (size_t k = 0; k < pool->min_free.n; k++) {
            uint32_t d = dim_find(run->s->model, pool->min_free.at[k].name);
            wide has = d == NOWHERE ? 0 : free_of(run, pool, d);
            is_short = is_short || has < pool->min_free.at[k].value;
        }
        if (is_short && pool->has_machine && may_grow(run, pool) &&
            pool->backoff_until_ms <= run->s->in.now_ms)
            machine_order(run, pool, NULL);
    }
}

static void run_all(struct session *s, const struct berth_value *arguments)
{
    struct run run = { .s = s };
    VEC_OF(struct job *) jobs = { 0 };

    (void)arguments;
    run.gpu = dim_find(s->model, "gpu");
    hold_reserved(&run);
    JOB_EACH(job, s->model)
    if (job->n[BERTH_TASK_PENDING] || job->n[BERTH_TASK_PIPELINED])
        VEC_PUSH(&jobs, job);
    if (jobs.n)
        qsort_r(jobs.at, jobs.n, sizeof(*jobs.at), by_age, NULL);
    VEC_EACH (job, &jobs)
        visit(&run, *job);
    keep_free(&run);
    VEC_EACH (m, &run.machines) {
        answer_order(s, (*m)->key, (*m)->pool->name, (*m)->shape, (*m)->tasks.at, (*m)->tasks.n);
        VEC_FINI(&(*m)->tasks);
    }
    VEC_FINI(&run.machines);
    VEC_FINI(&run.tenants);
    VEC_FINI(&jobs);
}

const struct action action_serverless = { "serverless", NULL, run_all };
