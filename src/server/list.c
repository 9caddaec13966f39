/* Lists that are read whole: see list.h. */
#include "server/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/quantity.h"
#include "base/states.h"
#include "server/show.h"

/* ---- what was asked ---- */

bool list_read_states(struct call *call, const char *const *words, size_t n_words, unsigned *out)
{
    const char *text = call_query(call, "state");

    while (text && *text) {
        size_t n = strcspn(text, ",");
        CLEANUP(freep) char *word = mem_copy(text, n);
        int state = states_find(word, words, n_words);

        if (state < 0) {
            const char *meant = nearest(word, words, n_words);

            problem_set(&call->problem, PROBLEM_BAD_REQUEST,
                        "state=%s: there is no such state%s%s%s", word,
                        meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
            return false;
        }
        *out |= 1u << state;
        text += n + (text[n] == ',');
    }
    return true;
}

void list_read_label(struct call *call, char **key, const char **value)
{
    const char *text = call_query(call, "label");
    size_t n = text ? strcspn(text, "=") : 0;

    if (!text)
        return;
    *key = mem_copy(text, n);
    *value = text[n] ? text + n + 1 : NULL;
}

bool list_refuse_sort(struct call *call, const char *const *sorts, size_t n)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(sorts[i]);

        str_addf(&text, "%s%s%s", i ? " " : "", sorts[i], sorts[i][len - 1] == '.' ? "KEY" : "");
    }
    problem_set(&call->problem, PROBLEM_BAD_REQUEST, "sort=%s: want one of %s",
                call_query(call, "sort"), str_text(&text));
    return false;
}

static size_t count_words(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

static bool read_sort(struct call *call, struct list_ways *out)
{
    const char *word = call_query(call, "sort");

    if (!word || !*word)
        return true;
    out->is_down = word[0] == '-';
    word += out->is_down;
    for (const char *const *sort = out->kind->sorts; *sort; sort++) {
        size_t n = strlen(*sort);

        if ((*sort)[n - 1] != '.' && text_eq(*sort, word)) {
            out->sort = *sort;
            return true;
        }
        if ((*sort)[n - 1] == '.' && text_begins(word, *sort) && word[n]) {
            out->group = *sort;
            out->sort = word + n;
            return true;
        }
    }
    return list_refuse_sort(call, out->kind->sorts, count_words(out->kind->sorts));
}

static void ways_free(void *state)
{
    list_ways_fini(state);
    mem_free(state);
}

struct list_ways *list_ways_begin(struct call *call, const struct list_kind *kind)
{
    struct list_ways *ways = NEW0(struct list_ways);

    call->state = ways;
    call->free_state = ways_free;
    ways->kind = kind;
    ways->is_paged = call_query(call, "limit") || call_query(call, "cursor");
    list_read_label(call, &ways->label_key, &ways->label_value);
    if (cursor_read(call, &ways->cursor) && read_sort(call, ways) &&
        (!kind->states || list_read_states(call, kind->states, kind->n_states, &ways->states)))
        return ways;
    return NULL;
}

void list_ways_fini(struct list_ways *ways)
{
    mem_free(ways->label_key);
    ways->label_key = NULL;
}

/* ---- narrowing ---- */

bool list_has_label(const json_t *item, const char *key, const char *value)
{
    const char *has = json_string_value(json_object_get(json_object_get(item, "labels"), key));

    return has && (!value || text_eq(has, value));
}

static bool has_state(const struct list_ways *ways, const json_t *item)
{
    const char *word = json_string_value(json_object_get(item, "state"));
    int state =
        word && ways->states ? states_find(word, ways->kind->states, ways->kind->n_states) : -1;

    return !ways->states || (state >= 0 && ways->states & 1u << state);
}

bool list_ways_has(const struct list_ways *ways, const json_t *item)
{
    return has_state(ways, item) &&
           (!ways->label_key || list_has_label(item, ways->label_key, ways->label_value));
}

/* ---- sorting ---- */

bool list_ways_sorts_by(const struct list_ways *ways, const char *begin)
{
    const char *by = ways->group ? ways->group : ways->sort;

    return by && text_begins(by, begin);
}

/* The member at "usage.pending"; a dot may end the path. */
static const json_t *member_at(const json_t *item, const char *path)
{
    while (*path) {
        size_t n = strcspn(path, ".");
        CLEANUP(freep) char *part = mem_copy(path, n);

        item = json_object_get(item, part);
        path += n + (path[n] == '.');
    }
    return item;
}

/* The value that an item is sorted by, or NULL. The key behind a group may have dots of its own. */
static const json_t *value_of(const struct list_ways *ways, const json_t *item)
{
    return ways->group ? json_object_get(member_at(item, ways->group), ways->sort)
                       : member_at(item, ways->sort);
}

static int64_t amount_of(const struct list_ways *ways, const json_t *value)
{
    struct err err = { 0 };
    int64_t amount = 0;

    if (quantity_parse(json_string_value(value), quantity_unit_of(ways->sort), &amount, &err) < 0)
        return -1;
    return amount;
}

static int compare_values(const struct list_ways *ways, const json_t *a, const json_t *b)
{
    int64_t x, y;

    if (json_is_string(a) && json_is_string(b) && (!ways->group || text_eq(ways->group, "labels.")))
        return strcmp(json_string_value(a), json_string_value(b));
    x = json_is_string(a) ? amount_of(ways, a) : json_integer_value(a);
    y = json_is_string(b) ? amount_of(ways, b) : json_integer_value(b);
    return (x > y) - (x < y);
}

/* What has no value comes last, whichever way the others are; what is equal, by its id. */
static int compare_items(const void *left, const void *right, void *arg)
{
    const json_t *a = *(const json_t *const *)left, *b = *(const json_t *const *)right;
    const struct list_ways *ways = arg;
    const json_t *x = ways->sort ? value_of(ways, a) : NULL;
    const json_t *y = ways->sort ? value_of(ways, b) : NULL;
    int order = 0;

    if (x && y)
        order = ways->is_down ? compare_values(ways, y, x) : compare_values(ways, x, y);
    else if (x || y)
        order = x ? -1 : 1;
    if (order)
        return order;
    return strcmp(json_string_value(json_object_get(a, ways->kind->id)),
                  json_string_value(json_object_get(b, ways->kind->id)));
}

/* ---- pages ---- */

/* Where the page begins: behind the item that ended the one before, or where that was. */
static size_t begin_of(const struct list_ways *ways, const json_t *const *items, size_t n)
{
    const char *colon = strchr(ways->cursor.key, ':');
    size_t at;

    if (!colon)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (text_eq(json_string_value(json_object_get(items[i], ways->kind->id)), colon + 1))
            return i + 1;
    at = strtoul(ways->cursor.key, NULL, 10);
    at -= at > 0; /* the one that ended the page is missing among those before */
    return at < n ? at : n;
}

static json_t *answer_page(const struct list_ways *ways, const json_t *const *items, size_t n,
                           uint64_t revision)
{
    size_t begin = begin_of(ways, items, n), end = n;
    char next[sizeof(ways->cursor.key)] = "";
    json_t *page = json_array();

    if (ways->is_paged && end - begin > ways->cursor.limit)
        end = begin + ways->cursor.limit;
    for (size_t i = begin; i < end; i++)
        json_array_append(page, (json_t *)items[i]);
    if (end < n && end > begin)
        snprintf(next, sizeof(next), "%zu:%s", end,
                 json_string_value(json_object_get(items[end - 1], ways->kind->id)));
    return cursor_answer(&ways->cursor, page, next, revision);
}

json_t *list_ways_answer(const struct list_ways *ways, json_t *items, uint64_t revision)
{
    const json_t **kept = NEW0_N(const json_t *, json_array_size(items) + 1);
    json_t *item, *answer;
    size_t n = 0, i;

    json_array_foreach(items, i, item) if (list_ways_has(ways, item)) kept[n++] = item;
    if (ways->sort)
        qsort_r(kept, n, sizeof(*kept), compare_items, (void *)ways);
    answer = answer_page(ways, kept, n, revision);
    mem_free(kept);
    json_decref(items);
    return answer;
}
