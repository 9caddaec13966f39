/*
 * Search: a place for a gang that found none when its tasks were placed in their order.
 *
 * First the largest go first, each onto its best node. If that leads nowhere either, ways to
 * place it are gone through: class by class of like tasks, the largest class first, nodes in the
 * order of their scores. Like tasks, and nodes that are alike with as much free, stand for each
 * other, so no way is tried twice. What the policy allows are steps, members put on a node; of
 * looks at nodes there are LOOKS a step. Up to there a way is found if there is one.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/actions.h"
#include "engine/protect.h"
#include "engine/res.h"

enum { LOOKS = 100 };

/* A node as it is ordered. */
struct ranked {
    struct node *node;
    double score;
    enum room room;
};

/* Like tasks of the gang. */
struct class
{
    struct kind *kind;
    struct task **tasks;
    size_t n;
    struct share share;
    size_t at; /* where it came first in the order of the tasks */
    /* while it is being placed: */
    struct ranked *ranked;
    struct node **nodes;
    double *scores;
    bool *like_last; /* as much free as the node before, and alike */
    uint32_t *n_on;
    size_t n_nodes;
};

/* One member's turn. */
struct turn {
    size_t class, member;
    size_t pos;                /* the node that is tried, or is next */
    size_t mark;               /* the log's length before it */
    bool is_placed, is_closed; /* closed: the rest of the class is left out */
};

struct search {
    struct session *s;
    struct job *job;
    struct class *classes;
    size_t n_classes;
    size_t n_tasks, spare; /* how many may be left out */
    bool idle_only;
    int64_t steps, looks; /* left */
    struct turn *turns;
    size_t n_turns;
};

/* --- The gang */

static int by_size(const void *a, const void *b)
{
    const struct class *x = a, *y = b;
    int cmp = share_cmp(y->share, x->share);

    return cmp ? cmp : (x->at > y->at) - (x->at < y->at);
}

static struct class *class_of(struct search *search, struct kind *kind)
{
    for (size_t i = 0; i < search->n_classes; i++)
        if (search->classes[i].kind == kind)
            return &search->classes[i];
    return NULL;
}

static void class_add(struct search *search, struct kind *kind, size_t n)
{
    struct session *s = search->s;
    struct class *class = &search->classes[search->n_classes];
    wide *asks = res_new(s);

    res_add_asks(asks, &kind->asks, 1);
    *class = (struct class){ .kind = kind,
                             .tasks = ARENA_NEW0_N(&s->arena, struct task *, n + 1),
                             .share = res_dominant(s, asks, s->total),
                             .at = search->n_classes++ };
}

static void set_classes(struct search *search, const struct victims *list)
{
    search->classes = ARENA_NEW0_N(&search->s->arena, struct class, search->job->n_groups + 1);
    for (size_t i = 0; i < list->n; i++) {
        struct kind *kind = list->at[i]->group->kind;
        struct class *class = class_of(search, kind);
        if (list->at[i]->state != BERTH_TASK_PENDING)
            continue;
        if (!class) {
            class_add(search, kind, list->n);
            class = class_of(search, kind);
        }
        class->tasks[class->n++] = list->at[i];
        search->n_tasks++;
    }
    qsort(search->classes, search->n_classes, sizeof(*search->classes), by_size);
}

static bool has_affinity(const struct kind *kind)
{
    const struct berth_affinity *a = kind->spec->affinity;

    return a && (a->n_pod_required || a->n_anti_required || a->n_spread);
}

/* Of like tasks that know nothing of each other the order does not matter: they had their try. */
static bool is_worth_it(const struct search *search)
{
    return search->n_classes > 1 ||
           (search->n_classes == 1 && has_affinity(search->classes[0].kind));
}

/* Whether the nodes have enough, class by class and in sum; without it no way is looked for. */
static bool has_enough(const struct search *search)
{
    struct session *s = search->s;
    const struct model *model = s->model;
    wide *free = res_new(s), *asks = res_new(s);
    bool *counted = ARENA_NEW0_N(&s->arena, bool, model->nodes.n + 1);

    for (size_t i = 0; i < search->n_classes; i++) {
        const struct class *class = &search->classes[i];
        size_t need = class->n > search->spare ? class->n - search->spare : 0, has = 0;
        res_add_asks(asks, &class->kind->asks, class->n);
        for (uint32_t at = 0; at < model->nodes.n; at++) {
            size_t fits = class->n;
            for (size_t k = 0; k < class->kind->asks.n && fits; k++) {
                const struct ask *ask = &class->kind->asks.at[k];
                int64_t n = column_future(&model->columns[ask->dim], at) / ask->value;
                fits = n < (int64_t)fits ? (size_t)(n < 0 ? 0 : n) : fits;
            }
            has += fits;
            for (size_t d = 0; fits && !counted[at] && d < model->dims.n; d++)
                free[d] += column_future(&model->columns[d], at);
            counted[at] = counted[at] || fits;
        }
        if (has < need)
            return false;
    }
    return search->spare || res_within(s, asks, free);
}

/* --- The largest first */

static bool is_done(const struct search *search)
{
    return job_is_ready(search->s, search->job) ||
           (!search->idle_only && job_is_pipelined(search->s, search->job));
}

static bool largest_first(const struct search *search, struct statement *stmt)
{
    struct session *s = search->s;
    size_t left_out = 0;

    for (size_t i = 0; i < search->n_classes; i++) {
        const struct class *class = &search->classes[i];
        for (size_t k = 0; k < class->n; k++) {
            struct choice choice;
            struct why why;
            if (!queue_may_allocate(s, search->job->queue, class->kind, &why) ||
                !protect_best(s, class->tasks[k], &choice) ||
                (search->idle_only && choice.room > ROOM_IDLE_OUTSIDE)) {
                left_out += class->n - k;
                break;
            }
            place_task(stmt, class->tasks[k], &choice);
            if (job_is_ready(s, search->job))
                return true;
        }
        if (left_out > search->spare)
            break;
    }
    return is_done(search);
}

/* --- All ways */

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->room != y->room)
        return x->room < y->room ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->node->name_at > y->node->name_at) - (x->node->name_at < y->node->name_at);
}

static bool is_like(const struct model *model, const struct node *a, const struct node *b)
{
    if (a->alike != b->alike || a->tasks.n != b->tasks.n)
        return false;
    for (size_t d = 0; d < model->dims.n; d++)
        if (column_idle(&model->columns[d], a->at) != column_idle(&model->columns[d], b->at) ||
            column_future(&model->columns[d], a->at) != column_future(&model->columns[d], b->at))
            return false;
    return true;
}

/* Lists the nodes that will do for a class as things stand, the best first. */
static void open_class(struct search *search, struct class *class)
{
    struct session *s = search->s;
    size_t n = s->model->nodes.n, n_ranked = 0;
    struct ranked *ranked;
    bool apart = has_affinity(class->kind) || class->kind->spec->n_host_ports;

    if (!class->nodes) {
        class->ranked = ARENA_NEW0_N(&s->arena, struct ranked, n + 1);
        class->nodes = ARENA_NEW0_N(&s->arena, struct node *, n + 1);
        class->scores = ARENA_NEW0_N(&s->arena, double, n + 1);
        class->like_last = ARENA_NEW0_N(&s->arena, bool, n + 1);
        class->n_on = ARENA_NEW0_N(&s->arena, uint32_t, n + 1);
    }
    ranked = class->ranked;
    for (size_t i = 0; i < n; i++) {
        struct node *node = s->model->nodes.at[i];
        enum room room;
        fail_t fail = fit_fail(s, class->kind, node, &room);
        search->looks--;
        if (fail == WAIT_AFFINITY && has_affinity(class->kind))
            room = ROOM_FUTURE_OUTSIDE; /* perhaps once its like are there */
        else if (fail != FAIL_NONE || (search->idle_only && room > ROOM_IDLE_OUTSIDE))
            continue;
        class->nodes[n_ranked] = node;
        ranked[n_ranked++] = (struct ranked){ node, 0, room };
    }
    fit_scores(s, class->tasks[0], class->nodes, n_ranked, class->scores);
    for (size_t i = 0; i < n_ranked; i++)
        ranked[i].score = class->scores[i];
    qsort(ranked, n_ranked, sizeof(*ranked), by_rank);
    for (size_t i = 0; i < n_ranked; i++) {
        class->nodes[i] = ranked[i].node;
        class->scores[i] = ranked[i].score;
        class->n_on[i] = 0;
        class->like_last[i] = i && !apart && is_like(s->model, ranked[i].node, ranked[i - 1].node);
    }
    class->n_nodes = n_ranked;
}

static void push(struct search *search, size_t class, size_t member, size_t pos)
{
    search->turns[search->n_turns++] =
        (struct turn){ .class = class, .member = member, .pos = pos, .mark = search->s->log.n };
    if (!member)
        open_class(search, &search->classes[class]);
}

/* Puts a member on the next node that will do. */
static bool place_next(struct search *search, struct turn *turn)
{
    struct session *s = search->s;
    struct class *class = &search->classes[turn->class];
    struct task *task = class->tasks[turn->member];
    struct statement stmt = { s, turn->mark };
    struct why why;

    if (!queue_may_allocate(s, search->job->queue, class->kind, &why))
        return false;
    for (; turn->pos < class->n_nodes && search->looks > 0; turn->pos++) {
        struct node *node = class->nodes[turn->pos];
        enum room room;
        /* Of two that are alike the first takes no less than the second. */
        if (class->like_last[turn->pos] && class->n_on[turn->pos] >= class->n_on[turn->pos - 1])
            continue;
        search->looks--;
        if (fit_fail(s, class->kind, node, &room) != FAIL_NONE ||
            (search->idle_only && room > ROOM_IDLE_OUTSIDE) || !protect_allows(s, task, node))
            continue;
        place_task(&stmt, task, &(struct choice){ node, room, class->scores[turn->pos] });
        class->n_on[turn->pos]++;
        turn->is_placed = true;
        search->steps--;
        s->n_steps++;
        return true;
    }
    return false;
}

static void take_away(struct search *search, struct turn *turn)
{
    struct statement stmt = { search->s, turn->mark };

    if (!turn->is_placed)
        return;
    statement_discard(&stmt);
    search->classes[turn->class].n_on[turn->pos]--;
    turn->is_placed = false;
    turn->pos++;
}

/* How many members were left out by the turns that stand. */
static size_t left_out(const struct search *search)
{
    size_t n = 0;

    for (size_t i = 0; i < search->n_turns; i++)
        if (search->turns[i].is_closed)
            n += search->classes[search->turns[i].class].n - search->turns[i].member;
    return n;
}

/* Goes on behind a member that stands; true once the gang has all it needs. */
static bool go_on(struct search *search, const struct turn *turn)
{
    const struct class *class = &search->classes[turn->class];

    if (is_done(search))
        return true;
    if (turn->member + 1 < class->n)
        push(search, turn->class, turn->member + 1, turn->pos);
    else if (turn->class + 1 < search->n_classes)
        push(search, turn->class + 1, 0, 0);
    return false;
}

static bool all_ways(struct search *search)
{
    search->turns = ARENA_NEW0_N(&search->s->arena, struct turn, search->n_tasks + 1);
    search->n_turns = 0;
    push(search, 0, 0, 0);
    while (search->n_turns) {
        struct turn *turn = &search->turns[search->n_turns - 1];
        take_away(search, turn);
        if (search->steps <= 0 || search->looks <= 0) {
            search->n_turns--;
            continue;
        }
        if (!turn->is_closed && place_next(search, turn)) {
            if (go_on(search, turn))
                return true;
            continue;
        }
        if (!turn->is_closed && turn->class + 1 < search->n_classes) {
            turn->is_closed = true;
            if (left_out(search) <= search->spare) {
                push(search, turn->class + 1, 0, 0);
                continue;
            }
        }
        search->n_turns--;
    }
    return false;
}

bool gang_search(struct session *s, struct job *job, bool idle_only, struct statement *stmt)
{
    struct seat *seat = seat_of(s, job);
    struct search search = { .s = s, .job = job, .idle_only = idle_only };
    size_t needed;

    search.steps = s->policy->gang_search_steps;
    search.looks = search.steps > INT64_MAX / LOOKS ? INT64_MAX : search.steps * LOOKS;
    if (!search.steps || job_n_ready(job) >= job->min_available)
        return false;
    set_classes(&search, &seat->list);
    needed = job->min_available - job_n_ready(job) - job_n_best_effort(job);
    if (!is_worth_it(&search) || search.n_tasks < needed)
        return false;
    search.spare = search.n_tasks - needed;
    if (!has_enough(&search))
        return false;
    *stmt = statement_open(s);
    if (largest_first(&search, stmt))
        return true;
    statement_discard(stmt);
    if (all_ways(&search))
        return true;
    statement_discard(stmt);
    return false;
}
