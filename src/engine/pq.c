/* A binary heap: see pq.h. */
#include "engine/pq.h"

static void swap(struct pq *pq, size_t i, size_t k)
{
    struct pq_item item = pq->items.at[i];

    pq->items.at[i] = pq->items.at[k];
    pq->items.at[k] = item;
}

static int is_less(const struct pq *pq, size_t i, size_t k)
{
    const struct pq_item *a = &pq->items.at[i], *b = &pq->items.at[k];

    if (!pq->key)
        return pq->cmp(pq->s, a->item, b->item) < 0;
    for (size_t n = 0; n < COUNT_OF(a->key.at); n++)
        if (a->key.at[n] != b->key.at[n])
            return a->key.at[n] < b->key.at[n];
    return 0;
}

void pq_push(struct pq *pq, void *item)
{
    size_t i = pq->items.n;

    VEC_PUSH(&pq->items, ((struct pq_item){ .item = item }));
    if (pq->key)
        pq->items.at[i].key = pq->key(pq->s, item);
    while (i > 0 && is_less(pq, i, (i - 1) / 2)) {
        swap(pq, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

/* Of the first n. */
static void sift_down(struct pq *pq, size_t i, size_t n)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && is_less(pq, child + 1, child))
            child++;
        if (!is_less(pq, child, i))
            break;
        swap(pq, i, child);
        i = child;
    }
}

void *pq_pop(struct pq *pq)
{
    size_t n;

    if (!pq->items.n)
        return NULL;
    n = --pq->items.n;
    swap(pq, 0, n);
    sift_down(pq, 0, n);
    return pq->items.at[n].item;
}

void pq_renew(struct pq *pq)
{
    for (size_t i = 0; pq->key && i < pq->items.n; i++)
        pq->items.at[i].key = pq->key(pq->s, pq->items.at[i].item);
    for (size_t i = pq->items.n / 2; i-- > 0;)
        sift_down(pq, i, pq->items.n);
}

void pq_fini(struct pq *pq)
{
    VEC_FINI(&pq->items);
}
