/*
 * Scripts: see script.h.
 *
 * What would be quietly ignored is refused: a #BERTH line behind the first command, a variable
 * in one, Windows line ends.
 */
#include "api/script.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

#define MARK "#BERTH"

static const char *const shells[] = { "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh" };

/* The words of a line, and at which column each begins. */
struct words {
    VEC_OF(char *) texts;
    VEC_OF(int) columns;
};

static void words_fini(struct words *words)
{
    VEC_EACH (text, &words->texts)
        mem_free(*text);
    VEC_FINI(&words->texts);
    VEC_FINI(&words->columns);
}

bool script_is(const char *text, size_t n)
{
    return n >= 2 && text[0] == '#' && text[1] == '!';
}

static int refuse(struct problem *problem, int line, size_t column, const char *text)
{
    size_t i = problem->n_fields;

    problem_add(problem, PROBLEM_INVALID_FIELD, "", "%s", text);
    if (i < PROBLEM_FIELDS_MAX) {
        problem->fields[i].line = line;
        problem->fields[i].column = (int)column;
    }
    return -EINVAL;
}

/* One character within double quotes; NULL and *why if it cannot be. */
static const char *double_quoted(const char *at, struct str *word, const char **why)
{
    if (*at == '$' || *at == '`') {
        *why = "nothing is expanded in #BERTH lines; write \\$ or use single quotes";
        return NULL;
    }
    if (*at == '\\' && at[1] && strchr("$`\"\\", at[1]))
        at++;
    str_add_char(word, *at);
    return at + 1;
}

static const char *quoted(const char *at, struct str *word, const char **why)
{
    char quote = *at++;

    while (at && *at && *at != quote) {
        if (quote == '"')
            at = double_quoted(at, word, why);
        else
            str_add_char(word, *at++);
    }
    if (at && !*at) {
        *why = "a quote is not closed";
        return NULL;
    }
    return at ? at + 1 : NULL;
}

/* One word; returns what is behind it, or NULL and *why. */
static const char *split_word(const char *at, struct str *word, const char **why)
{
    while (at && *at && *at != ' ' && *at != '\t') {
        if (*at == '\'' || *at == '"') {
            at = quoted(at, word, why);
        } else if (*at == '$' || *at == '`') {
            *why = "nothing is expanded in #BERTH lines; use single quotes";
            return NULL;
        } else if (*at == '\\' && !at[1]) {
            *why = "a line cannot be continued; begin another with #BERTH";
            return NULL;
        } else {
            at += *at == '\\';
            str_add_char(word, *at++);
        }
    }
    return at;
}

/* Splits as a shell does: quotes, backslashes, and # for a comment at the start of a word. */
static int split(const char *line, const char *from, struct words *out, const char **why,
                 size_t *column)
{
    const char *at = from;

    for (;;) {
        CLEANUP(str_fini) struct str word = { 0 };
        at += strspn(at, " \t");
        if (!*at || *at == '#')
            return 0;
        *column = (size_t)(at - line) + 1;
        at = split_word(at, &word, why);
        if (!at)
            return -EINVAL;
        VEC_PUSH(&out->columns, (int)*column);
        VEC_PUSH(&out->texts, str_take(&word));
    }
}

/* Behind a word that is no flag: what may be its value, or all behind "--", is no fault of its own. */
static size_t pass_over(const struct words *words, size_t at)
{
    bool is_command = strcmp(words->texts.at[at], "--") == 0;

    for (at++; at < words->texts.n && (is_command || words->texts.at[at][0] != '-');)
        at++;
    return at;
}

static int refuse_word(struct problem *problem, int line, int column, const char *word)
{
    CLEANUP(freep) char *text = NULL;
    const struct flag *near = word[0] == '-' ? flags_nearest(word) : NULL;

    if (strcmp(word, "--") == 0)
        text = text_copy("no command may stand here: the script is the command");
    else if (near)
        text = text_format("unknown flag %.40s; did you mean --%s?", word, near->name);
    else
        text = text_format("\"%.40s\" is not a flag", word);
    return refuse(problem, line, (size_t)column, text);
}

static int read_flags(const char *line, int number, struct flags *flags, struct problem *problem)
{
    CLEANUP(words_fini) struct words words = { 0 };
    const char *why = NULL;
    size_t column = 0;
    int r = 0;

    if (split(line, line + strlen(MARK), &words, &why, &column) < 0)
        return refuse(problem, number, column, why);
    for (size_t at = 0; at < words.texts.n;) {
        int took;
        flags->line = number;
        flags->columns = words.columns.at;
        took = flags_take(flags, words.texts.at, words.texts.n, &at, problem);
        if (took == 0) {
            took = refuse_word(problem, number, words.columns.at[at], words.texts.at[at]);
            at = pass_over(&words, at);
        }
        if (took < 0)
            r = took;
    }
    flags->line = 0;
    flags->columns = NULL;
    return r;
}

static bool is_mark(const char *line)
{
    char behind = text_begins(line, MARK) ? line[strlen(MARK)] : 'x';

    return behind == ' ' || behind == '\t' || behind == '\0';
}

/* Whether a line is blank or a comment, so that #BERTH lines may follow it. */
static bool is_before_commands(const char *line)
{
    line += strspn(line, " \t");
    return !*line || *line == '#';
}

static int read_lines(const char *text, struct flags *flags, struct problem *problem)
{
    bool in_head = true;
    int number = 1, r = 0;

    for (const char *at = text; *at; number++) {
        size_t n = strcspn(at, "\n");
        CLEANUP(freep) char *line = mem_copy(at, n);
        if (number > 1 && is_mark(line) && in_head)
            r = read_flags(line, number, flags, problem) < 0 ? -EINVAL : r;
        else if (number > 1 && is_mark(line))
            r = refuse(problem, number, 1,
                       "a #BERTH line behind the first command is not read; move it up");
        else if (!is_before_commands(line))
            in_head = false;
        at += n + (at[n] == '\n');
    }
    return r;
}

static bool is_shell(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *base = slash ? slash + 1 : program;

    for (size_t i = 0; i < COUNT_OF(shells); i++)
        if (strcmp(base, shells[i]) == 0)
            return true;
    return false;
}

/* The words of the first line behind "#!": a kernel takes all behind the program as one
 * argument, which for a shell's options and for env's program is the same thing. */
static int read_shell(const char *text, struct words *out, struct problem *problem)
{
    size_t n = strcspn(text, "\n");
    CLEANUP(freep) char *line = mem_copy(text, n);
    const char *program, *base;
    char *rest = NULL;

    for (char *word = strtok_r(line + 2, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        VEC_PUSH(&out->texts, text_copy(word));
    if (!out->texts.n || out->texts.at[0][0] != '/')
        return refuse(problem, 1, 1, "the first line names no shell, such as #!/bin/sh");
    program = out->texts.at[0];
    base = strrchr(program, '/') + 1;
    if (strcmp(base, "env") == 0) {
        size_t i = 1;
        if (i < out->texts.n && strcmp(out->texts.at[i], "-S") == 0)
            i++;
        program = i < out->texts.n ? out->texts.at[i] : "";
    }
    if (!is_shell(program))
        return refuse(problem, 1, 1,
                      "only scripts for a shell can be submitted as text; let a shell script "
                      "start the program");
    return 0;
}

static void set_command(const char *name, const char *text, const struct words *shell,
                        struct flags *flags)
{
    json_t *command = json_array();

    for (size_t i = 0; i < shell->texts.n; i++)
        if (strcmp(shell->texts.at[i], "-S") != 0)
            json_array_append_new(command, json_string(shell->texts.at[i]));
    json_array_append_new(command, json_string("-c"));
    json_array_append_new(command, json_string(text));
    json_array_append_new(command, json_string(name));
    json_object_set_new(flags->job, "command", command);
}

int script_read(const char *name, const char *text, size_t n, struct flags *flags,
                struct problem *problem)
{
    CLEANUP(words_fini) struct words shell = { 0 };
    CLEANUP(freep) char *copy = NULL;
    json_t *whole = json_stringn(text, n);
    bool is_text = whole && !memchr(text, '\0', n);
    int r;

    json_decref(whole);
    if (!script_is(text, n))
        return refuse(problem, 1, 1, "a script begins with #! and the shell that runs it");
    if (!is_text)
        return refuse(problem, 1, 1, "the script is not UTF-8 text");
    if (memchr(text, '\r', n))
        return refuse(problem, 1, 1, "the script has Windows line ends (CR LF); convert it");
    copy = mem_copy(text, n);
    r = read_shell(copy, &shell, problem);
    if (read_lines(copy, flags, problem) < 0)
        r = -EINVAL;
    if (r == 0)
        set_command(name, copy, &shell, flags);
    return r;
}
