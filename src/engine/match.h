/*
 * Match: labels against selectors, taints against tolerations.
 */
#ifndef ENGINE_MATCH_H
#define ENGINE_MATCH_H

#include "berth/engine.h"

/** The value of a label, or NULL. */
const char *label_value(const struct berth_labels *labels, const char *key);
/** Whether all wanted labels are there with these values. */
bool labels_hold(const struct berth_labels *wanted, const struct berth_labels *labels);
/** Whether all requirements hold; name is what `metadata.name` stands for, or NULL. */
bool selector_holds(const struct berth_selector *selector, const struct berth_labels *labels,
                    const char *name);
/** Whether one of the tolerations puts up with the taint. */
bool taint_is_tolerated(const struct berth_taint *taint, const struct berth_toleration *tolerations,
                        size_t n);
/** Whether a path is one of the folders or below one; those may end with a slash. */
bool path_is_below(const char *path, const struct berth_words *folders);
bool words_have(const struct berth_words *words, const char *word);

#endif
