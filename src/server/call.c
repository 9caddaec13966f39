/* Calls: see call.h. */
#include "server/call.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/yaml.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/name.h"
#include "server/routes.h"

const int64_t server_duration_us[SERVER_DURATION_BUCKETS] = { 500,    1000,   5000,    25000,
                                                              100000, 500000, 2500000, INT64_MAX };

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static void choose_id(struct call *call)
{
    const char *given = http_header(call->request, "Berth-Request-Id");
    char random[DIGEST_HEX_SIZE];
    struct err err = { 0 };

    if (given && given[0] && strlen(given) < CALL_ID_SIZE && is_printable(given)) {
        memcpy(call->id, given, strlen(given) + 1);
        return;
    }
    if (digest_random_hex(random, &err) < 0)
        snprintf(random, sizeof(random), "%016llx", (unsigned long long)call->begun_us);
    snprintf(call->id, sizeof(call->id), "r-%.16s", random);
}

struct call *call_new(struct server *server, struct http_request *request)
{
    struct call *call = NEW0_UPTO(struct call, problem.fields);

    call->server = server;
    call->request = request;
    call->begun_us = clock_boot_us(&clock_system);
    choose_id(call);
    return call;
}

void call_free(struct call *call)
{
    if (!call)
        return;
    if (call->at) {
        *call->at = call->next;
        if (call->next)
            call->next->at = call->at;
    }
    if (call->free_state)
        call->free_state(call->state);
    op_free(call->op);
    json_decref(call->answer);
    free(call->text);
    free(call);
}

void call_track(struct call *call)
{
    call->next = call->server->calls;
    call->at = &call->server->calls;
    if (call->next)
        call->next->at = &call->next;
    call->server->calls = call;
}

void call_end_all(struct server *server)
{
    while (server->calls)
        call_refuse(server->calls, PROBLEM_STARTING, "the server is stopping");
}

static void count(struct call *call, int status)
{
    struct server_counts *counts = &call->server->counts;
    int64_t took_us = clock_boot_us(&clock_system) - call->begun_us;
    int i = 0;

    while (took_us > server_duration_us[i])
        i++;
    counts->requests[status / 100 % 6]++;
    counts->durations[i]++;
    counts->duration_us_sum += (uint64_t)took_us;
    log_debug("request", "method", http_method_text(call->request), "path",
              http_path(call->request), "status", log_int(status), "us", log_int(took_us), "by",
              call->who.name, "id", call->id, NULL);
}

static void set_number(struct call *call, const char *name, const char *quote, uint64_t number)
{
    char text[32];

    if (!number)
        return;
    snprintf(text, sizeof(text), "%s%llu%s", quote, (unsigned long long)number, quote);
    http_set_header(call->request, name, text);
}

static void set_headers(struct call *call, const char *type)
{
    http_set_header(call->request, "Berth-Request-Id", call->id);
    if (type)
        http_set_header(call->request, "Content-Type", type);
    http_set_header(call->request, "Cache-Control", "no-store");
    set_number(call, "Berth-Revision", "", call->revision);
    if (call->server->opening[0]) { /* there is a ledger */
        http_set_header(call->request, "Berth-Incarnation", call->server->incarnation);
        http_set_header(call->request, "Berth-Opening", call->server->opening);
    }
    set_number(call, "ETag", "\"", call->etag);
}

void call_end_bytes(struct call *call, int status, const char *type, const void *bytes, size_t n)
{
    set_headers(call, type);
    count(call, status);
    http_answer(TAKE(call->request), status, bytes, n);
    call_free(call);
}

static bool is_yaml(const struct call *call)
{
    const char *type = http_header(call->request, "Content-Type");
    size_t n = type ? strcspn(type, "; \t") : 0;

    return (n == 16 && strncasecmp(type, "application/yaml", n) == 0) ||
           (n == 18 && strncasecmp(type, "application/x-yaml", n) == 0);
}

/* Where in the body the faulty fields stand. */
static void locate(struct call *call)
{
    size_t n;
    const char *body = http_body(call->request, &n);

    if (!call->problem.n_fields || !n)
        return;
    if (is_yaml(call))
        yaml_locate(body, n, &call->problem);
    else
        json_locate(body, n, &call->problem);
}

/* A line of JSON. */
static char *write_answer(const json_t *answer)
{
    CLEANUP(freep) char *text = json_dumps(answer, JSON_COMPACT | JSON_ENCODE_ANY);
    CLEANUP(str_fini) struct str line = { 0 };

    assert(text);
    str_add(&line, text);
    str_add_char(&line, '\n');
    return str_take(&line);
}

static void end_json(struct call *call, int status, const char *type)
{
    CLEANUP(freep) char *text = call->text ? TAKE(call->text) : write_answer(call->answer);

    call_end_bytes(call, status, type, text, strlen(text));
}

static void end_problem(struct call *call)
{
    int status = call->is_status_kept ? call->status : problem_codes[call->problem.code].status;
    json_t *document;

    locate(call);
    document = problem_to_json(&call->problem, call->id);
    json_object_set_new(document, "status", json_integer(status));
    json_object_set_new(document, "instance", json_string(http_path(call->request)));
    if (status == 401)
        http_set_header(call->request, "WWW-Authenticate", "Bearer realm=\"berth\"");
    if (status == 503 || status == 429)
        http_set_header(call->request, "Retry-After",
                        call->problem.code == PROBLEM_STORE_UNAVAILABLE ? "5" : "1");
    call->revision = call->parted_at;
    call->etag = 0;
    json_decref(TAKE(call->answer));
    call->answer = document;
    mem_free(TAKE(call->text));
    end_json(call, status, "application/problem+json");
}

void call_end(struct call *call)
{
    int status = call->status ? call->status : 200;

    if (call->problem.code)
        end_problem(call);
    else if (call->answer || call->text)
        end_json(call, status, "application/json");
    else
        call_end_bytes(call, status, NULL, "", 0);
}

void call_refuse(struct call *call, enum problem_code code, const char *fmt, ...)
{
    char detail[sizeof(call->problem.detail)];
    va_list args;

    va_start(args, fmt);
    vsnprintf(detail, sizeof(detail), fmt, args);
    va_end(args);
    problem_set(&call->problem, code, "%s", detail);
    call_end(call);
}

struct http_request *call_stream(struct call *call, int status, const char *type)
{
    set_headers(call, type);
    count(call, status);
    http_stream_begin(call->request, status);
    return TAKE(call->request);
}

/* ---- reading and changing ---- */

static bool is_open(struct call *call)
{
    if (!call->server->is_closing)
        return true;
    call_refuse(call, PROBLEM_STARTING, "the server is stopping");
    return false;
}

static void go_on(struct call *call)
{
    call_fn *then = TAKE(call->then);

    if (then && !call->problem.code)
        then(call);
    else
        call_end(call);
}

static void read_work(void *arg)
{
    struct call *call = arg;
    struct reader *reader = server_take_reader(call->server);
    int r = reader_begin(reader, &call->revision, &call->err);

    if (r == 0) {
        r = call->read(call, reader, &call->err);
        reader_end(reader);
    }
    server_put_reader(call->server, reader);
    /* A long list is written here: the loop has others to serve. */
    if (r >= 0 && call->answer && !call->then)
        call->text = write_answer(call->answer);
    if (r < 0 && !call->problem.code)
        problem_set(&call->problem, PROBLEM_STORE_UNAVAILABLE, "%s",
                    call->err.code ? call->err.text : "the ledger cannot be read");
}

static void read_done(void *arg)
{
    struct call *call = arg;

    if (call->err.code)
        log_warn("reading the ledger failed", "path", http_path(call->request), "why",
                 call->err.text, NULL);
    call->err = (struct err){ 0 };
    go_on(call);
}

void call_read(struct call *call, call_read_fn *read, call_fn *then)
{
    if (!is_open(call))
        return;
    call->read = read;
    call->then = then;
    pool_run(call->server->pool, read_work, call->server->loop, read_done, call);
}

static void op_came_back(void *arg)
{
    struct call *call = arg;

    call->revision = call->op->revision;
    if (call->op->problem.code)
        call->problem = call->op->problem;
    go_on(call);
}

/* The writer's thread. */
static void op_done(struct op *op, void *arg)
{
    struct call *call = arg;

    (void)op;
    loop_post(call->server->loop, op_came_back, call);
}

void call_send(struct call *call, struct op *op, call_fn *then)
{
    op_free(TAKE(call->op));
    call->op = op;
    if (!is_open(call))
        return;
    call->then = then;
    op->done = op_done;
    op->arg = call;
    ledger_send(call->server->ledger, op);
}

void call_act(struct call *call, struct op *(*read)(struct call *call, const json_t *body),
              call_fn *then)
{
    json_t *body = call_body(call);
    struct op *op = body ? read(call, body) : NULL;

    json_decref(body);
    if (op)
        call_send(call, op, then);
    else
        call_end(call);
}

/* ---- what came in ---- */

const char *call_query(struct call *call, const char *name)
{
    return http_query(call->request, name);
}

bool call_query_int(struct call *call, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const char *text = call_query(call, name);

    if (!text || text_to_int(text, min, max, out) == 0)
        return true;
    problem_set(&call->problem, PROBLEM_BAD_REQUEST, "%s=%s: want a whole number from %lld to %lld",
                name, text, (long long)min, (long long)max);
    return false;
}

bool call_query_bool(struct call *call, const char *name, bool *out)
{
    const char *text = call_query(call, name);
    bool is_true = text_eq(text, "1") || text_eq(text, "true");

    if (!text)
        return true;
    if (!is_true && !text_eq(text, "0") && !text_eq(text, "false")) {
        problem_set(&call->problem, PROBLEM_BAD_REQUEST, "%s=%s: want 1 or 0", name, text);
        return false;
    }
    *out = is_true;
    return true;
}

json_t *call_body(struct call *call)
{
    const char *type = http_header(call->request, "Content-Type"), *body;
    size_t n, n_type = type ? strcspn(type, "; \t") : 0;
    json_t *object = NULL;
    bool yaml = is_yaml(call);

    body = http_body(call->request, &n);
    if (!(yaml && call->route->takes_yaml) &&
        !(n_type == 16 && strncasecmp(type, "application/json", n_type) == 0)) {
        problem_set(&call->problem, PROBLEM_NOT_JSON, "the Content-Type is %s%s%s; want %s",
                    type ? "`" : "missing", type ? type : "", type ? "`" : "",
                    call->route->takes_yaml ? "application/json or application/yaml"
                                            : "application/json");
        return NULL;
    }
    if ((yaml ? yaml_read : json_read)(body, n, JOB_BODY_MAX_BYTES, &object, &call->problem) == 0)
        return object;
    json_decref(object); /* it has faults */
    return NULL;
}

bool call_if_match(struct call *call, uint64_t *out)
{
    const char *text = http_header(call->request, "If-Match");
    size_t n = text ? strlen(text) : 0;
    char digits[24];
    int64_t revision = 0;

    *out = 0;
    if (!text) {
        problem_set(&call->problem, PROBLEM_PRECONDITION_NEEDED,
                    "send If-Match with the ETag of what was read");
        return false;
    }
    if (text_eq(text, "*"))
        return true;
    if (n >= 3 && n < sizeof(digits) && text[0] == '"' && text[n - 1] == '"') {
        memcpy(digits, text + 1, n - 2);
        digits[n - 2] = '\0';
        if (text_to_int(digits, 1, INT64_MAX, &revision) == 0) {
            *out = (uint64_t)revision;
            return true;
        }
    }
    problem_set(&call->problem, PROBLEM_CHANGED_SINCE, "If-Match: %s is no ETag of this server",
                text);
    return false;
}

bool call_job_id(struct call *call, const char *text, uint64_t *out)
{
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    if (name_parse(text, &parts, &err) == 0 && !parts.group[0] && !parts.has_index) {
        *out = parts.job;
        return true;
    }
    call_not_found(call, "job", text);
    return false;
}

bool call_sees(const struct call *call, const char *ns)
{
    return !call->who.ns[0] || text_eq(call->who.ns, ns);
}

int call_not_found(struct call *call, const char *what, const char *name)
{
    problem_set(&call->problem, PROBLEM_NOT_FOUND, "there is no %s %s", what, name);
    return 0;
}
