#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "scenario/scenario.h"

/* Two nodes of two cores, one of them full; a gang of two of which one task fits, and a single. */
#define CLUSTER                                                                                    \
    "name: cluster\n"                                                                              \
    "config: {profile: volcano, actions: [enqueue, allocate], tiers: [{plugins: [{name: gang},"    \
    " {name: priority}]}, {plugins: [{name: predicates}, {name: nodeorder}]}]}\n"                  \
    "queues: [{name: q}]\n"                                                                        \
    "nodes:\n"                                                                                     \
    "- {name: n1, resources: {cpu: 2, memory: 4Gi, pods: 9}, labels: {zone: a}}\n"                 \
    "- {name: n2, resources: {cpu: 2, memory: 4Gi, pods: 9}}\n"                                    \
    "jobs:\n"                                                                                      \
    "- {name: old, namespace: c, queue: q, phase: running, createdAt: 0, tasks: [{name: o,"        \
    " status: running, node: n2, resources: {cpu: 2}}]}\n"                                         \
    "- {name: gang, namespace: c, queue: q, minAvailable: 2, createdAt: 2, tasks: [{name: g1,"     \
    " resources: {cpu: 2}}, {name: g2, resources: {cpu: 2}}]}\n"                                   \
    "- {name: one, namespace: c, queue: q, createdAt: 3, tasks: [{name: p, resources: {cpu: 1},"   \
    " nodeSelector: {zone: a}}]}\n"

/* What the result says, or "passed". */
static char *check(const char *text)
{
    CLEANUP(scenario_freep) struct scenario *s = scenario_read(text, strlen(text));
    CLEANUP(scenario_result_fini) struct scenario_result result = { 0 };
    int r = scenario_check(s, &result);

    CHECK(result.answer != NULL);
    CHECK_EQ(result.passed, result.faults.len == 0);
    CHECK(r == 0 || !result.passed);
    return text_copy(result.passed ? "passed" : str_text(&result.faults));
}

/* Each expectation, met and missed. */
static const struct {
    const char *name, *expect, *came;
} rows[] = {
    { "bind", "{bind: {c/p: n1}}", "passed" },
    { "bind: elsewhere", "{bind: {c/p: n2}}", "bind: c/p: expected n2, came n1\n" },
    { "bind: none", "{bind: {}}", "bind: c/p: expected nothing, came n1\n" },
    { "bind: one too few", "{bind: {c/p: n1, c/g1: n2}}",
      "bind: c/g1: expected n2, came nothing\n" },
    { "bindAnyOf", "{bindAnyOf: {c/p: [n2, n1]}}", "passed" },
    { "bindAnyOf: none of them", "{bindAnyOf: {c/p: [n2]}}",
      "bindAnyOf: c/p: expected one of [\"n2\"], came n1\n" },
    { "bindCount", "{bindCount: 1}", "passed" },
    { "bindCount: another", "{bindCount: 2}", "bindCount: expected 2, came 1\n" },
    { "notBound", "{notBound: [c/g1, c/g2]}", "passed" },
    { "notBound: it was", "{notBound: [c/p]}", "notBound: c/p: expected nothing, came n1\n" },
    { "evict", "{evict: []}", "passed" },
    { "evict: was not", "{evict: [c/o]}", "evict: c/o: expected evicted, came left alone\n" },
    { "evictCount", "{evictCount: 1}", "evictCount: expected 1, came 0\n" },
    { "pipelined", "{pipelined: {}}", "passed" },
    { "pipelined: was not", "{pipelined: {c/g1: n2}}",
      "pipelined: c/g1: expected n2, came nothing\n" },
    { "jobPhase", "{jobPhase: {c/old: running, c/one: inqueue}}", "passed" },
    { "jobPhase: another", "{jobPhase: {c/old: completed}}",
      "jobPhase: c/old: expected completed, came running\n" },
    { "jobBindCount", "{jobBindCount: {c/one: 1, c/gang: 0}}", "passed" },
    { "jobBindCount: another", "{jobBindCount: {c/one: 0}}",
      "jobBindCount: c/one: expected 0, came 1\n" },
    { "reasons", "{reasons: {c/g1: [gang incomplete]}}", "passed" },
    { "feasible", "{feasible: {c/p: {n1: true, n2: false}}}", "passed" },
    { "feasible: the other way", "{feasible: {c/p: {n1: false}}}",
      "feasible: c/p on n1: expected no, came yes\n" },
    { "nodeScores: another", "{nodeScores: {c/p: {n1: -12345}}}", NULL },
    { "queueJobs: another", "{queueJobs: {q: {pending: 9}}}", NULL },
    { "reserve", "{reserve: {}}", "passed" },
    { "reserve: was not", "{reserve: {c/g1: n1}}", "reserve: c/g1: expected n1, came nothing\n" },
    { "fails", "{fails: {}}", "passed" },
    { "fails: did not", "{fails: {c/g1: OVER_CAP}}",
      "fails: c/g1: expected OVER_CAP, came nothing\n" },
    { "waits: another", "{waits: {c/g1: OVER_CAP}}", NULL },
    { "waits: it is bound", "{waits: {c/p: OVER_CAP}}",
      "waits: c/p: expected OVER_CAP, came n1\n" },
    { "provision", "{provision: {}}", "passed" },
    { "digest: another", "{digest: abc}", NULL },
    { "refused: it was not", "{refused: /nodes/0/name}",
      "refused: expected /nodes/0/name, came nothing\n" },
    { "mayRefuse", "{mayRefuse: [/nodes/0/name], bindCount: 1}", "passed" },
    { "two faults", "{bindCount: 2, evictCount: 1}",
      "bindCount: expected 2, came 1\nevictCount: expected 1, came 0\n" },
};

TEST(check_compares_what_is_expected)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *text = text_format("%sexpect: %s\n", CLUSTER, c->expect);
        CLEANUP(freep) char *came = check(text);
        if (c->came)
            CHECK_TEXT(came, c->came);
        else
            CHECK(strcmp(came, "passed") != 0);
    }
}

static const struct {
    const char *name, *text, *came;
} refusals[] = {
    { "for the value that is named",
      "nodes: [{name: n, resources: {cpu: -1}}]\nexpect: {refused: /nodes/0/resources/cpu}\n",
      "passed" },
    { "for a number too large to hold",
      "{\"nodes\": [{\"name\": \"n\", \"resources\": {\"cpu\": 1e400}}],"
      " \"expect\": {\"refused\": \"/nodes/0/resources/cpu\"}}",
      "passed" },
    { "for another value",
      "nodes: [{name: n, resources: {cpu: -1}}]\nexpect: {refused: /nodes/0/name}\n",
      "refused: expected /nodes/0/name, came:\n1:31: /nodes/0/resources/cpu: \"-1\" is "
      "negative\n" },
    { "for a value for which it may be",
      "queues: [{name: q, weight: -1}]\nexpect: {mayRefuse: [/queues/0/weight]}\n", "passed" },
    { "for that and another",
      "queues: [{name: q, weight: -1, priority: x}]\nexpect: {mayRefuse: [/queues/0/weight]}\n",
      "1:20: /queues/0/weight: -1 is outside of 0 to 2147483647\n"
      "1:32: /queues/0/priority: must be a whole number, not text\n" },
    { "and should not have been", "queues: [{name: q, weight: -1}]\n",
      "1:20: /queues/0/weight: -1 is outside of 0 to 2147483647\n" },
};

TEST(check_holds_refusals_against_the_pointer)
{
    ROW_EACH (c, refusals) {
        CLEANUP(freep) char *came = check(c->text);
        CHECK_TEXT(came, c->came);
    }
}

/* The first cycle binds one task of each pair of nodes; the second sees them run. */
TEST(check_runs_several_cycles_and_time_passes)
{
    static const char text[] =
        "config: {profile: volcano, actions: [allocate], tiers: [{plugins: [{name: gang}]}],"
        " cycles: 2, step: 1m}\n"
        "queues: [{name: q}]\n"
        "nodes: [{name: n1, resources: {cpu: 1, pods: 9}}]\n"
        "jobs: [{name: j, namespace: c, queue: q, tasks: [{name: a, resources: {cpu: 1}},"
        " {name: b, resources: {cpu: 1}}]}]\n"
        "expect: {bindCount: 1, jobPhase: {c/j: running}}\n";
    CLEANUP(freep) char *came = check(text);

    CHECK_TEXT(came, "passed");
}

TEST(check_answers_in_the_words_of_expect)
{
    CLEANUP(scenario_freep) struct scenario *s = scenario_read(CLUSTER, strlen(CLUSTER));
    CLEANUP(scenario_result_fini) struct scenario_result result = { 0 };
    const json_t *reasons;

    CHECK_EQ(scenario_check(s, &result), 0);
    CHECK(result.passed);
    CHECK_TEXT(json_string_value(json_object_get(json_object_get(result.answer, "bind"), "c/p")),
               "n1");
    reasons = json_object_get(result.answer, "reasons");
    CHECK(json_object_get(reasons, "c/g1") && json_object_get(reasons, "c/g2"));
    CHECK(!json_object_get(reasons, "c/p"));
    CHECK_EQ(strlen(json_string_value(json_object_get(result.answer, "digest"))), 32);
}

/* The same text gives the same answer, and members in another order do too. */
TEST(check_gives_the_same_digest_for_the_same_text)
{
    CLEANUP(scenario_freep) struct scenario *a = scenario_read(CLUSTER, strlen(CLUSTER));
    CLEANUP(scenario_freep) struct scenario *b = scenario_read(CLUSTER, strlen(CLUSTER));
    CLEANUP(scenario_result_fini) struct scenario_result x = { 0 }, y = { 0 };

    CHECK_EQ(scenario_check(a, &x), 0);
    CHECK_EQ(scenario_check(b, &y), 0);
    CHECK(json_equal(x.answer, y.answer));
}
