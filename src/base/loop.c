/* Loop: see loop.h. libevent underneath; posts come over a mailbox and one eventfd. */
#include "base/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mailbox.h"

struct loop {
    struct event_base *base;
    struct mailbox posts;
    int wake_fd;
    struct event *wake;
};

struct post {
    struct letter letter;
    loop_fn *fn;
    void *arg;
};

struct timer {
    struct event *event;
    loop_fn *fn;
    void *arg;
};

struct fdwatch {
    struct event *event;
    fdwatch_fn *fn;
    void *arg;
};

static void run_posts(struct letter *letter)
{
    while (letter) {
        struct post *post = CONTAINER(letter, struct post, letter);
        letter = letter->next;
        post->fn(post->arg);
        free(post);
    }
}

static void on_wake(evutil_socket_t fd, short events, void *arg)
{
    struct loop *loop = arg;
    uint64_t count;

    (void)events;
    /* The count does not matter: all posts are taken. */
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return;
    run_posts(mailbox_take(&loop->posts));
}

int loop_open(struct loop **out, struct err *err)
{
    struct event_config *config = event_config_new();
    struct loop *loop = NEW0(struct loop);

    /* Only loop_post and loop_stop cross threads, and they use the eventfd: no locks needed. */
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    loop->base = event_base_new_with_config(config);
    event_config_free(config);
    mailbox_init(&loop->posts);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!loop->base || loop->wake_fd < 0) {
        int r = err_sys(err, -(errno ? errno : ENOMEM), "make an event loop");
        loop_close(loop);
        return r;
    }
    loop->wake = event_new(loop->base, loop->wake_fd, EV_READ | EV_PERSIST, on_wake, loop);
    event_add(loop->wake, NULL);
    *out = loop;
    return 0;
}

void loop_close(struct loop *loop)
{
    if (!loop)
        return;
    if (loop->wake)
        event_free(loop->wake);
    if (loop->base)
        event_base_free(loop->base);
    for (struct letter *letter = mailbox_take(&loop->posts), *next; letter; letter = next) {
        next = letter->next;
        free(CONTAINER(letter, struct post, letter));
    }
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    mailbox_fini(&loop->posts);
    free(loop);
}

void loop_run(struct loop *loop)
{
    event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static void stop_now(void *arg)
{
    struct loop *loop = arg;

    event_base_loopbreak(loop->base);
}

void loop_stop(struct loop *loop)
{
    loop_post(loop, stop_now, loop);
}

void loop_post(struct loop *loop, loop_fn *fn, void *arg)
{
    struct post *post = NEW0(struct post);
    uint64_t one = 1;

    post->fn = fn;
    post->arg = arg;
    /* A full eventfd (EAGAIN) is awake already. */
    if (mailbox_put(&loop->posts, &post->letter) && write(loop->wake_fd, &one, sizeof(one)) < 0)
        return;
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    struct timer *timer = arg;

    (void)fd;
    (void)events;
    timer->fn(timer->arg);
}

struct timer *timer_new(struct loop *loop, loop_fn *fn, void *arg)
{
    struct timer *timer = NEW0(struct timer);

    timer->fn = fn;
    timer->arg = arg;
    timer->event = evtimer_new(loop->base, on_timer, timer);
    return timer;
}

void timer_free(struct timer *timer)
{
    if (!timer)
        return;
    event_free(timer->event);
    free(timer);
}

void timer_set(struct timer *timer, int64_t in_ms)
{
    struct timeval in = { 0 };

    if (in_ms < 0)
        in_ms = 0;
    in.tv_sec = in_ms / 1000;
    in.tv_usec = in_ms % 1000 * 1000;
    event_add(timer->event, &in);
}

void timer_unset(struct timer *timer)
{
    event_del(timer->event);
}

static void on_watch(evutil_socket_t fd, short events, void *arg)
{
    struct fdwatch *watch = arg;
    unsigned now = (events & EV_READ ? LOOP_READ : 0u) | (events & EV_WRITE ? LOOP_WRITE : 0u);

    watch->fn(fd, now, watch->arg);
}

static struct fdwatch *add_watch(struct loop *loop, int fd, short events, fdwatch_fn *fn, void *arg)
{
    struct fdwatch *watch = NEW0(struct fdwatch);

    watch->fn = fn;
    watch->arg = arg;
    watch->event = event_new(loop->base, fd, (short)(events | EV_PERSIST), on_watch, watch);
    event_add(watch->event, NULL);
    return watch;
}

struct fdwatch *fdwatch_new(struct loop *loop, int fd, unsigned events, fdwatch_fn *fn, void *arg)
{
    short wanted =
        (short)((events & LOOP_READ ? EV_READ : 0) | (events & LOOP_WRITE ? EV_WRITE : 0));

    return add_watch(loop, fd, wanted, fn, arg);
}

struct fdwatch *fdwatch_signal(struct loop *loop, int signal, fdwatch_fn *fn, void *arg)
{
    return add_watch(loop, signal, EV_SIGNAL, fn, arg);
}

void fdwatch_free(struct fdwatch *watch)
{
    if (!watch)
        return;
    event_free(watch->event);
    free(watch);
}

struct event_base *loop_event_base(struct loop *loop)
{
    return loop->base;
}
