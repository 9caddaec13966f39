/*
 * A binary heap of pointers. Members are not sorted anew when their keys change while they are
 * in it; where equal keys end up is part of what profile `volcano` must decide like its
 * model, so sifting is done as there: the right child only if it is strictly less.
 */
#ifndef ENGINE_PQ_H
#define ENGINE_PQ_H

#include "base/vec.h"

struct session;

struct pq {
    VEC_OF(void *) items;
    int (*cmp)(struct session *s, const void *a, const void *b);
    struct session *s;
};

void pq_push(struct pq *pq, void *item);
/** The first, or NULL. */
void *pq_pop(struct pq *pq);
void pq_fini(struct pq *pq);

#endif
