/*
 * Templates: `-o template=TEXT`. In the text {name} stands for a member of the item,
 * {tasks.running} for one further in, {{ and }} for braces, \\n and \\t for a line's end and a tab.
 */
#ifndef CLI_TEMPLATE_H
#define CLI_TEMPLATE_H

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"

/** Returns 0; -EINVAL for a brace that is not closed or not opened, or an empty name. */
MUST_CHECK int template_check(const char *text, struct err *err);
/** Adds the text with what the item has in the places of names; nothing where it has none. */
void template_fill(const char *text, const json_t *item, struct str *out);

#endif
