/*
 * Elsewhere: see elsewhere.h. Members take room one by one, each where that costs least. What goes for one of them
 * may hold more than that one, so that another, for whom somebody else was to go, could be there too.
 */
#include "engine/actions/elsewhere.h"

#include <assert.h>

#include "engine/actions/give_back.h"
#include "engine/actions/search.h"
#include "engine/fit.h"
#include "engine/protect.h"
#include "engine/sheet.h"
#include "engine/take.h"

enum {
    MOST_TRIES = 100,     /* sets that the gang is placed anew with */
    MOST_LOOKS = 2000000, /* a member at a node, of all tries; one try is made whatever it costs */
    MOST_SETS = 10000     /* that are looked at of one job */
};

struct moving {
    struct statement *stmt;
    struct job *job;
    bool reclaim;
    struct saved found; /* what is known to do; it stands between tries */
    size_t n_tries, most_tries;
};

static bool is_placed(const struct moving *m)
{
    struct session *s = m->stmt->s;

    return !take_is_short(s, m->job) && job_is_pipelined(s, m->job) &&
           (!m->reclaim || take_is_within(s, m->job));
}

/* Places the gang on room that nobody holds. */
static bool place_anew(const struct moving *m)
{
    struct session *s = m->stmt->s;
    struct statement own = statement_open(s);
    struct victims tasks = tasks_pending(s, m->job, true);
    const struct ways ways = { .promises = true,
                               .steps = s->policy->gang_search_steps / MOST_TRIES + 1 };

    for (size_t i = 0; i < tasks.n && take_is_short(s, m->job); i++)
        if (take_is_of_use(s, tasks.at[i]))
            take_free(s, tasks.at[i]);
    if (is_placed(m))
        return true;
    statement_discard(&own);
    if (take_is_gang(s, m->job) && gang_search(&own, m->job, &tasks, &ways) && is_placed(m))
        return true;
    statement_discard(&own);
    return false;
}

/* What is known to do stands again, as it did a moment ago. */
static void restore(const struct moving *m)
{
    bool stands;

    statement_discard(m->stmt);
    stands = statement_recover(m->stmt, &m->found);
    assert(stands);
    (void)stands;
}

/* Whether it would do if others lost no more than that; if so, that is what stands. */
static bool would_do(struct moving *m, const struct saved *losses)
{
    m->n_tries++;
    statement_discard(m->stmt);
    if (statement_recover(m->stmt, losses) && place_anew(m)) {
        m->found = statement_save(m->stmt);
        return true;
    }
    restore(m);
    return false;
}

/* What others lose, most urgent last. */
static struct saved list_losses(const struct moving *m)
{
    struct saved losses = { ARENA_NEW0_N(&m->stmt->s->arena, struct op, m->found.n + 1), 0 };

    for (size_t i = 0; i < m->found.n; i++)
        if (op_is_loss(&m->found.at[i]))
            losses.at[losses.n++] = m->found.at[i];
    return losses;
}

/* Whether a job runs with no task any more, of which it needs several. */
static bool went_whole(const struct job *job)
{
    return !job_has_minimum(job);
}

/* The next set of so many of n, in order; false: there is none. */
static bool next_set(size_t *set, size_t n_set, size_t n)
{
    size_t i = n_set;

    while (i && set[i - 1] == n - n_set + i - 1)
        i--;
    if (!i)
        return false;
    set[i - 1]++;
    for (; i < n_set; i++)
        set[i] = set[i - 1] + 1;
    return true;
}

/* All that others lose, but of one job only those of a set of its tasks. */
static struct saved losses_with(const struct moving *m, const struct saved *losses,
                                const struct job *job, const size_t *set, size_t n_set)
{
    struct saved with = { ARENA_NEW0_N(&m->stmt->s->arena, struct op, losses->n + 1), 0 };
    size_t at = 0, n = 0;

    for (size_t i = 0; i < losses->n; i++) {
        bool is_theirs = losses->at[i].kind == OP_EVICT && losses->at[i].task->group->job == job;
        if (!is_theirs || (n < n_set && set[n] == at))
            with.at[with.n++] = losses->at[i];
        n += is_theirs && n < n_set && set[n] == at;
        at += is_theirs;
    }
    return with;
}

/* Those of a job that goes whole. */
static struct victims list_gone(const struct moving *m, const struct saved *losses,
                                const struct job *job)
{
    struct victims gone = { ARENA_NEW0_N(&m->stmt->s->arena, struct task *, losses->n + 1), 0 };

    for (size_t i = 0; i < losses->n; i++)
        if (losses->at[i].kind == OP_EVICT && losses->at[i].task->group->job == job)
            gone.at[gone.n++] = losses->at[i].task;
    return gone;
}

/* Whether roles of a job of which none runs let a set of those who went go, if the others of them stay. */
static bool can_spare(const struct job *job, const struct victims *gone, const size_t *set,
                      size_t n_set)
{
    for (uint32_t role = 0; job->has_roles && role < job->kept->n_minima; role++) {
        size_t n = 0;
        for (size_t g = 0; g < job->n_groups; g++)
            n += job->groups[g].role == role ? group_n_ready(&job->groups[g]) : 0;
        for (size_t i = 0, k = 0; i < gone->n; i++) {
            bool is_in_set = k < n_set && set[k] == i;
            k += is_in_set;
            n += !is_in_set && gone->at[i]->group->role == role;
        }
        if (n < job->kept->minima[role].n)
            return false;
    }
    return true;
}

/* Whether a job that goes whole could stay, if so with as few of its tasks gone as would do. */
static bool keep_most_of(struct moving *m, const struct saved *losses, const struct job *job)
{
    struct victims gone = list_gone(m, losses, job);
    size_t *set = ARENA_NEW0_N(&m->stmt->s->arena, size_t, gone.n + 1);
    size_t n_sets = 0, n = job_n_ready(job) + gone.n;
    size_t n_spare = n > job->min_available ? n - job->min_available : 0;

    for (size_t n_set = 0; n_set <= n_spare && n_set < gone.n; n_set++) {
        for (size_t i = 0; i < n_set; i++)
            set[i] = i;
        do {
            struct saved with;
            if (m->n_tries >= m->most_tries || n_sets++ >= MOST_SETS)
                return false;
            if (n_set && !can_spare(job, &gone, set, n_set))
                continue;
            with = losses_with(m, losses, job, set, n_set);
            if (would_do(m, &with))
                return true;
        } while (next_set(set, n_set, gone.n));
    }
    return false;
}

/* Whether one who goes could stay, with all of its unit. */
static bool keep(struct moving *m, const struct saved *losses, const struct op *one)
{
    struct saved without = { ARENA_NEW0_N(&m->stmt->s->arena, struct op, losses->n + 1), 0 };

    if (one->kind == OP_EVICT && went_whole(one->task->group->job))
        return keep_most_of(m, losses, one->task->group->job);
    for (size_t i = 0; i < losses->n; i++)
        if (&losses->at[i] != one && !is_of_unit(one, &losses->at[i], false))
            without.at[without.n++] = losses->at[i];
    return would_do(m, &without);
}

/* Whether it goes with one behind it, with whom it could not stay. */
static bool was_tried(const struct saved *losses, size_t i)
{
    const struct op *one = &losses->at[i];

    for (size_t k = i + 1; k < losses->n; k++)
        if (is_of_unit(one, &losses->at[k], went_whole(one->task->group->job)))
            return true;
    return false;
}

/* Of like tasks none can go elsewhere where there is no place for one more. */
static bool is_any_place_left(const struct moving *m)
{
    struct session *s = m->stmt->s;
    struct choice choice;

    return m->job->n_groups > 1 || m->job->groups[0].kind->spec->affinity ||
           protect_best(s, &m->job->tasks[0], &choice);
}

/* As many as are cheap: each places all members anew. */
static size_t most_tries(const struct moving *m)
{
    size_t looks = (m->job->n_tasks + 1) * (m->stmt->s->model->nodes.n + 1);
    size_t n = MOST_LOOKS / looks + 1;

    return n < MOST_TRIES ? n : MOST_TRIES;
}

void give_back_elsewhere(struct statement *stmt, struct job *job, bool reclaim)
{
    struct moving m = { .stmt = stmt, .job = job, .reclaim = reclaim };
    struct saved losses;

    if (!stmt->s->policy->gang_search_steps || !is_any_place_left(&m))
        return;
    m.found = statement_save(stmt);
    m.most_tries = most_tries(&m);
    losses = list_losses(&m);
    if (m.found.n - losses.n < 2 && !tasks_pending(stmt->s, job, true).n)
        return;
    for (size_t i = losses.n; i-- > 0 && m.n_tries < m.most_tries;) {
        if (was_tried(&losses, i) || !keep(&m, &losses, &losses.at[i]))
            continue;
        losses = list_losses(&m);
        i = i < losses.n ? i : losses.n;
    }
}

/* Whether some member could be refused its place because another's victims leave. */
static bool mind_leaving(struct session *s, const struct saved *found)
{
    size_t n = 0;
    bool minds = false;

    for (size_t i = 0; i < found->n; i++)
        if (found->at[i].kind == OP_PIPELINE) {
            minds = minds || sheet_minds_leaving(s, found->at[i].task->group->kind);
            n++;
        }
    return minds && n > 1;
}

/* Whether each member, after those before it, still has its place now that all are gone who go. */
static bool place_again(const struct moving *m)
{
    struct session *s = m->stmt->s;

    for (size_t i = 0; i < m->found.n; i++) {
        const struct op *op = &m->found.at[i];
        struct saved one = { (struct op *)op, 1 };
        if (op_is_loss(op))
            continue;
        if ((op->kind == OP_PIPELINE && !fit_suits(s, op->task->group->kind, op->node)) ||
            !statement_recover(m->stmt, &one))
            return false;
    }
    return true;
}

bool gang_stands_alone(struct statement *stmt, struct job *job, bool reclaim)
{
    struct moving m = { .stmt = stmt, .job = job, .reclaim = reclaim };
    struct saved losses;

    m.found = statement_save(stmt);
    if (!statement_has_losers(stmt) || !mind_leaving(stmt->s, &m.found))
        return true;
    losses = list_losses(&m);
    statement_discard(stmt);
    if (statement_recover(stmt, &losses) && place_again(&m))
        return true;
    statement_discard(stmt);
    if (statement_recover(stmt, &losses) && place_anew(&m))
        return true;
    statement_discard(stmt);
    return false;
}
