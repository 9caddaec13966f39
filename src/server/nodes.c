/* Nodes: see nodes.h. The table of requests, and the way in for other threads. */
#include "server/nodes.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/node_lease.h"
#include "server/nodes_inside.h"
#include "server/seen.h"

enum { BOOKMARK_MS = 5000 };

/* Whether the agent is one of this ledger's. One that is not, or is of a copy that went another way,
 * is told nothing, and nothing it says is taken, before it has registered here: the judge decides
 * then. Its node's generation may well be the same. */
static bool is_of_this_ledger(const struct nodes *nodes, struct http_request *request)
{
    struct seen seen;

    if (!seen_read(request, &seen)) {
        nodes_refuse(request, PROBLEM_BAD_REQUEST, "Berth-Seen is an opening and a revision");
        return false;
    }
    if (!seen.opening[0] ||
        ledger_has(nodes->options.ledger, seen.opening, (uint64_t)seen.revision))
        return true;
    nodes_refuse(request, PROBLEM_LEDGER_FORKED, "what was seen last is not in this ledger");
    return false;
}

typedef void request_fn(struct nodes *nodes, struct http_request *request);

/* /v1/worker/WORD, and one part more where it says so. */
static const struct {
    const char *word;
    enum http_method method;
    size_t n_parts;
    request_fn *fn;
} requests[] = {
    { "register", HTTP_POST, 3, talk_register }, { "beat", HTTP_POST, 3, talk_beat },
    { "work", HTTP_GET, 3, work_open },          { "have", HTTP_POST, 3, talk_have },
    { "ack", HTTP_POST, 3, talk_ack },           { "reports", HTTP_POST, 3, talk_reports },
    { "streams", HTTP_POST, 4, logs_take },      { "leave", HTTP_POST, 3, talk_leave },
};

void nodes_handle(struct nodes *nodes, struct http_request *request, const char *by)
{
    const char *word = http_part(request, 2);

    log_debug("an agent calls", "path", http_path(request), "by", by, NULL);
    for (size_t i = 0; word && i < COUNT_OF(requests); i++) {
        if (strcmp(requests[i].word, word) != 0 || http_n_parts(request) != requests[i].n_parts)
            continue;
        if (requests[i].method != http_method(request)) {
            http_set_header(request, "Allow", http_method_words[requests[i].method]);
            nodes_refuse(request, PROBLEM_METHOD_NOT_ALLOWED, "");
        } else if (!nodes->fleet.is_fed) {
            http_set_header(request, "Retry-After", "1");
            nodes_refuse(request, PROBLEM_STARTING, "the ledger is being read");
        } else if (requests[i].fn == talk_register || is_of_this_ledger(nodes, request)) {
            requests[i].fn(nodes, request);
        }
        return;
    }
    nodes_refuse(request, PROBLEM_NOT_FOUND, "no such call of agents");
}

/* ---- answers ---- */

void nodes_answer(struct http_request *request, int status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);

    json_decref(body);
    http_set_header(request, "Content-Type",
                    status < 400 ? "application/json" : "application/problem+json");
    http_answer(request, status, text, strlen(text));
    free(text);
}

void nodes_answer_problem(struct http_request *request, const struct problem *problem)
{
    int status = problem_codes[problem->code].status;

    if (status == 503)
        http_set_header(request, "Retry-After", "1");
    nodes_answer(request, status, problem_to_json(problem, NULL));
}

void nodes_refuse(struct http_request *request, enum problem_code code, const char *detail)
{
    struct problem problem = { 0 };

    problem_set(&problem, code, "%s", *detail ? detail : problem_codes[code].sentence);
    nodes_answer_problem(request, &problem);
}

struct worker *nodes_speaker(struct nodes *nodes, struct http_request *request, const char *node,
                             uint64_t generation)
{
    struct worker *worker = map_get(&nodes->fleet.workers, node);

    if (worker && worker->generation == generation && worker->state != NODE_LOST)
        return worker;
    nodes_refuse(request, PROBLEM_STALE_ATTEMPT,
                 "the node was registered anew, or is not: register again");
    return NULL;
}

/* ---- messages ---- */

static void read_inbox(struct nodes *nodes)
{
    struct letter *letter = mailbox_take(&nodes->inbox);

    while (letter) {
        struct nodes_letter *call = CONTAINER(letter, struct nodes_letter, letter);

        letter = letter->next;
        call->call(nodes, call);
    }
    work_flush(nodes);
}

static void on_ring(void *arg)
{
    struct nodes_bell *bell = arg;
    bool is_last = atomic_fetch_sub(&bell->n_rings, 1) == 1;

    if (bell->nodes)
        read_inbox(bell->nodes);
    else if (is_last)
        mem_free(bell);
}

void nodes_post(struct nodes *nodes, struct nodes_letter *letter)
{
    if (!mailbox_put(&nodes->inbox, &letter->letter))
        return;
    atomic_fetch_add(&nodes->bell->n_rings, 1);
    loop_post(nodes->options.loop, on_ring, nodes->bell);
}

void nodes_at_point(const struct nodes *nodes, const char *point)
{
    if (nodes->options.at_point)
        nodes->options.at_point(point);
}

struct batch_letter {
    struct nodes_letter letter;
    struct batch *batch;
};

static void take_batch(struct nodes *nodes, struct nodes_letter *letter)
{
    struct batch_letter *message = CONTAINER(letter, struct batch_letter, letter);

    work_apply(nodes, message->batch);
    batch_unref(message->batch);
    mem_free(message);
}

static void on_batch(struct batch *batch, void *arg)
{
    struct batch_letter *message = NEW0(struct batch_letter);

    message->letter.call = take_batch;
    message->batch = batch_ref(batch);
    nodes_post(arg, &message->letter);
}

static void drain(struct nodes *nodes, struct nodes_letter *letter)
{
    nodes->is_draining = true;
    work_close_all(nodes);
    mem_free(letter);
}

void nodes_drain(struct nodes *nodes)
{
    struct nodes_letter *letter = NEW0(struct nodes_letter);

    letter->call = drain;
    nodes_post(nodes, letter);
}

static void on_bookmark(void *arg)
{
    struct nodes *nodes = arg;

    work_bookmarks(nodes);
    timer_set(nodes->bookmark, nodes->options.bookmark_ms);
}

/* ---- life ---- */

int nodes_open(const struct nodes_options *options, struct nodes **out, struct err *err)
{
    struct nodes *nodes = NEW0(struct nodes);

    (void)err;
    nodes->options = *options;
    if (!options->clock)
        nodes->options.clock = &clock_system;
    if (!options->ttl_ms)
        nodes->options.ttl_ms = NODE_LEASE_TTL_MS;
    if (!options->beat_ms)
        nodes->options.beat_ms = node_lease_beat_ms(nodes->options.ttl_ms);
    if (!options->bookmark_ms)
        nodes->options.bookmark_ms = BOOKMARK_MS;
    snprintf(nodes->incarnation, sizeof(nodes->incarnation), "%s",
             ledger_incarnation(options->ledger));
    snprintf(nodes->opening, sizeof(nodes->opening), "%s", ledger_opening(options->ledger));
    nodes->lives = ledger_lives(options->ledger);
    nodes->bell = NEW0(struct nodes_bell);
    nodes->bell->nodes = nodes;
    mailbox_init(&nodes->inbox);
    fleet_init(&nodes->fleet);
    pthread_mutex_init(&nodes->lock, NULL);
    nodes->bookmark = timer_new(options->loop, on_bookmark, nodes);
    timer_set(nodes->bookmark, nodes->options.bookmark_ms);
    ledger_listen(options->ledger, on_batch, nodes);
    *out = nodes;
    return 0;
}

void nodes_close(struct nodes *nodes)
{
    if (!nodes)
        return;
    nodes->is_draining = true;
    nodes->fleet.is_fed = false; /* the ledger is closed: nothing more can be asked of it */
    loop_stop(nodes->options.loop);
    loop_run(nodes->options.loop); /* what was posted */
    read_inbox(nodes);
    work_close_all(nodes);
    talk_close_all(nodes);
    logs_close_all(nodes);
    read_inbox(nodes);
    nodes->bell->nodes = NULL;
    if (atomic_load(&nodes->bell->n_rings) == 0)
        mem_free(nodes->bell);
    timer_free(nodes->bookmark);
    map_fini(&nodes->connected);
    map_fini(&nodes->silent);
    MAP_EACH (entry, &nodes->forked)
        mem_free(entry->value);
    map_fini(&nodes->forked);
    map_fini(&nodes->logs);
    fleet_fini(&nodes->fleet);
    pthread_mutex_destroy(&nodes->lock);
    mailbox_fini(&nodes->inbox);
    mem_free(nodes->lives);
    mem_free(nodes);
}

/* ---- numbers ---- */

void nodes_metrics(struct nodes *nodes, struct nodes_metrics *out)
{
    struct nodes_counts *counts = &nodes->counts;

    *out = (struct nodes_metrics){ .n_streams = counts->streams,
                                   .n_logs = counts->logs,
                                   .n_live = counts->live,
                                   .registers = counts->registers,
                                   .beats = counts->beats,
                                   .starts_sent = counts->starts,
                                   .stops_sent = counts->stops,
                                   .drops_sent = counts->drops,
                                   .acks_ok = counts->acks_ok,
                                   .acks_refused = counts->acks_refused,
                                   .reports_ok = counts->reports_ok,
                                   .reports_refused = counts->reports_refused,
                                   .log_bytes = counts->log_bytes };
}

size_t nodes_of_job(struct nodes *nodes, uint64_t job, const char **out, size_t n_max)
{
    return where_find(&nodes->fleet.where, job, out, n_max);
}

bool nodes_is_connected(struct nodes *nodes, const char *node)
{
    bool is_connected;

    pthread_mutex_lock(&nodes->lock);
    is_connected = map_get(&nodes->connected, node) != NULL;
    pthread_mutex_unlock(&nodes->lock);
    return is_connected;
}

bool nodes_is_silent(struct nodes *nodes, const char *node)
{
    bool is_silent;

    pthread_mutex_lock(&nodes->lock);
    is_silent = nodes->silent.n && map_get(&nodes->silent, node) != NULL;
    pthread_mutex_unlock(&nodes->lock);
    return is_silent;
}

char *nodes_forked(struct nodes *nodes, const char *node)
{
    char *why;

    pthread_mutex_lock(&nodes->lock);
    why = text_copy(map_get(&nodes->forked, node));
    pthread_mutex_unlock(&nodes->lock);
    return why;
}
