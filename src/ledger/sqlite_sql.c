/* SQL: see sqlite_sql.h. */
#include "ledger/sqlite_sql.h"

#include <inttypes.h>

static bool is_number(const struct column *column)
{
    return column->type == COLUMN_INT || column->type == COLUMN_BOOL;
}

static void add_columns(const struct kind *k, size_t n, struct str *out)
{
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%s\"%s\"", i ? ", " : "", k->columns[i].name);
}

static void add_places(size_t n, struct str *out)
{
    for (size_t i = 0; i < n; i++)
        str_add(out, i ? ", ?" : "?");
}

static void create_table(const struct kind *k, struct str *out)
{
    bool is_rowid = k->n_keys == 1 && is_number(&k->columns[0]);

    str_addf(out, "CREATE TABLE \"%s\" (", k->name);
    for (size_t i = 0; i < k->n_columns; i++)
        str_addf(out, "\"%s\" %s NOT NULL, ", k->columns[i].name,
                 is_number(&k->columns[i]) ? "INTEGER" : "TEXT");
    str_add(out, "PRIMARY KEY (");
    add_columns(k, k->n_keys, out);
    str_add(out, is_rowid ? "));\n" : ")) WITHOUT ROWID;\n");
    if (k->n_one) {
        str_addf(out, "CREATE UNIQUE INDEX \"%s_one\" ON \"%s\" (", k->name, k->name);
        add_columns(k, k->n_one, out);
        str_addf(out, ") WHERE \"%s\" < %" PRId64 ";\n", k->columns[k->one_column].name,
                 k->one_below);
    }
    if (k->indexes)
        str_add(out, k->indexes);
}

void sql_create_kind(enum row_kind kind, struct str *out)
{
    create_table(&schema[kind], out);
}

void sql_add_column(enum row_kind kind, const struct column *column, struct str *out)
{
    str_addf(out, "ALTER TABLE \"%s\" ADD COLUMN \"%s\" %s;\n", schema[kind].name, column->name,
             is_number(column) ? "INTEGER NOT NULL DEFAULT 0" : "TEXT NOT NULL DEFAULT ''");
}

void sql_create(struct str *out)
{
    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++)
        create_table(&schema[kind], out);
}

void sql_put(enum row_kind kind, struct str *out)
{
    const struct kind *k = &schema[kind];

    str_addf(out, "INSERT INTO \"%s\" (", k->name);
    add_columns(k, k->n_columns, out);
    str_add(out, ") VALUES (");
    add_places(k->n_columns, out);
    /* By its key only: what breaks another constraint must fail, and not replace rows. */
    str_add(out, ") ON CONFLICT (");
    add_columns(k, k->n_keys, out);
    str_add(out, ") DO UPDATE SET ");
    for (size_t i = k->n_keys; i < k->n_columns; i++)
        str_addf(out, "%s\"%s\" = excluded.\"%s\"", i > k->n_keys ? ", " : "", k->columns[i].name,
                 k->columns[i].name);
}

static void add_key(const struct kind *k, struct str *out)
{
    str_add(out, " WHERE (");
    add_columns(k, k->n_keys, out);
    str_add(out, ") = (");
    add_places(k->n_keys, out);
    str_add_char(out, ')');
}

static void add_select(const struct kind *k, struct str *out)
{
    str_add(out, "SELECT ");
    add_columns(k, k->n_columns, out);
    str_addf(out, " FROM \"%s\"", k->name);
}

void sql_get(enum row_kind kind, struct str *out)
{
    add_select(&schema[kind], out);
    add_key(&schema[kind], out);
}

void sql_del(enum row_kind kind, struct str *out)
{
    str_addf(out, "DELETE FROM \"%s\"", schema[kind].name);
    add_key(&schema[kind], out);
}

bool sql_is_literal(const struct store_query *query, const struct store_cond *cond)
{
    return !cond->text && schema[query->kind].columns[cond->column].words;
}

static void add_cond(const struct store_query *query, const struct store_cond *cond,
                     struct str *out)
{
    static const char *const signs[] = {
        [STORE_EQ] = "=",  [STORE_NE] = "<>", [STORE_LT] = "<",
        [STORE_LE] = "<=", [STORE_GT] = ">",  [STORE_GE] = ">=",
    };
    const char *name = schema[query->kind].columns[cond->column].name;

    if (cond->op == STORE_IN)
        str_addf(out, "(1 << \"%s\") & ", name);
    else
        str_addf(out, "\"%s\" %s ", name, signs[cond->op]);
    if (sql_is_literal(query, cond))
        str_addf(out, "%" PRId64, cond->number);
    else
        str_add_char(out, '?');
}

static void add_conds(const struct store_query *query, struct str *out)
{
    for (size_t i = 0; i < query->n_conds; i++) {
        str_add(out, i ? " AND " : " WHERE ");
        add_cond(query, &query->conds[i], out);
    }
}

void sql_find(const struct store_query *query, struct str *out)
{
    const struct kind *k = &schema[query->kind];

    add_select(k, out);
    add_conds(query, out);
    if (query->after) {
        str_add(out, query->n_conds ? " AND (" : " WHERE (");
        add_columns(k, k->n_keys, out);
        str_add(out, query->is_backward ? ") < (" : ") > (");
        add_places(k->n_keys, out);
        str_add_char(out, ')');
    }
    str_add(out, " ORDER BY ");
    for (size_t i = 0; i < k->n_keys; i++)
        str_addf(out, "%s\"%s\"%s", i ? ", " : "", k->columns[i].name,
                 query->is_backward ? " DESC" : "");
    if (query->limit)
        str_addf(out, " LIMIT %zu", query->limit);
}

void sql_erase(const struct store_query *query, struct str *out)
{
    str_addf(out, "DELETE FROM \"%s\"", schema[query->kind].name);
    add_conds(query, out);
}
