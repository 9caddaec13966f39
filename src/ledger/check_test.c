/* The checker finds what is planted: each row spoils a good history by one statement. */
#include "ledger/check.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "ledger/world.h"

/* On a node of one core one task makes way for another. */
static void make_room(struct world *w)
{
    uint64_t low, high;
    struct op *op;

    CHECK_EQ(world_register(w, "n2", "{\"cpu\":1000}"), PROBLEM_NONE);
    low = world_submit(w, "{\"name\":\"low\",\"resources\":{\"cpu\":1}}");
    high = world_submit(w, "{\"name\":\"high\",\"resources\":{\"cpu\":1}}");
    CHECK_EQ(world_bind(w, low, 0, "n2"), PROBLEM_NONE);
    CHECK_EQ(world_ack(w, low, 0, 1, "n2"), PROBLEM_NONE);
    op = world_evict_op(w, high, 0, 1, "n2");
    world_add_victim(w, op, low, 0, 1);
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
    CHECK_EQ(world_ended(w, low, 0, 1, "n2", 143), PROBLEM_NONE);
    CHECK_EQ(world_bind(w, high, 0, "n2"), PROBLEM_NONE);
}

/* What is held on it for one is taken by another. */
static void take_room(struct world *w)
{
    uint64_t low, high;
    struct op *op;

    CHECK_EQ(world_register(w, "n3", "{\"cpu\":1000}"), PROBLEM_NONE);
    low = world_submit(w, "{\"name\":\"low\",\"resources\":{\"cpu\":1}}");
    high = world_submit(w, "{\"name\":\"high\",\"resources\":{\"cpu\":1}}");
    CHECK_EQ(world_run(w, world_evict_op(w, low, 0, 1, "n3")), PROBLEM_NONE);
    op = world_bind_op(w, high, 0, 1, "n3");
    op->bind.takes = NEW0(struct op_take);
    *op->bind.takes = (struct op_take){ low, world_reservation(w, low) };
    op->bind.n_takes = 1;
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
    CHECK_TEXT(world_held_says(w, low), "ended TAKEN");
}

/* Within what its queue allows. */
static void change_limit(struct world *w)
{
    struct op *op = op_new(OP_QUEUE_PUT, NULL, NULL);

    op->queue_put.name = text_copy("bounded");
    op->queue_put.spec = text_copy("{\"maxLimit\":7200000}");
    op->queue_put.is_create = true;
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
    op = op_new(OP_PATCH, NULL, NULL);
    op->patch.job = world_submit(w, "{\"name\":\"long\",\"queue\":\"bounded\",\"limit\":\"1h\"}");
    op->patch.has_limit = true;
    op->patch.limit_ms = 5400000;
    CHECK_EQ(world_run(w, op), PROBLEM_NONE);
}

/* A task that fails, is tried again and ends well; another job that is cancelled as it runs. */
static void make_history(const char *address)
{
    struct world w = { 0 };
    uint64_t job;

    world_open(&w, address);
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    CHECK_EQ(world_quota(&w, "q", "{\"cpu\":2000,\"pods\":3000}"), PROBLEM_NONE);
    job = world_submit(&w, "{\"name\":\"a\",\"replicas\":2,\"resources\":{\"cpu\":1},"
                           "\"retries\":{\"max\":1,\"backoff\":\"0s\"}}");
    for (uint32_t number = 1; number <= 2; number++) {
        CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_ack(&w, job, 0, number, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_running(&w, job, 0, number, "n1"), PROBLEM_NONE);
        CHECK_EQ(world_ended(&w, job, 0, number, "n1", 2 - (int)number), PROBLEM_NONE);
    }
    job = world_submit(&w, "{\"name\":\"b\"}");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 143), PROBLEM_NONE);
    make_room(&w);
    take_room(&w);
    change_limit(&w);
    world_close(&w);
}

static void run_sql(const char *address, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;

    CHECK_EQ(sqlite3_open(strchr(address, ':') + 1, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        print_error("%s\n", why);
    CHECK(!why);
    CHECK(sqlite3_total_changes(db) > 0); /* it did spoil something */
    sqlite3_close(db);
}

#define SPOIL(type, from, to)                                                                      \
    "UPDATE event SET body = replace(body, '" from "', '" to "') WHERE type = '" type              \
    "' AND instr(body, '" from "')"
#define FIRST "rev = (SELECT min(rev) FROM event WHERE type = "

static const struct {
    const char *name, *sql, *says;
} rows[] = {
    { "an event is missing", "DELETE FROM event WHERE type = 'attempt.running'",
      "it follows event" },
    { "the last event is missing", "DELETE FROM event WHERE rev = (SELECT max(rev) FROM event)",
      "tables and events differ" },
    { "a body is broken", SPOIL("job.running", "\"id\":", "\"ID\":"), "cannot be read" },
    { "a row was changed behind the events", "UPDATE attempt SET code = 9",
      "tables and events differ in" },
    { "a row was lost", "DELETE FROM job WHERE name = 'a'", "the tables lack the row of job" },
    { "a row came from nowhere", "INSERT INTO task VALUES (1, 0, 0, 4, 0, 1)",
      "no event made the row of task" },
    { "a number is left out", SPOIL("attempt.bound", "\"number\":2", "\"number\":3"),
      "its number follows 1" },
    { "a limit above that of the queue",
      SPOIL("job.submitted", "\"limit\":\"1h\"", "\"limit\":\"3h\""),
      "its limit is above the longest of queue bounded" },
    { "a limit that becomes so", SPOIL("job.changed", "\"limit\":\"1h30m\"", "\"limit\":\"3h\""),
      "its limit is above the longest of queue bounded" },
    { "a number comes twice",
      "UPDATE event SET body = replace(body, '\"number\":2', '\"number\":1') WHERE type LIKE "
      "'attempt.%'",
      "it had ended" },
    { "two live attempts of a task",
      "UPDATE event SET type = 'x', body = '{\"name\":\"x\"}', kind = 10 WHERE " FIRST
      "'attempt.ended')",
      "its task has a live attempt" },
    { "an ack is skipped",
      SPOIL("attempt.starting", "\"state\":\"starting\"", "\"state\":\"running\""),
      "it went from bound to running" },
    { "a stop is forgotten", SPOIL("attempt.ended", "\"stopWanted\":true,", ""),
      "a stop was forgotten" },
    { "an attempt moves", SPOIL("attempt.running", "\"node\":\"n1\"", "\"node\":\"n2\""),
      "it moved from n1 to n2" },
    { "the node is too small", SPOIL("node.registered", "\"cpu\":4000", "\"cpu\":500"),
      "binds 1000 of cpu on a node that offers 500" },
    { "the quota is too small", SPOIL("quota.created", "\"cpu\":2000", "\"cpu\":500"),
      "brings namespace default to 1000 of cpu, above the 500 of its quota q" },
    { "fewer tasks are let in", SPOIL("quota.created", "\"pods\":3000", "\"pods\":0"),
      "brings namespace default to 1000 of pods, above the 0 of its quota q" },
    { "a quota was lost", "DELETE FROM quota", "the tables lack the row of quota" },
    { "the node was lost", SPOIL("node.registered", "\"state\":\"ready\"", "\"state\":\"lost\""),
      "which takes no work" },
    { "the node is cordoned",
      SPOIL("node.registered", "\"generation\"", "\"cordoned\":true,\"generation\""),
      "which takes no work" },
    { "another generation", SPOIL("attempt.bound", "\"generation\":1", "\"generation\":2"),
      "is bound to another generation" },
    { "a node that never was", SPOIL("attempt.bound", "\"node\":\"n1\"", "\"node\":\"n7\""),
      "never registered" },
    { "a gang starts short", SPOIL("job.submitted", "\"minAvailable\":1", "\"minAvailable\":2"),
      "it starts with 1 of a minimum of 2" },
    { "counts that are not the tasks'", SPOIL("job.running", "\"nPending\":1", "\"nPending\":7"),
      "its counts are not those of its tasks" },
    { "a job leaves its path",
      SPOIL("job.pending", "\"state\":\"pending\"", "\"state\":\"stopping\""),
      "it stops with pending tasks" },
    { "a job comes back", SPOIL("job.stopping", "\"state\":\"stopping\"", "\"state\":\"failed\""),
      "it is over with live or pending tasks" },
    { "an eviction names nobody",
      "UPDATE event SET body = replace(replace(body, '\"evictedFor\":', '\"signal\":'), "
      "'\"message\":\"preempt for', '\"peaks\":\"preempt for') WHERE type LIKE 'attempt.%' AND "
      "instr(body, 'evictedFor')",
      "it was evicted for nobody and nothing" },
    { "held room is for another", SPOIL("room.held", "\"index\":0", "\"index\":7"),
      "room is held for no task" },
    { "held room is kept", "DELETE FROM event WHERE type = 'room.used'",
      "is bound, and room is held for it yet" },
    { "held room is taken",
      "UPDATE event SET body = replace(body, '\"job\":' || job || ',', '\"job\":' || (SELECT "
      "max(job) "
      "FROM event e WHERE e.type = 'job.submitted' AND e.job < event.job) || ',') WHERE type = "
      "'room.held'",
      "takes cpu that is held for another" },
    { "a node that leaves has room held",
      SPOIL("node.registered", "\"name\":\"n2\"", "\"name\":\"n2\",\"cordoned\":true"),
      "room is held on n2, which takes no work" },
    { "a reservation was not opened", SPOIL("reservation.opened", "\"open\"", "\"ended\""),
      "a reservation begins as ended" },
    { "a reservation holds nothing", "DELETE FROM event WHERE type LIKE 'room.%'",
      "is open and holds nothing" },
    { "room is taken by nobody",
      "UPDATE event SET body = json_remove(body, '$.takenBy') WHERE type = 'reservation.ended'",
      "a reservation was taken by nobody" },
    { "an end without a cause", SPOIL("attempt.ended", "\"cause\":\"COMPLETED\",", ""),
      "without cause or consequence" },
};

TEST(each_fault_that_is_planted_is_found)
{
    ROW_EACH (c, rows) {
        const char *address = world_fresh("sqlite");
        struct ledger_report *report = NEW0(struct ledger_report);
        struct err err = { 0 };
        bool is_found = false;

        make_history(address);
        CHECK_OK(ledger_check(address, report, &err), &err);
        CHECK_EQ(report->n_findings, 0);
        CHECK_EQ(report->n_attempts, 6);
        CHECK_EQ(report->n_jobs, 7);
        run_sql(address, c->sql);
        CHECK_OK(ledger_check(address, report, &err), &err);
        for (size_t i = 0; i < report->n_findings && i < LEDGER_FINDINGS_MAX; i++)
            is_found = is_found || strstr(report->findings[i], c->says);
        for (size_t i = 0; i < report->n_findings && i < LEDGER_FINDINGS_MAX && !is_found; i++)
            print_error("%s\n", report->findings[i]);
        CHECK(is_found);
        mem_free(report);
        world_drop();
    }
}

TEST(what_cannot_be_checked_says_so)
{
    struct ledger_report report;
    struct err err = { 0 };

    CHECK(ledger_check("memory:", &report, &err) < 0);
    err = (struct err){ 0 };
    CHECK(ledger_check("sqlite:/nowhere/at/all.db", &report, &err) < 0);
}
