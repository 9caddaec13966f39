/* What a document says of the cluster: queues, nodes, domains, pools, quotas, claims. */
#include <string.h>

#include "base/states.h"
#include "scenario/inside.h"

enum { DEVICE_MILLI = 1000, NODE_WEIGHT = 100 };

#define NO_PARENT SIZE_MAX

/* The i-th of a list of named objects; false and refused if it has no name, or a second one's. */
static bool take_member(const struct json_at *list, size_t i, const struct json_key *keys,
                        size_t n_keys, struct json_at *at)
{
    *at = json_at_item(list, i);
    return json_check_object(at, keys, n_keys);
}

static bool take_own_name(const struct json_at *at, const char **name)
{
    if (!json_object_get(at->value, "name")) {
        json_refuse(at, PROBLEM_INVALID_FIELD, "a name is needed");
        return false;
    }
    return take_name(at, "name", NULL, name);
}

static void take_groups(struct reader *r, const struct json_at *up, const char *key,
                        struct berth_words *required, struct berth_words *preferred)
{
    static const struct json_key keys[] = { KEY("required"), KEY("preferred") };
    struct json_at at = json_at_member(up, key);

    if (!at.value || !CHECK_KEYS(&at, keys))
        return;
    take_words(r, &at, "required", required);
    take_words(r, &at, "preferred", preferred);
}

static void take_group_limits(struct reader *r, const struct json_at *up, struct berth_queue *out)
{
    struct json_at object = json_at_member(up, "nodeGroupLimits");
    struct berth_group_limit *limits;
    const char *name;
    json_t *value;
    size_t n = 0;

    if (!object.value)
        return;
    if (!json_is_object(object.value)) {
        json_refuse(&object, PROBLEM_INVALID_FIELD, "must be an object of amounts");
        return;
    }
    limits = ARENA_NEW0_N(r->arena, struct berth_group_limit, json_object_size(object.value) + 1);
    json_object_foreach((json_t *)object.value, name, value)
    {
        limits[n].node_group = name;
        take_amounts(r, &object, name, &limits[n++].limit);
    }
    out->group_limits = limits;
    out->n_group_limits = n;
}

static void take_queue_state(const struct json_at *at, struct berth_queue *out)
{
    static const char *const words[] = { "open", "draining", "closing", "closed", "unknown" };
    static const enum queue_state states[] = { QUEUE_OPEN, QUEUE_DRAINING, QUEUE_DRAINING,
                                               QUEUE_CLOSED, QUEUE_CLOSED };
    int state;

    if (json_get_word(at, "state", words, COUNT_OF(words), &state))
        out->state = states[state];
}

static void read_queue(struct scenario *s, struct reader *r, const struct json_at *at,
                       struct berth_queue *out)
{
    static const char *const preemption_words[] = { "allowed", "never" };
    struct json_at name = json_at_member(at, "name");
    bool reclaimable = true;
    int preemption;

    if (!take_own_name(at, &out->name) || !known_once(&s->queue_by_name, out->name, out, &name))
        return;
    take_name(at, "parent", NULL, &out->parent);
    take_i32(at, "weight", 0, &out->weight);
    take_i32(at, "priority", INT32_MIN, &out->priority);
    take_amounts(r, at, "capability", &out->capability);
    out->has_deserved = take_amounts(r, at, "deserved", &out->deserved);
    take_amounts(r, at, "guarantee", &out->guarantee);
    json_get_bool(at, "reclaimable", &reclaimable);
    out->not_reclaimable = !reclaimable;
    take_queue_state(at, out);
    if (json_get_word(at, "preemption", preemption_words, COUNT_OF(preemption_words), &preemption))
        out->never_preempts = preemption == 1;
    out->min_runtime_ms = -1;
    take_duration(at, "minRuntime", &out->min_runtime_ms);
    take_text(at, "hierarchy", &out->hierarchy);
    take_text(at, "hierarchyWeights", &out->hierarchy_weights);
    take_groups(r, at, "nodeGroupAffinity", &out->group_required, &out->group_preferred);
    take_groups(r, at, "nodeGroupAntiAffinity", &out->group_anti_required,
                &out->group_anti_preferred);
    take_group_limits(r, at, out);
    scenario_add(s, BERTH_QUEUE, out);
}

/* Whether more stand above than may. Those in a circle hang under the top: see the engine. */
static bool is_too_deep(struct scenario *s, const char *parent)
{
    const struct berth_queue *above[QUEUE_DEPTH_MAX], *queue;
    size_t n = 0;

    for (; parent && (queue = map_get(&s->queue_by_name, parent)); parent = queue->parent) {
        for (size_t i = 0; i < n; i++)
            if (above[i] == queue)
                return false;
        if (n == QUEUE_DEPTH_MAX)
            return true;
        above[n++] = queue;
    }
    return false;
}

static void check_depths(struct scenario *s, const struct json_at *list)
{
    for (size_t i = 0; i < json_array_size(list->value); i++) {
        struct json_at item = json_at_item(list, i), at = json_at_member(&item, "parent");

        if (is_too_deep(s, json_string_value(at.value)))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "more than %d queues stand above it",
                        QUEUE_DEPTH_MAX);
    }
}

void read_queues(struct scenario *s, struct reader *r, const struct json_at *top)
{
    static const struct json_key keys[] = {
        KEY("name"),
        KEY("parent"),
        KEY("weight"),
        KEY("priority"),
        KEY("capability"),
        KEY("deserved"),
        KEY("guarantee"),
        KEY("reclaimable"),
        KEY("state"),
        KEY("hierarchy"),
        KEY("hierarchyWeights"),
        KEY("nodeGroupAffinity"),
        KEY("nodeGroupAntiAffinity"),
        KEY("nodeGroupLimits"),
        KEY("minRuntime"),
        KEY("preemption"),
        KEY("seq"),
    };
    struct json_at list, at;
    size_t n;

    if (!take_list(top, "queues", &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct berth_queue *queue = ARENA_NEW0(r->arena, struct berth_queue);
        queue->seq = i + 1;
        if (!take_member(&list, i, keys, COUNT_OF(keys), &at))
            continue;
        take_u64(&at, "seq", &queue->seq);
        read_queue(s, r, &at, queue);
    }
    check_depths(s, &list);
}

static const char *const effect_words[] = { [BERTH_NO_SCHEDULE] = "NoSchedule",
                                            [BERTH_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
                                            [BERTH_NO_EXECUTE] = "NoExecute" };

static void take_taints(struct reader *r, const struct json_at *up, struct berth_node *out)
{
    static const struct json_key keys[] = { KEY("key"), KEY("value"), KEY("effect") };
    struct berth_taint *taints;
    struct json_at list, at;
    size_t n;

    if (!take_list(up, "taints", &list, &n))
        return;
    taints = ARENA_NEW0_N(r->arena, struct berth_taint, n + 1);
    for (size_t i = 0; i < n; i++) {
        int effect = BERTH_NO_SCHEDULE;
        taints[i].key = "";
        if (!take_member(&list, i, keys, COUNT_OF(keys), &at))
            continue;
        take_name(&at, "key", NULL, &taints[i].key);
        take_text(&at, "value", &taints[i].value);
        json_get_word(&at, "effect", effect_words, COUNT_OF(effect_words), &effect);
        taints[i].effect = (enum berth_effect)effect;
    }
    out->taints = taints;
    out->n_taints = n;
}

/* What the node keeps for itself is taken off what it offers. */
static void take_offers(struct reader *r, const struct json_at *at, struct berth_node *out)
{
    struct berth_amounts reserved = { 0 };
    struct berth_amount *offers;

    take_amounts(r, at, "resources", &out->offers);
    if (!take_amounts(r, at, "reserved", &reserved))
        return;
    offers = ARENA_NEW0_N(r->arena, struct berth_amount, out->offers.n + 1);
    for (size_t i = 0; i < out->offers.n; i++) {
        offers[i] = out->offers.at[i];
        for (size_t j = 0; j < reserved.n; j++)
            if (strcmp(offers[i].name, reserved.at[j].name) == 0)
                offers[i].value = offers[i].value > reserved.at[j].value
                                      ? offers[i].value - reserved.at[j].value
                                      : 0;
    }
    out->offers.at = offers;
}

static void take_state(const struct json_at *at, struct berth_node *out)
{
    static const char *const words[] = { "available", "pending", "cordoned", "lost" };
    static const enum node_state states[] = { NODE_READY, NODE_COMING, NODE_READY, NODE_LOST };
    bool is_ready = true;
    int state = 0;

    json_get_word(at, "state", words, COUNT_OF(words), &state);
    json_get_bool(at, "ready", &is_ready);
    json_get_bool(at, "unschedulable", &out->cordoned);
    out->state = states[state] == NODE_READY && !is_ready ? NODE_UNREACHABLE : states[state];
    out->cordoned |= state == 2;
}

/* Adds what the node's devices make as a plain count. */
static void offer_devices(struct reader *r, struct known_node *known)
{
    struct berth_amounts *offers = &known->node.offers;
    struct berth_amount *with = ARENA_NEW0_N(r->arena, struct berth_amount, offers->n + 1);
    int64_t milli = 0;
    size_t n = 0;

    for (size_t i = 0; i < known->n_devices; i++)
        milli += known->devices[i].unhealthy ? 0 : DEVICE_MILLI;
    for (size_t i = 0; i < offers->n; i++)
        if (strcmp(offers->at[i].name, "gpu") != 0)
            with[n++] = offers->at[i];
    with[n++] = (struct berth_amount){ "gpu", milli };
    *offers = (struct berth_amounts){ with, n };
}

static void read_devices(struct scenario *s, struct reader *r, const struct json_at *up,
                         struct known_node *known)
{
    static const struct json_key keys[] = { KEY("index"), KEY("model"), KEY("memory"),
                                            KEY("healthy"), KEY("uuid") };
    struct json_at list, at;
    size_t n;

    if (!take_list(up, "gpus", &list, &n))
        return;
    known->devices = ARENA_NEW0_N(r->arena, struct berth_device, n + 1);
    known->n_devices = n;
    for (size_t i = 0; i < n; i++) {
        struct berth_device *device = &known->devices[i];
        bool healthy = true;
        *device = (struct berth_device){
            .node = known->node.id, .class_name = "gpu", .index = (uint32_t)i, .uuid = ""
        };
        if (!take_member(&list, i, keys, COUNT_OF(keys), &at))
            continue;
        take_u32(&at, "index", &device->index);
        device->uuid = arena_format(r->arena, "%u", device->index);
        take_name(&at, "uuid", NULL, &device->uuid);
        take_text(&at, "model", &device->model);
        take_quantity(&at, "memory", QUANTITY_BYTES, &device->memory);
        json_get_bool(&at, "healthy", &healthy);
        device->unhealthy = !healthy;
        scenario_add(s, BERTH_DEVICE, device);
    }
    offer_devices(r, known);
}

static void read_usage(struct scenario *s, struct reader *r, const struct json_at *up,
                       const char *node)
{
    static const struct json_key keys[] = { KEY("cpu"), KEY("memory"), KEY("ageSeconds") };
    struct json_at at = json_at_member(up, "usage");
    struct berth_measure *measure;
    int64_t age_ms = 0;

    if (!at.value || !CHECK_KEYS(&at, keys))
        return;
    measure = ARENA_NEW0(r->arena, struct berth_measure);
    measure->node = node;
    json_get_real(&at, "cpu", 0, 1e6, &measure->cpu_percent);
    json_get_real(&at, "memory", 0, 1e6, &measure->memory_percent);
    take_seconds(&at, "ageSeconds", &age_ms);
    measure->measured_at_ms = r->now_ms - age_ms;
    scenario_add(s, BERTH_MEASURE, measure);
}

/* Devices of classes that claims take are counted in the document, and in thousandths here. */
static void take_device_classes(struct reader *r, const struct json_at *up, struct berth_node *out)
{
    struct json_at object = json_at_member(up, "devices");
    const char *name;
    json_t *value;

    if (!take_amounts(r, up, "devices", &out->device_classes))
        return;
    json_object_foreach((json_t *)object.value, name, value)
    {
        struct json_at at = json_at_member(&object, name);
        if (!json_is_integer(value))
            json_refuse(&at, PROBLEM_INVALID_FIELD, "must be a whole number of devices");
    }
}

static void read_node(struct scenario *s, struct reader *r, const struct json_at *at,
                      struct known_node *known)
{
    struct berth_node *out = &known->node;
    struct json_at name = json_at_member(at, "name");
    int64_t age_ms = 0;

    if (!take_own_name(at, &out->id) || !known_once(&s->node_by_name, out->id, known, &name))
        return;
    VEC_PUSH(&s->nodes, known);
    take_state(at, out);
    take_u64(at, "generation", &out->generation);
    take_u64(at, "facts", &out->facts);
    take_name(at, "pool", NULL, &out->pool);
    take_labels(r, at, "labels", &out->labels);
    take_taints(r, at, out);
    take_words(r, at, "capabilities", &out->capabilities);
    take_offers(r, at, out);
    take_device_classes(r, at, out);
    out->weight = NODE_WEIGHT;
    take_i32(at, "weight", INT32_MIN, &out->weight);
    take_text(at, "gpuModel", &out->gpu_model);
    take_name(at, "owner", NULL, &out->owner);
    json_get_bool(at, "managed", &out->managed);
    take_name(at, "runtime", NULL, &out->runtime);
    take_amounts(r, at, "rented", &out->rented);
    take_name(at, "nodeGroup", NULL, &out->node_group);
    take_name(at, "revocableZone", NULL, &out->revocable_zone);
    take_words(r, at, "volumes", &out->volumes);
    take_numbers(r, at, "cores", &out->cores);
    take_seconds(at, "heartbeatAgeSeconds", &age_ms);
    out->heard_at_ms = r->now_ms - age_ms;
    if (!out->heard_at_ms && age_ms)
        out->heard_at_ms = 1; /* 1970 itself; 0 means "not said" to the engine */
    read_devices(s, r, at, known);
    scenario_add(s, BERTH_NODE, out);
    read_usage(s, r, at, out->id);
}

void read_nodes(struct scenario *s, struct reader *r, const struct json_at *top)
{
    static const struct json_key keys[] = {
        KEY("name"),
        KEY("resources"),
        KEY("labels"),
        KEY("unschedulable"),
        KEY("ready"),
        KEY("taints"),
        KEY("pool"),
        KEY("weight"),
        KEY("gpuModel"),
        KEY("capabilities"),
        KEY("nodeGroup"),
        KEY("revocableZone"),
        KEY("devices"),
        KEY("usage"),
        KEY("state"),
        KEY("owner"),
        KEY("managed"),
        KEY("runtime"),
        KEY("heartbeatAgeSeconds"),
        KEY("rented"),
        KEY("reserved"),
        KEY("cores"),
        KEY("gpus"),
        KEY("volumes"),
        KEY("seq"),
        KEY("generation"),
        KEY("facts"),
    };
    struct json_at list, at;
    size_t n;

    if (!take_list(top, "nodes", &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct known_node *known = ARENA_NEW0(r->arena, struct known_node);
        known->node.seq = i + 1;
        if (!take_member(&list, i, keys, COUNT_OF(keys), &at))
            continue;
        take_u64(&at, "seq", &known->node.seq);
        read_node(s, r, &at, known);
    }
}

/* The place of each domain's parent: the first that lists it; NO_PARENT. */
static size_t *parents_of(struct scenario *s, struct arena *arena)
{
    size_t *parents = ARENA_NEW0_N(arena, size_t, s->domains.n + 1);
    struct map places = { 0 };

    for (size_t i = 0; i < s->domains.n; i++) {
        parents[i] = NO_PARENT;
        map_put(&places, s->domains.at[i]->name, &parents[i]);
    }
    for (size_t i = 0; i < s->domains.n; i++)
        for (size_t k = 0; k < s->domains.at[i]->children.n; k++) {
            size_t *parent = map_get(&places, s->domains.at[i]->children.at[k]);
            if (parent && *parent == NO_PARENT)
                *parent = i;
        }
    map_fini(&places);
    return parents;
}

/* Each way up ends; the first domain of each loop is refused. `rows`: where each stands in the
 * list. */
static void refuse_loops(struct scenario *s, struct reader *r, const struct json_at *list,
                         const size_t *rows)
{
    const size_t *parents = parents_of(s, r->arena);
    size_t *seen = ARENA_NEW0_N(r->arena, size_t, s->domains.n + 1); /* by whose walk, from 1 */

    for (size_t i = 0; i < s->domains.n; i++) {
        size_t at = i;

        while (at != NO_PARENT && !seen[at]) {
            seen[at] = i + 1;
            at = parents[at];
        }
        if (at != NO_PARENT && seen[at] == i + 1) {
            struct json_at item = json_at_item(list, rows[at]);
            struct json_at children = json_at_member(&item, "children");
            json_refuse(&children, PROBLEM_INVALID_FIELD,
                        "lead back to \"%.80s\": a domain cannot be beneath itself",
                        s->domains.at[at]->name);
        }
    }
}

void read_domains(struct scenario *s, struct reader *r, const struct json_at *top)
{
    static const struct json_key keys[] = { KEY("name"), KEY("tier"), KEY("tierName"), KEY("nodes"),
                                            KEY("children") };
    struct json_at list, at, name;
    struct map names = { 0 };
    size_t n, *rows;

    if (!take_list(top, "hyperNodes", &list, &n))
        return;
    rows = ARENA_NEW0_N(r->arena, size_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct berth_domain *domain = ARENA_NEW0(r->arena, struct berth_domain);
        domain->seq = i + 1;
        if (!take_member(&list, i, keys, COUNT_OF(keys), &at) || !take_own_name(&at, &domain->name))
            continue;
        name = json_at_member(&at, "name");
        if (!known_once(&names, domain->name, domain, &name))
            continue;
        rows[s->domains.n] = i;
        take_i32(&at, "tier", INT32_MIN, &domain->tier);
        take_name(&at, "tierName", NULL, &domain->tier_name);
        take_words(r, &at, "nodes", &domain->nodes);
        take_words(r, &at, "children", &domain->children);
        VEC_PUSH(&s->domains, domain);
        scenario_add(s, BERTH_DOMAIN, domain);
    }
    map_fini(&names);
    refuse_loops(s, r, &list, rows);
}

static void read_failover(struct scenario *s, struct reader *r, const struct json_at *top)
{
    struct json_at object = json_at_member(top, "failover");
    const char *model;
    json_t *value;

    if (!object.value)
        return;
    if (!json_is_object(object.value)) {
        json_refuse(&object, PROBLEM_INVALID_FIELD, "must be an object of lists");
        return;
    }
    json_object_foreach((json_t *)object.value, model, value)
    {
        struct berth_chain *chain = ARENA_NEW0(r->arena, struct berth_chain);
        chain->model = model;
        take_words(r, &object, model, &chain->pools);
        scenario_add(s, BERTH_CHAIN, chain);
    }
}

static void read_pool(struct scenario *s, struct reader *r, const struct json_at *at,
                      struct berth_pool *out)
{
    struct json_at name = json_at_member(at, "name");
    int64_t backoff_ms = 0;

    if (!take_own_name(at, &out->name) || !known_once(&s->pool_by_name, out->name, out, &name))
        return;
    take_i32(at, "priority", INT32_MIN, &out->priority);
    take_text(at, "gpuModel", &out->gpu_model);
    json_get_bool(at, "preemptible", &out->preemptible);
    json_get_bool(at, "requiresSelector", &out->requires_selector);
    json_get_bool(at, "requiresStorage", &out->requires_storage);
    json_get_bool(at, "private", &out->is_private);
    json_get_bool(at, "marketplace", &out->marketplace);
    json_get_bool(at, "provisions", &out->provisions);
    out->has_machine = take_amounts(r, at, "machine", &out->machine);
    if (take_u32(at, "maxMachines", &out->max_machines) && !out->max_machines)
        out->provisions = false; /* 0 written is none, left out it is no limit */
    take_seconds(at, "backoffSeconds", &backoff_ms);
    out->backoff_until_ms = backoff_ms ? r->now_ms + backoff_ms : 0;
    take_amounts(r, at, "minFree", &out->min_free);
    take_name(at, "runtime", NULL, &out->runtime);
    scenario_add(s, BERTH_POOL, out);
}

void read_pools(struct scenario *s, struct reader *r, const struct json_at *top)
{
    static const struct json_key keys[] = {
        KEY("name"),        KEY("priority"),         KEY("gpuModel"),
        KEY("preemptible"), KEY("requiresSelector"), KEY("requiresStorage"),
        KEY("private"),     KEY("marketplace"),      KEY("provisions"),
        KEY("machine"),     KEY("maxMachines"),      KEY("backoffSeconds"),
        KEY("minFree"),     KEY("runtime"),
    };
    struct json_at list, at;
    size_t n;

    read_failover(s, r, top);
    if (!take_list(top, "pools", &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct berth_pool *pool = ARENA_NEW0(r->arena, struct berth_pool);
        pool->seq = i + 1;
        if (take_member(&list, i, keys, COUNT_OF(keys), &at))
            read_pool(s, r, &at, pool);
    }
}

static void read_claims(struct scenario *s, struct reader *r, const struct json_at *top)
{
    static const struct json_key keys[] = { KEY("name"), KEY("namespace"), KEY("deviceClass"),
                                            KEY("count") };
    struct json_at list, at;
    size_t n;

    if (!take_list(top, "deviceClaims", &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct berth_claim *claim = ARENA_NEW0(r->arena, struct berth_claim);
        claim->namespace_ = "default";
        claim->count = 1;
        claim->device_class = "";
        if (!take_member(&list, i, keys, COUNT_OF(keys), &at) || !take_own_name(&at, &claim->name))
            continue;
        take_name(&at, "namespace", "/", &claim->namespace_);
        take_name(&at, "deviceClass", NULL, &claim->device_class);
        json_get_int(&at, "count", 0, QUANTITY_MAX / DEVICE_MILLI, &claim->count);
        scenario_add(s, BERTH_CLAIM, claim);
    }
}

void read_quotas(struct scenario *s, struct reader *r, const struct json_at *top)
{
    static const struct json_key keys[] = { KEY("name"), KEY("namespace"), KEY("hard") };
    struct json_at list, at, name;
    struct map names = { 0 };
    size_t n;

    read_claims(s, r, top);
    if (!take_list(top, "resourceQuotas", &list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        struct berth_quota *quota = ARENA_NEW0(r->arena, struct berth_quota);
        quota->namespace_ = "default";
        if (!take_member(&list, i, keys, COUNT_OF(keys), &at) || !take_own_name(&at, &quota->name))
            continue;
        take_name(&at, "namespace", "/", &quota->namespace_);
        take_amounts(r, &at, "hard", &quota->hard);
        name = json_at_member(&at, "name");
        if (known_once(&names, arena_format(r->arena, "%s/%s", quota->namespace_, quota->name),
                       quota, &name))
            scenario_add(s, BERTH_QUOTA, quota);
    }
    map_fini(&names);
}
