/* What only the SQLite store promises: one server, a known schema, a file that stays, a disk
 * that may be full. */
#include "ledger/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"
#include "ledger/check.h"
#include "ledger/inside.h"
#include "ledger/store.h"
#include "ledger/world.h"

static const char *path_of(const char *address)
{
    return strchr(address, ':') + 1;
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    CHECK_EQ(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_EQ(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static int try_open(const char *address, struct err *err)
{
    struct store *store = NULL;
    int r = store_open(address, &store, err);

    store_close(store);
    return r;
}

TEST(a_second_server_is_told_that_the_first_has_it)
{
    const char *address = world_fresh("sqlite");
    struct err err = { 0 };
    struct store *store;

    CHECK_OK(store_open(address, &store, &err), &err);
    CHECK_EQ(try_open(address, &err), -EBUSY);
    CHECK(strstr(err.text, "another server has"));
    store_close(store);
    err = (struct err){ 0 };
    CHECK_OK(try_open(address, &err), &err);
    world_drop();
}

TEST(a_newer_schema_is_refused_with_both_numbers)
{
    const char *address = world_fresh("sqlite");
    struct ledger_report report;
    struct err err = { 0 };
    struct ledger *ledger;

    CHECK_OK(try_open(address, &err), &err);
    run_sql(path_of(address), "PRAGMA user_version = 8");
    CHECK_EQ(ledger_open(&(struct ledger_options){ .store = address }, &ledger, &err), -EPROTO);
    CHECK(strstr(err.text, "has schema 8, this program knows up to 7"));
    err = (struct err){ 0 };
    CHECK_EQ(ledger_check(address, &report, &err), -EPROTO);
    world_drop();
}

/* What the first schema lacked. */
static const char to_first_schema[] =
    "DROP TABLE reservation; DROP TABLE reservation_part; DROP TABLE machine_order; DROP TABLE "
    "quota;"
    "ALTER TABLE attempt DROP COLUMN evictedFor; ALTER TABLE job DROP COLUMN degradedAt;"
    "ALTER TABLE node DROP COLUMN disabled; ALTER TABLE node DROP COLUMN disabledAt;"
    "ALTER TABLE job DROP COLUMN pendingAt; ALTER TABLE job DROP COLUMN runningAt;"
    "ALTER TABLE node DROP COLUMN beatMs; ALTER TABLE beat DROP COLUMN heardAt;"
    "ALTER TABLE node DROP COLUMN identity; ALTER TABLE node DROP COLUMN firstAt;"
    "UPDATE event SET body = json_remove(body, '$.pendingAt', '$.runningAt', '$.firstAt', "
    "'$.beatMs');"
    "ALTER TABLE node DROP COLUMN setLabels; PRAGMA user_version = 1";

TEST(an_older_schema_is_brought_forward_with_all_that_is_in_it)
{
    CLEANUP(freep) char *address = text_copy(world_fresh("sqlite"));
    struct world w = { 0 };
    struct err err = { 0 };
    struct op *op;
    uint64_t low, high;

    world_open(&w, address);
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":1000}"), PROBLEM_NONE);
    low = world_submit(&w, "{\"name\":\"a\",\"resources\":{\"cpu\":1}}");
    CHECK_EQ(world_bind(&w, low, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, low, 0, 1, "n1"), PROBLEM_NONE);
    world_close(&w);
    run_sql(path_of(address), to_first_schema);
    world_open(&w, address);
    world_lead(&w);
    CHECK_TEXT(world_attempt_says(&w, low, 0, 1), "starting");
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    CHECK_EQ(world_quota(&w, "q", "{\"cpu\":1000}"), PROBLEM_NONE);
    high = world_submit(&w, "{\"name\":\"b\",\"resources\":{\"cpu\":1}}");
    op = world_evict_op(&w, high, 0, 1, "n1");
    world_add_victim(&w, op, low, 0, 1);
    CHECK_EQ(world_run(&w, op), PROBLEM_NONE);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
    world_drop();
}

TEST(a_database_that_is_no_ledger_is_left_alone)
{
    const char *address = world_fresh("sqlite");
    struct err err = { 0 };

    run_sql(path_of(address), "CREATE TABLE mine (x)");
    CHECK_EQ(try_open(address, &err), -EINVAL);
    CHECK(strstr(err.text, "no ledger"));
    world_drop();
}

TEST(a_file_that_is_no_database_is_refused)
{
    const char *address = world_fresh("sqlite");
    struct err err = { 0 };

    CHECK_OK(file_write(AT_FDCWD, path_of(address), "hello, this is a text file, and no more", 39,
                        0600, false, &err),
             &err);
    CHECK_EQ(try_open(address, &err), -EBADMSG);
    world_drop();
}

TEST(network_file_systems_are_known)
{
    CHECK(sqlite_is_network(0x6969));
    CHECK(sqlite_is_network(0xff534d42));
    CHECK(sqlite_is_network((unsigned long)(int32_t)0xff534d42)); /* as a signed f_type has it */
    CHECK(!sqlite_is_network(0xef53));
    CHECK(!sqlite_is_network(0x01021994));
}

TEST(the_file_is_its_owners_and_its_folder_is_made)
{
    const char *address = world_fresh("sqlite");
    CLEANUP(freep) char *dir = text_copy(path_of(address)), *deep = NULL;
    struct err err = { 0 };
    struct stat st;

    *strrchr(dir, '/') = '\0';
    deep = text_format("sqlite:%s/a/b/ledger.db", dir);
    CHECK_OK(try_open(deep, &err), &err);
    CHECK_EQ(stat(path_of(deep), &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0600);
    world_drop();
}

TEST(a_file_that_is_moved_away_is_noticed)
{
    struct world w = { 0 };
    const char *address = world_fresh("sqlite");
    CLEANUP(freep) char *away = text_format("%s.away", path_of(address));
    char why[240];
    uint64_t job;

    world_open(&w, address);
    job = world_submit(&w, "{}");
    CHECK(job);
    CHECK_EQ(rename(path_of(address), away), 0);
    CHECK_EQ(world_run(&w, world_submit_op("{}")), PROBLEM_STORE_UNAVAILABLE);
    CHECK(strstr(w.problem.detail, "moved or removed"));
    CHECK(!ledger_is_writable(w.ledger, why));
    CHECK(strstr(why, "moved or removed"));
    CHECK_EQ(rename(away, path_of(address)), 0);
    CHECK(world_submit(&w, "{}") > job); /* it goes on where it was */
    CHECK(ledger_is_writable(w.ledger, why));
    world_close(&w);
    world_drop();
}

TEST(what_was_committed_is_there_after_the_next_open)
{
    struct world w = { 0 };
    const char *address = world_fresh("sqlite");
    CLEANUP(freep) char *life = NULL;
    struct ledger_report report;
    struct err err = { 0 };
    uint64_t job;

    world_open(&w, address);
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    job = world_submit(&w, "{\"replicas\":2,\"retries\":{\"max\":2,\"backoff\":\"10s\"}}");
    CHECK_EQ(world_run(&w, world_bind_op(&w, job, 0, 2, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 0, 1, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ended(&w, job, 0, 1, "n1", 3), PROBLEM_NONE);
    life = text_copy(ledger_incarnation(w.ledger));
    CHECK_OK(ledger_check(address, &report, &err), &err); /* beside the server */
    CHECK_EQ(report.n_findings, 0);
    world_close(&w);

    world_open(&w, address);
    CHECK_TEXT(ledger_incarnation(w.ledger), life);
    world_lead(&w);
    CHECK_TEXT(world_attempt_says(&w, job, 0, 1), "ended COMPLETED again");
    CHECK_EQ(world_bind(&w, job, 0, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 0, 2, "n1"), PROBLEM_NONE);
    CHECK_EQ(world_ack(&w, job, 1, 1, "n1"), PROBLEM_NONE);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
    CHECK_OK(ledger_check(address, &report, &err), &err);
    CHECK_EQ(report.n_findings, 0);
    CHECK_EQ(report.n_attempts, 3);
    world_drop();
}

/* The limit on a file's size is the disk that is full: writes fail as they would there. */
TEST(a_full_disk_refuses_and_loses_nothing)
{
    struct world w = { 0 };
    const char *address = world_fresh("sqlite");
    struct rlimit was, small;
    struct err err = { 0 };
    uint64_t first, last = 0;
    char why[240];
    int n = 0;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    world_open(&w, address);
    first = world_submit(&w, "{}");
    CHECK(first);
    small = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = was.rlim_max };
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (world_run(&w, world_submit_op("{}")) == PROBLEM_NONE && n < 10000)
        n++;
    CHECK(n > 10 && n < 10000);
    CHECK_EQ(w.problem.code, PROBLEM_STORE_UNAVAILABLE);
    CHECK(!ledger_is_writable(w.ledger, why));
    CHECK_EQ(world_run(&w, world_submit_op("{}")), PROBLEM_STORE_UNAVAILABLE);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &was), 0);
    last = world_submit(&w, "{}");
    CHECK_EQ(last, first + (uint64_t)n + 1); /* those that were refused took no revision */
    CHECK(ledger_is_writable(w.ledger, why));
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
    world_drop();
}

/* Puts n events of 64 KiB in one transaction. */
static void put_events(struct store *store, uint64_t first, size_t n)
{
    CLEANUP(str_fini) struct str body = { 0 };
    struct err err = { 0 };
    uint64_t revision;

    str_add_char(&body, '"');
    for (size_t i = 0; i < 64 * 1024 - 2; i++)
        str_add_char(&body, 'x');
    str_add_char(&body, '"');
    CHECK_OK(store_begin(store, &revision, &err), &err);
    for (size_t i = 0; i < n; i++) {
        struct row_event *row = row_new(ROW_EVENT);
        row->rev = first + i;
        row_set(&row->type, "x");
        row_set(&row->body, str_text(&body));
        CHECK_OK(store_put(store, ROW_EVENT, row, &err), &err);
        row_free(ROW_EVENT, row);
    }
    CHECK_OK(store_commit(store, &err), &err);
}

static int64_t log_size(const char *address)
{
    CLEANUP(freep) char *path = text_format("%s-wal", path_of(address));
    struct stat st;

    CHECK_EQ(stat(path, &st), 0);
    return st.st_size;
}

TEST(the_log_begins_anew_when_nobody_reads_of_it)
{
    enum { EACH = 260, ROUNDS = 4 }; /* each of more pages than are gathered */
    const int64_t one = (int64_t)EACH * 64 * 1024;
    CLEANUP(freep) char *address = text_copy(world_fresh("sqlite"));
    struct store *store, *reader;
    struct err err = { 0 };
    uint64_t revision;

    CHECK_OK(store_open(address, &store, &err), &err);
    CHECK_OK(store_open_reader(store, &reader, &err), &err);
    for (uint64_t i = 0; i < ROUNDS; i++)
        put_events(store, 1 + i * EACH, EACH);
    CHECK(log_size(address) < 2 * one);
    /* While somebody looks it cannot. */
    CHECK_OK(store_begin(reader, &revision, &err), &err);
    for (uint64_t i = 0; i < ROUNDS; i++)
        put_events(store, 1 + (ROUNDS + i) * EACH, EACH);
    CHECK(log_size(address) > 3 * one);
    store_rollback(reader);
    put_events(store, 1 + 2 * ROUNDS * EACH, EACH); /* moved: the next begins anew */
    put_events(store, 1 + (2 * ROUNDS + 1) * EACH, 1);
    CHECK_OK(store_begin(reader, &revision, &err), &err);
    CHECK_EQ(revision, 1 + (2 * ROUNDS + 1) * EACH);
    store_close(reader);
    store_close(store);
    world_drop();
}

TEST(nothing_stays_open)
{
    size_t n = test_count_fds();
    struct world w = { 0 };

    world_open(&w, world_fresh("sqlite"));
    CHECK(world_submit(&w, "{}"));
    CHECK_EQ(world_job_state(&w, 99), JOB_STATE_COUNT);
    world_close(&w);
    world_drop();
    CHECK_EQ(test_count_fds(), n);
}
