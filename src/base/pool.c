/* Pool: see pool.h. One queue; first come, first served. */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct work {
    struct work *next;
    loop_fn *work, *done;
    struct loop *loop;
    void *arg;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct work *first, **end;
    bool is_closing;
    char name[16];
    size_t n_threads, n_asleep; /* asleep: those that wait and were not woken */
    pthread_t *threads;
};

/* The next work, or NULL when the pool closes and nothing is left. */
static struct work *next_work(struct pool *pool)
{
    struct work *work;

    pthread_mutex_lock(&pool->lock);
    while (!pool->first && !pool->is_closing) {
        pool->n_asleep++;
        pthread_cond_wait(&pool->arrived, &pool->lock);
    }
    work = pool->first;
    if (work) {
        pool->first = work->next;
        if (!pool->first)
            pool->end = &pool->first;
    }
    pthread_mutex_unlock(&pool->lock);
    return work;
}

static void *run_thread(void *arg)
{
    struct pool *pool = arg;
    struct work *work;

    pthread_setname_np(pthread_self(), pool->name);
    while ((work = next_work(pool))) {
        work->work(work->arg);
        if (work->done)
            loop_post(work->loop, work->done, work->arg);
        free(work);
    }
    return NULL;
}

int pool_open(const char *name, size_t n_threads, struct pool **out, struct err *err)
{
    struct pool *pool = NEW0(struct pool);
    sigset_t all, was;
    int r = 0;

    snprintf(pool->name, sizeof(pool->name), "%s", name);
    pool->end = &pool->first;
    pool->threads = NEW0_N(pthread_t, n_threads);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->arrived, NULL);
    /* Signals are for the loops. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    while (r == 0 && pool->n_threads < n_threads) {
        r = pthread_create(&pool->threads[pool->n_threads], NULL, run_thread, pool);
        pool->n_threads += r == 0;
    }
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (r) {
        r = err_sys(err, -r, "start thread %zu of %zu", pool->n_threads + 1, n_threads);
        pool_close(pool);
        return r;
    }
    *out = pool;
    return 0;
}

void pool_close(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    pthread_cond_broadcast(&pool->arrived);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->arrived);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
}

void pool_run(struct pool *pool, loop_fn *work, struct loop *loop, loop_fn *done, void *arg)
{
    struct work *item = NEW0(struct work);

    *item = (struct work){ .work = work, .done = done, .loop = loop, .arg = arg };
    pthread_mutex_lock(&pool->lock);
    *pool->end = item;
    pool->end = &item->next;
    /* Who was woken looks for more before it sleeps again: for what comes meanwhile nobody need be
     * woken. */
    if (pool->n_asleep > 0) {
        pool->n_asleep--;
        pthread_cond_signal(&pool->arrived);
    }
    pthread_mutex_unlock(&pool->lock);
}
