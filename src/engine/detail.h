/*
 * Detail: what stands behind a code on one node: the label that is missing, the taint, how much
 * is free, and who holds the rest.
 */
#ifndef ENGINE_DETAIL_H
#define ENGINE_DETAIL_H

#include "engine/fit.h"

/**
 * Fills in out->code and what goes with it.
 *
 * @fail   as fit_fail said of the node; FAIL_NONE fills in nothing but the code
 * @arena  where texts and holders live
 */
void detail_of(const struct model *model, const struct kind *kind, const struct node *node,
               fail_t fail, struct arena *arena, struct berth_node_reason *out);
/** The same for one dimension, whether it is short or not. */
void detail_of_dim(const struct model *model, const struct kind *kind, const struct node *node,
                   uint32_t dim, struct arena *arena, struct berth_node_reason *out);

/** A taint as a text: key=value:NoSchedule. */
char *taint_text(const struct berth_taint *taint, struct arena *arena);
/** Whether a task of the kind bears with the taint. */
bool kind_tolerates(const struct kind *kind, const struct berth_taint *taint);
/** A verdict's reason as a copy in another arena. */
const struct berth_reason *reason_copy(const struct berth_reason *from, struct arena *arena);

#endif
