/*
 * Client: see client.h. This file is the part that blocks; channel.c is the part on a loop.
 */
#include "client/client.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/channel.h"
#include "client/parts.h"

enum { PAUSE_FIRST_MS = 50, PAUSE_MAX_MS = 2000, POLL_MAX_MS = 60000 };

/* ---- Answers ---- */

void client_answer_fini(struct client_answer *answer)
{
    str_fini(&answer->body);
    *answer = (struct client_answer){ 0 };
}

bool client_answer_is_ok(const struct client_answer *answer)
{
    return answer->status >= 200 && answer->status < 300;
}

void client_answer_problem(const struct client_answer *answer, struct problem *out)
{
    json_t *document = json_loadb(str_text(&answer->body), answer->body.len, 0, NULL);

    problem_from_json(document, answer->status, out);
    json_decref(document);
}

void client_escape(const char *text, struct str *out)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text; text++) {
        if (strchr(plain, *text))
            str_add_char(out, *text);
        else
            str_addf(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

/* ---- Life ---- */

int client_open(const struct client_settings *settings, struct loop *loop, struct client **out,
                struct err *err)
{
    CLEANUP(client_closep) struct client *client = NEW0(struct client);
    int r = curl_load(err);

    client->interrupt_fd = -1;
    if (r == 0)
        r = target_init(&client->target, settings, err);
    if (r < 0)
        return r;
    client->multi = curl_multi_init();
    client->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!client->multi || client->interrupt_fd < 0)
        return err_sys(err, -(errno ? errno : ENOMEM), "make a client");
    if (loop)
        channel_open(client, loop);
    *out = TAKE(client);
    return 0;
}

void client_close(struct client *client)
{
    if (!client)
        return;
    if (client->loop)
        channel_close(client);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    target_fini(&client->target);
    if (client->interrupt_fd >= 0)
        close(client->interrupt_fd);
    mem_free(client);
}

void client_closep(struct client **client)
{
    client_close(*client);
}

const char *client_address(const struct client *client)
{
    return client->target.addresses.at[client->target.at];
}

void client_next(struct client *client)
{
    target_rotate(&client->target, client->target.at);
}

void client_hold(struct client *client, const struct client *as)
{
    client->target.seen = as ? as->target.seen : (struct client_point){ 0 };
    client->target.is_held = true;
}

void client_saw(struct client *client, int64_t revision)
{
    if (revision > client->target.seen.revision)
        client->target.seen.revision = revision;
}

void client_interrupt(struct client *client)
{
    uint64_t one = 1;
    int was = errno;

    /* A full counter is an interrupt already. */
    if (write(client->interrupt_fd, &one, sizeof(one)) < 0)
        errno = was;
}

void client_resume(struct client *client)
{
    uint64_t count;

    if (read(client->interrupt_fd, &count, sizeof(count)) < 0)
        return; /* there was none */
}

static bool is_interrupted(const struct client *client, int wait_ms)
{
    struct pollfd fd = { .fd = client->interrupt_fd, .events = POLLIN };

    return poll(&fd, 1, wait_ms) > 0;
}

/* ---- Calls ---- */

/* One call with its repetitions. */
struct call {
    struct client *client;
    const struct client_request *request;
    struct exchange exchange;
    int64_t deadline_ms;  /* CLOCK_BOOTTIME; INT64_MAX: none */
    int64_t last_byte_ms; /* of a stream */
    size_t n_tries;
    int64_t pause_ms;
    client_bytes_fn *on_bytes;
    void *arg;
};

static int64_t left_ms(const struct call *call)
{
    return call->deadline_ms == INT64_MAX ? -1 : call->deadline_ms - clock_boot_ms(&clock_system);
}

/* How long to wait for the next byte; 0 or less: it is late. INT64_MAX: for ever. */
static int64_t wait_ms(const struct call *call)
{
    const struct exchange *exchange = &call->exchange;

    if (!exchange->is_stream || !exchange->has_begun)
        return call->deadline_ms == INT64_MAX ? INT64_MAX : left_ms(call);
    if (call->request->idle_ms <= 0)
        return INT64_MAX;
    return call->last_byte_ms + call->request->idle_ms - clock_boot_ms(&clock_system);
}

static int note_bytes(void *arg, const char *bytes, size_t n)
{
    struct call *call = arg;
    int r = call->on_bytes(call->arg, bytes, n);

    call->last_byte_ms = clock_boot_ms(&clock_system);
    return r;
}

static CURLcode take_code(CURLM *multi)
{
    CURLcode code = CURLE_RECV_ERROR;
    int n_left;

    for (CURLMsg *message; (message = curl_multi_info_read(multi, &n_left));)
        if (message->msg == CURLMSG_DONE)
            code = message->data.result;
    return code;
}

/* Drives one try to its end. Returns 0 and *code; -EINTR; -ETIMEDOUT. */
static int drive(struct call *call, CURLcode *code, struct err *err)
{
    struct client *client = call->client;
    struct curl_waitfd interrupt = { .fd = client->interrupt_fd, .events = CURL_WAIT_POLLIN };
    int n_running = 1;

    for (;;) {
        int64_t wait;

        if (curl_multi_perform(client->multi, &n_running) != CURLM_OK)
            return err_set(err, -EPROTO, "%s: the HTTP library failed", client_address(client));
        if (!n_running)
            break;
        wait = wait_ms(call);
        if (is_interrupted(client, 0))
            return err_set(err, -EINTR, "%s: interrupted", client_address(client));
        if (wait <= 0)
            return err_set(err, -ETIMEDOUT, "%s: no answer in time", client_address(client));
        curl_multi_poll(client->multi, &interrupt, 1,
                        (int)(wait < POLL_MAX_MS ? wait : POLL_MAX_MS), NULL);
    }
    *code = take_code(client->multi);
    return 0;
}

static int try_once(struct call *call, CURLcode *code, struct err *err)
{
    struct client *client = call->client;
    struct exchange *exchange = &call->exchange;
    int r;

    exchange_begin(exchange, &client->target, call->request, left_ms(call));
    call->last_byte_ms = clock_boot_ms(&clock_system);
    call->n_tries++;
    *code = CURLE_OK;
    curl_multi_add_handle(client->multi, exchange->easy);
    r = drive(call, code, err);
    curl_multi_remove_handle(client->multi, exchange->easy);
    if (r == 0)
        r = exchange_result(exchange, &client->target, *code, err);
    exchange_end(exchange, &client->target);
    return r;
}

static bool is_harmless(const struct client_request *request)
{
    return request->is_repeatable || text_eq(request->method, "GET") ||
           text_eq(request->method, "PUT") || text_eq(request->method, "DELETE");
}

/* Whether to send again after a try; *pause_ms is how long to wait before. */
static bool should_repeat(struct call *call, int r, CURLcode code, int64_t *pause_ms)
{
    const struct client_answer *answer = call->exchange.answer;
    bool may = is_harmless(call->request) || exchange_never_arrived(code);

    *pause_ms = call->pause_ms;
    if (call->request->is_once && (r == 0 || call->n_tries >= call->client->target.addresses.n))
        return false;
    if (r == 0 && (answer->status == 503 || answer->status == 429)) {
        if (answer->retry_after_ms > *pause_ms)
            *pause_ms = answer->retry_after_ms;
        /* Both say that nothing was done. */
        may = true;
    } else if (r != -EHOSTUNREACH) {
        return false;
    }
    return may && (call->deadline_ms == INT64_MAX || *pause_ms < left_ms(call));
}

/* Waits before the next try; only when all addresses have been tried is there a pause. */
static bool pause_call(struct call *call, int r, int64_t pause_ms)
{
    struct target *target = &call->client->target;

    target_rotate(target, call->exchange.address);
    if (r < 0 && target->at != 0)
        return !is_interrupted(call->client, 0);
    call->pause_ms = call->pause_ms * 2 < PAUSE_MAX_MS ? call->pause_ms * 2 : PAUSE_MAX_MS;
    return !is_interrupted(call->client, (int)pause_ms);
}

static int run(struct call *call, struct err *err)
{
    int64_t timeout = call->request->timeout_ms ? call->request->timeout_ms : CLIENT_CALL_MS;

    assert(!call->client->loop);
    call->deadline_ms = timeout < 0 ? INT64_MAX : clock_boot_ms(&clock_system) + timeout;
    call->pause_ms = PAUSE_FIRST_MS;
    for (;;) {
        struct err why = { 0 };
        CURLcode code;
        int64_t pause_ms;
        int r = try_once(call, &code, &why);

        if (!should_repeat(call, r, code, &pause_ms)) {
            if (r < 0)
                *err = why;
            return r;
        }
        if (!pause_call(call, r, pause_ms))
            return err_set(err, -EINTR, "%s: interrupted", client_address(call->client));
    }
}

int client_call(struct client *client, const struct client_request *request,
                struct client_answer *answer, struct err *err)
{
    struct call call = { .client = client, .request = request, .exchange = { .answer = answer } };

    return run(&call, err);
}

int client_stream(struct client *client, const struct client_request *request,
                  struct client_answer *answer, client_bytes_fn *on_bytes, void *arg,
                  struct err *err)
{
    struct call call = { .client = client, .request = request, .on_bytes = on_bytes, .arg = arg };

    call.exchange = (struct exchange){
        .answer = answer, .is_stream = true, .on_bytes = note_bytes, .arg = &call
    };
    return run(&call, err);
}
