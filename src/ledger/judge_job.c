/*
 * Judge of jobs: submit, patch, stop, fail, admit, retain, and the state that a job's tasks
 * make. A job's row is written when its state or a flag changes; its counts follow at the end
 * of the batch.
 */
#include "ledger/judge_part.h"

#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"

enum { KEY_KEPT_MS = 24 * 3600 * 1000 };

/* ---- the state that tasks make ---- */

uint32_t gang_minimum(uint32_t min_available, uint32_t n_tasks, const uint32_t *counts)
{
    uint32_t most = n_tasks - counts[TASK_FAILED] - counts[TASK_CANCELLED];

    return min_available < most ? min_available : most;
}

static bool is_met(uint32_t min_available, uint32_t n_tasks, const uint32_t *counts)
{
    return counts[TASK_LIVE] + counts[TASK_SUCCEEDED] >=
           gang_minimum(min_available, n_tasks, counts);
}

bool gang_is_whole(const struct mirror_job *job)
{
    if (!is_met(job->min_available, job->n_tasks, job->counts))
        return false;
    for (uint32_t g = 0; g < job->n_groups; g++) {
        const struct mirror_group *group = &job->groups[g];
        if (!is_met(group->min_available, group->replicas, group->counts))
            return false;
    }
    return true;
}

static enum job_state over_state(const struct mirror_job *job, const struct row_job *row)
{
    if (row->stop_cause == CAUSE_CANCELLED)
        return JOB_CANCELLED;
    if (job->counts[TASK_FAILED])
        return JOB_FAILED;
    return job->counts[TASK_CANCELLED] ? JOB_CANCELLED : JOB_SUCCEEDED;
}

static enum job_state next_state(const struct mirror_job *job)
{
    bool is_live = job->counts[TASK_LIVE] > 0;

    if (job->row->state == JOB_STOPPING)
        return is_live ? JOB_STOPPING : over_state(job, job->row);
    if (!is_live && job->counts[TASK_PENDING] == 0)
        return over_state(job, job->row);
    return is_live ? JOB_RUNNING : JOB_PENDING;
}

/*
 * When a job that is over ended: with its last attempt, which may have been long before the ledger
 * heard of it. Where nothing of it ran any more it ends now.
 */
static int64_t end_of(const struct trial *t, const struct mirror_job *job)
{
    int64_t at = job->ended_at;

    if (job->row->state == JOB_PENDING || !at || at > t->now)
        return t->now;
    return at > job->row->running_at ? at : job->row->running_at;
}

static void put_job(struct trial *t, struct mirror_job *job, struct row_job *row)
{
    static const char *const types[JOB_STATE_COUNT] = {
        [JOB_PENDING] = "job.pending",   [JOB_RUNNING] = "job.running",
        [JOB_STOPPING] = "job.stopping", [JOB_SUCCEEDED] = "job.succeeded",
        [JOB_FAILED] = "job.failed",     [JOB_CANCELLED] = "job.cancelled",
    };
    bool is_new_state = row->state != job->row->state;

    mirror_count(job, row);
    if (is_new_state && row->state == JOB_PENDING)
        row->pending_at = t->now;
    if (is_new_state && row->state == JOB_RUNNING) {
        row->running_at = t->now;
        row->started_at = row->started_at ? row->started_at : t->now;
    }
    if (is_new_state && job_is_over((enum job_state)row->state))
        row->ended_at = end_of(t, job);
    changes_put(t->changes, ROW_JOB, row, is_new_state ? types[row->state] : "job.changed");
}

void job_review(struct trial *t, struct mirror_job *job)
{
    enum job_state state = next_state(job);
    bool is_degraded = state == JOB_RUNNING && !gang_is_whole(job);
    struct row_job *row;

    if (job_is_over((enum job_state)job->row->state) ||
        (job->row->state == (int64_t)state && job->row->is_degraded == is_degraded))
        return;
    row = row_copy(ROW_JOB, job->row);
    row->state = state;
    row->is_degraded = is_degraded;
    row->degraded_at = !is_degraded ? 0 : row->degraded_at ? row->degraded_at : t->now;
    put_job(t, job, row);
}

static void end_task(struct trial *t, struct mirror_job *job, uint32_t grp, uint32_t idx,
                     enum task_state state, enum wait_code code)
{
    struct row_task *row = row_new(ROW_TASK);

    row->job = job->row->id;
    row->grp = grp;
    row->idx = idx;
    row->state = state;
    row->code = code;
    changes_put(t->changes, ROW_TASK, row, state == TASK_FAILED ? "task.failed" : "task.cancelled");
    held_end_task(t, job, grp, idx, RELEASE_OWNER_GONE);
}

static void end_pending_tasks(struct trial *t, struct mirror_job *job, enum task_state state,
                              enum wait_code code)
{
    for (uint32_t g = 0; g < job->n_groups && job->counts[TASK_PENDING]; g++)
        for (uint32_t i = 0; i < job->groups[g].replicas; i++)
            if (mirror_task(job, g, i)->state == TASK_PENDING)
                end_task(t, job, g, i, state, code);
}

static void stop_live_tasks(struct trial *t, struct mirror_job *job, enum cause cause,
                            int64_t grace_ms, const char *reason)
{
    for (uint32_t i = 0; i < job->n_tasks && job->counts[TASK_LIVE]; i++)
        if (job->tasks[i].live)
            attempt_stop(t, job->tasks[i].live,
                         &(struct attempt_stop){ cause, grace_ms, reason, 0 });
}

void job_stop(struct trial *t, struct mirror_job *job, const struct job_end *how)
{
    int64_t grace_ms = how->grace_ms < 0 ? job->grace_ms : how->grace_ms;
    struct row_job *row;

    if (job->row->state == JOB_STOPPING) {
        /* It ends as what is settled, perhaps sooner. */
        stop_live_tasks(t, job, CAUSE_CANCELLED, grace_ms, NULL);
        return;
    }
    held_end_job(t, job, RELEASE_OWNER_GONE);
    end_pending_tasks(t, job, TASK_CANCELLED, WAIT_NONE);
    row = row_copy(ROW_JOB, job->row);
    row->stop_cause = how->cause;
    row_set(&row->stop_by, how->by);
    if (how->reason && *how->reason)
        row_set(&row->reason, how->reason);
    row->is_degraded = 0;
    row->degraded_at = 0;
    row->version++;
    row->state = job->counts[TASK_LIVE] ? JOB_STOPPING : over_state(job, row);
    put_job(t, job, row);
    stop_live_tasks(t, job, CAUSE_CANCELLED, grace_ms, NULL);
    job_review(t, job);
}

static void suspend(struct trial *t, struct mirror_job *job)
{
    struct row_job *row;

    if (job->row->is_suspended)
        return;
    held_end_job(t, job, RELEASE_OWNER_GONE);
    row = row_copy(ROW_JOB, job->row);
    row->is_suspended = 1;
    row->version++;
    put_job(t, job, row);
}

void job_requeue(struct trial *t, struct mirror_job *job, const struct op_stop *op)
{
    const char *reason = op->reason && *op->reason ? op->reason : NULL;
    CLEANUP(freep)
    char *text = text_format("%s by %s%s%s", op->suspends ? "suspended" : "requeued", op->by,
                             reason ? ": " : "", reason ? reason : "");

    if (job->row->state == JOB_STOPPING) {
        problem_set(t->problem, PROBLEM_CONFLICT, "j-%" PRIu64 " is stopping", job->row->id);
        return;
    }
    if (!op->suspends && !limit_of_requeue(t, job->row))
        return;
    if (op->suspends)
        suspend(t, job);
    stop_live_tasks(t, job, CAUSE_REQUEUED, op->grace_ms < 0 ? job->grace_ms : op->grace_ms, text);
    job_review(t, job);
}

/* ---- submit ---- */

void ledger_refuse_closed(const char *queue, const char *closed, enum queue_state state,
                          struct problem *problem)
{
    if (strcmp(queue, closed) == 0)
        problem_set(problem, PROBLEM_CONFLICT, "queue %s is %s and takes no new jobs", queue,
                    queue_state_words[state]);
    else
        problem_set(problem, PROBLEM_CONFLICT,
                    "queue %s is beneath %s, which is %s and takes no new jobs", queue, closed,
                    queue_state_words[state]);
}

/* Whether the queue and all above it are open. */
static bool is_open(struct trial *t, const struct row_queue *queue)
{
    const struct row_queue *at = queue;

    while (at && at->state == QUEUE_OPEN)
        at = *at->parent ? mirror_find(t->mirror, ROW_QUEUE, at->parent) : NULL;
    if (at)
        ledger_refuse_closed(queue->name, at->name, at->state, t->problem);
    return !at;
}

/* Whether the queue takes the job; else the operation is refused. */
static bool takes_jobs(struct trial *t, const char *name)
{
    const struct row_queue *queue = mirror_find(t->mirror, ROW_QUEUE, name);
    CLEANUP(freep) const char **names = NULL;
    const char *meant;
    size_t n;

    if (queue)
        return is_open(t, queue);
    names = mirror_names(t->mirror, ROW_QUEUE, &n);
    meant = nearest(name, names, n);
    if (meant)
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/queue",
                    "there is no queue %s; did you mean %s?", name, meant);
    else
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/queue", "there is no queue %s", name);
    return false;
}

/* Whether the key was used before; then the outcome is settled. */
static bool is_answered(struct trial *t, struct op_submit *op)
{
    const struct row_idem *idem;

    if (!op->key)
        return false;
    idem = mirror_idem(t->mirror, op->spec->ns, op->key);
    if (!idem)
        idem = t->past->idem;
    if (!idem || idem->until <= t->now)
        return false;
    if (strcmp(idem->digest, op->digest) != 0) {
        problem_set(t->problem, PROBLEM_KEY_REUSED,
                    "key %s was used for another job, j-%" PRIu64 ": take a new key", op->key,
                    idem->job);
        return true;
    }
    op->job = idem->job;
    op->is_replay = true;
    return true;
}

static void keep_key(struct trial *t, const struct op_submit *op)
{
    struct row_idem *idem;

    if (!op->key)
        return;
    idem = row_new(ROW_IDEM);
    row_set(&idem->ns, op->spec->ns);
    row_set(&idem->key, op->key);
    row_set(&idem->digest, op->digest);
    idem->job = op->job;
    idem->until = t->now + KEY_KEPT_MS;
    changes_put_quiet(t->changes, ROW_IDEM, idem);
}

static char *labels_text(const struct labels *labels)
{
    CLEANUP(str_fini) struct str text = { 0 };
    json_t *object;
    char *dump;

    if (!labels->n)
        return text_copy("{}");
    object = json_object();
    for (size_t i = 0; i < labels->n; i++)
        json_object_set_new(object, labels->at[i].key, json_string(labels->at[i].value));
    dump = json_dumps(object, JSON_COMPACT);
    str_add(&text, dump ? dump : "{}");
    mem_free(dump);
    json_decref(object);
    return str_take(&text);
}

void judge_submit(struct trial *t, struct op_submit *op)
{
    const struct job_spec *spec = op->spec;
    CLEANUP(freep) char *labels = NULL;
    struct row_job *row;

    op->is_replay = false;
    if (is_answered(t, op) || !takes_jobs(t, spec->queue) || !limit_of_submit(t, op))
        return;
    op->job = t->changes->revision + 1;
    labels = labels_text(&spec->labels);
    row = row_new(ROW_JOB);
    row->id = op->job;
    row_set(&row->ns, spec->ns);
    row_set(&row->name, spec->name);
    row_set(&row->user, op->user);
    row_set(&row->queue, spec->queue);
    row->priority = spec->priority;
    row_set(&row->spec, op->text);
    row_set(&row->labels, labels);
    row->is_admitted = op->is_admitted;
    row->version = 1;
    row->n_tasks = row->n_pending = spec->n_tasks;
    row->submitted_at = t->now;
    row_free(ROW_JOB, op->row);
    op->row = row_ref(row);
    changes_put_job(t->changes, row, spec, "job.submitted");
    keep_key(t, op);
}

/* ---- changes to a job ---- */

/* The job, if it is not over; else the operation is refused. */
static struct mirror_job *open_job(struct trial *t, uint64_t id)
{
    struct mirror_job *job = mirror_job(t->mirror, id);

    if (job && !job_is_over((enum job_state)job->row->state))
        return job;
    if (job || t->past->job)
        problem_set(t->problem, PROBLEM_CONFLICT, "j-%" PRIu64 " is over", id);
    else
        problem_set(t->problem, PROBLEM_NOT_FOUND, "there is no job j-%" PRIu64, id);
    return NULL;
}

static bool is_patch_valid(struct trial *t, const struct op_patch *op)
{
    if (op->has_priority && (op->priority < JOB_PRIORITY_MIN || op->priority > JOB_PRIORITY_MAX))
        problem_add(t->problem, PROBLEM_INVALID_FIELD, "/priority", "%d is not in %d..%d",
                    op->priority, JOB_PRIORITY_MIN, JOB_PRIORITY_MAX);
    return t->problem->code == PROBLEM_NONE;
}

/* Who runs it is told, and who counts on its end: their rows say so by a new revision. */
static void touch_live_tasks(struct trial *t, const struct mirror_job *job)
{
    for (uint32_t i = 0; i < job->n_tasks && job->counts[TASK_LIVE]; i++)
        if (job->tasks[i].live)
            changes_put(t->changes, ROW_ATTEMPT, row_copy(ROW_ATTEMPT, job->tasks[i].live),
                        "attempt.changed");
}

void judge_patch(struct trial *t, struct op_patch *op)
{
    const struct labels_rule rule = { .max_bytes = JOB_LABELS_MAX_BYTES };
    CLEANUP(freep) char *labels = NULL, *spec = NULL;
    struct mirror_job *job = open_job(t, op->job);
    struct row_job *row;
    bool has_other_limit;

    if (!job || !is_patch_valid(t, op))
        return;
    if (op->if_rev && op->if_rev != job->row->rev) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                    "j-%" PRIu64 " is at revision %" PRIu64 ", not %" PRIu64, op->job,
                    job->row->rev, op->if_rev);
        return;
    }
    if (op->labels && !(labels = judge_labels(t, job->row->labels, op->labels, &rule)))
        return;
    if (!limit_of_patch(t, op, job->row, &spec))
        return;
    row = row_copy(ROW_JOB, job->row);
    if (op->has_priority)
        row->priority = op->priority;
    if (op->has_held)
        row->is_held = op->is_held;
    if (op->resumes)
        row->is_suspended = 0;
    if (labels)
        row_set(&row->labels, labels);
    if (spec)
        row_set(&row->spec, spec);
    has_other_limit = strcmp(row->spec, job->row->spec) != 0;
    if (row_eq(ROW_JOB, row, job->row)) {
        row_free(ROW_JOB, row);
        return;
    }
    row->version++;
    held_end_job(t, job, RELEASE_OWNER_GONE); /* it is not what the room was made for */
    put_job(t, job, row);
    if (has_other_limit)
        touch_live_tasks(t, job);
}

/* The job as the steward saw it; else the operation is refused. */
static struct mirror_job *seen_job(struct trial *t, uint64_t id, uint64_t version)
{
    struct mirror_job *job = mirror_job(t->mirror, id);

    if (job && job->row->state != JOB_STOPPING && !job_is_over((enum job_state)job->row->state) &&
        job->row->version == version)
        return job;
    problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                "j-%" PRIu64 " is not what was decided on: it is over, stopping or changed", id);
    return NULL;
}

static void fail_task(struct trial *t, struct mirror_job *job, const struct op_fail *op)
{
    struct mirror_task *task = mirror_task(job, op->group, op->index);

    if (!task || task->state != TASK_PENDING) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE,
                    "j-%" PRIu64 ", group %u, index %u is not pending", op->job, op->group,
                    op->index);
        return;
    }
    end_task(t, job, op->group, op->index, TASK_FAILED, op->code);
    if (job->stops_on_failure)
        job_stop(t, job, &(struct job_end){ CAUSE_NONE, "steward", "", -1 });
    else
        job_review(t, job);
}

static void set_reason(struct trial *t, struct mirror_job *job, const char *reason)
{
    struct row_job *row;

    if (!reason || !*reason)
        return;
    row = row_copy(ROW_JOB, job->row);
    row_set(&row->reason, reason);
    put_job(t, job, row);
}

void judge_fail(struct trial *t, struct op_fail *op)
{
    struct mirror_job *job;

    if (!trial_is_steward(t, op->fence))
        return;
    job = seen_job(t, op->job, op->version);
    if (!job)
        return;
    if (op->code <= WAIT_NONE || op->code >= WAIT_CODE_COUNT) {
        problem_set(t->problem, PROBLEM_BAD_REQUEST, "a failure needs a code");
        return;
    }
    if (!op->is_task && job->row->state != JOB_PENDING) {
        problem_set(t->problem, PROBLEM_CHANGED_SINCE, "j-%" PRIu64 " runs by now", op->job);
        return;
    }
    set_reason(t, job, op->reason);
    if (op->is_task) {
        fail_task(t, job, op);
        return;
    }
    end_pending_tasks(t, job, TASK_FAILED, op->code);
    job_review(t, job);
}

void judge_admit(struct trial *t, struct op_admit *op)
{
    struct mirror_job *job;
    struct row_job *row;

    if (!trial_is_steward(t, op->fence))
        return;
    job = seen_job(t, op->job, op->version);
    if (!job || job->row->is_admitted == op->is_admitted)
        return;
    row = row_copy(ROW_JOB, job->row);
    row->is_admitted = op->is_admitted;
    put_job(t, job, row);
}

/* Whoever follows from before this revision has missed events for good. */
static void set_oldest(struct trial *t, uint64_t oldest)
{
    const struct row_meta *was = mirror_find(t->mirror, ROW_META, "oldest");
    CLEANUP(freep) char *text = text_format("%" PRIu64, oldest);
    struct row_meta *row;
    int64_t held = 0;

    if (was && text_to_int(was->value, 0, INT64_MAX, &held) >= 0 && held >= (int64_t)oldest)
        return;
    row = row_new(ROW_META);
    row_set(&row->name, "oldest");
    row_set(&row->value, text);
    changes_put_quiet(t->changes, ROW_META, row);
}

void judge_retain(struct trial *t, struct op_retain *op)
{
    uint64_t last = 0;

    for (size_t i = 0; i < t->past->jobs.n; i++) {
        const struct retired *job = &t->past->jobs.at[i];
        VEC_PUSH(&t->changes->retired, job->job);
        last = job->rev > last ? job->rev : last;
    }
    if (last)
        set_oldest(t, last + 1);
    t->changes->forgets_keys = true;
    orders_forget(t, op->ended_before, op->most);
}
