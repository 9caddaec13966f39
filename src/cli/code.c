/*
 * berth explain code: the sentence and next step of a code. Needs no server.
 */
#include <ctype.h>
#include <string.h>

#include "base/code.h"
#include "base/nearest.h"
#include "cli/verb.h"

enum { CODES_MAX = 256 };

static const struct column columns[] = {
    { "CODE", "code", NULL, 0 },
    { "STATUS", "status", NULL, COLUMN_RIGHT | COLUMN_WIDE },
    { "MEANS", "sentence", NULL, 0 },
    { "NEXT", "next", NULL, COLUMN_WIDE },
};
static const struct listing listing = { columns, COUNT_OF(columns), "code", "code" };

static json_t *to_json(const struct code_text *code)
{
    json_t *item = json_pack("{s:s,s:s,s:s}", "code", code->word, "sentence", code->sentence,
                             "next", code->next);

    if (code->status)
        json_object_set_new(item, "status", json_integer(code->status));
    return item;
}

/* The first code that a word is a part of: GANG_INCOMPLETE for INCOMPLETE; NULL: none. */
static const char *code_with(const char *word, const char *const *known, size_t n)
{
    for (size_t i = 0; i < n && word[0]; i++)
        if (strstr(known[i], word))
            return known[i];
    return NULL;
}

/* @said  as it was typed */
static int unknown_code(const struct cli *cli, const char *said, const char *word)
{
    const char *known[CODES_MAX];
    const struct code_text *code;
    const char *meant;
    size_t n = 0;

    for (size_t i = 0; (code = code_at(i)) && n < CODES_MAX; i++)
        known[n++] = code->word;
    meant = code_with(word, known, n);
    if (!meant)
        meant = nearest(word, known, n);
    if (meant)
        return cli_fail(cli, EXIT_NOT_FOUND, "unknown code %s; did you mean %s?", said, meant);
    return cli_fail(cli, EXIT_NOT_FOUND, "unknown code %s; `berth explain code` lists all", said);
}

static int list_codes(const struct cli *cli, const struct output *output)
{
    CLEANUP(json_decrefp) json_t *items = json_array();
    const struct code_text *code;
    struct err err = { 0 };

    for (size_t i = 0; (code = code_at(i)); i++)
        if (code->word[0])
            json_array_append_new(items, to_json(code));
    if (output_list(output, &listing, items, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

/* Codes are upper case, and may be typed as one likes. */
static char *upper(const char *word)
{
    char *text = text_copy(word);

    for (char *at = text; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return text;
}

static int run_code(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *item = NULL;
    CLEANUP(freep) char *word = upper(args->rest.n ? args->rest.at[0] : "");
    const struct code_text *code;
    struct output output;
    struct err err = { 0 };

    if (output_from_args(args, NULL, &output, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (args->rest.n == 0)
        return list_codes(cli, &output);
    code = code_find(word);
    if (!code)
        return unknown_code(cli, args->rest.at[0], word);
    if (output.format == OUTPUT_TABLE) {
        printf("%s\n%s\n", code->sentence, code->next);
        return EXIT_DONE;
    }
    item = to_json(code);
    if (output_item(&output, &listing, item, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

static const struct grammar grammar = {
    .sets = { &output_flags }, .rest = "CODE", .rest_words = "@code", .n_rest_max = 1
};
const struct verb verb_explain_code = {
    .name = "explain code",
    .run = run_code,
    .help = "Say what a code means and what to do about it",
    .usage = "[FLAG...] [CODE]",
    .more = "Without a code, all of them are listed. No server is asked.",
    .examples = { "explain code GANG_INCOMPLETE", "explain code -o wide" },
    .grammar = &grammar,
};
