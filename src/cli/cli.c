/*
 * The command line: finds the verb, takes its words apart, runs it. See cli.h.
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/submit.h"
#include "cli/verb.h"

enum { NAMES_MAX = 128 };

/* ---- failing ---- */

/* "berth: ", and of which of several things it is. */
static void print_begin(const struct cli *cli)
{
    fprintf(stderr, "berth: %s%s", cli->about ? cli->about : "", cli->about ? ": " : "");
}

static void print_failure(const struct cli *cli, int exit_code, const char *text)
{
    json_t *document;

    if (!cli->is_json) {
        print_begin(cli);
        fprintf(stderr, "%s\n", text);
        return;
    }
    document = json_pack("{s:s,s:i}", "detail", text, "exit", exit_code);
    if (cli->about)
        json_object_set_new(document, "about", json_string(cli->about));
    json_dumpf(document, stderr, JSON_COMPACT);
    fputc('\n', stderr);
    json_decref(document);
}

int cli_fail(const struct cli *cli, int exit_code, const char *fmt, ...)
{
    CLEANUP(str_fini) struct str text = { 0 };
    va_list args;

    va_start(args, fmt);
    str_addv(&text, fmt, args);
    va_end(args);
    print_failure(cli, exit_code, str_text(&text));
    return exit_code;
}

int cli_fail_usage(const struct cli *cli, const char *fmt, ...)
{
    CLEANUP(str_fini) struct str text = { 0 };
    va_list args;

    va_start(args, fmt);
    str_addv(&text, fmt, args);
    va_end(args);
    print_failure(cli, EXIT_USAGE, str_text(&text));
    if (!cli->is_json)
        fprintf(stderr, "       see: berth %s%s--help\n", cli->verb ? cli->verb->name : "",
                cli->verb ? " " : "");
    return EXIT_USAGE;
}

int cli_fail_err(const struct cli *cli, const struct err *err)
{
    return cli_fail(cli, exit_of_error(err->code), "%s", err->text);
}

int cli_fail_problem(const struct cli *cli, const struct problem *problem, int status)
{
    CLEANUP(str_fini) struct str text = { 0 };
    int exit_code = exit_of_problem(problem->code, status);

    if (cli->is_json) {
        json_t *document = problem_to_json(problem, NULL);

        if (cli->about)
            json_object_set_new(document, "about", json_string(cli->about));
        json_dumpf(document, stderr, JSON_COMPACT);
        fputc('\n', stderr);
        json_decref(document);
        return exit_code;
    }
    print_begin(cli);
    fprintf(stderr, "%s%s%s\n", problem->detail, problem->code ? "  " : "",
            problem->code ? problem_codes[problem->code].word : "");
    if (problem->n_fields > 1) {
        problem_write(problem, "berth", &text);
        fputs(text.data, stderr);
    }
    return exit_code;
}

bool cli_wants_json(int argc, const char *const *argv)
{
    const char *output = getenv("BERTH_OUTPUT");

    for (int i = 1; i < argc && !text_eq(argv[i], "--"); i++) {
        if (text_eq(argv[i], "-ojson") || text_eq(argv[i], "--output=json"))
            return true;
        if (i + 1 < argc && (text_eq(argv[i], "-o") || text_eq(argv[i], "--output")))
            return text_eq(argv[i + 1], "json");
    }
    return text_eq(output, "json");
}

/* ---- finding the verb ---- */

/* What a second word stands for: list for ls, and so on. */
static const char *without_alias(const char *word)
{
    static const char *const aliases[][2] = {
        { "ls", "list" },
        { "get", "show" },
        { "describe", "show" },
        { "rm", "delete" },
    };

    for (size_t i = 0; i < COUNT_OF(aliases); i++)
        if (text_eq(word, aliases[i][0]))
            return aliases[i][1];
    return word;
}

static const struct verb *find_name(const struct cli *cli, const char *name)
{
    for (size_t i = 0; i < cli->n_verbs; i++)
        if (text_eq(cli->verbs[i]->name, name))
            return cli->verbs[i];
    return NULL;
}

/* "job cancel" and the like: the long form of a short one about jobs. */
static const struct verb *find_short_of_job(const struct cli *cli, const char *noun,
                                            const char *word)
{
    static const char *const shorts[] = { "run",  "submit", "plan", "explain",
                                          "logs", "cancel", "wait" };

    for (size_t i = 0; i < COUNT_OF(shorts) && text_eq(noun, "job"); i++)
        if (text_eq(word, shorts[i]))
            return find_name(cli, word);
    return NULL;
}

const struct verb *cli_find_verb(const struct cli *cli, int argc, const char *const *argv,
                                 int *n_words)
{
    const struct verb *verb = NULL;

    if (argc > 1) {
        CLEANUP(freep) char *both = text_format("%s %s", argv[0], without_alias(argv[1]));

        verb = find_name(cli, both);
        if (!verb)
            verb = find_short_of_job(cli, argv[0], argv[1]);
        *n_words = 2;
    }
    if (!verb && argc > 0) {
        verb = find_name(cli, argv[0]);
        *n_words = 1;
    }
    return verb;
}

bool cli_is_noun(const struct cli *cli, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i < cli->n_verbs; i++)
        if (strncmp(cli->verbs[i]->name, word, n) == 0 && cli->verbs[i]->name[n] == ' ')
            return true;
    return false;
}

/* The words that may stand first, or behind a noun. They are cut in text, which is yours. */
static size_t known_words(const struct cli *cli, const char *noun, char **text, const char **known)
{
    size_t n = 0;

    for (size_t i = 0; i < cli->n_verbs && n < NAMES_MAX; i++) {
        const char *name = cli->verbs[i]->name;
        size_t n_noun = noun ? strlen(noun) : 0;

        if (noun && (strncmp(name, noun, n_noun) != 0 || name[n_noun] != ' '))
            continue;
        text[n] = text_copy(noun ? name + n_noun + 1 : name);
        text[n][strcspn(text[n], " ")] = '\0';
        known[n] = text[n];
        n++;
    }
    return n;
}

int cli_fail_unknown(const struct cli *cli, int argc, const char *const *argv)
{
    bool has_noun = cli_is_noun(cli, argv[0]);
    const char *noun = has_noun ? argv[0] : NULL;
    const char *word = has_noun ? (argc > 1 ? argv[1] : NULL) : argv[0];
    char *text[NAMES_MAX];
    const char *known[NAMES_MAX];
    const char *meant;
    size_t n;

    if (!word) {
        if (!cli->is_json)
            help_print_noun(cli, noun, stderr);
        return cli->is_json ? cli_fail_usage(cli, "%s needs a verb", noun) : EXIT_USAGE;
    }
    n = known_words(cli, noun, text, known);
    meant = nearest(word, known, n);
    if (meant)
        cli_fail_usage(cli, "unknown verb '%s%s%s'; did you mean '%s%s%s'?", noun ? noun : "",
                       noun ? " " : "", word, noun ? noun : "", noun ? " " : "", meant);
    else
        cli_fail_usage(cli, "unknown verb '%s%s%s'", noun ? noun : "", noun ? " " : "", word);
    for (size_t i = 0; i < n; i++)
        free(text[i]);
    return EXIT_USAGE;
}

/* ---- running it ---- */

/* Whether --help or -h stands among a verb's own words. */
static bool asks_help(int argc, const char *const *argv)
{
    for (int i = 0; i < argc && !text_eq(argv[i], "--"); i++)
        if (text_eq(argv[i], "--help") || text_eq(argv[i], "-h"))
            return true;
    return false;
}

static int run_verb(struct cli *cli, int argc, const char *const *argv)
{
    CLEANUP(args_fini) struct args args = { 0 };
    struct err err = { 0 };

    if (asks_help(argc, argv)) {
        help_print_verb(cli->verb, stdout);
        return EXIT_DONE;
    }
    if (args_parse(cli->verb->grammar, argc, argv, &args, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return cli->verb->run(cli, &args);
}

static int run(struct cli *cli, int argc, const char *const *argv)
{
    int n_words = 0;

    if (argc < 2) {
        help_print_all(cli, stderr);
        return EXIT_USAGE;
    }
    if (text_eq(argv[1], "--version")) {
        version_print();
        return EXIT_DONE;
    }
    if (text_eq(argv[1], "--help") || text_eq(argv[1], "-h")) {
        help_print_all(cli, stdout);
        return EXIT_DONE;
    }
    cli->verb = cli_find_verb(cli, argc - 1, argv + 1, &n_words);
    if (cli->verb)
        return run_verb(cli, argc - 1 - n_words, argv + 1 + n_words);
    if (argc > 2 && cli_is_noun(cli, argv[1]) && asks_help(1, argv + 2)) {
        help_print_noun(cli, argv[1], stdout);
        return EXIT_DONE;
    }
    if (argv[1][0] == '-')
        return cli_fail_usage(cli, "flags stand behind the verb: berth VERB %s ...", argv[1]);
    return cli_fail_unknown(cli, argc - 1, argv + 1);
}

int cli_main(const struct verb *const *verbs, size_t n_verbs, const struct cli_programs *programs,
             int argc, const char *const *argv)
{
    struct cli cli = { .verbs = verbs, .n_verbs = n_verbs, .programs = programs };
    int exit_code;

    submit_init();
    cli.is_json = cli_wants_json(argc, argv);
    exit_code = run(&cli, argc, argv);
    submit_forget(&cli);
    client_close(cli.client);
    client_settings_fini(&cli.settings);
    if (fflush(stdout) != 0 && exit_code == EXIT_DONE)
        return cli_fail(&cli, EXIT_FAILED, "writing the answer: %s", strerror(errno));
    return exit_code;
}
