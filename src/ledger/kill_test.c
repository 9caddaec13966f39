/*
 * Kills: a child works on a ledger and ends without a word at a named point, the first time it
 * is there, the second time, and so on until it gets to its end. What it was told is done is
 * there when the ledger is opened again; what it was not told is there whole or not at all.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "ledger/check.h"
#include "ledger/world.h"

enum { KILLED = 9 };

static struct {
    const char *point;
    int left; /* how often the point is passed before the end */
} plan;

static void at_point(const char *point)
{
    if (strcmp(point, plan.point) == 0 && plan.left-- == 0)
        _exit(KILLED);
}

/* What a child was told, one line each, in the order of the steps below. */
enum step { REGISTERED, SUBMITTED, BOUND, ACKED, RAN, ENDED, CANCELLED, STEP_COUNT };

static void say(int fd, enum step step, uint64_t job)
{
    uint64_t line[2] = { step, job };

    if (write(fd, line, sizeof(line)) != sizeof(line))
        _exit(1);
}

static void must(enum problem_code code)
{
    if (code)
        _exit(2);
}

static void work(const char *address, int fd)
{
    struct world w = { .at_point = at_point };
    uint64_t job;

    world_open(&w, address);
    world_lead(&w);
    must(world_register(&w, "n1", "{\"cpu\":4000}"));
    say(fd, REGISTERED, 0);
    job = world_submit(&w, "{\"replicas\":2,\"onFailure\":\"continue\"}");
    say(fd, SUBMITTED, job);
    must(world_run(&w, world_bind_op(&w, job, 0, 2, "n1")));
    say(fd, BOUND, job);
    must(world_ack(&w, job, 0, 1, "n1"));
    say(fd, ACKED, job);
    must(world_running(&w, job, 0, 1, "n1"));
    say(fd, RAN, job);
    must(world_ended(&w, job, 0, 1, "n1", 3));
    say(fd, ENDED, job);
    must(world_stop(&w, job));
    say(fd, CANCELLED, job);
    world_close(&w);
    _exit(0);
}

/* Runs a child up to its end; what it was told last, and whether it was killed. */
static bool run_child(const char *address, enum step *told, uint64_t *job)
{
    uint64_t line[2];
    int pipes[2], status;
    pid_t pid;

    CHECK_EQ(pipe(pipes), 0);
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(pipes[0]);
        work(address, pipes[1]);
    }
    close(pipes[1]);
    *told = STEP_COUNT;
    while (read(pipes[0], line, sizeof(line)) == sizeof(line)) {
        *told = (enum step)line[0];
        *job = line[1];
    }
    close(pipes[0]);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == KILLED);
    return WEXITSTATUS(status) == KILLED;
}

/* Which step the attempt shows to have been done at least. */
static enum step shown(struct world *w, uint64_t job)
{
    const char *says = world_attempt_says(w, job, 0, 1);

    if (world_job_state(w, job) == JOB_CANCELLED)
        return CANCELLED;
    if (strncmp(says, "ended", 5) == 0)
        return ENDED;
    if (strcmp(says, "running") == 0)
        return RAN;
    if (strcmp(says, "starting") == 0)
        return ACKED;
    return strcmp(says, "bound") == 0 ? BOUND : SUBMITTED;
}

static void check_left(const char *address, enum step told, uint64_t job)
{
    struct world w = { 0 };
    struct err err = { 0 };
    struct row_node *node;

    world_open(&w, address);
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    node = world_node(&w, "n1");
    CHECK(told == STEP_COUNT || node);
    row_free(ROW_NODE, node);
    if (told != STEP_COUNT && told >= SUBMITTED) {
        CHECK(world_job_state(&w, job) != JOB_STATE_COUNT);
        CHECK(shown(&w, job) >= told);
        CHECK(shown(&w, job) <= told + 1);
    }
    /* It goes on. */
    world_lead(&w);
    CHECK_EQ(world_register(&w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    CHECK(world_submit(&w, "{}"));
    CHECK_OK(ledger_check_open(w.ledger, &err), &err);
    world_close(&w);
}

static const struct {
    const char *name;
} points[] = { { "before-lock" }, { "after-catch-up" }, { "before-commit" }, { "after-commit" } };

TEST(a_kill_loses_nothing_that_was_acknowledged)
{
    ROW_EACH (c, points) {
        bool is_killed = true;
        int n = 0;
        for (; is_killed; n++) {
            const char *address = world_fresh("sqlite");
            enum step told;
            uint64_t job = 0;
            plan.point = c->name;
            plan.left = n;
            is_killed = run_child(address, &told, &job);
            CHECK(is_killed || told == CANCELLED);
            check_left(address, told, job);
            world_drop();
        }
        CHECK(n > STEP_COUNT); /* each step passes each point */
    }
}
