/* Ask: see ask.h. */
#include "cli/ask.h"

#include <string.h>

#include "base/clock.h"
#include "cli/events.h"

struct ask {
    struct ask_options options;
    char *method, *path, *body;
    int64_t since_ms; /* boot clock */
    unsigned n_tries;
    struct client_ticket *ticket;
    struct timer *timer;
};

void ask_close(struct ask *ask)
{
    if (!ask)
        return;
    client_cancel(ask->ticket);
    timer_free(ask->timer);
    mem_free(ask->method);
    mem_free(ask->path);
    mem_free(ask->body);
    mem_free(ask);
}

static bool may_repeat(const struct ask *ask, int r, const struct client_answer *answer)
{
    if (r == 0 && answer->status != 503 && answer->status != 429)
        return false;
    return ask->options.give_up_ms < 0 ||
           clock_boot_ms(&clock_system) - ask->since_ms < ask->options.give_up_ms;
}

static void on_done(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct ask *ask = arg;
    ask_fn *fn = ask->options.fn;
    void *fn_arg = ask->options.arg;
    struct problem problem = { 0 };
    json_t *document = NULL;
    int status = r < 0 ? 0 : answer->status;

    ask->ticket = NULL;
    if (may_repeat(ask, r, answer)) {
        timer_set(ask->timer, pause_of_try(ask->n_tries++));
        return;
    }
    if (r == 0 && client_answer_is_ok(answer))
        document = json_loadb(str_text(&answer->body), answer->body.len, 0, NULL);
    else if (r == 0)
        client_answer_problem(answer, &problem);
    else
        problem_set(&problem, PROBLEM_NONE, "%s", err->text);
    ask_close(ask);
    fn(fn_arg, document, answer->revision, status, &problem);
    json_decref(document);
}

static void send_ask(void *arg)
{
    struct ask *ask = arg;
    struct client_request request = {
        .method = ask->method,
        .path = ask->path,
        .body = ask->body,
        .n_body = ask->body ? strlen(ask->body) : 0,
        .is_repeatable = true,
    };

    ask->ticket = client_send(ask->options.client, &request, on_done, ask);
}

struct ask *ask_open(const struct ask_options *options)
{
    struct ask *ask = NEW0(struct ask);

    ask->options = *options;
    ask->method = text_copy(options->method);
    ask->path = text_copy(options->path);
    ask->body = text_copy(options->body);
    ask->since_ms = clock_boot_ms(&clock_system);
    ask->timer = timer_new(options->loop, send_ask, ask);
    send_ask(ask);
    return ask;
}
