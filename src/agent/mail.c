/*
 * Mail: acks and reports. One message of each kind is under way; what comes meanwhile goes together
 * with the next, so that batches grow with the load and nothing waits without it.
 *
 * What is not answered is sent again: after a pause, or after the next registration. A repeat is
 * harmless. A report of a start waits a moment for the end, which says it all: of a short job it
 * would be a message more, two rows written and two events.
 */
#include <string.h>

#include "agent/inside.h"
#include "base/log.h"

enum {
    BATCH_MAX = 256,
    BATCH_MAX_BYTES = 512 << 10,
    PAUSE_FIRST_MS = 100,
    PAUSE_MAX_MS = 1000, /* so soon a server that is back is noticed */
    START_WAITS_MS = 50, /* so soon nobody looks whether it runs */
};

int64_t next_pause(int64_t *pause_ms)
{
    int64_t pause = *pause_ms ? *pause_ms : PAUSE_FIRST_MS;

    *pause_ms = pause * 2 < PAUSE_MAX_MS ? pause * 2 : PAUSE_MAX_MS;
    return pause;
}

void mail_ack(struct attempt *attempt)
{
    if (attempt->wants_ack)
        return;
    attempt->wants_ack = true;
    attempt->asked_us = now_us(attempt->agent);
    VEC_PUSH(&attempt->agent->acks, attempt);
    mail_flush(attempt->agent);
}

void mail_word(struct attempt *attempt)
{
    struct agent *agent = attempt->agent;

    if (!attempt->wants_word)
        VEC_PUSH(&agent->words, attempt);
    attempt->wants_word = true;
    if (attempt->life.step != LIFE_RUNNING) {
        mail_flush(agent);
        return;
    }
    attempt->say_start_ms = now_ms(agent) + START_WAITS_MS;
    if (!agent->has_start_timer)
        timer_set(agent->start_timer, START_WAITS_MS);
    agent->has_start_timer = true;
}

void mail_refusal(struct attempt *attempt)
{
    attempt->is_in_the_way = true;
    if (!attempt->wants_word)
        VEC_PUSH(&attempt->agent->words, attempt);
    attempt->wants_word = true;
    mail_flush(attempt->agent);
}

void mail_forget(struct attempt *attempt)
{
    struct agent *agent = attempt->agent;

    if (attempt->wants_ack)
        VEC_EACH (at, &agent->acks)
            *at = *at == attempt ? NULL : *at;
    if (attempt->wants_word)
        VEC_EACH (at, &agent->words)
            *at = *at == attempt ? NULL : *at;
}

/* ---- Answers ---- */

/* What an answer says of one attempt. */
struct result {
    bool is_there, is_ok;
};

static struct result read_result(const json_t *result, const char *name)
{
    const char *attempt = json_string_value(json_object_get(result, "attempt"));

    if (!text_eq(attempt, name))
        return (struct result){ 0 };
    return (struct result){ true, json_is_true(json_object_get(result, "ok")) };
}

/* Answers come in the order of what was sent; i is where to look first. */
static struct result result_of(const json_t *results, size_t i, const char *name)
{
    struct result found = read_result(json_array_get(results, i), name);

    for (size_t at = 0; !found.is_there && at < json_array_size(results); at++)
        found = read_result(json_array_get(results, at), name);
    return found;
}

static json_t *results_of(const struct client_answer *answer)
{
    return json_loadb(str_text(&answer->body), answer->body.len, 0, NULL);
}

/* Whether a message was answered at all; if not, it goes again after a pause, or after
 * registering. */
static bool is_answered(struct agent *agent, int r, const struct client_answer *answer,
                        const struct err *err)
{
    if (r == 0 && answer->status == 200) {
        agent->mail_pause_ms = 0;
        return true;
    }
    if (r == 0 && answer->status == 409) {
        link_register(agent);
        return false;
    }
    if (r == 0)
        log_warn("a message was not taken", "status", log_int(answer->status), "answer",
                 str_text(&answer->body), NULL);
    else
        log_debug("a message was not answered", "why", err->text, NULL);
    timer_set(agent->mail_timer, next_pause(&agent->mail_pause_ms));
    return false;
}

static void ack_again(struct agent *agent, const char *name)
{
    struct attempt *attempt = attempt_find(agent, name);

    if (attempt && attempt->life.ack == ACK_ASKED && !attempt->life.is_dropped &&
        !attempt->wants_ack) {
        attempt->wants_ack = true;
        VEC_PUSH(&agent->acks, attempt);
    }
}

static void on_acks(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct agent *agent = arg;
    json_t *object = r == 0 && answer->status == 200 ? results_of(answer) : NULL;
    struct sents sents = agent->acks_sent;
    bool is_good;

    agent->acking = NULL;
    agent->acks_sent = (struct sents){ 0 };
    seen_note(agent, object, false); /* before what it lets start */
    is_good = is_answered(agent, r, answer, err);
    for (size_t i = 0; i < sents.n; i++) {
        const char *name = sents.at[i].name;
        struct result result = result_of(json_object_get(object, "results"), i, name);
        struct attempt *attempt = attempt_find(agent, name);

        if (!result.is_there)
            ack_again(agent, name);
        else if (attempt)
            attempt_on(attempt, result.is_ok ? LIFE_ACKED : LIFE_REFUSED);
    }
    VEC_FINI(&sents);
    json_decref(object);
    if (is_good)
        mail_flush(agent);
}

static void word_again(struct attempt *attempt)
{
    attempt->said = SAID_NOTHING;
    if (attempt->wants_word || (attempt->life.is_silent && !attempt->is_in_the_way))
        return;
    attempt->wants_word = true;
    VEC_PUSH(&attempt->agent->words, attempt);
}

static void take_word(struct attempt *attempt, struct result result)
{
    enum said said = attempt->said;

    attempt->said = SAID_NOTHING;
    if (said == SAID_START)
        attempt->says_start = false; /* refused or not: if it is to end, the stream says so */
    if (!result.is_ok)
        log_warn("the server does not take a report", "attempt", attempt->name, NULL);
    if (said == SAID_REFUSAL)
        attempt->is_in_the_way = false;
    if (said == SAID_END)
        attempt_on(attempt, LIFE_TAKEN);
}

static void on_words(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct agent *agent = arg;
    json_t *object = r == 0 && answer->status == 200 ? results_of(answer) : NULL;
    struct sents sents = agent->words_sent;
    bool is_good;

    agent->wording = NULL;
    agent->words_sent = (struct sents){ 0 };
    seen_note(agent, object, false);
    is_good = is_answered(agent, r, answer, err);
    for (size_t i = 0; i < sents.n; i++) {
        struct attempt *attempt = attempt_find(agent, sents.at[i].name);
        struct result result;

        if (!attempt || attempt->said == SAID_NOTHING)
            continue;
        result = result_of(json_object_get(object, "results"), i, attempt->name);
        if (result.is_there)
            take_word(attempt, result);
        else
            word_again(attempt);
    }
    VEC_FINI(&sents);
    json_decref(object);
    if (is_good)
        mail_flush(agent);
}

/* ---- Sending ---- */

static struct client_ticket *post(struct agent *agent, const char *path, struct str *body,
                                  client_done_fn *done)
{
    struct client_request request = { .method = "POST",
                                      .path = path,
                                      .headers = seen_headers(agent),
                                      .body = str_text(body),
                                      .n_body = body->len,
                                      .is_repeatable = true };

    return client_send(agent->client, &request, done, agent);
}

static void add_sent(struct agent *agent, bool is_ack, const struct attempt *attempt)
{
    struct sent *sent = is_ack ? VEC_ADD(&agent->acks_sent) : VEC_ADD(&agent->words_sent);

    memcpy(sent->name, attempt->name, sizeof(sent->name));
}

static void flush_acks(struct agent *agent)
{
    CLEANUP(str_fini) struct str body = { 0 };
    size_t i = 0;

    if (agent->acking || !agent->acks.n)
        return;
    wire_frame(&body, agent->node, agent->generation);
    str_add(&body, ",\"attempts\":[");
    for (; i < agent->acks.n && agent->acks_sent.n < BATCH_MAX; i++) {
        struct attempt *attempt = agent->acks.at[i];
        if (!attempt)
            continue;
        attempt->wants_ack = false;
        if (attempt->life.is_dropped)
            continue;
        if (agent->acks_sent.n)
            str_add_char(&body, ',');
        wire_text(&body, attempt->name);
        add_sent(agent, true, attempt);
    }
    memmove(agent->acks.at, agent->acks.at + i, (agent->acks.n - i) * sizeof(agent->acks.at[0]));
    agent->acks.n -= i;
    str_add(&body, "]}");
    if (agent->acks_sent.n)
        agent->acking = post(agent, "/v1/worker/ack", &body, on_acks);
}

/* An orphan has the name, the folder and the groups that one of the server's would need. */
static bool add_refusal(struct attempt *attempt, struct str *body)
{
    static const struct life_end end = {
        .cause = CAUSE_OTHER_LIFE,
        .text = "the node runs an attempt of this name that another life of the ledger gave it"
    };
    static const struct wire_timings none = { 0 };
    struct wire_report report = {
        .attempt = attempt->name, .is_ended = true, .end = &end, .timings = &none
    };

    if (attempt->agent->words_sent.n)
        str_add_char(body, ',');
    wire_report(body, &report);
    attempt->said = SAID_REFUSAL;
    return true;
}

static bool add_word(struct attempt *attempt, struct str *body)
{
    bool is_ended = attempt->life.step == LIFE_REPORTING;
    struct wire_report report = { .attempt = attempt->name,
                                  .is_ended = is_ended,
                                  .end = &attempt->life.end,
                                  .started_ms = attempt->started_ms,
                                  .ended_ms = attempt->ended_ms,
                                  .timings = &attempt->timings,
                                  .peak_memory_bytes = attempt->peak_memory_bytes,
                                  .cpu_us = attempt->cpu_us };

    if (attempt->is_in_the_way)
        return add_refusal(attempt, body);
    if (attempt->life.is_silent || (!is_ended && !attempt->says_start) ||
        attempt->life.step == LIFE_CLEANING)
        return false;
    if (attempt->agent->words_sent.n)
        str_add_char(body, ',');
    wire_report(body, &report);
    attempt->said = is_ended ? SAID_END : SAID_START;
    return true;
}

static bool waits_for_end(const struct attempt *attempt, int64_t now)
{
    return attempt->life.step == LIFE_RUNNING && !attempt->is_in_the_way &&
           now < attempt->say_start_ms;
}

/* Takes those that go now out of the list, and writes them. */
static void take_words(struct agent *agent, struct str *body)
{
    int64_t now = now_ms(agent);
    size_t n_kept = 0;

    for (size_t i = 0; i < agent->words.n; i++) {
        struct attempt *attempt = agent->words.at[i];
        if (!attempt)
            continue;
        if (agent->words_sent.n == BATCH_MAX || body->len >= BATCH_MAX_BYTES ||
            waits_for_end(attempt, now)) {
            agent->words.at[n_kept++] = attempt;
            continue;
        }
        attempt->wants_word = false;
        if (add_word(attempt, body))
            add_sent(agent, false, attempt);
    }
    agent->words.n = n_kept;
}

static void flush_words(struct agent *agent)
{
    CLEANUP(str_fini) struct str body = { 0 };

    if (agent->wording || !agent->words.n)
        return;
    wire_frame(&body, agent->node, agent->generation);
    str_add(&body, ",\"reports\":[");
    take_words(agent, &body);
    str_add(&body, "]}");
    if (agent->words_sent.n)
        agent->wording = post(agent, "/v1/worker/reports", &body, on_words);
}

void mail_start_waited(struct agent *agent)
{
    int64_t now = now_ms(agent), first = INT64_MAX;

    mail_flush(agent);
    VEC_EACH (at, &agent->words)
        if (*at && waits_for_end(*at, now) && (*at)->say_start_ms < first)
            first = (*at)->say_start_ms;
    agent->has_start_timer = first != INT64_MAX;
    if (agent->has_start_timer)
        timer_set(agent->start_timer, first - now);
}

void mail_flush(struct agent *agent)
{
    if (agent->link != LINK_UP)
        return;
    flush_acks(agent);
    flush_words(agent);
}

void mail_ask_again(struct agent *agent)
{
    MAP_EACH (entry, &agent->attempts) {
        struct attempt *attempt = entry->value;
        ack_again(agent, attempt->name);
        if (attempt->life.step == LIFE_REPORTING || attempt->says_start || attempt->is_in_the_way)
            word_again(attempt);
    }
    mail_flush(agent);
}

void mail_cut(struct agent *agent)
{
    client_cancel(TAKE(agent->acking));
    client_cancel(TAKE(agent->wording));
    agent->acks_sent.n = agent->words_sent.n = 0;
    timer_unset(agent->mail_timer);
}
