/*
 * Openings: which opening of the ledger wrote which revisions.
 *
 * A ledger's file can be copied, and both copies go on under one incarnation. What tells them apart
 * is that each opening has an id of its own, in a row of the ledger itself: a copy that went another
 * way lacks the openings of the other since then, and knows the last one that both have up to its
 * own end of it only. So whoever remembers (opening, revision) can be told whether this ledger has
 * that revision, or another in its place.
 */
#ifndef LEDGER_OPENING_H
#define LEDGER_OPENING_H

#include "base/digest.h"
#include "base/vec.h"
#include "ledger/changes.h"

enum {
    OPENING_ID_SIZE = 17,
    OPENINGS_MAX = 1000, /* remembered; what an older one wrote is believed, and cannot be told */
};

struct opening {
    char id[OPENING_ID_SIZE];
    uint64_t number;      /* from 1 */
    uint64_t first, last; /* revisions it wrote; UINT64_MAX: it is open */
};

struct openings {
    VEC_OF(struct opening);
};

/* An incarnation that the ledger was before it was put back. */
struct life {
    char incarnation[DIGEST_HEX_SIZE];
    uint64_t last; /* its last revision that is here */
};

struct lives {
    VEC_OF(struct life);
};

enum opening_holds {
    OPENING_HOLDS,     /* the revision was written by that opening of this ledger, or was there */
    OPENING_HOLDS_NOT, /* it was written by another ledger, or by a copy that went another way */
    OPENING_FORGOTTEN, /* so long ago that nobody can tell */
};

/** Begins one with the next revision: ends the one before it, and forgets the oldest; all that came
 * before, where another incarnation begins. */
void opening_begin(struct changes *changes, const char *id, bool is_new_incarnation);
/** Whether the ledger whose rows these are has what (id, revision) names. O(1). */
enum opening_holds opening_look(const struct mirror *mirror, const char *id, uint64_t revision);
/** The incarnation that now ends is one that this ledger was, up to here: agents that served it may
 * be gone on with. */
void life_end(struct changes *changes, const char *incarnation);
/** Whether this ledger was that incarnation once; then up to which revision. */
bool life_look(const struct mirror *mirror, const char *incarnation, uint64_t *until);
/** The incarnations that it was, in no order; VEC_FINI it. */
struct lives lives_read(const struct mirror *mirror);
/** Those remembered, in no order; VEC_FINI it. */
struct openings openings_read(const struct mirror *mirror);
/** The same question of a list. */
enum opening_holds openings_hold(const struct openings *openings, const char *id,
                                 uint64_t revision);

#endif
