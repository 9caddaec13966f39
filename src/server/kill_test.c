/*
 * A server that is killed at its named points, and an agent that goes on with the next one: the
 * job ends, with one attempt, whatever the point was.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/name.h"
#include "server/cycle.h"
#include "server/scene.h"
#include "server/steward.h"

/* ---- the server, in a process of its own ---- */

struct point {
    const char *name;
    const char *at;
    int nth; /* the how manieth time it is passed */
};

static const struct point *kill_at; /* the child's */

static void at_point(const char *point)
{
    static atomic_int n_passed;

    if (kill_at && strcmp(point, kill_at->at) == 0 &&
        atomic_fetch_add(&n_passed, 1) + 1 == kill_at->nth)
        kill(getpid(), SIGKILL);
}

/* Serves until it is killed; tells its port. */
static void serve(const char *store, bool is_first, int tell)
{
    struct nodes_options nodes = { .at_point = at_point };
    struct cycle_options cycle_options = { .at_point = at_point };
    struct steward_options steward_options = { 0 };
    struct steward *steward;
    struct cycle *cycle;
    struct scene scene;
    struct err err = { 0 };

    scene_open(&scene, store, &nodes);
    cycle_options.ledger = steward_options.ledger = scene.ledger;
    CHECK_OK(cycle_open(&cycle_options, &cycle, &err), &err);
    steward_options.cycle = cycle;
    CHECK_OK(steward_open(&steward_options, &steward, &err), &err);
    scene_start(&scene);
    if (is_first)
        scene_submit(&scene, "{\"name\":\"a\",\"image\":\"dir:/i\"}");
    CHECK_OK(cycle_start(cycle, &err), &err);
    CHECK_OK(steward_start(steward, &err), &err);
    CHECK_EQ(write(tell, &scene.port, sizeof(scene.port)), (ssize_t)sizeof(scene.port));
    for (;;)
        pause();
}

struct server {
    pid_t pid;
    uint16_t port; /* 0: it died before it could tell */
};

static struct server start_server(const char *store, bool is_first, const struct point *point)
{
    struct server server = { 0 };
    int tell[2];

    CHECK_EQ(pipe(tell), 0);
    server.pid = fork();
    CHECK(server.pid >= 0);
    if (server.pid == 0) {
        close(tell[0]);
        kill_at = point;
        serve(store, is_first, tell[1]);
        _exit(1);
    }
    close(tell[1]);
    if (read(tell[0], &server.port, sizeof(server.port)) != sizeof(server.port))
        server.port = 0;
    close(tell[0]);
    return server;
}

/* ---- the agent ---- */

enum step { STEP_REGISTER, STEP_OPEN, STEP_WAIT, STEP_ACK, STEP_RUN, STEP_END, STEP_OVER };

struct life {
    struct agent agent;
    char attempt[NAME_ATTEMPT_SIZE]; /* "" not had yet */
    enum step step, then;            /* then: where to go on once registered and open */
};

static bool step_register(struct life *life)
{
    char *more =
        life->attempt[0] ? text_format("\"attempts\":[\"%s\"]", life->attempt) : text_copy("");
    json_t *answer, *ends;
    int status = agent_register_with(&life->agent, "b1", more, &answer);

    mem_free(more);
    if (status == 0)
        return false;
    CHECK_EQ(status, 200);
    ends = json_object_get(answer, "end");
    life->step = STEP_OPEN;
    if (json_array_size(ends)) { /* only what was reported may be over */
        CHECK_EQ(life->then, STEP_END);
        life->step = STEP_OVER;
    }
    json_decref(answer);
    return true;
}

static bool step_open(struct life *life)
{
    struct str path = { 0 };
    int status;

    str_addf(&path, "/v1/worker/work?node=n1&generation=%llu&have=",
             (unsigned long long)life->agent.generation);
    for (const char *c = life->attempt; *c; c++)
        str_addf(&path, *c == '#' ? "%%23" : "%c", *c);
    status = agent_open_at(&life->agent, str_text(&path));
    str_fini(&path);
    life->step = life->then;
    return status == 200;
}

static bool step_wait(struct life *life)
{
    json_t *line = agent_line(&life->agent);

    if (!line)
        return false;
    CHECK(agent_is_line(line, "start"));
    snprintf(life->attempt, sizeof(life->attempt), "%s",
             json_string_value(json_object_get(line, "attempt")));
    json_decref(line);
    life->step = STEP_ACK;
    return true;
}

/* Whether an answer came; it must be good then. */
static bool is_taken(const char *code)
{
    if (strcmp(code, "(no result)") == 0)
        return false;
    CHECK_TEXT(code, "");
    return true;
}

static bool take_step(struct life *life)
{
    enum step step = life->step;
    bool is_done = false;

    switch (step) {
    case STEP_REGISTER:
        return step_register(life);
    case STEP_OPEN:
        return step_open(life);
    case STEP_WAIT:
        return step_wait(life);
    case STEP_ACK:
        is_done = is_taken(agent_ack(&life->agent, life->attempt));
        break;
    case STEP_RUN:
        is_done = is_taken(agent_report(&life->agent, life->attempt, AGENT_RUNNING));
        break;
    case STEP_END:
        is_done = is_taken(agent_report(&life->agent, life->attempt, AGENT_ENDED));
        break;
    case STEP_OVER:
        break;
    }
    if (is_done)
        life->step = step + 1;
    return is_done;
}

/* ---- what is left ---- */

static int count_row(const void *row, void *arg)
{
    const struct row_attempt *attempt = row;

    CHECK_EQ(attempt->number, 1);
    CHECK_EQ(attempt->state, ATTEMPT_ENDED);
    ++*(size_t *)arg;
    return 0;
}

static void check_history(const char *store, const char *attempt)
{
    struct ledger_options options = { .store = store, .clock = &clock_system, .server = "s1" };
    struct attempt_key none = { 0 };
    struct ledger *ledger = NULL;
    struct scene scene = { 0 };
    struct name_parts parts;
    struct err err = { 0 };
    struct reader *reader;
    size_t n = 0;

    CHECK_OK(ledger_open(&options, &ledger, &err), &err);
    scene.ledger = ledger;
    CHECK_OK(name_parse(attempt, &parts, &err), &err);
    CHECK_EQ(scene_job_state(&scene, parts.job), JOB_SUCCEEDED);
    reader = scene_read(&scene);
    CHECK_OK(reader_attempts(reader, parts.job, &none, 10, count_row, &n, &err), &err);
    CHECK_EQ(n, 1);
    reader_close(reader);
    ledger_close(ledger);
}

static void live_through(const char *store, const struct point *point)
{
    struct life life = { .agent = { .node = "n1", .stream = -1 }, .then = STEP_WAIT };
    struct server server = start_server(store, true, point);
    size_t n_deaths = 0;
    int status;

    life.agent.port = server.port;
    while (life.step != STEP_OVER) {
        if (server.port && take_step(&life))
            continue;
        agent_hang_up(&life.agent);
        CHECK_EQ(waitpid(server.pid, &status, 0), server.pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        n_deaths++;
        CHECK_EQ(n_deaths, 1);
        server = start_server(store, false, NULL);
        life.agent.port = server.port;
        if (life.step > STEP_OPEN)
            life.then = life.step;
        life.step = STEP_REGISTER;
    }
    CHECK_EQ(n_deaths, 1);
    kill(server.pid, SIGKILL);
    waitpid(server.pid, &status, 0);
    check_history(store, life.attempt);
    agent_fini(&life.agent);
}

static const struct point points[] = {
    { "decided, not sent", "cycle-before-send", 1 },
    { "sent, outcome unknown", "cycle-after-send", 1 },
    { "asked to start, not written", "before-ack", 1 },
    { "let start, not told so", "after-ack", 1 },
    { "said to run, not written", "before-report", 1 },
    { "said to run, not answered", "after-report", 1 },
    { "said to have ended, not written", "before-report", 2 },
    { "said to have ended, not answered", "after-report", 2 },
};

TEST(kill_loses_no_job_and_starts_none_twice)
{
    ROW_EACH (c, points) {
        char folder[] = "/tmp/berth-kill-XXXXXX", store[64];
        struct err err = { 0 };

        CHECK(mkdtemp(folder) != NULL);
        snprintf(store, sizeof(store), "sqlite:%s/db", folder);
        live_through(store, c);
        CHECK_OK(file_remove_tree(AT_FDCWD, folder, &err), &err);
    }
}
