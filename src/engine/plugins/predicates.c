/*
 * Predicates: the constraints that a task puts on its node: labels, taints, cordon, version,
 * volumes, ports, and the company it keeps (affinity to other tasks, and spread among them).
 *
 * What goes by a node's fixed properties is asked once for each class of nodes. Affinity between
 * tasks goes by what runs elsewhere, so kinds that it touches are not kept.
 */
#include <string.h>

#include "base/str.h"
#include "engine/claims.h"
#include "engine/company.h"
#include "engine/devices.h"
#include "engine/match.h"
#include "engine/plugins.h"
#include "engine/spread.h"
#include "engine/terms.h"

struct arguments {
    bool node_affinity, node_ports, taint_toleration, pod_affinity, claims, spread;
    bool ignored;
    int64_t ignored_number;
    const struct berth_value *ignored_value;
};

static const struct argument known[] = {
    { "predicate.NodeAffinityEnable", ARG_TRUTH, offsetof(struct arguments, node_affinity) },
    { "predicate.NodePortsEnable", ARG_TRUTH, offsetof(struct arguments, node_ports) },
    { "predicate.TaintTolerationEnable", ARG_TRUTH, offsetof(struct arguments, taint_toleration) },
    { "predicate.PodAffinityEnable", ARG_TRUTH, offsetof(struct arguments, pod_affinity) },
    { "predicate.NodeVolumeLimitsEnable", ARG_TRUTH, offsetof(struct arguments, ignored) },
    { "predicate.VolumeZoneEnable", ARG_TRUTH, offsetof(struct arguments, ignored) },
    { "predicate.PodTopologySpreadEnable", ARG_TRUTH, offsetof(struct arguments, spread) },
    { "predicate.VolumeBindingEnable", ARG_TRUTH, offsetof(struct arguments, ignored) },
    { "predicate.DynamicResourceAllocationEnable", ARG_TRUTH, offsetof(struct arguments, claims) },
    { "predicate.CacheEnable", ARG_TRUTH, offsetof(struct arguments, ignored) },
    { "volumebinding.bindTimeoutSeconds", ARG_INT, offsetof(struct arguments, ignored_number) },
    { "volumebinding.weight", ARG_INT, offsetof(struct arguments, ignored_number) },
    { "volumebinding.shape", ARG_ANY, offsetof(struct arguments, ignored_value) },
    { "dynamicresources.filterTimeoutSeconds", ARG_INT,
      offsetof(struct arguments, ignored_number) },
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);

    *a = (struct arguments){ true, true, true, true, true, true, false, 0, NULL };
    *out = a;
    return arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
}

static const struct berth_taint unschedulable = { "node.kubernetes.io/unschedulable", "",
                                                  BERTH_NO_SCHEDULE };

static bool names_node(const struct berth_affinity *affinity)
{
    for (size_t i = 0; affinity && i < affinity->n_node_required; i++)
        for (size_t k = 0; k < affinity->node_required[i].selector.n_matches; k++)
            if (text_eq(affinity->node_required[i].selector.matches[k].key, "metadata.name"))
                return true;
    return false;
}

static bool node_terms_hold(const struct berth_affinity *affinity, const struct node *node)
{
    for (size_t i = 0; i < affinity->n_node_required; i++)
        if (selector_holds(&affinity->node_required[i].selector, &node->kept->labels, node->id))
            return true;
    return affinity->n_node_required == 0;
}

static bool taints_hold(const struct kind *kind, const struct node *node)
{
    for (size_t i = 0; i < node->kept->n_taints; i++) {
        const struct berth_taint *taint = &node->kept->taints[i];
        if (taint->effect != BERTH_PREFER_NO_SCHEDULE &&
            !taint_is_tolerated(taint, kind->spec->tolerations, kind->spec->n_tolerations))
            return false;
    }
    return true;
}

static bool volumes_hold(const struct kind *kind, const struct node *node)
{
    for (size_t i = 0; i < kind->spec->volumes.n; i++)
        if (!words_have(&node->kept->volumes, kind->spec->volumes.at[i]))
            return false;
    return true;
}

static enum wait_code predicate_fixed(struct session *s, struct plugin_use *use,
                                      const struct kind *kind, const struct node *node)
{
    const struct arguments *a = use->config;
    const struct berth_task_group *spec = kind->spec;

    (void)s;
    if (node->kept->cordoned &&
        !taint_is_tolerated(&unschedulable, spec->tolerations, spec->n_tolerations))
        return WAIT_NODE_CORDONED;
    if (spec->capability && !words_have(&node->kept->capabilities, spec->capability))
        return WAIT_VERSION_MISSING;
    if (a->node_affinity && !labels_hold(&spec->node_selector, &node->kept->labels))
        return WAIT_LABEL_MISMATCH;
    if (a->taint_toleration && !taints_hold(kind, node))
        return WAIT_TAINT_NOT_TOLERATED;
    if (spec->image && node->kept->image_folders.n &&
        !path_is_below(spec->image, &node->kept->image_folders))
        return WAIT_IMAGE_NOT_ALLOWED;
    if (a->node_affinity && spec->affinity && !names_node(spec->affinity) &&
        !node_terms_hold(spec->affinity, node))
        return WAIT_AFFINITY;
    if (!volumes_hold(kind, node))
        return WAIT_VOLUME_ABSENT;
    return WAIT_NONE;
}

/* --- Ports */

static bool uses_port(const struct task *task, uint16_t port)
{
    const struct berth_task_group *spec = task->group->spec;

    for (size_t i = 0; i < spec->n_host_ports; i++)
        if (spec->host_ports[i] == port)
            return true;
    return false;
}

/*
 * Whether what is decided reckons without those who were evicted in this session. In profile `volcano` a dry
 * run's removals are seen only by plugins one of these two hooks of which is on.
 */
static bool sees_leaving(const struct session *s, const struct plugin_use *use)
{
    const uint32_t seen =
        BERTH_HOOK_BIT(BERTH_HOOK_PREEMPTABLE) | BERTH_HOOK_BIT(BERTH_HOOK_ALLOCATABLE);

    return !s->is_dry_run || !s->setup->is_reference || (use->enabled & seen);
}

static bool is_leaving(const struct session *s, const struct plugin_use *use,
                       const struct task *task)
{
    return sees_leaving(s, use) && task->state == BERTH_TASK_RELEASING && task->evicted;
}

static bool port_is_taken(const struct session *s, const struct plugin_use *use,
                          const struct berth_task_group *spec, const struct node *node)
{
    for (size_t i = 0; i < spec->n_host_ports; i++)
        VEC_EACH (task, &node->tasks)
            if (!is_leaving(s, use, *task) && uses_port(*task, spec->host_ports[i]))
                return true;
    return false;
}

/* --- Affinity between tasks */

static bool is_in_company(struct session *s, const struct plugin_use *use, const struct kind *kind,
                          const struct node *node)
{
    return company_holds(s, (struct kind *)kind, node, !sees_leaving(s, use));
}

static bool has_company(struct session *s, const struct kind *kind)
{
    return company_matters(s, (struct kind *)kind);
}

static bool is_local_but_for_company(struct session *s, struct plugin_use *use,
                                     const struct kind *kind)
{
    const struct arguments *a = use->config;

    (void)s;
    return !(a->claims && kind->spec->claims.n) && !(a->spread && spread_is_asked(kind));
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    const struct arguments *a = use->config;

    return (!a->pod_affinity || !has_company(s, kind)) && is_local_but_for_company(s, use, kind);
}

/* What is looked for once, as of some touch. */
struct looked {
    struct holders *holders;
    struct spread *spread;
};

static struct looked *looked_of(struct session *s, struct plugin_use *use)
{
    if (!use->state)
        use->state = ARENA_NEW0(&s->arena, struct looked);
    return use->state;
}

/* On which nodes claims that a kind names are met, as of some touch. */
struct holders {
    const struct kind *kind;
    uint64_t read;
    bool is_dry_run;
    const struct node *one; /* NULL: on none */
    bool are_more;
};

static bool meets_a_claim(const struct kind *there, const struct kind *kind)
{
    if (!there->spec->claims.n || strcmp(there->namespace_, kind->namespace_) != 0)
        return false;
    for (size_t i = 0; i < kind->spec->claims.n; i++)
        if (words_have(&there->spec->claims, kind->spec->claims.at[i]))
            return true;
    return false;
}

static void find_holders(struct session *s, const struct plugin_use *use, struct holders *holders)
{
    NODE_EACH (node, s->model) {
        bool meets = false;
        for (size_t i = 0; i < node->tasks.n && !meets; i++)
            meets = meets_a_claim(node->tasks.at[i]->group->kind, holders->kind) &&
                    !is_leaving(s, use, node->tasks.at[i]);
        holders->are_more = holders->are_more || (meets && holders->one);
        holders->one = meets ? node : holders->one;
    }
}

/*
 * Whether a claim that the kind names is met on another node: its devices are there. Each node is
 * asked about in turn, so who holds them is looked for once, as long as no node is touched.
 */
static bool claims_are_elsewhere(struct session *s, struct plugin_use *use, const struct kind *kind,
                                 const struct node *node)
{
    uint64_t now = s->model->touched_base + s->model->touched.n;
    struct looked *looked = looked_of(s, use);
    struct holders *holders = looked->holders;

    if (!holders)
        holders = looked->holders = ARENA_NEW0(&s->arena, struct holders);
    if (holders->kind != kind || holders->read != now || holders->is_dry_run != s->is_dry_run ||
        s->in.is_cold) {
        *holders = (struct holders){ .kind = kind, .read = now, .is_dry_run = s->is_dry_run };
        find_holders(s, use, holders);
    }
    return holders->are_more || (holders->one && holders->one != node);
}

/* Whether the node has the devices that its tasks' claims and these stand for; `is_empty`: as if it had none. */
static bool claims_hold(struct session *s, const struct plugin_use *use, const struct kind *kind,
                        const struct node *node, bool is_empty)
{
    CLEANUP(claims_fini) struct claims claims = { 0 };
    const struct berth_amounts *has = &node->kept->device_classes;
    int64_t met = 0;

    for (size_t i = 0; i < node->tasks.n && !is_empty; i++)
        if (!is_leaving(s, use, node->tasks.at[i]))
            claims_add(s, &claims, node->tasks.at[i]->group->kind);
    claims_add(s, &claims, kind);
    for (size_t i = 0; i < has->n; i++) {
        int64_t n = claims_count(&claims, has->at[i].name);
        if ((wide)n * DEVICE_MILLI > has->at[i].value)
            return false;
        met += n;
    }
    for (size_t i = 0; i < claims.list.n; i++)
        met -= claims.list.at[i]->count;
    return met == 0 && !claims.has_unknown; /* each claim is of a class that the node has */
}

static bool minds(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    (void)use;
    return names_node(kind->spec->affinity) || has_company(s, kind) || spread_is_asked(kind) ||
           kind->spec->n_host_ports || kind->spec->claims.n;
}

static bool minds_leaving(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    (void)s;
    (void)use;
    return (kind->spec->affinity && kind->spec->affinity->n_pod_required) ||
           spread_is_asked(kind) || kind->spec->claims.n;
}

static bool relies(struct session *s, struct plugin_use *use, const struct task *task,
                   bool counts_leaving)
{
    const struct arguments *a = use->config;

    return a->pod_affinity && !company_is_there(s, task, counts_leaving);
}

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    const struct arguments *a = use->config;
    const struct berth_affinity *affinity = kind->spec->affinity;

    if (a->node_affinity && affinity && names_node(affinity) && !node_terms_hold(affinity, node))
        return WAIT_AFFINITY;
    if (a->pod_affinity && has_company(s, kind) && !is_in_company(s, use, kind, node))
        return WAIT_AFFINITY;
    if (a->spread && spread_is_asked(kind) &&
        !spread_holds(s, &looked_of(s, use)->spread, kind, node))
        return WAIT_AFFINITY;
    if (a->node_ports && kind->spec->n_host_ports && port_is_taken(s, use, kind->spec, node))
        return WAIT_PORT_TAKEN;
    if (a->claims && kind->spec->claims.n &&
        (!claims_hold(s, use, kind, node, false) || claims_are_elsewhere(s, use, kind, node)))
        return WAIT_CLAIM_ABSENT;
    return WAIT_NONE;
}

/* Whether the company that it needs could ever stand there. */
static bool lacks_topology(const struct kind *kind, const struct node *node)
{
    const struct berth_affinity *a = kind->spec->affinity;

    for (size_t i = 0; i < a->n_pod_required; i++)
        if (!term_value(&a->pod_required[i], node))
            return true;
    return false;
}

static bool never(struct session *s, struct plugin_use *use, const struct kind *kind,
                  const struct node *node)
{
    const struct arguments *a = use->config;
    const struct berth_affinity *affinity = kind->spec->affinity;

    if (affinity && a->node_affinity && names_node(affinity) && !node_terms_hold(affinity, node))
        return true;
    if (affinity && a->pod_affinity && lacks_topology(kind, node))
        return true;
    if (a->spread && spread_is_asked(kind) && !spread_has_parts(kind, node))
        return true;
    return a->claims && kind->spec->claims.n && !claims_hold(s, use, kind, node, true);
}

static bool share_port(const struct berth_task_group *a, const struct berth_task_group *b)
{
    for (size_t i = 0; i < a->n_host_ports; i++)
        for (size_t k = 0; k < b->n_host_ports; k++)
            if (a->host_ports[i] == b->host_ports[k])
                return true;
    return false;
}

/* Whether one that stands on a node wants none of the other kind on that one. */
static bool shuns(const struct kind *kind, const struct node *on, const struct kind *other,
                  const struct node *there)
{
    const struct berth_affinity *a = kind->spec->affinity;

    for (size_t i = 0; a && i < a->n_anti_required; i++)
        if (term_means(&a->anti_required[i], kind, other) &&
            term_joins(&a->anti_required[i], on, there))
            return true;
    return false;
}

static bool excludes(struct session *s, struct plugin_use *use, const struct kind *a,
                     const struct node *on_a, const struct kind *b, const struct node *on_b)
{
    const struct arguments *args = use->config;

    (void)s;
    return (args->node_ports && on_a == on_b && share_port(a->spec, b->spec)) ||
           (args->pod_affinity && (shuns(a, on_a, b, on_b) || shuns(b, on_b, a, on_a)));
}

const struct plugin plugin_predicates = {
    .name = "predicates",
    .sees_lines = true,
    .configure = configure,
    .is_local = is_local,
    .is_local_but_for_company = is_local_but_for_company,
    .predicate_fixed = predicate_fixed,
    .predicate = predicate,
    .never = never,
    .excludes = excludes,
    .minds = minds,
    .minds_leaving = minds_leaving,
    .relies = relies,
};
