/*
 * A binary heap of pointers. Members are not sorted anew when their keys change while they are
 * in it, unless that is asked for; where equal keys end up is part of what profile `volcano` must decide like its
 * model, so sifting is done as there: the right child only if it is strictly less.
 */
#ifndef ENGINE_PQ_H
#define ENGINE_PQ_H

#include <stdint.h>

#include "base/vec.h"

struct session;

/* Where a member goes, as numbers: the smaller first. */
struct pq_key {
    int64_t at[4];
};

struct pq_item {
    void *item;
    struct pq_key key; /* as it was when it was put in */
};

struct pq {
    VEC_OF(struct pq_item) items;
    int (*cmp)(struct session *s, const void *a, const void *b);
    /** The same order as numbers; NULL: cmp must be asked each time. */
    struct pq_key (*key)(struct session *s, const void *item);
    struct session *s;
};

void pq_push(struct pq *pq, void *item);
/** The first, or NULL. */
void *pq_pop(struct pq *pq);
/** Puts all into the order of now, where keys of members have changed. */
void pq_renew(struct pq *pq);
void pq_fini(struct pq *pq);

#endif
