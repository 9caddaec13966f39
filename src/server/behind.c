/* Behind: see behind.h. */
#include "server/behind.h"

#include <string.h>

enum { WAIT_MAX_S = 10 };

/* A call that waits: its state meanwhile. */
struct behind {
    struct call *call;
    call_fn *fn;
    struct timer *timer;
};

static void behind_free(void *arg)
{
    struct behind *behind = arg;

    watch_forget(behind->call->server->watch, behind);
    timer_free(behind->timer);
    free(behind);
}

static void end(struct behind *behind)
{
    struct call *call = behind->call;

    call->state = NULL;
    call->free_state = NULL;
    behind_free(behind);
}

static void refuse(struct call *call)
{
    call_refuse(call, PROBLEM_BEHIND, "this server is at revision %llu",
                (unsigned long long)watch_revision(call->server->watch));
}

static void it_came(void *arg)
{
    struct behind *behind = arg;
    struct call *call = behind->call;
    call_fn *fn = behind->fn;

    end(behind);
    fn(call);
}

static void too_late(void *arg)
{
    struct behind *behind = arg;
    struct call *call = behind->call;

    end(behind);
    refuse(call);
}

/* "wait=5" among the preferences; others are not ours. */
static int64_t wait_ms(const struct call *call)
{
    const char *prefer = http_header(call->request, "Prefer");
    const char *at = prefer ? strstr(prefer, "wait=") : NULL;
    int64_t seconds = 0;

    for (at = at ? at + 5 : ""; *at >= '0' && *at <= '9' && seconds <= WAIT_MAX_S; at++)
        seconds = seconds * 10 + (*at - '0');
    return (seconds > WAIT_MAX_S ? WAIT_MAX_S : seconds) * 1000;
}

void behind_wait(struct call *call, call_fn *fn)
{
    struct behind *behind;
    int64_t revision = 0, in_ms = wait_ms(call);

    if (!call_query_int(call, "minRevision", 0, INT64_MAX, &revision)) {
        call_end(call);
    } else if ((uint64_t)revision <= watch_revision(call->server->watch)) {
        fn(call);
    } else if (!in_ms) {
        refuse(call);
    } else {
        behind = NEW0(struct behind);
        *behind = (struct behind){ call, fn, timer_new(call->server->loop, too_late, behind) };
        call->state = behind;
        call->free_state = behind_free;
        timer_set(behind->timer, in_ms);
        watch_when(call->server->watch, (uint64_t)revision, it_came, behind);
    }
}
