/*
 * berth run: submit, stay, hand the job's output on, end with its code.
 *
 * Ctrl-C asks once whether to cancel; a second one cancels, a third one leaves. Where nobody can be
 * asked, the first one cancels.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/states.h"
#include "cli/age.h"
#include "cli/ask.h"
#include "cli/follow.h"
#include "cli/job.h"
#include "cli/submit.h"

enum { RUN_GIVE_UP_MS = 600000 };

struct run {
    struct cli *cli;
    struct loop *loop;
    struct client *client;
    struct follow *follow;
    struct ask *cancel;
    struct fdwatch *answer; /* of the user, on stdin, while one is awaited */
    char job[NAME_ATTEMPT_SIZE];
    unsigned n_interrupts;
    int signal; /* for which the job was cancelled; 0 none */
    int exit_code;
    bool is_quiet, is_state, is_leaving;
};

/* ---- cancelling ---- */

static void on_cancelled(void *arg, const json_t *document, int64_t revision, int status,
                         const struct problem *problem)
{
    struct run *run = arg;

    (void)revision;
    (void)status;
    run->cancel = NULL;
    if (document)
        return;
    fprintf(stderr, "berth: %s could not be cancelled: %s\n", run->job, problem->detail);
    if (problem->code ==
        PROBLEM_LEDGER_FORKED) /* where it may be another job, until that is clear */
        run->signal = 0;
}

static void cancel(struct run *run, int signal)
{
    CLEANUP(freep) char *path = NULL;

    if (run->signal)
        return;
    run->signal = signal;
    fdwatch_free(TAKE(run->answer)); /* what was asked is answered */
    path = job_path(run->job, "/actions");
    if (!run->is_quiet)
        fprintf(stderr, "%s is being cancelled\n", run->job);
    run->cancel = ask_open(&(struct ask_options){ .loop = run->loop,
                                                  .client = run->client,
                                                  .method = "POST",
                                                  .path = path,
                                                  .body = "{\"action\":\"cancel\"}",
                                                  .give_up_ms = RUN_GIVE_UP_MS,
                                                  .fn = on_cancelled,
                                                  .arg = run });
}

static void leave(struct run *run, int exit_code)
{
    run->exit_code = exit_code;
    run->is_leaving = true;
    loop_stop(run->loop);
}

/* ---- asking ---- */

static void on_answer(int fd, unsigned events, void *arg)
{
    struct run *run = arg;
    char line[64];
    ssize_t n = read(fd, line, sizeof(line));

    (void)events;
    fdwatch_free(TAKE(run->answer));
    if (n > 0 && (line[0] == 'y' || line[0] == 'Y')) {
        cancel(run, SIGINT);
    } else if (n > 0 && (line[0] == 'd' || line[0] == 'D')) {
        fprintf(stderr, "%s goes on; see it with: berth logs -f %s\n", run->job, run->job);
        leave(run, EXIT_DONE);
    } else {
        fprintf(stderr, "%s goes on\n", run->job);
        run->n_interrupts = 0;
    }
}

static void on_interrupt(int signal, unsigned events, void *arg)
{
    struct run *run = arg;

    (void)events;
    run->n_interrupts++;
    if (run->signal && run->n_interrupts > 1) {
        fprintf(stderr, "berth: leaving; %s may still run\n", run->job);
        leave(run, EXIT_SIGNAL + signal);
    } else if (run->n_interrupts > 1 || !isatty(STDIN_FILENO)) {
        cancel(run, signal);
    } else {
        fprintf(stderr, "\ncancel %s? y: yes, d: leave it running, else go on: ", run->job);
        run->answer = fdwatch_new(run->loop, STDIN_FILENO, LOOP_READ, on_answer, run);
    }
}

static void on_terminate(int signal, unsigned events, void *arg)
{
    struct run *run = arg;

    (void)events;
    if (run->signal)
        leave(run, EXIT_SIGNAL + signal);
    else
        cancel(run, signal);
}

/* ---- the end ---- */

static void say_end(const struct run *run, const json_t *job)
{
    CLEANUP(str_fini) struct str text = { 0 }, end = { 0 };
    const char *state = json_string_value(json_object_get(job, "state"));
    int64_t ms = item_span_ms(job, "startedAt", "endedAt");

    if (run->is_quiet)
        return;
    str_addf(&text, "%s %s", run->job, state);
    if (!text_eq(state, job_state_words[JOB_SUCCEEDED]))
        job_add_end(job, &end);
    if (end.len)
        str_addf(&text, ": %s", end.data);
    if (ms >= 0) {
        str_add(&text, " after ");
        age_format_exact(ms, &text);
    }
    fprintf(stderr, "%s\n", text.data);
}

static void on_end(void *arg, const json_t *job, int status, const struct problem *problem)
{
    struct run *run = arg;

    if (!job) {
        cli_fail_problem(run->cli, problem, status);
        if (problem->code != PROBLEM_LEDGER_FORKED)
            fprintf(stderr, "berth: %s may still run; see it with: berth logs -f %s\n", run->job,
                    run->job);
        leave(run, status ? (int)exit_of_problem(problem->code, status) : EXIT_UNREACHABLE);
        return;
    }
    say_end(run, job);
    if (run->signal)
        leave(run, EXIT_SIGNAL + run->signal);
    else
        leave(run,
              exit_of_job(json_string_value(json_object_get(job, "state")),
                          (int)json_integer_value(json_object_get(job, "code")), run->is_state));
}

/* ---- staying ---- */

static void begin(struct run *run, const struct args *args, const json_t *job, bool is_replayed)
{
    const char *at = json_string_value(json_object_get(job, "submittedAt"));
    struct follow_options options = {
        .loop = run->loop,
        .client = run->client,
        .job = run->job,
        .after = is_replayed ? -1 : json_integer_value(json_object_get(job, "revision")),
        .tail = -1,
        .give_up_ms = args_has(args, "give-up") ? run->cli->give_up_ms : RUN_GIVE_UP_MS,
        .is_quiet = run->is_quiet,
        .has_progress = true,
        .has_labels = json_integer_value(output_at(job, "tasks/total")) > 1,
        .on_end = on_end,
        .arg = run,
    };

    if (!at || clock_parse_wall(at, &options.submitted_ms) < 0)
        options.submitted_ms = 0;
    run->follow = follow_open(&options);
}

static int stay(struct run *run, const struct args *args, const json_t *job, bool is_replayed)
{
    struct fdwatch *interrupt, *terminate;
    struct err err = { 0 };
    int r = loop_open(&run->loop, &err);

    if (r == 0)
        r = client_open(&run->cli->settings, run->loop, &run->client, &err);
    if (r < 0) {
        loop_close(run->loop);
        return cli_fail_err(run->cli, &err);
    }
    client_hold(run->client, run->cli->client);
    interrupt = fdwatch_signal(run->loop, SIGINT, on_interrupt, run);
    terminate = fdwatch_signal(run->loop, SIGTERM, on_terminate, run);
    begin(run, args, job, is_replayed);
    loop_run(run->loop);
    if (follow_write_error(run->follow) && run->exit_code == EXIT_DONE)
        run->exit_code = cli_fail(run->cli, EXIT_FAILED, "writing the job's output: %s",
                                  strerror(follow_write_error(run->follow)));
    follow_close(run->follow);
    ask_close(run->cancel);
    fdwatch_free(run->answer);
    fdwatch_free(interrupt);
    fdwatch_free(terminate);
    client_close(run->client);
    loop_close(run->loop);
    return run->exit_code;
}

static int run_run(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *object = NULL;
    CLEANUP(json_decrefp) json_t *job = NULL;
    struct run run = { .cli = cli };
    bool is_replayed = false;
    const char *id;
    int r;

    if (args_has(args, "detach"))
        return submit_run(cli, args);
    r = submit_make(cli, args, &object);
    if (r != 0)
        return r;
    r = submit_send(cli, args, object, &job, &is_replayed);
    if (r != 0)
        return r;
    id = json_string_value(json_object_get(job, "id"));
    if (!id || strlen(id) >= sizeof(run.job))
        return cli_fail(cli, EXIT_FAILED, "the server's answer names no job");
    memcpy(run.job, id, strlen(id) + 1);
    run.is_quiet = args_has(args, "quiet");
    run.is_state = text_eq(args_get(args, "exit-code"), "state");
    return stay(&run, args, job, is_replayed);
}

static const struct cli_flag own[] = {
    { "detach", 'd', NULL, "print the id and return, as submit does", NULL, false },
    { "quiet", 0, NULL, "say nothing on stderr but what the job says", NULL, false },
    { "exit-code", 0, "WHAT", "code: the job's own, state: 0 or 1", "code|state", false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &key_flags, &job_flags, &output_flags, &client_flags },
    .refused = &job_refused,
    .rest = "FILE",
    .n_rest_max = 1,
    .takes_command = true,
};
const struct verb verb_run = {
    .name = "run",
    .run = run_run,
    .help = "Submit a job, stay, and end with its code",
    .usage = "[FLAG...] [FILE] [-- COMMAND ARG...]",
    .more =
        "The job's stdout goes to stdout, its stderr to stderr, byte for byte; with several tasks\n"
        "each line begins with its task. Ctrl-C asks whether to cancel, twice cancels. Exits with\n"
        "the job's code, 128+n for a signal, 125, 126 or 127 where the container could not be\n"
        "made, the command not be executed or not be found.",
    .examples = { "run --image dir:/srv/images/alpine -- echo hello",
                  "run -q research --cpu 4 --memory 8Gi train.yaml" },
    .grammar = &grammar,
};
