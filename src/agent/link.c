/*
 * Link: registering, beats, and the stream of work. What the server must hear before anything else
 * is the registration; its generation goes into all that follows, and an answer that says it is old
 * leads back to it.
 *
 * The lease counts from when a message was sent that was answered, for the server counts from when
 * it came: so it never holds longer here than there.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/inside.h"
#include "base/log.h"
#include "base/node_lease.h"
#include "base/quantity.h"

enum {
    HAVE_MAX =
        100, /* more than these go ahead of the stream: a request line is no place for them */
    STREAM_IDLE_MS = 25000, /* a bookmark comes every 10 s */
};

static bool is_ok(int r, const struct client_answer *answer)
{
    return r == 0 && answer->status == 200;
}

static struct client_ticket *post(struct agent *agent, const char *path, struct str *body,
                                  int64_t timeout_ms, client_done_fn *done)
{
    struct client_request request = { .method = "POST",
                                      .path = path,
                                      .headers = seen_headers(agent),
                                      .body = str_text(body),
                                      .n_body = body->len,
                                      .timeout_ms = timeout_ms,
                                      .is_repeatable = true };

    return client_send(agent->client, &request, done, agent);
}

static void add_attempts(struct agent *agent, struct str *body)
{
    const char *between = "";

    str_add(body, ",\"attempts\":[");
    MAP_EACH (entry, &agent->attempts) {
        struct attempt *attempt = entry->value;
        if (!life_is_listed(&attempt->life))
            continue;
        str_add(body, between);
        wire_text(body, attempt->name);
        between = ",";
    }
    str_add_char(body, ']');
}

/* Those that the lease ends: what runs, but for jobs that said otherwise. */
static size_t count_ended_by_lease(struct agent *agent)
{
    size_t n = 0;

    MAP_EACH (entry, &agent->attempts) {
        const struct attempt *attempt = entry->value;
        bool is_up = attempt->life.step == LIFE_STARTING || attempt->life.step == LIFE_RUNNING;
        n += is_up && !attempt->order.container.keep_on_disconnect;
    }
    return n;
}

void link_say_lease_over(struct agent *agent, size_t n)
{
    int64_t heard_ms = agent->lease_until_ms - node_lease_term_ms(agent->ttl_ms);
    CLEANUP(str_fini) struct str unheard = { 0 };

    if (!n || agent->is_told_lease_over)
        return;
    agent->is_told_lease_over = true; /* once, until a server is heard of again */
    if (agent->lease_until_ms)
        duration_format((now_ms(agent) - heard_ms) / 1000 * 1000, &unheard);
    log_warn("the lease is over: no server was heard of, and what runs here ends", "containers",
             log_int((int64_t)n), "unheard-for",
             agent->lease_until_ms ? str_text(&unheard) : "longer than this agent runs", "server",
             client_address(agent->client), "do",
             "see that the server runs and can be reached from here; if it may be away longer, "
             "give it a longer nodes.ttl, or jobs onDisconnect: keep",
             NULL);
}

static void on_lease_timer(void *arg)
{
    struct agent *agent = arg;
    int64_t left_ms = agent->lease_until_ms - now_ms(agent);

    if (left_ms > 0)
        timer_set(agent->lease_timer, left_ms);
    else
        link_say_lease_over(agent, count_ended_by_lease(agent));
}

static void extend_lease(struct agent *agent, int64_t sent_ms)
{
    agent->lease_until_ms = sent_ms + node_lease_term_ms(agent->ttl_ms);
    runtime_lease(agent->runtime, agent->lease_until_ms,
                  sent_ms + node_lease_kill_ms(agent->ttl_ms));
    agent->is_told_lease_over = false;
    timer_set(agent->lease_timer, agent->lease_until_ms - now_ms(agent));
    attempts_give_turns(agent);
}

/* ---- The stream of work ---- */

static void on_start(struct agent *agent, const char *name, const json_t *line, const char *text,
                     size_t n)
{
    struct attempt *here = attempt_find(agent, name);

    if (here && here->life.is_silent && !here->life.is_dropped)
        mail_refusal(here);
    if (here || agent->stopping.stage != STOP_NOT || agent->disabled[0])
        return; /* it is here already, or it is left to other nodes */
    attempt_deliver(agent, name, json_object_get(line, "spec"), mem_copy(text, n));
}

static void on_stop(struct attempt *attempt, const json_t *line)
{
    int cause =
        states_find(json_string_value(json_object_get(line, "cause")), cause_words, CAUSE_COUNT);
    struct life_news news = { .event = LIFE_STOP,
                              .cause = cause > CAUSE_NONE ? (enum cause)cause : CAUSE_CANCELLED,
                              .grace_ms = json_integer_value(json_object_get(line, "graceMs")) };

    attempt_happens(attempt, &news);
}

static void on_limit(struct attempt *attempt, const json_t *line)
{
    int64_t limit_ms = json_integer_value(json_object_get(line, "limitMs"));

    attempt_limit(attempt, limit_ms > 0 ? limit_ms : 0);
}

static void on_open(struct agent *agent, const char *name, const json_t *line)
{
    struct relay_request request = {
        .sid = json_string_value(json_object_get(line, "sid")),
        .attempt = name,
        .at = (uint64_t)json_integer_value(json_object_get(line, "at")),
        .limit = (uint64_t)json_integer_value(json_object_get(line, "limit")),
        .is_follow = json_is_true(json_object_get(line, "follow")),
    };

    if (request.sid)
        relay_open_stream(agent->relay, &request);
}

static void take_line(struct agent *agent, const json_t *line, const char *text, size_t n)
{
    const char *what = json_string_value(json_object_get(line, "do"));
    const char *name = json_string_value(json_object_get(line, "attempt"));
    struct attempt *attempt = name ? attempt_find(agent, name) : NULL;

    seen_note(agent, line, text_eq(what, "bookmark"));
    if (text_eq(what, "start") && name)
        on_start(agent, name, line, text, n);
    else if (text_eq(what, "stop") && attempt)
        on_stop(attempt, line);
    else if (text_eq(what, "limit") && attempt)
        on_limit(attempt, line);
    else if (text_eq(what, "drop") && attempt)
        attempt_on(attempt, LIFE_DROP);
    else if (text_eq(what, "open") && name)
        on_open(agent, name, line);
    else if (text_eq(what, "close"))
        relay_close_stream(agent->relay, json_string_value(json_object_get(line, "sid")));
    else if (!text_eq(what, "bookmark"))
        log_debug("a line that means nothing here", "line", text, NULL);
}

static void on_line(void *arg, const char *text, size_t n)
{
    struct agent *agent = arg;
    json_t *line;

    if (!text) {
        agent->work_pause_ms = 0;
        return;
    }
    line = json_loadb(text, n, 0, NULL);
    if (!line)
        log_warn("the server sent a line that is no JSON", NULL);
    take_line(agent, line, text, n);
    json_decref(line);
}

static void on_work_end(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct agent *agent = arg;

    agent->working = NULL;
    relay_close_all(agent->relay);
    if (r == 0 && (answer->status == 409 || answer->status == 404)) {
        link_register(agent);
        return;
    }
    log_debug("the stream of work ended", "why", r < 0 ? err->text : "by the server", "status",
              log_int(answer->status), NULL);
    timer_set(agent->work_timer, next_pause(&agent->work_pause_ms));
}

static void listen_to_work(struct agent *agent, bool with_have)
{
    CLEANUP(str_fini) struct str path = { 0 };
    struct client_request request = { .method = "GET",
                                      .headers = seen_headers(agent),
                                      .accept = "application/x-ndjson",
                                      .idle_ms = STREAM_IDLE_MS };
    const char *between = "&have=";

    str_add(&path, "/v1/worker/work?node=");
    client_escape(agent->node, &path);
    str_addf(&path, "&generation=%" PRId64, agent->generation);
    if (with_have)
        MAP_EACH (entry, &agent->attempts) {
            struct attempt *attempt = entry->value;
            if (!life_is_listed(&attempt->life))
                continue;
            str_add(&path, between);
            client_escape(attempt->name, &path);
            between = ",";
        }
    request.path = str_text(&path);
    agent->working = client_listen(agent->client, &request, on_line, on_work_end, agent);
}

static void on_have(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct agent *agent = arg;

    (void)err;
    agent->having = NULL;
    if (is_ok(r, answer) || (r == 0 && answer->status == 204))
        listen_to_work(agent, false);
    else if (r == 0 && answer->status == 409)
        link_register(agent);
    else
        timer_set(agent->work_timer, next_pause(&agent->work_pause_ms));
}

static void open_work(void *arg)
{
    struct agent *agent = arg;
    CLEANUP(str_fini) struct str body = { 0 };

    if (agent->link != LINK_UP || agent->working || agent->having)
        return;
    if (agent->attempts.n <= HAVE_MAX) {
        listen_to_work(agent, true);
        return;
    }
    wire_frame(&body, agent->node, agent->generation);
    add_attempts(agent, &body);
    str_add_char(&body, '}');
    agent->having = post(agent, "/v1/worker/have", &body, 0, on_have);
}

/* ---- Beats ---- */

/* A server answers as one should: whatever was told of others is over. */
static void hear(struct agent *agent, const char *address)
{
    if (text_eq(agent->refused, address)) {
        mem_free(TAKE(agent->refused));
        mem_free(TAKE(agent->refused_why));
    }
    agent->is_told_refused = false;
    str_clear(&agent->told_down);
    if (text_eq(agent->heard, address))
        return;
    if (agent->heard)
        log_info("another server answers now", "server", address, "before", agent->heard, NULL);
    mem_free(agent->heard);
    agent->heard = text_copy(address);
}

/* Adds the list of orphans, and remembers that it was said. */
static void say_orphans(struct agent *agent, struct str *body)
{
    CLEANUP(str_fini) struct str list = { 0 };

    other_life_add_orphans(agent, &list);
    str_add(body, str_text(&list));
    mem_free(agent->orphans_said);
    agent->orphans_said = text_copy(str_text(&list));
}

static bool are_orphans_news(struct agent *agent)
{
    CLEANUP(str_fini) struct str list = { 0 };

    if (!agent->can_say_orphans)
        return false;
    other_life_add_orphans(agent, &list);
    return !text_eq(str_text(&list), agent->orphans_heard);
}

static void hear_orphans(struct agent *agent)
{
    mem_free(agent->orphans_heard);
    agent->orphans_heard = TAKE(agent->orphans_said);
}

/* The lease that an answer tells; an earlier server's beats do not. */
static void take_lease(struct agent *agent, const json_t *object)
{
    int64_t ttl_ms = json_integer_value(json_object_get(object, "ttlMs"));
    int64_t beat_ms = json_integer_value(json_object_get(object, "beatMs"));

    if (ttl_ms < 1 || beat_ms < 1)
        return;
    agent->ttl_ms = ttl_ms;
    agent->beat_ms = beat_ms;
}

static void on_beat(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct agent *agent = arg;
    json_t *object;

    agent->beating = NULL;
    if (r == 0 && (answer->status == 409 || answer->status == 404)) {
        link_register(agent);
        return;
    }
    if (!is_ok(r, answer)) {
        log_debug("a beat was not answered", "why", r < 0 ? err->text : "by its status", "status",
                  log_int(answer->status), NULL);
        timer_set(agent->beat_timer, node_lease_again_ms(agent->beat_ms));
        return;
    }
    /* Only now: two agents of one name would register in turn without a breath. */
    agent->register_pause_ms = 0;
    object = json_loadb(str_text(&answer->body), answer->body.len, 0, NULL);
    hear(agent, client_address(agent->client));
    take_lease(agent, object);
    extend_lease(agent, agent->asked_ms);
    seen_note(agent, object, true);
    json_decref(object);
    shelf_trim(agent->shelf, clock_wall_ms(agent->clock));
    agent->is_disabled_heard = agent->is_disabled_said;
    if (agent->orphans_said)
        hear_orphans(agent);
    room_look(agent);
    if (agent->is_disabled_said == (agent->disabled[0] != '\0'))
        timer_set(agent->beat_timer, agent->asked_ms + agent->beat_ms - now_ms(agent));
    else
        timer_set(agent->beat_timer, 0);
}

static void add_disabled(struct agent *agent, struct str *body)
{
    agent->is_disabled_said = agent->disabled[0];
    if (!agent->is_disabled_said)
        return;
    str_add(body, ",\"disabled\":");
    wire_text(body, agent->disabled);
}

static void beat(void *arg)
{
    struct agent *agent = arg;
    CLEANUP(str_fini) struct str body = { 0 };

    if (agent->link != LINK_UP || agent->beating)
        return;
    wire_frame(&body, agent->node, agent->generation);
    str_addf(&body, ",\"ttlMs\":%" PRId64, agent->ttl_ms);
    add_disabled(agent, &body);
    if (are_orphans_news(agent)) {
        str_add(&body, ",\"orphans\":");
        say_orphans(agent, &body);
    }
    str_add_char(&body, '}');
    agent->asked_ms = now_ms(agent);
    agent->beating =
        post(agent, "/v1/worker/beat", &body, node_lease_beat_timeout_ms(agent->beat_ms), on_beat);
}

void link_say_disabled(struct agent *agent)
{
    if (agent->link == LINK_UP && !agent->beating)
        timer_set(agent->beat_timer, 0);
}

/* ---- Registering ---- */

static void say_finding(void *ctx, const char *key, const char *value, const char *message)
{
    struct str *out = ctx;
    CLEANUP(freep)
    char *text = message ? text_format("%s: %s: %s", key, value, message)
                         : text_format("%s: %s", key, value);

    if (out->len && out->data[out->len - 1] != '[')
        str_add_char(out, ',');
    wire_text(out, text);
}

static void add_runtimes(const struct machine *machine, struct str *body)
{
    const char *between = "";

    str_add(body, ",\"runtimes\":{");
    for (int i = 0; i < RUNTIME_KIND_COUNT; i++) {
        if (!machine->runtimes[i].is_usable)
            continue;
        str_add(body, between);
        wire_text(body, runtime_kind_words[i]);
        str_add_char(body, ':');
        wire_text(body, machine->runtimes[i].version);
        between = ",";
    }
    str_add_char(body, '}');
}

static void add_info(struct agent *agent, struct str *body)
{
    const struct machine *machine = &agent->machine;

    str_add(body, ",\"info\":{\"cgroup\":");
    wire_text(body, cgroup_layout_words[machine->cgroup_layout]);
    add_runtimes(machine, body);
    str_add(body, ",\"findings\":[");
    machine_findings(machine, say_finding, body);
    /* The one that is asked would not have it of itself. */
    if (agent->refused && !text_eq(agent->refused, client_address(agent->client)))
        say_finding(body, "refused", agent->refused, agent->refused_why);
    str_add(body, "],\"orphans\":");
    say_orphans(agent, body);
    str_add_char(body, '}');
}

static void add_registration(struct agent *agent, struct str *body)
{
    str_add(body, "{\"node\":");
    wire_text(body, agent->node);
    str_add(body, ",\"bootId\":");
    wire_text(body, agent->machine.boot_id);
    str_add(body, ",\"incarnation\":");
    wire_text(body, agent->identity.incarnation);
    str_add(body, ",\"identity\":");
    wire_text(body, agent->identity.own);
    str_addf(body, ",\"revisionSeen\":%" PRId64 ",\"version\":", agent->identity.revision);
    wire_text(body, agent->version);
    str_addf(body, ",\"offers\":%s,\"labels\":%s,\"taints\":%s,\"images\":%s",
             agent->register_offers, agent->register_labels, agent->register_taints,
             agent->register_images);
    add_info(agent, body);
    add_disabled(agent, body);
    add_attempts(agent, body);
    str_add_char(body, '}');
}

static void end_listed(struct agent *agent, const json_t *end)
{
    for (size_t i = 0; i < json_array_size(end); i++) {
        const json_t *one = json_array_get(end, i);
        const char *name = json_string_value(json_object_get(one, "attempt"));
        struct attempt *attempt = name ? attempt_find(agent, name) : NULL;

        if (!attempt)
            continue;
        log_info("the server does not want it any more", "attempt", name, NULL);
        attempt_on(attempt, LIFE_DROP);
    }
}

static void take_registration(struct agent *agent, const json_t *object)
{
    const char *incarnation = json_string_value(json_object_get(object, "incarnation"));
    bool is_other_life = json_is_true(json_object_get(object, "otherLife"));

    agent->generation = json_integer_value(json_object_get(object, "generation"));
    take_lease(agent, object);
    hear(agent, agent->asked);
    agent->is_disabled_heard = agent->is_disabled_said;
    agent->can_say_orphans = json_is_array(json_object_get(object, "live"));
    hear_orphans(agent);
    agent->work_pause_ms = agent->mail_pause_ms = 0;
    if (is_other_life)
        other_life_settle(agent, object);
    if (is_other_life || !text_eq(incarnation, agent->identity.incarnation))
        seen_forget(agent, incarnation);
    seen_note(agent, object, true);
    agent->link = LINK_UP; /* what waits is sent from here on, and says what was seen by now */
    extend_lease(agent, agent->asked_ms);
    end_listed(agent, json_object_get(object, "end"));
    timer_set(agent->beat_timer, are_orphans_news(agent) ? 0 : agent->beat_ms);
    log_info("registered", "node", agent->node, "server", agent->asked, "generation",
             log_int(agent->generation), NULL);
}

/* Its ledger is a copy that went another way: it is left alone. What runs goes on, under the lease
 * of the server that gave it, and another address may be that one's. */
static void leave_fork(struct agent *agent, const struct problem *problem)
{
    bool is_told = agent->is_told_refused && text_eq(agent->refused, agent->asked) &&
                   text_eq(agent->refused_why, problem->detail);

    log_line(is_told ? LOG_DEBUG : LOG_WARN,
             "a server is refused: it has another copy of the ledger", "server", agent->asked,
             "why", problem->detail, NULL);
    agent->is_told_refused = true;
    mem_free(agent->refused);
    mem_free(agent->refused_why);
    agent->refused = text_copy(agent->asked);
    agent->refused_why = text_copy(problem->detail);
    if (text_eq(agent->asked, client_address(agent->client)))
        client_next(agent->client);
}

/* Whether the operator was told that this server does not register the agent; from now on it was:
 * once a server, however long it lasts. */
static bool was_told_down(struct agent *agent, const char *address)
{
    CLEANUP(freep) char *line = text_format("%s\n", address);

    if (agent->told_down.len && strstr(str_text(&agent->told_down), line))
        return true;
    str_add(&agent->told_down, line);
    return false;
}

/* Why a registration was not taken, in words. */
static void say_refused(struct agent *agent, int r, const struct client_answer *answer,
                        const struct err *err)
{
    struct problem problem = { 0 };

    if (r == 0)
        client_answer_problem(answer, &problem);
    if (problem.code == PROBLEM_LEDGER_FORKED) {
        leave_fork(agent, &problem);
        return;
    }
    log_line(was_told_down(agent, agent->asked) ? LOG_DEBUG : LOG_WARN, "cannot register yet",
             "server", agent->asked, "why", r < 0 ? err->text : problem.detail, NULL);
}

/* A first registration that is refused will be refused again: the operator must hear of it. */
static bool is_fatal(struct agent *agent, const struct client_answer *answer)
{
    struct problem problem = { 0 };
    int status = answer->status;

    if (agent->was_registered || status < 400 || status >= 500 || status == 404 || status == 408 ||
        status == 409 || status == 429)
        return false;
    client_answer_problem(answer, &problem);
    agent->result = err_set(&agent->why, status == 401 || status == 403 ? -EACCES : -EINVAL,
                            "%s does not register this node: %s", agent->asked, problem.detail);
    runtime_leave(agent->runtime); /* the groups that are empty */
    loop_stop(agent->loop);
    return true;
}

static void say_ready(struct agent *agent)
{
    json_t *object = json_loads(agent->register_offers, 0, NULL), *value;
    CLEANUP(freep)
    struct agent_offer *offers = NEW0_N(struct agent_offer, json_object_size(object) + 1);
    struct agent_ready ready = { agent->node, &agent->machine, offers, 0 };
    const char *resource;

    json_object_foreach(object, resource, value) offers[ready.n_offers++] =
        (struct agent_offer){ resource, json_integer_value(value) };
    if (agent->on_ready)
        agent->on_ready(agent->ready_arg, &ready);
    json_decref(object);
}

static void on_registered(void *arg, int r, const struct client_answer *answer,
                          const struct err *err)
{
    struct agent *agent = arg;
    json_t *object;

    agent->registering = NULL;
    if (r == 0 && is_fatal(agent, answer))
        return;
    object =
        is_ok(r, answer) ? json_loadb(str_text(&answer->body), answer->body.len, 0, NULL) : NULL;
    if (json_integer_value(json_object_get(object, "generation")) < 1 ||
        json_integer_value(json_object_get(object, "ttlMs")) < 1 ||
        json_integer_value(json_object_get(object, "beatMs")) < 1) {
        int64_t pause = next_pause(&agent->register_pause_ms);
        json_decref(object);
        agent->link = LINK_DOWN;
        say_refused(agent, r, answer, err);
        timer_set(agent->register_timer, pause);
        return;
    }
    take_registration(agent, object);
    json_decref(object);
    open_work(agent);
    mail_ask_again(agent);
    if (!agent->was_registered)
        say_ready(agent);
    agent->was_registered = true;
    if (agent->stopping.stage != STOP_NOT)
        link_leave(agent);
}

/* What is under way speaks of an old generation. */
static void cut(struct agent *agent)
{
    client_cancel(TAKE(agent->beating));
    client_cancel(TAKE(agent->having));
    if (agent->working) {
        client_cancel(TAKE(agent->working));
        relay_close_all(agent->relay);
    }
    mail_cut(agent);
    timer_unset(agent->beat_timer);
    timer_unset(agent->work_timer);
    timer_unset(agent->register_timer);
}

static void send_registration(void *arg)
{
    struct agent *agent = arg;
    CLEANUP(str_fini) struct str body = { 0 };

    if (agent->registering)
        return;
    cut(agent);
    agent->link = LINK_REGISTERING;
    agent->asked_ms = now_ms(agent);
    mem_free(agent->asked);
    agent->asked = text_copy(client_address(agent->client));
    add_registration(agent, &body);
    agent->registering = post(agent, "/v1/worker/register", &body, 0, on_registered);
}

void link_register(struct agent *agent)
{
    agent->link = LINK_DOWN;
    if (agent->stopping.stage != STOP_NOT && agent->attempts.n == 0)
        return; /* it has left, and there is nothing to say any more */
    if (!agent->registering)
        timer_set(agent->register_timer,
                  agent->was_registered ? next_pause(&agent->register_pause_ms) : 0);
}

/* ---- Leaving ---- */

static void on_left(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct agent *agent = arg;

    (void)err;
    agent->leaving = NULL;
    if (r == 0 && answer->status == 409)
        log_debug("the node was registered anew while it left", NULL);
    stop_check(agent);
}

void link_leave(struct agent *agent)
{
    CLEANUP(str_fini) struct str body = { 0 };

    if (agent->link != LINK_UP || agent->leaving)
        return;
    wire_frame(&body, agent->node, agent->generation);
    str_add_char(&body, '}');
    agent->leaving = post(agent, "/v1/worker/leave", &body, 0, on_left);
}

/* ---- Life ---- */

static void on_mail_timer(void *arg)
{
    mail_flush(arg);
}

static void on_start_timer(void *arg)
{
    mail_start_waited(arg);
}

void link_open(struct agent *agent)
{
    agent->register_timer = timer_new(agent->loop, send_registration, agent);
    agent->beat_timer = timer_new(agent->loop, beat, agent);
    agent->work_timer = timer_new(agent->loop, open_work, agent);
    agent->mail_timer = timer_new(agent->loop, on_mail_timer, agent);
    agent->start_timer = timer_new(agent->loop, on_start_timer, agent);
    agent->lease_timer = timer_new(agent->loop, on_lease_timer, agent);
}

void link_close(struct agent *agent)
{
    timer_free(agent->register_timer);
    timer_free(agent->beat_timer);
    timer_free(agent->work_timer);
    timer_free(agent->mail_timer);
    timer_free(agent->start_timer);
    timer_free(agent->lease_timer);
}
