/*
 * Channel: see channel.h. libcurl tells which descriptors and which time it waits for; the loop
 * tells it when they come. Inside of libcurl's own callbacks bytes are only put aside: what the
 * user of the client wants to know is said afterwards, so that it may send and cancel as it likes.
 */
#include "client/channel.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct client_ticket {
    struct client *client;
    struct client_ticket *next, **here; /* in the client's list */
    struct exchange exchange;
    struct client_answer answer;
    char *body;
    client_done_fn *done;
    void *arg;
    client_line_fn *on_line; /* of a listening */
    struct str bytes;        /* that came and are not said yet */
    struct timer *timer;     /* of a listening: late with the answer's begin, or idle */
    int64_t idle_ms;
    bool is_in_multi, was_opened, is_over, is_dead;
    int result;
    struct err err;
};

/* ---- Descriptors and times ---- */

static void deliver(struct client *client);

static void on_ready(int fd, unsigned events, void *arg)
{
    struct client *client = arg;
    int n_running, mask = (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
                          (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0);

    curl_multi_socket_action(client->multi, fd, mask, &n_running);
    deliver(client);
}

static void on_time(void *arg)
{
    struct client *client = arg;
    int n_running;

    curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
    deliver(client);
}

static int on_timer_change(CURLM *multi, long in_ms, void *arg)
{
    struct client *client = arg;

    (void)multi;
    if (in_ms < 0)
        timer_unset(client->timer);
    else
        timer_set(client->timer, in_ms);
    return 0;
}

/* libcurl keeps the watch for us beside its socket. */
static int on_socket_change(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct client *client = arg;
    struct fdwatch *watch = socket_arg;
    unsigned events = (what & CURL_POLL_IN && what != CURL_POLL_REMOVE ? LOOP_READ : 0u) |
                      (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE ? LOOP_WRITE : 0u);

    (void)easy;
    fdwatch_free(watch);
    watch = events ? fdwatch_new(client->loop, fd, events, on_ready, client) : NULL;
    curl_multi_assign(client->multi, fd, watch);
    return 0;
}

void channel_open(struct client *client, struct loop *loop)
{
    client->loop = loop;
    client->timer = timer_new(loop, on_time, client);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket_change);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer_change);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
}

/* ---- Tickets ---- */

static void leave_multi(struct client_ticket *ticket)
{
    if (!ticket->is_in_multi)
        return;
    ticket->is_in_multi = false;
    curl_multi_remove_handle(ticket->client->multi, ticket->exchange.easy);
    exchange_end(&ticket->exchange, &ticket->client->target);
}

static void ticket_free(struct client_ticket *ticket)
{
    leave_multi(ticket);
    *ticket->here = ticket->next;
    if (ticket->next)
        ticket->next->here = ticket->here;
    timer_free(ticket->timer);
    client_answer_fini(&ticket->answer);
    str_fini(&ticket->bytes);
    mem_free(ticket->body);
    mem_free(ticket);
}

void channel_close(struct client *client)
{
    assert(!client->is_delivering);
    while (client->first)
        ticket_free(client->first);
    /* Closing the connections takes their watches off the loop. */
    curl_multi_cleanup(client->multi);
    client->multi = NULL;
    timer_free(client->timer);
}

static void end_ticket(struct client_ticket *ticket, int r)
{
    ticket->is_over = true;
    ticket->result = r;
    leave_multi(ticket);
}

static int put_aside(void *arg, const char *bytes, size_t n)
{
    struct client_ticket *ticket = arg;

    str_add_bytes(&ticket->bytes, bytes, n);
    if (ticket->idle_ms > 0)
        timer_set(ticket->timer, ticket->idle_ms);
    return 0;
}

static void on_late(void *arg)
{
    struct client_ticket *ticket = arg;

    end_ticket(ticket, err_set(&ticket->err, -ETIMEDOUT, "%s: nothing came in time",
                               client_address(ticket->client)));
    deliver(ticket->client);
}

/* ---- Saying what came ---- */

/* Says the lines that are whole. */
static void say_lines(struct client_ticket *ticket)
{
    size_t from = 0;

    while (!ticket->is_dead && from < ticket->bytes.len) {
        char *line = ticket->bytes.data + from;
        char *end = memchr(line, '\n', ticket->bytes.len - from);
        if (!end)
            break;
        *end = '\0';
        from += (size_t)(end - line) + 1;
        if (end > line)
            ticket->on_line(ticket->arg, line, (size_t)(end - line));
    }
    str_drop(&ticket->bytes, from);
    if (ticket->bytes.len > CLIENT_LINE_MAX_BYTES && !ticket->is_over)
        end_ticket(ticket, err_set(&ticket->err, -E2BIG, "%s: a line is longer than %d bytes",
                                   client_address(ticket->client), CLIENT_LINE_MAX_BYTES));
}

static void say_opened(struct client_ticket *ticket)
{
    if (ticket->was_opened || !ticket->exchange.has_begun || !client_answer_is_ok(&ticket->answer))
        return;
    ticket->was_opened = true;
    if (ticket->idle_ms > 0)
        timer_set(ticket->timer, ticket->idle_ms);
    else
        timer_unset(ticket->timer);
    ticket->on_line(ticket->arg, NULL, 0);
}

static void say(struct client_ticket *ticket)
{
    if (ticket->on_line && !ticket->is_dead)
        say_opened(ticket);
    if (ticket->on_line && !ticket->is_dead)
        say_lines(ticket);
    if (ticket->is_over && !ticket->is_dead) {
        ticket->is_dead = true;
        ticket->done(ticket->arg, ticket->result, &ticket->answer, &ticket->err);
    }
}

static void take_results(struct client *client)
{
    int n_left;

    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &n_left));) {
        struct client_ticket *ticket = NULL;
        CURLcode code = message->data.result;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&ticket);
        int r = exchange_result(&ticket->exchange, &client->target, code, &ticket->err);
        if (exchange_never_arrived(code))
            target_rotate(&client->target, ticket->exchange.address);
        end_ticket(ticket, r);
    }
}

static void free_dead(struct client *client)
{
    for (struct client_ticket *ticket = client->first, *next; ticket; ticket = next) {
        next = ticket->next;
        if (ticket->is_dead)
            ticket_free(ticket);
    }
}

static void deliver(struct client *client)
{
    if (client->is_delivering)
        return;
    client->is_delivering = true;
    take_results(client);
    /* New tickets are put in front; none is freed until the walk is over. */
    for (struct client_ticket *ticket = client->first; ticket; ticket = ticket->next)
        say(ticket);
    client->is_delivering = false;
    free_dead(client);
}

/* ---- Sending ---- */

static struct client_ticket *begin(struct client *client, const struct client_request *request,
                                   struct client_ticket *ticket)
{
    struct client_request copy = *request;
    int64_t timeout = request->timeout_ms ? request->timeout_ms : CLIENT_CALL_MS;

    assert(client->loop);
    ticket->client = client;
    ticket->here = &client->first;
    ticket->next = client->first;
    if (ticket->next)
        ticket->next->here = &ticket->next;
    client->first = ticket;
    if (request->body)
        copy.body = ticket->body = mem_copy(request->body, request->n_body);
    ticket->exchange.answer = &ticket->answer;
    if (ticket->on_line) {
        ticket->timer = timer_new(client->loop, on_late, ticket);
        if (timeout > 0)
            timer_set(ticket->timer, timeout);
    }
    exchange_begin(&ticket->exchange, &client->target, &copy, timeout);
    curl_easy_setopt(ticket->exchange.easy, CURLOPT_PRIVATE, ticket);
    ticket->is_in_multi = true;
    curl_multi_add_handle(client->multi, ticket->exchange.easy);
    return ticket;
}

struct client_ticket *client_send(struct client *client, const struct client_request *request,
                                  client_done_fn *done, void *arg)
{
    struct client_ticket *ticket = NEW0(struct client_ticket);

    ticket->done = done;
    ticket->arg = arg;
    return begin(client, request, ticket);
}

struct client_ticket *client_listen(struct client *client, const struct client_request *request,
                                    client_line_fn *on_line, client_done_fn *done, void *arg)
{
    struct client_ticket *ticket = NEW0(struct client_ticket);

    ticket->done = done;
    ticket->arg = arg;
    ticket->on_line = on_line;
    ticket->idle_ms = request->idle_ms;
    ticket->exchange.is_stream = true;
    ticket->exchange.on_bytes = put_aside;
    ticket->exchange.arg = ticket;
    return begin(client, request, ticket);
}

void client_cancel(struct client_ticket *ticket)
{
    if (!ticket)
        return;
    ticket->is_dead = true;
    leave_multi(ticket);
    if (!ticket->client->is_delivering)
        ticket_free(ticket);
}
