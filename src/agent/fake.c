/* Fake: see fake.h. */
#include "agent/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/file.h"
#include "base/log.h"
#include "base/test.h"

enum { DEADLINE_MS = 30000, LOOK_MS = 20 /* for what comes with no message */ };

/* ---- Answers ---- */

static void answer(struct http_request *request, int status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);

    json_decref(body);
    http_set_header(request, "Content-Type", "application/json");
    http_answer(request, status, text, strlen(text));
    free(text);
}

/* As every answer that names a revision. */
static void answer_at(struct fake *fake, struct http_request *request, int64_t revision,
                      json_t *body)
{
    json_object_set_new(body, "revision", json_integer((json_int_t)revision));
    if (fake->opening)
        json_object_set_new(body, "opening", json_string(fake->opening));
    answer(request, 200, body);
}

static void refuse(struct http_request *request, int status, const char *code)
{
    answer(request, status,
           json_pack("{s:s, s:i, s:s}", "title", "refused", "status", status, "code", code));
}

/* What was done is not answered with what became of it: a connection that breaks would not do, for
 * curl itself sends again what it sent over a kept one. */
static void garble(struct http_request *request)
{
    answer(request, 500, json_object());
}

/* The answer never comes: the connection breaks instead. */
static void lose(struct http_request *request)
{
    http_stream_begin(request, 200);
    http_stream_abort(request);
}

static struct fake_attempt *find(struct fake *fake, const char *name)
{
    for (size_t i = 0; name && i < fake->n; i++)
        if (text_eq(fake->attempts[i].name, name))
            return &fake->attempts[i];
    return NULL;
}

/* ---- Work ---- */

void fake_line(struct fake *fake, const char *fmt, ...)
{
    CLEANUP(str_fini) struct str line = { 0 };
    va_list args;

    if (!fake->stream)
        return;
    va_start(args, fmt);
    str_addv(&line, fmt, args);
    va_end(args);
    str_add_char(&line, '\n');
    http_stream_write(fake->stream, line.data, line.len);
}

static void deliver(struct fake *fake, struct fake_attempt *attempt)
{
    if (!fake->stream || attempt->was_told || attempt->state != ATTEMPT_BOUND)
        return;
    attempt->was_told = true;
    fake_line(fake, "{\"do\":\"start\",\"attempt\":\"%s\",\"spec\":%s}", attempt->name,
              attempt->spec);
}

struct fake_attempt *fake_add(struct fake *fake, const char *name, const char *spec)
{
    struct fake_attempt *attempt = &fake->attempts[fake->n++];

    snprintf(attempt->name, sizeof(attempt->name), "%s", name);
    attempt->spec = text_copy(spec);
    attempt->state = ATTEMPT_BOUND;
    deliver(fake, attempt);
    return attempt;
}

void fake_stop(struct fake *fake, struct fake_attempt *attempt, enum cause cause, int64_t grace_ms)
{
    attempt->is_stop_wanted = true;
    attempt->cause = cause;
    attempt->state = (enum attempt_state)attempt_next(attempt->state, ATTEMPT_ON_STOP);
    fake_line(fake, "{\"do\":\"stop\",\"attempt\":\"%s\",\"cause\":\"%s\",\"graceMs\":%" PRId64 "}",
              attempt->name, cause_words[cause], grace_ms);
}

void fake_drop(struct fake *fake, struct fake_attempt *attempt)
{
    attempt->state = ATTEMPT_ENDED;
    fake_line(fake, "{\"do\":\"drop\",\"attempt\":\"%s\"}", attempt->name);
}

void fake_read_log(struct fake *fake, const char *name, uint64_t at, uint64_t limit, bool is_follow)
{
    str_clear(&fake->log);
    fake->log_is_over = fake->log_is_gone = false;
    fake->log_status = 200;
    fake_line(fake,
              "{\"do\":\"open\",\"sid\":\"s/1\",\"attempt\":\"%s\",\"at\":%" PRIu64
              ",\"limit\":%" PRIu64 ",\"follow\":%s}",
              name, at, limit, is_follow ? "true" : "false");
}

void fake_cut(struct fake *fake)
{
    struct http_request *stream = TAKE(fake->stream);

    if (!stream)
        return;
    http_on_close(stream, NULL, NULL);
    http_stream_abort(stream);
}

static void on_stream_close(struct http_request *request, void *arg)
{
    struct fake *fake = arg;

    if (fake->stream == request)
        fake->stream = NULL;
    http_stream_end(request);
}

static void take_have(struct fake *fake, const char *have)
{
    CLEANUP(freep) char *copy = text_copy(have ? have : "");
    char *rest = copy;

    for (char *name; have && *have && (name = strsep(&rest, ","));) {
        struct fake_attempt *attempt = find(fake, name);
        if (attempt && attempt->state != ATTEMPT_ENDED)
            attempt->was_told = true;
        else
            fake_line(fake, "{\"do\":\"drop\",\"attempt\":\"%s\"}", name);
    }
}

static void on_work(struct fake *fake, struct http_request *request)
{
    const char *have = http_query(request, "have");

    fake_cut(fake);
    http_stream_begin(request, 200);
    http_on_close(request, on_stream_close, fake);
    fake->stream = request;
    for (size_t i = 0; i < fake->n; i++)
        fake->attempts[i].was_told = false;
    take_have(fake, have ? have : str_text(&fake->held));
    for (size_t i = 0; i < fake->n; i++) {
        struct fake_attempt *attempt = &fake->attempts[i];
        deliver(fake, attempt);
        if (attempt->state == ATTEMPT_STOPPING)
            fake_line(fake,
                      "{\"do\":\"stop\",\"attempt\":\"%s\",\"cause\":\"%s\",\"graceMs\":1000}",
                      attempt->name, cause_words[attempt->cause]);
    }
    if (fake->opening)
        fake_line(fake, "{\"do\":\"bookmark\",\"opening\":\"%s\",\"revision\":%" PRId64 "}",
                  fake->opening, fake->generation);
    else
        fake_line(fake, "{\"do\":\"bookmark\",\"revision\":%" PRId64 "}", fake->generation);
}

/* ---- Messages ---- */

static json_t *list_or_none(const char *text)
{
    return text ? json_loads(text, 0, NULL) : NULL;
}

static void on_register(struct fake *fake, struct http_request *request, const json_t *body)
{
    const json_t *held = json_object_get(body, "attempts");
    json_t *end = json_array(), *live;
    size_t n;

    fake->n_registers++;
    fake->generation++;
    str_clear(&fake->held);
    str_clear(&fake->info);
    str_add(&fake->info, http_body(request, &n));
    for (size_t i = 0; i < json_array_size(held); i++) {
        const char *name = json_string_value(json_array_get(held, i));
        struct fake_attempt *attempt = find(fake, name);
        str_addf(&fake->held, "%s,", name ? name : "?");
        if (fake->forgets_all || !attempt || attempt->state == ATTEMPT_ENDED)
            json_array_append_new(end,
                                  json_pack("{s:s, s:s}", "attempt", name, "cause", "DISOWNED"));
        else
            attempt->generation = fake->generation;
    }
    live = list_or_none(fake->live);
    for (size_t i = 0; i < json_array_size(live); i++) {
        struct fake_attempt *attempt = find(fake, json_string_value(json_array_get(live, i)));
        attempt->generation = fake->generation;
    }
    answer_at(fake, request, fake->generation,
              json_pack("{s:s, s:I, s:s, s:I, s:I, s:b, s:o, s:o*, s:o*}", "node", fake->node,
                        "generation", (json_int_t)fake->generation, "incarnation",
                        fake->incarnation, "ttlMs", (json_int_t)fake->ttl_ms, "beatMs",
                        (json_int_t)fake->beat_ms, "otherLife",
                        json_string_length(json_object_get(body, "incarnation")) &&
                            !text_eq(json_string_value(json_object_get(body, "incarnation")),
                                     fake->incarnation),
                        "end", end, "live", live, "lives", list_or_none(fake->lives)));
}

static bool take_ack(struct fake *fake, struct fake_attempt *attempt)
{
    int next = attempt ? attempt_next(attempt->state, ATTEMPT_ON_ACK) : -1;

    if (fake->refuse_acks > 0 && fake->refuse_acks--)
        return false;
    if (attempt && attempt->state == ATTEMPT_STARTING && attempt->generation == fake->generation)
        return true;
    if (next < 0)
        return false;
    attempt->state = (enum attempt_state)next;
    attempt->generation = fake->generation;
    attempt->n_acks++;
    return true;
}

static void on_ack(struct fake *fake, struct http_request *request, const json_t *body)
{
    const json_t *names = json_object_get(body, "attempts");
    json_t *results = json_array();

    fake->n_ack_messages++;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        bool is_ok = take_ack(fake, find(fake, name));
        json_array_append_new(results, json_pack("{s:s, s:b, s:s}", "attempt", name, "ok", is_ok,
                                                 "code", is_ok ? "" : "STALE_ATTEMPT"));
    }
    if (fake->lose_acks > 0 && fake->lose_acks--) {
        json_decref(results);
        garble(request);
        return;
    }
    if (fake->opening)
        answer_at(fake, request, fake->revision, json_pack("{s:o}", "results", results));
    else
        answer(request, 200, json_pack("{s:o}", "results", results));
}

static void take_end(struct fake_attempt *attempt, const json_t *report)
{
    const char *cause = json_string_value(json_object_get(report, "cause"));
    const char *detail = json_string_value(json_object_get(report, "detail"));
    const char *message = json_string_value(json_object_get(report, "message"));

    attempt->cause = (enum cause)states_find(cause, cause_words, CAUSE_COUNT);
    attempt->detail =
        detail ? (enum detail)states_find(detail, detail_words, DETAIL_COUNT) : DETAIL_NONE;
    attempt->code = (int)json_integer_value(json_object_get(report, "code"));
    attempt->signal = (int)json_integer_value(json_object_get(report, "signal"));
    attempt->has_timings = json_array_size(json_object_get(report, "timings")) > 0;
    attempt->has_started_at = json_object_get(report, "startedAt") != NULL;
    snprintf(attempt->message, sizeof(attempt->message), "%s", message ? message : "");
    attempt->n_ends++;
}

static bool take_report(struct fake *fake, const json_t *report)
{
    struct fake_attempt *attempt =
        find(fake, json_string_value(json_object_get(report, "attempt")));
    bool is_end = text_eq(json_string_value(json_object_get(report, "state")), "ended");
    int next;

    fake->n_starts += !is_end;
    if (!attempt || attempt->generation != fake->generation)
        return false;
    next = attempt_next(attempt->state, is_end ? ATTEMPT_ON_EXIT : ATTEMPT_ON_STARTED);
    if (next < 0) {
        fake->n_repeats += is_end && attempt->n_ends;
        return attempt->n_ends || !is_end;
    }
    attempt->state = (enum attempt_state)next;
    if (is_end)
        take_end(attempt, report);
    return true;
}

static void on_reports(struct fake *fake, struct http_request *request, const json_t *body)
{
    const json_t *reports = json_object_get(body, "reports");
    json_t *results = json_array();
    bool has_end = false;

    fake->n_report_messages++;
    for (size_t i = 0; i < json_array_size(reports); i++) {
        const json_t *report = json_array_get(reports, i);
        bool is_ok = take_report(fake, report);
        has_end |= text_eq(json_string_value(json_object_get(report, "state")), "ended");
        json_array_append_new(results, json_pack("{s:O, s:b, s:s}", "attempt",
                                                 json_object_get(report, "attempt"), "ok", is_ok,
                                                 "code", is_ok ? "" : "STALE_ATTEMPT"));
    }
    if (has_end && fake->lose_reports > 0 && fake->lose_reports--) {
        json_decref(results);
        garble(request);
        return;
    }
    answer(request, 200, json_pack("{s:o}", "results", results));
}

static void on_piece(struct fake *fake, struct http_request *request)
{
    size_t n;
    const char *bytes = http_body(request, &n);

    if (fake->log_status == 200) {
        str_add_bytes(&fake->log, bytes, n);
        fake->log_is_over = text_eq(http_query(request, "end"), "1");
        fake->log_is_gone = text_eq(http_query(request, "gone"), "1");
    } else {
        fake->log_is_over = true;
    }
    answer(request, fake->log_status, json_object());
}

static bool is_of_this_generation(struct fake *fake, const json_t *body)
{
    return json_integer_value(json_object_get(body, "generation")) == fake->generation;
}

static void note_orphans(struct fake *fake, const json_t *list)
{
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;

    if (!text)
        return;
    str_clear(&fake->orphans);
    str_add(&fake->orphans, text);
    free(text);
}

static void on_message(struct fake *fake, struct http_request *request, const char *what,
                       const json_t *body)
{
    if (text_eq(what, "register")) {
        on_register(fake, request, body);
        return;
    }
    if (!is_of_this_generation(fake, body)) {
        refuse(request, 409, "STALE_ATTEMPT");
        return;
    }
    if (text_eq(what, "ack")) {
        on_ack(fake, request, body);
    } else if (text_eq(what, "reports")) {
        on_reports(fake, request, body);
    } else {
        fake->n_beats += text_eq(what, "beat");
        fake->beat_ttl_ms = json_integer_value(json_object_get(body, "ttlMs"));
        note_orphans(fake, json_object_get(body, "orphans"));
        fake->n_leaves += text_eq(what, "leave");
        answer_at(fake, request, fake->generation, json_object());
    }
}

static void check_until(struct fake *fake)
{
    if (fake->until && fake->until(fake))
        loop_stop(fake->loop);
}

static void on_request(struct http_request *request, void *arg)
{
    struct fake *fake = arg;
    const char *what = http_part(request, 2);
    json_t *body;
    size_t n;

    fake->n_requests++;
    snprintf(fake->seen, sizeof(fake->seen), "%s",
             http_header(request, "Berth-Seen") ? http_header(request, "Berth-Seen") : "");
    if (fake->is_mute) {
        lose(request);
    } else if (fake->is_fork) {
        fake->n_forked += text_eq(what, "register");
        refuse(request, 409, "LEDGER_FORKED");
    } else if (fake->refuse_busy > 0 && fake->refuse_busy--) {
        refuse(request, 503, "STARTING");
    } else if (text_eq(what, "work")) {
        const char *generation = http_query(request, "generation");
        if (generation && strtoll(generation, NULL, 10) == fake->generation)
            on_work(fake, request);
        else
            refuse(request, 409, "CONFLICT");
    } else if (text_eq(what, "streams")) {
        CHECK_TEXT(http_part(request, 3), "s/1");
        on_piece(fake, request);
    } else {
        const char *text = http_body(request, &n);
        body = json_loadb(text, n, 0, NULL);
        on_message(fake, request, what, body);
        json_decref(body);
    }
    check_until(fake);
}

/* ---- Waiting ---- */

static void on_look(void *arg)
{
    struct fake *fake = arg;

    check_until(fake);
    timer_set(fake->look, LOOK_MS);
}

static void on_deadline(void *arg)
{
    struct fake *fake = arg;

    fake->is_late = true;
    loop_stop(fake->loop);
}

static void say_attempts(const struct fake *fake)
{
    for (size_t i = 0; i < fake->n; i++)
        if (fake->n < 20 || fake->attempts[i].state != ATTEMPT_ENDED)
            print_error("  %s: %s %s\n", fake->attempts[i].name,
                        attempt_state_words[fake->attempts[i].state],
                        cause_words[fake->attempts[i].cause]);
}

void fake_wait(struct fake *fake, bool (*until)(struct fake *fake), const char *what)
{
    fake->until = until;
    fake->is_late = false;
    timer_set(fake->deadline, DEADLINE_MS);
    timer_set(fake->look, LOOK_MS);
    if (!until(fake))
        loop_run(fake->loop);
    timer_unset(fake->deadline);
    timer_unset(fake->look);
    fake->until = NULL;
    if (!until(fake)) {
        print_error("waited in vain for: %s\n", what);
        say_attempts(fake);
    }
    CHECK(until(fake));
}

bool fake_is_registered(struct fake *fake)
{
    return fake->n_registers > 0;
}

bool fake_has_stream(struct fake *fake)
{
    return fake->stream != NULL;
}

bool fake_all_ended(struct fake *fake)
{
    for (size_t i = 0; i < fake->n; i++)
        if (fake->attempts[i].state != ATTEMPT_ENDED)
            return false;
    return true;
}

bool fake_all_run(struct fake *fake)
{
    for (size_t i = 0; i < fake->n; i++)
        if (fake->attempts[i].state != ATTEMPT_RUNNING)
            return false;
    return true;
}

bool fake_agent_is_over(struct fake *fake)
{
    return fake->agent_is_over;
}

/* ---- The agent ---- */

static void run_agent(const struct fake *fake, const char *kill_at)
{
    struct client_settings settings = { 0 };
    struct agent_options options = {
        .settings = &settings,
        .node = fake->node,
        .data_dir = fake->dir,
        .monitor_path = BERTH_BUILD_DIR "/berth-monitor",
        .version = "test",
        .allow_process = true,
        .default_runtime = fake->default_runtime,
        .clock = fake->clock,
        .start_timeout_ms = fake->start_timeout_ms,
        .takes_signals = true,
        .stop_budget_ms = fake->stop_budget_ms ? fake->stop_budget_ms : 4000,
    };
    struct agent *agent = NULL;
    struct err err = { 0 };
    int r;

    if (kill_at)
        setenv("BERTH_TEST_KILL_AT", kill_at, 1);
    log_setup(getenv("BERTH_TEST_LOUD") ? LOG_DEBUG : LOG_ERROR, LOG_TEXT);
    settings.values[SETTING_ADDR] = text_copy(fake->addr);
    settings.values[SETTING_TOKEN] = text_copy("token");
    r = agent_open(&options, &agent, &err);
    if (r == 0)
        r = agent_run(agent, &err);
    if (r < 0)
        fprintf(stderr, "agent: %s\n", err.text);
    agent_close(agent);
    client_settings_fini(&settings);
    exit(r < 0);
}

static void on_agent_end(int fd, unsigned events, void *arg)
{
    struct fake *fake = arg;

    (void)events;
    fdwatch_free(fake->agent_watch);
    fake->agent_watch = NULL;
    close(fd);
    CHECK_EQ(waitpid(fake->agent, &fake->exit_status, 0), fake->agent);
    fake->agent_is_over = true;
    fake->agent = 0;
    check_until(fake);
}

void fake_spawn(struct fake *fake, const char *kill_at)
{
    int fd;

    fflush(NULL);
    fake->agent_is_over = false;
    fake->agent = fork();
    CHECK(fake->agent >= 0);
    if (fake->agent == 0) {
        /* A test that failed leaves no agent behind. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* Of the parent's descriptors the child needs none but the output. */
        syscall(SYS_close_range, 3u, ~0u, 0u);
        run_agent(fake, kill_at);
    }
    fd = (int)syscall(SYS_pidfd_open, fake->agent, 0);
    CHECK(fd >= 0);
    fake->agent_watch = fdwatch_new(fake->loop, fd, LOOP_READ, on_agent_end, fake);
}

int fake_finish(struct fake *fake, int signal)
{
    if (!fake->agent_is_over)
        CHECK_EQ(kill(fake->agent, signal), 0);
    fake_wait(fake, fake_agent_is_over, "the agent's end");
    return fake->exit_status;
}

/* ---- Life ---- */

void fake_begin(struct fake *fake)
{
    struct http_options options = { .listen = "127.0.0.1:0", .fn = on_request, .arg = fake };
    static int n_nodes;
    struct err err = { 0 };

    memset(fake, 0, sizeof(*fake));
    snprintf(fake->dir, sizeof(fake->dir), "/tmp/berth-test-XXXXXX");
    CHECK(mkdtemp(fake->dir));
    snprintf(fake->node, sizeof(fake->node), "test-%d-%d", (int)getpid(), n_nodes++);
    fake->incarnation = "life-1";
    fake->ttl_ms = 30000;
    fake->beat_ms = 1000;
    CHECK_OK(loop_open(&fake->loop, &err), &err);
    CHECK_OK(http_server_open(fake->loop, &options, &fake->http, &err), &err);
    snprintf(fake->addr, sizeof(fake->addr), "http://%s", http_server_address(fake->http));
    fake->deadline = timer_new(fake->loop, on_deadline, fake);
    fake->look = timer_new(fake->loop, on_look, fake);
}

static bool knows_nothing(void *ctx, const char *id)
{
    (void)ctx;
    (void)id;
    return false;
}

/* What the agent left running, counted and ended. */
static int count_left(struct fake *fake)
{
    struct machine machine;
    struct runtime_config config = { .data_dir = fake->dir,
                                     .node = fake->node,
                                     .monitor_path = BERTH_BUILD_DIR "/berth-monitor",
                                     .machine = &machine };
    struct runtime *runtime = NULL;
    struct err err = { 0 };
    int n;

    runtime_probe(&machine);
    CHECK_OK(runtime_open(&config, &runtime, &err), &err);
    n = runtime_sweep(runtime, knows_nothing, NULL, &err);
    runtime_leave(runtime);
    runtime_close(runtime);
    return n;
}

void fake_end(struct fake *fake)
{
    struct err err = { 0 };

    if (!fake->agent_is_over && fake->agent > 0)
        fake_finish(fake, SIGKILL);
    fake_cut(fake);
    http_server_close(fake->http);
    timer_free(fake->deadline);
    timer_free(fake->look);
    loop_close(fake->loop);
    CHECK_EQ(count_left(fake), 0);
    CHECK_OK(file_remove_tree(AT_FDCWD, fake->dir, &err), &err);
    for (size_t i = 0; i < fake->n; i++)
        mem_free(fake->attempts[i].spec);
    str_fini(&fake->held);
    str_fini(&fake->info);
    str_fini(&fake->orphans);
    str_fini(&fake->log);
}
