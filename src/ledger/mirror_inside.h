/*
 * Between the parts of the mirror: mirror.c, mirror_held.c, mirror_queue.c.
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
void queues_fini(struct mirror *mirror);
/** A queue of which b does not hold what a holds; NULL: none. */
const char *queues_differ(const struct mirror *a, const struct mirror *b);
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
