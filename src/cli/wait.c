/* berth wait: until jobs are over, by their events. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/states.h"
#include "cli/ask.h"
#include "cli/events.h"
#include "cli/job.h"

enum { WAIT_GIVE_UP_MS = 600000 };

/* One of the jobs. */
struct awaited {
    struct wait *wait;
    char id[NAME_ATTEMPT_SIZE];
    struct ask *ask;
    bool is_over;
};

struct wait {
    struct cli *cli;
    struct loop *loop;
    struct client *client;
    struct events *events;
    struct timer *timeout;
    VEC_OF(struct awaited) jobs;
    size_t n_left;
    int64_t after; /* the oldest revision that was read */
    int64_t give_up_ms;
    size_t n_asked; /* of a reading of all, not answered yet */
    int exit_code;
    struct output output;
    bool is_state, is_quiet, is_reading;
    bool looks_once; /* --timeout 0s: as they are now */
};

static void stop(struct wait *wait, int exit_code)
{
    wait->exit_code = exit_code;
    loop_stop(wait->loop);
}

static void print_line(const json_t *job)
{
    CLEANUP(str_fini) struct str end = { 0 };

    job_add_end(job, &end);
    printf("%s  %-9s  %s\n", json_string_value(json_object_get(job, "id")),
           json_string_value(json_object_get(job, "state")), end.len ? end.data : "-");
}

/* Each as it ends, in whatever form: who reads along need not wait for the last one. */
static int print_end(struct wait *wait, const json_t *job)
{
    struct err err = { 0 };

    if (wait->is_quiet)
        return 0;
    if (wait->output.format == OUTPUT_TABLE)
        print_line(job);
    else if (output_item(&wait->output, &job_listing, job, &err) < 0)
        return cli_fail_usage(wait->cli, "%s", err.text);
    fflush(stdout);
    wait->output.has_head = false;
    return 0;
}

static void take_end(struct awaited *awaited, const json_t *job)
{
    struct wait *wait = awaited->wait;
    int code = exit_of_job(json_string_value(json_object_get(job, "state")),
                           (int)json_integer_value(json_object_get(job, "code")), wait->is_state);

    int r = print_end(wait, job);

    awaited->is_over = true;
    if (r != 0) {
        stop(wait, r);
        return;
    }
    if (code > wait->exit_code)
        wait->exit_code = code;
    if (--wait->n_left == 0)
        loop_stop(wait->loop);
}

static void listen_to(struct wait *wait);

static void on_timeout(void *arg)
{
    struct wait *wait = arg;

    stop(wait, cli_fail(wait->cli, EXIT_TIMEOUT, "%zu of %zu jobs are not over yet", wait->n_left,
                        wait->jobs.n));
}

/* All have answered: those that are not over are heard of from here on. */
static void all_read(struct wait *wait)
{
    if (wait->n_left == 0)
        return;
    if (wait->looks_once)
        on_timeout(wait);
    else
        listen_to(wait);
}

/* One that cannot be read is waited for no more; the others are, unless nobody is there to ask. */
static void fail_one(struct awaited *awaited, int status, const struct problem *problem)
{
    struct wait *wait = awaited->wait;
    int code = status ? (int)exit_of_problem(problem->code, status) : EXIT_UNREACHABLE;

    wait->cli->about = wait->jobs.n > 1 ? awaited->id : NULL;
    cli_fail_problem(wait->cli, problem, status);
    wait->cli->about = NULL;
    awaited->is_over = true;
    if (code > wait->exit_code)
        wait->exit_code = code;
    if (--wait->n_left == 0 || !status)
        stop(wait, wait->exit_code);
    else if (wait->n_asked > 0 && --wait->n_asked == 0)
        all_read(wait);
}

static void read_all(struct wait *wait);

/* The server has another ledger than the jobs were seen in: those that are in it are read anew. */
static void part(struct wait *wait, int64_t shared, const struct problem *problem)
{
    VEC_EACH (awaited, &wait->jobs)
        ask_close(TAKE(awaited->ask));
    wait->n_asked = 0;
    client_hold(wait->client, NULL);
    VEC_EACH (awaited, &wait->jobs) {
        struct problem lost = { 0 };

        if (!awaited->is_over && job_is_lost(awaited->id, shared, problem, &lost))
            fail_one(awaited, problem_codes[lost.code].status, &lost);
    }
    if (wait->n_left == 0)
        return;
    if (!wait->is_quiet)
        fprintf(stderr, "berth: %s; what is waited for is read anew\n", problem->detail);
    read_all(wait);
}

static void on_job(void *arg, const json_t *document, int64_t revision, int status,
                   const struct problem *problem)
{
    struct awaited *awaited = arg;
    struct wait *wait = awaited->wait;

    awaited->ask = NULL;
    if (problem->code == PROBLEM_LEDGER_FORKED) {
        part(wait, revision, problem);
        return;
    }
    if (!document) {
        fail_one(awaited, status, problem);
        return;
    }
    if (wait->after < 0 || revision < wait->after)
        wait->after = revision;
    if (job_state_is_over(json_string_value(json_object_get(document, "state"))))
        take_end(awaited, document);
    if (wait->n_asked > 0 && --wait->n_asked == 0)
        all_read(wait);
}

static void ask_job(struct awaited *awaited)
{
    struct wait *wait = awaited->wait;
    CLEANUP(freep) char *path = job_path(awaited->id, "");

    if (awaited->ask || awaited->is_over)
        return;
    awaited->ask = ask_open(&(struct ask_options){ .loop = wait->loop,
                                                   .client = wait->client,
                                                   .method = "GET",
                                                   .path = path,
                                                   .give_up_ms = wait->give_up_ms,
                                                   .fn = on_job,
                                                   .arg = awaited });
}

/* Reads every job; when all have answered, the events go on from there. */
static void read_all(struct wait *wait)
{
    wait->after = -1;
    wait->n_asked = 0;
    VEC_EACH (awaited, &wait->jobs) {
        if (awaited->is_over)
            continue;
        ask_close(TAKE(awaited->ask));
        wait->n_asked++;
        ask_job(awaited);
    }
}

static void on_event(void *arg, const json_t *event)
{
    struct wait *wait = arg;
    const char *id = json_string_value(json_object_get(event, "job"));
    const char *state = json_string_value(output_at(event, "object/state"));

    if (!job_state_is_over(state))
        return;
    VEC_EACH (awaited, &wait->jobs)
        if (text_eq(awaited->id, id))
            ask_job(awaited);
}

static void on_gap(void *arg)
{
    read_all(arg);
}

static void on_parted(void *arg, int64_t shared, const struct problem *problem)
{
    part(arg, shared, problem);
}

static void on_connection(void *arg, bool is_lost, const char *why)
{
    struct wait *wait = arg;

    if (!wait->is_quiet)
        fprintf(stderr, "berth: %s%s\n", is_lost ? why : "connected again",
                is_lost ? "; trying again" : "");
}

static void on_end(void *arg, int status, const struct problem *problem, const struct err *err)
{
    struct wait *wait = arg;

    stop(wait, status ? cli_fail_problem(wait->cli, problem, status)
                      : cli_fail(wait->cli, EXIT_UNREACHABLE, "%s", err->text));
}

static void listen_to(struct wait *wait)
{
    CLEANUP(str_fini) struct str query = { 0 };

    if (wait->events) {
        events_restart(wait->events, wait->after);
        return;
    }
    str_add(&query, "&type=job.*");
    if (wait->jobs.n == 1)
        str_addf(&query, "&job=%s", wait->jobs.at[0].id);
    wait->events = events_open(&(struct events_options){ .loop = wait->loop,
                                                         .client = wait->client,
                                                         .query = query.data,
                                                         .after = wait->after,
                                                         .give_up_ms = wait->give_up_ms,
                                                         .on_event = on_event,
                                                         .on_gap = on_gap,
                                                         .on_parted = on_parted,
                                                         .on_line = on_connection,
                                                         .on_end = on_end,
                                                         .arg = wait });
}

static int find_job(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    struct wait *wait = arg;
    struct job_name name;
    int r = job_name_find(cli, args, word, &name);

    if (r == 0)
        memcpy(VEC_ADD(&wait->jobs)->id, name.job, sizeof(name.job));
    return r;
}

/* Those that are there; the largest code of the others. */
static int find_jobs(struct wait *wait, const struct args *args)
{
    int r = cli_each(wait->cli, args, find_job, wait);

    wait->n_left = wait->jobs.n;
    VEC_EACH (awaited, &wait->jobs)
        awaited->wait = wait;
    return r;
}

static int wait_for_all(struct wait *wait, int64_t timeout_ms)
{
    struct err err = { 0 };
    int r = loop_open(&wait->loop, &err);

    if (r == 0)
        r = client_open(&wait->cli->settings, wait->loop, &wait->client, &err);
    if (r < 0) {
        loop_close(wait->loop);
        return cli_fail_err(wait->cli, &err);
    }
    client_hold(wait->client, wait->cli->client);
    wait->timeout = timer_new(wait->loop, on_timeout, wait);
    wait->looks_once = timeout_ms == 0;
    if (wait->looks_once)
        wait->give_up_ms = 0; /* nor is a server waited for */
    if (timeout_ms > 0)
        timer_set(wait->timeout, timeout_ms);
    read_all(wait);
    loop_run(wait->loop);
    VEC_EACH (awaited, &wait->jobs)
        ask_close(awaited->ask);
    events_close(wait->events);
    timer_free(wait->timeout);
    client_close(wait->client);
    loop_close(wait->loop);
    return wait->exit_code;
}

static int run_wait(struct cli *cli, const struct args *args)
{
    struct wait wait = { .cli = cli, .give_up_ms = WAIT_GIVE_UP_MS };
    int64_t timeout_ms = -1;
    struct err err = { 0 };
    int r = cli_need_output(cli, args, &wait.output);

    if (r != 0)
        return r;
    if (args_duration(args, "timeout", &timeout_ms, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (args_has(args, "give-up"))
        wait.give_up_ms = cli->give_up_ms;
    wait.is_state = text_eq(args_get(args, "exit-code"), "state");
    wait.is_quiet = args_has(args, "quiet");
    r = wait.exit_code = find_jobs(&wait, args);
    if (wait.jobs.n > 0 && r != EXIT_UNREACHABLE && r != EXIT_CTRL_C)
        r = wait_for_all(&wait, timeout_ms);
    VEC_FINI(&wait.jobs);
    return r;
}

static const struct cli_flag own[] = {
    { "timeout", 0, "TIME", "give up after so long, with exit 8; 0s looks once", NULL, false },
    { "exit-code", 0, "WHAT", "code: the job's own, state: 0 or 1", "code|state", false },
    { "quiet", 0, NULL, "print nothing", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &time_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
const struct verb verb_wait = {
    .name = "wait",
    .run = run_wait,
    .help = "Wait until jobs are over",
    .usage = "[FLAG...] JOB...",
    .more = "Prints each job as it ends, by default in a line of its own, and exits with the "
            "largest of\n"
            "their codes.",
    .examples = { "wait j-12 j-13 --timeout 2h", "wait last --exit-code=state" },
    .grammar = &grammar,
};
