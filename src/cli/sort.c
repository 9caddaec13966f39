/* Sorting a list: see sort.h. */
#include "cli/sort.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"

/* An item, and what it is sorted by. */
struct key {
    struct str text;
    int64_t amount;
    bool is_amount;
    size_t place;
    json_t *item;
};

static const struct column *column_of(const struct listing *listing, const char *word)
{
    word += word[0] == '-';
    for (size_t i = 0; i < listing->n_columns; i++)
        if (strcasecmp(listing->columns[i].head, word) == 0)
            return &listing->columns[i];
    return NULL;
}

static bool is_sorted_here(const struct column *column)
{
    return column && (!column->path || column->flags & COLUMN_HERE);
}

char *sort_field(const struct listing *listing, const char *word)
{
    const struct column *column = column_of(listing, word);
    bool is_down = word[0] == '-';
    const char *path;
    char *field;

    if (is_sorted_here(column))
        return NULL;
    path = column ? column->path : word + is_down;
    if (path[0] == '-') {
        is_down = !is_down;
        path++;
    }
    field = text_format("%s%s", is_down ? "-" : "", path);
    for (char *at = field; column && *at; at++)
        if (*at == '/')
            *at = '.';
    return field;
}

static void make_key(const struct column *column, const struct output *output, json_t *item,
                     size_t place, struct key *out)
{
    struct err err = { 0 };

    *out = (struct key){ .place = place, .item = item };
    if (column->flags & COLUMN_TIME) {
        output_text(item, column->path, &out->text);
        out->is_amount = out->text.len && duration_parse(out->text.data, &out->amount, &err) == 0;
        return;
    }
    if (column->fn)
        column->fn(item, output, &out->text);
    else
        output_text(item, column->path, &out->text);
    out->is_amount = column->flags & COLUMN_RIGHT && out->text.len &&
                     quantity_parse(out->text.data, QUANTITY_MILLI, &out->amount, &err) == 0;
}

/* What has no value stands last, whichever way. */
static int cmp_keys(const void *a, const void *b, void *arg)
{
    const struct key *x = a, *y = b;
    const bool *is_down = arg;
    int cmp;

    if (!x->text.len != !y->text.len)
        return x->text.len ? -1 : 1;
    if (x->is_amount && y->is_amount)
        cmp = (x->amount > y->amount) - (x->amount < y->amount);
    else
        cmp = strverscmp(str_text(&x->text), str_text(&y->text));
    if (cmp)
        return *is_down ? -cmp : cmp;
    return (x->place > y->place) - (x->place < y->place);
}

void sort_items(const struct listing *listing, const char *word, const struct output *output,
                json_t *items)
{
    const struct column *column = column_of(listing, word);
    bool is_down = word[0] == '-';
    size_t n = json_array_size(items);
    struct key *keys = NEW0_N(struct key, n + 1);

    for (size_t i = 0; i < n; i++)
        make_key(column, output, json_incref(json_array_get(items, i)), i, &keys[i]);
    qsort_r(keys, n, sizeof(*keys), cmp_keys, &is_down);
    for (size_t i = 0; i < n; i++) {
        json_array_set_new(items, i, keys[i].item);
        str_fini(&keys[i].text);
    }
    mem_free(keys);
}

/* What is cut here has no cursor to go on from: the server knows no such order. */
static void cut(json_t *list, int64_t limit)
{
    json_t *items = json_object_get(list, "items");
    size_t n = json_array_size(items);

    if (!limit || n <= (size_t)limit)
        return;
    while (n > (size_t)limit)
        json_array_remove(items, --n);
    json_object_set_new(list, "next", json_string(""));
}

int sort_get(struct cli *cli, const char *path, int64_t limit, const struct listing *listing,
             const char *word, const struct output *output, json_t **out)
{
    CLEANUP(freep) char *field = word ? sort_field(listing, word) : NULL;
    CLEANUP(str_fini) struct str query = { 0 };
    bool is_here = word && !field;
    int r;

    str_add(&query, path);
    cli_add_query(&query, "sort", field);
    r = cli_get_pages(cli, query.data, is_here ? 0 : limit, out);
    if (r != 0 || !is_here)
        return r;
    sort_items(listing, word, output, json_object_get(*out, "items"));
    cut(*out, limit);
    return 0;
}

bool sort_take_more(json_t *list)
{
    const char *next = json_string_value(json_object_get(list, "next"));
    bool is_more = next != NULL;

    if (is_more && !next[0])
        json_object_del(list, "next");
    return is_more;
}
