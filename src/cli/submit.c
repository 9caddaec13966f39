/* Submit: see submit.h. */
#include "cli/submit.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "api/flags.h"
#include "api/job.h"
#include "api/json.h"
#include "api/script.h"
#include "api/yaml.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/name.h"
#include "cli/age.h"
#include "cli/job.h"

enum { JOB_FLAGS_MAX = 64, KEY_HEX = 32 };

static struct cli_flag table[JOB_FLAGS_MAX], refused[JOB_FLAGS_MAX];
struct flag_set job_flags = { "Flags of the job", table, 0 };
struct flag_set job_refused = { NULL, refused, 0 };

static const struct cli_flag of_key[] = {
    { "key", 0, "TEXT", "submit only once: the same key gives the first job again", NULL, false },
};
const struct flag_set key_flags = { "Flags of the submit", of_key, COUNT_OF(of_key) };

/* ---- flags of the job: the API's table is the only one ---- */

static bool is_repeated(enum flag_kind kind)
{
    return kind == FLAG_PAIR || kind == FLAG_TOLERATION;
}

/* What the completion offers; what will do the API says. */
static const char *words_of(const char *flag)
{
    static const char *const words[][2] = {
        { "queue", "@queue" },
        { "node", "@node" },
        { "runtime", "@=crun|runc|process" },
        { "network", "@=host|none" },
        { "on-failure", "@=stop|continue" },
        { "on-disconnect", "@=stop|keep" },
    };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (text_eq(flag, words[i][0]))
            return words[i][1];
    return NULL;
}

static void refuse_flag(struct cli_flag flag)
{
    assert(job_refused.n < JOB_FLAGS_MAX);
    refused[job_refused.n++] = flag;
}

void submit_init(void)
{
    const struct flag *flag;

    job_flags.n = job_refused.n = 0;
    for (size_t i = 0; (flag = flag_at(i)); i++) {
        if (!flag->member && !text_eq(flag->key, flag->name))
            refuse_flag((struct cli_flag){ .name = flag->key,
                                           .value = flag_why(flag) ? NULL : flag->name,
                                           .help = flag_why(flag) });
        if (flag_why(flag)) {
            refuse_flag((struct cli_flag){ .name = flag->name, .help = flag_why(flag) });
            continue;
        }
        assert(job_flags.n < JOB_FLAGS_MAX);
        table[job_flags.n++] = (struct cli_flag){
            .name = flag->name,
            .letter = flag->letter,
            .value = flag->kind == FLAG_TRUE || flag->kind == FLAG_FALSE ? NULL : flag->value,
            .help = flag->help,
            .words = words_of(flag->name),
            .is_many = is_repeated(flag->kind),
        };
    }
}

static bool is_job_flag(const struct cli_flag *flag)
{
    return flag >= table && flag < table + job_flags.n;
}

static bool has_job_flag(const struct args *args)
{
    for (size_t i = 0; i < args->flags.n; i++)
        if (is_job_flag(args->flags.at[i].flag))
            return true;
    return false;
}

/* Hands the words of the command line on to the API's own reading of them. */
static int take_flags(const struct args *args, struct flags *flags, struct problem *problem)
{
    int r = 0;

    for (size_t i = 0; i < args->flags.n; i++) {
        const struct args_flag *given = &args->flags.at[i];
        CLEANUP(freep) char *word = NULL;
        char *words[1];
        size_t at = 0;

        if (!is_job_flag(given->flag))
            continue;
        word = given->flag->value ? text_format("--%s=%s", given->flag->name, given->value)
                                  : text_format("--%s", given->flag->name);
        words[0] = word;
        if (flags_take(flags, words, 1, &at, problem) < 0)
            r = -EINVAL;
    }
    return r;
}

/* ---- the file ---- */

static int read_stdin(struct str *out, struct err *err)
{
    ssize_t n;

    do {
        n = read(STDIN_FILENO, str_room(out, 65536), 65536);
        if (n > 0)
            out->len += (size_t)n;
    } while ((n > 0 && out->len <= JOB_BODY_MAX_BYTES) || (n < 0 && errno == EINTR));
    if (n < 0)
        return err_sys(err, -errno, "read the job from stdin");
    if (out->len > JOB_BODY_MAX_BYTES)
        return err_set(err, -EINVAL, "stdin: more than %d bytes", JOB_BODY_MAX_BYTES);
    return 0;
}

static int read_file(const char *path, struct str *out, struct err *err)
{
    if (text_eq(path, "-"))
        return read_stdin(out, err);
    return file_read(AT_FDCWD, path, JOB_BODY_MAX_BYTES, out, err);
}

static bool is_blank(const struct str *text)
{
    return strspn(str_text(text), " \t\r\n") == text->len;
}

/* What a job is called by its file: "nightly" of "jobs/nightly.yaml"; NULL if that is no name. */
static char *name_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(freep) char *name = text_copy(slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');

    if (dot && dot > name)
        *dot = '\0';
    return name_is_valid(name) ? TAKE(name) : NULL;
}

/* A job being made: where its faults come from decides how they are told. */
struct making {
    const char *path;    /* of the file; NULL none */
    struct str text;     /* of the file */
    struct flags script; /* of #BERTH lines */
    struct flags words;  /* of the command line */
    json_t *object;
    bool is_script, is_json;
};

static void making_fini(struct making *making)
{
    str_fini(&making->text);
    flags_fini(&making->script);
    flags_fini(&making->words);
    json_decref(making->object);
}

static bool begins_json(const struct str *text)
{
    const char *at = str_text(text);

    return at[strspn(at, " \t\r\n")] == '{';
}

static int read_object(struct making *making, struct problem *problem)
{
    const char *text = str_text(&making->text);
    size_t n = making->text.len;

    making->is_script = script_is(text, n);
    making->is_json = begins_json(&making->text);
    if (making->is_script) {
        making->object = json_object();
        if (script_read(text_eq(making->path, "-") ? "stdin" : making->path, text, n,
                        &making->script, problem) < 0)
            return -EINVAL;
        return flags_apply(&making->script, making->object, problem);
    }
    if (making->is_json)
        return json_read(text, n, JOB_BODY_MAX_BYTES, &making->object, problem);
    return yaml_read(text, n, JOB_BODY_MAX_BYTES, &making->object, problem);
}

/* What stands behind "--": of a script its arguments, else the command. */
static void take_command(const struct args *args, struct making *making)
{
    char *const *words = (char *const *)args->command.at;

    if (!args->command.n)
        return;
    if (making->is_script)
        flags_set_args(&making->words, words, args->command.n);
    else
        flags_set_command(&making->words, words, args->command.n);
}

/* ---- what neither file nor flags say ---- */

static void set_default(json_t *object, const char *key, const char *value)
{
    if (value && !json_object_get(object, key))
        json_object_set_new(object, key, json_string(value));
}

static void set_defaults(const struct cli *cli, const struct args *args, struct making *making)
{
    char *const *values = cli->settings.values;
    CLEANUP(freep) char *name = NULL;
    json_t *object = making->object;

    set_default(object, "namespace", values[SETTING_NAMESPACE]);
    set_default(object, "queue", values[SETTING_QUEUE]);
    if (!json_object_get(object, "groups") &&
        !text_eq(json_string_value(json_object_get(object, "runtime")), "process"))
        set_default(object, "image", values[SETTING_IMAGE]);
    if (making->path && !text_eq(making->path, "-"))
        name = name_of_path(making->path);
    else if (!making->path && args->command.n)
        name = name_of_path(args->command.at[0]);
    set_default(object, "name", name);
}

/* ---- making it ---- */

/* Faults of flags, in the lines that they are given. */
static void mark_words(struct problem *problem, int from, int to)
{
    for (size_t i = 0; i < problem_n_kept(problem); i++)
        if (problem->fields[i].line == from && text_begins(problem->fields[i].text, "--"))
            problem->fields[i].line = to;
}

int submit_fail(const struct cli *cli, struct problem *problem, int status)
{
    struct making *making = cli->making;
    CLEANUP(str_fini) struct str text = { 0 };
    const char *path = making->path && text_eq(making->path, "-") ? "stdin" : making->path;

    /* The server says where a fault stands in what was sent, which nobody wrote. */
    for (size_t i = 0; status && i < problem_n_kept(problem); i++)
        problem->fields[i].line = problem->fields[i].column = 0;
    flags_blame(&making->words, problem);
    mark_words(problem, 0, PROBLEM_OF_WORDS); /* what a flag says stands in no file */
    flags_blame(&making->script, problem);
    if (making->path && !making->is_script && making->is_json)
        json_locate(making->text.data, making->text.len, problem);
    else if (making->path && !making->is_script)
        yaml_locate(str_text(&making->text), making->text.len, problem);
    if (cli->is_json || !problem->n_fields) {
        mark_words(problem, PROBLEM_OF_WORDS, 0);
        cli_fail_problem(cli, problem, status);
        return status ? exit_of_problem(problem->code, status) : EXIT_USAGE;
    }
    problem_write(problem, path, &text);
    if (!path)
        fputs("berth: ", stderr);
    fputs(text.data, stderr);
    return status ? exit_of_problem(problem->code, status) : EXIT_USAGE;
}

static int make(struct cli *cli, const struct args *args, struct making *making,
                struct problem *problem)
{
    struct job_spec *spec = NULL;
    int r = 0;

    if (making->path)
        r = read_object(making, problem);
    else
        making->object = json_object();
    if (r < 0 && !making->object)
        return r;
    if (!json_is_object(making->object))
        return problem_add(problem, PROBLEM_INVALID_FIELD, "", "a job is an object");
    if (take_flags(args, &making->words, problem) < 0)
        r = -EINVAL;
    take_command(args, making);
    if (flags_apply(&making->words, making->object, problem) < 0)
        return -EINVAL;
    set_defaults(cli, args, making);
    /* What is wrong in the text or the flags is no reason not to tell the rest. */
    if (job_spec_from_json(making->object, NULL, &spec, problem) < 0)
        r = -EINVAL;
    job_spec_free(spec);
    return r;
}

void submit_forget(struct cli *cli)
{
    if (cli->making)
        making_fini(cli->making);
    mem_free(cli->making);
    cli->making = NULL;
}

static struct making *begin(struct cli *cli, const struct args *args)
{
    submit_forget(cli);
    cli->making = NEW0(struct making);
    flags_init(&cli->making->script);
    flags_init(&cli->making->words);
    cli->making->path = args->rest.n ? args->rest.at[0] : NULL;
    return cli->making;
}

int submit_make(struct cli *cli, const struct args *args, json_t **out)
{
    struct making *making;
    struct problem problem = { 0 };
    struct err err = { 0 };
    char cwd[PATH_MAX];
    int r = cli_need_settings(cli, args);

    if (r != 0)
        return r;
    if (args_maybe(args, "key") && !*args_get(args, "key"))
        return cli_fail_usage(cli, "--key: is empty, and would submit again each time");
    making = begin(cli, args);
    if (getcwd(cwd, sizeof(cwd)))
        making->script.base_dir = making->words.base_dir = cwd;
    if (!making->path && !has_job_flag(args) && !args->command.n)
        return cli_fail_usage(cli, "say what to run: a file, or --image and -- COMMAND");
    if (making->path && read_file(making->path, &making->text, &err) < 0)
        return cli_fail(cli, EXIT_USAGE, "%s%s", err.text,
                        err.code == -ENOENT ? "; a command stands behind --" : "");
    if (making->path && is_blank(&making->text))
        return cli_fail(cli, EXIT_USAGE, "%s is empty: want a job in YAML or JSON, or a script",
                        text_eq(making->path, "-") ? "stdin" : making->path);
    r = make(cli, args, making, &problem);
    making->script.base_dir = making->words.base_dir = NULL;
    if (r < 0)
        return submit_fail(cli, &problem, 0);
    *out = json_incref(making->object);
    return 0;
}

/* ---- sending it ---- */

/* "WAITS  LARGER_THAN_ANY_NODE  group worker  cpu 64 of 8": what time alone will not cure. */
static void add_reason(const json_t *reason, struct str *out)
{
    const char *wants = json_string_value(json_object_get(reason, "wants"));
    const char *has = json_string_value(json_object_get(reason, "has"));

    output_text(reason, "code", out);
    if (json_object_get(reason, "group")) {
        str_add(out, ": group ");
        output_text(reason, "group", out);
    }
    if (json_object_get(reason, "asked")) {
        str_add(out, " asks ");
        output_text(reason, "resource", out);
        str_add(out, " ");
        job_add_asked(reason, out);
        str_add(out, ", at most ");
        output_text(reason, "limit", out);
    }
    if (wants)
        str_addf(out, " wants %s", wants);
    if (has)
        str_addf(out, ", nodes have %s", has);
    if (json_object_get(reason, "needed")) {
        output_text(reason, "needed", out);
        str_add(out, " tasks begin together, all nodes hold ");
        output_text(reason, "placed", out);
    }
}

static void say_warnings(const json_t *job)
{
    const char *id = json_string_value(json_object_get(job, "id"));
    json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(job, "warnings"), i, warning)
    {
        CLEANUP(str_fini) struct str text = { 0 };
        const char *code = json_string_value(json_object_get(warning, "code"));

        if (code && strcmp(code, "NO_NODE_KNOWN") == 0) {
            fprintf(stderr, "berth: %s waits for the first node: none has registered yet\n", id);
            continue;
        }
        add_reason(warning, &text);
        fprintf(stderr, "berth: %s can never start as the cluster is: %s\n", id, text.data);
    }
}

static struct client_request submit_request(const char *path, const char *body,
                                            const char *const *headers)
{
    return (struct client_request){ .method = "POST",
                                    .path = path,
                                    .headers = headers,
                                    .body = body,
                                    .n_body = strlen(body),
                                    .is_repeatable = true };
}

int submit_post(struct cli *cli, const char *path, const char *key, const json_t *object,
                json_t **job, bool *is_replayed)
{
    CLEANUP(client_answer_fini) struct client_answer answer = { 0 };
    CLEANUP(freep) char *body = json_dumps(object, JSON_COMPACT);
    CLEANUP(freep) char *header = NULL;
    char own[DIGEST_HEX_SIZE] = "";
    const char *headers[2] = { NULL, NULL };
    struct client_request request = submit_request(path, body, headers);
    struct err err = { 0 };
    int r;

    if (!key && digest_random_hex(own, &err) < 0)
        return cli_fail_err(cli, &err);
    own[KEY_HEX] = '\0';
    header = text_format("Idempotency-Key: %s", key ? key : own);
    headers[0] = header;
    r = cli_call_answer(cli, &request, &answer);
    if (r != 0)
        return r;
    if (is_replayed)
        *is_replayed = answer.is_replayed;
    return cli_read_json(cli, &answer, job);
}

int submit_send(struct cli *cli, const struct args *args, const json_t *object, json_t **job,
                bool *is_replayed)
{
    bool is_quiet = args_has(args, "quiet");
    const char *path = args_maybe(args, "need-feasible") ? "/v1/jobs?requireFeasible=1"
                       : is_quiet                        ? "/v1/jobs"
                                                         : "/v1/jobs?warn=1";
    int r = cli_need_client(cli, args);

    if (r == 0)
        r = submit_post(cli, path, args_get(args, "key"), object, job, is_replayed);
    if (r == 0 && !is_quiet)
        say_warnings(*job);
    return r;
}

/* ---- whether it would start ---- */

/* Asks for a plan; unless it starts, says why and what that means for a shell. */
static int need_placed(struct cli *cli, const struct args *args, const json_t *object)
{
    CLEANUP(client_answer_fini) struct client_answer answer = { 0 };
    CLEANUP(json_decrefp) json_t *plan = NULL;
    CLEANUP(freep) char *body = json_dumps(object, JSON_COMPACT);
    CLEANUP(str_fini) struct str text = { 0 };
    const char *const headers[] = { NULL };
    struct client_request request = submit_request("/v1/jobs?dryRun=1", body, headers);
    const json_t *reason;
    int r = cli_need_client(cli, args);

    if (r == 0)
        r = cli_call_answer(cli, &request, &answer);
    if (r == 0)
        r = cli_read_json(cli, &answer, &plan);
    if (r != 0)
        return r;
    if (text_eq(json_string_value(json_object_get(plan, "outcome")), "start"))
        return 0;
    reason = json_array_get(json_object_get(plan, "reasons"), 0);
    if (reason)
        add_reason(reason, &text);
    return cli_fail(cli, EXIT_WAITS, "not submitted, it would wait%s%s", reason ? ": " : "",
                    str_text(&text));
}

/* ---- the verb ---- */

static void say_replayed(const json_t *job)
{
    CLEANUP(str_fini) struct str age = { 0 };
    const char *at = json_string_value(json_object_get(job, "submittedAt"));
    int64_t at_ms;

    if (at && clock_parse_wall(at, &at_ms) == 0)
        age_format(clock_wall_ms(&clock_system) - at_ms, &age);
    fprintf(stderr, "same key: already submitted%s%s%s\n", age.len ? " " : "", str_text(&age),
            age.len ? " ago" : "");
}

int submit_run(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *object = NULL;
    CLEANUP(json_decrefp) json_t *job = NULL;
    struct output output;
    struct err err = { 0 };
    bool is_replayed = false;
    int r = submit_make(cli, args, &object);

    if (r == 0)
        r = cli_need_output(cli, args, &output);
    if (r != 0)
        return r;
    r = args_maybe(args, "need-placed") ? need_placed(cli, args, object) : 0;
    if (r == 0)
        r = submit_send(cli, args, object, &job, &is_replayed);
    if (r != 0)
        return r;
    if (output.format == OUTPUT_TABLE)
        output.format = OUTPUT_ID;
    if (output_item(&output, &job_listing, job, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (is_replayed && !args_has(args, "quiet"))
        say_replayed(job);
    return EXIT_DONE;
}

static const struct cli_flag own[] = {
    { "quiet", 0, NULL, "say nothing but the id", NULL, false },
    { "need-placed", 0, NULL, "submit only what would start now; else exit with 4", NULL, false },
    { "need-feasible", 0, NULL, "submit only what the cluster as it is could run; else exit with 4",
      NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &key_flags, &own_flags, &job_flags, &output_flags, &client_flags },
    .refused = &job_refused,
    .rest = "FILE",
    .n_rest_max = 1,
    .takes_command = true,
};
const struct verb verb_submit = {
    .name = "submit",
    .run = submit_run,
    .help = "Submit a job and print its id",
    .usage = "[FLAG...] [FILE] [-- COMMAND ARG...]",
    .more =
        "FILE is a job in YAML or JSON, or a shell script with #BERTH lines; - is stdin. Flags\n"
        "change what the file says. Behind -- stands the command, or a script's arguments.\n"
        "Says on stderr if the job can never start as the cluster is.",
    .examples = { "submit train.yaml --key nightly-2026-09-14",
                  "submit -q research --image oci:/srv/img/train --cpu 4 --tasks 2 --gang -- "
                  "train.py" },
    .grammar = &grammar,
};
