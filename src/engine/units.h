/*
 * Units: whom to evict from a domain so that a whole job fits. Of a victim's job tasks above its
 * minimum may go, or all of it.
 */
#ifndef ENGINE_UNITS_H
#define ENGINE_UNITS_H

#include "engine/session.h"
#include "engine/topology.h"
#include "engine/wide.h"

/* What goes together. */
struct unit {
    struct job *job;
    struct task **at; /* those named with it; a whole one takes all that its job has */
    size_t n;
    bool is_whole;
    const struct held_room *room; /* that is held for them, who do not run; NULL: they do */
    wide local, global; /* profile volcano: what it gives of what is needed, and what that costs */
};

struct units {
    struct unit *at;
    size_t n;
};

/* A job that looks for room in a domain. */
struct gang_hunt {
    struct session *s;
    struct job *job;
    bool reclaim, allow_whole;
    struct victims pending; /* what it wants to place */
    const wide *need;       /* the sum of it, by dimension */
    struct sub_job *only;   /* profile volcano: of a ready job just this; NULL: all */
    const struct domain *domain;
    struct arena *arena; /* for the domain's units */
};

/** The units of the hunt's domain that plugins allow, in the order in which they go. */
struct units units_find(const struct gang_hunt *h);
/** Evicts a unit. */
void unit_evict(struct statement *stmt, const struct unit *unit, bool reclaim);
/**
 * With how many of the first units gone, at least one, the need is met by sums; 0 if that never is.
 * What the domain has promised to others does not count: who holds it may not need it.
 */
size_t units_least(const struct gang_hunt *h, const struct units *units);

#endif
