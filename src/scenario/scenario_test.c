#include "scenario/scenario.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "scenario/take.h"

/* The faults as "LINE:COLUMN POINTER: TEXT" lines. */
static char *faults(const char *text)
{
    CLEANUP(scenario_freep) struct scenario *s = scenario_read(text, strlen(text));
    const struct problem *problem = scenario_problem(s);
    struct str out = { 0 };
    size_t n;

    scenario_deltas(s, &n);
    CHECK_EQ(n == 0, problem->code != 0);
    for (size_t i = 0; i < problem_n_kept(problem); i++)
        str_addf(&out, "%s%d:%d %s: %s", i ? "\n" : "", problem->fields[i].line,
                 problem->fields[i].column, problem->fields[i].pointer, problem->fields[i].text);
    return str_take(&out);
}

#define TASK(more) "jobs: [{name: j, tasks: [{name: p, " more "}]}]\n"

static const struct {
    const char *name, *text, *faults;
} rows[] = {
    { "nothing but a name", "name: empty\n", "" },
    { "unknown key", "node: []\n", "1:1 /node: unknown key \"node\"; did you mean \"nodes\"?" },
    { "unknown key of a task", TASK("resource: {}"),
      "1:36 /jobs/0/tasks/0/resource: unknown key \"resource\"; did you mean \"resources\"?" },
    { "unknown key of the configuration", "config: {cycle: 2}\n",
      "1:10 /config/cycle: unknown key \"cycle\"; did you mean \"cycles\"?" },
    { "no profile of that name", "config: {profile: vulcano}\n",
      "1:10 /config/profile: no profile vulcano; did you mean volcano?" },
    { "no plugin of that name", "config:\n  tiers:\n  - plugins:\n    - name: gong\n",
      "4:7 /config/tiers/0/plugins/0/name: no plugin gong; did you mean gang?" },
    { "no hook of that name",
      "config: {tiers: [{plugins: [{name: gang, enabled: {jobRedy: true}}]}]}",
      "1:52 /config/tiers/0/plugins/0/enabled/jobRedy: unknown key \"jobRedy\"; did you mean "
      "\"jobReady\"?" },
    { "time", "config: {now: today}\n", "1:10 /config/now: \"today\" is not a time of RFC 3339" },
    { "cycles", "config: {cycles: 0}\n", "1:10 /config/cycles: 0 is outside of 1 to 10000" },
    { "a word of quantity", TASK("resources: {cpu: lots}"),
      "1:48 /jobs/0/tasks/0/resources/cpu: \"lots\" is not a quantity" },
    { "a negative quantity", TASK("resources: {cpu: -1}"),
      "1:48 /jobs/0/tasks/0/resources/cpu: \"-1\" is negative" },
    { "a quantity beyond 2^60", TASK("resources: {memory: 2Ei}"),
      "1:48 /jobs/0/tasks/0/resources/memory: \"2Ei\" is more than the largest amount, 2^60 "
      "bytes" },
    { "a plain number beyond 2^53", TASK("resources: {memory: 9007199254740994}"),
      "1:48 /jobs/0/tasks/0/resources/memory: a plain number may be at most 2^53; write a text "
      "such as \"16Ei\"" },
    { "1e400", TASK("resources: {cpu: 1e400}"),
      "1:53 /jobs/0/tasks/0/resources/cpu: the number is too large" },
    { "two faults, one too large", "queues: [{name: q, weight: 1e400, color: red}]\n",
      "1:28 /queues/0/weight: the number is too large\n"
      "1:35 /queues/0/color: unknown key \"color\"" },
    { "a name twice", "nodes: [{name: n}, {name: n}]\n",
      "1:21 /nodes/1/name: \"n\" stands here twice" },
    { "a task's name twice in a namespace",
      "jobs: [{name: a, tasks: [{name: p}]}, {name: b, tasks: [{name: p}]}]\n",
      "1:58 /jobs/1/tasks/0/name: \"default/p\" stands here twice" },
    { "no name", "nodes: [{}]\n", "1:9 /nodes/0: a name is needed" },
    { "a slash in a namespace", "jobs: [{name: a, namespace: a/b}]\n",
      "1:18 /jobs/0/namespace: \"a/b\" is not a name: it must not hold /" },
    { "status", TASK("status: asleep"),
      "1:36 /jobs/0/tasks/0/status: \"asleep\" is none of: pending, allocated, pipelined, "
      "binding, bound, running, releasing, succeeded, failed, cancelled, unknown" },
    { "phase", "jobs: [{name: j, phase: done}]\n",
      "1:18 /jobs/0/phase: \"done\" is none of: pending, inqueue, running, unknown, completed" },
    { "queue's state", "queues: [{name: q, state: ajar}]\n",
      "1:20 /queues/0/state: \"ajar\" is none of: open, draining, closing, closed, unknown" },
    { "weight", "queues: [{name: q, weight: -1}]\n",
      "1:20 /queues/0/weight: -1 is outside of 0 to 2147483647" },
    { "budget", "jobs: [{name: j, budget: {maxUnavailable: half}}]\n",
      "1:27 /jobs/0/budget/maxUnavailable: \"half\" is neither a number, 0 to 2147483647, nor a "
      "part in percent, 0% to 100%" },
    { "port", TASK("hostPorts: [80, 65536]"),
      "1:52 /jobs/0/tasks/0/hostPorts/1: is not a port: 1 to 65535" },
    { "best effort with a request", TASK("bestEffort: true, resources: {cpu: 1}"),
      "1:36 /jobs/0/tasks/0/bestEffort: a task that asks for resources is not best effort" },
    { "affinity without a key of topology",
      TASK("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}"),
      "1:110 /jobs/0/tasks/0/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
      "0: a topologyKey is needed" },
    { "reservation of an unknown task", "reservations: [{task: a/b, node: n}]\n",
      "1:17 /reservations/0/task: no task \"a/b\" is listed" },
    { "memo", "config: {memos: {a: '!'}}\n", "1:18 /config/memos/a: is not base64" },
    { "expect: unknown key", "expect: {bound: {}}\n",
      "1:10 /expect/bound: unknown key \"bound\"; did you mean \"bind\"?" },
    { "expect: unknown task", "expect: {bind: {a/b: n}}\n",
      "1:17 /expect/bind/a~1b: no task \"a/b\" is listed" },
    { "expect: unknown node", TASK("") "expect: {bind: {default/p: n}}\n",
      "2:17 /expect/bind/default~1p: no node \"n\" is listed" },
    { "expect: unknown code",
      TASK("") "expect: {reasons: {default/p: [insufficient cpu, tired]}}\n",
      "2:50 /expect/reasons/default~1p/1: \"tired\" is no reason to wait" },
    { "expect: phase", TASK("") "expect: {jobPhase: {default/j: done}}\n",
      "2:21 /expect/jobPhase/default~1j: \"done\" is none of: pending, inqueue, running, unknown, "
      "completed" },
    { "expect: types", "expect: {bind: [], evict: {}, bindCount: -1, refused: 1}\n",
      "1:10 /expect/bind: must be an object, not a list\n"
      "1:31 /expect/bindCount: must be a whole number that is not negative, not a number\n"
      "1:20 /expect/evict: must be a list, not an object\n"
      "1:46 /expect/refused: must be text, not a number" },
    { "not YAML", "a: [\n", "2:1 : not YAML: did not find expected node content" },
    { "not JSON", "{\"a\": }",
      "1:7 /a: not JSON: line 1, column 7: a value must stand here, not '}'" },
    { "a list", "[]", "1:1 : must be an object, not a list" },
};

TEST(scenario_faults_stand_at_their_pointer_and_line)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *found = faults(c->text);
        CHECK_TEXT(found, c->faults);
    }
}

/* The delta of a kind, the n-th. */
static struct berth_delta delta_of(const struct scenario *s, enum berth_kind kind, size_t nth)
{
    size_t n;
    const struct berth_delta *deltas = scenario_deltas(s, &n);

    for (size_t i = 0; i < n; i++)
        if (deltas[i].kind == kind && nth-- == 0)
            return deltas[i];
    fail_msg("no delta %d of its kind", (int)kind);
    abort();
}

static struct scenario *read_well(const char *text)
{
    struct scenario *s = scenario_read(text, strlen(text));

    CHECK_TEXT(scenario_problem(s)->detail, "");
    return s;
}

TEST(scenario_says_when_and_how_often_it_runs)
{
    CLEANUP(scenario_freep)
    struct scenario *s = read_well(
        "name: times\nconfig: {now: '2024-01-01T12:00:00Z', seed: 7, step: 1m30s, cycles: 3}\n");
    struct scenario_times times = scenario_times(s);

    CHECK_TEXT(scenario_name(s), "times");
    CHECK_EQ(times.now_ms, INT64_C(1704110400000));
    CHECK_EQ(times.step_ms, 90000);
    CHECK_EQ(times.seed, 7);
    CHECK_EQ(times.cycles, 3);
}

TEST(scenario_without_times_runs_once_in_1970)
{
    CLEANUP(scenario_freep) struct scenario *s = read_well("{}");
    struct scenario_times times = scenario_times(s);

    CHECK_EQ(times.now_ms, 0);
    CHECK_EQ(times.cycles, 1);
}

TEST(scenario_node_offers_what_it_does_not_keep)
{
    CLEANUP(scenario_freep)
    struct scenario *s = read_well(
        "nodes: [{name: n, resources: {cpu: 4, memory: 1Gi}, reserved: {cpu: 500m, memory: 2Gi},"
        " state: cordoned}, {name: m, ready: false}, {name: o, unschedulable: true}]\n");
    const struct berth_node *node = delta_of(s, BERTH_NODE, 0).node;

    CHECK_EQ(node->offers.n, 2);
    CHECK_TEXT(node->offers.at[0].name, "cpu");
    CHECK_EQ(node->offers.at[0].value, 3500);
    CHECK_EQ(node->offers.at[1].value, 0);
    CHECK(node->cordoned && node->state == NODE_READY);
    CHECK_EQ(delta_of(s, BERTH_NODE, 1).node->state, NODE_UNREACHABLE);
    CHECK(delta_of(s, BERTH_NODE, 2).node->cordoned);
}

TEST(scenario_devices_are_counted_and_named)
{
    CLEANUP(scenario_freep)
    struct scenario *s = read_well(
        "nodes: [{name: n, gpus: [{model: A100, memory: 80Gi}, {healthy: false}, {index: 7}]}]\n"
        "jobs: [{name: j, tasks: [{name: p, status: running, node: n, gpus: [7]}]}]\n");
    const struct berth_device *device = delta_of(s, BERTH_DEVICE, 0).device;
    const struct berth_node *node = delta_of(s, BERTH_NODE, 0).node;
    const struct berth_task *task = delta_of(s, BERTH_TASK, 0).task;

    CHECK_TEXT(device->uuid, "0");
    CHECK_EQ(device->memory, INT64_C(80) << 30);
    CHECK(delta_of(s, BERTH_DEVICE, 1).device->unhealthy);
    CHECK_TEXT(delta_of(s, BERTH_DEVICE, 2).device->uuid, "7");
    CHECK_EQ(node->offers.at[node->offers.n - 1].value, 2000);
    CHECK_EQ(task->n_shares, 1);
    CHECK_TEXT(task->shares[0].uuid, "7");
    CHECK_EQ(task->shares[0].milli, 1000);
}

TEST(scenario_task_is_a_group_of_its_own)
{
    CLEANUP(scenario_freep)
    struct scenario *s =
        read_well("config: {now: '1970-01-01T00:10:00Z'}\n"
                  "jobs: [{name: j, namespace: c, queue: q, limit: 1h, tasks: [{name: a, role: r},"
                  " {name: b, status: running, node: n, startedAt: 60, preemptable: false, "
                  "priority: 5}]}]\n");
    const struct berth_job *job = delta_of(s, BERTH_JOB, 0).job;
    const struct berth_task *task = delta_of(s, BERTH_TASK, 0).task;

    CHECK_TEXT(job->id, "c/j");
    CHECK_EQ(job->created_at_ms, 600000);
    CHECK_EQ(job->min_available, 1);
    CHECK_EQ(job->n_groups, 2);
    CHECK_TEXT(job->groups[0].name, "a");
    CHECK_TEXT(job->groups[0].role, "r");
    CHECK_EQ(job->groups[0].priority, 1);
    CHECK(job->groups[1].not_preemptable);
    CHECK_EQ(job->groups[1].priority, 5);
    CHECK_TEXT(task->group, "b");
    CHECK_EQ(task->state, BERTH_TASK_RUNNING);
    CHECK_EQ(task->started_at_ms, 60000);
    CHECK_EQ(task->limit_at_ms, 60000 + 3600000);
}

TEST(scenario_reservation_in_short_is_one_part_for_a_machine)
{
    CLEANUP(scenario_freep)
    struct scenario *s = read_well(
        "config: {now: '1970-01-01T00:10:00Z'}\n"
        "nodes: [{name: n, state: pending}]\njobs: [{name: j, namespace: c, tasks: [{name: p}]}]\n"
        "reservations: [{task: c/p, node: n, ageSeconds: 10}]\n");
    const struct berth_reservation *reservation = delta_of(s, BERTH_RESERVATION, 0).reservation;

    CHECK_TEXT(reservation->owner, "c/j");
    CHECK_EQ(reservation->purpose, BERTH_FOR_MACHINE);
    CHECK_EQ(reservation->made_at_ms, 590000);
    CHECK_EQ(reservation->n_parts, 1);
    CHECK_TEXT(reservation->parts[0].task.group, "p");
    CHECK_TEXT(reservation->parts[0].node, "n");
}

TEST(scenario_values_are_handed_on_as_they_stand)
{
    CLEANUP(arena_fini) struct arena arena = { 0 };
    struct reader r = { .arena = &arena };
    json_auto_t *object =
        json_loads("{\"a.weight\": 2, \"b\": [1.5, \"no\", true, null], \"c\": {}}", 0, NULL);
    const struct berth_value *value = take_value(&r, object, NULL), *list;

    CHECK_EQ(berth_value_get(value, "a.weight")->number, 2);
    list = berth_value_get(value, "b");
    CHECK_EQ(list->n_members, 4);
    CHECK(list->members[0].real == 1.5);
    CHECK_TEXT(list->members[1].text, "no");
    CHECK(list->members[2].truth);
    CHECK_EQ(list->members[3].kind, BERTH_VALUE_NULL);
    CHECK_EQ(berth_value_get(value, "c")->kind, BERTH_VALUE_OBJECT);
}
