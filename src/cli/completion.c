/*
 * berth completion: a script for the shell, made from the tables of verbs and flags. Names of
 * jobs, nodes and queues are asked for when the key is pressed.
 */
#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

/* What a kind of thing ("@job") is asked with. */
static const struct {
    const char *kind, *command;
} kinds[] = {
    { "job", "job list -o id" },       { "node", "node list -o name" },
    { "queue", "queue list -o name" }, { "token", "token list -o name" },
    { "code", "explain code -o id" },  { "order", "order list -o name" },
};

/* What lists are sorted by: the fields of docs/api.md, of those with a key the usual ones. */
static const struct {
    const char *noun, *fields;
} sorts[] = {
    { "job", "id name namespace user queue priority state tasks waiting running age submittedAt "
             "startedAt endedAt code" },
    { "node", "name state attempts generation firstRegisteredAt registeredAt heardAt free.cpu "
              "free.memory used.cpu used.memory offers.cpu offers.memory" },
    { "queue", "name state weight priority parent usage.pending usage.running usage.allocated.cpu "
               "usage.allocated.memory deserved.cpu deserved.memory guarantee.cpu guarantee.memory "
               "cap.cpu cap.memory" },
    { "token", "id name user namespace rights until" },
    { "order", "key pool state madeAt endedAt" },
};

static void print_first_words(const struct cli *cli);

static void print_live(const struct cli *cli)
{
    printf("_berth_live()\n{\n    local word\n    case $1 in\n");
    for (size_t i = 0; i < COUNT_OF(sorts); i++)
        printf("    sort-%s) for word in %s; do echo \"$word\" \"-$word\"; done ;;\n",
               sorts[i].noun, sorts[i].fields);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        printf("    %s) berth %s ;;\n", kinds[i].kind, kinds[i].command);
    printf("    verb) echo '");
    print_first_words(cli);
    printf("' ;;\n    esac 2>/dev/null\n}\n\n");
}

/* Bash for the words of a flag or of the words behind a verb; nothing for any text: then files. */
static void print_words(const char *words)
{
    if (!words) {
        printf("_berth_files");
    } else if (words[0] == '@' && words[1] != '=') {
        printf("_berth_words \"$(_berth_live %s)\"", words + 1);
    } else {
        printf("_berth_words '");
        for (const char *at = words + (words[0] == '@' ? 2 : 0); *at; at++)
            putchar(*at == '|' ? ' ' : *at);
        printf("'");
    }
}

/* What a list of this verb is sorted by: "node list" lists nodes, and ps jobs. */
static void print_sorts(const struct verb *verb)
{
    const char *noun = text_eq(verb->name, "ps") ? "job" : verb->name;

    printf("_berth_words \"$(_berth_live sort-%.*s)\"", (int)strcspn(noun, " "), noun);
}

static void print_values(const struct verb *verb)
{
    const struct cli_flag *flag;

    printf("        case $prev in\n");
    for (size_t i = 0; (flag = grammar_flag(verb->grammar, i)); i++) {
        if (!flag->value)
            continue;
        printf("        --%s", flag->name);
        if (flag->letter)
            printf(" | -%c", flag->letter);
        printf(") ");
        if (text_eq(flag->words, "@sort"))
            print_sorts(verb);
        else
            print_words(flag->words);
        printf("; return ;;\n");
    }
    printf("        esac\n");
}

static void print_verb(const struct verb *verb)
{
    const struct cli_flag *flag;

    printf("    '%s')\n", verb->name);
    print_values(verb);
    printf("        if [[ $cur == -* ]]; then\n            _berth_words '");
    for (size_t i = 0; (flag = grammar_flag(verb->grammar, i)); i++)
        printf("--%s ", flag->name);
    printf("--help'\n        else\n            ");
    if (verb->grammar->n_rest_max > 0)
        print_words(verb->grammar->rest_words);
    else
        printf(":");
    printf("\n        fi\n        ;;\n");
}

/* Whether no verb before the i-th begins with the same word. */
static bool is_first_of_word(const struct cli *cli, size_t i)
{
    const char *name = cli->verbs[i]->name;
    size_t n = strcspn(name, " ");

    for (size_t j = 0; j < i; j++)
        if (strcspn(cli->verbs[j]->name, " ") == n && memcmp(cli->verbs[j]->name, name, n) == 0)
            return false;
    return true;
}

static void print_first_words(const struct cli *cli)
{
    for (size_t i = 0; i < cli->n_verbs; i++)
        if (is_first_of_word(cli, i))
            printf("%.*s ", (int)strcspn(cli->verbs[i]->name, " "), cli->verbs[i]->name);
}

static void print_noun(const struct cli *cli, const char *noun)
{
    size_t n = strlen(noun);

    printf("    '%s') _berth_words '", noun);
    for (size_t i = 0; i < cli->n_verbs; i++)
        if (text_begins(cli->verbs[i]->name, noun) && cli->verbs[i]->name[n] == ' ')
            printf("%s ", cli->verbs[i]->name + n + 1);
    printf("' ;;\n");
}

static void print_nouns(const struct cli *cli)
{
    for (size_t i = 0; i < cli->n_verbs; i++) {
        CLEANUP(freep) char *noun = text_copy(cli->verbs[i]->name);

        noun[strcspn(noun, " ")] = '\0';
        if (is_first_of_word(cli, i) && cli_is_noun(cli, noun))
            print_noun(cli, noun);
    }
}

static int run_completion(struct cli *cli, const struct args *args)
{
    if (!text_eq(args->rest.at[0], "bash"))
        return cli_fail_usage(cli, "completion for '%s' is not there; only for bash",
                              args->rest.at[0]);
    printf("# Completion of berth for bash; made by `berth completion bash`.\n"
           "# shellcheck shell=bash disable=SC2207,SC2016\n\n");
    print_live(cli);
    printf("_berth_words()\n{\n    COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\"))\n}\n\n"
           "_berth_files()\n{\n    COMPREPLY+=($(compgen -f -- \"$cur\"))\n}\n\n"
           "_berth_verb()\n{\n    case $1 in\n");
    for (size_t i = 0; i < cli->n_verbs; i++)
        print_verb(cli->verbs[i]);
    printf("    *) return 1 ;;\n    esac\n}\n\n_berth_noun()\n{\n    case $1 in\n");
    print_nouns(cli);
    printf("    esac\n}\n\n_berth()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n\n"
           "    COMPREPLY=()\n"
           "    if [[ $cur == = ]]; then # --flag=, of which bash makes words of their own\n"
           "        cur=''\n"
           "    elif [[ $prev == = ]]; then\n"
           "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    fi\n"
           "    if ((COMP_CWORD == 1)); then\n        _berth_words '");
    print_first_words(cli);
    printf("'\n        return\n    fi\n"
           "    if ((COMP_CWORD == 3)) && [[ ${COMP_WORDS[1]} == help ]]; then\n"
           "        _berth_noun \"${COMP_WORDS[2]}\"\n        return\n    fi\n"
           "    if ((COMP_CWORD == 2)); then\n        _berth_noun \"${COMP_WORDS[1]}\"\n    fi\n"
           "    if ((COMP_CWORD > 2)) && _berth_verb \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\"; then\n"
           "        return\n    fi\n"
           "    _berth_verb \"${COMP_WORDS[1]}\" || true\n}\n\n"
           "complete -F _berth berth\n");
    return EXIT_DONE;
}

static const struct grammar grammar = {
    .rest = "SHELL", .rest_words = "bash", .n_rest_min = 1, .n_rest_max = 1
};
const struct verb verb_completion = {
    .name = "completion",
    .run = run_completion,
    .help = "Print a completion script for a shell",
    .usage = "bash",
    .more =
        "Completes verbs, flags and their words, what lists are sorted by, and asks the server\n"
        "for the names of jobs, nodes and queues.",
    .examples = { "completion bash > /etc/bash_completion.d/berth",
                  "completion bash | tee ~/.local/share/bash-completion/completions/berth" },
    .grammar = &grammar,
};
