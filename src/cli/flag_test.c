#include "cli/flag.h"

#include <errno.h>

#include "base/str.h"
#include "base/test.h"

static const struct cli_flag own[] = {
    { "queue", 'q', "NAME", "", NULL, false },
    { "label", 'l', "K=V", "", NULL, true },
    { "detach", 'd', NULL, "", NULL, false },
    { "watch", 'w', NULL, "", NULL, false },
};
static const struct cli_flag others[] = {
    { "output", 'o', "FORMAT", "", "table|json|cols=", false },
    { "limit", 0, "N", "", NULL, false },
    { "timeout", 0, "TIME", "", NULL, false },
    { "state", 0, "STATE", "", "@state", false },
};
static const struct flag_set own_set = { "Own", own, COUNT_OF(own) };
static const struct flag_set other_set = { "Others", others, COUNT_OF(others) };
static const struct grammar plain = {
    .sets = { &own_set, &other_set }, .rest = "JOB", .n_rest_min = 1, .n_rest_max = 2
};
static const struct grammar commanding = {
    .sets = { &own_set, &other_set }, .rest = "FILE", .n_rest_max = 1, .takes_command = true
};

enum { WORDS = 7 };

static const struct {
    const char *name;
    const struct grammar *grammar;
    const char *words[WORDS];
    const char *flags; /* "name=value " each, in order */
    const char *rest;  /* "word " each; then "-- word " of the command */
    const char *error; /* NULL: none */
} rows[] = {
    { "words alone", &plain, { "j-1", "j-2" }, "", "j-1 j-2 ", NULL },
    { "a value behind a blank", &plain, { "--queue", "a", "j-1" }, "queue=a ", "j-1 ", NULL },
    { "a value behind an equals sign", &plain, { "j-1", "--queue=a" }, "queue=a ", "j-1 ", NULL },
    { "an empty value", &plain, { "j-1", "--queue=" }, "queue= ", "j-1 ", NULL },
    { "a letter", &plain, { "-q", "a", "j-1" }, "queue=a ", "j-1 ", NULL },
    { "a letter with its value", &plain, { "-qa", "j-1" }, "queue=a ", "j-1 ", NULL },
    { "letters together", &plain, { "-dwq", "a", "j-1" }, "detach= watch= queue=a ", "j-1 ", NULL },
    { "a value that looks like a flag", &plain, { "j-1", "-q", "-x" }, "queue=-x ", "j-1 ", NULL },
    { "several times", &plain, { "-lx=1", "-l", "y=2", "j" }, "label=x=1 label=y=2 ", "j ", NULL },
    { "stdin", &plain, { "-" }, "", "- ", NULL },
    { "behind the dashes nothing is a flag", &plain, { "--", "-q" }, "", "-q ", NULL },
    { "one of its words", &plain, { "j", "-o", "json" }, "output=json ", "j ", NULL },
    { "a word that goes on", &plain, { "j", "-o", "cols=A,B" }, "output=cols=A,B ", "j ", NULL },
    { "a kind of thing is any text", &plain, { "j", "--state", "x" }, "state=x ", "j ", NULL },
    { "a command",
      &commanding,
      { "-d", "--", "sh", "-c", "x" },
      "detach= ",
      "-- sh -- -c -- x ",
      NULL },
    { "dashes of the command",
      &commanding,
      { "--", "a", "--", "b" },
      "",
      "-- a -- -- -- b ",
      NULL },
    { "a file and a command", &commanding, { "f", "--", "a" }, "", "f -- a ", NULL },

    { "an unknown flag", &plain, { "--frobnicate", "j" }, "", "", "unknown flag --frobnicate" },
    { "a flag nearly known",
      &plain,
      { "--queu=a", "j" },
      "",
      "",
      "unknown flag --queu; did you mean --queue?" },
    { "an unknown letter", &plain, { "-x", "j" }, "", "", "unknown flag -x" },
    { "an unknown letter among known ones",
      &plain,
      { "-dx", "j" },
      "detach= ",
      "",
      "unknown flag -x" },
    { "no value", &plain, { "j", "--queue" }, "", "j ", "--queue needs a value (NAME)" },
    { "no value of a letter", &plain, { "j", "-q" }, "", "j ", "-q needs a value (NAME)" },
    { "a switch with a value", &plain, { "--detach=yes" }, "", "", "--detach takes no value" },
    { "a word nearly known",
      &plain,
      { "j", "-o", "jsn" },
      "",
      "j ",
      "--output: unknown word 'jsn'; did you mean 'json'?" },
    { "an unknown word",
      &plain,
      { "j", "-o", "frobnicate" },
      "",
      "j ",
      "--output: unknown word 'frobnicate', not one of table|json|cols=" },
    { "too many", &plain, { "a", "b", "c" }, "", "a b c ", "unexpected 'c'" },
    { "too few", &plain, { "-d" }, "detach= ", "", "JOB is missing" },
    { "a command without dashes",
      &commanding,
      { "f", "sh" },
      "",
      "f sh ",
      "unexpected 'sh'; a command stands behind --" },
};

TEST(args_parse_takes_a_command_line_apart)
{
    ROW_EACH (c, rows) {
        CLEANUP(args_fini) struct args args = { 0 };
        CLEANUP(str_fini) struct str flags = { 0 }, rest = { 0 };
        struct err err = { 0 };
        int argc = 0, r;

        while (argc < WORDS && c->words[argc])
            argc++;
        r = args_parse(c->grammar, argc, c->words, &args, &err);
        VEC_EACH (flag, &args.flags)
            str_addf(&flags, "%s=%s ", flag->flag->name, flag->value);
        VEC_EACH (word, &args.rest)
            str_addf(&rest, "%s ", *word);
        VEC_EACH (word, &args.command)
            str_addf(&rest, "-- %s ", *word);
        CHECK_EQ(r, c->error ? -EINVAL : 0);
        CHECK_TEXT(err.text, c->error ? c->error : "");
        CHECK_TEXT(str_text(&flags), c->flags);
        CHECK_TEXT(str_text(&rest), c->rest);
    }
}

TEST(args_parse_says_how_many_at_most)
{
    static const struct grammar many = { .rest = "FILE", .n_rest_min = 1, .n_rest_max = REST_MANY };
    const char *words[REST_MANY + 2];
    CLEANUP(args_fini) struct args fine = { 0 }, args = { 0 };
    struct err err = { 0 };

    for (int i = 0; i < REST_MANY + 2; i++)
        words[i] = i < REST_MANY ? "f" : i == REST_MANY ? "one-more" : "and-one";
    CHECK_OK(args_parse(&many, REST_MANY, words, &fine, &err), &err);
    CHECK_EQ(args_parse(&many, REST_MANY + 2, words, &args, &err), -EINVAL);
    CHECK_TEXT(err.text,
               "FILE: 1002 are named, at most 1000 may be; leave 'one-more' and what follows to "
               "another call");
}

TEST(args_get_gives_the_last_value)
{
    CLEANUP(args_fini) struct args args = { 0 };
    const char *words[] = { "-qa", "--queue=b", "j" };
    struct err err = { 0 };

    CHECK_OK(args_parse(&plain, 3, words, &args, &err), &err);
    CHECK_TEXT(args_get(&args, "queue"), "b");
    CHECK_TEXT(args_get(&args, "label"), NULL);
    CHECK(!args_has(&args, "detach"));
}

static const struct {
    const char *name, *flag, *text;
    int r;
    int64_t value;
    const char *error;
} numbers[] = {
    { "a number", "limit", "20", 0, 20, "" },
    { "the least", "limit", "1", 0, 1, "" },
    { "too small", "limit", "0", -ERANGE, 7, "--limit: 0 is outside of 1 to 100" },
    { "too large", "limit", "101", -ERANGE, 7, "--limit: 101 is outside of 1 to 100" },
    { "no number", "limit", "1x", -EINVAL, 7, "--limit: '1x' is not a whole number" },
    { "a time", "timeout", "1m30s", 0, 90000, "" },
};

TEST(args_numbers_are_checked)
{
    ROW_EACH (c, numbers) {
        CLEANUP(args_fini) struct args args = { 0 };
        CLEANUP(freep) char *word = text_format("--%s=%s", c->flag, c->text);
        const char *words[] = { word, "j" };
        struct err err = { 0 };
        int64_t value = 7;
        int r;

        CHECK_OK(args_parse(&plain, 2, words, &args, &err), &err);
        if (text_eq(c->flag, "limit"))
            r = args_int(&args, "limit", 1, 100, &value, &err);
        else
            r = args_duration(&args, "timeout", &value, &err);
        CHECK_EQ(r, c->r);
        CHECK_EQ(value, c->value);
        CHECK_TEXT(err.text, c->error);
    }
}

TEST(args_that_were_not_given_change_nothing)
{
    CLEANUP(args_fini) struct args args = { 0 };
    const char *words[] = { "j" };
    struct err err = { 0 };
    int64_t limit = 7, timeout = 8;

    CHECK_OK(args_parse(&plain, 1, words, &args, &err), &err);
    CHECK_OK(args_int(&args, "limit", 1, 100, &limit, &err), &err);
    CHECK_OK(args_duration(&args, "timeout", &timeout, &err), &err);
    CHECK_EQ(limit, 7);
    CHECK_EQ(timeout, 8);
}
