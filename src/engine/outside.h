/*
 * Outside: plugins that the caller loaded (berth/plugin.h), as plugins of the framework.
 */
#ifndef ENGINE_OUTSIDE_H
#define ENGINE_OUTSIDE_H

#include "base/vec.h"
#include "berth/plugin.h"
#include "engine/framework.h"

struct outside {
    struct plugin plugin; /* first: a use of it leads back here */
    struct berth_plugin given;
    char *hash;
};

/* Those that a configuration may name. */
struct outsiders {
    VEC_OF(struct outside *);
    bool are_some_unread; /* names that nobody has may be theirs */
};

/** Takes a plugin in. Errors as berth_engine_add_plugin. */
MUST_CHECK int outsiders_add(struct outsiders *all, const struct berth_plugin_file *file,
                             struct err *err);
void outsiders_fini(struct outsiders *all);
/** The plugin of a name, or NULL. */
const struct plugin *outsiders_find(const struct outsiders *all, const char *name);

/** Whose use this is, or NULL if the plugin is built in. */
const struct outside *outside_of(const struct plugin_use *use);
/** Reads a use's arguments into *out, yours to outside_destroy. */
MUST_CHECK int outside_configure(const struct outside *outside, const struct berth_value *arguments,
                                 void **out, struct err *err);
/** Ends what outside_configure made. */
void outside_destroy(const struct outside *outside, void *config);
/** A session ends. */
void outside_close(struct session *s, struct plugin_use *use);

#endif
