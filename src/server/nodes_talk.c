/*
 * Nodes, requests that become operations.
 *
 * The operations of one request go to the ledger together and in its order; when the last is done
 * the request is answered. Agents repeat what was not answered, and a repeat is harmless, so
 * whatever may pass is answered as a whole (503) and nothing is remembered.
 */
#include "server/nodes_talk.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/node_lease.h"
#include "server/seen.h"

/* ---- the machinery ---- */

static struct talk *talk_new(struct nodes *nodes, struct http_request *request,
                             void (*finish)(struct talk *talk))
{
    struct talk *talk = NEW0_UPTO(struct talk, message.problem.fields);

    talk->nodes = nodes;
    talk->request = request;
    talk->finish = finish;
    talk->next = nodes->talks;
    talk->link = &nodes->talks;
    if (talk->next)
        talk->next->link = &talk->next;
    nodes->talks = talk;
    return talk;
}

static void talk_free(struct talk *talk)
{
    *talk->link = talk->next;
    if (talk->next)
        talk->next->link = talk->link;
    for (size_t i = 0; i < talk->n_items; i++)
        if (talk->items[i].op)
            op_free(talk->items[i].op);
    message_fini(&talk->message);
    mem_free(talk->unknown);
    mem_free(talk->items);
    mem_free(talk);
}

static void talk_refuse(struct talk *talk)
{
    nodes_answer_problem(talk->request, &talk->message.problem);
    talk_free(talk);
}

static void take_done(struct nodes *nodes, struct nodes_letter *letter)
{
    struct talk_item *item = CONTAINER(letter, struct talk_item, letter);
    struct talk *talk = item->talk;

    if (--talk->n_open)
        return;
    if (talk->after)
        nodes_at_point(nodes, talk->after);
    talk->finish(talk);
    talk_free(talk);
}

static void on_done(struct op *op, void *arg)
{
    struct talk_item *item = arg;

    (void)op;
    nodes_post(item->talk->nodes, &item->letter);
}

static void make_items(struct talk *talk, size_t n)
{
    talk->items = NEW0_N(struct talk_item, n + 1);
    talk->n_items = n;
    for (size_t i = 0; i < n; i++) {
        talk->items[i].talk = talk;
        talk->items[i].letter.call = take_done;
    }
}

static struct op *make_op(struct talk_item *item, enum op_kind kind)
{
    item->op = op_new(kind, on_done, item);
    return item->op;
}

/* Sends what was made; answers at once if nothing was. */
static void talk_send(struct talk *talk)
{
    struct op **ops = NEW0_N(struct op *, talk->n_items + 1);
    size_t n = 0;

    for (size_t i = 0; i < talk->n_items; i++)
        if (talk->items[i].op)
            ops[n++] = talk->items[i].op;
    talk->n_open = n;
    if (talk->before)
        nodes_at_point(talk->nodes, talk->before);
    if (n)
        ledger_send_all(talk->nodes->options.ledger, ops, n);
    mem_free(ops);
    if (n)
        return;
    talk->finish(talk);
    talk_free(talk);
}

void talk_close_all(struct nodes *nodes)
{
    while (nodes->talks) {
        struct talk *talk = nodes->talks;

        nodes_refuse(talk->request, PROBLEM_STARTING, "this server has stopped");
        talk_free(talk);
    }
}

/* Whether the same message may be taken later. */
static bool is_passing(enum problem_code code)
{
    return problem_codes[code].status >= 500 || code == PROBLEM_TOO_MANY_REQUESTS;
}

static enum problem_code code_of(const struct talk_item *item)
{
    return item->op ? item->op->problem.code : item->code;
}

/* Answers with the only operation's refusal, if it was refused. */
static bool answer_refusal(struct talk *talk)
{
    const struct op *op = talk->items[0].op;

    if (op->problem.code == PROBLEM_NONE)
        return false;
    nodes_answer_problem(talk->request, &op->problem);
    return true;
}

/* ---- register ---- */

static void end_one(json_t *list, const char *name, enum cause why)
{
    json_array_append_new(list, json_pack("{s:s,s:s}", "attempt", name, "cause",
                                          cause_words[why ? why : CAUSE_DISOWNED]));
}

/* What the agent holds and must end: what the ledger said, and what nobody here knows. */
static json_t *ends_of(struct talk *talk, const struct op_register *reg)
{
    json_t *list = json_array();
    char name[NAME_ATTEMPT_SIZE];

    for (size_t i = 0; i < reg->n_held && !reg->is_other_life; i++) {
        const struct attempt_key *key = &reg->held[i].attempt;
        struct fleet_job *job = map_get_int(&talk->nodes->fleet.jobs, key->job);

        if (!reg->held[i].is_to_end || !job)
            continue;
        name_attempt(key->job, fleet_spec(job)->groups[key->group].name, key->index, key->number,
                     name);
        end_one(list, name, reg->held[i].why);
    }
    for (size_t i = 0; i < talk->n_unknown && !reg->is_other_life; i++)
        end_one(list, talk->unknown[i], CAUSE_DISOWNED);
    return list;
}

/* What is live here of the agent's node, which served another life of the ledger. */
static json_t *live_of(struct talk *talk, const struct op_register *reg)
{
    json_t *list = json_array();
    char name[NAME_ATTEMPT_SIZE];

    for (size_t i = 0; i < reg->n_live; i++) {
        const struct attempt_key *key = &reg->live[i];
        struct fleet_job *job = map_get_int(&talk->nodes->fleet.jobs, key->job);
        const struct job_spec *spec = job ? fleet_spec(job) : NULL;

        if (!spec)
            continue;
        name_attempt(key->job, spec->groups[key->group].name, key->index, key->number, name);
        json_array_append_new(list, json_string(name));
    }
    return list;
}

static void note_heard(struct nodes *nodes, struct worker *worker)
{
    worker->heard_ms = clock_boot_ms(nodes->options.clock);
}

/* Adds to the refusal how long ago the node's own agent was heard of, and what to do. */
static void say_taken(struct talk *talk)
{
    struct nodes *nodes = talk->nodes;
    struct problem *problem = &talk->items[0].op->problem;
    const struct worker *worker = fleet_worker(&nodes->fleet, talk->items[0].op->reg.node);
    int64_t ago_ms = clock_boot_ms(nodes->options.clock) - worker->heard_ms;
    CLEANUP(freep) char *what = text_copy(problem->detail);
    CLEANUP(freep)
    char *heard = worker->heard_ms ? text_format("heard of %" PRId64 " s ago", ago_ms / 1000)
                                   : text_copy("not heard of since this server began");

    problem->code = PROBLEM_NONE;
    problem_set(problem, PROBLEM_NODE_TAKEN,
                "%s, %s: start this agent under another --name, or stop that one; once it has been "
                "silent for %" PRId64 " s, the name is free",
                what, heard, node_lease_lost_ms(nodes->options.ttl_ms) / 1000);
}

/* Keeps, for who looks at the node, why it is not registered; NULL: it is. */
static void keep_forked(struct nodes *nodes, struct worker *worker, const char *why)
{
    pthread_mutex_lock(&nodes->lock);
    mem_free(map_remove(&nodes->forked, worker->name));
    if (why)
        map_put(&nodes->forked, worker->name, text_copy(why));
    pthread_mutex_unlock(&nodes->lock);
    worker->is_told_forked = why != NULL;
}

/* Tells the operator, who may have put a backup back; an agent asks again and again. */
static void say_forked(struct nodes *nodes, struct worker *worker, const struct problem *problem)
{
    if (!worker->is_told_forked)
        log_warn("a node is not registered: this ledger is not the one that it served", "node",
                 worker->name, "why", problem->detail, "do",
                 problem_codes[PROBLEM_LEDGER_FORKED].next, NULL);
    keep_forked(nodes, worker, problem->detail);
}

static void finish_register(struct talk *talk)
{
    const struct op_register *reg = &talk->items[0].op->reg;
    struct nodes *nodes = talk->nodes;

    if (talk->items[0].op->problem.code == PROBLEM_NODE_TAKEN)
        say_taken(talk);
    if (talk->items[0].op->problem.code == PROBLEM_LEDGER_FORKED)
        say_forked(nodes, fleet_worker(&nodes->fleet, reg->node), &talk->items[0].op->problem);
    if (answer_refusal(talk))
        return;
    if (fleet_worker(&nodes->fleet, reg->node)->is_told_forked)
        keep_forked(nodes, fleet_worker(&nodes->fleet, reg->node), NULL);
    COUNT_ONE(nodes->counts.registers);
    note_heard(nodes, fleet_worker(&nodes->fleet, reg->node));
    work_registered(nodes, reg->node, reg->generation);
    log_info("node registered", "node", reg->node, "generation", log_int(reg->generation), NULL);
    nodes_answer(
        talk->request, 200,
        json_pack("{s:s,s:I,s:s,s:s,s:I,s:I,s:I,s:b,s:o,s:o,s:o}", "node", reg->node, "generation",
                  (json_int_t)reg->generation, "incarnation", nodes->incarnation, "opening",
                  nodes->opening, "revision", (json_int_t)talk->items[0].op->revision, "ttlMs",
                  (json_int_t)nodes->options.ttl_ms, "beatMs", (json_int_t)nodes->options.beat_ms,
                  "otherLife", reg->is_other_life, "end", ends_of(talk, reg), "live",
                  live_of(talk, reg), "lives", json_loads(nodes->lives, 0, NULL)));
}

void talk_register(struct nodes *nodes, struct http_request *request)
{
    struct talk *talk = talk_new(nodes, request, finish_register);
    struct op_register *reg;
    struct seen seen;

    if (message_read(&talk->message, request, TALK_REGISTER) < 0) {
        talk_refuse(talk);
        return;
    }
    make_items(talk, 1);
    reg = &make_op(&talk->items[0], OP_REGISTER)->reg;
    reg->address = text_copy(http_peer(request));
    if (read_register(talk, reg) < 0) {
        talk_refuse(talk);
        return;
    }
    if (seen_read(request, &seen) && seen.opening[0]) {
        reg->opening = text_copy(seen.opening);
        reg->revision_seen = (uint64_t)seen.revision;
    }
    talk_send(talk);
}

/* ---- beat, leave ---- */

/* What the server's lease is by now may be news to the agent. */
static void finish_beat(struct talk *talk)
{
    const struct nodes_options *options = &talk->nodes->options;

    if (!answer_refusal(talk))
        nodes_answer(talk->request, 200,
                     json_pack("{s:s,s:I,s:I,s:I}", "opening", talk->nodes->opening, "revision",
                               (json_int_t)talk->items[0].op->revision, "ttlMs",
                               (json_int_t)options->ttl_ms, "beatMs",
                               (json_int_t)options->beat_ms));
}

static void finish_leave(struct talk *talk)
{
    if (!answer_refusal(talk))
        nodes_answer(talk->request, 200,
                     json_pack("{s:s,s:I}", "opening", talk->nodes->opening, "revision",
                               (json_int_t)talk->items[0].op->revision));
}

/* Begins a talk of node and generation alone; NULL after a refusal. */
static struct talk *talk_frame(struct nodes *nodes, struct http_request *request,
                               enum talk_kind kind, void (*finish)(struct talk *talk))
{
    struct talk *talk = talk_new(nodes, request, finish);

    if (message_read(&talk->message, request, kind) < 0) {
        talk_refuse(talk);
        return NULL;
    }
    if (!nodes_speaker(nodes, request, talk->message.node, (uint64_t)talk->message.generation)) {
        talk_free(talk);
        return NULL;
    }
    make_items(talk, 1);
    return talk;
}

void talk_beat(struct nodes *nodes, struct http_request *request)
{
    struct talk *talk = talk_frame(nodes, request, TALK_BEAT, finish_beat);
    struct op_beat *beat;

    if (!talk)
        return;
    beat = &make_op(&talk->items[0], OP_BEAT)->beat;
    beat->node = text_copy(talk->message.node);
    beat->generation = (uint64_t)talk->message.generation;
    beat->ttl_ms = nodes->options.ttl_ms;
    beat->beat_ms = nodes->options.beat_ms;
    json_get_int(&talk->message.top, "ttlMs", 1, INT64_MAX, &beat->counts_ms);
    beat->disabled = read_disabled(&talk->message.top);
    beat->orphans = read_orphans(&talk->message.top);
    if (talk->message.problem.code != PROBLEM_NONE) {
        talk_refuse(talk);
        return;
    }
    note_heard(nodes, fleet_worker(&nodes->fleet, beat->node));
    COUNT_ONE(nodes->counts.beats);
    talk_send(talk);
}

void talk_leave(struct nodes *nodes, struct http_request *request)
{
    struct talk *talk = talk_frame(nodes, request, TALK_LEAVE, finish_leave);
    struct op_leave *leave;

    if (!talk)
        return;
    leave = &make_op(&talk->items[0], OP_LEAVE)->leave;
    leave->node = text_copy(talk->message.node);
    leave->generation = (uint64_t)talk->message.generation;
    talk_send(talk);
}

/* ---- ack and reports: one result for each attempt ---- */

/* Answers the whole if it may pass, or if the node was registered anew meanwhile: then a stale
 * attempt may be stale only by its generation. */
static bool answer_whole(struct talk *talk)
{
    const struct message *message = &talk->message;
    struct worker *worker = map_get(&talk->nodes->fleet.workers, message->node);

    for (size_t i = 0; i < talk->n_items; i++) {
        enum problem_code code = code_of(&talk->items[i]);

        if (is_passing(code)) {
            nodes_answer_problem(talk->request, &talk->items[i].op->problem);
            return true;
        }
        if (code == PROBLEM_NONE || !worker || worker->generation == (uint64_t)message->generation)
            continue;
        nodes_refuse(talk->request, PROBLEM_STALE_ATTEMPT, "the node was registered anew");
        return true;
    }
    return false;
}

/* Answers; *n_ok of the results are good. */
static void answer_results(struct talk *talk, size_t *n_ok)
{
    json_t *results = json_array();
    uint64_t revision = talk->nodes->fleet.revision;

    *n_ok = 0;
    for (size_t i = 0; i < talk->n_items; i++) {
        const struct talk_item *item = &talk->items[i];
        enum problem_code code = code_of(item);
        json_t *result = json_pack("{s:s,s:b}", "attempt", item->name, "ok", code == PROBLEM_NONE);

        *n_ok += code == PROBLEM_NONE;
        if (item->op && item->op->revision > revision)
            revision = item->op->revision;
        if (code != PROBLEM_NONE)
            json_object_set_new(result, "code", json_string(problem_codes[code].word));
        json_array_append_new(results, result);
    }
    nodes_answer(talk->request, 200,
                 json_pack("{s:o,s:s,s:I}", "results", results, "opening", talk->nodes->opening,
                           "revision", (json_int_t)revision));
}

static void finish_acks(struct talk *talk)
{
    size_t n_ok;

    if (answer_whole(talk))
        return;
    answer_results(talk, &n_ok);
    atomic_fetch_add(&talk->nodes->counts.acks_ok, n_ok);
    atomic_fetch_add(&talk->nodes->counts.acks_refused, talk->n_items - n_ok);
}

static void finish_reports(struct talk *talk)
{
    size_t n_ok;

    if (answer_whole(talk))
        return;
    answer_results(talk, &n_ok);
    atomic_fetch_add(&talk->nodes->counts.reports_ok, n_ok);
    atomic_fetch_add(&talk->nodes->counts.reports_refused, talk->n_items - n_ok);
}

/* Finds the attempt that an item is about; false, and the item says why, if nobody knows it. */
static bool item_key(struct talk_item *item, const char *name, struct attempt_key *out)
{
    item->name = name;
    if (fleet_key(&item->talk->nodes->fleet, name, out) == 0)
        return true;
    item->code = PROBLEM_STALE_ATTEMPT;
    return false;
}

void talk_ack(struct nodes *nodes, struct http_request *request)
{
    struct talk *talk = talk_new(nodes, request, finish_acks);
    const char **names;
    size_t n;

    if (message_read(&talk->message, request, TALK_ATTEMPTS) < 0 ||
        message_attempts(&talk->message, &names, &n) < 0) {
        talk_refuse(talk);
        return;
    }
    talk->unknown = names; /* to be freed with the talk */
    if (!nodes_speaker(nodes, request, talk->message.node, (uint64_t)talk->message.generation)) {
        talk_free(talk);
        return;
    }
    make_items(talk, n);
    for (size_t i = 0; i < n; i++) {
        struct attempt_key key;
        struct op_ack *ack;

        if (!item_key(&talk->items[i], names[i], &key))
            continue;
        ack = &make_op(&talk->items[i], OP_ACK)->ack;
        ack->node = text_copy(talk->message.node);
        ack->generation = (uint64_t)talk->message.generation;
        ack->attempt = key;
    }
    talk->before = "before-ack";
    talk->after = "after-ack";
    talk_send(talk);
}

static int make_report(struct talk_item *item, const struct json_at *at)
{
    struct talk *talk = item->talk;
    struct op_report *report = &make_op(item, OP_REPORT)->report;
    struct fleet_attempt *attempt;

    if (read_report(at, report, &item->name) < 0)
        return -1;
    report->node = text_copy(talk->message.node);
    report->generation = (uint64_t)talk->message.generation;
    if (!item_key(item, item->name, &report->attempt)) {
        op_free(TAKE(item->op));
        return 0;
    }
    attempt = map_get(&talk->nodes->fleet.attempts, item->name);
    if (attempt && report->is_ended && strcmp(attempt->worker->name, report->node) == 0)
        attempt->is_reported = true;
    return 0;
}

void talk_reports(struct nodes *nodes, struct http_request *request)
{
    struct talk *talk = talk_new(nodes, request, finish_reports);
    struct json_at list;

    if (message_read(&talk->message, request, TALK_REPORTS) < 0) {
        talk_refuse(talk);
        return;
    }
    list = json_at_member(&talk->message.top, "reports");
    if (list.value && !json_check_list(&list, MESSAGE_ATTEMPTS_MAX)) {
        talk_refuse(talk);
        return;
    }
    if (!nodes_speaker(nodes, request, talk->message.node, (uint64_t)talk->message.generation)) {
        talk_free(talk);
        return;
    }
    make_items(talk, json_array_size(list.value));
    for (size_t i = 0; i < talk->n_items; i++) {
        struct json_at report = json_at_item(&list, i);

        if (make_report(&talk->items[i], &report) < 0) {
            talk_refuse(talk);
            return;
        }
    }
    talk->before = "before-report";
    talk->after = "after-report";
    talk_send(talk);
}

/* ---- have ---- */

void talk_have(struct nodes *nodes, struct http_request *request)
{
    CLEANUP(message_fini) struct message message = { 0 };
    const char **names;
    struct worker *worker;
    char **copies;
    size_t n;

    if (message_read(&message, request, TALK_ATTEMPTS) < 0 ||
        message_attempts(&message, &names, &n) < 0) {
        nodes_answer_problem(request, &message.problem);
        return;
    }
    worker = nodes_speaker(nodes, request, message.node, (uint64_t)message.generation);
    if (worker) {
        copies = NEW0_N(char *, n + 1);
        for (size_t i = 0; i < n; i++)
            copies[i] = text_copy(names[i]);
        work_have(worker, worker->generation, copies, n);
        nodes_answer(request, 200, json_object());
    }
    mem_free(names);
}
