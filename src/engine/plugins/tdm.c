/*
 * Time division: nodes that are lent for a part of the day. While their zone is open they take
 * tasks that put up with it, and are the best for them; when it closes those tasks must go, a few
 * of a job at a time.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/plugins.h"
#include "engine/victims.h"

enum { MINUTE_MS = 60000, DAY_MS = 86400000 };
#define ZONE_ARGUMENT "tdm.revocable-zone."

struct zone {
    const char *name;
    int64_t from_ms, to_ms; /* of the day; to is above from */
};

struct arguments {
    int64_t period_ms;
    struct zone *zones;
    size_t n_zones;
};

/* Reads "HH:MM"; returns what is behind it, or NULL. */
static const char *read_clock(const char *text, int64_t *out_ms)
{
    int64_t hour = 0, minute = 0;
    size_t n = strspn(text, "0123456789");

    if (n < 1 || n > 2 || text[n] != ':')
        return NULL;
    for (size_t i = 0; i < n; i++)
        hour = hour * 10 + (text[i] - '0');
    text += n + 1;
    if (strspn(text, "0123456789") < 2)
        return NULL;
    minute = (text[0] - '0') * 10 + (text[1] - '0');
    if (hour > 23 || minute > 59)
        return NULL;
    *out_ms = (hour * 60 + minute) * MINUTE_MS;
    return text + 2;
}

static int read_zone(const struct berth_value *value, struct zone *zone, struct err *err)
{
    const char *at = read_clock(value->text, &zone->from_ms);
    char pointer[POINTER_STEP_SIZE];

    if (at)
        at += strspn(at, " ");
    if (at && *at == '-')
        at = read_clock(at + 1 + strspn(at + 1, " "), &zone->to_ms);
    else
        at = NULL;
    if (!at || *at)
        return err_set(err, -EINVAL, "%s: a time such as \"22:00-06:00\"",
                       pointer_step(value->key, pointer));
    if (zone->to_ms <= zone->from_ms)
        zone->to_ms += DAY_MS;
    zone->name = value->key + strlen(ZONE_ARGUMENT);
    return 0;
}

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument known[] = {
        { "tdm.evict.period", ARG_DURATION, offsetof(struct arguments, period_ms) },
    };
    static const struct argument zone = { ZONE_ARGUMENT, ARG_TEXT, 0 };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r;

    a->period_ms = MINUTE_MS;
    *out = a;
    r = arguments_read(arguments, known, COUNT_OF(known), &zone, a, err);
    a->zones = ARENA_NEW0_N(arena, struct zone, arguments ? arguments->n_members + 1 : 1);
    for (size_t i = 0; r == 0 && arguments && i < arguments->n_members; i++)
        if (text_begins(arguments->members[i].key, ZONE_ARGUMENT))
            r = read_zone(&arguments->members[i], &a->zones[a->n_zones++], err);
    return r;
}

/* Whether a zone is open now; notes when that changes. */
static bool is_open(struct session *s, const struct arguments *a, const char *name)
{
    int64_t day = s->in.now_ms - s->in.now_ms % DAY_MS, at = s->in.now_ms - day;

    for (size_t i = 0; i < a->n_zones; i++) {
        const struct zone *z = &a->zones[i];
        bool open;
        if (strcmp(z->name, name) != 0)
            continue;
        session_wake_at(s, day + z->from_ms);
        session_wake_at(s, day + z->to_ms + 1);
        session_wake_at(s, day + DAY_MS);
        open = at >= z->from_ms && at <= z->to_ms;
        /* What began yesterday goes on into today; profile volcano looks at today's only. */
        if (!s->setup->is_reference)
            open = open || at + DAY_MS <= z->to_ms;
        return open;
    }
    return false;
}

/* Any zone is the only word there is. */
static bool accepts(const struct kind *kind)
{
    return text_eq(kind->spec->revocable_zone, "*");
}

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    const char *zone = node->kept->revocable_zone;

    if (!zone || (accepts(kind) && is_open(s, use->config, zone)))
        return WAIT_NONE;
    return WAIT_ZONE_CLOSED;
}

static bool never(struct session *s, struct plugin_use *use, const struct kind *kind,
                  const struct node *node)
{
    (void)s, (void)use;
    return node->kept->revocable_zone && !accepts(kind);
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const char *zone = node->kept->revocable_zone;

    return zone && accepts(kind) && is_open(s, use->config, zone) ? 100 : 0;
}

static void open_session(struct session *s, struct plugin_use *use)
{
    bool *zones = ARENA_NEW0(&s->arena, bool);

    NODE_EACH (node, s->model)
        *zones = *zones || node->kept->revocable_zone;
    use->state = zones;
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    (void)s, (void)kind;
    return !*(bool *)use->state; /* zones open and close by time alone */
}

static int64_t job_key(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)s, (void)use;
    return job->kept->preemptable == BERTH_YES;
}

static int job_order(struct session *s, struct plugin_use *use, const struct job *a,
                     const struct job *b)
{
    return (int)(job_key(s, use, a) - job_key(s, use, b));
}

/* How many tasks of the job may go at a time. In profile volcano a job that already runs fewer than
 * its budget's minimum loses one all the same, as one without a budget does. */
static int64_t may_lose(const struct session *s, const struct job *job)
{
    const struct berth_budget *budget = &job->kept->budget;
    int64_t n = budget->is_given ? job_may_lose(job) : 1;

    if (n < 0 && s->setup->is_reference && !budget->is_max_unavailable)
        return 1;
    return n > 0 ? n : 0;
}

static bool is_running(const struct task *task)
{
    return task->state == BERTH_TASK_RUNNING && !task->group->spec->not_preemptable;
}

static void add_within_budget(const struct session *s, struct task *task, struct victims *to)
{
    int64_t n = 0;

    for (size_t i = 0; i < to->n; i++)
        n += to->at[i]->group->job == task->group->job && to->at[i]->state != BERTH_TASK_PIPELINED;
    if (n < may_lose(s, task->group->job))
        to->at[to->n++] = task;
}

static enum vote preemptable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    (void)use;
    if (!task->group->spec->not_preemptable || accepts(task->group->kind))
        return VOTE_REJECT;
    for (size_t i = 0; i < from->n; i++) {
        struct task *victim = from->at[i];
        if (!victim->node->kept || victim->node->kept->revocable_zone)
            continue;
        if (victim->state == BERTH_TASK_PIPELINED) /* only held for it: it disrupts nobody */
            to->at[to->n++] = victim;
        else if (is_running(victim))
            add_within_budget(s, victim, to);
    }
    return VOTE_PERMIT;
}

/* The instant of the last evictions, kept as eight bytes; -1 if there were none. */
static int64_t last_time(const struct session *s)
{
    const struct berth_memo *memo = shelf_get(&s->model->shelves[BERTH_MEMO], "tdm");
    int64_t at = -1;

    if (memo && memo->size == sizeof(at))
        memcpy(&at, memo->data, sizeof(at));
    return at;
}

static void find_victims(struct session *s, struct plugin_use *use, struct victims *to)
{
    const struct arguments *a = use->config;
    int64_t last = last_time(s), now = s->in.now_ms;
    size_t before = to->n;

    if (last >= 0 && now - last < a->period_ms) {
        session_wake_at(s, last + a->period_ms);
        return;
    }
    JOB_EACH (job, s->model) {
        for (size_t i = 0; job->n[BERTH_TASK_RUNNING] && i < job->n_tasks; i++) {
            struct task *task = &job->tasks[i];
            const struct berth_node *node = task->node ? task->node->kept : NULL;
            if (is_running(task) && node && node->revocable_zone &&
                !is_open(s, a, node->revocable_zone))
                add_within_budget(s, task, to);
        }
    }
    if (to->n > before)
        answer_memo(s, "tdm", &now, sizeof(now));
}

static enum vote job_pipelined(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)s, (void)use;
    return job_n_ready(job) + job_n_best_effort(job) + job->n[BERTH_TASK_PIPELINED] >=
                   job->min_available
               ? VOTE_PERMIT
               : VOTE_REJECT;
}

static bool job_starving(struct session *s, struct plugin_use *use, const struct job *job)
{
    (void)s, (void)use;
    return job->kept->preemptable != BERTH_YES && job->n[BERTH_TASK_PENDING];
}

const struct plugin plugin_tdm = {
    .name = "tdm",
    .sees_lines = true,
    .configure = configure,
    .open = open_session,
    .is_local = is_local,
    .predicate = predicate,
    .never = never,
    .score = score,
    .job_order = job_order,
    .job_key = job_key,
    .has_local_victims = true,
    .preemptable = preemptable,
    .victims = find_victims,
    .job_pipelined = job_pipelined,
    .job_starving = job_starving,
};
