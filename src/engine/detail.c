/* Detail: see detail.h. */
#include "engine/detail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/match.h"

/* --- Who holds it */

struct held {
    const struct task *task;
    int64_t amount;
};

static int by_amount(const void *a, const void *b)
{
    const struct held *x = a, *y = b;
    int order;

    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    order = job_rank_cmp(x->task->group->job, y->task->group->job);
    if (order)
        return order;
    if (x->task->group->at != y->task->group->at)
        return x->task->group->at < y->task->group->at ? -1 : 1;
    return x->task->index < y->task->index ? -1 : x->task->index > y->task->index;
}

static void show_holder(const struct held *held, struct arena *arena, struct berth_holder *out)
{
    const struct task *task = held->task;
    const struct job *job = task->group->job;
    bool is_promised = task->state == BERTH_TASK_PIPELINED || task->state == BERTH_TASK_ALLOCATED;

    *out = (struct berth_holder){
        .job = arena_text(arena, job->id),
        .namespace_ = job->kept->namespace_ ? arena_text(arena, job->kept->namespace_) : NULL,
        .group = arena_text(arena, task->group->spec->name),
        .index = task->index,
        .attempt = is_promised ? 0 : task->attempt,
        .amount = held->amount,
        .limit_at_ms = task->limit_at_ms,
        .is_leaving = task->state == BERTH_TASK_RELEASING,
        .is_promised = is_promised,
    };
}

/* The largest of n, which are at hand in any order. */
static void show_holders(struct held *at, size_t n, struct arena *arena,
                         struct berth_node_reason *out)
{
    size_t shown = n < BERTH_HOLDERS_MAX ? n : BERTH_HOLDERS_MAX;
    struct berth_holder *list = ARENA_NEW0_N(arena, struct berth_holder, shown + 1);

    if (n)
        qsort(at, n, sizeof(*at), by_amount);
    for (size_t i = 0; i < shown; i++)
        show_holder(&at[i], arena, &list[i]);
    out->holders = list;
    out->n_holders = shown;
    out->n_more = n - shown;
}

static void add_holders(const struct node *node, uint32_t dim, struct arena *arena,
                        struct berth_node_reason *out)
{
    VEC_OF(struct held) list = { 0 };

    VEC_EACH (task, &node->tasks) {
        int64_t amount = asks_of(task_asks(*task), dim);
        if (amount)
            VEC_PUSH(&list, ((struct held){ *task, amount }));
    }
    show_holders(list.at, list.n, arena, out);
    VEC_FINI(&list);
}

static bool wants_port(const struct task *task, uint16_t port)
{
    const struct berth_task_group *spec = task->group->spec;

    for (size_t i = 0; i < spec->n_host_ports; i++)
        if (spec->host_ports[i] == port)
            return true;
    return false;
}

static void detail_port(const struct kind *kind, const struct node *node, struct arena *arena,
                        struct berth_node_reason *out)
{
    VEC_OF(struct held) list = { 0 };

    for (size_t i = 0; i < kind->spec->n_host_ports && !list.n; i++) {
        uint16_t port = kind->spec->host_ports[i];
        VEC_EACH (task, &node->tasks)
            if (wants_port(*task, port))
                VEC_PUSH(&list, ((struct held){ *task, 0 }));
        if (list.n)
            out->wants = arena_format(arena, "%" PRIu16, port);
    }
    show_holders(list.at, list.n, arena, out);
    VEC_FINI(&list);
}

/* --- Words */

char *taint_text(const struct berth_taint *taint, struct arena *arena)
{
    static const char *const effects[] = { [BERTH_NO_SCHEDULE] = "NoSchedule",
                                           [BERTH_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
                                           [BERTH_NO_EXECUTE] = "NoExecute" };

    return arena_format(arena, "%s%s%s:%s", taint->key, taint->value && taint->value[0] ? "=" : "",
                        taint->value ? taint->value : "", effects[taint->effect]);
}

bool kind_tolerates(const struct kind *kind, const struct berth_taint *taint)
{
    return taint->effect == BERTH_PREFER_NO_SCHEDULE ||
           taint_is_tolerated(taint, kind->spec->tolerations, kind->spec->n_tolerations);
}

static void detail_label(const struct kind *kind, const struct node *node, struct arena *arena,
                         struct berth_node_reason *out)
{
    const struct berth_labels *wanted = &kind->spec->node_selector;

    for (size_t i = 0; i < wanted->n; i++) {
        const char *has = label_value(&node->kept->labels, wanted->at[i].key);
        if (has && strcmp(has, wanted->at[i].value) == 0)
            continue;
        out->wants = arena_format(arena, "%s=%s", wanted->at[i].key, wanted->at[i].value);
        out->has = has ? arena_format(arena, "%s=%s", wanted->at[i].key, has) : NULL;
        return;
    }
}

static void detail_taint(const struct kind *kind, const struct node *node, struct arena *arena,
                         struct berth_node_reason *out)
{
    for (size_t i = 0; i < node->kept->n_taints; i++) {
        if (kind_tolerates(kind, &node->kept->taints[i]))
            continue;
        out->has = taint_text(&node->kept->taints[i], arena);
        return;
    }
}

static void detail_volume(const struct kind *kind, const struct node *node, struct arena *arena,
                          struct berth_node_reason *out)
{
    for (size_t i = 0; i < kind->spec->volumes.n; i++) {
        if (words_have(&node->kept->volumes, kind->spec->volumes.at[i]))
            continue;
        out->wants = arena_text(arena, kind->spec->volumes.at[i]);
        return;
    }
}

static const char *match_text(const struct berth_match *match, struct arena *arena)
{
    static const char *const words[] = {
        [BERTH_IN] = "in",         [BERTH_NOT_IN] = "not in",
        [BERTH_EXISTS] = "exists", [BERTH_DOES_NOT_EXIST] = "does not exist",
        [BERTH_GREATER] = ">",     [BERTH_LESS] = "<"
    };
    char *text = arena_format(arena, "%s %s", match->key, words[match->op]);

    for (size_t i = 0; i < match->values.n; i++)
        text = arena_format(arena, "%s%s%s", text, i ? "," : " ", match->values.at[i]);
    return text;
}

/* The first thing that the affinity asks for; with several of them the others are not named. */
static void detail_affinity(const struct kind *kind, struct arena *arena,
                            struct berth_node_reason *out)
{
    const struct berth_affinity *a = kind->spec->affinity;

    if (a && a->n_node_required && a->node_required[0].selector.n_matches)
        out->wants = match_text(&a->node_required[0].selector.matches[0], arena);
    else if (a && a->n_pod_required)
        out->wants = arena_format(arena, "company by %s", a->pod_required[0].topology_key);
    else if (a && a->n_anti_required)
        out->wants = arena_format(arena, "distance by %s", a->anti_required[0].topology_key);
    else if (a && a->n_spread)
        out->wants = arena_format(arena, "evenly by %s", a->spread[0].topology_key);
}

static void detail_size(const struct model *model, const struct kind *kind, const struct node *node,
                        struct arena *arena, struct berth_node_reason *out)
{
    for (size_t i = 0; i < kind->requires_.n; i++) {
        const struct ask *ask = &kind->requires_.at[i];
        if (model->columns[ask->dim].offers[node->at] >= ask->value)
            continue;
        out->resource = arena_text(arena, model->dims.at[ask->dim]->name);
        out->asked = ask->value;
        out->free = model->columns[ask->dim].offers[node->at];
        return;
    }
}

static void add_words(const struct model *model, const struct kind *kind, const struct node *node,
                      struct arena *arena, struct berth_node_reason *out)
{
    if (out->code == WAIT_NODE_NOT_READY)
        out->has = node_state_words[node->kept->state];
    else if (out->code == WAIT_NODE_CORDONED)
        out->has = node->kept->draining ? "draining" : "cordoned";
    else if (out->code == WAIT_LABEL_MISMATCH)
        detail_label(kind, node, arena, out);
    else if (out->code == WAIT_TAINT_NOT_TOLERATED)
        detail_taint(kind, node, arena, out);
    else if (out->code == WAIT_VERSION_MISSING && kind->spec->capability)
        out->wants = arena_text(arena, kind->spec->capability);
    else if (out->code == WAIT_NODE_PINNED && kind->spec->pinned_to)
        out->wants = arena_text(arena, kind->spec->pinned_to);
    else if (out->code == WAIT_VOLUME_ABSENT)
        detail_volume(kind, node, arena, out);
    else if (out->code == WAIT_AFFINITY)
        detail_affinity(kind, arena, out);
    else if (out->code == WAIT_NODE_TOO_SMALL)
        detail_size(model, kind, node, arena, out);
    else if (out->code == WAIT_PORT_TAKEN)
        detail_port(kind, node, arena, out);
}

void detail_of_dim(const struct model *model, const struct kind *kind, const struct node *node,
                   uint32_t dim, struct arena *arena, struct berth_node_reason *out)
{
    int64_t idle = column_idle(&model->columns[dim], node->at);

    out->resource = arena_text(arena, model->dims.at[dim]->name);
    out->asked = asks_of(&kind->asks, dim);
    out->free = idle < 0 ? 0 : idle;
    add_holders(node, dim, arena, out);
}

void detail_of(const struct model *model, const struct kind *kind, const struct node *node,
               fail_t fail, struct arena *arena, struct berth_node_reason *out)
{
    out->code = fail_code(model, fail);
    if (fail >= FAIL_DIM)
        detail_of_dim(model, kind, node, fail - FAIL_DIM, arena, out);
    else if (fail != FAIL_NONE)
        add_words(model, kind, node, arena, out);
}

static const char *copy_text(const char *text, struct arena *arena)
{
    return text ? arena_text(arena, text) : NULL;
}

const struct berth_reason *reason_copy(const struct berth_reason *from, struct arena *arena)
{
    struct berth_reason *to = arena_copy(arena, from, sizeof(*from));
    struct berth_node_count *counts = arena_copy(
        arena, from->counts ? (const void *)from->counts : "", from->n_counts * sizeof(*counts));

    to->resource = copy_text(from->resource, arena);
    to->node = copy_text(from->node, arena);
    to->blocker = copy_text(from->blocker, arena);
    to->stuck_group = copy_text(from->stuck_group, arena);
    to->wants = copy_text(from->wants, arena);
    to->has = copy_text(from->has, arena);
    for (size_t i = 0; i < from->n_counts; i++)
        counts[i].resource = copy_text(counts[i].resource, arena);
    to->counts = counts;
    return to;
}
