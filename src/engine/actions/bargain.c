/*
 * Bargain: see bargain.h. Sets of who may go are gone through, one more at a time, those first who cost least for
 * what they free. A branch is left where nothing that could still be added makes a set that costs less than the
 * least that is known: what is lacking costs at least what it would if parts of tasks could go.
 *
 * What a set frees and costs is a sum, so it is reckoned. Only where more than amounts could keep the task away,
 * or where plugins let some go but not all, sets are tried.
 */
#include "engine/actions/bargain.h"

#include <string.h>

#include "engine/actions/cost.h"
#include "engine/victims.h"

enum {
    MOST_STEPS = 20000, /* offers that are looked at */
    MOST_TRIES = 100    /* sets that plugins are asked about, or that are evicted to see */
};

#define NOBODY SIZE_MAX

/* A job some of which may go, or room that is held. */
struct party {
    const struct job *job;
    const struct held_room *room; /* NULL: its tasks run */
    size_t n_named;               /* of its tasks on the node, those whom plugins let go */
    size_t n_spares;              /* how many of them may go while the others stay, */
    int64_t *roles;               /* and of each role yet, by minimum; NULL: as many as there are */
    int64_t may_lose;             /* by its budget */
    size_t n_gone, n_ended;       /* in the set; those of them whom the budget counts */
    bool is_whole;                /* all of it is in the set */
};

/* What goes together: a task, or all of its party. */
struct offer {
    struct task *task; /* NULL: all */
    struct party *party;
    struct cost cost; /* without a word of budgets */
    size_t n_ended;
    int64_t *frees; /* by what is lacking */
    wide weight;    /* how much of all that is lacking, in 2^-20 */
    size_t like;    /* one that frees the same and is no dearer, or NOBODY */
    bool goes;
};

struct lack {
    uint32_t dim;
    int64_t left, most; /* what is lacking beside the set; the most that one who runs frees */
    size_t *order;      /* offers, those first who cost least for what they free of it */
};

struct bargain {
    struct clearing *c;
    struct session *s;
    struct party *parties;
    struct offer *offers; /* those first who cost least for what they free */
    size_t *by_size;      /* offers, those first who free least */
    struct lack *lacks;
    size_t n_parties, n, n_lacks;
    bool has_rooms;
    int64_t level; /* the highest priority that may go */
    struct cost least;
    bool found, *best; /* whom to mark */
    size_t n_steps, n_tries;
};

/* --- What there is to choose from */

static void list_lacks(struct bargain *b)
{
    const struct asks *asks = &b->c->task->group->kind->asks;
    const wide *lacks = clear_lacks(b->c);

    b->lacks = ARENA_NEW0_N(b->s->lists, struct lack, asks->n + 1);
    for (size_t i = 0; i < asks->n; i++)
        if (lacks[asks->at[i].dim] > 0)
            b->lacks[b->n_lacks++] =
                (struct lack){ .dim = asks->at[i].dim, .left = wide_clamp(lacks[asks->at[i].dim]) };
}

static bool is_in(const struct bargain *b, const struct party *party, const struct task *task)
{
    return party->room == task_room(b->s, task) && (party->room || party->job == task->group->job);
}

/* How many of each role a job can spare, where that is not as many as of all. */
static int64_t *list_roles(const struct bargain *b, const struct job *job)
{
    int64_t *roles;

    if (!job->has_roles || clear_spares(b->s, job) == SIZE_MAX)
        return NULL;
    roles = ARENA_NEW0_N(b->s->lists, int64_t, job->kept->n_minima + 1);
    for (size_t i = 0; i < job->n_groups; i++)
        if (job->groups[i].role != NOWHERE)
            roles[job->groups[i].role] = group_spares(&job->groups[i]);
    return roles;
}

static struct party *party_of(struct bargain *b, const struct task *task)
{
    const struct held_room *room = task_room(b->s, task);
    const struct job *job = task->group->job;

    for (size_t i = 0; i < b->n_parties; i++)
        if (is_in(b, &b->parties[i], task))
            return &b->parties[i];
    b->parties[b->n_parties] = (struct party){ .job = job,
                                               .roles = room ? NULL : list_roles(b, job),
                                               .room = room,
                                               .n_spares = room ? 0 : clear_spares(b->s, job),
                                               .may_lose = room ? INT64_MAX : job_may_lose(job) };
    return &b->parties[b->n_parties++];
}

/* Whether a task goes with the offer. */
static bool is_of(const struct bargain *b, const struct offer *o, const struct task *task)
{
    return o->task ? o->task == task : is_in(b, o->party, task);
}

static struct offer *offer_new(struct bargain *b, struct party *party)
{
    struct offer *o = &b->offers[b->n++];

    *o = (struct offer){ .party = party, .cost = cost_none(), .like = NOBODY };
    o->frees = ARENA_NEW0_N(b->s->lists, int64_t, b->n_lacks + 1);
    return o;
}

static void offer_add(struct bargain *b, struct offer *o, const struct task *task)
{
    if (o->party->room)
        cost_add_held(&o->cost, task->group->job);
    else
        cost_add_lost(b->s, &o->cost, task);
    o->n_ended += task->state == BERTH_TASK_RUNNING;
    for (size_t i = 0; i < b->n_lacks && task->node == b->c->node; i++)
        o->frees[i] = wrap_add(o->frees[i], asks_of(task_asks(task), b->lacks[i].dim));
}

static void offer_one(struct bargain *b, struct task *task)
{
    struct offer *o = offer_new(b, party_of(b, task));

    o->task = task;
    offer_add(b, o, task);
}

static void offer_whole(struct bargain *b, struct party *party)
{
    struct offer *o = offer_new(b, party);

    for (size_t i = 0; party->room && i < party->room->n; i++)
        if (party->room->at[i]->state == BERTH_TASK_PIPELINED)
            offer_add(b, o, party->room->at[i]);
    for (size_t i = 0; !party->room && i < party->job->n_tasks; i++)
        if (state_is_allocated(party->job->tasks[i].state))
            offer_add(b, o, &party->job->tasks[i]);
    b->has_rooms = b->has_rooms || party->room;
}

/* Whether one of a party may go alone, with those that are in the set. */
static bool can_spare(const struct party *party, const struct task *task)
{
    return party->n_gone < party->n_spares &&
           (!party->roles || task->group->role == NOWHERE || party->roles[task->group->role] > 0);
}

/* Whether those of a party who go, or (NULL) all whom plugins let go, take all the others with them. */
static bool goes_whole(const struct bargain *b, const struct party *party, const bool *goes)
{
    const struct victims *set = &b->c->set;
    struct victims gone = { ARENA_NEW0_N(b->s->lists, struct task *, set->n + 1), 0 };

    for (size_t i = 0; i < set->n; i++)
        if ((!goes || goes[i]) && is_in(b, party, set->at[i]))
            gone.at[gone.n++] = set->at[i];
    if (!party->roles || gone.n > clear_spares(b->s, party->job))
        return gone.n > clear_spares(b->s, party->job);
    for (size_t n = gone.n; n-- > 0;) {
        gone.n = n;
        if (!victims_spare(&gone, gone.at[n]))
            return true;
    }
    return false;
}

static void list_offers(struct bargain *b)
{
    const struct victims *set = &b->c->set;

    b->parties = ARENA_NEW0_N(b->s->lists, struct party, set->n + 1);
    b->offers = ARENA_NEW0_N(b->s->lists, struct offer, 2 * set->n + 1);
    for (size_t i = 0; i < set->n; i++)
        party_of(b, set->at[i])->n_named++;
    for (size_t i = 0; i < set->n; i++)
        if (can_spare(party_of(b, set->at[i]), set->at[i]))
            offer_one(b, set->at[i]);
    for (size_t i = 0; i < b->n_parties; i++) {
        struct party *party = &b->parties[i];
        if (party->room || (goes_whole(b, party, NULL) && clear_may_go_whole(b->c, party->job)))
            offer_whole(b, party);
    }
}

/* --- Orders */

/* Whether a costs less for what it frees than b. */
static bool is_better(const struct cost *x, wide frees_x, const struct cost *y, wide frees_y)
{
    static const wide most = (wide)1 << 62;
    wide lost_x = x->lost < most ? x->lost : most, lost_y = y->lost < most ? y->lost : most;
    int cmp;

    if (!x->n != !y->n)
        return !x->n; /* what is held costs no work */
    if (!frees_x || !frees_y)
        return frees_x > frees_y;
    cmp = fraction_cmp(lost_x, frees_x, lost_y, frees_y);
    return cmp ? cmp < 0 : frees_x > frees_y;
}

static void weigh(const struct bargain *b, struct offer *o)
{
    for (size_t i = 0; i < b->n_lacks; i++) {
        int64_t left = b->lacks[i].left, part = o->frees[i] < left ? o->frees[i] : left;
        o->weight += ((wide)part << 20) / left;
    }
}

/* Few, and mostly nearly in order; of equals the first stays first. */
static void sort_offers(struct bargain *b)
{
    for (size_t i = 0; i < b->n; i++)
        weigh(b, &b->offers[i]);
    for (size_t i = 1; i < b->n; i++) {
        struct offer o = b->offers[i];
        size_t k = i;
        for (; k && is_better(&o.cost, o.weight, &b->offers[k - 1].cost, b->offers[k - 1].weight);
             k--)
            b->offers[k] = b->offers[k - 1];
        b->offers[k] = o;
    }
}

static void sort_for(struct bargain *b, size_t lack)
{
    size_t *order = ARENA_NEW0_N(b->s->lists, size_t, b->n + 1);

    for (size_t i = 0; i < b->n; i++) {
        const struct offer *o = &b->offers[i];
        size_t k = i;
        for (; k && is_better(&o->cost, o->frees[lack], &b->offers[order[k - 1]].cost,
                              b->offers[order[k - 1]].frees[lack]);
             k--)
            order[k] = order[k - 1];
        order[k] = i;
        if (o->cost.n && o->frees[lack] > b->lacks[lack].most)
            b->lacks[lack].most = o->frees[lack];
    }
    b->lacks[lack].order = order;
}

static void sort_by_size(struct bargain *b)
{
    b->by_size = ARENA_NEW0_N(b->s->lists, size_t, b->n + 1);
    for (size_t i = 0; i < b->n; i++) {
        size_t k = i;
        for (; k && b->offers[i].weight < b->offers[b->by_size[k - 1]].weight; k--)
            b->by_size[k] = b->by_size[k - 1];
        b->by_size[k] = i;
    }
}

/* --- Who may go together */

/* Plugins say how many of a job they let go, those that free least first, of each role as many as it can spare. */
static void ask_about_party(struct bargain *b, struct party *party)
{
    struct victims list = { ARENA_NEW0_N(b->s->lists, struct task *, b->n + 1), 0 };

    for (size_t i = 0; i < b->n; i++) {
        const struct offer *o = &b->offers[b->by_size[i]];
        if (o->party == party && o->task && (!party->roles || victims_spare(&list, o->task)))
            list.at[list.n++] = o->task;
    }
    if (list.n > 1)
        list = victims_agree(b->s, b->c->reclaim, b->c->task, &list);
    party->n_spares = list.n < party->n_spares ? list.n : party->n_spares;
}

/* Whether nothing that plugins say of the set goes by how many of its party go. */
static bool is_loose(const struct party *party)
{
    return party->n_spares >= party->n_named && !party->roles &&
           (party->may_lose == INT64_MAX || party->may_lose >= (int64_t)party->n_named);
}

static bool are_alike(const struct offer *x, const struct offer *y)
{
    return x->task && y->task && x->task->group->kind == y->task->group->kind && !x->task->hold &&
           !y->task->hold && x->cost.priority <= y->cost.priority && x->n_ended == y->n_ended &&
           (x->party == y->party ? x->task->group->role == y->task->group->role
                                 : is_loose(x->party) && is_loose(y->party));
}

static void find_likes(struct bargain *b)
{
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = i; k-- > 0 && b->offers[i].like == NOBODY;)
            if (are_alike(&b->offers[k], &b->offers[i]))
                b->offers[i].like = k;
}

/* The set's tasks on the node, unit by unit, those that free least first. */
static struct victims list_set(const struct bargain *b, size_t *unit, bool *has_whole)
{
    const struct victims *set = &b->c->set;
    struct victims list = { ARENA_NEW0_N(b->s->lists, struct task *, set->n + 1), 0 };

    for (size_t i = 0; i < b->n; i++) {
        const struct offer *o = &b->offers[b->by_size[i]];
        *has_whole = *has_whole || (o->goes && !o->task);
        for (size_t k = 0; o->goes && k < set->n; k++)
            if (is_of(b, o, set->at[k])) {
                unit[list.n] = i;
                list.at[list.n++] = set->at[k];
            }
    }
    return list;
}

/* Puts those first whom plugins did not name. */
static void put_refused_first(struct bargain *b, struct victims *list, const struct victims *named)
{
    struct task **sorted = ARENA_NEW0_N(b->s->lists, struct task *, list->n + 1);
    size_t n = 0;

    for (int is_named = 0; is_named < 2; is_named++)
        for (size_t i = 0; i < list->n; i++)
            if (victims_have(named, list->at[i]) == is_named)
                sorted[n++] = list->at[i];
    list->at = sorted;
}

/*
 * Whether plugins let all of the set go, in some order: who goes last may take its queue below its share. Of one
 * lack that is best the one that frees most; of several those who are refused are tried before the others.
 */
static bool may_go_together(struct bargain *b)
{
    struct clearing *c = b->c;
    size_t *unit = ARENA_NEW0_N(b->s->lists, size_t, c->set.n + 1);
    struct taking taking = { .job = c->task->group->job, .reclaim = c->reclaim, .unit = unit };
    bool has_whole = false;
    struct victims list = list_set(b, unit, &has_whole), named;

    taking.lacks = clear_lacks(c);
    for (size_t i = 0; i < 2 * list.n; i++) {
        named = has_whole ? victims_agree_on(b->s, &taking, c->task, &list)
                          : victims_agree(b->s, c->reclaim, c->task, &list);
        if (named.n == list.n)
            return true;
        if (has_whole || b->n_lacks < 2)
            return false;
        put_refused_first(b, &list, &named);
    }
    return false;
}

/* --- The search */

static size_t n_broken(const struct party *party)
{
    bool is_broken = party->may_lose != INT64_MAX && party->may_lose < (int64_t)party->n_ended;

    return is_broken ? party->n_gone : 0;
}

/* One of its role less, or more, that may go. */
static void count_role(const struct offer *o, int64_t n)
{
    if (o->party->roles && o->task && o->task->group->role != NOWHERE)
        o->party->roles[o->task->group->role] += n;
}

static void put(struct bargain *b, struct offer *o, struct cost *cost)
{
    struct party *party = o->party;

    cost->n_broken -= n_broken(party);
    o->goes = true;
    party->n_gone += o->cost.n;
    party->n_ended += o->n_ended;
    party->is_whole = !o->task;
    count_role(o, -1);
    for (size_t i = 0; i < b->n_lacks; i++)
        b->lacks[i].left = wrap_sub(b->lacks[i].left, o->frees[i]);
    cost->n_broken += n_broken(party);
    cost->priority = o->cost.priority > cost->priority ? o->cost.priority : cost->priority;
    cost->lost += o->cost.lost;
    cost->n += o->cost.n;
    cost->n_held += o->cost.n_held;
    if (o->cost.held_priority > cost->held_priority)
        cost->held_priority = o->cost.held_priority;
}

static void put_back(struct bargain *b, struct offer *o)
{
    o->goes = false;
    o->party->n_gone -= o->cost.n;
    o->party->n_ended -= o->n_ended;
    o->party->is_whole = false;
    count_role(o, 1);
    for (size_t i = 0; i < b->n_lacks; i++)
        b->lacks[i].left = wrap_add(b->lacks[i].left, o->frees[i]);
}

/* Whether it could be put to the set; of those alike the cheapest go first. */
static bool may_put(const struct bargain *b, const struct offer *o)
{
    const struct party *party = o->party;

    if (o->cost.priority > b->level || party->is_whole)
        return false;
    return o->task ? can_spare(party, o->task) : !party->n_gone;
}

/* What a part of it would cost. */
static wide part_of(const struct offer *o, int64_t part, int64_t of)
{
    wide whole = o->cost.lost / of, rest = o->cost.lost - whole * of;

    return whole * part + rest * part / of;
}

/* What those from an offer on cost at least until one lack is met; false: it cannot be. */
static bool reckon(struct bargain *b, const struct lack *lack, size_t from, wide *lost, int64_t *n)
{
    size_t at = (size_t)(lack - b->lacks);
    int64_t left = lack->left;

    *lost = 0;
    *n = left > 0 && lack->most && !b->has_rooms ? (left - 1) / lack->most + 1 : 0;
    for (size_t i = 0; i < b->n && left > 0; i++) {
        const struct offer *o = &b->offers[lack->order[i]];
        int64_t frees = o->frees[at];
        b->n_steps++;
        if (lack->order[i] < from || frees <= 0 || !may_put(b, o))
            continue;
        *lost += frees <= left ? o->cost.lost : part_of(o, left, frees);
        left = frees < left ? left - frees : 0;
    }
    return left <= 0;
}

/* Whether no set with those from an offer on costs less than the least that is known. */
static bool is_hopeless(struct bargain *b, const struct cost *so_far, size_t from)
{
    struct cost bound = *so_far;

    b->n_steps++;
    for (size_t i = 0; i < b->n_lacks; i++) {
        wide lost;
        int64_t n;
        if (!reckon(b, &b->lacks[i], from, &lost, &n))
            return true;
        bound.lost = so_far->lost + lost > bound.lost ? so_far->lost + lost : bound.lost;
        bound.n = so_far->n + (size_t)n > bound.n ? so_far->n + (size_t)n : bound.n;
    }
    /* Sets of those that are less urgent were gone through before. */
    bound.priority = b->level > bound.priority ? b->level : bound.priority;
    return b->found && cost_cmp(&bound, &b->least) >= 0;
}

static void mark(struct bargain *b, bool *marked)
{
    const struct victims *set = &b->c->set;

    memset(marked, 0, set->n * sizeof(*marked));
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; b->offers[i].goes && k < set->n; k++)
            marked[k] = marked[k] || is_of(b, &b->offers[i], set->at[k]);
}

static bool are_enough(const struct bargain *b)
{
    for (size_t i = 0; i < b->n_lacks; i++)
        if (b->lacks[i].left > 0)
            return false;
    return true;
}

/* Whether the task fits with the set gone, found by evicting where amounts are not all. */
static bool will_do(struct bargain *b)
{
    bool fits;

    if (b->c->is_about_amounts && b->c->is_one_by_one)
        return true;
    b->n_tries++;
    mark(b, b->c->marked);
    clear_evict(b->c);
    fits = clear_fits(b->c);
    statement_discard(b->c->stmt);
    return fits;
}

static void go_on(struct bargain *b, const struct cost *so_far, size_t from);

/* With one more, who is in the set. */
static void go_on_with(struct bargain *b, const struct cost *cost, size_t next)
{
    if (b->found && cost_cmp(cost, &b->least) >= 0)
        return;
    if (!b->c->is_free) {
        b->n_tries++;
        if (!may_go_together(b))
            return;
    }
    if (!are_enough(b) || !will_do(b)) {
        go_on(b, cost, next);
        return;
    }
    b->found = true;
    b->least = *cost;
    mark(b, b->best);
}

/* All sets with some of those from an offer on. */
static void go_on(struct bargain *b, const struct cost *so_far, size_t from)
{
    for (size_t i = from; i < b->n; i++) {
        struct offer *o = &b->offers[i];
        struct cost cost = *so_far;
        if (b->n_steps >= MOST_STEPS || b->n_tries >= MOST_TRIES || is_hopeless(b, so_far, i))
            return;
        if (!may_put(b, o) || (o->like != NOBODY && !b->offers[o->like].goes))
            continue;
        put(b, o, &cost);
        go_on_with(b, &cost, i + 1);
        put_back(b, o);
    }
}

/* The lowest priority above one that is, or INT64_MAX. */
static int64_t next_level(const struct bargain *b, int64_t above)
{
    int64_t level = INT64_MAX;

    for (size_t i = 0; i < b->n; i++)
        if (b->offers[i].cost.priority > above && b->offers[i].cost.priority < level)
            level = b->offers[i].cost.priority;
    return level;
}

/* The least urgent first: none who is more urgent goes where those will do. */
static void search(struct bargain *b)
{
    struct cost none = cost_none();

    b->level = INT64_MIN;
    do {
        if (b->found && !b->least.n_broken && b->least.priority < b->level)
            return;
        go_on(b, &none, 0);
        b->level = next_level(b, b->level);
    } while (b->level != INT64_MAX);
}

/* --- Whether it is worth a search */

/* What going costs at least: nobody else with it, and no budget broken. */
static struct cost cost_alone(const struct session *s, const struct task *task)
{
    struct cost cost = cost_none();

    if (task->state == BERTH_TASK_PIPELINED)
        cost_add_held(&cost, task->group->job);
    else
        cost_add_lost(s, &cost, task);
    return cost;
}

/* How many must go at least, as none of them frees more than the largest. */
static int64_t n_needed(const struct clearing *c)
{
    const struct asks *asks = &c->task->group->kind->asks;
    int64_t needed = 1;

    for (size_t i = 0; i < asks->n && c->is_one_by_one; i++) {
        uint32_t d = asks->at[i].dim;
        int64_t most = 1;
        int64_t lacks =
            asks->at[i].value - column_future(&c->stmt->s->model->columns[d], c->node->at);
        for (size_t k = 0; k < c->set.n; k++) {
            int64_t frees = asks_of(task_asks(c->set.at[k]), d);
            most = frees > most ? frees : most;
        }
        if (lacks > 0 && lacks / most + (lacks % most > 0) > needed)
            needed = lacks / most + (lacks % most > 0);
    }
    return needed;
}

/* Whether a set could cost less than this: so many as must go, each as cheap as the cheapest in all. */
static bool may_be_cheaper(const struct clearing *c, const struct cost *least)
{
    struct cost bound = { .priority = INT64_MAX, .held_priority = INT64_MIN };
    int64_t n = n_needed(c);
    wide lost = -1;

    for (size_t i = 0; i < c->set.n; i++) {
        struct cost cost = cost_alone(c->stmt->s, c->set.at[i]);
        bound.priority = cost.priority < bound.priority ? cost.priority : bound.priority;
        lost = lost < 0 || cost.lost < lost ? cost.lost : lost;
        if (!cost.n)
            return true; /* what is held for it costs no work */
    }
    bound.lost = lost * n;
    bound.n = (size_t)n;
    return cost_cmp(&bound, least) < 0;
}

/* What those marked cost; where no budget has a say and each goes alone, without trying it. */
static struct cost cost_of_marked(struct clearing *c)
{
    struct session *s = c->stmt->s;
    struct cost cost = cost_none();
    bool adds_up = c->is_one_by_one;

    for (size_t i = 0; i < c->set.n && adds_up; i++) {
        const struct task *task = c->set.at[i];
        adds_up = task->state != BERTH_TASK_PIPELINED && !task->group->job->kept->budget.is_given;
        if (c->marked[i])
            cost_add_lost(s, &cost, task);
    }
    if (adds_up)
        return cost;
    clear_evict(c);
    cost = cost_of(s, c->stmt->mark);
    statement_discard(c->stmt);
    return cost;
}

/* Makes those marked the set: each for itself, or all of a party that has no more to spare; false: it may not go. */
static bool put_marked(struct bargain *b)
{
    const struct clearing *c = b->c;
    size_t n_marked = 0, n_put = 0;

    for (size_t k = 0; k < c->set.n; k++)
        n_marked += c->marked[k];
    for (size_t i = 0; i < b->n; i++) {
        struct offer *o = &b->offers[i];
        size_t n = 0;
        for (size_t k = 0; k < c->set.n; k++)
            n += c->marked[k] && is_in(b, o->party, c->set.at[k]);
        if (!o->party->room && goes_whole(b, o->party, c->marked) == (o->task != NULL))
            continue;
        for (size_t k = 0; k < c->set.n; k++)
            o->goes = o->goes || (c->marked[k] && is_of(b, o, c->set.at[k]));
        n_put += !o->goes ? 0 : o->task ? 1 : n;
    }
    return n_put == n_marked;
}

/* Those first in order were named one by one: where some of them take others with them, plugins are asked again. */
static bool may_go_marked(struct bargain *b)
{
    bool may = put_marked(b) && may_go_together(b);

    for (size_t i = 0; i < b->n; i++)
        b->offers[i].goes = false;
    return may;
}

bool bargain(struct clearing *c, bool found)
{
    struct bargain b = { .c = c, .s = c->stmt->s, .found = found, .best = c->marked };
    bool is_sure = c->is_free || c->is_one_by_one;

    if (found)
        b.least = cost_of_marked(c);
    if (found && is_sure && !may_be_cheaper(c, &b.least))
        return true;
    list_lacks(&b);
    list_offers(&b);
    sort_offers(&b);
    sort_by_size(&b);
    for (size_t i = 0; i < b.n_lacks; i++)
        sort_for(&b, i);
    for (size_t i = 0; i < b.n_parties && !c->is_free; i++)
        if (!b.parties[i].room)
            ask_about_party(&b, &b.parties[i]);
    find_likes(&b);
    b.found = found && (is_sure || may_go_marked(&b));
    c->marked = ARENA_NEW0_N(b.s->lists, bool, c->set.n + 1);
    search(&b);
    c->marked = b.best;
    return b.found;
}
