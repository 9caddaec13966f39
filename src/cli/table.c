/* Tables: see table.h. */
#include "cli/table.h"

#include <errno.h>
#include <libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/nearest.h"

enum { COLUMNS_MAX = 40, LAST_LEAST_CELLS = 8 };

struct table {
    const struct output *output;
    const struct column *columns[COLUMNS_MAX];
    size_t n;
};

const char *table_state_color(const char *word)
{
    static const struct {
        const char *word, *color;
    } colors[] = {
        { "running", "green" },      { "ready", "green" },    { "pending", "yellow" },
        { "failed", "red" },         { "lost", "red" },       { "unreachable", "red" },
        { "stopping", "brown" },     { "cordoned", "brown" }, { "disabled", "brown" },
        { "cancelled", "darkgray" }, { "leaving", "brown" },  { "draining", "brown" },
        { "starting", "cyan" },
    };

    for (size_t i = 0; i < COUNT_OF(colors); i++)
        if (text_eq(word, colors[i].word))
            return colors[i].color;
    return NULL;
}

static int find_column(const struct listing *listing, const char *name, const struct column **out,
                       struct err *err)
{
    CLEANUP(str_fini) struct str heads = { 0 };
    const char *known[COLUMNS_MAX];
    const char *meant;

    for (size_t i = 0; i < listing->n_columns; i++) {
        known[i] = listing->columns[i].head;
        str_addf(&heads, "%s%s", i ? " " : "", known[i]);
        if (strcasecmp(known[i], name) == 0) {
            *out = &listing->columns[i];
            return 0;
        }
    }
    meant = nearest(name, known, listing->n_columns);
    return err_set(err, -EINVAL, "no column '%s'%s%s%s", name,
                   meant ? "; did you mean " : "; there are ", meant ? meant : str_text(&heads),
                   meant ? "?" : "");
}

static bool has_all(const struct output *output)
{
    return output->format == OUTPUT_WIDE || output->format == OUTPUT_CSV;
}

/* The columns in the order shown: those of a table, then those of wide; or those named. */
static int choose_columns(struct table *table, const struct listing *listing, struct err *err)
{
    CLEANUP(freep) char *names = NULL;
    char *rest = NULL;

    if (table->output->format != OUTPUT_COLS) {
        for (size_t i = 0; i < listing->n_columns; i++)
            if (!(listing->columns[i].flags & COLUMN_WIDE))
                table->columns[table->n++] = &listing->columns[i];
        for (size_t i = 0; i < listing->n_columns && has_all(table->output); i++)
            if (listing->columns[i].flags & COLUMN_WIDE)
                table->columns[table->n++] = &listing->columns[i];
        return 0;
    }
    names = text_copy(table->output->cols);
    for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        int r;

        if (table->n == COLUMNS_MAX)
            return err_set(err, -E2BIG, "more than %d columns", COLUMNS_MAX);
        r = find_column(listing, name, &table->columns[table->n], err);
        if (r < 0)
            return r;
        table->n++;
    }
    return table->n ? 0 : err_set(err, -EINVAL, "cols= names no column");
}

/* The text of a cell: never empty, without bytes that would break the row. */
static void cell_text(const struct output *output, const struct column *column, const json_t *item,
                      struct str *out)
{
    if (column->fn)
        column->fn(item, output, out);
    else
        output_text(item, column->path, out);
    for (size_t i = 0; i < out->len; i++)
        if ((unsigned char)out->data[i] < ' ' || out->data[i] == 0x7f)
            out->data[i] = ' ';
    if (!out->len)
        str_add(out, "-");
}

/* How many cells of a terminal a text takes. */
static size_t cells_of(const char *text)
{
    mbstate_t state = { 0 };
    size_t n = strlen(text), cells = 0;
    wchar_t c;

    while (n > 0) {
        size_t used = mbrtowc(&c, text, n, &state);
        int width;

        if (used == (size_t)-1 || used == (size_t)-2 || used == 0)
            return cells + n;
        width = wcwidth(c);
        cells += width > 0 ? (size_t)width : 0;
        text += used;
        n -= used;
    }
    return cells;
}

/* Cuts a text to so many cells, with an ellipsis for what is gone. */
static void cut_text(struct str *text, size_t cells)
{
    if (cells_of(text->data) <= cells)
        return;
    while (text->len > 0 && cells_of(text->data) >= cells) {
        do
            text->len--;
        while (text->len > 0 && ((unsigned char)text->data[text->len] & 0xc0) == 0x80);
        text->data[text->len] = '\0';
    }
    str_add(text, "\xe2\x80\xa6");
}

/* The cells that the last column may take, so that a row stays on one line; 0: any number. */
static size_t room_of_last(const struct table *table, const json_t *items)
{
    size_t used = 0, i;
    json_t *item;

    if (table->output->width <= 0)
        return 0;
    for (size_t c = 0; c + 1 < table->n; c++) {
        size_t most = strlen(table->columns[c]->head);

        json_array_foreach(items, i, item)
        {
            CLEANUP(str_fini) struct str text = { 0 };

            cell_text(table->output, table->columns[c], item, &text);
            if (cells_of(text.data) > most)
                most = cells_of(text.data);
        }
        used += most + 2;
    }
    if (used + LAST_LEAST_CELLS > (size_t)table->output->width)
        return LAST_LEAST_CELLS;
    return (size_t)table->output->width - used;
}

static void add_row(const struct table *table, struct libscols_table *drawn, const json_t *item,
                    size_t last_cells)
{
    struct libscols_line *line = scols_table_new_line(drawn, NULL);

    for (size_t c = 0; line && c < table->n; c++) {
        CLEANUP(str_fini) struct str text = { 0 };
        const char *color = NULL;

        cell_text(table->output, table->columns[c], item, &text);
        if (table->columns[c]->flags & COLUMN_STATE)
            color = table_state_color(text.data);
        if (last_cells && c + 1 == table->n)
            cut_text(&text, last_cells);
        scols_line_set_data(line, c, text.data);
        if (color)
            scols_cell_set_color(scols_line_get_cell(line, c), color);
    }
}

static struct libscols_table *new_drawn(const struct output *output)
{
    struct libscols_table *drawn = scols_new_table();

    if (!drawn)
        abort();
    scols_table_set_stream(drawn, output->to);
    scols_table_set_termforce(drawn, SCOLS_TERMFORCE_NEVER); /* we cut, and only the last column */
    scols_table_enable_noheadings(drawn, !output->has_head);
    scols_table_enable_noencoding(drawn, 1);
    scols_table_enable_colors(drawn, output->has_color);
    scols_table_set_column_separator(drawn, "  ");
    return drawn;
}

/* Prints what was drawn without the blanks that end a line. */
static void print_drawn(struct libscols_table *drawn, FILE *to)
{
    CLEANUP(freep) char *text = NULL;
    char *rest = NULL;

    if (scols_print_table_to_string(drawn, &text) < 0 || !text)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t n = strlen(line);

        while (n > 0 && line[n - 1] == ' ')
            n--;
        fprintf(to, "%.*s\n", (int)n, line);
    }
}

/* The library prints nothing at all for a table without rows. */
static void print_heads(const struct table *table)
{
    for (size_t c = 0; c < table->n; c++)
        fprintf(table->output->to, "%s%s", c ? "  " : "", table->columns[c]->head);
    fputc('\n', table->output->to);
}

/* ---- CSV: quoted as in RFC 4180 ---- */

static void add_field(const char *text, bool is_first, struct str *out)
{
    str_add(out, is_first ? "" : ",");
    if (!text[strcspn(text, ",\"")] && text[0] != ' ') {
        str_add(out, text);
        return;
    }
    str_add_char(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            str_add_char(out, '"');
        str_add_char(out, *text);
    }
    str_add_char(out, '"');
}

static void print_csv(const struct table *table, const json_t *items)
{
    CLEANUP(str_fini) struct str out = { 0 };
    json_t *item;
    size_t i;

    for (size_t c = 0; c < table->n && table->output->has_head; c++)
        add_field(table->columns[c]->head, c == 0, &out);
    str_add(&out, table->output->has_head ? "\n" : "");
    json_array_foreach(items, i, item)
    {
        for (size_t c = 0; c < table->n; c++) {
            CLEANUP(str_fini) struct str text = { 0 };

            cell_text(table->output, table->columns[c], item, &text);
            add_field(text_eq(text.data, "-") ? "" : text.data, c == 0, &out);
        }
        str_add(&out, "\n");
    }
    fputs(str_text(&out), table->output->to);
}

/* ---- tables ---- */

int table_print(const struct output *output, const struct listing *listing, const json_t *items,
                struct err *err)
{
    struct table table = { .output = output };
    struct libscols_table *drawn;
    size_t i, last_cells;
    json_t *item;
    int r = choose_columns(&table, listing, err);

    if (r < 0)
        return r;
    if (output->format == OUTPUT_CSV) {
        print_csv(&table, items);
        return 0;
    }
    setlocale(LC_CTYPE, "C.UTF-8"); /* texts of the API are UTF-8 whatever the user's locale */
    drawn = new_drawn(output);
    for (size_t c = 0; c < table.n; c++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) chosen, none is missing */
        scols_table_new_column(drawn, table.columns[c]->head, 0,
                               table.columns[c]->flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0);
    last_cells = room_of_last(&table, items);
    json_array_foreach(items, i, item) add_row(&table, drawn, item, last_cells);
    if (json_array_size(items) > 0)
        print_drawn(drawn, output->to);
    else if (output->has_head)
        print_heads(&table);
    scols_unref_table(drawn);
    return 0;
}

int table_print_item(const struct output *output, const struct listing *listing, const json_t *item,
                     struct err *err)
{
    struct table table = { .output = output };
    size_t widest = 0;
    int r;

    if (output_has_rows(output)) {
        json_t *items = json_pack("[O]", item);

        r = table_print(output, listing, items, err);
        json_decref(items);
        return r;
    }
    r = choose_columns(&table, listing, err);
    if (r < 0)
        return r;
    for (size_t c = 0; c < table.n; c++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) likewise */
        if (strlen(table.columns[c]->head) > widest)
            widest = strlen(table.columns[c]->head);
    for (size_t c = 0; c < table.n; c++) {
        CLEANUP(str_fini) struct str text = { 0 };

        cell_text(output, table.columns[c], item, &text);
        if (!text_eq(text.data, "-"))
            fprintf(output->to, "%-*s  %s\n", (int)widest, table.columns[c]->head, text.data);
    }
    return 0;
}
