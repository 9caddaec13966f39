/*
 * Claims: devices of a class that tasks ask for by the name of a claim. Tasks that name the same
 * claim share what it stands for.
 */
#ifndef ENGINE_CLAIMS_H
#define ENGINE_CLAIMS_H

#include "engine/session.h"

/* Claims in use, each once. */
struct claims {
    VEC_OF(const struct berth_claim *) list;
    bool has_unknown; /* one is named that there is not */
};

void claims_fini(struct claims *claims);
/** Adds those that a kind's tasks name. */
void claims_add(struct session *s, struct claims *claims, const struct kind *kind);
/** How many devices of the class they are. */
int64_t claims_count(const struct claims *claims, const char *device_class);

#endif
