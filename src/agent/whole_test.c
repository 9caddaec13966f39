/* The whole agent against a server that can misbehave, with containers of the runtime `process`. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/fake.h"
#include "base/file.h"
#include "base/test.h"
#include "runtime/runtime.h"

static struct fake fake;

#define SHELL(script) "{\"runtime\":\"process\",\"command\":[\"/bin/sh\",\"-c\",\"" script "\"]}"
#define SHELL_AND(script, more)                                                                    \
    "{\"runtime\":\"process\",\"command\":[\"/bin/sh\",\"-c\",\"" script "\"]," more "}"
#define TRUE_SPEC "{\"runtime\":\"process\",\"command\":[\"/bin/true\"]}"
#define SLEEP     "{\"runtime\":\"process\",\"command\":[\"/bin/sleep\",\"1000\"]}"

static void begin(void)
{
    fake_begin(&fake);
}

static void begin_with_agent(void)
{
    begin();
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
}

/* Ends the agent by TERM and checks that it went in peace. */
static void end(void)
{
    int status = fake_finish(&fake, SIGTERM);

    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fake_end(&fake);
}

static const struct {
    const char *name, *spec;
    enum cause cause;
    enum detail detail;
    int code, signal;
    bool has_started;
    const char *message; /* a part of it */
} ends[] = {
    { "true", TRUE_SPEC, CAUSE_COMPLETED, DETAIL_NONE, 0, 0, true, "" },
    { "a code", SHELL("exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3, 0, true, "" },
    { "a signal", SHELL("kill -9 $$"), CAUSE_COMPLETED, DETAIL_NONE, 0, 9, true, "" },
    { "the limit", SHELL_AND("sleep 1000", "\"limitMs\":100,\"graceMs\":1000"), CAUSE_LIMIT_REACHED,
      DETAIL_NONE, 0, 15, true, "" },
    { "the limit, and TERM is ignored",
      SHELL_AND("trap '' TERM; while :; do sleep 1; done", "\"limitMs\":2000,\"graceMs\":100"),
      CAUSE_LIMIT_REACHED, DETAIL_NONE, 0, 9, true, "" },
    { "no such command", "{\"runtime\":\"process\",\"command\":[\"/no/such\"]}", CAUSE_START_FAILED,
      DETAIL_COMMAND_NOT_FOUND, 0, 0, false, "" },
    { "no such runtime", "{\"runtime\":\"docker\",\"command\":[\"/bin/true\"]}", CAUSE_START_FAILED,
      DETAIL_RUNTIME_FAILED, 0, 0, false, "does not know the runtime docker" },
    { "no image", "{\"runtime\":\"runc\",\"image\":\"oci:/no/such\",\"command\":[\"/bin/true\"]}",
      CAUSE_START_FAILED, DETAIL_IMAGE_ABSENT, 0, 0, false, "/no/such" },
    { "a bad variable",
      "{\"runtime\":\"process\",\"command\":[\"/bin/true\"],\"env\":{\"A=B\":\"x\"}}",
      CAUSE_START_FAILED, DETAIL_RUNTIME_FAILED, 0, 0, false, "A=B" },
};

TEST(attempts_end_as_they_should)
{
    begin_with_agent();
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        char name[64];
        snprintf(name, sizeof(name), "j-%zu/task.0#1", i + 1);
        fake_add(&fake, name, ends[i].spec);
    }
    fake_wait(&fake, fake_all_ended, "all ends");
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const struct fake_attempt *attempt = &fake.attempts[i];
        test_row(ends[i].name);
        CHECK_EQ(attempt->cause, ends[i].cause);
        CHECK_EQ(attempt->detail, ends[i].detail);
        CHECK_EQ(attempt->code, ends[i].code);
        CHECK_EQ(attempt->signal, ends[i].signal);
        CHECK_EQ(attempt->has_started_at, ends[i].has_started);
        CHECK(attempt->has_timings);
        CHECK(strstr(attempt->message, ends[i].message));
        CHECK_EQ(attempt->n_acks, 1);
        CHECK_EQ(attempt->n_ends, 1);
    }
    end();
}

static int64_t stand_still_us(void *arg)
{
    (void)arg;
    return 1000000000000;
}

static int64_t stand_still_ms(void *arg)
{
    (void)arg;
    return 1800000000000;
}

static bool has_an_end(struct fake *f)
{
    return f->attempts[0].n_ends || f->attempts[1].n_ends;
}

/* No time passes in which a start's report could have waited long enough. */
TEST(an_end_goes_without_a_report_of_the_start)
{
    static const struct clock stands_still = { stand_still_us, stand_still_ms, NULL };
    struct fake_attempt *runs;

    begin();
    fake.clock = &stands_still;
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
    runs = fake_add(&fake, "j-1/task.0#1", SLEEP);
    fake_add(&fake, "j-2/task.0#1", TRUE_SPEC);
    fake_wait(&fake, has_an_end, "the end of one");
    CHECK_EQ(fake.n_starts, 0);
    fake_stop(&fake, runs, CAUSE_CANCELLED, 5000);
    fake_wait(&fake, fake_all_ended, "the end of the other");
    CHECK_EQ(fake.n_starts, 0);
    CHECK(runs->has_started_at);
    end();
}

TEST(stops_are_obeyed)
{
    struct fake_attempt *cancelled, *dropped;

    begin_with_agent();
    cancelled = fake_add(&fake, "j-1/task.0#1", SLEEP);
    dropped = fake_add(&fake, "j-2/task.0#1", SLEEP);
    fake_wait(&fake, fake_all_run, "both to run");
    fake_stop(&fake, cancelled, CAUSE_CANCELLED, 5000);
    fake_drop(&fake, dropped);
    fake_wait(&fake, fake_all_ended, "the end");
    CHECK_EQ(cancelled->cause, CAUSE_CANCELLED);
    CHECK_EQ(cancelled->signal, 15);
    CHECK_EQ(dropped->n_ends, 0);
    end();
}

TEST(shutdown_ends_what_runs_and_leaves)
{
    struct fake_attempt *attempt;

    begin_with_agent();
    attempt = fake_add(&fake, "j-1/task.0#1", SLEEP);
    fake_wait(&fake, fake_all_run, "it to run");
    end();
    CHECK_EQ(attempt->state, ATTEMPT_ENDED);
    CHECK_EQ(attempt->cause, CAUSE_SHUTDOWN);
    CHECK_EQ(fake.n_leaves, 1);
}

static bool has_left(struct fake *f)
{
    return f->n_leaves > 0;
}

/* With a budget of an hour nothing but its own end can end it before the test is given up. */
TEST(what_ends_by_itself_while_the_agent_drains_gets_no_signal)
{
    CLEANUP(freep) char *pipe = NULL, *spec = NULL;
    struct fake_attempt *attempt;
    int status, fd;

    begin();
    fake.stop_budget_ms = 3600000;
    pipe = text_format("%s/pipe", fake.dir);
    CHECK_EQ(mkfifo(pipe, 0666), 0);
    spec = text_format(SHELL("trap 'exit 9' TERM; read go < %s; exit 3"), pipe);
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
    attempt = fake_add(&fake, "j-1/task.0#1", spec);
    fake_wait(&fake, fake_all_run, "it to run");
    CHECK_EQ(kill(fake.agent, SIGTERM), 0);
    fake_wait(&fake, has_left, "the agent to take its leave");
    fd = open(pipe, O_WRONLY | O_CLOEXEC); /* whoever reads it is there, or will be */
    CHECK_EQ(write(fd, "go\n", 3), 3);
    close(fd);
    fake_wait(&fake, fake_agent_is_over, "the agent's end");
    status = fake.exit_status;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(attempt->state, ATTEMPT_ENDED);
    CHECK_EQ(attempt->cause, CAUSE_COMPLETED);
    CHECK_EQ(attempt->code, 3);
    fake_end(&fake);
}

/* Its grace is over long before the half a minute that the agent would give at most. */
TEST(what_is_stopped_with_the_agent_has_its_own_grace)
{
    CLEANUP(freep) char *pipe = NULL, *spec = NULL;
    struct fake_attempt *attempt;
    int status, fd;
    char deaf[8];

    begin();
    fake.stop_budget_ms = 3600000;
    pipe = text_format("%s/pipe", fake.dir);
    CHECK_EQ(mkfifo(pipe, 0666), 0);
    spec = text_format(
        SHELL_AND("trap '' TERM; echo deaf > %s; while :; do sleep 1; done", "\"graceMs\":100"),
        pipe);
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
    attempt = fake_add(&fake, "j-1/task.0#1", spec);
    fake_wait(&fake, fake_all_run, "it to run");
    fd = open(pipe, O_RDONLY | O_CLOEXEC);
    CHECK_EQ(read(fd, deaf, sizeof(deaf)), 5);
    close(fd);
    CHECK_EQ(kill(fake.agent, SIGTERM), 0);
    fake_wait(&fake, has_left, "the agent to take its leave");
    CHECK_EQ(kill(fake.agent, SIGTERM), 0); /* ends the waiting */
    fake_wait(&fake, fake_agent_is_over, "the agent's end");
    status = fake.exit_status;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(attempt->cause, CAUSE_SHUTDOWN);
    CHECK_EQ(attempt->signal, 9);
    fake_end(&fake);
}

static bool has_two_registrations(struct fake *f)
{
    return f->n_registers >= 2 && f->stream;
}

TEST(detached_containers_are_adopted)
{
    struct fake_attempt *attempt;
    int status;

    begin_with_agent();
    attempt = fake_add(&fake, "j-1/task.0#1", SHELL("sleep 1000 & wait"));
    fake_wait(&fake, fake_all_run, "it to run");
    status = fake_finish(&fake, SIGUSR1);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(fake.n_leaves, 0);
    fake_spawn(&fake, NULL);
    fake_wait(&fake, has_two_registrations, "the second registration");
    CHECK_TEXT(str_text(&fake.held), "j-1/task.0#1,");
    CHECK_EQ(attempt->state, ATTEMPT_RUNNING);
    fake_stop(&fake, attempt, CAUSE_EVICTED, 5000);
    fake_wait(&fake, fake_all_ended, "the end");
    CHECK_EQ(attempt->cause, CAUSE_EVICTED);
    CHECK_EQ(attempt->n_ends, 1);
    end();
}

/* ---- Kills ---- */

static const struct {
    const char *name; /* of the point */
    const char *spec;
    enum cause cause;
    enum detail detail;
    int code;
} kills[] = {
    { "after-store", SHELL("exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3 },
    { "after-ack", SHELL("exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3 },
    { "before-start", SHELL("exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3 },
    { "after-running", SHELL("sleep 0.2; exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3 },
    { "after-exit-before-clean", SHELL("exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3 },
    { "after-exit-before-report", SHELL("exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3 },
    { "after-report", SHELL("exit 3"), CAUSE_COMPLETED, DETAIL_NONE, 3 },
};

TEST(killed_at_each_point_the_next_agent_goes_on)
{
    ROW_EACH (c, kills) {
        struct fake_attempt *attempt;

        begin();
        fake_spawn(&fake, c->name);
        attempt = fake_add(&fake, "j-1/task.0#1", c->spec);
        fake_wait(&fake, fake_agent_is_over, "the kill");
        CHECK(WIFSIGNALED(fake.exit_status) && WTERMSIG(fake.exit_status) == SIGKILL);
        fake_spawn(&fake, NULL);
        fake_wait(&fake, has_two_registrations, "the next agent");
        fake_wait(&fake, fake_all_ended, "the end");
        CHECK_EQ(attempt->cause, c->cause);
        CHECK_EQ(attempt->detail, c->detail);
        CHECK_EQ(attempt->code, c->code);
        CHECK_EQ(attempt->n_ends, 1);
        CHECK_EQ(attempt->n_acks, 1);
        end();
    }
}

/* The one point where nobody can know: the attempt has run, or is ended with the reason; never
 * twice. */
TEST(killed_right_after_the_spawn_it_runs_at_most_once)
{
    struct fake_attempt *attempt;
    char spec[256], path[128];
    char text[16] = "";
    FILE *file;

    begin();
    snprintf(path, sizeof(path), "%s/ran", fake.dir);
    snprintf(spec, sizeof(spec), SHELL("echo x >> %s"), path);
    fake_spawn(&fake, "after-start");
    attempt = fake_add(&fake, "j-1/task.0#1", spec);
    fake_wait(&fake, fake_agent_is_over, "the kill");
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_all_ended, "the end");
    CHECK(attempt->cause == CAUSE_COMPLETED ||
          (attempt->cause == CAUSE_START_FAILED && attempt->detail == DETAIL_RUNTIME_FAILED));
    file = fopen(path, "re");
    if (file) {
        CHECK(fread(text, 1, sizeof(text) - 1, file) > 0);
        fclose(file);
    }
    CHECK(strlen(text) <= 2);
    end();
}

/* ---- A server that misbehaves ---- */

static void mend_nothing(void)
{
}

static void refuse_one_ack(void)
{
    fake.refuse_acks = 1;
}

static void lose_two_acks(void)
{
    fake.lose_acks = 2;
}

static void lose_three_reports(void)
{
    fake.lose_reports = 3;
}

static void be_busy(void)
{
    fake.refuse_busy = 4;
}

static void raise_generation(void)
{
    fake.generation++;
}

static void cut_the_stream(void)
{
    fake_cut(&fake);
}

static const struct {
    const char *name;
    void (*before)(void); /* the attempts are delivered */
    int n_ended;          /* of three */
    int n_registers;      /* at least */
    int n_repeats;        /* of reports of ends, at least */
} faults[] = {
    { "none", mend_nothing, 3, 1, 0 },
    { "an ack is refused: it is dropped", refuse_one_ack, 2, 1, 0 },
    { "answers to acks are lost", lose_two_acks, 3, 1, 0 },
    { "answers to reports are lost", lose_three_reports, 3, 1, 1 },
    { "busy", be_busy, 3, 1, 0 },
    { "the generation is old", raise_generation, 3, 2, 0 },
    { "the stream is cut", cut_the_stream, 3, 1, 0 },
};

static int n_wanted;

static bool enough_ended(struct fake *f)
{
    int n = 0;

    for (size_t i = 0; i < f->n; i++)
        n += f->attempts[i].n_ends;
    return n == n_wanted;
}

/* The agent holds no attempt any more: each end was answered, or it was dropped. */
static bool holds_nothing(struct fake *f)
{
    CLEANUP(freep) char *path = text_format("%s/attempts", f->dir);
    DIR *dir = opendir(path);
    int n = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return dir && n == 0;
}

TEST(each_end_is_reported_once_however_the_server_behaves)
{
    ROW_EACH (c, faults) {
        begin_with_agent();
        c->before();
        fake_add(&fake, "j-1/task.0#1", SHELL("sleep 0.1"));
        fake_add(&fake, "j-2/task.0#1", TRUE_SPEC);
        fake_add(&fake, "j-3/task.0#1", TRUE_SPEC);
        n_wanted = c->n_ended;
        fake_wait(&fake, enough_ended, "the ends");
        fake_wait(&fake, holds_nothing, "their answers");
        CHECK(fake.n_registers >= c->n_registers);
        CHECK(fake.n_repeats >= c->n_repeats);
        for (size_t i = 0; i < fake.n; i++)
            CHECK(fake.attempts[i].n_ends <= 1 && fake.attempts[i].n_acks <= 1);
        end();
    }
}

TEST(what_the_server_forgot_is_ended_at_the_registration)
{
    begin_with_agent();
    fake_add(&fake, "j-1/task.0#1", SLEEP);
    fake_wait(&fake, fake_all_run, "it to run");
    fake.forgets_all = true;
    fake.generation++;
    fake_cut(&fake);
    fake_wait(&fake, has_two_registrations, "the second registration");
    end();
    CHECK_EQ(fake.attempts[0].n_ends, 0);
}

static bool log_is_over(struct fake *f)
{
    return f->log_is_over;
}

TEST(another_life_of_the_ledger_makes_orphans)
{
    begin_with_agent();
    fake_add(&fake, "j-1/task.0#1", SLEEP);
    fake_wait(&fake, fake_all_run, "it to run");
    fake.incarnation = "life-2";
    fake.generation++;
    fake_cut(&fake);
    fake_wait(&fake, has_two_registrations, "the second registration");
    /* Another registration: it is not listed any more, but named as an orphan. */
    fake.generation++;
    fake.n_registers = 0;
    fake_cut(&fake);
    fake_wait(&fake, fake_is_registered, "the third registration");
    CHECK_TEXT(str_text(&fake.held), "");
    CHECK(strstr(str_text(&fake.info), "\"orphans\":[\"j-1/task.0#1\"]"));
    /* Its log is not of this server's attempt of that name. */
    fake_wait(&fake, fake_has_stream, "the stream of work");
    fake_read_log(&fake, "j-1/task.0#1", 0, 0, false);
    fake_wait(&fake, log_is_over, "the log");
    CHECK(fake.log_is_gone);
    end();
    CHECK_EQ(fake.attempts[0].n_ends, 0);
}

static bool first_two_run(struct fake *f)
{
    return f->attempts[0].state == ATTEMPT_RUNNING && f->attempts[1].state == ATTEMPT_RUNNING;
}

static bool last_two_ended(struct fake *f)
{
    return f->attempts[2].state == ATTEMPT_ENDED && f->attempts[3].state == ATTEMPT_ENDED;
}

static bool has_said_orphans(struct fake *f)
{
    return f->orphans.len > 0;
}

static bool has_said_start(struct fake *f)
{
    return f->n_starts > 0;
}

static bool first_has_ended(struct fake *f)
{
    return f->attempts[0].state == ATTEMPT_ENDED;
}

static const struct {
    const char *name;
    bool is_new_agent; /* what it needs to know of is in its folder */
} agents[] = { { "the agent that ran it", false }, { "the next one", true } };

/* A backup was put back: two run yet, of which it has one; two have ended, and it has both for live. */
TEST(another_life_of_the_ledger_goes_on_with_what_it_knows)
{
    ROW_EACH (c, agents) {
        begin_with_agent();
        fake_add(&fake, "j-1/task.0#1", SLEEP);
        fake_add(&fake, "j-2/task.0#1", SLEEP);
        fake_add(&fake, "j-3/task.0#1", SHELL("exit 3"));
        fake_add(&fake, "j-4/task.0#1", SHELL("echo 4; exit 4"));
        fake_wait(&fake, first_two_run, "two to run");
        fake_wait(&fake, last_two_ended, "two to end");
        fake.live = "[\"j-1/task.0#1\",\"j-3/task.0#1\",\"j-4/task.0#1\"]";
        fake.lives = "[\"life-1\"]";
        fake.incarnation = "life-2";
        fake.attempts[2].state = fake.attempts[3].state = ATTEMPT_RUNNING;
        fake.attempts[2].code = fake.attempts[3].code = 0;
        fake.generation++;
        fake.n_registers = fake.n_starts = 0;
        if (c->is_new_agent) {
            fake_finish(&fake, SIGKILL);
            fake_spawn(&fake, NULL);
        } else {
            fake_cut(&fake);
        }
        fake_wait(&fake, last_two_ended, "their ends to be told again");
        CHECK_EQ(fake.attempts[2].code, 3);
        CHECK_EQ(fake.attempts[3].code, 4);
        CHECK_EQ(fake.attempts[3].cause, CAUSE_COMPLETED);
        fake_wait(&fake, has_said_start, "its start to be told again");
        fake_wait(&fake, has_said_orphans, "the orphans to be told");
        CHECK_TEXT(str_text(&fake.orphans), "[\"j-2/task.0#1\"]");
        CHECK_EQ(fake.n_registers, 1); /* once does */
        /* A ledger that has nothing to do with that has one of the same name. */
        fake.lives = "[]";
        fake.incarnation = "life-3";
        fake.live = "[\"j-1/task.0#1\"]";
        str_clear(&fake.orphans);
        fake.generation++;
        fake_cut(&fake);
        fake_wait(&fake, first_has_ended, "that to be refused");
        CHECK_EQ(fake.attempts[0].cause, CAUSE_OTHER_LIFE);
        fake_wait(&fake, has_said_orphans, "the orphans to be told");
        CHECK_TEXT(str_text(&fake.orphans), "[\"j-1/task.0#1\",\"j-2/task.0#1\"]");
        /* And the first one is back: both are its own. */
        fake.incarnation = "life-1";
        fake.live = "[\"j-1/task.0#1\",\"j-2/task.0#1\"]";
        fake.attempts[0].state = ATTEMPT_RUNNING;
        str_clear(&fake.orphans);
        fake.generation++;
        fake_cut(&fake);
        fake_wait(&fake, has_said_orphans, "the orphans to be told");
        CHECK_TEXT(str_text(&fake.orphans), "[]");
        CHECK(first_two_run(&fake));
        end();
    }
}

static bool has_beaten(struct fake *f)
{
    return f->n_beats > 0;
}

static bool is_refused_twice(struct fake *f)
{
    return f->n_forked >= 2;
}

TEST(nothing_is_done_by_the_word_of_a_copy_of_the_ledger)
{
    struct fake_attempt *attempt;

    begin();
    fake.opening = "open-1";
    fake.revision = 500;
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
    attempt = fake_add(&fake, "j-1/task.0#1", SLEEP);
    fake_wait(&fake, fake_all_run, "it to run");
    fake.is_fork = true;
    fake_cut(&fake);
    fake_wait(&fake, is_refused_twice, "two registrations that are refused");
    CHECK_TEXT(fake.seen, "open-1 500"); /* what let it start */
    /* The next agent knows that too, though no beat has had it written. */
    fake_finish(&fake, SIGKILL);
    fake.n_forked = 0;
    fake_spawn(&fake, NULL);
    fake_wait(&fake, is_refused_twice, "two more");
    CHECK_TEXT(fake.seen, "open-1 500");
    CHECK_EQ(attempt->state, ATTEMPT_RUNNING);
    fake.is_fork = false;
    fake.n_registers = 0;
    fake_wait(&fake, fake_has_stream, "the right ledger");
    CHECK_TEXT(str_text(&fake.held), "j-1/task.0#1,");
    CHECK(!strstr(str_text(&fake.info), "\"refused: ")); /* it is right by now */
    fake_stop(&fake, attempt, CAUSE_EVICTED, 5000);
    fake_wait(&fake, fake_all_ended, "the end");
    CHECK_EQ(attempt->n_ends, 1);
    end();
}

/* A server that has begun anew is the same ledger; its revisions are not the old opening's. */
TEST(another_opening_of_the_ledger_is_noted_with_its_own_revision)
{
    begin();
    fake.opening = "open-1";
    fake.revision = 500;
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
    fake_add(&fake, "j-1/task.0#1", TRUE_SPEC);
    fake_wait(&fake, fake_all_ended, "its end");
    fake.opening = "open-2";
    fake.generation = 600;
    fake.n_registers = 0;
    fake_cut(&fake);
    fake_wait(&fake, fake_is_registered, "the registration");
    fake.n_beats = 0;
    fake_wait(&fake, has_beaten, "a beat");
    CHECK_TEXT(fake.seen, "open-2 601");
    CHECK_EQ(fake.beat_ttl_ms, fake.ttl_ms); /* it says by which lease it counts */
    end();
}

/* Names come again in another life of the ledger; what was written under one is not shown for the next. */
TEST(what_another_life_left_of_a_name_goes_with_its_next_start)
{
    CLEANUP(freep) char *folder = NULL, *file = NULL;
    struct err err = { 0 };

    begin();
    folder = text_format("%s/ended/j-1.task.0.1", fake.dir);
    file = text_format("%s/log.0", folder);
    CHECK_OK(file_make_dirs(folder, 0700, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, file, "secret", 6, 0600, false, &err), &err);
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
    fake_add(&fake, "j-1/task.0#1", TRUE_SPEC);
    fake_wait(&fake, fake_all_ended, "its end");
    CHECK_EQ(access(folder, F_OK), -1);
    end();
}

/* ---- Cut off ---- */

static bool first_has_exit(struct fake *f)
{
    CLEANUP(freep) char *path = text_format("%s/attempts/j-1.task.0.1/exit", f->dir);

    return access(path, F_OK) == 0;
}

TEST(cut_off_its_containers_end_by_their_monitors)
{
    begin();
    fake.ttl_ms = 1000;
    fake.beat_ms = 300;
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_has_stream, "the stream of work");
    fake_add(&fake, "j-1/task.0#1", SLEEP);
    fake_add(&fake, "j-2/task.0#1",
             "{\"runtime\":\"process\",\"command\":[\"/bin/sleep\",\"1000\"],"
             "\"onDisconnect\":\"keep\"}");
    fake_wait(&fake, fake_all_run, "both to run");
    fake.is_mute = true;
    fake_cut(&fake);
    /* The agent is killed too: only the monitors are left to see that the lease is over. */
    fake_finish(&fake, SIGKILL);
    fake_wait(&fake, first_has_exit, "the monitor to end it");
    fake.is_mute = false;
    fake_spawn(&fake, NULL);
    n_wanted = 1;
    fake_wait(&fake, enough_ended, "the end of the first");
    CHECK_EQ(fake.attempts[0].cause, CAUSE_NODE_LOST);
    CHECK_EQ(fake.attempts[1].state, ATTEMPT_RUNNING);
    end();
}

/* ---- Logs ---- */

static bool log_has_first(struct fake *f)
{
    return f->log.len > 0;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

TEST(logs_are_read_while_it_runs_and_after)
{
    char spec[256];
    size_t n;

    begin_with_agent();
    snprintf(spec, sizeof(spec),
             SHELL("echo first; until test -e %s/go; do sleep 0.02; done; echo second"), fake.dir);
    fake_add(&fake, "j-1/task.0#1", spec);
    fake_wait(&fake, fake_all_run, "it to run");
    fake_read_log(&fake, "j-1/task.0#1", 0, 0, true);
    fake_wait(&fake, log_has_first, "the first line");
    CHECK(strstr(str_text(&fake.log), " stdout F first\n"));
    CHECK(!fake.log_is_over);
    snprintf(spec, sizeof(spec), "%s/go", fake.dir);
    fclose(fopen(spec, "we"));
    fake_wait(&fake, log_is_over, "the log's end");
    CHECK(strstr(str_text(&fake.log), " stdout F second\n"));
    CHECK_EQ(count(str_text(&fake.log), "\n"), 2);
    n = fake.log.len;
    fake_wait(&fake, fake_all_ended, "the end");

    /* Again, from the shelf: all; one line by the limit; the second by its offset. */
    fake_read_log(&fake, "j-1/task.0#1", 0, 0, false);
    fake_wait(&fake, log_is_over, "the whole log");
    CHECK_EQ(fake.log.len, n);
    fake_read_log(&fake, "j-1/task.0#1", 0, n - 1, false);
    fake_wait(&fake, log_is_over, "a part of the log");
    CHECK_EQ(count(str_text(&fake.log), "\n"), 1);
    fake_read_log(&fake, "j-1/task.0#1", fake.log.len, 0, true);
    fake_wait(&fake, log_is_over, "the rest of the log");
    CHECK_EQ(count(str_text(&fake.log), "second\n"), 1);
    CHECK_EQ(count(str_text(&fake.log), "\n"), 1);
    fake_read_log(&fake, "j-9/task.0#1", 0, 0, false);
    fake_wait(&fake, log_is_over, "a log that is not there");
    CHECK(fake.log_is_gone);
    end();
}

static bool has_spare(struct fake *f)
{
    CLEANUP(freep) char *path = text_format("%s/spare/1", f->dir);

    return access(path, F_OK) == 0;
}

static bool second_runs(struct fake *f)
{
    return f->stream && f->attempts[1].state == ATTEMPT_RUNNING;
}

/* The folder of one that wrote nothing is used again, and nothing of the one is taken for the
 * other's. */
TEST(a_folder_is_used_again)
{
    struct fake_attempt *second;
    CLEANUP(freep) char *folder = NULL;

    begin_with_agent();
    fake_add(&fake, "j-1/task.0#1", SHELL("exit 3"));
    fake_wait(&fake, fake_all_ended, "the first end");
    CHECK_EQ(fake.attempts[0].code, 3);
    fake_wait(&fake, has_spare, "the folder to be spare");
    second = fake_add(&fake, "j-2/task.0#1", SLEEP);
    fake_wait(&fake, second_runs, "it to run");
    CHECK(!has_spare(&fake));
    folder = text_format("%s/attempts/j-2.task.0.1", fake.dir);
    CHECK_EQ(access(folder, F_OK), 0);

    /* It runs: the record of the one before would say that it had ended. */
    fake_finish(&fake, SIGKILL);
    fake_spawn(&fake, NULL);
    fake_wait(&fake, second_runs, "it to be adopted");
    CHECK_EQ(second->n_ends, 0);
    fake_stop(&fake, second, CAUSE_CANCELLED, 5000);
    fake_wait(&fake, fake_all_ended, "the second end");
    CHECK_EQ(second->cause, CAUSE_CANCELLED);

    /* The log of the first is empty, not lost, also for an agent that did not run it. */
    fake_read_log(&fake, "j-1/task.0#1", 0, 0, false);
    fake_wait(&fake, log_is_over, "an empty log");
    CHECK(!fake.log_is_gone);
    CHECK_EQ(fake.log.len, 0);
    end();
}

TEST(a_large_log_comes_whole_in_pieces)
{
    begin_with_agent();
    fake_add(&fake, "j-1/task.0#1",
             SHELL("i=0; while test $i -lt 20000; do echo line $i; i=$((i+1)); done"));
    fake_read_log(&fake, "j-1/task.0#1", 0, 0, true);
    fake_wait(&fake, log_is_over, "the log's end");
    CHECK_EQ(count(str_text(&fake.log), "\n"), 20000);
    CHECK(strstr(str_text(&fake.log), " stdout F line 19999\n"));
    end();
}

TEST(a_reader_that_went_away_ends_the_relay)
{
    begin_with_agent();
    fake_add(&fake, "j-1/task.0#1", SHELL("echo x; sleep 1000"));
    fake_read_log(&fake, "j-1/task.0#1", 0, 0, true);
    fake.log_status = 410;
    fake_wait(&fake, log_is_over, "the refused piece");
    end();
}

/* ---- Real containers ---- */

/* A root with busybox in the data folder; skips the test where it or the runtime cannot be had. */
static void make_root(const char *runtime)
{
    static const char *const names[] = { "sh", "sleep", "true", "dd" };
    CLEANUP(freep) char *bin = text_format("%s/root/bin", fake.dir);
    CLEANUP(freep) char *busybox = text_format("%s/busybox", bin);
    CLEANUP(str_fini) struct str bytes = { 0 };
    struct machine machine;
    struct err err = { 0 };
    int kind = states_find(runtime, runtime_kind_words, RUNTIME_KIND_COUNT);

    runtime_probe(&machine);
    if (!machine.is_root || !machine.runtimes[kind].is_usable ||
        file_read(AT_FDCWD, "/bin/busybox", 8 << 20, &bytes, &err) < 0) {
        fake_end(&fake);
        test_skip("no root, no such runtime, or no busybox");
    }
    CHECK_OK(file_make_dirs(bin, 0755, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, busybox, bytes.data, bytes.len, 0755, false, &err), &err);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(freep) char *link = text_format("%s/%s", bin, names[i]);
        CHECK_EQ(symlink("busybox", link), 0);
    }
}

static struct fake_attempt *add_contained(const char *name, const char *runtime, const char *script,
                                          const char *more)
{
    CLEANUP(freep)
    char *spec =
        text_format("{\"runtime\":\"%s\",\"image\":\"dir:%s/root\",\"command\":[\"/bin/sh\","
                    "\"-c\",\"%s\"],\"graceMs\":1000%s}",
                    runtime, fake.dir, script, more);

    return fake_add(&fake, name, spec);
}

static const struct {
    const char *name; /* the runtime */
} runtimes[] = { { "crun" }, { "runc" } };

TEST(real_containers_end_as_they_should)
{
    ROW_EACH (c, runtimes) {
        struct fake_attempt *coded, *greedy, *limited, *stopped;

        begin();
        make_root(c->name);
        fake_spawn(&fake, NULL);
        fake_wait(&fake, fake_has_stream, "the stream of work");
        stopped = add_contained("j-4/a.0#1", c->name, "exec sleep 1000", "");
        fake_wait(&fake, fake_all_run, "it to run");
        coded = add_contained("j-1/a.0#1", c->name, "test $$ = 1 && exit 3", "");
        greedy = add_contained("j-2/a.0#1", c->name, "exec dd if=/dev/zero of=/dev/null bs=64M",
                               ",\"resources\":{\"memory\":33554432}");
        limited = add_contained("j-3/a.0#1", c->name, "sleep 1000 & wait", ",\"limitMs\":200");
        fake_stop(&fake, stopped, CAUSE_CANCELLED, 100);
        fake_wait(&fake, fake_all_ended, "all ends");
        CHECK_EQ(coded->cause, CAUSE_COMPLETED);
        CHECK_EQ(coded->code, 3);
        CHECK_EQ(greedy->cause, CAUSE_OUT_OF_MEMORY);
        CHECK_EQ(limited->cause, CAUSE_LIMIT_REACHED);
        CHECK_EQ(stopped->cause, CAUSE_CANCELLED);
        end();
    }
}

static const struct {
    const char *name; /* of the point */
} real_kills[] = {
    { "before-start" },
    { "after-running" },
    { "after-exit-before-clean" },
    { "after-exit-before-report" },
};

TEST(real_containers_outlive_a_killed_agent)
{
    ROW_EACH (c, real_kills) {
        struct fake_attempt *attempt;

        begin();
        make_root("crun");
        fake_spawn(&fake, c->name);
        attempt = add_contained("j-1/a.0#1", "crun", "sleep 0.2; exit 3", "");
        fake_wait(&fake, fake_agent_is_over, "the kill");
        fake_spawn(&fake, NULL);
        fake_wait(&fake, fake_all_ended, "the end");
        CHECK_EQ(attempt->cause, CAUSE_COMPLETED);
        CHECK_EQ(attempt->code, 3);
        CHECK_EQ(attempt->n_ends, 1);
        end();
    }
}

/* ---- Many ---- */

TEST(many_at_once_all_end)
{
    begin_with_agent();
    for (int i = 0; i < 200; i++) {
        char name[64];
        snprintf(name, sizeof(name), "j-1/task.%d#1", i);
        fake_add(&fake, name, TRUE_SPEC);
    }
    fake_wait(&fake, fake_all_ended, "all ends");
    for (size_t i = 0; i < fake.n; i++)
        CHECK(fake.attempts[i].cause == CAUSE_COMPLETED && fake.attempts[i].n_ends == 1);
    /* They went in batches. */
    CHECK(fake.n_ack_messages < 200);
    end();
}

static int n_requests_wanted;

static bool enough_requests(struct fake *f)
{
    return f->n_requests >= n_requests_wanted || fake_all_ended(f);
}

static size_t size_of(const char *dir, const char *file)
{
    CLEANUP(freep) char *path = text_format("%s/%s", dir, file);
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };

    return file_read(AT_FDCWD, path, 4096, &text, &err) < 0 ? 0 : text.len;
}

/* Whatever the agent was doing when it was killed: each attempt ends once, and ran at most once. */
TEST(killed_at_random_nothing_is_lost_or_run_twice)
{
    uint64_t seed = test_seed();

    begin();
    for (int i = 0; i < 50; i++) {
        char name[64], spec[256];
        snprintf(name, sizeof(name), "j-1/task.%d#1", i);
        snprintf(spec, sizeof(spec), SHELL("echo >> %s/ran-%d; sleep 0.%d"), fake.dir, i, i % 10);
        fake_add(&fake, name, spec);
    }
    for (int round = 0; round < 8; round++) {
        fake_spawn(&fake, NULL);
        n_requests_wanted = fake.n_requests + 2 + (int)(test_random(&seed) % 20);
        fake_wait(&fake, enough_requests, "some requests");
        fake_finish(&fake, SIGKILL);
    }
    fake.n_registers = 0;
    fake_spawn(&fake, NULL);
    fake_wait(&fake, fake_is_registered, "the last agent");
    fake_wait(&fake, fake_all_ended, "all ends");
    for (int i = 0; i < 50; i++) {
        const struct fake_attempt *attempt = &fake.attempts[i];
        CLEANUP(freep) char *file = text_format("ran-%d", i);
        size_t n_runs = size_of(fake.dir, file);

        CHECK_EQ(attempt->n_ends, 1);
        CHECK_EQ(attempt->n_acks, 1);
        CHECK(n_runs <= 1);
        CHECK(attempt->cause == CAUSE_COMPLETED ? n_runs == 1
                                                : attempt->cause == CAUSE_START_FAILED);
    }
    end();
}
