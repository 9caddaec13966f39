/*
 * Flags: see flag.h. Never knows a verb; a name that no table has is our own mistake and ends the
 * process.
 */
#include "cli/flag.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/quantity.h"
#include "base/str.h"

enum { FLAGS_MAX = 96, WORDS_MAX = 32 };

void args_fini(struct args *args)
{
    VEC_FINI(&args->flags);
    VEC_FINI(&args->rest);
    VEC_FINI(&args->command);
}

const struct cli_flag *grammar_flag(const struct grammar *grammar, size_t i)
{
    for (size_t s = 0; s < FLAG_SETS_MAX && grammar->sets[s]; s++) {
        if (i < grammar->sets[s]->n)
            return &grammar->sets[s]->at[i];
        i -= grammar->sets[s]->n;
    }
    return NULL;
}

static const struct cli_flag *find_name(const struct grammar *grammar, const char *name, size_t n)
{
    const struct cli_flag *flag;

    for (size_t i = 0; (flag = grammar_flag(grammar, i)); i++)
        if (strlen(flag->name) == n && memcmp(flag->name, name, n) == 0)
            return flag;
    return NULL;
}

static const struct cli_flag *find_letter(const struct grammar *grammar, char letter)
{
    const struct cli_flag *flag;

    for (size_t i = 0; (flag = grammar_flag(grammar, i)); i++)
        if (flag->letter == letter)
            return flag;
    return NULL;
}

static int unknown_flag(const struct grammar *grammar, const char *name, size_t n, struct err *err)
{
    CLEANUP(freep) char *word = mem_copy(name, n);
    const char *known[FLAGS_MAX];
    const struct cli_flag *flag;
    const char *meant;
    size_t n_known = 0;

    for (size_t i = 0; grammar->refused && i < grammar->refused->n; i++) {
        flag = &grammar->refused->at[i];
        if (!text_eq(flag->name, word))
            continue;
        if (flag->value)
            return err_set(err, -EINVAL, "unknown flag --%s; did you mean --%s?", word,
                           flag->value);
        return err_set(err, -EINVAL, "--%s: %s", word, flag->help);
    }
    for (size_t i = 0; (flag = grammar_flag(grammar, i)) && n_known < FLAGS_MAX; i++)
        known[n_known++] = flag->name;
    meant = nearest(word, known, n_known);
    if (meant)
        return err_set(err, -EINVAL, "unknown flag --%s; did you mean --%s?", word, meant);
    return err_set(err, -EINVAL, "unknown flag --%s", word);
}

/* Whether a value is one of the flag's words. Puts the words into words[WORDS_MAX], cut in text. */
static bool is_word(const struct cli_flag *flag, const char *value, char *text, const char **words,
                    size_t *n)
{
    char *rest = NULL;

    *n = 0;
    for (char *word = strtok_r(text, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
        size_t length = strlen(word);

        assert(*n < WORDS_MAX && flag->value);
        words[(*n)++] = word;
        if (word[length - 1] == '=' ? text_begins(value, word) : text_eq(value, word))
            return true;
    }
    return false;
}

static int check_words(const struct cli_flag *flag, const char *value, struct err *err)
{
    CLEANUP(freep) char *text = text_copy(flag->words);
    const char *words[WORDS_MAX];
    const char *meant;
    size_t n;

    if (!text || text[0] == '@' || is_word(flag, value, text, words, &n))
        return 0;
    meant = nearest(value, words, n);
    if (meant)
        return err_set(err, -EINVAL, "--%s: unknown word '%s'; did you mean '%s'?", flag->name,
                       value, meant);
    return err_set(err, -EINVAL, "--%s: unknown word '%s', not one of %s", flag->name, value,
                   flag->words);
}

static int add_flag(struct args *args, const struct cli_flag *flag, const char *value,
                    struct err *err)
{
    int r = check_words(flag, value, err);

    if (r < 0)
        return r;
    VEC_PUSH(&args->flags, ((struct args_flag){ flag, value }));
    return 0;
}

/* "--name", "--name=value" or "--name" "value". *i moves on over a value of its own. */
static int parse_long(struct args *args, int argc, const char *const *argv, int *i, struct err *err)
{
    const char *name = argv[*i] + 2;
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct cli_flag *flag = find_name(args->grammar, name, n);

    if (!flag)
        return unknown_flag(args->grammar, name, n, err);
    if (!flag->value && equals)
        return err_set(err, -EINVAL, "--%s takes no value", flag->name);
    if (!flag->value)
        return add_flag(args, flag, "", err);
    if (equals)
        return add_flag(args, flag, equals + 1, err);
    if (*i + 1 >= argc)
        return err_set(err, -EINVAL, "--%s needs a value (%s)", flag->name, flag->value);
    return add_flag(args, flag, argv[++*i], err);
}

/* "-d", "-dw", "-qNAME" or "-q" "NAME". */
static int parse_short(struct args *args, int argc, const char *const *argv, int *i,
                       struct err *err)
{
    for (const char *at = argv[*i] + 1; *at; at++) {
        const struct cli_flag *flag = find_letter(args->grammar, *at);
        int r;

        if (!flag)
            return err_set(err, -EINVAL, "unknown flag -%c", *at);
        if (!flag->value) {
            r = add_flag(args, flag, "", err);
            if (r < 0)
                return r;
            continue;
        }
        if (at[1])
            return add_flag(args, flag, at + 1, err);
        if (*i + 1 >= argc)
            return err_set(err, -EINVAL, "-%c needs a value (%s)", *at, flag->value);
        return add_flag(args, flag, argv[++*i], err);
    }
    return 0;
}

static int check_counts(const struct args *args, struct err *err)
{
    const struct grammar *grammar = args->grammar;

    if (args->rest.n < grammar->n_rest_min)
        return err_set(err, -EINVAL, "%s is missing", grammar->rest);
    if (args->rest.n <= grammar->n_rest_max)
        return 0;
    if (grammar->n_rest_max == REST_MANY)
        return err_set(err, -EINVAL,
                       "%s: %zu are named, at most %d may be; leave '%s' and what follows to "
                       "another call",
                       grammar->rest, args->rest.n, REST_MANY, args->rest.at[REST_MANY]);
    return err_set(err, -EINVAL, "unexpected '%s'%s", args->rest.at[grammar->n_rest_max],
                   grammar->takes_command ? "; a command stands behind --" : "");
}

int args_parse(const struct grammar *grammar, int argc, const char *const *argv, struct args *out,
               struct err *err)
{
    bool is_behind = false;
    int r = 0;

    out->grammar = grammar;
    for (int i = 0; i < argc && r == 0; i++) {
        if (is_behind && grammar->takes_command)
            VEC_PUSH(&out->command, argv[i]);
        else if (is_behind || argv[i][0] != '-' || !argv[i][1])
            VEC_PUSH(&out->rest, argv[i]);
        else if (text_eq(argv[i], "--"))
            is_behind = true;
        else if (argv[i][1] == '-')
            r = parse_long(out, argc, argv, &i, err);
        else
            r = parse_short(out, argc, argv, &i, err);
    }
    return r < 0 ? r : check_counts(out, err);
}

const char *args_maybe(const struct args *args, const char *name)
{
    for (size_t i = args->flags.n; i-- > 0;)
        if (text_eq(args->flags.at[i].flag->name, name))
            return args->flags.at[i].value;
    return NULL;
}

const char *args_get(const struct args *args, const char *name)
{
    assert(find_name(args->grammar, name, strlen(name)));
    return args_maybe(args, name);
}

bool args_has(const struct args *args, const char *name)
{
    return args_get(args, name) != NULL;
}

int args_int(const struct args *args, const char *name, int64_t min, int64_t max, int64_t *out,
             struct err *err)
{
    const char *text = args_get(args, name);
    int r = text ? text_to_int(text, min, max, out) : 0;

    if (r == -ERANGE)
        return err_set(err, r, "--%s: %s is outside of %lld to %lld", name, text, (long long)min,
                       (long long)max);
    if (r < 0)
        return err_set(err, r, "--%s: '%s' is not a whole number", name, text);
    return 0;
}

int args_duration(const struct args *args, const char *name, int64_t *out_ms, struct err *err)
{
    const char *text = args_get(args, name);

    if (!text)
        return 0;
    if (duration_parse(text, out_ms, err) < 0)
        return err_wrap(err, "--%s", name);
    return 0;
}
