/*
 * Between the parts of the mirror: mirror.c, mirror_held.c, mirror_account.c,
 * mirror_queue.c, mirror_quota.c.
 */
#ifndef LEDGER_MIRROR_INSIDE_H
#define LEDGER_MIRROR_INSIDE_H

#include "ledger/mirror.h"

/** Adds what one task of a group asks to what is used of a node, or held on it; sign -1: takes. */
void mirror_use(struct mirror_node *node, const struct mirror_group *group, int sign, bool is_held);
/** Adds what one task of a group asks to what is used of its queue and of those above; sign -1:
 * takes. */
void queue_use(struct mirror *mirror, const char *name, const struct mirror_group *group, int sign);
/** A queue's row was replaced: NULL none. The new one is in place. */
void queue_changed(struct mirror *mirror, const struct row_queue *was, const struct row_queue *row);
/** A quota was put, replaced or removed: what its namespace may have is worked out anew. */
void quotas_changed(struct mirror *mirror, const char *ns);
/** Adds what one task of a group asks to what is used of a namespace; sign -1: takes. */
void namespace_use(struct mirror *mirror, const char *name, const struct mirror_group *group,
                   int sign);

/** The account of that name in a map of them, made if there is none. */
struct mirror_account *account_of(struct map *accounts, const char *name);
/** What it has of a resource, made if there is nothing. */
struct mirror_share *account_share(struct mirror_account *account, const char *resource);
/** Adds to what it uses, or takes. */
void account_add(struct mirror_account *account, const char *resource, int64_t value);
/** Likewise what one task of a group asks; sign -1: takes. */
void account_use(struct mirror_account *account, const struct mirror_group *group, int sign);
void accounts_fini(struct map *accounts);
/** One of which b does not hold what a holds; NULL: none. */
const char *accounts_differ(const struct map *a, const struct map *b);
/** Puts a row of ROW_RESERVATION or ROW_PART in the place of the open one of its key; one that is
 * not open is not kept. *was: the one that was kept, counted, or NULL. */
MUST_CHECK int held_put(struct mirror *mirror, enum row_kind kind, void *row, void **was,
                        struct err *err);
/** Puts back what held_put replaced; returns the row that was kept instead, or NULL. */
void *held_take_back(struct mirror *mirror, enum row_kind kind, void *now, void *was);
/** Whether a row of these kinds is kept: it is open. */
bool held_is_kept(enum row_kind kind, const void *row);
/** Lets go all that is held for a job which leaves. */
void held_drop(struct mirror *mirror, struct mirror_job *job);

#endif
