/*
 * Undo: whatever is done under a mark and taken back leaves the model as it was, field by field:
 * a whole cycle, a statement at any depth, one whose plugin fails at its n-th call, a supposition.
 */
#include "engine/cluster.h"

#include "berth/plugin.h"
#include "engine/actions.h"
#include "engine/engine.h"
#include "engine/session.h"

/* --- The model as text: all that decisions go by, caches and versions left out */

static int by_key(const void *a, const void *b)
{
    const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;
    int cmp = strcmp(x->group->job->id, y->group->job->id);

    if (!cmp)
        cmp = strcmp(x->group->spec->name, y->group->spec->name);
    return cmp ? cmp : (x->index > y->index) - (x->index < y->index);
}

static void dump_node(const struct model *model, const struct node *node, struct arena *arena,
                      struct str *out)
{
    struct task **tasks = ARENA_NEW0_N(arena, struct task *, node->tasks.n + 1);

    str_addf(out, "node %s %d %d %u:", node->id, model->gauges[DIM_CPU].n_unsaid[node->at],
             model->gauges[DIM_MEMORY].n_unsaid[node->at], node->n_over);
    for (size_t d = 0; d < model->dims.n; d++) {
        const struct column *c = &model->columns[d];
        str_addf(out, " %" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, c->offers[node->at],
                 c->used[node->at], c->releasing[node->at], c->pipelined[node->at]);
    }
    for (size_t i = 0; i < node->devices.n; i++)
        str_addf(out, " device %" PRId64 "/%" PRId64 "/%" PRId64, node->devices.at[i].used,
                 node->devices.at[i].releasing, node->devices.at[i].pipelined);
    for (size_t i = 0; i < node->tasks.n; i++)
        tasks[i] = node->tasks.at[i];
    qsort(tasks, node->tasks.n, sizeof(*tasks), by_key);
    for (size_t i = 0; i < node->tasks.n; i++)
        str_addf(out, " %s/%s.%u", tasks[i]->group->job->id, tasks[i]->group->spec->name,
                 tasks[i]->index);
    str_add(out, "\n");
}

static void dump_job(const struct job *job, struct str *out)
{
    str_addf(out, "job %s odd %u priority %d:", job->id, job->n_odd, job->priority);
    for (int state = 0; state < BERTH_TASK_STATE_COUNT; state++)
        str_addf(out, " %u", job->n[state]);
    for (size_t g = 0; g < job->n_groups; g++) {
        str_addf(out, " group %u:", job->groups[g].n_backed_off);
        for (int state = 0; state < BERTH_TASK_STATE_COUNT; state++)
            str_addf(out, " %u", job->groups[g].n[state]);
    }
    for (size_t i = 0; i < job->n_tasks; i++) {
        const struct task *t = &job->tasks[i];
        str_addf(out, " task %u@%s%s%s attempt %u evictions %u", t->state,
                 t->node ? t->node->id : "-", t->is_told ? " told" : "",
                 t->evicted ? " evicted" : "", t->attempt, t->evictions);
        if (t->node) /* it stands where it says it stands */
            CHECK(t->slot < t->node->tasks.n && t->node->tasks.at[t->slot] == t);
    }
    str_add(out, "\n");
}

static void dump_queue(const struct queue *queue, struct str *out)
{
    str_addf(out, "queue %s %u:", queue->name, queue->n_jobs);
    for (size_t d = 0; d < queue->n_sums; d++)
        str_addf(out, " %" PRId64 "/%" PRId64 "/%" PRId64, (int64_t)queue->allocated[d],
                 (int64_t)queue->pending[d], (int64_t)queue->live[d]);
    str_add(out, "\n");
}

static uint64_t n_placed_of(const struct job *job)
{
    uint64_t n = 0;

    for (int state = 0; state < BERTH_TASK_STATE_COUNT; state++)
        n += state_is_allocated((enum berth_task_state)state) ? job->n[state] : 0;
    return n;
}

/* What a queue has placed, priority by priority. */
static void check_placed(const struct model *model, const struct queue *queue)
{
    uint64_t n = 0, n_counted = 0;

    VEC_EACH (placed, &queue->placed) {
        uint64_t n_here = 0;
        JOB_EACH (job, model)
            n_here +=
                job->queue == queue && job->priority == placed->priority ? n_placed_of(job) : 0;
        CHECK_EQ(placed->n, n_here);
        n_counted += n_here;
    }
    JOB_EACH (job, model)
        n += job->queue == queue ? n_placed_of(job) : 0;
    CHECK_EQ(n_counted, n);
}

/* What is kept as sums is what one would add up. */
static void check_sums(const struct model *model)
{
    uint64_t n_pending = 0;

    for (size_t d = 0; d < model->dims.n; d++) {
        const struct column *c = &model->columns[d];
        wide shared = 0;
        for (size_t i = 0; i < model->nodes.n; i++) {
            const struct berth_node *kept = model->nodes.at[i]->kept;
            bool serves = kept->state == NODE_READY && !kept->cordoned && !kept->draining;
            if (c->offers[i] < UNLIMITED)
                shared += serves && c->offers[i] > c->used[i] ? c->offers[i] : c->used[i];
        }
        CHECK(shared == c->sum_shared);
    }
    JOB_EACH (job, model)
        n_pending += job->n[BERTH_TASK_PENDING];
    VEC_EACH (queue, &model->queues)
        check_placed(model, *queue);
    CHECK_EQ(model->n_pending, n_pending);
}

static char *dump(struct berth_engine *engine)
{
    struct model *model = engine_model(engine);
    struct arena arena = { 0 };
    struct str out = { 0 };

    NODE_EACH (node, model)
        dump_node(model, node, &arena, &out);
    JOB_EACH (job, model)
        dump_job(job, &out);
    VEC_EACH (queue, &model->queues)
        dump_queue(*queue, &out);
    check_sums(model);
    arena_fini(&arena);
    return str_take(&out);
}

/* What queues may still take, by the plugins: their books are undone too. */
static char *dump_session(struct session *s, struct cluster *c)
{
    struct str out = { 0 };
    CLEANUP(freep) char *model = dump(c->w.engine);

    str_add(&out, model);
    VEC_EACH (queue, &s->model->queues) {
        JOB_EACH (job, s->model) {
            struct why why = { 0 };
            bool may = queue_may_allocate(s, *queue, job->groups[0].kind, &why);
            str_addf(&out, "%d %d %" PRId64 " %" PRId64 ";", may, queue_is_overused(s, *queue),
                     wide_clamp(why.free), wide_clamp(why.limit));
        }
        str_add(&out, "\n");
    }
    return str_take(&out);
}

static const char *const names[] = { "berth", "volcano", "ledger", "bench" };

static void live(struct cluster *c, uint64_t seed, const char *profile)
{
    cluster_init(c, seed, profile);
    for (int cycle = 0; cycle < 6; cycle++) {
        cluster_stir(c);
        cluster_stir(c);
        cluster_decide(c);
        cluster_accept(c);
        if (cluster_dice(c, 2))
            cluster_end_releasing(c);
        c->w.in.now_ms += 60000;
    }
    cluster_add_job(c);
}

TEST(undo_takes_a_cycle_back_field_by_field)
{
    uint64_t random = test_seed();
    size_t n = 0;

    for (int round = 0; round < 80; round++) {
        struct cluster c;
        CLEANUP(freep) char *before = NULL;
        CLEANUP(freep) char *after = NULL;
        live(&c, test_random(&random), names[round % COUNT_OF(names)]);
        before = dump(c.w.engine);
        cluster_decide(&c);
        n += c.w.out.n_groups;
        after = dump(c.w.engine);
        CHECK_TEXT(after, before);
        cluster_fini(&c);
    }
    CHECK(n > 80);
}

/* --- Statements */

static struct task *some_task(struct cluster *c, struct model *model, bool placed)
{
    struct task *found = NULL;
    uint64_t n = 0;

    JOB_EACH (job, model)
        for (size_t i = 0; i < job->n_tasks; i++) {
            struct task *t = &job->tasks[i];
            bool fits = placed ? t->state == BERTH_TASK_RUNNING : t->state == BERTH_TASK_PENDING;
            if (fits && cluster_dice(c, ++n) == 0)
                found = t;
        }
    return found;
}

static struct task *some_promised(struct model *model)
{
    JOB_EACH (job, model)
        for (size_t i = 0; i < job->n_tasks; i++)
            if (job->tasks[i].state == BERTH_TASK_PIPELINED)
                return &job->tasks[i];
    return NULL;
}

/* What is held for others when the session begins, if it is yet. */
static const struct held_room *some_room(struct cluster *c, const struct session *s)
{
    const struct held_room *room = s->rooms.n ? s->rooms.at[cluster_dice(c, s->rooms.n)] : NULL;

    return room && task_room(s, room->at[0]) == room ? room : NULL;
}

static size_t n_taken;

/* Anything that a statement can do; rooms are not asked for, sums must hold all the same. */
static void do_something(struct cluster *c, struct statement *stmt)
{
    struct model *model = engine_model(c->w.engine);
    struct node *node = model->nodes.at[cluster_dice(c, model->nodes.n)];
    uint64_t what = cluster_dice(c, 6);
    const struct held_room *room = some_room(c, stmt->s);
    struct task *task = what == 3   ? some_task(c, model, true)
                        : what == 4 ? some_promised(model)
                                    : some_task(c, model, false);

    if (what == 5) {
        for (size_t i = 0; room && i < room->n; i++)
            if (room->at[i]->state == BERTH_TASK_PIPELINED)
                statement_take(stmt, room->at[i], room, "test");
        n_taken += room != NULL;
        return;
    }
    if (!task)
        return;
    if (what == 0)
        statement_allocate(stmt, task, node, 1);
    else if (what == 1)
        statement_pipeline(stmt, task, node, cluster_dice(c, 2), 2);
    else if (what == 2)
        statement_fail(stmt, task);
    else if (what == 3)
        statement_evict(stmt, task, "test");
    else
        statement_unpipeline(stmt, task);
}

static void nest(struct cluster *c, struct session *s, int depth)
{
    struct statement stmt = statement_open(s);
    CLEANUP(freep) char *before = dump_session(s, c);
    CLEANUP(freep) char *done = NULL;
    CLEANUP(freep) char *after = NULL;
    struct saved saved;

    for (uint64_t i = cluster_dice(c, 5); i-- > 0;) {
        do_something(c, &stmt);
        if (depth < 3 && cluster_dice(c, 3) == 0)
            nest(c, s, depth + 1);
    }
    done = dump_session(s, c);
    saved = statement_save(&stmt);
    statement_discard(&stmt);
    after = dump_session(s, c);
    CHECK_TEXT(after, before);
    if (statement_recover(&stmt, &saved)) {
        CLEANUP(freep) char *again = dump_session(s, c);
        CHECK_TEXT(again, done);
    } else {
        CLEANUP(freep) char *nothing = dump_session(s, c);
        CHECK_TEXT(nothing, before);
    }
    statement_discard(&stmt);
}

/* Room is held for the first two tasks of the job that came last. */
static void hold_some(struct cluster *c)
{
    const struct cluster_job *job = &c->jobs[c->n_jobs - 1];
    struct berth_reservation_part parts[2] = { 0 };
    struct berth_reservation r = { .id = "r-last", .seq = 9, .owner = job->id, .parts = parts };

    for (; r.n_parts < 2 && r.n_parts < job->replicas; r.n_parts++) {
        const struct cluster_node *node = &c->nodes[cluster_dice(c, c->n_nodes)];
        parts[r.n_parts] = (struct berth_reservation_part){
            .task = { .job = job->id, .group = "task", .index = (uint32_t)r.n_parts },
            .node = node->id,
        };
    }
    world_tell(&c->w, BERTH_RESERVATION, &r);
}

TEST(undo_discards_statements_at_any_depth)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 60; round++) {
        struct cluster c;
        struct arena out = { 0 };
        struct session *s;
        CLEANUP(freep) char *before = NULL;
        CLEANUP(freep) char *after = NULL;
        live(&c, test_random(&random), names[round % COUNT_OF(names)]);
        hold_some(&c);
        before = dump(c.w.engine);
        s = session_open(engine_model(c.w.engine), engine_setup(c.w.engine), &c.w.in, &out);
        reservations_hold(s);
        for (int i = 0; i < 6; i++)
            nest(&c, s, 0);
        session_close(s);
        after = dump(c.w.engine);
        CHECK_TEXT(after, before);
        arena_fini(&out);
        cluster_fini(&c);
    }
    CHECK(n_taken > 10);
}

/* --- A plugin that fails */

static int calls_left, allocated;

static int on_allocate(const struct berth_plugin_call *call, const struct berth_plugin_task *task)
{
    (void)call, (void)task;
    allocated++;
    return calls_left-- > 0 ? 0 : -1;
}

static void on_deallocate(const struct berth_plugin_call *call,
                          const struct berth_plugin_task *task)
{
    (void)call, (void)task;
    allocated--;
}

static void *count_anew(const struct berth_plugin_call *call)
{
    (void)call;
    allocated = 0;
    return NULL;
}

static const struct berth_plugin faulty = {
    .abi = BERTH_PLUGIN_ABI,
    .size = sizeof(struct berth_plugin),
    .name = "faulty",
    .version = "1",
    .open = count_anew,
    .on_allocate = on_allocate,
    .on_deallocate = on_deallocate,
};

static void use_faulty(struct cluster *c)
{
    static const struct berth_plugin_use one[] = { { .name = "priority" }, { .name = "gang" } };
    static const struct berth_plugin_use two[] = {
        { .name = "share" }, { .name = "predicates" }, { .name = "nodeorder" }, { .name = "faulty" }
    };
    static const struct berth_tier tiers[] = { { one, COUNT_OF(one) }, { two, COUNT_OF(two) } };
    struct err err = { 0 };

    CHECK_OK(berth_engine_add_plugin(c->w.engine, &(struct berth_plugin_file){ &faulty, "" }, &err),
             &err);
    world_tell(&c->w, BERTH_CONFIG,
               &(struct berth_config){ .has_tiers = true, .tiers = tiers, .n_tiers = 2 });
}

/* It fails at its first call, its second, and so on until the cycle is done without a failure. */
TEST(undo_survives_a_plugin_that_fails_at_each_call)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 12; round++) {
        struct cluster c;
        CLEANUP(freep) char *before = NULL;
        int n = 0;
        live(&c, test_random(&random), "berth");
        use_faulty(&c);
        before = dump(c.w.engine);
        do {
            CLEANUP(freep) char *after = NULL;
            int kept = 0;
            calls_left = n;
            cluster_decide(&c);
            after = dump(c.w.engine);
            CHECK_TEXT(after, before);
            for (size_t g = 0; g < c.w.out.n_groups; g++)
                for (size_t k = 0; k < c.w.out.groups[g].n_parts; k++)
                    kept += c.w.out.groups[g].parts[k].kind != BERTH_PART_EVICT;
            CHECK(kept <= n || calls_left >= 0); /* nothing that was refused stands */
        } while (calls_left < 0 && ++n < 2000);
        CHECK(n < 2000);
        cluster_fini(&c);
    }
}

/* --- Suppositions */

TEST(undo_forgets_what_was_supposed_field_by_field)
{
    uint64_t random = test_seed();

    for (int round = 0; round < 60; round++) {
        struct cluster c;
        struct err err = { 0 };
        struct berth_node node = { .id = "n0", .state = NODE_READY };
        struct berth_task task = { .job = "j0", .group = "task", .state = BERTH_TASK_FAILED };
        struct berth_job job = { .id = "j1" };
        struct berth_priority_class class = { "middle", 2, true };
        struct berth_delta deltas[] = { { BERTH_PRIORITY_CLASS, false, { .any = &class } },
                                        { BERTH_NODE, round % 2, { .node = &node } },
                                        { BERTH_TASK, false, { .task = &task } },
                                        { BERTH_JOB, true, { .job = &job } } };
        CLEANUP(freep) char *before = NULL;
        CLEANUP(freep) char *after = NULL;
        live(&c, test_random(&random), "berth");
        before = dump(c.w.engine);
        CHECK_OK(berth_engine_suppose(c.w.engine, deltas, COUNT_OF(deltas), &err), &err);
        check_sums(engine_model(c.w.engine));
        cluster_decide(&c);
        CHECK_OK(berth_engine_suppose(c.w.engine, deltas, 1, &err), &err);
        berth_engine_forget(c.w.engine);
        berth_engine_forget(c.w.engine);
        after = dump(c.w.engine);
        CHECK_TEXT(after, before);
        cluster_fini(&c);
    }
}
