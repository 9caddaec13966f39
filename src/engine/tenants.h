/*
 * Tenants: what namespaces may have of cpu and GPUs in serverless placement, and what their
 * live and admitted tasks ask for.
 */
#ifndef ENGINE_TENANTS_H
#define ENGINE_TENANTS_H

#include "engine/session.h"

struct tenants;

/** Counts what there is; room that is held counts. NULL: nobody has a quota. */
struct tenants *tenants_new(struct session *s);
/**
 * Lets a waiting task of a job that was not admitted in, and counts it.
 *
 * Returns  NULL; the resource of which the namespace would have too much
 */
const char *tenants_admit(struct tenants *tenants, const struct task *task);
/** A task that was let in is given up: what it asked for counts no more. */
void tenants_leave(struct tenants *tenants, const struct task *task);
/** Whether the namespace has a quota at all. */
bool tenants_has_quota(const struct tenants *tenants, const char *namespace_);
void tenants_free(struct tenants *tenants);

#endif
