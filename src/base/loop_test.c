#include "base/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/test.h"

enum { POSTS = 1000, THREADS = 4 };

struct scene {
    struct loop *loop;
    struct timer *timer;
    int n_done, n_timer;
    atomic_int n_worked;
};

static void work(void *arg)
{
    struct scene *scene = arg;

    atomic_fetch_add(&scene->n_worked, 1);
}

static void done(void *arg)
{
    struct scene *scene = arg;

    if (++scene->n_done == POSTS)
        timer_set(scene->timer, 1);
}

static void on_timer(void *arg)
{
    struct scene *scene = arg;

    scene->n_timer++;
    loop_stop(scene->loop);
}

TEST(loop_gets_every_answer_of_a_pool_then_a_timer)
{
    size_t n_fds = test_count_fds();
    struct scene scene = { 0 };
    struct pool *pool = NULL;
    struct err err = { 0 };

    CHECK_OK(loop_open(&scene.loop, &err), &err);
    CHECK_OK(pool_open("test", THREADS, &pool, &err), &err);
    scene.timer = timer_new(scene.loop, on_timer, &scene);
    for (int i = 0; i < POSTS; i++)
        pool_run(pool, work, scene.loop, done, &scene);
    loop_run(scene.loop);
    CHECK_EQ(scene.n_worked, POSTS);
    CHECK_EQ(scene.n_done, POSTS);
    CHECK_EQ(scene.n_timer, 1);
    pool_close(pool);
    timer_free(scene.timer);
    loop_close(scene.loop);
    CHECK_EQ(test_count_fds(), n_fds);
}

static void on_read(int fd, unsigned events, void *arg)
{
    struct scene *scene = arg;
    char c;

    CHECK_EQ(events, LOOP_READ);
    CHECK_EQ(read(fd, &c, 1), 1);
    scene->n_done += c;
    loop_stop(scene->loop);
}

TEST(loop_watches_a_descriptor)
{
    struct scene scene = { 0 };
    struct err err = { 0 };
    struct fdwatch *watch;
    int fds[2];

    CHECK_EQ(pipe(fds), 0);
    CHECK_OK(loop_open(&scene.loop, &err), &err);
    watch = fdwatch_new(scene.loop, fds[0], LOOP_READ, on_read, &scene);
    CHECK_EQ(write(fds[1], "\7", 1), 1);
    loop_run(scene.loop);
    CHECK_EQ(scene.n_done, 7);
    fdwatch_free(watch);
    loop_close(scene.loop);
    close(fds[0]);
    close(fds[1]);
}
