/* Fleet: see nodes_fleet.h. Work per event is what the event touches. */
#include "server/nodes_fleet.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

static void job_free(struct fleet_job *job)
{
    job_spec_free(job->spec);
    mem_free(job->spec_text);
    mem_free(job);
}

void fleet_init(struct fleet *fleet)
{
    *fleet = (struct fleet){ 0 };
    where_init(&fleet->where);
    fleet->end_over = &fleet->first_over;
}

static void forget_jobs(struct fleet *fleet)
{
    where_clear(&fleet->where);
    MAP_EACH (entry, &fleet->attempts)
        mem_free(entry->value);
    MAP_EACH (entry, &fleet->jobs)
        job_free(entry->value);
    map_fini(&fleet->attempts);
    map_fini(&fleet->jobs);
    fleet->attempts = fleet->jobs = (struct map){ 0 };
    fleet->first_over = NULL;
    fleet->end_over = &fleet->first_over;
    fleet->n_over = 0;
}

void fleet_fini(struct fleet *fleet)
{
    forget_jobs(fleet);
    where_fini(&fleet->where);
    MAP_EACH (entry, &fleet->workers) {
        struct worker *worker = entry->value;

        for (size_t i = 0; i < worker->n_have; i++)
            mem_free(worker->have[i]);
        mem_free(worker->have);
        str_fini(&worker->out);
        mem_free(worker->name);
        mem_free(worker);
    }
    map_fini(&fleet->workers);
}

struct worker *fleet_worker(struct fleet *fleet, const char *name)
{
    struct worker *worker = map_get(&fleet->workers, name);

    if (worker)
        return worker;
    worker = NEW0(struct worker);
    worker->name = text_copy(name);
    worker->state = NODE_GONE;
    map_put(&fleet->workers, worker->name, worker);
    return worker;
}

const struct job_spec *fleet_spec(struct fleet_job *job)
{
    struct err err = { 0 };

    if (!job->spec && job_spec_from_canonical(job->spec_text, &job->spec, &err) < 0)
        log_error("a job cannot be read", "job", log_int(job->id), "why", err.text, NULL);
    return job->spec;
}

int fleet_key(struct fleet *fleet, const char *name, struct attempt_key *out)
{
    struct name_parts parts;
    struct err err = { 0 };
    struct fleet_job *job;
    const struct job_spec *spec;

    if (name_parse(name, &parts, &err) < 0 || !parts.has_index || !parts.has_number)
        return -EINVAL;
    job = map_get_int(&fleet->jobs, parts.job);
    spec = job ? fleet_spec(job) : NULL;
    for (size_t g = 0; spec && g < spec->n_groups; g++) {
        if (strcmp(spec->groups[g].name, parts.group) != 0)
            continue;
        *out = (struct attempt_key){ parts.job, (uint32_t)g, parts.index, parts.number };
        return 0;
    }
    return -ENOENT;
}

/* ---- events ---- */

static void apply_node(struct fleet *fleet, const struct batch_event *event,
                       const struct fleet_watch *watch)
{
    const struct row_node *row = event->row.node;
    struct worker *worker = fleet_worker(fleet, row->name);

    /* A registration's answer may have been here before its event. */
    if (row->generation > worker->generation)
        worker->generation = row->generation;
    worker->state = event->is_deleted ? NODE_GONE : (enum node_state)row->state;
    watch->worker_changed(worker, watch->arg);
}

static void job_is_done(struct fleet *fleet, struct fleet_job *job)
{
    if (job->is_over)
        return;
    job->is_over = true;
    *fleet->end_over = job;
    fleet->end_over = &job->next_over;
    fleet->n_over++;
    if (fleet->n_over <= FLEET_OVER_MAX)
        return;
    job = fleet->first_over;
    fleet->first_over = job->next_over;
    fleet->n_over--;
    map_remove_int(&fleet->jobs, job->id);
    job_free(job);
}

/* What agents are told of a job changes with its limit alone. */
static void take_spec(struct fleet_job *job, const struct batch_event *event)
{
    const struct row_job *row = event->row.job;

    if (job->version == row->version)
        return;
    job->version = row->version;
    job_spec_freep(&job->spec);
    mem_free(job->spec_text);
    job->spec_text = event->spec ? NULL : text_copy(row->spec);
    job->spec = event->spec ? job_spec_ref(event->spec) : NULL;
}

static void apply_job(struct fleet *fleet, const struct batch_event *event)
{
    const struct row_job *row = event->row.job;
    struct fleet_job *job = map_get_int(&fleet->jobs, row->id);
    bool is_over = event->is_deleted || job_is_over((enum job_state)row->state);

    if (!job && !is_over) {
        job = NEW0(struct fleet_job);
        job->id = row->id;
        map_put_int(&fleet->jobs, row->id, job);
    }
    if (job && is_over)
        job_is_done(fleet, job);
    else if (job)
        take_spec(job, event);
}

static void link_attempt(struct worker *worker, struct fleet_attempt *attempt)
{
    attempt->worker = worker;
    attempt->prev = worker->last;
    if (worker->last)
        worker->last->next = attempt;
    else
        worker->first = attempt;
    worker->last = attempt;
}

static void unlink_attempt(struct fleet_attempt *attempt)
{
    struct worker *worker = attempt->worker;

    if (attempt->prev)
        attempt->prev->next = attempt->next;
    else
        worker->first = attempt->next;
    if (attempt->next)
        attempt->next->prev = attempt->prev;
    else
        worker->last = attempt->prev;
}

static struct fleet_attempt *make_attempt(struct fleet *fleet, const struct row_attempt *row,
                                          struct fleet_job *job, const char *name)
{
    struct fleet_attempt *attempt = NEW0(struct fleet_attempt);

    memcpy(attempt->name, name, sizeof(attempt->name));
    attempt->key = (struct attempt_key){ row->job, (uint32_t)row->grp, (uint32_t)row->idx,
                                         (uint32_t)row->number };
    attempt->job = job;
    attempt->told_limit_ms = -1;
    map_put(&fleet->attempts, attempt->name, attempt);
    link_attempt(fleet_worker(fleet, row->node), attempt);
    where_add(&fleet->where, row->job, attempt->worker->name);
    return attempt;
}

static void end_attempt(struct fleet *fleet, struct fleet_attempt *attempt,
                        const struct fleet_watch *watch)
{
    map_remove(&fleet->attempts, attempt->name);
    unlink_attempt(attempt);
    where_drop(&fleet->where, attempt->key.job, attempt->worker->name);
    watch->attempt_ended(attempt, watch->arg);
    mem_free(attempt);
}

static void apply_attempt(struct fleet *fleet, const struct batch_event *event,
                          const struct fleet_watch *watch)
{
    const struct row_attempt *row = event->row.attempt;
    bool is_live = !event->is_deleted && attempt_is_live((enum attempt_state)row->state);
    struct fleet_job *job = map_get_int(&fleet->jobs, row->job);
    const struct job_spec *spec = job ? fleet_spec(job) : NULL;
    struct fleet_attempt *attempt;
    char name[NAME_ATTEMPT_SIZE] = "";

    if (!spec || row->grp < 0 || (size_t)row->grp >= spec->n_groups)
        return;
    name_attempt(row->job, spec->groups[row->grp].name, (uint32_t)row->idx, (uint32_t)row->number,
                 name);
    attempt = map_get(&fleet->attempts, name);
    if (!is_live) {
        if (attempt)
            end_attempt(fleet, attempt, watch);
        return;
    }
    if (!attempt)
        attempt = make_attempt(fleet, row, job, name);
    attempt->state = (enum attempt_state)row->state;
    attempt->is_stop_wanted = row->is_stop_wanted != 0 || row->state == ATTEMPT_STOPPING;
    /* A stronger cause is told again, and so is a shorter grace. */
    if (attempt->is_stop_wanted &&
        (attempt->cause != (enum cause)row->cause || row->grace_ms < attempt->grace_ms))
        attempt->told_stop = false;
    attempt->cause = (enum cause)row->cause;
    attempt->grace_ms = row->grace_ms;
    watch->attempt_changed(attempt, watch->arg);
}

static void apply_event(struct fleet *fleet, const struct batch_event *event,
                        const struct fleet_watch *watch)
{
    if (event->kind == ROW_NODE)
        apply_node(fleet, event, watch);
    else if (event->kind == ROW_JOB)
        apply_job(fleet, event);
    else if (event->kind == ROW_ATTEMPT)
        apply_attempt(fleet, event, watch);
}

void fleet_apply(struct fleet *fleet, const struct batch *batch, const struct fleet_watch *watch)
{
    fleet->revision = batch->revision;
    if (batch->is_base) {
        forget_jobs(fleet);
        MAP_EACH (entry, &fleet->workers) {
            struct worker *worker = entry->value;
            worker->first = worker->last = NULL;
        }
    }
    for (size_t i = 0; i < batch->n_events; i++)
        if (!batch->is_base || batch->events[i].kind != ROW_ATTEMPT)
            apply_event(fleet, &batch->events[i], watch);
    /* A base is in no order: attempts come when their jobs are there. */
    for (size_t i = 0; batch->is_base && i < batch->n_events; i++)
        if (batch->events[i].kind == ROW_ATTEMPT)
            apply_event(fleet, &batch->events[i], watch);
    fleet->is_fed = true;
}
