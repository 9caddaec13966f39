/*
 * Kept answers: for a class that is used again, the first check that each node fails, or its
 * place in a tournament whose winner is the best node.
 *
 * They are made in one pass over the nodes and repaired from the log of touched nodes. All of
 * it is a cache: it may be thrown away at any time and changes no answer.
 */
#ifndef ENGINE_KEPT_H
#define ENGINE_KEPT_H

#include "engine/fit.h"

struct kept;

/** What is kept for a class, as of now; NULL: nothing is, and there is no room for it. */
const struct kept *kept_of(struct session *s, struct kind *kind);
/** Whether something is kept for the class, however old. */
bool kept_is_there(const struct kind *kind);
/** The best node, or false. */
bool kept_best(struct session *s, const struct kept *kept, struct choice *out);
/** Likewise among the first `want` feasible nodes from place `from` on; *visited counts them and
 * those that were passed, up to the next feasible one. */
bool kept_best_of_some(struct session *s, const struct kept *kept, size_t from, size_t want,
                       size_t *visited, struct choice *out);
void kept_count(const struct kept *kept, struct fit_counts *out);
/** Drops what is kept for a class. */
void kept_free(struct model *model, struct kind *kind);

#endif
