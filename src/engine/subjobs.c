/*
 * Sub-jobs: the tasks of a job that carry all keys of a sub-group, one sub-job for each set of
 * values; the others of the job are one more.
 */
#include <string.h>

#include "base/str.h"
#include "engine/match.h"
#include "engine/session.h"
#include "engine/topology.h"

/* The values of a sub-group's keys joined; NULL if a label is missing or empty. */
static char *values_of(struct session *s, const struct berth_sub_group *spec,
                       const struct berth_labels *labels)
{
    CLEANUP(str_fini) struct str text = { 0 };

    if (!spec->match_label_keys.n || !labels_hold(&spec->match_labels, labels))
        return NULL;
    for (size_t i = 0; i < spec->match_label_keys.n; i++) {
        const char *value = label_value(labels, spec->match_label_keys.at[i]);
        if (!value || !*value)
            return NULL;
        if (i)
            str_add_char(&text, '-');
        str_add(&text, value);
    }
    return arena_text(&s->arena, str_text(&text));
}

static struct sub_job *sub_find(struct seat *seat, const char *id)
{
    for (size_t i = 0; i < seat->n_subs; i++)
        if (strcmp(seat->subs[i].id, id) == 0)
            return &seat->subs[i];
    return NULL;
}

static void sub_init(struct session *s, struct sub_job *sub, const struct job *job,
                     const struct berth_sub_group *spec, const char *values)
{
    int64_t index = 0;
    char first[32];
    size_t n = strcspn(values ? values : "", "-");

    *sub = (struct sub_job){ .job = (struct job *)job, .spec = spec };
    sub->id =
        spec ? arena_format(&s->arena, "%s/%s-%s", job->id, spec->name ? spec->name : "", values)
             : job->id;
    sub->min_available = spec && spec->size ? spec->size : 1;
    sub->tasks = ARENA_NEW0_N(&s->arena, struct task *, job->n_tasks + 1);
    if (values && n < sizeof(first)) {
        memcpy(first, values, n);
        first[n] = '\0';
        if (text_to_int(first, INT32_MIN, INT32_MAX, &index) == 0)
            sub->match_index = index;
    }
}

static struct sub_job *sub_for(struct session *s, const struct job *job, struct seat *seat,
                               const struct group *group)
{
    const struct berth_job *kept = job->kept;
    struct sub_job *sub;

    for (size_t i = 0; i < kept->n_sub_groups; i++) {
        const struct berth_sub_group *spec = &kept->sub_groups[i];
        char *values = values_of(s, spec, &group->spec->labels);
        if (!values)
            continue;
        sub = sub_find(seat, arena_format(&s->arena, "%s/%s-%s", job->id,
                                          spec->name ? spec->name : "", values));
        if (!sub) {
            sub = &seat->subs[seat->n_subs++];
            sub_init(s, sub, job, spec, values);
        }
        return sub;
    }
    sub = sub_find(seat, job->id);
    if (!sub) {
        sub = &seat->subs[seat->n_subs++];
        sub_init(s, sub, job, NULL, NULL);
    }
    return sub;
}

struct sub_job *sub_jobs_of(struct session *s, const struct job *job, size_t *n)
{
    struct seat *seat = seat_of(s, (struct job *)job);

    if (!seat->subs) {
        seat->subs = ARENA_NEW0_N(&s->arena, struct sub_job, job->n_groups + 1);
        for (size_t g = 0; g < job->n_groups; g++) {
            struct group *group = &job->groups[g];
            struct sub_job *sub = sub_for(s, job, seat, group);
            if (group->spec->priority > sub->priority)
                sub->priority = group->spec->priority;
            for (uint32_t i = 0; i < group->spec->replicas; i++)
                sub->tasks[sub->n_tasks++] = &group->tasks[i];
        }
        for (size_t i = 0; i < seat->n_subs; i++) {
            struct sub_job *sub = &seat->subs[i];
            sub->is_grouped = job->kept->n_sub_groups;
            if (!sub->is_grouped)
                sub->min_available = job->min_available;
            sub->domain = domain_of_tasks(s, sub->tasks, sub->n_tasks);
        }
    }
    *n = seat->n_subs;
    return seat->subs;
}

struct sub_job sub_job_whole(struct session *s, struct job *job)
{
    struct sub_job whole = { .job = job, .id = job->id, .is_whole = true };

    whole.tasks = ARENA_NEW0_N(&s->arena, struct task *, job->n_tasks + 1);
    for (size_t i = 0; i < job->n_tasks; i++)
        whole.tasks[whole.n_tasks++] = &job->tasks[i];
    whole.domain = domain_of_tasks(s, whole.tasks, whole.n_tasks);
    return whole;
}

struct victims sub_job_pending(struct session *s, const struct sub_job *sub)
{
    struct victims all = tasks_pending(s, sub->job, false);
    bool *mine = ARENA_NEW0_N(&s->arena, bool, sub->job->n_groups + 1);
    size_t n = 0;

    for (size_t i = 0; i < sub->n_tasks; i++)
        mine[sub->tasks[i]->group->at] = true; /* groups are never divided */
    for (size_t i = 0; i < all.n; i++)
        if (mine[all.at[i]->group->at])
            all.at[n++] = all.at[i];
    all.n = n;
    return all;
}

uint32_t sub_job_count(const struct sub_job *sub, int what)
{
    uint32_t n = 0;

    for (size_t i = 0; i < sub->n_tasks; i++) {
        const struct task *task = sub->tasks[i];
        n += state_is_allocated(task->state) || task->state == BERTH_TASK_SUCCEEDED ||
             (task->state == BERTH_TASK_PENDING && task->group->kind->best_effort) ||
             (what == 1 && task->state == BERTH_TASK_PIPELINED);
    }
    return n;
}

/* what: 0 ready, 1 promised too, 2 there at all. */
static bool subs_hold(struct session *s, const struct job *job, int what)
{
    size_t n;
    const struct sub_job *subs = sub_jobs_of(s, job, &n);

    for (size_t g = 0; g < job->kept->n_sub_groups; g++) {
        const struct berth_sub_group *spec = &job->kept->sub_groups[g];
        uint32_t count = 0;
        for (size_t i = 0; spec->min_jobs && i < n; i++)
            count += subs[i].spec == spec &&
                     (what == 2 || sub_job_count(&subs[i], what) >= subs[i].min_available);
        if (count < spec->min_jobs)
            return false;
    }
    return true;
}

bool sub_jobs_exist(struct session *s, const struct job *job)
{
    return !job->kept->n_sub_groups || subs_hold(s, job, 2);
}

bool sub_jobs_hold(struct session *s, const struct job *job, int what)
{
    return !job->kept->n_sub_groups || subs_hold(s, job, what);
}
