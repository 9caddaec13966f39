/*
 * Together: how many of a gang's unlike tasks could run at a time, were the nodes empty.
 *
 * Each class by itself may fit as often as it must, and all of them not: two nodes of four cores hold one of
 * four and one of three, and no two beside them. Nor do those fit who want none of their own near, if there
 * are more of them than nodes.
 */
#ifndef ENGINE_TOGETHER_H
#define ENGINE_TOGETHER_H

#include "engine/session.h"

/* Like tasks of a gang. */
struct together_part {
    struct kind *kind;
    uint64_t n;
};

/** Whether tasks of the class may keep each other, or others, off a node: by ports, or want none near. */
bool together_minds(const struct kind *kind);

/**
 * How many of the tasks could run at a time, `most` at most, however full the nodes are.
 *
 * @parts   of as many classes; sorted by it
 * Returns  so many and no more; where that would take too long to find out, more than could
 */
uint64_t together_most(struct session *s, struct together_part *parts, size_t n_parts,
                       uint64_t most);

#endif
