/*
 * Room: what stands between a class of tasks and a node beside the amounts that it asks for.
 */
#ifndef ENGINE_ROOM_H
#define ENGINE_ROOM_H

#include "engine/fit.h"

/**
 * What a node that has the amounts fails for, FAIL_NONE if it will do: a node that shrank below
 * what it holds takes nothing until it fits again, and single devices and cores must be free.
 *
 * @idle    made false where the node will do only once what is being freed is free
 */
fail_t room_odd(const struct model *model, const struct kind *kind, const struct node *node,
                bool *idle);

/** Whether there is anything to ask beside the amounts. */
static inline bool node_is_odd(const struct kind *kind, const struct node *node)
{
    return node->n_over || (kind->wants_devices && (node->devices.n || kind->spec->whole_cores));
}

/**
 * The first thing in which a class of tasks does not fit on a known node, amounts first; what is
 * being freed counts as room.
 *
 * @idle    whether it fits now
 */
fail_t room_fail(const struct model *model, const struct kind *kind, const struct node *node,
                 bool *idle);

/** Whether the end of a task, which is being stopped, frees what is promised on its node and not there yet. */
bool room_waits_for(const struct model *model, const struct task *task);

#endif
