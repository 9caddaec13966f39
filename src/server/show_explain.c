/* Show, explanations: see show_explain.h. */
#include "server/show_explain.h"

#include <inttypes.h>
#include <string.h>

#include "base/name.h"
#include "server/feed.h"
#include "server/show.h"

/* ---- who holds it ---- */

static bool is_seen(const struct call *call, const char *ns)
{
    return call_sees(call, ns ? ns : "");
}

static json_t *show_holder(const struct call *call, const struct berth_node_reason *reason,
                           const struct berth_holder *holder)
{
    json_t *object = json_object();
    char name[NAME_ATTEMPT_SIZE];
    bool is_plan = text_eq(holder->job, VIEW_PLAN_ID); /* which has no name yet */

    if (holder->is_own)
        show_set(object, "own", json_true());
    if (!is_plan && is_seen(call, holder->namespace_)) {
        show_text(object, "job", holder->job);
        if (holder->is_promised)
            name_task(feed_job_number(holder->job), holder->group, holder->index, name);
        else
            name_attempt(feed_job_number(holder->job), holder->group, holder->index,
                         holder->attempt, name);
        show_text(object, holder->is_promised ? "task" : "attempt", name);
    }
    if (reason->resource)
        show_amount(object, "amount", reason->resource, holder->amount);
    show_time(object, "until", holder->limit_at_ms);
    if (holder->is_leaving)
        show_set(object, "stopping", json_true());
    if (holder->is_promised)
        show_set(object, "held", json_true());
    return object;
}

static void show_node_reason(json_t *object, const struct call *call, const struct job_spec *spec,
                             const struct berth_node_reason *reason)
{
    json_t *holders = json_array();

    if (reason->resource) {
        show_text(object, "resource", reason->resource);
        show_asked(object, spec, reason->resource, reason->asked);
        show_amount(object, "free", reason->resource, reason->free);
    }
    show_text(object, "wants", reason->wants);
    show_text(object, "has", reason->has);
    for (size_t i = 0; i < reason->n_holders; i++)
        json_array_append_new(holders, show_holder(call, reason, &reason->holders[i]));
    if (reason->n_holders)
        json_object_set_nocheck(object, "heldBy", holders);
    json_decref(holders);
    if (reason->n_more)
        show_number(object, "heldByMore", (int64_t)reason->n_more);
}

/* ---- nodes ---- */

/* The group of nodes that fail for one code and resource; made where it is not there yet. */
static json_t *failed_group(json_t *failed, const struct berth_node_reason *reason)
{
    const char *word = wait_codes[reason->code].word;
    json_t *group;
    size_t i;

    json_array_foreach(failed, i, group)
    {
        const char *resource = json_string_value(json_object_get(group, "resource"));

        if (text_eq(json_string_value(json_object_get(group, "code")), word) &&
            text_eq(resource, reason->resource))
            return group;
    }
    group = json_object();
    show_text(group, "code", word);
    show_text(group, "resource", reason->resource);
    show_number(group, "count", 0);
    show_set(group, "nodes", json_array());
    json_array_append_new(failed, group);
    return group;
}

static void add_failed(json_t *failed, const struct call *call, const struct job_spec *spec,
                       const struct berth_node_reason *reason)
{
    json_t *group = failed_group(failed, reason), *node = json_object();

    show_number(group, "count", json_integer_value(json_object_get(group, "count")) + 1);
    show_text(node, "name", reason->node);
    show_node_reason(node, call, spec, reason);
    json_array_append_new(json_object_get(group, "nodes"), node);
}

static json_t *show_nodes(const struct call *call, const struct job_spec *spec,
                          const struct berth_explanation *explanation, const char *only)
{
    json_t *object = json_object(), *fits = json_array(), *failed = json_array();
    size_t total = 0;

    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const struct berth_node_reason *reason = &explanation->nodes[i];

        if (only && !text_eq(only, reason->node))
            continue;
        total++;
        if (reason->code == WAIT_NONE)
            json_array_append_new(fits, show_value(reason->node));
        else
            add_failed(failed, call, spec, reason);
    }
    show_number(object, "total", (int64_t)total);
    show_set(object, "fits", fits);
    show_set(object, "failed", failed);
    return object;
}

static json_t *show_checks(const struct call *call, const struct job_spec *spec,
                           const struct view_answer *answer)
{
    json_t *list = json_array();

    for (size_t i = 0; i < answer->n_checks; i++) {
        const struct berth_check *check = &answer->checks[i];
        json_t *object = json_object();

        show_text(object, "check", check->name);
        show_set(object, "ok", json_boolean(check->result.code == WAIT_NONE));
        if (check->result.code)
            show_text(object, "code", wait_codes[check->result.code].word);
        show_node_reason(object, call, spec, &check->result);
        json_array_append_new(list, object);
    }
    return list;
}

/* ---- the job ---- */

static json_t *show_groups(const struct berth_explanation *explanation, const struct job_spec *spec,
                           bool hides_jobs)
{
    json_t *list = json_array();

    for (size_t i = 0; i < explanation->n_verdicts; i++) {
        const struct berth_verdict *verdict = &explanation->verdicts[i];
        json_t *object = json_object();

        show_text(object, "group", verdict->group);
        show_number(object, "tasks", verdict->n_tasks);
        show_text(object, "code", wait_codes[verdict->reason->code].word);
        show_set(object, "reason", show_reason(verdict->reason, spec, true, hides_jobs));
        json_array_append_new(list, object);
    }
    return list;
}

static void show_gang(json_t *object, const struct berth_reason *reason)
{
    json_t *gang;

    if (!reason || !reason->needed)
        return;
    gang = json_object();
    show_number(gang, "minAvailable", reason->needed);
    show_number(gang, "placeable", reason->placed);
    show_text(gang, "blocking", reason->stuck_group);
    show_set(object, "gang", gang);
}

/* ---- changes ---- */

/* What explains one job. */
struct shown {
    const struct view_answer *answer;
    const char *queue;
    int64_t memory_milli;
};

/* A JSON pointer to a member of a group; name NULL: to the member itself. */
static void show_pointer(json_t *object, const struct berth_change *change, const char *member,
                         const char *name)
{
    CLEANUP(str_fini) struct str text = { 0 };

    str_addf(&text, "/groups/%u/%s/", change->group_at, member);
    for (; *name; name++) {
        if (*name == '~')
            str_add(&text, "~0");
        else if (*name == '/')
            str_add(&text, "~1");
        else
            str_add_char(&text, *name);
    }
    show_text(object, "pointer", str_text(&text));
}

/* What a task may ask so that it holds no more than this; the engine knows only what it holds. */
static int64_t ask_of(const struct shown *shown, const char *resource, int64_t held)
{
    const int64_t mi = 1 << 20;
    int64_t ask;

    if (shown->memory_milli <= 1000 || !text_eq(resource, "memory"))
        return held;
    ask = (int64_t)((__int128)held * 1000 / shown->memory_milli);
    return ask < mi ? ask : ask / mi * mi;
}

/* A field of another job: whose it is, as far as the caller sees it. */
static void show_budget(json_t *object, const struct call *call, const struct berth_change *change)
{
    CLEANUP(str_fini) struct str pointer = { 0 }, from = { 0 }, to = { 0 };
    const char *unit = change->is_percent ? "%" : "";

    if (is_seen(call, change->namespace_))
        show_text(object, "job", change->job);
    show_text(object, "what",
              is_seen(call, change->namespace_) ? change->job : "a job of another namespace");
    str_addf(&pointer, "/budget/%s", change->key);
    show_text(object, "pointer", str_text(&pointer));
    str_addf(&from, "%" PRId64 "%s", change->from, unit);
    str_addf(&to, "%" PRId64 "%s", change->to, unit);
    show_text(object, "from", str_text(&from));
    show_text(object, "to", str_text(&to));
}

static void show_field(json_t *object, const struct berth_change *change, const struct shown *shown)
{
    enum wait_code waits = shown->answer->explanation.state;

    if (change->kind == BERTH_CHANGE_HOLD) {
        show_text(object, "pointer", waits == WAIT_SUSPENDED ? "/suspended" : "/held");
        show_set(object, "from", json_true());
        show_set(object, "to", json_false());
    } else if (change->kind == BERTH_CHANGE_AMOUNT) {
        show_pointer(object, change, "resources", change->resource);
        show_amount(object, "from", change->resource,
                    ask_of(shown, change->resource, change->from));
        show_amount(object, "to", change->resource, ask_of(shown, change->resource, change->to));
    } else if (change->kind == BERTH_CHANGE_LABEL) {
        show_pointer(object, change, "nodeSelector", change->key);
        show_text(object, "from", change->wants);
    } else if (change->kind == BERTH_CHANGE_TOLERATION) {
        show_pointer(object, change, "tolerations", "-");
        show_text(object, "to", change->wants);
    } else if (change->kind == BERTH_CHANGE_QUEUE) {
        show_text(object, "pointer", "/queue");
        show_text(object, "from", shown->queue);
        show_text(object, "to", change->wants);
    } else {
        show_text(object, "pointer",
                  change->kind == BERTH_CHANGE_MINIMUM ? "/minAvailable" : "/priority");
        show_number(object, "from", change->from);
        show_number(object, "to", change->to);
    }
}

static void show_event_change(json_t *object, const struct call *call,
                              const struct berth_change *change)
{
    bool is_named = change->job && is_seen(call, change->namespace_);
    const char *who = is_named ? change->job : "a job of another namespace";
    CLEANUP(str_fini) struct str text = { 0 };

    if (change->kind == BERTH_CHANGE_TASKS_END)
        str_addf(&text, "%s on %s ends", who, change->node);
    else if (change->kind == BERTH_CHANGE_JOB_ENDS)
        str_addf(&text, "%s ends", who);
    else if (change->kind == BERTH_CHANGE_NODE_RETURNS)
        str_addf(&text, "%s is ready again", change->node);
    else if (change->kind == BERTH_CHANGE_UNCORDON)
        str_addf(&text, "%s takes work again", change->node);
    else
        str_add(&text, "its time comes");
    show_text(object, "what", str_text(&text));
    show_text(object, "event", berth_change_words[change->kind]);
    if (is_named)
        show_text(object, "job", change->job);
    show_text(object, "node", change->node);
    if (change->n_tasks)
        show_number(object, "tasks", change->n_tasks);
    show_time(object, "by", change->by_ms);
}

static json_t *show_changes(const struct call *call, const struct shown *shown)
{
    const struct berth_changes *changes = &shown->answer->changes;
    json_t *list = json_array();

    for (size_t i = 0; i < changes->n; i++) {
        const struct berth_change *change = &changes->at[i];
        bool is_event = change->kind >= BERTH_CHANGE_FIRST_EVENT;
        json_t *object = json_object();

        show_text(object, "kind", is_event ? "event" : "field");
        if (is_event)
            show_event_change(object, call, change);
        else if (change->kind == BERTH_CHANGE_BUDGET)
            show_budget(object, call, change);
        else
            show_field(object, change, shown);
        if (change->n_evicted)
            show_number(object, "evicts", change->n_evicted);
        json_array_append_new(list, object);
    }
    return list;
}

static void show_start(json_t *object, const struct call *call, const struct berth_start *start)
{
    json_t *out;

    if (!start->latest_ms)
        return;
    out = json_object();
    show_time(out, "latest", start->latest_ms);
    if (start->job) {
        CLEANUP(str_fini) struct str text = { 0 };
        str_addf(&text, "limit of %s",
                 is_seen(call, start->namespace_) ? start->job : "a job of another namespace");
        if (start->node)
            str_addf(&text, " on %s", start->node);
        show_text(out, "ground", str_text(&text));
    }
    show_set(object, "start", out);
}

json_t *show_stopping(const struct call *call, const struct berth_stopping *stopping, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *object = json_object();
        char name[NAME_ATTEMPT_SIZE];

        if (is_seen(call, stopping[i].namespace_)) {
            name_attempt(feed_job_number(stopping[i].job), stopping[i].group, stopping[i].index,
                         stopping[i].attempt, name);
            show_text(object, "attempt", name);
            show_text(object, "job", stopping[i].job);
        }
        show_text(object, "node", stopping[i].node);
        json_array_append_new(list, object);
    }
    return list;
}

/* What its queue may have before it takes nothing back from others any more. */
static json_t *show_share(const struct berth_explanation *explanation)
{
    json_t *object = json_object();
    const char *resource = explanation->share_resource;

    show_text(object, "resource", resource);
    show_amount(object, "fair", resource, explanation->share_fair);
    show_amount(object, "allocated", resource, explanation->share_allocated);
    return object;
}

/* The queue that gives nothing back of what is lacking. */
static json_t *show_keeper(const struct berth_explanation *explanation)
{
    json_t *object = json_object();

    show_text(object, "queue", explanation->keeper);
    show_text(object, "resource", explanation->keeper_resource);
    show_amount(object, "allocated", explanation->keeper_resource, explanation->keeper_allocated);
    return object;
}

void show_explanation(json_t *object, const struct call *call, const struct view_answer *answer,
                      const struct job_spec *spec, const char *only)
{
    const struct berth_explanation *explanation = &answer->explanation;
    json_t *queue = json_object_get(object, "queue");
    bool hides_jobs = call->who.ns[0];
    struct shown shown;

    if (explanation->place) {
        show_number(queue, "place", explanation->place);
        show_number(queue, "of", explanation->of);
    }
    show_text(object, "code", wait_codes[explanation->state].word);
    if (explanation->reason)
        show_set(object, "reason", show_reason(explanation->reason, spec, false, hides_jobs));
    show_gang(object, explanation->reason);
    show_set(object, "groups", show_groups(explanation, spec, hides_jobs));
    show_set(object, "nodes", show_nodes(call, spec, explanation, only));
    if (only)
        show_set(object, "checks", show_checks(call, spec, answer));
    if (explanation->share_resource)
        show_set(object, "share", show_share(explanation));
    if (explanation->keeper)
        show_set(object, "notReclaimable", show_keeper(explanation));
    if (!answer->changes.n_runs)
        return;
    shown = (struct shown){ answer, json_string_value(json_object_get(queue, "name")),
                            spec->memory_milli };
    show_set(object, "changes", show_changes(call, &shown));
    show_set(object, "changesComplete", json_boolean(!answer->changes.is_limited));
    show_start(object, call, &answer->start);
}
