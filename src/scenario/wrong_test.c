/*
 * Wrong input: each kind of nonsense is refused with pointer and line, or has one result, which is
 * said here. None of it ends the program.
 */
#include "scenario/scenario.h"

#include <string.h>

#include "base/states.h"
#include "base/str.h"
#include "base/test.h"

/* What comes of a document: "refused LINE:COLUMN POINTER: TEXT" of the first fault, or what is
 * bound and why the rest waits, as "TASK>NODE TASK:CODE". */
static char *outcome(const char *text)
{
    CLEANUP(scenario_freep) struct scenario *s = scenario_read(text, strlen(text));
    CLEANUP(scenario_result_fini) struct scenario_result result = { 0 };
    const struct problem *problem = scenario_problem(s);
    struct str out = { 0 };
    const char *key;
    json_t *value;

    if (scenario_check(s, &result) < 0) {
        str_addf(&out, "refused %d:%d %s: %s", problem->fields[0].line, problem->fields[0].column,
                 problem->fields[0].pointer,
                 problem->n_fields ? problem->fields[0].text : problem->detail);
        return str_take(&out);
    }
    CHECK_TEXT(str_text(&result.faults), "");
    json_object_foreach(json_object_get(result.answer, "bind"), key, value)
        str_addf(&out, "%s%s>%s", out.len ? " " : "", key, json_string_value(value));
    json_object_foreach(json_object_get(result.answer, "reasons"), key, value)
        str_addf(&out, "%s%s:%s", out.len ? " " : "", key,
                 json_string_value(json_object_get(value, "code")));
    return str_take(&out);
}

#define NODE "nodes: [{name: n, resources: {cpu: 4, memory: 4Gi, pods: 10}}]\n"
#define JOB(queue, asks)                                                                           \
    "jobs: [{name: j, namespace: c, queue: " queue ", tasks: [{name: p, resources: {" asks "}}]}]" \
    "\n"

static void comes(const char *text, const char *wanted)
{
    CLEANUP(freep) char *came = outcome(text);

    CHECK_TEXT(came, wanted);
}

TEST(wrong_amount_below_zero)
{
    comes("nodes: [{name: n, resources: {cpu: -1}}]\n",
          "refused 1:31 /nodes/0/resources/cpu: \"-1\" is negative");
    comes("queues: [{name: q, guarantee: {memory: \"-1Gi\"}}]\n",
          "refused 1:32 /queues/0/guarantee/memory: \"-1Gi\" is negative");
}

TEST(wrong_amount_of_nothing)
{
    comes("nodes: [{name: n, resources: {\"\": 1}}]\n",
          "refused 1:31 /nodes/0/resources/: a resource has a name");
}

TEST(wrong_amount_that_is_huge)
{
    comes("nodes: [{name: n, resources: {memory: 2Ei}}]\n",
          "refused 1:31 /nodes/0/resources/memory: \"2Ei\" is more than the largest amount, 2^60 "
          "bytes");
    comes("nodes: [{name: n, resources: {cpu: 1e30}}]\n",
          "refused 1:31 /nodes/0/resources/cpu: a plain number may be at most 2^53; write a text "
          "such as \"16Ei\"");
}

TEST(wrong_amount_finer_than_can_be_kept_is_rounded_up)
{
    comes("queues: [{name: q}]\n"
          "nodes: [{name: n, resources: {cpu: \"0.0011\", pods: 1}}]\n" JOB("q", "cpu: \"0.0012\""),
          "c/p>n"); /* both are two thousandths */
    comes("queues: [{name: q}]\n"
          "nodes: [{name: n, resources: {cpu: \"0.001\", pods: 1}}]\n" JOB("q", "cpu: \"0.0011\""),
          "c/p:LARGER_THAN_ANY_NODE");
}

TEST(wrong_amount_in_no_known_unit)
{
    comes(
        "nodes: [{name: n, resources: {memory: 4Gb}}]\n",
        "refused 1:31 /nodes/0/resources/memory: \"4Gb\" is not a quantity: unknown suffix \"Gb\" "
        "(known: m k M G T P E Ki Mi Gi Ti Pi Ei)");
    comes("nodes: [{name: n, resources: {cpu: [1]}}]\n",
          "refused 1:31 /nodes/0/resources/cpu: must be a quantity, not a list");
}

TEST(wrong_name_of_an_amount_is_one_that_nobody_offers)
{
    comes("queues: [{name: q}]\n" NODE JOB("q", "cpus: 1"), "c/p:LARGER_THAN_ANY_NODE");
}

/* Queues that are each other's parents hang under the top. */
TEST(wrong_circle_of_queues)
{
    comes("queues: [{name: a, parent: b}, {name: b, parent: a}]\n" NODE JOB("a", "cpu: 1"),
          "c/p>n");
    comes("queues: [{name: a, parent: a}]\n" NODE JOB("a", "cpu: 1"), "c/p>n");
}

/* With plugin capacity as a tree nothing is given out: a limit above cannot be known. */
TEST(wrong_circle_of_queues_in_a_tree_of_capacity)
{
    comes("config: {tiers: [{plugins: [{name: capacity, enabled: {allocatable: true, hierarchy: "
          "true}}, {name: predicates}]}]}\n"
          "queues: [{name: root}, {name: a, parent: b}, {name: b, parent: a}]\n" NODE JOB("a",
                                                                                          "cpu: 1"),
          "c/p:QUEUE_UNKNOWN");
}

/* q0 is closed, q1 beneath it and so on; the job is in the last one. */
static char *deep(int last)
{
    struct str text = { 0 };

    str_add(&text, "queues:\n- {name: q0, state: closed}\n");
    for (int i = 1; i <= last; i++)
        str_addf(&text, "- {name: q%d, parent: q%d}\n", i, i - 1);
    str_add(&text, NODE);
    str_addf(
        &text,
        "jobs: [{name: j, namespace: c, queue: q%d, tasks: [{name: p, resources: {cpu: 1}}]}]\n",
        last);
    return str_take(&text);
}

TEST(wrong_queues_deeper_than_the_limit)
{
    CLEANUP(freep) char *most = deep(QUEUE_DEPTH_MAX), *more = deep(QUEUE_DEPTH_MAX + 1);

    comes(most, "c/p:QUEUE_CLOSED"); /* what is closed is found over the whole depth */
    comes(more, "refused 35:15 /queues/33/parent: more than 32 queues stand above it");
}

TEST(wrong_parent_that_is_not_there)
{
    comes("queues: [{name: a, parent: nobody}]\n" NODE JOB("a", "cpu: 1"), "c/p>n");
    comes("config: {tiers: [{plugins: [{name: capacity, enabled: {allocatable: true, hierarchy: "
          "true}}, {name: predicates}]}]}\n"
          "queues: [{name: root}, {name: a, parent: nobody}]\n" NODE JOB("a", "cpu: 1"),
          "c/p:QUEUE_UNKNOWN");
}

/* A weight of 0 is none said, which is 1: both get their half. */
TEST(wrong_weight_of_zero)
{
    comes("config: {profile: berth}\n"
          "queues: [{name: a, weight: 0}, {name: b, weight: 0}]\n" NODE JOB(
              "a", "cpu: 1") "expect: {deserved: {a: {cpu: 2}, b: {cpu: 2}}, bind: {c/p: n}}\n",
          "c/p>n");
    comes(
        "config: {profile: berth}\n"
        "queues: [{name: a}]\n" NODE JOB(
            "a", "cpu: 9") "expect: {fairShare: {a: {cpu: 0}}, demand: {a: {cpu: 0}}, bind: {}}\n",
        "c/p:LARGER_THAN_ANY_NODE");
    comes("queues: [{name: a, weight: -1}]\n",
          "refused 1:20 /queues/0/weight: -1 is outside of 0 to 2147483647");
}

/* What is guaranteed beyond all there is keeps everybody else out, and not its own. */
TEST(wrong_guarantee_above_the_cluster)
{
    comes("queues: [{name: a, guarantee: {cpu: 100}}, {name: b}]\n" NODE JOB("b", "cpu: 1"),
          "c/p:OVER_GUARANTEE_NOT_RECLAIMABLE");
    comes("queues: [{name: a, guarantee: {cpu: 100}}, {name: b}]\n" NODE JOB("a", "cpu: 1"),
          "c/p>n");
}

TEST(wrong_size_of_a_node_that_shrank_below_its_use)
{
    comes("queues: [{name: q}]\nnodes: [{name: n, resources: {cpu: 1, pods: 10}}]\n"
          "jobs:\n- {name: i, namespace: c, queue: q, phase: running, tasks: [{name: o, status: "
          "running, node: n, resources: {cpu: 3}}]}\n"
          "- {name: j, namespace: c, queue: q, tasks: [{name: p, resources: {cpu: 1}}]}\n",
          "c/p:INSUFFICIENT_CPU");
}

TEST(wrong_name_that_stands_twice)
{
    comes("queues: [{name: q}, {name: q}]\n",
          "refused 1:22 /queues/1/name: \"q\" stands here twice");
    comes("nodes: [{name: n}, {name: n}]\n", "refused 1:21 /nodes/1/name: \"n\" stands here twice");
    comes("jobs: [{name: j}, {name: j}]\n",
          "refused 1:20 /jobs/1/name: \"default/j\" stands here twice");
    comes("name: a\nname: b\n", "refused 2:1 /name: the key stands here twice");
}

/* It runs where nobody looks: it counts against its queue, and nothing else. */
TEST(wrong_node_of_a_task_is_not_there)
{
    comes("queues: [{name: q, capability: {cpu: 2}}]\n" NODE
          "jobs:\n- {name: i, namespace: c, queue: q, phase: running, tasks: [{name: o, status: "
          "running, node: gone, resources: {cpu: 2}}]}\n"
          "- {name: j, namespace: c, queue: q, tasks: [{name: p, resources: {cpu: 1}}]}\n",
          "c/p:OVER_CAP");
}

TEST(wrong_nesting_of_ten_thousand)
{
    enum { DEEP = 10000 };
    CLEANUP(str_fini) struct str json = { 0 }, yaml = { 0 };
    CLEANUP(freep) char *first = NULL;
    CLEANUP(freep) char *second = NULL;

    str_add(&json, "{\"name\": ");
    str_add(&yaml, "name: ");
    for (int i = 0; i < DEEP; i++) {
        str_add(&json, "[");
        str_add(&yaml, "[");
    }
    first = outcome(str_text(&json));
    second = outcome(str_text(&yaml));
    CHECK_TEXT(first, "refused 1:137 : nested more than 128 deep");
    CHECK(strncmp(second, "refused 1:134 /name/0/0/", 24) == 0);
    CHECK(strstr(second, ": nested more than 128 deep") != NULL);
}

TEST(wrong_file_that_is_empty)
{
    comes("", "refused 1:1 : must be an object, not null");
    comes("\n# nothing\n", "refused 3:1 : must be an object, not null");
    comes("{}", "");
}
