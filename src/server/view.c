/*
 * View: see view.h.
 *
 * Batches and questions reach the thread through one mailbox, in their order. While nobody follows
 * the listener drops batches; it is turned on before the base is read, so that between them none
 * is missed, and those that the base holds already are passed over.
 */
#include "server/view.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/mailbox.h"
#include "server/feed_engine.h"
#include "server/view_answer.h"

enum { IDLE_MS = 5 * 60000 };

/* A batch or a question on its way. */
struct message {
    struct letter letter;
    struct batch *batch; /* a reference; NULL: a question */
    struct question *question;
};

/* A question from asking to the end of its callback; in view->questions all that time. */
struct question {
    struct question *next, **link;
    struct view *view;
    struct asked asked;
    struct loop *loop;
    view_answer_fn *fn;
    void *arg;
};

struct view {
    struct view_options options;
    struct mailbox box;
    pthread_t thread;
    bool is_running;
    _Atomic bool follows; /* batches are wanted */

    /* the thread's own */
    struct reader *reader;
    struct berth_engine *engine; /* NULL: it does not follow */
    struct feed *feed;
    uint64_t revision;

    /* shared; the lock is held for a few instructions */
    pthread_mutex_t lock;
    struct question *questions;
};

/* ---- in ---- */

static void on_batch(struct batch *batch, void *arg)
{
    struct view *view = arg;
    struct message *message;

    if (!atomic_load(&view->follows))
        return;
    message = NEW0(struct message);
    message->batch = batch_ref(batch);
    mailbox_put(&view->box, &message->letter);
}

void view_ask(struct view *view, const struct view_question *question, struct loop *loop,
              view_answer_fn *fn, void *arg)
{
    struct question *asked = NEW0(struct question);
    struct message *message = NEW0(struct message);

    asked_init(&asked->asked, question);
    asked->view = view;
    asked->loop = loop;
    asked->fn = fn;
    asked->arg = arg;
    message->question = asked;
    pthread_mutex_lock(&view->lock);
    asked->next = view->questions;
    asked->link = &view->questions;
    if (asked->next)
        asked->next->link = &asked->next;
    view->questions = asked;
    pthread_mutex_unlock(&view->lock);
    mailbox_put(&view->box, &message->letter);
}

/* ---- following ---- */

static void let_go(struct view *view)
{
    atomic_store(&view->follows, false);
    berth_engine_free(view->engine);
    view->engine = NULL;
    feed_free(view->feed);
    view->feed = NULL;
    view->revision = 0;
}

static int take_base(struct view *view, const struct batch *base, struct err *err)
{
    int r = feed_engine_make(&view->options.from, &view->engine, err);

    if (r < 0)
        return r;
    feed_free(view->feed);
    view->feed = feed_new(&view->options.from, view->engine);
    feed_engine_apply(view->feed, view->engine, base);
    view->revision = base->revision;
    return 0;
}

static int begin_to_follow(struct view *view, struct err *err)
{
    struct batch *base = NULL;
    int r;

    if (view->engine)
        return 0;
    atomic_store(&view->follows, true);
    r = reader_base(view->reader, &base, err);
    if (r >= 0)
        r = take_base(view, base, err);
    batch_unref(base);
    if (r < 0)
        let_go(view);
    return r < 0 ? r : 0;
}

static void take_batch(struct view *view, const struct batch *batch)
{
    struct err err = { 0 };

    if (!view->engine)
        return;
    if (batch->is_base) {
        if (take_base(view, batch, &err) < 0) {
            log_error("the view has no new engine", "why", err.text, NULL);
            let_go(view);
        }
    } else if (batch->revision > view->revision) {
        feed_engine_apply(view->feed, view->engine, batch);
        view->revision = batch->revision;
    }
}

/* ---- answers ---- */

static void question_end(struct question *question)
{
    struct view *view = question->view;

    pthread_mutex_lock(&view->lock);
    *question->link = question->next;
    if (question->next)
        question->next->link = question->link;
    pthread_mutex_unlock(&view->lock);
    asked_fini(&question->asked);
    mem_free(question);
}

static void give_answer(void *arg)
{
    struct question *question = arg;

    question->fn(&question->asked.answer, question->arg);
    question_end(question);
}

static void take_question(struct view *view, struct question *question)
{
    struct view_answer *answer = &question->asked.answer;
    struct berth_cycle_in in = { .seed = view->options.seed,
                                 .now_ms = clock_wall_ms(view->options.clock) };

    if (answer->code == 0)
        answer->code = begin_to_follow(view, &answer->err);
    in.revision = view->revision;
    if (answer->code == 0)
        asked_answer(&question->asked, view->engine, view->feed, &in);
    loop_post(question->loop, give_answer, question);
}

/* ---- the thread ---- */

static void message_free(struct message *message)
{
    batch_unref(message->batch);
    mem_free(message);
}

static void take_letters(struct view *view, struct letter *letter)
{
    while (letter) {
        struct message *message = CONTAINER(letter, struct message, letter);

        letter = letter->next;
        if (message->question)
            take_question(view, message->question);
        else
            take_batch(view, message->batch);
        message_free(message);
    }
}

static bool has_question(const struct letter *letter)
{
    for (; letter; letter = letter->next)
        if (CONTAINER(letter, const struct message, letter)->question)
            return true;
    return false;
}

static void *run(void *arg)
{
    struct view *view = arg;
    int64_t asked_at_ms = 0;

    while (!mailbox_is_closed(&view->box)) {
        int64_t left_ms = asked_at_ms + view->options.idle_ms - clock_boot_ms(view->options.clock);
        struct letter *letters = view->engine ? mailbox_wait(&view->box, left_ms > 0 ? left_ms : 0)
                                              : mailbox_wait(&view->box, -1);

        if (has_question(letters))
            asked_at_ms = clock_boot_ms(view->options.clock);
        else if (view->engine && left_ms <= 0)
            let_go(view);
        take_letters(view, letters);
    }
    return NULL;
}

bool view_is_following(const struct view *view)
{
    return atomic_load(&view->follows);
}

void view_open(const struct view_options *options, struct view **out)
{
    struct view *view = NEW0(struct view);

    view->options = *options;
    if (!options->clock)
        view->options.clock = &clock_system;
    if (!options->idle_ms)
        view->options.idle_ms = IDLE_MS;
    atomic_init(&view->follows, false);
    mailbox_init(&view->box);
    pthread_mutex_init(&view->lock, NULL);
    ledger_listen(options->ledger, on_batch, view);
    *out = view;
}

int view_start(struct view *view, struct err *err)
{
    int r = reader_open(view->options.ledger, &view->reader, err);

    if (r < 0)
        return r;
    r = pthread_create(&view->thread, NULL, run, view);
    if (r)
        return err_sys(err, -r, "start the view's thread");
    view->is_running = true;
    return 0;
}

void view_stop(struct view *view)
{
    mailbox_close(&view->box);
    if (view->is_running)
        pthread_join(view->thread, NULL);
    view->is_running = false;
    reader_close(view->reader);
    view->reader = NULL;
}

static void drop_letters(struct view *view)
{
    struct letter *letter = mailbox_take(&view->box);

    while (letter) {
        struct message *message = CONTAINER(letter, struct message, letter);

        letter = letter->next;
        message_free(message);
    }
    while (view->questions)
        question_end(view->questions);
}

void view_close(struct view *view)
{
    if (!view)
        return;
    view_stop(view);
    drop_letters(view);
    let_go(view);
    pthread_mutex_destroy(&view->lock);
    mailbox_fini(&view->box);
    mem_free(view);
}
