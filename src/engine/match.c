/* Match: see match.h. */
#include "engine/match.h"

#include <string.h>

#include "base/str.h"

const char *label_value(const struct berth_labels *labels, const char *key)
{
    for (size_t i = 0; i < labels->n; i++)
        if (strcmp(labels->at[i].key, key) == 0)
            return labels->at[i].value ? labels->at[i].value : "";
    return NULL;
}

bool labels_hold(const struct berth_labels *wanted, const struct berth_labels *labels)
{
    for (size_t i = 0; i < wanted->n; i++) {
        const char *value = label_value(labels, wanted->at[i].key);
        if (!value || strcmp(value, wanted->at[i].value ? wanted->at[i].value : "") != 0)
            return false;
    }
    return true;
}

bool path_is_below(const char *path, const struct berth_words *folders)
{
    for (size_t i = 0; i < folders->n; i++) {
        const char *folder = folders->at[i];
        size_t n = strlen(folder);

        while (n && folder[n - 1] == '/')
            n--;
        if (strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0'))
            return true;
    }
    return false;
}

bool words_have(const struct berth_words *words, const char *word)
{
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->at[i], word) == 0)
            return true;
    return false;
}

static bool is_beyond(const struct berth_match *match, const char *value)
{
    int64_t a, b;

    if (match->values.n != 1 || text_to_int(value, INT64_MIN, INT64_MAX, &a) < 0 ||
        text_to_int(match->values.at[0], INT64_MIN, INT64_MAX, &b) < 0)
        return false;
    return match->op == BERTH_GREATER ? a > b : a < b;
}

static bool match_holds(const struct berth_match *match, const struct berth_labels *labels,
                        const char *name)
{
    const char *value =
        name && strcmp(match->key, "metadata.name") == 0 ? name : label_value(labels, match->key);

    switch (match->op) {
    case BERTH_IN:
        return value && words_have(&match->values, value);
    case BERTH_NOT_IN:
        return !value || !words_have(&match->values, value);
    case BERTH_EXISTS:
        return value;
    case BERTH_DOES_NOT_EXIST:
        return !value;
    case BERTH_GREATER:
    case BERTH_LESS:
        return value && is_beyond(match, value);
    }
    return false;
}

bool selector_holds(const struct berth_selector *selector, const struct berth_labels *labels,
                    const char *name)
{
    if (!labels_hold(&selector->labels, labels))
        return false;
    for (size_t i = 0; i < selector->n_matches; i++)
        if (!match_holds(&selector->matches[i], labels, name))
            return false;
    return true;
}

bool taint_is_tolerated(const struct berth_taint *taint, const struct berth_toleration *tolerations,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct berth_toleration *t = &tolerations[i];
        if (!t->all_effects && t->effect != taint->effect)
            continue;
        if (t->key && t->key[0] && strcmp(t->key, taint->key) != 0)
            continue;
        if (t->exists)
            return true;
        if ((!t->key || !t->key[0]))
            continue; /* an empty key needs Exists */
        if (text_eq(t->value ? t->value : "", taint->value ? taint->value : ""))
            return true;
    }
    return false;
}
