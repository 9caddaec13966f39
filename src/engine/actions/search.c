/*
 * Search: a place for a gang that found none when its tasks were placed in their order.
 *
 * First the largest go first, each onto its best node. If that leads nowhere either, ways to
 * place it are gone through: class by class of like tasks, the largest class first, nodes in the
 * order of their scores, then (where others may go for it) of what they cost. Where members want
 * company other orders of the classes are tried too, of few members all. Like tasks, and nodes
 * that are alike with as much free, stand for each other, so no way is tried twice. What the policy
 * allows are steps, members put on a node; of looks at nodes there are LOOKS a step, and a node that
 * is cleared to see is CLEAR_LOOKS of them. Up to there a way is found if there is one.
 */
#include "engine/actions/search.h"

#include <stdlib.h>
#include <string.h>

#include "engine/actions.h"
#include "engine/actions/clear.h"
#include "engine/devices.h"
#include "engine/protect.h"
#include "engine/res.h"
#include "engine/sheet.h"
#include "engine/take.h"
#include "engine/victims.h"

enum {
    LOOKS = 100,
    CLEAR_LOOKS = 1000,
    MOST_JOINT_WAYS = 1000,
    MOST_ORDERS = 120,
    MOST_PARTED = 5,
    ORDER_STEPS = 4,
    CHOICES_PART = 8 /* of the looks that are left */
};

/* A node as it is ordered. */
struct ranked {
    struct node *node;
    double score;
    enum room room; /* ROOM_NONE: others must go */
    struct cost cost;
};

/* Like tasks of the gang. */
struct class
{
    struct kind *kind;
    uint32_t role; /* whose minimum counts them, or NOWHERE */
    struct task **tasks;
    size_t n, n_left; /* of them so many are left out */
    struct share share;
    size_t at;    /* where it came first in the order of the tasks */
    size_t place; /* by size */
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
    size_t pos; /* the node that is tried, or is next */
    size_t
        joint_way; /* with whom else the node is cleared for it, from 1 on; 0: it is not cleared */
    size_t mark;   /* the log's length before it */
    bool is_placed, is_closed; /* closed: the rest of the class is left out */
};

struct search {
    struct session *s;
    struct job *job;
    struct class *classes;
    size_t n_classes;
    size_t n_tasks, spare; /* how many may be left out, */
    size_t *spare_of;      /* and of each role, by minimum; NULL: no more than that */
    const struct ways *ways;
    struct node *const *nodes; /* on which it looks */
    size_t n_nodes;
    struct arena
        arena; /* of the search alone: gangs that wait are many, and what they leave must not add up */
    int64_t steps, looks; /* left */
    int64_t spent;        /* of either, in steps */
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

static struct class *class_of(struct search *search, const struct group *group)
{
    for (size_t i = 0; i < search->n_classes; i++)
        if (search->classes[i].kind == group->kind && search->classes[i].role == group->role)
            return &search->classes[i];
    return NULL;
}

static void class_add(struct search *search, const struct group *group, size_t n)
{
    struct session *s = search->s;
    struct class *class = &search->classes[search->n_classes];
    wide *asks = res_new(s);

    res_add_asks(asks, &group->kind->asks, 1);
    *class = (struct class){ .kind = group->kind,
                             .role = group->role,
                             .tasks = ARENA_NEW0_N(&search->arena, struct task *, n + 1),
                             .share = res_dominant(s, asks, s->total),
                             .at = search->n_classes++ };
}

static void set_classes(struct search *search, const struct victims *list)
{
    search->classes = ARENA_NEW0_N(&search->arena, struct class, search->job->n_groups + 1);
    for (size_t i = 0; i < list->n; i++) {
        const struct group *group = list->at[i]->group;
        struct class *class = class_of(search, group);
        if (list->at[i]->state != BERTH_TASK_PENDING)
            continue;
        if (!class) {
            class_add(search, group, list->n);
            class = class_of(search, group);
        }
        class->tasks[class->n++] = list->at[i];
        search->n_tasks++;
    }
    qsort(search->classes, search->n_classes, sizeof(*search->classes), by_size);
    for (size_t i = 0; i < search->n_classes; i++)
        search->classes[i].place = i;
}

static bool has_affinity(const struct kind *kind)
{
    const struct berth_affinity *a = kind->spec->affinity;

    return a && (a->n_pod_required || a->n_anti_required || a->n_spread);
}

/* Of like tasks that know nothing of each other the order does not matter: they had their try. Where others go
 * for them it matters for how many of them a node is cleared at once. */
static bool is_worth_it(const struct search *search)
{
    return search->n_classes > 1 || search->ways->clears ||
           (search->n_classes == 1 && has_affinity(search->classes[0].kind));
}

/* By place among its nodes and dimension what is free there, or would be if all went who may go for the gang. */
static int64_t *list_room(struct search *search)
{
    struct session *s = search->s;
    const struct model *model = s->model;
    int64_t *room = ARENA_NEW0_N(&search->arena, int64_t, search->n_nodes * model->dims.n + 1),
            *at = room;

    for (size_t i = 0; i < search->n_nodes; i++, at += model->dims.n) {
        const struct node *node = search->nodes[i];
        for (size_t d = 0; d < model->dims.n; d++)
            at[d] = column_future(&model->columns[d], node->at);
        for (size_t k = 0; search->ways->clears && k < node->tasks.n; k++) {
            const struct asks *asks = task_asks(node->tasks.at[k]);
            bool goes = take_may_go(s, search->job, node->tasks.at[k], search->ways->reclaim);
            for (size_t a = 0; goes && a < asks->n; a++)
                at[asks->at[a].dim] = wrap_add(at[asks->at[a].dim], asks->at[a].value);
        }
    }
    return room;
}

/* How many of a role may be left out. */
static size_t spare_of(const struct search *search, uint32_t role)
{
    return role == NOWHERE || search->spare_of[role] > search->spare ? search->spare
                                                                     : search->spare_of[role];
}

/* Whether as many may be left out as are. */
static bool may_leave_out(const struct search *search)
{
    size_t n = 0;

    for (size_t i = 0; i < search->n_classes; i++) {
        const struct class *class = &search->classes[i];
        size_t n_of = 0;
        n += class->n_left;
        for (size_t k = 0; class->n_left && class->role != NOWHERE && k <= i; k++)
            n_of += search->classes[k].role == class->role ? search->classes[k].n_left : 0;
        if (n > search->spare || n_of > spare_of(search, class->role))
            return false;
    }
    return true;
}

/* Whether the nodes have enough, class by class and in sum; without it no way is looked for. */
static bool has_enough(struct search *search)
{
    struct session *s = search->s;
    const struct model *model = s->model;
    wide *free = res_new(s), *asks = res_new(s);
    bool *counted = ARENA_NEW0_N(&search->arena, bool, search->n_nodes + 1);
    const int64_t *room = list_room(search);

    for (size_t i = 0; i < search->n_classes; i++) {
        const struct class *class = &search->classes[i];
        size_t spare = spare_of(search, class->role), has = 0;
        size_t need = class->n > spare ? class->n - spare : 0;
        res_add_asks(asks, &class->kind->asks, class->n);
        for (size_t at = 0; at < search->n_nodes; at++) {
            size_t fits = class->n;
            for (size_t k = 0; k < class->kind->asks.n && fits; k++) {
                const struct ask *ask = &class->kind->asks.at[k];
                int64_t n = room[at * model->dims.n + ask->dim] / ask->value;
                fits = n < (int64_t)fits ? (size_t)(n < 0 ? 0 : n) : fits;
            }
            has += fits;
            for (size_t d = 0; fits && !counted[at] && d < model->dims.n; d++)
                free[d] += room[at * model->dims.n + d];
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
    const struct session *s = search->s;

    if (search->ways->promises)
        return !take_is_short(s, search->job) && job_is_pipelined(search->s, search->job);
    return job_is_ready(search->s, search->job) ||
           (!search->ways->idle_only && job_is_pipelined(search->s, search->job));
}

/* How many of its tasks it needs yet, of whichever roles. */
static int64_t n_needed_of_all(const struct search *search)
{
    const struct job *job = search->job;

    if (search->ways->promises)
        return (int64_t)take_goal(search->s, job) - job_n_ready(job) - job->n[BERTH_TASK_PIPELINED];
    return (int64_t)job->min_available - job_n_ready(job) - job_n_best_effort(job);
}

/* Of which one role. */
static int64_t n_needed_of(const struct search *search, uint32_t role)
{
    const struct job *job = search->job;
    int64_t n = job->kept->minima[role].n;

    for (size_t i = 0; i < job->n_groups; i++) {
        const struct group *group = &job->groups[i];
        if (group->role != role)
            continue;
        n -= group_n_ready(group);
        if (search->ways->promises)
            n -= group->n[BERTH_TASK_PIPELINED];
        else if (group->kind->best_effort)
            n -= group->n[BERTH_TASK_PENDING];
    }
    return n > 0 ? n : 0;
}

/* What it needs, and how many may be left out; false: there are not as many. */
static bool set_spare(struct search *search)
{
    const struct job *job = search->job;
    int64_t needed = n_needed_of_all(search), sum = 0;

    if (job->has_roles)
        search->spare_of = ARENA_NEW0_N(&search->arena, size_t, job->kept->n_minima + 1);
    for (uint32_t i = 0; job->has_roles && i < job->kept->n_minima; i++) {
        int64_t n = n_needed_of(search, i);
        for (size_t k = 0; k < search->n_classes; k++)
            search->spare_of[i] += search->classes[k].role == i ? search->classes[k].n : 0;
        if ((int64_t)search->spare_of[i] < n)
            return false;
        search->spare_of[i] -= (size_t)n;
        sum += n;
    }
    needed = needed > sum || !sum ? needed : sum;
    if (needed < 0 || (int64_t)search->n_tasks < needed)
        return false;
    search->spare = search->n_tasks - (size_t)needed;
    return true;
}

static bool is_near_enough(const struct search *search, enum room room)
{
    return !search->ways->idle_only || room <= ROOM_IDLE_OUTSIDE;
}

static void place(const struct search *search, struct statement *stmt, struct task *task,
                  const struct choice *choice)
{
    if (search->ways->promises)
        statement_pipeline(stmt, task, choice->node, false, choice->score);
    else
        place_task(stmt, task, choice);
}

/* Whether the queue may have one more, of what nobody holds: where it takes from others, within its share alone. */
static bool queue_lets(const struct search *search, const struct task *task)
{
    struct why why;

    return queue_may_allocate(search->s, search->job->queue, task->group->kind, &why) &&
           (!search->ways->reclaim || take_may_reclaim(search->s, task));
}

static bool best_node(const struct search *search, const struct task *task, struct choice *out)
{
    return search->ways->among
               ? protect_best_of(search->s, task, search->nodes, search->n_nodes, out)
               : protect_best(search->s, task, out);
}

/* Puts a member where it is best: onto what nobody holds, or where it costs others least. */
static bool place_best(const struct search *search, struct statement *stmt, struct task *task)
{
    struct session *s = search->s;
    struct choice choice;

    if (queue_lets(search, task) && best_node(search, task, &choice) &&
        is_near_enough(search, choice.room)) {
        place(search, stmt, task, &choice);
        return true;
    }
    return search->ways->clears && take_held(s, task, search->ways->reclaim);
}

static bool largest_first(const struct search *search, struct statement *stmt)
{
    struct session *s = search->s;

    for (size_t i = 0; i < search->n_classes; i++) {
        struct class *class = &search->classes[i];
        for (size_t k = 0; k < class->n; k++) {
            if (!place_best(search, stmt, class->tasks[k])) {
                class->n_left = class->n - k;
                break;
            }
            if (search->ways->promises ? is_done(search) : job_is_ready(s, search->job))
                return true;
        }
        if (!may_leave_out(search))
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
    if (x->room == ROOM_NONE && cost_cmp(&x->cost, &y->cost) != 0)
        return cost_cmp(&x->cost, &y->cost);
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

/* Whether others may go from a node for a member. */
static bool may_clear(const struct search *search, const struct task *task, const struct node *node)
{
    return search->ways->clears && task_may_preempt(task) &&
           take_may_try(search->s, task->group->kind, node);
}

/* What is to be had on a node for a class as things stand; false: nothing. */
static bool rank_node(struct search *search, const struct class *class, struct node *node,
                      struct ranked *out)
{
    struct session *s = search->s;
    fail_t fail = fit_fail(s, class->kind, node, &out->room);

    search->looks--;
    out->node = node;
    if (fail == FAIL_NONE && is_near_enough(search, out->room))
        return true;
    if (search->ways->clears) {
        out->room = ROOM_NONE;
        if (!may_clear(search, class->tasks[0], node))
            return false;
        search->looks -= CLEAR_LOOKS;
        if (clear_cost(s, class->tasks[0], node, search->ways->reclaim, &out->cost))
            return true;
    }
    out->room = ROOM_FUTURE_OUTSIDE; /* perhaps once its like are there */
    return fail == WAIT_AFFINITY && has_affinity(class->kind);
}

/* Lists the nodes that will do for a class as things stand, the best first. */
static void open_class(struct search *search, struct class *class)
{
    struct session *s = search->s;
    size_t n = search->n_nodes, n_ranked = 0;
    struct ranked *ranked;
    bool apart = has_affinity(class->kind) || class->kind->spec->n_host_ports ||
                 search->ways->clears; /* those who would go may differ */

    if (!class->nodes) {
        class->ranked = ARENA_NEW0_N(&search->arena, struct ranked, n + 1);
        class->nodes = ARENA_NEW0_N(&search->arena, struct node *, n + 1);
        class->scores = ARENA_NEW0_N(&search->arena, double, n + 1);
        class->like_last = ARENA_NEW0_N(&search->arena, bool, n + 1);
        class->n_on = ARENA_NEW0_N(&search->arena, uint32_t, n + 1);
    }
    ranked = class->ranked;
    for (size_t i = 0; i < n; i++) {
        ranked[n_ranked] = (struct ranked){ 0 };
        if (!rank_node(search, class, search->nodes[i], &ranked[n_ranked]))
            continue;
        class->nodes[n_ranked] = ranked[n_ranked].node;
        n_ranked++;
    }
    fit_scores(s, class->tasks[0], class->nodes, n_ranked, class->scores);
    for (size_t i = 0; i < n_ranked; i++)
        ranked[i].score = ranked[i].room == ROOM_NONE ? 0 : class->scores[i];
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

/* Puts a member on a node where nobody need go for it. */
static bool put_free(struct search *search, const struct turn *turn)
{
    struct session *s = search->s;
    const struct class *class = &search->classes[turn->class];
    struct task *task = class->tasks[turn->member];
    struct choice choice = { .node = class->nodes[turn->pos], .score = class->scores[turn->pos] };
    struct statement stmt = { s, turn->mark };

    search->looks--;
    if (!queue_lets(search, task) ||
        fit_fail(s, class->kind, choice.node, &choice.room) != FAIL_NONE ||
        !is_near_enough(search, choice.room) || !protect_allows(s, task, choice.node))
        return false;
    place(search, &stmt, task, &choice);
    return true;
}

/* How many of a class may be cleared for together with a turn's member: of its own class those from it on. */
static size_t n_behind(const struct search *search, const struct turn *turn, size_t class)
{
    return search->classes[class].n - (class == turn->class ? turn->member : 0);
}

/* In how many ways a node can be cleared for a turn's member, and for others whose amounts are all that matters. */
static size_t n_joint_ways(const struct search *search, const struct turn *turn)
{
    size_t n = 1;

    for (size_t i = turn->class; i < search->n_classes; i++)
        if (sheet_is_plain(search->s, search->classes[i].kind) && n < MOST_JOINT_WAYS)
            n *= n_behind(search, turn, i) + (i != turn->class);
        else
            break;
    return n;
}

/* What the members ask for together in one of the ways, counted from 1: it alone, with one of its class, and so on. */
static struct asks asks_of_joint(struct search *search, const struct turn *turn)
{
    struct session *s = search->s;
    wide *sum = ARENA_NEW0_N(&search->arena, wide, s->model->dims.n + 1);
    struct asks asks = { ARENA_NEW0_N(&search->arena, struct ask, s->model->dims.n + 1), 0 };
    size_t way = turn->joint_way - 1;

    for (size_t i = turn->class; i < search->n_classes; i++) {
        size_t n = n_behind(search, turn, i) + (i != turn->class);
        res_add_asks(sum, &search->classes[i].kind->asks, (int64_t)(way % n + (i == turn->class)));
        way /= n;
    }
    for (uint32_t d = 0; d < s->model->dims.n; d++)
        if (sum[d])
            asks.at[asks.n++] = (struct ask){ d, wide_clamp(sum[d]) };
    return asks;
}

/* Makes room on a node for several members at once: for one after the other it may not be to be had. */
static bool clear_jointly(struct search *search, struct statement *stmt, const struct turn *turn,
                          struct node *node)
{
    struct task *task = search->classes[turn->class].tasks[turn->member];
    struct group group = *task->group;
    struct kind kind;
    struct task all = *task;

    if (turn->joint_way == 1)
        return clear_node(stmt, task, node, search->ways->reclaim);
    kind = kind_asking(search->s->model, group.kind, asks_of_joint(search, turn));
    group.kind = &kind;
    all.group = &group;
    return clear_node(stmt, &all, node, search->ways->reclaim);
}

/* Puts a member on a node that is cleared for it, or for it and as many of those behind it as it takes. */
static bool put_cleared(struct search *search, struct turn *turn)
{
    struct session *s = search->s;
    const struct class *class = &search->classes[turn->class];
    struct task *task = class->tasks[turn->member];
    struct node *node = class->nodes[turn->pos];
    struct statement stmt = { s, turn->mark };
    size_t most = n_joint_ways(search, turn);

    if (!may_clear(search, task, node) || (search->ways->reclaim && !take_may_reclaim(s, task)))
        return false;
    while (turn->joint_way < most && search->looks > 0) {
        search->looks -= CLEAR_LOOKS;
        turn->joint_way++;
        if (clear_jointly(search, &stmt, turn, node)) {
            statement_pipeline(&stmt, task, node, node->kept->state != NODE_COMING, 0);
            return true;
        }
        statement_discard(&stmt);
    }
    return false;
}

/* Puts a member on the next node that will do. */
static bool place_next(struct search *search, struct turn *turn)
{
    struct session *s = search->s;
    struct class *class = &search->classes[turn->class];

    if (!search->ways->clears && !queue_lets(search, class->tasks[turn->member]))
        return false; /* no node will do */
    for (; turn->pos < class->n_nodes && search->looks > 0; turn->pos++, turn->joint_way = 0) {
        /* Of two that are alike the first takes no less than the second. */
        if (class->like_last[turn->pos] && class->n_on[turn->pos] >= class->n_on[turn->pos - 1])
            continue;
        if ((turn->joint_way || !put_free(search, turn)) && !put_cleared(search, turn))
            continue;
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
    turn->pos += !turn->joint_way; /* else it may be cleared for more of them */
}

/* Counts the members that were left out by the turns that stand. */
static void count_left_out(struct search *search)
{
    for (size_t i = 0; i < search->n_classes; i++)
        search->classes[i].n_left = 0;
    for (size_t i = 0; i < search->n_turns; i++) {
        const struct turn *turn = &search->turns[i];
        if (turn->is_closed)
            search->classes[turn->class].n_left = search->classes[turn->class].n - turn->member;
    }
}

/* Goes on behind a member that stands; true once the gang has all it needs. */
static bool go_on(struct search *search, const struct turn *turn)
{
    const struct class *class = &search->classes[turn->class];

    if (is_done(search))
        return true;
    if (turn->member + 1 < class->n)
        push(search, turn->class, turn->member + 1, search->ways->clears ? 0 : turn->pos);
    else if (turn->class + 1 < search->n_classes)
        push(search, turn->class + 1, 0, 0);
    return false;
}

static bool go_through(struct search *search)
{
    search->turns = ARENA_NEW0_N(&search->arena, struct turn, search->n_tasks + 1);
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
            count_left_out(search);
            if (may_leave_out(search)) {
                push(search, turn->class + 1, 0, 0);
                continue;
            }
        }
        search->n_turns--;
    }
    return false;
}

static bool all_ways(struct search *search)
{
    int64_t steps = search->steps, looks = search->looks;
    bool found = go_through(search);

    steps -= search->steps;
    looks = (looks - search->looks) / LOOKS;
    search->spent += steps > looks ? steps : looks;
    return found;
}

/* Whether it may matter who is placed first: some want others near, who may be of the gang. */
static bool has_company(const struct search *search)
{
    for (size_t i = 0; i < search->n_classes; i++) {
        const struct berth_affinity *a = search->classes[i].kind->spec->affinity;
        if (a && a->n_pod_required)
            return true;
    }
    return false;
}

static void swap(struct search *search, size_t i, size_t k)
{
    struct class class = search->classes[i];

    search->classes[i] = search->classes[k];
    search->classes[k] = class;
}

/* Makes each member a class of its own: others may come between those that are alike. */
static void part_classes(struct search *search)
{
    struct class *parted = ARENA_NEW0_N(&search->arena, struct class, search->n_tasks + 1);
    size_t n = 0;

    for (size_t i = 0; i < search->n_classes; i++)
        for (size_t k = 0; k < search->classes[i].n; k++, n++) {
            parted[n] = search->classes[i];
            parted[n].tasks += k;
            parted[n].n = 1;
        }
    search->classes = parted;
    search->n_classes = n;
}

/* Brings the classes into the next order, as numbers of their places by size go; false: that was the last. */
static bool next_order(struct search *search)
{
    struct class *at = search->classes;
    size_t n = search->n_classes, i = n - 1, k = n - 1;

    while (i && at[i - 1].place >= at[i].place)
        i--;
    if (!i)
        return false;
    while (at[k].place <= at[i - 1].place)
        k--;
    swap(search, i - 1, k);
    for (k = n - 1; i < k; i++, k--)
        swap(search, i, k);
    return true;
}

/* In how many orders the classes are tried, so that each has steps enough to go wrong some times. */
static int64_t n_orders(const struct search *search)
{
    int64_t n = 1, most = search->steps / (ORDER_STEPS * (int64_t)search->n_tasks);

    most = most < MOST_ORDERS ? most : MOST_ORDERS;
    for (size_t i = 2; has_company(search) && i <= search->n_classes && n < most; i++)
        n *= (int64_t)i;
    return n < most || n == 1 ? n : most;
}

/* All ways, where it matters in several orders: what may be done is divided among them. */
static bool all_orders(struct search *search, struct statement *stmt)
{
    int64_t n, steps, looks;

    if (has_company(search) && search->n_tasks <= MOST_PARTED)
        part_classes(search);
    n = n_orders(search);
    steps = (search->steps - 1) / n + 1;
    looks = (search->looks - 1) / n + 1;
    for (bool is_order = true; is_order && n > 0; n--, is_order = next_order(search)) {
        search->steps = steps;
        search->looks = looks;
        if (all_ways(search))
            return true;
        statement_discard(stmt);
    }
    return false;
}

/* Those who could go one by one of jobs that cannot spare all of them, who goes first first. */
static struct victims list_choices(struct search *search)
{
    struct session *s = search->s;
    struct victims list = { 0 };

    NODE_EACH (node, s->model)
        list.n += node->tasks.n;
    list.at = ARENA_NEW0_N(&search->arena, struct task *, list.n + 1);
    list.n = 0;
    NODE_EACH (node, s->model)
        VEC_EACH (task, &node->tasks) {
            const struct job *job = (*task)->group->job;
            if (job_spares(job) && job->min_available &&
                take_may_go(s, search->job, *task, search->ways->reclaim))
                list.at[list.n++] = *task;
        }
    victims_sort(s, &list, search->job);
    return list;
}

/*
 * All ways, with one of them kept who could go: a node is cleared of those who cost least there, and of a job that can
 * spare one the one on another node may be needed.
 */
static bool all_choices(struct search *search, struct statement *stmt)
{
    struct session *s = search->s;
    struct victims choices = { 0 };
    bool found = false;

    search->looks /= CHOICES_PART;
    if (search->ways->clears && search->looks > 0 && search->steps > 0)
        choices = list_choices(search);
    for (size_t i = 0; i < choices.n && !found && search->looks > 0; i++) {
        s->stays = choices.at[i];
        found = all_ways(search);
        s->stays = NULL;
        if (!found)
            statement_discard(stmt);
    }
    return found;
}

static bool find_way(struct search *search, struct statement *stmt, const struct victims *tasks)
{
    set_classes(search, tasks);
    if (!is_worth_it(search) || !set_spare(search) || !has_enough(search))
        return false;
    /* Of like tasks the order says nothing: with evictions they were just placed so. */
    if ((search->n_classes > 1 || !search->ways->clears) && largest_first(search, stmt))
        return true;
    statement_discard(stmt);
    return all_orders(search, stmt) || all_choices(search, stmt);
}

bool gang_search(struct statement *stmt, struct job *job, const struct victims *tasks,
                 const struct ways *ways)
{
    const struct model *model = stmt->s->model;
    struct search search = { .s = stmt->s,
                             .job = job,
                             .ways = ways,
                             .nodes = ways->among ? ways->among->at : model->nodes.at,
                             .n_nodes = ways->among ? ways->among->n : model->nodes.n,
                             .steps = ways->steps };
    bool found;

    search.looks = search.steps > INT64_MAX / LOOKS ? INT64_MAX : search.steps * LOOKS;
    if (search.steps <= 0 || job_has_minimum(job))
        return false;
    found = find_way(&search, stmt, tasks);
    if (ways->left)
        *ways->left -= search.spent;
    arena_fini(&search.arena);
    return found;
}
