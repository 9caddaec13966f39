/* Affinity, in the shape of a pod's: nodeAffinity, podAffinity, podAntiAffinity. */
#include <string.h>

#include "base/str.h"
#include "scenario/scenario.h"
#include "scenario/take.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static const struct json_key either_keys[] = { KEY(REQUIRED), KEY(PREFERRED) };

/* A list of matches behind those that the selector has. */
static void take_matches(struct reader *r, const struct json_at *up, const char *key,
                         struct berth_selector *out)
{
    static const struct json_key keys[] = { KEY("key"), KEY("operator"), KEY("values") };
    static const char *const operators[] = {
        [BERTH_IN] = "In",         [BERTH_NOT_IN] = "NotIn",
        [BERTH_EXISTS] = "Exists", [BERTH_DOES_NOT_EXIST] = "DoesNotExist",
        [BERTH_GREATER] = "Gt",    [BERTH_LESS] = "Lt"
    };
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
    take_matches(r, at, "matchExpressions", out);
    take_matches(r, at, "matchFields", out);
    if (!out->n_matches)
        mean_nothing(r, out);
}

static void take_weight(const struct json_at *at, int *out)
{
    int64_t weight = 1;

    json_get_int(at, "weight", 0, 100, &weight);
    *out = (int)weight;
}

static void take_node_terms(struct reader *r, const struct json_at *up, struct berth_affinity *out)
{
    static const struct json_key terms_keys[] = { KEY("nodeSelectorTerms") };
    static const struct json_key preferred_keys[] = { KEY("weight"), KEY("preference") };
    struct json_at required = json_at_member(up, REQUIRED), list;
    struct berth_node_term *terms;
    size_t n;

    if (required.value && CHECK_KEYS(&required, terms_keys) &&
        take_list(&required, "nodeSelectorTerms", &list, &n)) {
        terms = ARENA_NEW0_N(r->arena, struct berth_node_term, n + 1);
        for (size_t i = 0; i < n; i++) {
            struct json_at at = json_at_item(&list, i);
            take_node_selector(r, &at, &terms[i].selector);
        }
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
        take_weight(&at, &terms[i].weight);
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
    struct json_at selector = json_at_member(at, "labelSelector");

    if (!take_name(at, "topologyKey", NULL, &out->topology_key) &&
        !json_object_get(at->value, "topologyKey"))
        json_refuse(at, PROBLEM_INVALID_FIELD, "a topologyKey is needed");
    if (!selector.value)
        mean_nothing(r, &out->selector);
    if (!selector.value || !CHECK_KEYS(&selector, selector_keys))
        return;
    take_labels(r, &selector, "matchLabels", &out->selector.labels);
    take_matches(r, &selector, "matchExpressions", &out->selector);
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
        take_weight(&at, &terms[i].weight);
        if (term.value)
            take_pod_term(r, &term, &terms[i]);
        else
            json_refuse(&at, PROBLEM_INVALID_FIELD, "a podAffinityTerm is needed");
    }
    return terms;
}

/* As the topologySpreadConstraints of a pod: those that must hold, and those that are only preferred. */
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

bool take_affinity(struct reader *r, const struct json_at *up, const char *key,
                   const struct berth_affinity **out)
{
    static const struct json_key keys[] = { KEY("nodeAffinity"), KEY("podAffinity"),
                                            KEY("podAntiAffinity"), KEY("topologySpread") };
    struct json_at at = json_at_member(up, key), node = json_at_member(&at, "nodeAffinity"),
                   pod = json_at_member(&at, "podAffinity"),
                   anti = json_at_member(&at, "podAntiAffinity");
    struct berth_affinity *affinity;

    if (!at.value || !CHECK_KEYS(&at, keys))
        return false;
    affinity = ARENA_NEW0(r->arena, struct berth_affinity);
    if (node.value && CHECK_KEYS(&node, either_keys))
        take_node_terms(r, &node, affinity);
    if (pod.value && CHECK_KEYS(&pod, either_keys)) {
        affinity->pod_required = take_required(r, &pod, &affinity->n_pod_required);
        affinity->pod_preferred = take_preferred(r, &pod, &affinity->n_pod_preferred);
    }
    if (anti.value && CHECK_KEYS(&anti, either_keys)) {
        affinity->anti_required = take_required(r, &anti, &affinity->n_anti_required);
        affinity->anti_preferred = take_preferred(r, &anti, &affinity->n_anti_preferred);
    }
    take_spread(r, &at, affinity);
    if (json_object_size(at.value))
        *out = affinity;
    return true;
}

const struct berth_affinity *scenario_affinity_read(const json_t *value, const char *pointer,
                                                    struct arena *arena, struct problem *problem)
{
    CLEANUP(json_decrefp) json_t *up = json_object();
    const struct berth_affinity *affinity = NULL;
    struct reader reader = { .arena = arena };
    struct problem found = { 0 };
    struct json_at at;

    json_object_set(up, "affinity", (json_t *)value);
    at = json_at_top(up, &found);
    take_affinity(&reader, &at, "affinity", &affinity);
    for (size_t i = 0; i < found.n_fields && i < PROBLEM_FIELDS_MAX; i++) {
        CLEANUP(freep) char *place = text_format("%s%s", pointer, found.fields[i].pointer);
        problem_add(problem, found.fields[i].code, place, "%s", found.fields[i].text);
    }
    return found.code == PROBLEM_NONE ? affinity : NULL;
}
