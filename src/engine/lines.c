/* Lines: see lines.h. */
#include "engine/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/actions.h"

/* --- Who stands where */

/* Whether only its likes and its rank set a job apart, whatever the time. */
static bool is_plain(const struct job *job)
{
    const struct berth_job *kept = job->kept;

    return job->queue && job->n_groups == 1 && job->n_tasks &&
           job->n[BERTH_TASK_PENDING] == job->n_tasks && !job->groups[0].n_backed_off &&
           !job->groups[0].kind->best_effort && kept->phase != BERTH_PHASE_PENDING &&
           !kept->stopping && !kept->not_before_ms && !kept->deadline_at_ms && !kept->sla_wait_ms &&
           !kept->has_min_resources && !kept->n_minima && !kept->n_sub_groups &&
           kept->topology.mode == BERTH_TOPOLOGY_NONE;
}

/* Whether it is to be looked at at all. */
static bool is_watched(const struct job *job)
{
    return job->kept && (job->n[BERTH_TASK_PENDING] || job->n[BERTH_TASK_PIPELINED] ||
                         job->kept->phase == BERTH_PHASE_PENDING);
}

/* All that the engine asks of a job at the head of a line. */
static void write_key(const struct job *job, struct str *key)
{
    const struct berth_task_group *spec = job->groups[0].spec;

    str_addf(key, "%p %" PRIu32 " %" PRIu32 " %" PRId32 " %" PRId64 " %d %d %d %d %s",
             (void *)job->groups[0].kind, spec->replicas, job->min_available, job->priority,
             job->kept->limit_ms, (int)job->kept->withheld, job->kept->created_at_ms != 0,
             (int)job->kept->preemptable, spec->priority, spec->name);
}

static struct line *line_ref(struct model *model, const struct job *job)
{
    CLEANUP(str_fini) struct str key = { 0 };
    struct line *line;

    write_key(job, &key);
    line = map_get(&model->line_map, str_text(&key));
    if (line)
        return line;
    line = NEW0(struct line);
    line->key = str_take(&key);
    line->kind = job->groups[0].kind;
    line->at = (uint32_t)model->lines.n;
    VEC_PUSH(&model->lines, line);
    map_put(&model->line_map, line->key, line);
    return line;
}

static void line_free(struct model *model, struct line *line)
{
    map_remove(&model->line_map, line->key);
    VEC_SWAP_OUT(&model->lines, line->at);
    if (line->at < model->lines.n)
        model->lines.at[line->at]->at = line->at;
    free(line->key);
    free(line);
}

static bool is_bent(const struct job *a, const struct job *b)
{
    return a && b && a->kept->created_at_ms > b->kept->created_at_ms;
}

/* Who comes before it: most come last, and who comes back was among the first. */
static struct job *find_before(const struct line *line, const struct job *job)
{
    struct job *late = line->last, *early = NULL, *next = line->first;

    for (;;) {
        if (!late || job_rank_cmp(late, job) < 0)
            return late;
        late = late->line_prev;
        if (job_rank_cmp(job, next) < 0)
            return early;
        early = next;
        next = next->line_next;
    }
}

static void line_enter(struct line *line, struct job *job)
{
    struct job *prev = find_before(line, job), *next = prev ? prev->line_next : line->first;

    job->line = line;
    job->line_prev = prev;
    job->line_next = next;
    *(prev ? &prev->line_next : &line->first) = job;
    *(next ? &next->line_prev : &line->last) = job;
    line->n_bent += is_bent(prev, job) + is_bent(job, next) - is_bent(prev, next);
    line->n++;
}

static void line_leave(struct model *model, struct job *job)
{
    struct line *line = job->line;
    struct job *prev = job->line_prev, *next = job->line_next;

    *(prev ? &prev->line_next : &line->first) = next;
    *(next ? &next->line_prev : &line->last) = prev;
    line->n_bent -= is_bent(prev, job) + is_bent(job, next) - is_bent(prev, next);
    job->line = NULL;
    if (!--line->n)
        line_free(model, line);
}

void lines_drop(struct model *model, struct job *job)
{
    if (job->line)
        line_leave(model, job);
    if (!job->is_odd)
        return;
    job->is_odd = false;
    VEC_SWAP_OUT(&model->odd, job->odd_at);
    if (job->odd_at < model->odd.n)
        model->odd.at[job->odd_at]->odd_at = job->odd_at;
}

void lines_take(struct model *model, struct job *job)
{
    bool watched = is_watched(job);
    struct line *line = watched && is_plain(job) ? line_ref(model, job) : NULL;

    if (line ? job->line == line : watched == job->is_odd && !job->line)
        return;
    lines_drop(model, job);
    if (line) {
        line_enter(line, job);
    } else if (watched) {
        job->is_odd = true;
        job->odd_at = (uint32_t)model->odd.n;
        VEC_PUSH(&model->odd, job);
    }
}

void lines_fini(struct model *model)
{
    while (model->lines.n)
        line_free(model, model->lines.at[model->lines.n - 1]);
    VEC_FINI(&model->lines);
    VEC_FINI(&model->odd);
    map_fini(&model->line_map);
}

/* --- A session's view of them */

/* Whether all that is configured says of the first of a line what it would say of the others. */
static bool are_known(struct session *s)
{
    const struct setup *setup = s->setup;

    if (setup->is_reference || setup->is_beam || s->policy->search != SEARCH_EXACT ||
        !job_has_key(s))
        return false;
    for (size_t i = 0; i < setup->n_uses; i++)
        if (!setup->uses[i].plugin->sees_lines)
            return false;
    for (size_t i = 0; i < setup->n_actions; i++)
        if (!setup->actions[i]->sees_lines || !setup->actions[i]->sees_lines(s))
            return false;
    return true;
}

/*
 * Company that a task needs may come with another's placement, so that who found none before finds
 * one later. And with aging those who were created later must stand behind: ranks grow alike.
 */
static bool is_usable(const struct session *s, const struct line *line)
{
    const struct berth_affinity *affinity = line->kind->spec->affinity;

    return !(affinity && (affinity->n_pod_required || affinity->n_spread)) &&
           !(s->policy->aging_step_ms && line->n_bent);
}

static int by_place(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    return (x->at > y->at) - (x->at < y->at);
}

static void watch(struct session *s, struct job *job)
{
    VEC_PUSH(&s->watched, job);
    s->is_unsorted = true;
}

void lines_sort(struct session *s)
{
    if (s->is_unsorted)
        qsort(s->watched.at, s->watched.n, sizeof(*s->watched.at), by_place);
    s->is_unsorted = false;
}

static void watch_line(struct session *s, struct line *line)
{
    line->seated = s->number;
    line->head = line->first;
    line->stuck = NULL;
    line->is_usable = is_usable(s, line);
    for (struct job *job = line->first; job && !line_is_used(s, line); job = job->line_next)
        watch(s, job);
}

void lines_open(struct session *s)
{
    struct model *model = s->model;

    if (!are_known(s)) {
        JOB_EACH (job, model)
            VEC_PUSH(&s->watched, job);
        return;
    }
    VEC_EACH (job, &model->odd)
        watch(s, *job);
    VEC_EACH (line, &model->lines)
        watch_line(s, *line);
    lines_sort(s);
}

static bool is_parted(const struct session *s, const struct job *job)
{
    return job->seated == s->number && ((const struct seat *)job->seat)->is_parted;
}

bool lines_hold(const struct session *s, const struct job *job)
{
    const struct line *line = job->line;

    return line && line->seated == s->number && line->is_usable &&
           job->n[BERTH_TASK_PENDING] == job->n_tasks && !is_parted(s, job);
}

bool lines_cover(const struct session *s, const struct job *job)
{
    return !s->in.is_cold && lines_hold(s, job);
}

void lines_part(struct session *s, struct job *job)
{
    const struct line *line = job->line;

    if (!line || line->seated != s->number || !line->is_usable || is_parted(s, job))
        return;
    seat_of(s, job)->is_parted = true;
    if (line_is_used(s, line))
        watch(s, job);
}

void lines_part_placed(struct session *s)
{
    if (s->parted > s->log.n)
        s->parted = s->log.n;
    for (; s->parted < s->log.n; s->parted++) {
        struct job *job = s->log.at[s->parted].task->group->job;
        if (job->n[BERTH_TASK_PENDING] < job->n_tasks)
            lines_part(s, job);
    }
}

struct job *lines_head(struct session *s, struct line *line)
{
    while (line->head && !lines_cover(s, line->head))
        line->head = line->head->line_next;
    return line->head;
}

void lines_watch_heads(struct session *s)
{
    LINE_EACH (line, s)
        if (lines_head(s, line))
            watch(s, line->head);
    lines_sort(s);
}
