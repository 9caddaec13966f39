/*
 * Exchange: see exchange.h. What comes from the server is bounded here: the body, each header that
 * is kept. Redirects, other protocols and proxies of the environment are off: a token goes to the
 * address that was named and nowhere else.
 */
#include "client/exchange.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum { CONNECT_MS = 10000, IDLE_HANDLES_MAX = 16 };

/* Whether text is http(s)://host[:port], no user, path or query. */
static bool is_address(const char *text)
{
    CURLU *url = curl_url();
    char *path = NULL, *more = NULL;
    bool is_good;

    is_good = url && (text_begins(text, "http://") || text_begins(text, "https://")) &&
              curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
              curl_url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK && text_eq(path, "/") &&
              curl_url_get(url, CURLUPART_USER, &more, 0) != CURLUE_OK &&
              curl_url_get(url, CURLUPART_QUERY, &more, 0) != CURLUE_OK &&
              curl_url_get(url, CURLUPART_FRAGMENT, &more, 0) != CURLUE_OK;
    curl_free(path);
    curl_free(more);
    curl_url_cleanup(url);
    return is_good;
}

static int add_address(struct target *target, const char *text, size_t n, struct err *err)
{
    char *address;

    while (n && (text[n - 1] == '/' || text[n - 1] == ' '))
        n--;
    while (n && *text == ' ')
        text++, n--;
    address = mem_copy(text, n);
    VEC_PUSH(&target->addresses, address);
    if (!is_address(address))
        return err_set(err, -EINVAL,
                       "%.100s is not the address of a server: http://HOST:PORT or "
                       "https://HOST:PORT",
                       address);
    return 0;
}

int target_init(struct target *target, const struct client_settings *settings, struct err *err)
{
    const char *addresses = settings->values[SETTING_ADDR];
    const char *token = settings->values[SETTING_TOKEN];

    if (!addresses || !*addresses)
        return err_set(err, -EDESTADDRREQ,
                       "no server is known: start one (berth dev), or set --addr or BERTH_ADDR");
    for (const char *at = addresses, *end; at; at = end ? end + 1 : NULL) {
        end = strchr(at, ',');
        int r = add_address(target, at, end ? (size_t)(end - at) : strlen(at), err);
        if (r < 0)
            return client_setting_blame(settings, SETTING_ADDR, err);
    }
    if (token)
        target->authorization = text_format("Authorization: Bearer %s", token);
    target->cacert = text_copy(settings->values[SETTING_CACERT]);
    target->client_cert = text_copy(settings->values[SETTING_CLIENT_CERT]);
    target->client_key = text_copy(settings->values[SETTING_CLIENT_KEY]);
    return 0;
}

void target_fini(struct target *target)
{
    VEC_EACH (address, &target->addresses)
        mem_free(*address);
    VEC_FINI(&target->addresses);
    VEC_EACH (easy, &target->idle)
        curl_easy_cleanup(*easy);
    VEC_FINI(&target->idle);
    mem_free(target->authorization);
    mem_free(target->cacert);
    mem_free(target->client_cert);
    mem_free(target->client_key);
    *target = (struct target){ 0 };
}

void target_rotate(struct target *target, size_t failed)
{
    if (target->at == failed)
        target->at = (target->at + 1) % target->addresses.n;
}

/* ---- What comes in ---- */

static void keep(char *out, size_t size, const char *value, size_t n)
{
    if (n >= size)
        return; /* longer than anything we ever sent: not kept rather than cut */
    memcpy(out, value, n);
    out[n] = '\0';
}

static int64_t keep_number(const char *value, size_t n, int64_t max)
{
    char text[24] = "";
    int64_t number;

    keep(text, sizeof(text), value, n);
    return text_to_int(text, 0, max, &number) < 0 ? -1 : number;
}

static void take_header(struct client_answer *answer, const char *name, size_t n_name,
                        const char *value, size_t n)
{
#define IS(word) (n_name == sizeof(word) - 1 && strncasecmp(name, word, n_name) == 0)
    if (IS("etag"))
        keep(answer->etag, sizeof(answer->etag), value, n);
    else if (IS("berth-revision"))
        answer->revision = keep_number(value, n, INT64_MAX);
    else if (IS("berth-incarnation"))
        keep(answer->point.incarnation, sizeof(answer->point.incarnation), value, n);
    else if (IS("berth-opening"))
        keep(answer->point.opening, sizeof(answer->point.opening), value, n);
    else if (IS("berth-log-offset"))
        answer->log_offset = keep_number(value, n, INT64_MAX);
    else if (IS("location"))
        keep(answer->location, sizeof(answer->location), value, n);
    else if (IS("berth-request-id"))
        keep(answer->request_id, sizeof(answer->request_id), value, n);
    else if (IS("content-type"))
        keep(answer->content_type, sizeof(answer->content_type), value, n);
    else if (IS("idempotency-replayed"))
        answer->is_replayed = n == 4 && strncasecmp(value, "true", 4) == 0;
    else if (IS("retry-after")) {
        answer->retry_after_ms = keep_number(value, n, 86400);
        if (answer->retry_after_ms > 0)
            answer->retry_after_ms *= 1000;
    }
#undef IS
}

static void forget(struct client_answer *answer)
{
    struct str body = answer->body;

    str_clear(&body);
    *answer = (struct client_answer){
        .body = body, .revision = -1, .retry_after_ms = -1, .log_offset = -1
    };
}

/* What an answer says of its ledger was seen from now on. Of a held client it is never of another
 * one: the server would have refused. */
static void see(struct target *target, struct client_answer *answer)
{
    struct client_point *seen = &target->seen;
    bool is_same = text_eq(seen->incarnation, answer->point.incarnation);

    answer->point.revision = answer->revision > 0 ? answer->revision : 0;
    if (!client_answer_is_ok(answer) || !answer->point.opening[0])
        return;
    if (is_same && seen->revision > answer->point.revision)
        answer->point.revision = seen->revision;
    *seen = answer->point;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    struct exchange *exchange = arg;
    size_t len = size * n;
    const char *colon = memchr(line, ':', len), *value;

    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        forget(exchange->answer); /* what came before was an interim answer */
        return len;
    }
    while (len && strchr("\r\n \t", line[len - 1]))
        len--;
    if (!len) {
        long status = 0;
        curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
        exchange->answer->status = (int)status;
        exchange->has_begun = status >= 200;
        see(exchange->target, exchange->answer);
    }
    if (!colon)
        return size * n;
    value = colon + 1;
    while (value < line + len && (*value == ' ' || *value == '\t'))
        value++;
    if (value <= line + len)
        take_header(exchange->answer, line, (size_t)(colon - line), value,
                    (size_t)(line + len - value));
    return size * n;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct exchange *exchange = arg;
    struct client_answer *answer = exchange->answer;

    n *= size;
    if (exchange->is_stream && client_answer_is_ok(answer)) {
        exchange->sink_result = exchange->on_bytes(exchange->arg, bytes, n);
        return exchange->sink_result < 0 ? CURL_WRITEFUNC_ERROR : n;
    }
    if (n > CLIENT_BODY_MAX_BYTES - answer->body.len) {
        exchange->sink_result = -E2BIG;
        return CURL_WRITEFUNC_ERROR;
    }
    str_add_bytes(&answer->body, bytes, n);
    return n;
}

/* ---- Making it ---- */

static void add_header(struct exchange *exchange, const char *line)
{
    struct curl_slist *headers = curl_slist_append(exchange->headers, line);

    if (!headers)
        abort();
    exchange->headers = headers;
}

static void add_named(struct exchange *exchange, const char *name, const char *value)
{
    CLEANUP(freep) char *line = text_format("%s: %s", name, value);

    add_header(exchange, line);
}

static void set_headers(struct exchange *exchange, const struct target *target,
                        const struct client_request *request)
{
    if (target->authorization)
        add_header(exchange, target->authorization);
    add_named(exchange, "Accept", request->accept ? request->accept : "application/json");
    if (request->body)
        add_named(exchange, "Content-Type",
                  request->content_type ? request->content_type : "application/json");
    if (target->is_held && target->seen.opening[0]) {
        CLEANUP(freep)
        char *seen = text_format("Berth-Seen: %s %lld", target->seen.opening,
                                 (long long)target->seen.revision);

        add_header(exchange, seen);
        add_named(exchange, "Berth-Incarnation", target->seen.incarnation);
    }
    add_header(exchange, "Expect:"); /* never wait to be told to go on */
    for (const char *const *line = request->headers; line && *line; line++)
        add_header(exchange, *line);
    curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers);
}

static bool is_repeatable(const struct client_request *request)
{
    return request->is_repeatable || text_eq(request->method, "GET") ||
           text_eq(request->method, "HEAD") || text_eq(request->method, "PUT") ||
           text_eq(request->method, "DELETE");
}

static void set_request(CURL *easy, const struct target *target,
                        const struct client_request *request)
{
    CLEANUP(freep) char *url = text_format("%s%s", target->addresses.at[target->at], request->path);

    curl_easy_setopt(easy, CURLOPT_URL, url);
    if (request->body || text_eq(request->method, "POST")) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->n_body);
    }
    if (!text_eq(request->method, "GET"))
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    /* On a kept connection that the server closed meanwhile, curl sends again by itself. */
    if (!is_repeatable(request))
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
}

static void set_limits(CURL *easy, const struct target *target, bool is_stream, int64_t left_ms)
{
    long left = left_ms < 0 ? 0 : left_ms > 0 ? (long)left_ms : 1;

    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     left && left < CONNECT_MS ? left : (long)CONNECT_MS);
    if (!is_stream)
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, left);
    if (target->cacert)
        curl_easy_setopt(easy, CURLOPT_CAINFO, target->cacert);
    if (target->client_cert)
        curl_easy_setopt(easy, CURLOPT_SSLCERT, target->client_cert);
    if (target->client_key)
        curl_easy_setopt(easy, CURLOPT_SSLKEY, target->client_key);
}

void exchange_begin(struct exchange *exchange, struct target *target,
                    const struct client_request *request, int64_t left_ms)
{
    CURL *easy = target->idle.n ? target->idle.at[--target->idle.n] : curl_easy_init();

    if (!easy)
        abort();
    exchange->easy = easy;
    exchange->target = target;
    exchange->address = target->at;
    exchange->why[0] = '\0';
    exchange->has_begun = false;
    exchange->sink_result = 0;
    forget(exchange->answer);
    set_request(easy, target, request);
    set_headers(exchange, target, request);
    set_limits(easy, target, exchange->is_stream, left_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->why);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
}

void exchange_end(struct exchange *exchange, struct target *target)
{
    curl_slist_free_all(exchange->headers);
    exchange->headers = NULL;
    if (!exchange->easy)
        return;
    curl_easy_reset(exchange->easy);
    if (target->idle.n < IDLE_HANDLES_MAX)
        VEC_PUSH(&target->idle, exchange->easy);
    else
        curl_easy_cleanup(exchange->easy);
    exchange->easy = NULL;
}

bool exchange_never_arrived(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY;
}

int exchange_result(struct exchange *exchange, const struct target *target, CURLcode code,
                    struct err *err)
{
    const char *address = target->addresses.at[exchange->address];
    const char *why = exchange->why[0] ? exchange->why : curl_easy_strerror(code);

    if (code == CURLE_OK)
        return 0;
    if (exchange->sink_result == -E2BIG)
        return err_set(err, -E2BIG, "%s: the answer is larger than %d bytes", address,
                       CLIENT_BODY_MAX_BYTES);
    if (exchange->sink_result < 0)
        return err_set(err, exchange->sink_result, "%s: the stream was ended here", address);
    if (exchange->is_stream && exchange->has_begun && client_answer_is_ok(exchange->answer))
        return err_set(err, -EPIPE, "%s: the stream broke: %s", address, why);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, -ETIMEDOUT, "%s: no answer in time: %s", address, why);
    if (exchange_never_arrived(code) || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
        code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE)
        return err_set(err, -EHOSTUNREACH, "%s: not reachable: %s", address, why);
    return err_set(err, -EPROTO, "%s: %s", address, why);
}
