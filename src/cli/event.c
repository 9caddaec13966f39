/* berth event watch: what changes, as it changes. */
#include <string.h>

#include "cli/events.h"
#include "cli/job.h"

enum { LIMIT_MAX = 1000000000 };

struct watch {
    struct cli *cli;
    struct loop *loop;
    struct events *events;
    struct output output;
    int64_t left; /* to print before the end; below 0: for ever */
    int exit_code;
};

static void column_time(const json_t *item, const struct output *output, struct str *out)
{
    const char *time = json_string_value(json_object_get(item, "time"));
    const char *t = time ? strchr(time, 'T') : NULL;

    if (!output->is_absolute && t && strlen(t) > 12)
        str_add_bytes(out, t + 1, 12); /* 10:42:18.104 */
    else
        str_add(out, time ? time : "");
}

static void column_what(const json_t *item, const struct output *output, struct str *out)
{
    static const char *const keys[] = { "state", "node",    "cause", "detail",
                                        "why",   "takenBy", "code",  "queue" };
    const json_t *object = json_object_get(item, "object");

    (void)output;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const json_t *value = json_object_get(object, keys[i]);

        if (!value || json_is_null(value) || text_eq(json_string_value(value), ""))
            continue;
        str_addf(out, "%s%s=", out->len ? " " : "", keys[i]);
        output_text(object, keys[i], out);
    }
}

static const struct column columns[] = {
    { "REVISION", "revision", NULL, COLUMN_RIGHT },
    { "TIME", NULL, column_time, 0 },
    { "TYPE", "type", NULL, 0 },
    { "SUBJECT", "subject", NULL, 0 },
    { "BY", "by", NULL, 0 },
    { "WHAT", NULL, column_what, 0 },
};
static const struct listing listing = { columns, COUNT_OF(columns), "revision", "type" };

/* A table whose rows are not known yet; wide has no more columns. */
static bool is_endless_table(const struct output *output)
{
    return output->format == OUTPUT_TABLE || output->format == OUTPUT_WIDE;
}

/* A row of a table that never ends: columns have fixed widths. */
static void print_row(const struct output *output, const json_t *event)
{
    static const int widths[] = { 8, 12, 18, 20, 10, 0 };

    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        CLEANUP(str_fini) struct str text = { 0 };

        if (columns[i].fn)
            columns[i].fn(event, output, &text);
        else
            output_text(event, columns[i].path, &text);
        fprintf(output->to, i + 1 < COUNT_OF(columns) ? "%-*s  " : "%-*s\n", widths[i],
                text.len ? text.data : "-");
    }
}

static void on_event(void *arg, const json_t *event)
{
    struct watch *watch = arg;
    struct err err = { 0 };

    if (is_endless_table(&watch->output))
        print_row(&watch->output, event);
    else if (output_item(&watch->output, &listing, event, &err) < 0)
        watch->exit_code = cli_fail_usage(watch->cli, "%s", err.text);
    watch->output.has_head &= !output_has_rows(&watch->output); /* all rows have one */
    if (watch->exit_code == 0 && fflush(watch->output.to) != 0)
        watch->exit_code = EXIT_FAILED;
    if (watch->left > 0)
        watch->left--;
    if (watch->exit_code != 0 || watch->left == 0) {
        loop_stop(watch->loop);
        watch->output.to = NULL;
        events_close(TAKE(watch->events));
    }
}

static void on_gap(void *arg)
{
    struct watch *watch = arg;

    watch->exit_code =
        cli_fail(watch->cli, EXIT_NOT_FOUND, "events after revision %lld are no longer held",
                 (long long)events_revision(watch->events));
    loop_stop(watch->loop);
}

/* Revisions are given again there: who reads along is told by an end, not by numbers that go back. */
static void on_parted(void *arg, int64_t shared, const struct problem *problem)
{
    struct watch *watch = arg;
    struct problem end = { 0 };

    problem_set(&end, problem->code, "%.300s; go on with: berth event watch --from %lld",
                problem->detail, (long long)shared);
    watch->exit_code = cli_fail_problem(watch->cli, &end, problem_codes[problem->code].status);
    loop_stop(watch->loop);
}

static void on_ahead(void *arg, int64_t newest)
{
    const struct watch *watch = arg;

    fprintf(stderr,
            "berth: waits for what comes behind revision %lld, which is yet to come: the newest is "
            "%lld\n",
            (long long)events_revision(watch->events), (long long)newest);
}

static void on_connection(void *arg, bool is_lost, const char *why)
{
    (void)arg;
    fprintf(stderr, "berth: %s%s\n", is_lost ? why : "connected again",
            is_lost ? "; trying again" : "");
}

static void on_end(void *arg, int status, const struct problem *problem, const struct err *err)
{
    struct watch *watch = arg;

    watch->exit_code =
        status ? cli_fail_problem(watch->cli, problem, status) : cli_fail_err(watch->cli, err);
    loop_stop(watch->loop);
}

static int run(struct watch *watch, const struct args *args, const char *job, int64_t after)
{
    CLEANUP(str_fini) struct str query = { 0 };
    struct client *client = NULL;
    struct err err = { 0 };
    int r = loop_open(&watch->loop, &err);

    if (r == 0)
        r = client_open(&watch->cli->settings, watch->loop, &client, &err);
    if (r < 0) {
        loop_close(watch->loop);
        return cli_fail_err(watch->cli, &err);
    }
    client_hold(client, watch->cli->client);
    cli_add_query(&query, "type", args_get(args, "type"));
    cli_add_query(&query, "job", job);
    if (is_endless_table(&watch->output) && watch->output.has_head)
        printf("%-8s  %-12s  %-18s  %-20s  %-10s  %s\n", "REVISION", "TIME", "TYPE", "SUBJECT",
               "BY", "WHAT");
    watch->events = events_open(&(struct events_options){
        .loop = watch->loop,
        .client = client,
        .query = str_text(&query),
        .after = after,
        .give_up_ms = args_has(args, "give-up") ? watch->cli->give_up_ms : -1,
        .on_event = on_event,
        .on_gap = on_gap,
        .on_parted = on_parted,
        .on_ahead = on_ahead,
        .on_line = on_connection,
        .on_end = on_end,
        .arg = watch });
    loop_run(watch->loop);
    events_close(watch->events);
    client_close(client);
    loop_close(watch->loop);
    return watch->exit_code;
}

static int run_watch(struct cli *cli, const struct args *args)
{
    struct watch watch = { .cli = cli, .left = -1 };
    struct job_name job = { .job = "" };
    struct err err = { 0 };
    int64_t after = -1;
    int r = cli_need_output(cli, args, &watch.output);

    if (r != 0)
        return r;
    r = cli_check_filters(cli, args);
    if (r != 0)
        return r;
    if (args_int(args, "from", 0, INT64_MAX, &after, &err) < 0 ||
        args_int(args, "limit", 1, LIMIT_MAX, &watch.left, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (watch.output.format == OUTPUT_JSON)
        watch.output.format = OUTPUT_JSONL; /* a stream has no end to close a list */
    if (args_has(args, "job")) {
        r = cli_need_client(cli, args);
        if (r == 0)
            r = job_name_find(cli, args, args_get(args, "job"), &job);
        if (r != 0)
            return r;
    }
    return run(&watch, args, job.job, after);
}

static const struct cli_flag own[] = {
    { "from", 0, "REVISION", "begin behind this revision (default: now)", NULL, false },
    { "type", 0, "TYPES", "only these: job.*,attempt.ended", NULL, false },
    { "job", 0, "JOB", "only of this job", "@job", false },
    { "limit", 0, "N", "end after so many", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &output_flags, &time_flags, &client_flags },
};
const struct verb verb_event_watch = {
    .name = "event watch",
    .run = run_watch,
    .help = "Print events as they happen",
    .usage = "[FLAG...]",
    .more =
        "After a broken connection it goes on behind the last event; nothing is lost or repeated.\n"
        "With -o json or jsonl each event is one line. --from a revision that is yet to come waits "
        "for\n"
        "it, and says so on stderr; of one that is no longer held it exits 3.",
    .examples = { "event watch --job j-12", "event watch --from 48211 -o jsonl" },
    .grammar = &grammar,
};
