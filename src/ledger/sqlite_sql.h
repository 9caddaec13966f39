/*
 * SQL of the SQLite store, made from the table of kinds. Names are quoted; values are bound,
 * but for numbers of words (states), which partial indexes must see.
 */
#ifndef LEDGER_SQLITE_SQL_H
#define LEDGER_SQLITE_SQL_H

#include "ledger/store.h"

/** Adds the statements that make all tables and indexes. */
void sql_create(struct str *out);
/** Adds the statements that make one table with its indexes. */
void sql_create_kind(enum row_kind kind, struct str *out);
/** Adds what gives a table that is there a column more: 0 or "" in the rows it has. */
void sql_add_column(enum row_kind kind, const struct column *column, struct str *out);
/** Adds an upsert of all columns, bound in their order. */
void sql_put(enum row_kind kind, struct str *out);
/** Adds a look-up by key, of all columns. */
void sql_get(enum row_kind kind, struct str *out);
void sql_del(enum row_kind kind, struct str *out);
/** Adds what finds rows, or deletes them: conditions are bound in their order, then the key. */
void sql_find(const struct store_query *query, struct str *out);
void sql_erase(const struct store_query *query, struct str *out);
/** Whether a condition's number stands in the text. */
bool sql_is_literal(const struct store_query *query, const struct store_cond *cond);

#endif
