#include "base/heap.h"

#include "base/test.h"

struct number {
    struct heap_item item;
    uint64_t key;
};

static bool smaller(const struct heap_item *a, const struct heap_item *b, void *arg)
{
    const struct number *x = CONTAINER(a, struct number, item);
    const struct number *y = CONTAINER(b, struct number, item);

    (void)arg;
    return x->key != y->key ? x->key < y->key : x < y;
}

TEST(heap_gives_the_smallest_after_any_change)
{
    static struct number numbers[200];
    struct heap heap;
    uint64_t random = test_seed();

    heap_init(&heap, smaller, NULL);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        numbers[i].item.place = HEAP_OUT;
    for (int step = 0; step < 20000; step++) {
        struct number *one = &numbers[test_random(&random) % COUNT_OF(numbers)];
        if (one->item.place == HEAP_OUT) {
            one->key = test_random(&random) % 50;
            heap_push(&heap, &one->item);
        } else if (test_random(&random) % 2) {
            one->key = test_random(&random) % 50;
            heap_moved(&heap, &one->item);
        } else {
            heap_remove(&heap, &one->item);
        }
        struct heap_item *top = heap_top(&heap);
        for (size_t i = 0; i < COUNT_OF(numbers); i++)
            if (numbers[i].item.place != HEAP_OUT && &numbers[i].item != top)
                CHECK(smaller(top, &numbers[i].item, NULL));
    }
    while (heap_pop(&heap))
        ;
    CHECK_EQ(heap.n, 0);
    heap_fini(&heap);
}
