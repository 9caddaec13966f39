/* Affinity, in the shape of a pod's: nodeAffinity, podAffinity, podAntiAffinity. */
#include <string.h>

#include "base/name.h"
#include "base/str.h"
#include "scenario/scenario.h"
#include "scenario/take.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

enum { WEIGHT_MAX = 100 };

static const char *const operators[] = {
    [BERTH_IN] = "In",         [BERTH_NOT_IN] = "NotIn",
    [BERTH_EXISTS] = "Exists", [BERTH_DOES_NOT_EXIST] = "DoesNotExist",
    [BERTH_GREATER] = "Gt",    [BERTH_LESS] = "Lt"
};

/* Where a list of matches stands decides which of them a pod may have. */
enum match_place { OF_NODE_LABELS, OF_NODE_FIELDS, OF_TASK_LABELS };

static void check_label_key(const struct json_at *up, const char *member, const char *key)
{
    struct json_at at = json_at_member(up, member);

    if (key[0] && !name_is_valid_label(key))
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "\"%.80s\" is not a label's name: letters, digits and . _ / -, at most 253",
                    key);
}

static void check_values(const struct json_at *at, const struct berth_match *match)
{
    struct json_at list = json_at_member(at, "values");
    struct json_at first = json_at_item(&list, 0);
    const char *op = operators[match->op];
    size_t n = match->values.n;
    int64_t number;

    if (!list.value)
        list = *at;
    if (match->op == BERTH_EXISTS || match->op == BERTH_DOES_NOT_EXIST) {
        if (n)
            json_refuse(&list, PROBLEM_INVALID_FIELD,
                        "operator %s takes no values: leave them out, or use In", op);
    } else if (match->op == BERTH_GREATER || match->op == BERTH_LESS) {
        if (n != 1)
            json_refuse(&list, PROBLEM_INVALID_FIELD,
                        "operator %s takes one value, a whole number, not %zu", op, n);
        else if (text_to_int(match->values.at[0], INT64_MIN, INT64_MAX, &number) < 0)
            json_refuse(&first, PROBLEM_INVALID_FIELD,
                        "operator %s takes a whole number; \"%.40s\" is none", op,
                        match->values.at[0]);
    } else if (!n) {
        json_refuse(&list, PROBLEM_INVALID_FIELD,
                    "operator %s needs values: name at least one, or use %s", op,
                    match->op == BERTH_IN ? "Exists" : "DoesNotExist");
    }
}

/* What Kubernetes refuses of a pod. */
static void check_match(const struct json_at *at, enum match_place place,
                        const struct berth_match *match)
{
    struct json_at op = json_at_member(at, "operator");

    if (!match->key[0] && !json_object_get(at->value, "key"))
        json_refuse(at, PROBLEM_INVALID_FIELD, "a key is needed");
    if (!op.value)
        json_refuse(at, PROBLEM_INVALID_FIELD, "an operator is needed: In, NotIn, Exists, %s",
                    place == OF_NODE_LABELS ? "DoesNotExist, Gt, Lt" : "DoesNotExist");
    check_label_key(at, "key", match->key);
    if (place == OF_TASK_LABELS && match->op >= BERTH_GREATER)
        json_refuse(&op, PROBLEM_INVALID_FIELD,
                    "operator %s is for labels of nodes; use In, NotIn, Exists or DoesNotExist",
                    operators[match->op]);
    else if (place == OF_NODE_FIELDS && (strcmp(match->key, "metadata.name") != 0 ||
                                         match->op > BERTH_NOT_IN || match->values.n != 1))
        json_refuse(at, PROBLEM_INVALID_FIELD,
                    "of a node's fields only metadata.name can be matched, by In or NotIn and one "
                    "value; its labels by matchExpressions");
    else
        check_values(at, match);
}

static const struct json_key either_keys[] = { KEY(REQUIRED), KEY(PREFERRED) };

/* A list of matches behind those that the selector has. */
static void take_matches(struct reader *r, const struct json_at *up, enum match_place place,
                         struct berth_selector *out)
{
    static const struct json_key keys[] = { KEY("key"), KEY("operator"), KEY("values") };
    const char *key = place == OF_NODE_FIELDS ? "matchFields" : "matchExpressions";
    struct berth_match *matches;
    struct json_at list;
    size_t n;

    if (!take_list(up, key, &list, &n))
        return;
    matches = ARENA_NEW0_N(r->arena, struct berth_match, out->n_matches + n + 1);
    if (out->n_matches)
        memcpy(matches, out->matches, out->n_matches * sizeof(*matches));
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        struct berth_match *match = &matches[out->n_matches + i];
        int op = BERTH_IN;
        match->key = "";
        if (!CHECK_KEYS(&at, keys))
            continue;
        take_name(&at, "key", NULL, &match->key);
        json_get_word(&at, "operator", operators, COUNT_OF(operators), &op);
        match->op = (enum berth_operator)op;
        take_words(r, &at, "values", &match->values);
        if (r->is_strict)
            check_match(&at, place, match);
    }
    out->matches = matches;
    out->n_matches += n;
}

/* In a pod an empty term about nodes, or one without a selector about tasks, means nothing. */
static void mean_nothing(struct reader *r, struct berth_selector *out)
{
    struct berth_match *match = ARENA_NEW0(r->arena, struct berth_match);

    *match = (struct berth_match){ .key = "none", .op = BERTH_IN };
    *out = (struct berth_selector){ .matches = match, .n_matches = 1 };
}

static void take_node_selector(struct reader *r, const struct json_at *at,
                               struct berth_selector *out)
{
    static const struct json_key keys[] = { KEY("matchExpressions"), KEY("matchFields") };

    if (!CHECK_KEYS(at, keys))
        return;
    take_matches(r, at, OF_NODE_LABELS, out);
    take_matches(r, at, OF_NODE_FIELDS, out);
    if (!out->n_matches)
        mean_nothing(r, out);
}

static void take_weight(const struct reader *r, const struct json_at *at, int *out)
{
    int64_t weight = 1;

    json_get_int(at, "weight", r->is_strict ? 1 : 0, WEIGHT_MAX, &weight);
    *out = (int)weight;
}

static void take_node_terms(struct reader *r, const struct json_at *up, struct berth_affinity *out)
{
    static const struct json_key terms_keys[] = { KEY("nodeSelectorTerms") };
    static const struct json_key preferred_keys[] = { KEY("weight"), KEY("preference") };
    struct json_at required = json_at_member(up, REQUIRED), list;
    struct berth_node_term *terms;
    size_t n;

    if (r->is_strict && json_is_object(required.value) &&
        !json_object_get(required.value, "nodeSelectorTerms"))
        json_refuse(&required, PROBLEM_INVALID_FIELD, "nodeSelectorTerms are needed");
    if (required.value && CHECK_KEYS(&required, terms_keys) &&
        take_list(&required, "nodeSelectorTerms", &list, &n)) {
        terms = ARENA_NEW0_N(r->arena, struct berth_node_term, n + 1);
        for (size_t i = 0; i < n; i++) {
            struct json_at at = json_at_item(&list, i);
            take_node_selector(r, &at, &terms[i].selector);
        }
        if (!n && r->is_strict)
            json_refuse(&list, PROBLEM_INVALID_FIELD,
                        "of no terms none holds: name one, or leave %s out", REQUIRED);
        if (!n)
            mean_nothing(r, &terms[n++].selector); /* of no terms none holds */
        out->node_required = terms;
        out->n_node_required = n;
    }
    if (!take_list(up, PREFERRED, &list, &n))
        return;
    terms = ARENA_NEW0_N(r->arena, struct berth_node_term, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i), preference = json_at_member(&at, "preference");
        if (!CHECK_KEYS(&at, preferred_keys))
            continue;
        take_weight(r, &at, &terms[i].weight);
        if (preference.value)
            take_node_selector(r, &preference, &terms[i].selector);
    }
    out->node_preferred = terms;
    out->n_node_preferred = n;
}

/* The topology key and the selector of a term. */
static void take_parts_of(struct reader *r, const struct json_at *at, struct berth_pod_term *out)
{
    static const struct json_key selector_keys[] = { KEY("matchLabels"), KEY("matchExpressions") };
    struct json_at selector = json_at_member(at, "labelSelector"), labels;

    if (!take_name(at, "topologyKey", NULL, &out->topology_key) &&
        !json_object_get(at->value, "topologyKey"))
        json_refuse(at, PROBLEM_INVALID_FIELD, "a topologyKey is needed");
    if (r->is_strict)
        check_label_key(at, "topologyKey", out->topology_key);
    if (!selector.value)
        mean_nothing(r, &out->selector);
    if (!selector.value || !CHECK_KEYS(&selector, selector_keys))
        return;
    take_labels(r, &selector, "matchLabels", &out->selector.labels);
    labels = json_at_member(&selector, "matchLabels");
    for (size_t i = 0; r->is_strict && i < out->selector.labels.n; i++)
        check_label_key(&labels, out->selector.labels.at[i].key, out->selector.labels.at[i].key);
    take_matches(r, &selector, OF_TASK_LABELS, &out->selector);
}

static void take_pod_term(struct reader *r, const struct json_at *at, struct berth_pod_term *out)
{
    static const struct json_key keys[] = { KEY("labelSelector"), KEY("namespaces"),
                                            KEY("topologyKey") };

    out->topology_key = "";
    if (!CHECK_KEYS(at, keys))
        return;
    take_words(r, at, "namespaces", &out->namespaces);
    take_parts_of(r, at, out);
}

static const struct berth_pod_term *take_required(struct reader *r, const struct json_at *up,
                                                  size_t *n)
{
    struct berth_pod_term *terms;
    struct json_at list;

    if (!take_list(up, REQUIRED, &list, n))
        return NULL;
    terms = ARENA_NEW0_N(r->arena, struct berth_pod_term, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        struct json_at at = json_at_item(&list, i);
        take_pod_term(r, &at, &terms[i]);
    }
    return terms;
}

static const struct berth_pod_term *take_preferred(struct reader *r, const struct json_at *up,
                                                   size_t *n)
{
    static const struct json_key keys[] = { KEY("weight"), KEY("podAffinityTerm") };
    struct berth_pod_term *terms;
    struct json_at list;

    if (!take_list(up, PREFERRED, &list, n))
        return NULL;
    terms = ARENA_NEW0_N(r->arena, struct berth_pod_term, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        struct json_at at = json_at_item(&list, i), term = json_at_member(&at, "podAffinityTerm");
        terms[i].topology_key = "";
        if (!CHECK_KEYS(&at, keys))
            continue;
        take_weight(r, &at, &terms[i].weight);
        if (term.value)
            take_pod_term(r, &term, &terms[i]);
        else
            json_refuse(&at, PROBLEM_INVALID_FIELD, "a podAffinityTerm is needed");
    }
    return terms;
}

/* As the topologySpreadConstraints of a pod: those that must hold, and those that are only
 * preferred. */
static void take_spread(struct reader *r, const struct json_at *up, struct berth_affinity *out)
{
    static const struct json_key keys[] = { KEY("maxSkew"), KEY("topologyKey"),
                                            KEY("whenUnsatisfiable"), KEY("labelSelector") };
    static const char *const words[] = { "DoNotSchedule", "ScheduleAnyway" };
    struct berth_pod_term *terms[2];
    struct json_at list;
    size_t n, n_of[2] = { 0 };

    if (!take_list(up, "topologySpread", &list, &n))
        return;
    terms[0] = ARENA_NEW0_N(r->arena, struct berth_pod_term, n + 1);
    terms[1] = ARENA_NEW0_N(r->arena, struct berth_pod_term, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_at_item(&list, i);
        struct berth_pod_term term = { .topology_key = "", .weight = 1 };
        int word = 0;

        if (!CHECK_KEYS(&at, keys))
            continue;
        take_i32(&at, "maxSkew", 1, &term.weight);
        json_get_word(&at, "whenUnsatisfiable", words, COUNT_OF(words), &word);
        take_parts_of(r, &at, &term);
        terms[word][n_of[word]++] = term;
    }
    out->spread = terms[0];
    out->n_spread = n_of[0];
    out->spread_preferred = terms[1];
    out->n_spread_preferred = n_of[1];
}

/* Takes all that the object at `at` says. False: it is none. */
static bool take_parts(struct reader *r, const struct json_at *at, struct berth_affinity *out)
{
    static const struct json_key keys[] = { KEY("nodeAffinity"), KEY("podAffinity"),
                                            KEY("podAntiAffinity"), KEY("topologySpread") };
    struct json_at node = json_at_member(at, "nodeAffinity"),
                   pod = json_at_member(at, "podAffinity"),
                   anti = json_at_member(at, "podAntiAffinity");

    if (!CHECK_KEYS(at, keys))
        return false;
    if (node.value && CHECK_KEYS(&node, either_keys))
        take_node_terms(r, &node, out);
    if (pod.value && CHECK_KEYS(&pod, either_keys)) {
        out->pod_required = take_required(r, &pod, &out->n_pod_required);
        out->pod_preferred = take_preferred(r, &pod, &out->n_pod_preferred);
    }
    if (anti.value && CHECK_KEYS(&anti, either_keys)) {
        out->anti_required = take_required(r, &anti, &out->n_anti_required);
        out->anti_preferred = take_preferred(r, &anti, &out->n_anti_preferred);
    }
    take_spread(r, at, out);
    return true;
}

bool take_affinity(struct reader *r, const struct json_at *up, const char *key,
                   const struct berth_affinity **out)
{
    struct json_at at = json_at_member(up, key);
    struct berth_affinity *affinity;

    if (!at.value)
        return false;
    affinity = ARENA_NEW0(r->arena, struct berth_affinity);
    if (!take_parts(r, &at, affinity))
        return false;
    if (json_object_size(at.value))
        *out = affinity;
    return true;
}

/* Of a value without a document around it. It is read only: other threads may hold it, too. */
static const struct berth_affinity *read_alone(const json_t *value, const char *pointer,
                                               struct reader *r, struct problem *problem)
{
    struct berth_affinity *affinity = ARENA_NEW0(r->arena, struct berth_affinity);
    struct problem found = { 0 };
    struct json_at at = json_at_top(value, &found);

    take_parts(r, &at, affinity);
    for (size_t i = 0; i < found.n_fields && i < PROBLEM_FIELDS_MAX; i++) {
        CLEANUP(freep)
        char *place = text_format("%s/affinity%s", pointer, found.fields[i].pointer);
        problem_add(problem, found.fields[i].code, place, "%s", found.fields[i].text);
    }
    return found.code == PROBLEM_NONE && json_object_size(value) ? affinity : NULL;
}

const struct berth_affinity *scenario_affinity_read(const json_t *value, const char *pointer,
                                                    struct arena *arena, struct problem *problem)
{
    return read_alone(value, pointer, &(struct reader){ .arena = arena }, problem);
}

bool scenario_affinity_check(const json_t *value, const char *pointer, struct problem *problem)
{
    CLEANUP(arena_fini) struct arena arena = { 0 };
    struct reader reader = { .arena = &arena, .is_strict = true };

    read_alone(value, pointer, &reader, problem);
    return problem->code == PROBLEM_NONE;
}
