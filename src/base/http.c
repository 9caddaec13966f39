/* HTTP server: see http.h. The only file that knows libevent's sockets. A connection has one
 * request at a time; it is freed only from its own socket's and timer's callbacks, never within a
 * call of a handler. */
#include "base/http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/http_head.h"
#include "base/http_target.h"
#include "base/listen.h"

enum {
    LINGER_MS = 2000,    /* how long a refused peer's bytes are drained, so that it can read why */
    AHEAD_BYTES = 65536, /* read ahead of the request at hand at most */
    ACCEPT_AGAIN_MS = 100, /* after running out of descriptors */
};

enum phase {
    READING,   /* a request, or between two */
    HANDLING,  /* a handler has it */
    FLUSHING,  /* the last answer is on its way; then it is shut */
    LINGERING, /* shut; the peer's rest is thrown away */
};

struct http_request {
    struct connection *connection; /* NULL once it is closed */
    struct http_head head;
    struct http_target target;
    struct str body;
    char peer[INET6_ADDRSTRLEN];
    struct str headers; /* of the answer */
    int status;
    bool is_stream, is_chunked;
    http_fn *on_drained, *on_close;
    void *on_drained_arg, *on_close_arg;
};

struct connection {
    struct connection *next, **at; /* in the server's list */
    struct http_server *server;
    struct bufferevent *socket;
    struct timer *timer;
    struct http_request *request; /* being read or handled; NULL between two */
    enum phase phase;
    bool is_last;    /* no further request is read */
    bool has_ended;  /* the peer sends no more */
    bool is_reading; /* within read_input: no recursion */
    char peer[INET6_ADDRSTRLEN];
};

struct http_server {
    struct loop *loop;
    struct http_options options;
    struct evconnlistener *listener;
    struct timer *accept_again;
    struct connection *connections;
    size_t n_connections;
    struct listen_address at;
};

const char *const http_method_words[HTTP_METHOD_COUNT] = {
    [HTTP_GET] = "GET",     [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST", [HTTP_PUT] = "PUT",
    [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE", [HTTP_OTHER] = "",
};

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        { 100, "Continue" },
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 304, "Not Modified" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 406, "Not Acceptable" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 415, "Unsupported Media Type" },
        { 422, "Unprocessable Content" },
        { 428, "Precondition Required" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Unknown";
}

/* ---- requests ---- */

static struct http_request *request_new(struct connection *connection)
{
    struct http_request *request = NEW0(struct http_request);
    const struct http_options *options = &connection->server->options;

    request->connection = connection;
    http_head_init(&request->head, options->head_max_bytes, options->body_max_bytes);
    memcpy(request->peer, connection->peer, sizeof(request->peer));
    return request;
}

static void request_free(struct http_request *request)
{
    if (!request)
        return;
    http_head_fini(&request->head);
    http_target_fini(&request->target);
    str_fini(&request->body);
    str_fini(&request->headers);
    free(request);
}

static const char *target_of(const struct http_request *request)
{
    return request->head.target ? request->head.text.data + request->head.target : "";
}

enum http_method http_method(const struct http_request *request)
{
    for (int i = 0; i < HTTP_OTHER; i++)
        if (text_eq(http_method_text(request), http_method_words[i]))
            return (enum http_method)i;
    return HTTP_OTHER;
}

const char *http_method_text(const struct http_request *request)
{
    return request->head.target ? request->head.text.data + request->head.method : "";
}

const char *http_path(const struct http_request *request)
{
    return target_of(request);
}

size_t http_n_parts(const struct http_request *request)
{
    return request->target.parts.n;
}

const char *http_part(const struct http_request *request, size_t i)
{
    return http_target_part(&request->target, i);
}

size_t http_n_queries(const struct http_request *request)
{
    return request->target.queries.n;
}

void http_query_at(const struct http_request *request, size_t i, const char **name,
                   const char **value)
{
    const struct http_target *target = &request->target;

    assert(i < target->queries.n);
    *name = target->texts.data + target->queries.at[i].name;
    *value = target->texts.data + target->queries.at[i].value;
}

const char *http_query(const struct http_request *request, const char *name)
{
    return http_target_query(&request->target, name);
}

const char *http_query_text(const struct http_request *request)
{
    const char *query = strchr(target_of(request) + request->target.n_path, '?');

    return query ? query + 1 : "";
}

const char *http_header(const struct http_request *request, const char *name)
{
    size_t at = 0;

    return http_head_field(&request->head, name, &at);
}

size_t http_n_headers(const struct http_request *request, const char *name)
{
    size_t at = 0, n = 0;

    while (http_head_field(&request->head, name, &at))
        n++;
    return n;
}

const char *http_body(const struct http_request *request, size_t *n)
{
    *n = request->body.len;
    return str_text(&request->body);
}

const char *http_peer(const struct http_request *request)
{
    return request->peer;
}

/* ---- connections ---- */

static void connection_free(struct connection *connection)
{
    *connection->at = connection->next;
    if (connection->next)
        connection->next->at = connection->at;
    connection->server->n_connections--;
    timer_free(connection->timer);
    bufferevent_free(connection->socket);
    free(connection);
}

/* The peer is gone: a handler's request stays with it, one still being read ends here. */
static void drop_connection(struct connection *connection)
{
    struct http_request *request = connection->request;
    bool is_handled = connection->phase == HANDLING;
    http_fn *fn;

    connection_free(connection);
    if (!request)
        return;
    request->connection = NULL;
    if (!is_handled) {
        request_free(request);
        return;
    }
    fn = request->on_close;
    request->on_close = NULL;
    if (fn)
        fn(request, request->on_close_arg);
}

static struct evbuffer *output_of(const struct connection *connection)
{
    return bufferevent_get_output(connection->socket);
}

static void shut(struct connection *connection)
{
    connection->phase = LINGERING;
    shutdown(bufferevent_getfd(connection->socket), SHUT_WR);
    /* What the peer had sent before it read the answer must be taken, or its system throws the
     * answer away. */
    timer_set(connection->timer, connection->has_ended ? 0 : LINGER_MS);
    evbuffer_drain(bufferevent_get_input(connection->socket), SIZE_MAX);
}

static void finish_connection(struct connection *connection)
{
    connection->phase = FLUSHING;
    if (evbuffer_get_length(output_of(connection)) == 0)
        shut(connection);
}

static void refuse_request(struct connection *connection, int status, const char *why)
{
    struct http_server *server = connection->server;
    struct http_request *request = connection->request;

    connection->phase = HANDLING;
    connection->is_last = true;
    timer_unset(connection->timer);
    if (server->options.refuse) {
        server->options.refuse(request, status, why, server->options.arg);
        return;
    }
    http_set_header(request, "Content-Type", "text/plain");
    http_answer(request, status, why, strlen(why));
}

static void begin_request(struct connection *connection)
{
    connection->request = request_new(connection);
    timer_set(connection->timer, connection->server->options.head_ms);
}

static void begin_body(struct connection *connection)
{
    const struct http_head *head = &connection->request->head;

    timer_set(connection->timer, connection->server->options.body_ms);
    if (head->is_expecting_100 && head->minor == 1 && (head->is_chunked || head->body_bytes))
        evbuffer_add_printf(output_of(connection), "HTTP/1.1 100 Continue\r\n\r\n");
}

static void handle_request(struct connection *connection)
{
    struct http_request *request = connection->request;
    struct http_server *server = connection->server;

    timer_unset(connection->timer);
    if (http_target_split(target_of(request), &request->target) < 0) {
        refuse_request(connection, 400, "the path or query has a bad escape or too many parts");
        return;
    }
    connection->is_last |= !request->head.is_keep_alive;
    connection->phase = HANDLING;
    server->options.fn(request, server->options.arg);
}

/* One step with what is contiguous in the input; false when more must come first. */
static bool read_step(struct connection *connection)
{
    struct evbuffer *input = bufferevent_get_input(connection->socket);
    size_t n = evbuffer_get_contiguous_space(input), used, n_data;
    const char *bytes = n ? (const char *)evbuffer_pullup(input, (ev_ssize_t)n) : "", *data;
    struct http_request *request;
    enum http_step step;

    if (!connection->request && n == 0)
        return false;
    if (!connection->request)
        begin_request(connection);
    request = connection->request;
    step = http_head_read(&request->head, bytes, n, &used, &data, &n_data);
    str_add_bytes(&request->body, data, n_data);
    evbuffer_drain(input, used);
    switch (step) {
    case HTTP_STEP_MORE:
        return evbuffer_get_length(input) > 0;
    case HTTP_STEP_HEAD:
        begin_body(connection);
        return true;
    case HTTP_STEP_DATA:
        return true;
    case HTTP_STEP_DONE:
        handle_request(connection);
        return true;
    case HTTP_STEP_REFUSED:
        refuse_request(connection, request->head.status, request->head.why);
        return true;
    }
    return false;
}

static void read_input(struct connection *connection)
{
    if (connection->is_reading)
        return;
    connection->is_reading = true;
    while (connection->phase == READING && read_step(connection))
        ;
    connection->is_reading = false;
}

/* The request was answered whole: on to the next, or to the end. */
static void end_request(struct http_request *request)
{
    struct connection *connection = request->connection;

    request_free(request);
    if (!connection)
        return;
    connection->request = NULL;
    if (connection->is_last) {
        finish_connection(connection);
        return;
    }
    connection->phase = READING;
    timer_set(connection->timer, connection->server->options.idle_ms);
    /* The peer had sent its end while the handler worked; what it sent before is answered. */
    read_input(connection);
    if (connection->has_ended && connection->phase == READING)
        finish_connection(connection);
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct connection *connection = arg;

    if (connection->phase == READING)
        read_input(connection);
    else if (connection->phase != HANDLING)
        evbuffer_drain(bufferevent_get_input(socket), SIZE_MAX);
}

static void on_written(struct bufferevent *socket, void *arg)
{
    struct connection *connection = arg;
    struct http_request *request = connection->request;

    (void)socket;
    if (connection->phase == FLUSHING)
        shut(connection);
    else if (connection->phase == HANDLING && request->is_stream && request->on_drained)
        request->on_drained(request, request->on_drained_arg);
}

static void on_event(struct bufferevent *socket, short events, void *arg)
{
    struct connection *connection = arg;
    struct http_request *request = connection->request;
    http_fn *fn;

    (void)socket;
    /* An end of the peer's sending alone may come from one that still listens. */
    if (!(events & BEV_EVENT_EOF) || connection->phase == READING ||
        connection->phase == LINGERING || (connection->phase == HANDLING && request->is_stream)) {
        drop_connection(connection);
        return;
    }
    connection->has_ended = true;
    if (connection->phase != HANDLING || !request->on_close)
        return;
    fn = request->on_close;
    request->on_close = NULL;
    fn(request, request->on_close_arg);
}

static void on_timer(void *arg)
{
    struct connection *connection = arg;

    if (connection->phase == READING && connection->request)
        refuse_request(connection, 408, "the request did not come in time");
    else
        drop_connection(connection);
}

/* ---- answers ---- */

void http_set_header(struct http_request *request, const char *name, const char *value)
{
    str_addf(&request->headers, "%s: ", name);
    for (; *value; value++)
        str_add_char(&request->headers,
                     (unsigned char)*value < ' ' || *value == 0x7f ? ' ' : *value);
    str_add(&request->headers, "\r\n");
}

int http_status(const struct http_request *request)
{
    return request->status;
}

static void add_date(struct str *out)
{
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t now = (time_t)(clock_wall_ms(&clock_system) / 1000);
    struct tm tm;

    gmtime_r(&now, &tm);
    str_addf(out, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n", days + tm.tm_wday * 3,
             tm.tm_mday, months + tm.tm_mon * 3, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
             tm.tm_sec);
}

/* The head of an answer; how its body ends is added by the caller, with the empty line. */
static void make_head(const struct http_request *request, int status, struct str *out)
{
    const struct connection *connection = request->connection;

    str_addf(out, "HTTP/1.1 %d %s\r\n", status, http_status_text(status));
    add_date(out);
    str_add_bytes(out, str_text(&request->headers), request->headers.len);
    if (connection->is_last)
        str_add(out, "Connection: close\r\n");
    else if (request->head.minor == 0)
        str_add(out, "Connection: keep-alive\r\n");
}

/*
 * Sends head and body of a whole answer. Where nothing waits to be sent it goes to the system at
 * once, which saves the loop a turn and three calls; what the system does not take waits for the
 * socket, and an error is seen there.
 */
static void send_answer(struct connection *connection, const struct str *head, const char *body,
                        size_t n)
{
    struct evbuffer *out = output_of(connection);
    struct iovec parts[2] = { { head->data, head->len }, { (char *)body, n } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = n ? 2 : 1 };
    ssize_t sent = -1;

    if (evbuffer_get_length(out) == 0)
        sent =
            sendmsg(bufferevent_getfd(connection->socket), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (size_t i = 0, done = sent > 0 ? (size_t)sent : 0; i < message.msg_iovlen; i++) {
        size_t gone = done < parts[i].iov_len ? done : parts[i].iov_len;
        evbuffer_add(out, (char *)parts[i].iov_base + gone, parts[i].iov_len - gone);
        done -= gone;
    }
}

void http_answer(struct http_request *request, int status, const void *body, size_t n)
{
    struct connection *connection = request->connection;

    assert(!request->status);
    request->status = status;
    if (connection) {
        CLEANUP(str_fini) struct str head = { 0 };
        bool may_have_body = status != 204 && status != 304;

        make_head(request, status, &head);
        if (may_have_body)
            str_addf(&head, "Content-Length: %zu\r\n", n);
        str_add(&head, "\r\n");
        send_answer(connection, &head, body,
                    may_have_body && http_method(request) != HTTP_HEAD ? n : 0);
    }
    end_request(request);
}

void http_stream_begin(struct http_request *request, int status)
{
    struct connection *connection = request->connection;
    CLEANUP(str_fini) struct str head = { 0 };

    assert(!request->status);
    request->status = status;
    request->is_stream = true;
    if (!connection)
        return;
    request->is_chunked = request->head.minor == 1;
    connection->is_last |= !request->is_chunked;
    make_head(request, status, &head);
    str_add(&head, request->is_chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    evbuffer_add(output_of(connection), head.data, head.len);
}

static bool has_body(const struct http_request *request)
{
    return request->connection && http_method(request) != HTTP_HEAD;
}

void http_stream_write(struct http_request *request, const void *data, size_t n)
{
    struct evbuffer *out;

    assert(request->is_stream);
    if (n == 0 || !has_body(request))
        return;
    out = output_of(request->connection);
    if (request->is_chunked)
        evbuffer_add_printf(out, "%zx\r\n", n);
    evbuffer_add(out, data, n);
    if (request->is_chunked)
        evbuffer_add(out, "\r\n", 2);
}

size_t http_stream_buffered(const struct http_request *request)
{
    return request->connection ? evbuffer_get_length(output_of(request->connection)) : 0;
}

void http_on_drained(struct http_request *request, http_fn *fn, void *arg)
{
    request->on_drained = fn;
    request->on_drained_arg = arg;
}

void http_on_close(struct http_request *request, http_fn *fn, void *arg)
{
    request->on_close = fn;
    request->on_close_arg = arg;
}

bool http_is_closed(const struct http_request *request)
{
    return !request->connection || (request->is_stream && request->connection->has_ended);
}

void http_stream_end(struct http_request *request)
{
    assert(request->is_stream);
    if (request->is_chunked && has_body(request))
        evbuffer_add_printf(output_of(request->connection), "0\r\n\r\n");
    end_request(request);
}

void http_stream_abort(struct http_request *request)
{
    struct connection *connection = request->connection;

    assert(request->is_stream);
    if (connection) {
        connection->request = NULL;
        connection->phase = LINGERING;
        timer_set(connection->timer, 0);
    }
    request_free(request);
}

/* ---- the listener ---- */

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int n_address, void *arg)
{
    struct http_server *server = arg;
    struct connection *connection;
    struct timeval write_limit = { .tv_sec = server->options.write_ms / 1000,
                                   .tv_usec = server->options.write_ms % 1000 * 1000 };

    (void)listener;
    if (server->n_connections >= server->options.connections_max) {
        close(fd);
        return;
    }
    connection = NEW0(struct connection);
    connection->server = server;
    connection->socket =
        bufferevent_socket_new(loop_event_base(server->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    connection->timer = timer_new(server->loop, on_timer, connection);
    connection->next = server->connections;
    connection->at = &server->connections;
    if (connection->next)
        connection->next->at = &connection->next;
    server->connections = connection;
    server->n_connections++;
    getnameinfo(address, (socklen_t)n_address, connection->peer, sizeof(connection->peer), NULL, 0,
                NI_NUMERICHOST);
    bufferevent_setcb(connection->socket, on_read, on_written, on_event, connection);
    bufferevent_setwatermark(connection->socket, EV_READ, 0, AHEAD_BYTES);
    bufferevent_set_timeouts(connection->socket, NULL, &write_limit);
    bufferevent_enable(connection->socket, EV_READ | EV_WRITE);
    timer_set(connection->timer, server->options.idle_ms);
}

/* Out of descriptors, most likely: leave the peers waiting for a moment instead of spinning. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct http_server *server = arg;

    evconnlistener_disable(listener);
    timer_set(server->accept_again, ACCEPT_AGAIN_MS);
}

static void accept_again(void *arg)
{
    struct http_server *server = arg;

    if (server->listener)
        evconnlistener_enable(server->listener);
}

static int open_listener(struct http_server *server, struct err *err)
{
    int fd = listen_open(server->options.listen, server->options.is_shared, &server->at, err);

    if (fd < 0)
        return fd;
    server->listener = evconnlistener_new(loop_event_base(server->loop), on_accept, server,
                                          LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    evconnlistener_set_error_cb(server->listener, on_accept_error);
    return 0;
}

#define DEFAULT(member, value) ((member) = (member) ? (member) : (value))

int http_server_open(struct loop *loop, const struct http_options *options,
                     struct http_server **out, struct err *err)
{
    struct http_server *server = NEW0(struct http_server);
    int r;

    server->loop = loop;
    server->options = *options;
    DEFAULT(server->options.head_max_bytes, 16 << 10);
    DEFAULT(server->options.body_max_bytes, 1 << 20);
    DEFAULT(server->options.connections_max, 10000);
    DEFAULT(server->options.idle_ms, 75000);
    DEFAULT(server->options.head_ms, 10000);
    DEFAULT(server->options.body_ms, 60000);
    DEFAULT(server->options.write_ms, 30000);
    server->accept_again = timer_new(loop, accept_again, server);
    r = open_listener(server, err);
    server->options.listen = server->at.text;
    if (r < 0) {
        http_server_close(server);
        return r;
    }
    *out = server;
    return 0;
}

void http_server_deafen(struct http_server *server)
{
    if (server->listener)
        evconnlistener_free(server->listener);
    server->listener = NULL;
}

void http_server_close(struct http_server *server)
{
    if (!server)
        return;
    http_server_deafen(server);
    while (server->connections)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) dropped, it is out of the list */
        drop_connection(server->connections);
    timer_free(server->accept_again);
    free(server);
}

const char *http_server_address(const struct http_server *server)
{
    return server->at.text;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->at.port;
}

size_t http_server_n_connections(const struct http_server *server)
{
    return server->n_connections;
}
