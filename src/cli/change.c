/*
 * berth job set, hold, release, requeue, suspend and resume: changes of a job.
 */
#include <string.h>

#include "api/job.h"
#include "base/quantity.h"
#include "base/states.h"
#include "cli/job.h"
#include "cli/submit.h"

/* Each job named, by the id of the word; *out is its path and what follows, yours. */
static int path_of(struct cli *cli, const struct args *args, const char *word, const char *more,
                   char **out)
{
    struct job_name name;
    int r = job_name_find(cli, args, word, &name);

    if (r != 0)
        return r;
    if (name.task[0])
        return cli_fail_usage(cli, "%s is a task; only whole jobs can be changed", word);
    *out = job_path(name.job, more);
    return 0;
}

/* What is asked of each job. */
struct asking {
    const json_t *body;
    struct output output;
};

static int act_on_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    const struct asking *asking = arg;
    CLEANUP(freep) char *path = NULL;
    struct client_request request = { .method = "POST", .is_repeatable = true };
    int r = path_of(cli, args, word, "/actions", &path);

    if (r != 0)
        return r;
    request.path = path;
    return cli_change(cli, args, &request, asking->body, &job_listing);
}

static int ask_each(struct cli *cli, const struct args *args, const json_t *body, cli_each_fn *fn)
{
    struct asking asking = { .body = body };
    int r = cli_need_output(cli, args, &asking.output);

    return r == 0 ? cli_each(cli, args, fn, &asking) : r;
}

/* ---- set ---- */

static bool is_relative(const char *limit)
{
    return limit && (*limit == '+' || *limit == '-');
}

static int put_limit(struct cli *cli, const struct args *args, json_t *body)
{
    const char *limit = args_get(args, "time");
    struct err err = { 0 };
    int64_t ms;

    if (!limit)
        return 0;
    if (duration_parse(limit + is_relative(limit), &ms, &err) < 0)
        return cli_fail_usage(cli, "--time: %s", err.text);
    json_object_set_new(body, "limit", json_string(limit));
    return 0;
}

/* "  limit 1h -> 1h30m" of what the body changes. */
static void add_change(const json_t *body, const char *key, const json_t *was, const json_t *is,
                       struct str *out)
{
    if (!json_object_get(body, key))
        return;
    str_addf(out, "  %s ", key);
    str_add(out, json_object_get(was, key) ? "" : "none");
    output_text(was, key, out);
    str_add(out, json_object_get(is, key) ? " -> " : " -> none");
    output_text(is, key, out);
}

/* What a limit is moved to by "+30m"; "" where it cannot be moved so: the server says why. */
static void add_moved(const json_t *job, const char *limit, struct str *out)
{
    const char *now = json_string_value(json_object_get(job, "limit"));
    struct err err = { 0 };
    int64_t now_ms, by_ms;

    if (!now || duration_parse(now, &now_ms, &err) < 0 ||
        duration_parse(limit + 1, &by_ms, &err) < 0)
        return;
    now_ms += *limit == '-' ? -by_ms : by_ms;
    if (now_ms > 0)
        duration_format(now_ms, out);
}

/* Nobody knows whether it was moved. Done again as it stands, it would be moved twice. */
static int fail_moving(const struct cli *cli, const char *word, const char *limit, const char *now,
                       const char *moved, int exit_code)
{
    if (!cli->is_json)
        fprintf(stderr,
                "berth: %s: its limit was %s; whether it was moved by %s is not known. This can be "
                "done\n       any number of times: berth job set %s --time %s\n",
                word, now, limit, word, moved);
    return exit_code;
}

/*
 * A limit that is moved is moved from what was read here, by the job's ETag: sent again after an
 * answer was lost it is not moved twice. The job may have changed in other ways meanwhile (it
 * started, say), and then it is moved from its new state.
 */
static int move(struct cli *cli, const char *word, const char *path, const json_t *body,
                json_t **was, json_t **is)
{
    const char *limit = json_string_value(json_object_get(body, "limit"));
    CLEANUP(str_fini) struct str moved = { 0 };

    for (;;) {
        CLEANUP(client_answer_fini) struct client_answer answer = { 0 };
        CLEANUP(json_decrefp) json_t *now = NULL;
        CLEANUP(freep) char *if_match = NULL;
        const char *from = json_string_value(json_object_get(*was, "limit"));
        int r = cli_call_answer(cli, &(struct client_request){ .method = "GET", .path = path },
                                &answer);

        if (r == 0)
            r = cli_read_json(cli, &answer, &now);
        if (r != 0)
            return moved.len ? fail_moving(cli, word, limit, from, moved.data, r) : r;
        if (moved.len && text_eq(json_string_value(json_object_get(now, "limit")), moved.data)) {
            *is = TAKE(now);
            return 0; /* it was done, and the answer lost */
        }
        if (moved.len && !text_eq(json_string_value(json_object_get(now, "limit")), from))
            return cli_fail(cli, EXIT_CONFLICT,
                            "the limit of %s was changed by somebody else meanwhile", word);
        json_decref(*was);
        *was = TAKE(now);
        str_clear(&moved);
        add_moved(*was, limit, &moved);
        if_match = text_format("If-Match: %s", answer.etag);
        r = cli_call_if(cli,
                        &(struct client_request){ .method = "PATCH",
                                                  .path = path,
                                                  .headers = (const char *[]){ if_match, NULL },
                                                  .is_repeatable = true },
                        body, PROBLEM_CHANGED_SINCE, is);
        if (r == 0 && *is)
            return 0;
        if (r == EXIT_UNREACHABLE && moved.len)
            return fail_moving(cli, word, limit, json_string_value(json_object_get(*was, "limit")),
                               moved.data, r);
        if (r != 0)
            return r;
    }
}

static int change(struct cli *cli, const char *word, const char *path, const json_t *body,
                  bool needs_was, json_t **was, json_t **is)
{
    static const char *const headers[] = { "If-Match: *", NULL };
    int r;

    if (is_relative(json_string_value(json_object_get(body, "limit"))))
        return move(cli, word, path, body, was, is);
    r = needs_was ? cli_get(cli, path, was) : 0;
    if (r != 0)
        return r;
    return cli_call(
        cli,
        &(struct client_request){
            .method = "PATCH", .path = path, .headers = headers, .is_repeatable = true },
        body, is);
}

static int set_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    struct asking *asking = arg;
    struct output *output = &asking->output;
    const json_t *body = asking->body;
    bool is_table = output->format == OUTPUT_TABLE;
    CLEANUP(json_decrefp) json_t *was = NULL, *is = NULL;
    CLEANUP(str_fini) struct str text = { 0 };
    CLEANUP(freep) char *path = NULL;
    struct err err = { 0 };
    int r = path_of(cli, args, word, "", &path);

    if (r == 0)
        r = change(cli, word, path, body, is_table, &was, &is);
    if (r != 0)
        return r;
    if (!is_table) {
        if (output_item(output, &job_listing, is, &err) < 0)
            return cli_fail_usage(cli, "%s", err.text);
        output->has_head &= !output_has_rows(output); /* several jobs have one */
        return EXIT_DONE;
    }
    output_text(is, "id", &text);
    str_addf(&text, "  %s%s%s", json_string_value(json_object_get(is, "state")),
             json_is_true(json_object_get(is, "held")) ? " (held)" : "",
             json_is_true(json_object_get(is, "suspended")) ? " (suspended)" : "");
    add_change(body, "priority", was, is, &text);
    add_change(body, "limit", was, is, &text);
    puts(text.data);
    return EXIT_DONE;
}

static int run_set(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = json_object();
    json_t *labels = json_object();
    struct err err = { 0 };
    int64_t priority = 0;
    int r;

    json_object_set_new(body, "labels", labels);
    for (size_t i = 0; i < args->flags.n; i++)
        if (text_eq(args->flags.at[i].flag->name, "label") &&
            cli_put_label(labels, args->flags.at[i].value, &err) < 0)
            return cli_fail_usage(cli, "--label: %s", err.text);
    if (json_object_size(labels) == 0)
        json_object_del(body, "labels");
    if (args_int(args, "priority", JOB_PRIORITY_MIN, JOB_PRIORITY_MAX, &priority, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (args_has(args, "priority"))
        json_object_set_new(body, "priority", json_integer(priority));
    r = put_limit(cli, args, body);
    if (r == 0 && json_object_size(body) == 0)
        return cli_fail_usage(cli, "say what to set: --priority, --label, --time");
    return r == 0 ? ask_each(cli, args, body, set_one) : r;
}

static int act(struct cli *cli, const struct args *args, const char *action)
{
    CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "action", action);

    return ask_each(cli, args, body, act_on_one);
}

static int run_hold(struct cli *cli, const struct args *args)
{
    return act(cli, args, "hold");
}

static int run_release(struct cli *cli, const struct args *args)
{
    return act(cli, args, "release");
}

/* ---- requeue, suspend, resume ---- */

static int make_stop(struct cli *cli, const struct args *args, const char *action, json_t **out)
{
    *out = json_pack("{s:s}", "action", action);
    if (args_has(args, "reason"))
        json_object_set_new(*out, "reason", json_string(args_get(args, "reason")));
    return cli_put_grace(cli, args, *out);
}

/* A job that is over stays so: another one is made of what it was, with what was changed of it. */
static int submit_again(struct cli *cli, const struct args *args, const json_t *job)
{
    json_t *spec = json_object_get(job, "spec");
    json_t *labels = json_object_get(job, "labels");
    CLEANUP(json_decrefp) json_t *made = NULL;
    struct output output;
    struct err err = { 0 };
    int r = cli_need_output(cli, args, &output);

    if (r != 0)
        return r;
    json_object_set(spec, "priority", json_object_get(job, "priority"));
    json_object_del(spec, "labels"); /* those it was submitted with */
    if (labels)
        json_object_set(spec, "labels", labels);
    r = submit_post(cli, "/v1/jobs", NULL, spec, &made, NULL);
    if (r != 0)
        return r;
    if (output.format == OUTPUT_TABLE)
        printf("%s  %s (%s again)\n", json_string_value(json_object_get(made, "id")),
               json_string_value(json_object_get(made, "state")),
               json_string_value(json_object_get(job, "id")));
    else if (output_item(&output, &job_listing, made, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

static int requeue_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    const struct asking *asking = arg;
    CLEANUP(json_decrefp) json_t *job = NULL;
    CLEANUP(freep) char *path = NULL, *actions = NULL;
    int r = path_of(cli, args, word, "", &path);

    if (r == 0)
        r = cli_get(cli, path, &job);
    if (r != 0)
        return r;
    if (job_state_is_over(json_string_value(json_object_get(job, "state"))))
        return submit_again(cli, args, job);
    actions = text_format("%s/actions", path);
    return cli_change(
        cli, args,
        &(struct client_request){ .method = "POST", .path = actions, .is_repeatable = true },
        asking->body, &job_listing);
}

static int run_requeue(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = NULL;
    int r = make_stop(cli, args, "requeue", &body);

    return r == 0 ? ask_each(cli, args, body, requeue_one) : r;
}

static int run_suspend(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = NULL;
    int r = make_stop(cli, args, "suspend", &body);

    return r == 0 ? ask_each(cli, args, body, act_on_one) : r;
}

static int run_resume(struct cli *cli, const struct args *args)
{
    return act(cli, args, "resume");
}

static const struct cli_flag own[] = {
    { "priority", 0, "N", "-1000 to 100000: of the jobs of a queue, the higher comes first", NULL,
      false },
    { "label", 'l', "LABEL", "KEY=VALUE sets it, KEY- takes it away", NULL, true },
    { "time", 0, "DURATION",
      "limit of each task, also of what runs; 0s: none; +30m, -30m: moves it", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar set_grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct cli_flag of_stop[] = {
    { "grace", 0, "TIME", "from TERM to KILL, instead of the job's own", NULL, false },
    { "reason", 0, "TEXT", "why, for whoever looks at the attempts", NULL, false },
};
static const struct flag_set stop_flags = { NULL, of_stop, COUNT_OF(of_stop) };
static const struct grammar stop_grammar = {
    .sets = { &stop_flags, &namespace_flags, &output_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};
static const struct grammar grammar = {
    .sets = { &namespace_flags, &output_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};

const struct verb verb_job_set = {
    .name = "job set",
    .run = run_set,
    .help = "Change the priority, labels or time limit of jobs",
    .usage = "[FLAG...] JOB...",
    .more =
        "A limit counts from each task's first instruction, as before: what has run for longer\n"
        "ends at once. It may be as long as the job's queue lets it (berth queue set --max-limit).",
    .examples = { "job set j-12 --priority 700", "job set j-12 j-13 --label run=b --time +30m" },
    .grammar = &set_grammar,
};
const struct verb verb_job_hold = {
    .name = "job hold",
    .run = run_hold,
    .help = "Start nothing more of jobs; what runs goes on",
    .usage = "[FLAG...] JOB...",
    .examples = { "job hold j-12", "job hold j-12 j-13 -o json" },
    .grammar = &grammar,
};
const struct verb verb_job_release = {
    .name = "job release",
    .run = run_release,
    .help = "Let jobs that were held start",
    .usage = "[FLAG...] JOB...",
    .examples = { "job release j-12", "job release j-12 j-13" },
    .grammar = &grammar,
};
const struct verb verb_job_requeue = {
    .name = "job requeue",
    .run = run_requeue,
    .help = "Stop what runs of jobs and let it wait again",
    .usage = "[FLAG...] JOB...",
    .more = "What has succeeded or failed stays so; no try is spent. Of a job that is over another "
            "one\n"
            "is made, with a new id.",
    .examples = { "job requeue j-12", "job requeue j-12 --grace 5s --reason 'new image'" },
    .grammar = &stop_grammar,
};
const struct verb verb_job_suspend = {
    .name = "job suspend",
    .run = run_suspend,
    .help = "Stop what runs of jobs, until they are resumed",
    .usage = "[FLAG...] JOB...",
    .more =
        "What was stopped begins anew when the job is resumed; no try is spent. To start nothing\n"
        "more and let run what runs, hold the job.",
    .examples = { "job suspend j-12", "job suspend j-12 j-13 --reason 'room for the demo'" },
    .grammar = &stop_grammar,
};
const struct verb verb_job_resume = {
    .name = "job resume",
    .run = run_resume,
    .help = "Let jobs that were suspended start",
    .usage = "[FLAG...] JOB...",
    .examples = { "job resume j-12", "job resume j-12 j-13" },
    .grammar = &grammar,
};
