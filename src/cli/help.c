/*
 * Help: made from the tables of verbs and flags, for --help, `berth help` and docs/cli.md.
 */
#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

/* The first column of a flag: "-q, --queue NAME". */
static void flag_head(const struct cli_flag *flag, struct str *out)
{
    if (flag->letter)
        str_addf(out, "-%c, ", flag->letter);
    else
        str_add(out, "    ");
    str_addf(out, "--%s", flag->name);
    if (flag->value)
        str_addf(out, " %s", flag->value);
}

static void print_flag(const struct cli_flag *flag, FILE *to)
{
    CLEANUP(str_fini) struct str head = { 0 };

    flag_head(flag, &head);
    fprintf(to, "  %-28s %s%s\n", head.data, flag->help, flag->is_many ? " (may be repeated)" : "");
}

static void print_flags(const struct grammar *grammar, FILE *to)
{
    for (size_t s = 0; s < FLAG_SETS_MAX && grammar->sets[s]; s++) {
        const struct flag_set *set = grammar->sets[s];

        if (set->title || s == 0) /* a set without title goes on with the one before */
            fprintf(to, "\n%s:\n", set->title ? set->title : "Flags");
        for (size_t i = 0; i < set->n; i++)
            print_flag(&set->at[i], to);
    }
}

void help_print_verb(const struct verb *verb, FILE *to)
{
    fprintf(to, "Usage: berth %s%s%s\n\n%s.\n", verb->name, verb->usage[0] ? " " : "", verb->usage,
            verb->help);
    if (verb->more)
        fprintf(to, "\n%s\n", verb->more);
    fprintf(to, "\nExamples:\n  berth %s\n  berth %s\n", verb->examples[0], verb->examples[1]);
    print_flags(verb->grammar, to);
}

static void print_line(const struct verb *verb, FILE *to)
{
    fprintf(to, "  %-16s %s\n", verb->name, verb->help);
}

void help_print_noun(const struct cli *cli, const char *noun, FILE *to)
{
    size_t n = strlen(noun), n_examples = 0;

    fprintf(to, "Usage: berth %s VERB [FLAG...]\n\nVerbs:\n", noun);
    for (size_t i = 0; i < cli->n_verbs; i++)
        if (strncmp(cli->verbs[i]->name, noun, n) == 0 && cli->verbs[i]->name[n] == ' ')
            print_line(cli->verbs[i], to);
    fprintf(to, "\nExamples:\n");
    for (size_t i = 0; i < cli->n_verbs; i++)
        if (strncmp(cli->verbs[i]->name, noun, n) == 0 && cli->verbs[i]->name[n] == ' ')
            for (size_t e = 0; e < 2 && n_examples < 2; e++, n_examples++)
                fprintf(to, "  berth %s\n", cli->verbs[i]->examples[e]);
}

void help_print_all(const struct cli *cli, FILE *to)
{
    fprintf(to, "Usage: berth VERB [FLAG...]\n\n"
                "Schedules and runs containers across machines.\n\nVerbs:\n");
    for (size_t i = 0; i < cli->n_verbs; i++)
        print_line(cli->verbs[i], to);
    fprintf(to, "\nExamples:\n"
                "  berth run --image dir:/srv/images/alpine -- echo hello\n"
                "  berth explain j-12\n"
                "\nberth VERB --help says more. The server is found by --addr, BERTH_ADDR or a\n"
                "configuration file.\n");
}

/* ---- berth help ---- */

static void print_markdown(const struct cli *cli)
{
    for (size_t i = 0; i < cli->n_verbs; i++) {
        printf("%s## berth %s\n\n```text\n", i ? "\n" : "", cli->verbs[i]->name);
        help_print_verb(cli->verbs[i], stdout);
        printf("```\n");
    }
}

static int run_help(struct cli *cli, const struct args *args)
{
    const struct verb *verb;
    int n_words = 0, n = (int)args->rest.n;
    const char *const *words = args->rest.at;

    if (args_has(args, "markdown")) {
        print_markdown(cli);
        return EXIT_DONE;
    }
    if (n == 0) {
        help_print_all(cli, stdout);
        return EXIT_DONE;
    }
    verb = cli_find_verb(cli, n, words, &n_words);
    if (verb && n_words == n)
        help_print_verb(verb, stdout);
    else if (n == 1 && cli_is_noun(cli, words[0]))
        help_print_noun(cli, words[0], stdout);
    else
        return cli_fail_unknown(cli, n, words);
    return EXIT_DONE;
}

static const struct cli_flag flags[] = {
    { "markdown", 0, NULL, "the help of all verbs, as docs/cli.md has it", NULL, false },
};
static const struct flag_set own_flags = { NULL, flags, COUNT_OF(flags) };
static const struct grammar grammar = {
    .sets = { &own_flags }, .rest = "VERB", .rest_words = "@verb", .n_rest_max = 2
};
const struct verb verb_help = {
    .name = "help",
    .run = run_help,
    .help = "Print the help of a verb",
    .usage = "[VERB]",
    .examples = { "help run", "help queue set" },
    .grammar = &grammar,
};
