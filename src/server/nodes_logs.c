/*
 * Nodes, logs: an attempt's log on its way from the agent to a reader on another loop.
 *
 * A piece stays in the agent's request until the reader has passed it on, and only then is the
 * request answered: so a slow reader holds up the agent, nothing piles up here, and at most one
 * piece of a log is under way. An agent whose connection broke sends the same piece again: it
 * joins the first and is answered with it.
 *
 * A nodes_log has two sides. The node loop owns the members under "relay", the reader's loop
 * those under "reader"; what crosses is posted. It is freed when both are done, which may be after
 * the nodes were closed.
 */
#include <inttypes.h>
#include <string.h>

#include "server/nodes_inside.h"

enum { SID_SIZE = 24 };

/* What crosses from the relay to the reader. */
struct piece {
    uint64_t at;
    const char *bytes; /* in the agent's request, which stands until drained */
    size_t n;
};

struct nodes_log {
    struct nodes *nodes; /* NULL: closed, when no thread of either side runs any more */
    struct nodes_log_reader reader;
    struct nodes_log *next_all, **link_all; /* nodes->all_logs */
    atomic_int n_refs;                      /* reader, relay, and each message under way */
    struct nodes_letter opened, drained, closed;
    atomic_bool is_closed; /* set by the reader; the relay stops at the next chance */
    char *attempt, *node;
    uint64_t from, limit;
    bool is_follow;

    /* relay */
    char sid[SID_SIZE]; /* "" not asked for yet, or done with */
    struct worker *worker;
    struct nodes_log *next_of_worker;
    struct http_request *post, *again; /* under way; `again` carries the same bytes */
    struct piece piece;
    uint64_t sent_at; /* of `post`, as the agent has it */
    size_t n_sent;
    uint64_t next;  /* first byte not passed on yet */
    bool has_next;  /* a piece was passed on */
    bool ends_then; /* the end comes behind the piece */
    enum nodes_log_end how;
};

/* ---- life ---- */

static void unlist(struct nodes_log *log)
{
    *log->link_all = log->next_all;
    if (log->next_all)
        log->next_all->link_all = log->link_all;
}

static void log_free(struct nodes_log *log)
{
    if (log->nodes) {
        pthread_mutex_lock(&log->nodes->lock);
        unlist(log);
        pthread_mutex_unlock(&log->nodes->lock);
    }
    mem_free(log->attempt);
    mem_free(log->node);
    mem_free(log);
}

static void log_ref(struct nodes_log *log)
{
    atomic_fetch_add(&log->n_refs, 1);
}

static void log_unref(struct nodes_log *log)
{
    if (atomic_fetch_sub(&log->n_refs, 1) == 1)
        log_free(log);
}

/* ---- the reader's side ---- */

static void give_piece(void *arg)
{
    struct nodes_log *log = arg;

    if (!atomic_load(&log->is_closed) && log->piece.n)
        log->reader.data(log->piece.at, log->piece.bytes, log->piece.n, log->reader.arg);
    log_unref(log);
}

static void give_end(void *arg)
{
    struct nodes_log *log = arg;

    if (!atomic_load(&log->is_closed))
        log->reader.end(log->how, log->reader.arg);
    log_unref(log);
}

static void post_reader(struct nodes_log *log, loop_fn *fn)
{
    log_ref(log);
    loop_post(log->reader.loop, fn, log);
}

static void post_relay(struct nodes_log *log, struct nodes_letter *letter)
{
    if (!log->nodes)
        return;
    log_ref(log);
    nodes_post(log->nodes, letter);
}

void nodes_log_drained(struct nodes_log *log)
{
    post_relay(log, &log->drained);
}

void nodes_log_close(struct nodes_log *log)
{
    if (!log)
        return;
    atomic_store(&log->is_closed, true);
    post_relay(log, &log->closed);
    log_unref(log);
}

/* ---- the relay's side ---- */

static void answer_posts(struct nodes_log *log, int status)
{
    struct http_request *post = TAKE(log->post), *again = TAKE(log->again);

    if (again)
        http_answer(again, status, "", 0);
    if (post)
        http_answer(post, status, "", 0);
}

/* Takes the log off its worker and out of the map: nothing more is taken of its agent. */
static bool detach(struct nodes_log *log)
{
    struct nodes *nodes = log->nodes;

    if (!log->sid[0])
        return false;
    for (struct nodes_log **at = &log->worker->logs; *at; at = &(*at)->next_of_worker) {
        if (*at != log)
            continue;
        *at = log->next_of_worker;
        break;
    }
    map_remove(&nodes->logs, log->sid);
    log->sid[0] = '\0';
    atomic_fetch_sub(&nodes->counts.logs, 1);
    return true;
}

/* The relay is done with it: the reader hears of it (unless it went first). */
static void finish(struct nodes_log *log, enum nodes_log_end how)
{
    if (!detach(log))
        return;
    log->how = how;
    post_reader(log, give_end);
    log_unref(log); /* the relay's own */
}

static void take_drained(struct nodes *nodes, struct nodes_letter *letter)
{
    struct nodes_log *log = CONTAINER(letter, struct nodes_log, drained);

    if (log->post && log->sid[0]) {
        atomic_fetch_add(&nodes->counts.log_bytes, log->piece.n);
        log->next = log->piece.at + log->piece.n;
        log->has_next = true;
        answer_posts(log, 200);
        if (log->ends_then)
            finish(log, log->how);
    }
    log_unref(log);
}

static void send_close(struct nodes *nodes, struct nodes_log *log)
{
    char *line = text_format("{\"do\":\"close\",\"sid\":\"%s\"}", log->sid);

    work_line(nodes, log->worker, line);
    mem_free(line);
}

static void take_closed(struct nodes *nodes, struct nodes_letter *letter)
{
    struct nodes_log *log = CONTAINER(letter, struct nodes_log, closed);

    if (log->sid[0]) {
        send_close(nodes, log);
        detach(log);
        log_unref(log); /* the relay's own */
    }
    answer_posts(log, 410);
    log_unref(log);
}

static void ask_agent(struct nodes *nodes, struct nodes_log *log)
{
    json_t *line;
    char *text;

    snprintf(log->sid, sizeof(log->sid), "s%" PRIu64, ++nodes->n_sids);
    map_put(&nodes->logs, log->sid, log);
    log->next_of_worker = log->worker->logs;
    log->worker->logs = log;
    COUNT_ONE(nodes->counts.logs);
    line = json_pack("{s:s,s:s,s:s,s:I,s:b,s:I}", "do", "open", "sid", log->sid, "attempt",
                     log->attempt, "at", (json_int_t)log->from, "follow", log->is_follow, "limit",
                     (json_int_t)log->limit);
    text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    work_line(nodes, log->worker, text);
    free(text);
}

static void take_opened(struct nodes *nodes, struct nodes_letter *letter)
{
    struct nodes_log *log = CONTAINER(letter, struct nodes_log, opened);

    log->worker = map_get(&nodes->fleet.workers, log->node);
    if (log->worker && log->worker->stream && log->worker->state != NODE_UNREACHABLE &&
        !atomic_load(&log->is_closed)) {
        ask_agent(nodes, log);
    } else {
        log->how = NODES_LOG_NO_AGENT;
        post_reader(log, give_end);
        log_unref(log); /* the relay's own */
    }
    log_unref(log);
}

struct nodes_log *nodes_log_open(struct nodes *nodes, const struct nodes_log_query *query,
                                 const struct nodes_log_reader *reader)
{
    struct nodes_log *log = NEW0(struct nodes_log);

    log->nodes = nodes;
    log->reader = *reader;
    log->attempt = text_copy(query->attempt);
    log->node = text_copy(query->node);
    log->from = query->at;
    log->limit = query->limit;
    log->is_follow = query->is_follow;
    log->opened.call = take_opened;
    log->drained.call = take_drained;
    log->closed.call = take_closed;
    atomic_init(&log->n_refs, 2);
    pthread_mutex_lock(&nodes->lock);
    log->next_all = nodes->all_logs;
    log->link_all = &nodes->all_logs;
    if (log->next_all)
        log->next_all->link_all = &log->next_all;
    nodes->all_logs = log;
    pthread_mutex_unlock(&nodes->lock);
    post_relay(log, &log->opened);
    return log;
}

/* ---- what agents send ---- */

/* Takes a piece that the agent sends again because it heard no answer to it. */
static void take_again(struct nodes_log *log, struct http_request *request, uint64_t at, size_t n)
{
    if (at != log->sent_at || n != log->n_sent) {
        nodes_refuse(request, PROBLEM_CONFLICT, "a piece of this log is under way");
        return;
    }
    if (log->again)
        http_answer(TAKE(log->again), 409, "", 0);
    log->again = request;
}

static void take_piece(struct nodes_log *log, struct http_request *request, uint64_t at)
{
    size_t n;
    const char *bytes = http_body(request, &n);

    log->sent_at = at;
    log->n_sent = n;
    /* What was passed on before the agent heard of it is skipped. */
    if (log->has_next && at < log->next) {
        size_t known = log->next - at < n ? (size_t)(log->next - at) : n;
        bytes += known;
        n -= known;
        at += known;
    }
    if (n) {
        log->post = request;
        log->piece = (struct piece){ at, bytes, n };
        post_reader(log, give_piece);
        return;
    }
    http_answer(request, 200, "", 0);
    if (log->ends_then)
        finish(log, log->how);
}

static bool is_set(const char *value)
{
    return value && strcmp(value, "1") == 0;
}

void logs_take(struct nodes *nodes, struct http_request *request)
{
    struct nodes_log *log = map_get(&nodes->logs, http_part(request, 3));
    const char *node = http_query(request, "node"), *text = http_query(request, "at");
    int64_t at = 0;
    size_t n;

    http_body(request, &n);
    if (!log || !node || strcmp(node, log->node) != 0) {
        nodes_refuse(request, PROBLEM_GONE, "nobody reads this stream");
        return;
    }
    if ((n && !text) || (text && text_to_int(text, 0, INT64_MAX, &at) < 0)) {
        nodes_refuse(request, PROBLEM_BAD_REQUEST, "at must be given, in bytes");
        return;
    }
    if (log->post) {
        take_again(log, request, (uint64_t)at, n);
        return;
    }
    log->ends_then = is_set(http_query(request, "end"));
    log->how = is_set(http_query(request, "gone")) ? NODES_LOG_GONE : NODES_LOG_END;
    take_piece(log, request, (uint64_t)at);
}

void logs_lose(struct nodes *nodes, struct worker *worker)
{
    (void)nodes;
    while (worker->logs) {
        struct nodes_log *log = worker->logs;

        /* A piece under way is still the reader's: its request is answered when it is drained or
         * closed, so the end goes out behind it and the relay's reference stays until then. */
        if (log->post) {
            worker->logs = log->next_of_worker;
            log->ends_then = true;
            log->how = NODES_LOG_NO_AGENT;
            continue;
        }
        finish(log, NODES_LOG_NO_AGENT);
    }
}

void logs_close_all(struct nodes *nodes)
{
    while (nodes->all_logs) {
        struct nodes_log *log = nodes->all_logs;

        log_ref(log);
        log->piece.n = 0; /* its bytes go with the request */
        answer_posts(log, 410);
        finish(log, NODES_LOG_NO_AGENT);
        unlist(log);
        log->nodes = NULL;
        log_unref(log);
    }
}
