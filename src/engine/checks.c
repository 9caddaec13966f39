/*
 * One node check by check: see berth/questions.h.
 *
 * A constraint is judged by asking the plugins about a task that has it alone, so that a check says
 * what the profile makes of it. What no check accounts for is listed under its code.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "engine/detail.h"
#include "engine/explain.h"

struct checks {
    struct session *s;
    struct arena *arena;
    const struct kind *kind;
    struct node *node;
    VEC_OF(struct berth_check) list;
};

static struct berth_check *add(struct checks *c, const char *name)
{
    struct berth_check *check = VEC_ADD(&c->list);

    *check = (struct berth_check){ .name = name, .result.node = arena_text(c->arena, c->node->id) };
    return check;
}

/* What the task would be with this constraint alone; tolerations only ever help. */
static struct berth_task_group bare(const struct checks *c)
{
    return (struct berth_task_group){ .name = c->kind->spec->name,
                                      .role = c->kind->spec->role,
                                      .tolerations = c->kind->spec->tolerations,
                                      .n_tolerations = c->kind->spec->n_tolerations };
}

/* Adds the check of a task with this specification; it fails if it fails by `code`. */
static void check_spec(struct checks *c, const char *name, const struct berth_task_group *spec,
                       enum wait_code code)
{
    struct berth_check *check = add(c, name);
    struct kind only = { .key = c->kind->key,
                         .spec = spec,
                         .namespace_ = c->kind->namespace_,
                         .queue = c->kind->queue,
                         .best_effort = true };

    struct berth_node open_kept = *c->node->kept;
    struct node open = *c->node;
    const struct node *node = c->node;

    /* That it is closed to everybody has a check of its own, and would be the answer to all. */
    if (code != WAIT_NODE_CORDONED &&
        (open_kept.cordoned || open_kept.draining || !node->in_shard)) {
        open_kept.cordoned = open_kept.draining = false;
        open.kept = &open_kept;
        open.in_shard = true;
        node = &open;
    }
    if (fit_coming(c->s, &only, node) == code)
        detail_of(c->s->model, &only, node, code, c->arena, &check->result);
    mem_free(only.verdicts);
}

static void check_state(struct checks *c)
{
    const struct berth_node *kept = c->node->kept;
    struct berth_check *check = add(c, "ready");
    struct berth_task_group spec = bare(c);

    check->result.wants = node_state_words[NODE_READY];
    check->result.has = node_state_words[kept->state];
    if (!node_takes_work(kept->state))
        check->result.code = WAIT_NODE_NOT_READY;
    if (kept->cordoned || kept->draining)
        check_spec(c, "cordon", &spec, WAIT_NODE_CORDONED);
}

static void check_labels(struct checks *c)
{
    const struct berth_labels *wanted = &c->kind->spec->node_selector;

    for (size_t i = 0; i < wanted->n; i++) {
        const struct berth_label *label = &wanted->at[i];
        struct berth_task_group spec = bare(c);
        struct berth_node_reason *result;
        spec.node_selector = (struct berth_labels){ label, 1 };
        check_spec(c, arena_format(c->arena, "label %s", label->key), &spec, WAIT_LABEL_MISMATCH);
        result = &c->list.at[c->list.n - 1].result;
        if (!result->code)
            result->wants = result->has = arena_format(c->arena, "%s=%s", label->key, label->value);
    }
}

static void check_taints(struct checks *c)
{
    struct berth_task_group spec = bare(c);

    if (c->node->kept->n_taints)
        check_spec(c, "taints", &spec, WAIT_TAINT_NOT_TOLERATED);
}

static void check_volumes(struct checks *c)
{
    const struct berth_words *volumes = &c->kind->spec->volumes;

    for (size_t i = 0; i < volumes->n; i++) {
        struct berth_task_group spec = bare(c);
        spec.volumes = (struct berth_words){ &volumes->at[i], 1 };
        check_spec(c, arena_format(c->arena, "volume %s", volumes->at[i]), &spec,
                   WAIT_VOLUME_ABSENT);
    }
}

static void check_ports(struct checks *c)
{
    const struct berth_task_group *from = c->kind->spec;

    for (size_t i = 0; i < from->n_host_ports; i++) {
        struct berth_task_group spec = bare(c);
        spec.host_ports = &from->host_ports[i];
        spec.n_host_ports = 1;
        check_spec(c, arena_format(c->arena, "port %u", from->host_ports[i]), &spec,
                   WAIT_PORT_TAKEN);
    }
}

static void check_single(struct checks *c)
{
    const struct berth_task_group *from = c->kind->spec;
    struct berth_task_group spec = bare(c);

    spec.pinned_to = from->pinned_to;
    if (from->pinned_to)
        check_spec(c, "node", &spec, WAIT_NODE_PINNED);
    spec = bare(c);
    spec.capability = from->capability;
    if (from->capability)
        check_spec(c, "capability", &spec, WAIT_VERSION_MISSING);
    check_labels(c);
    check_taints(c);
    spec = bare(c);
    spec.affinity = from->affinity;
    spec.labels = from->labels;
    if (from->affinity)
        check_spec(c, "affinity", &spec, WAIT_AFFINITY);
    check_ports(c);
    check_volumes(c);
}

static bool is_accounted_for(const struct checks *c, enum wait_code code)
{
    for (size_t i = 0; i < c->list.n; i++)
        if (c->list.at[i].result.code == code)
            return true;
    return false;
}

/* What the task as a whole fails by and nothing above does: pool, zone, shard, a plugin's own. */
static void check_rest(struct checks *c)
{
    enum wait_code code = fit_predicate(c->s, c->kind, c->node);
    struct berth_check *check;

    if (!code || is_accounted_for(c, code))
        return;
    check = add(c, "constraint");
    detail_of(c->s->model, c->kind, c->node, code, c->arena, &check->result);
}

static void check_amounts(struct checks *c)
{
    const struct model *model = c->s->model;
    fail_t fail = explain_fail(c->s, c->kind, c->node);

    for (size_t i = 0; i < c->kind->asks.n; i++) {
        uint32_t dim = c->kind->asks.at[i].dim;
        const struct column *column = &model->columns[dim];
        struct berth_check *check;
        if (dim == DIM_PODS && column->offers[c->node->at] == UNLIMITED)
            continue;
        check = add(c, arena_text(c->arena, model->dims.at[dim]->name));
        detail_of_dim(model, c->kind, c->node, dim, c->arena, &check->result);
        if (fail != FAIL_NONE && (fail == FAIL_DIM + dim ||
                                  c->kind->asks.at[i].value > column_idle(column, c->node->at) ||
                                  c->kind->asks.at[i].value > column_future(column, c->node->at)))
            check->result.code = model->dims.at[dim]->code;
    }
}

/* NOLINTNEXTLINE(readability-function-size) a task, a node, and a list that comes back */
int berth_engine_checks(struct berth_engine *engine, const struct berth_cycle_in *in,
                        const struct berth_task_ref *ref, const char *id, struct arena *arena,
                        const struct berth_check **out, size_t *n, struct err *err)
{
    CLEANUP(berth_decisions_free) struct berth_decisions decisions = { 0 };
    struct model *model = engine_model(engine);
    struct task *task = task_named(model, ref, err);
    struct node *node = task ? node_named(model, id, err) : NULL;
    struct checks c = { .arena = arena, .node = node };

    if (!node)
        return -ENOENT;
    c.kind = task->group->kind;
    c.s = explain_run(engine, in, task, &decisions);
    check_state(&c);
    check_single(&c);
    check_rest(&c);
    check_amounts(&c);
    session_close(c.s);
    *out = arena_copy(arena, c.list.at, c.list.n * sizeof(*c.list.at));
    *n = c.list.n;
    VEC_FINI(&c.list);
    return 0;
}
