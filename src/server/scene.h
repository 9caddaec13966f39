/*
 * Scene, for tests: a ledger in memory, the node loop behind a real socket, and an agent that does
 * what it is told, line by line.
 *
 * Everything waits for an event with a deadline; nothing sleeps.
 */
#ifndef SERVER_SCENE_H
#define SERVER_SCENE_H

#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/http.h"
#include "base/test.h"
#include "server/nodes.h"

enum { SCENE_DEADLINE_MS = 20000 };

struct scene {
    struct ledger *ledger;
    struct loop *loop;
    pthread_t thread;
    struct nodes *nodes;
    struct http_server *http;
    uint16_t port;
};

static void scene_request(struct http_request *request, void *arg)
{
    struct scene *scene = arg;

    nodes_handle(scene->nodes, request, "test");
}

static void *scene_run(void *arg)
{
    loop_run(arg);
    return NULL;
}

/** Opens all but the threads: listeners may be added. */
static inline void scene_open(struct scene *scene, const char *store,
                              const struct nodes_options *more)
{
    struct ledger_options ledger = { .store = store, .clock = &clock_system, .server = "s1" };
    struct http_options http = { .listen = "127.0.0.1:0", .fn = scene_request, .arg = scene };
    struct nodes_options nodes = more ? *more : (struct nodes_options){ 0 };
    struct err err = { 0 };

    *scene = (struct scene){ 0 };
    CHECK_OK(ledger_open(&ledger, &scene->ledger, &err), &err);
    CHECK_OK(loop_open(&scene->loop, &err), &err);
    nodes.ledger = scene->ledger;
    nodes.loop = scene->loop;
    CHECK_OK(nodes_open(&nodes, &scene->nodes, &err), &err);
    CHECK_OK(http_server_open(scene->loop, &http, &scene->http, &err), &err);
    scene->port = http_server_port(scene->http);
}

static inline void scene_start(struct scene *scene)
{
    struct err err = { 0 };

    CHECK_OK(ledger_start(scene->ledger, &err), &err);
    CHECK_EQ(pthread_create(&scene->thread, NULL, scene_run, scene->loop), 0);
}

/** Stops the loop and the ledger, so that what listens can be closed. */
static inline void scene_stop(struct scene *scene)
{
    loop_stop(scene->loop);
    pthread_join(scene->thread, NULL);
    ledger_close(scene->ledger);
    scene->ledger = NULL;
}

static inline void scene_close(struct scene *scene)
{
    if (scene->ledger)
        scene_stop(scene);
    nodes_close(scene->nodes);
    http_server_close(scene->http);
    loop_close(scene->loop);
}

/* ---- operations, waited for ---- */

struct scene_wait {
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over;
};

static void scene_done(struct op *op, void *arg)
{
    struct scene_wait *wait = arg;

    (void)op;
    pthread_mutex_lock(&wait->lock);
    wait->is_over = true;
    pthread_cond_signal(&wait->over);
    pthread_mutex_unlock(&wait->lock);
}

/** Sends op and waits for its outcome; op is the caller's again. */
static inline void scene_ask(struct scene *scene, struct op *op)
{
    struct scene_wait wait = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };

    op->done = scene_done;
    /* cppcheck-suppress autoVariables ; this waits until the op is answered */
    op->arg = &wait;
    ledger_send(scene->ledger, op);
    pthread_mutex_lock(&wait.lock);
    while (!wait.is_over)
        pthread_cond_wait(&wait.over, &wait.lock);
    pthread_mutex_unlock(&wait.lock);
}

/** Submits a job from its JSON; its number. */
static inline uint64_t scene_submit(struct scene *scene, const char *text)
{
    struct op *op = op_new(OP_SUBMIT, NULL, NULL);
    json_t *object = json_loads(text, 0, NULL);
    struct problem problem = { 0 };
    uint64_t job;

    op->submit.user = text_copy("ann");
    if (job_spec_from_json(object, NULL, &op->submit.spec, &problem) < 0)
        CHECK_TEXT(problem.detail, "");
    json_decref(object);
    scene_ask(scene, op);
    CHECK_TEXT(op->problem.detail, "");
    job = op->submit.job;
    op_free(op);
    return job;
}

/** Cancels a job. */
static inline void scene_cancel(struct scene *scene, uint64_t job)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = job;
    op->stop.cause = CAUSE_CANCELLED;
    op->stop.grace_ms = -1;
    op->stop.by = text_copy("ann");
    scene_ask(scene, op);
    CHECK_EQ(op->problem.code, PROBLEM_NONE);
    op_free(op);
}

/** Takes the lease of deciding; its fence. */
static inline uint64_t scene_take_lease(struct scene *scene)
{
    struct op *op = op_new(OP_LEASE, NULL, NULL);
    uint64_t fence;

    op->lease.name = text_copy("steward");
    op->lease.is_take = true;
    op->lease.ttl_ms = 6000;
    scene_ask(scene, op);
    fence = op->lease.fence;
    CHECK(fence != 0);
    op_free(op);
    return fence;
}

/** A look at what the store holds; to be ended by reader_close. */
static inline struct reader *scene_read(struct scene *scene)
{
    struct reader *reader = NULL;
    struct err err = { 0 };
    uint64_t revision;

    CHECK_OK(reader_open(scene->ledger, &reader, &err), &err);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    return reader;
}

/** Binds task 0 of a job's first group; whether the ledger took it. */
static inline bool scene_bind(struct scene *scene, uint64_t fence, uint64_t job, uint32_t number,
                              const char *node)
{
    struct op *op = op_new(OP_BIND, NULL, NULL);
    struct reader *reader = scene_read(scene);
    struct row_node *row = NULL;
    struct row_job *of = NULL;
    struct err err = { 0 };
    bool is_taken;

    CHECK_OK(reader_node(reader, node, &row, &err), &err);
    CHECK_OK(reader_job(reader, job, &of, &err), &err);
    op->bind.job = job;
    op->bind.version = of->version;
    op->bind.fence = fence;
    op->bind.decision = text_copy("test");
    op->bind.parts = NEW0(struct op_bind_part);
    op->bind.n_parts = 1;
    op->bind.parts[0] =
        (struct op_bind_part){ .number = number, .node = text_copy(node), .facts = row->facts };
    row_free(ROW_NODE, row);
    row_free(ROW_JOB, of);
    reader_close(reader);
    scene_ask(scene, op);
    is_taken = op->problem.code == PROBLEM_NONE;
    op_free(op);
    return is_taken;
}

/** The job as the store has it; yours to row_free. */
static inline struct row_job *scene_job(struct scene *scene, uint64_t job)
{
    struct reader *reader = scene_read(scene);
    struct row_job *row = NULL;
    struct err err = { 0 };

    CHECK_OK(reader_job(reader, job, &row, &err), &err);
    reader_close(reader);
    return row;
}

static inline enum job_state scene_job_state(struct scene *scene, uint64_t job)
{
    struct row_job *row = scene_job(scene, job);
    enum job_state state = (enum job_state)row->state;

    row_free(ROW_JOB, row);
    return state;
}

/* ---- an agent ---- */

struct agent {
    uint16_t port;
    const char *node;
    uint64_t generation;
    const char *seen; /* "Berth-Seen: OPENING REVISION\r\n"; NULL: it says nothing */
    int stream;       /* -1: none */
    struct str in;
    size_t chunk_left;
    bool has_head;
    struct str line;
};

/** A connection; -1 if nobody listens. */
static inline int agent_connect(const struct agent *agent)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(agent->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

/** Sends all, unless the peer is gone. */
static inline void agent_send(int fd, const char *data, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

        if (sent < 0)
            return;
        data += sent;
        n -= (size_t)sent;
    }
}

/** Reads more; false at the end of the connection. Fails the test at the deadline. */
static inline bool agent_receive(int fd, struct str *in)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    ssize_t n;

    CHECK_EQ(poll(&wait, 1, SCENE_DEADLINE_MS), 1);
    n = recv(fd, str_room(in, 65536), 65536, 0);
    if (n <= 0)
        return false;
    in->len += (size_t)n;
    in->data[in->len] = '\0';
    return true;
}

/** Begins a call; its connection, to be read by agent_finish. */
static inline int agent_begin(struct agent *agent, const char *path, const char *body, size_t n)
{
    int fd = agent_connect(agent);
    char *head = text_format("POST %s HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
                             "Content-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n",
                             path, n, agent->seen ? agent->seen : "");

    agent_send(fd, head, strlen(head));
    agent_send(fd, body, n);
    mem_free(head);
    return fd;
}

/** Reads the answer to the end; its status, 0 if none came. *out gains the body's JSON, or NULL. */
static inline int agent_finish(int fd, json_t **out)
{
    struct str in = { 0 };
    const char *body;
    int status = 0;

    if (out)
        *out = NULL;
    while (fd >= 0 && agent_receive(fd, &in))
        ;
    if (fd >= 0)
        close(fd);
    if (!in.len) {
        str_fini(&in);
        return 0;
    }
    CHECK_EQ(sscanf(str_text(&in), "HTTP/1.1 %d", &status), 1);
    body = strstr(in.data, "\r\n\r\n");
    if (out)
        *out = body ? json_loads(body + 4, 0, NULL) : NULL;
    str_fini(&in);
    return status;
}

static inline int agent_post(struct agent *agent, const char *path, const char *body, json_t **out)
{
    return agent_finish(agent_begin(agent, path, body, strlen(body)), out);
}

/** Posts {"node":..,"generation":..,MORE} to /v1/worker/WORD. */
static inline int agent_say(struct agent *agent, const char *word, const char *more, json_t **out)
{
    char *path = text_format("/v1/worker/%s", word);
    char *body = text_format("{\"node\":\"%s\",\"generation\":%llu%s%s}", agent->node,
                             (unsigned long long)agent->generation, *more ? "," : "", more);
    int status = agent_post(agent, path, body, out);

    mem_free(path);
    mem_free(body);
    return status;
}

/** Registers with what it holds (a JSON list); *out, if not NULL, gains the answer. */
static inline int agent_register_with(struct agent *agent, const char *boot, const char *more,
                                      json_t **out)
{
    char *body = text_format("{\"node\":\"%s\",\"bootId\":\"%s\",\"offers\":{\"cpu\":8000,"
                             "\"memory\":8589934592}%s%s}",
                             agent->node, boot, *more ? "," : "", more);
    json_t *answer;
    int status = agent_post(agent, "/v1/worker/register", body, &answer);

    while (status == 503) { /* the server is starting: come again */
        json_decref(answer);
        status = agent_post(agent, "/v1/worker/register", body, &answer);
    }
    mem_free(body);
    if (status == 200)
        agent->generation = (uint64_t)json_integer_value(json_object_get(answer, "generation"));
    if (out)
        *out = answer;
    else
        json_decref(answer);
    return status;
}

/** Opens the stream of work (a path with its query); the status, 0 if the server is gone. */
static inline int agent_open_at(struct agent *agent, const char *path)
{
    char *head =
        text_format("GET %s HTTP/1.1\r\nHost: t\r\n%s\r\n", path, agent->seen ? agent->seen : "");
    int status = 0;

    agent->stream = agent_connect(agent);
    agent->chunk_left = 0;
    str_clear(&agent->in);
    str_clear(&agent->line);
    if (agent->stream >= 0)
        agent_send(agent->stream, head, strlen(head));
    mem_free(head);
    while (!strstr(str_text(&agent->in), "\r\n\r\n"))
        if (agent->stream < 0 || !agent_receive(agent->stream, &agent->in))
            return 0;
    CHECK_EQ(sscanf(agent->in.data, "HTTP/1.1 %d", &status), 1);
    str_drop(&agent->in, (size_t)(strstr(agent->in.data, "\r\n\r\n") + 4 - agent->in.data));
    return status;
}

static inline void agent_hang_up(struct agent *agent)
{
    if (agent->stream >= 0)
        close(agent->stream);
    agent->stream = -1;
}

/** Opens the stream; have NULL leaves it out. */
static inline void agent_open(struct agent *agent, const char *have)
{
    char *path =
        text_format("/v1/worker/work?node=%s&generation=%llu%s%s", agent->node,
                    (unsigned long long)agent->generation, have ? "&have=" : "", have ? have : "");

    agent_hang_up(agent);
    CHECK_EQ(agent_open_at(agent, path), 200);
    mem_free(path);
}

static inline void agent_fini(struct agent *agent)
{
    agent_hang_up(agent);
    str_fini(&agent->in);
    str_fini(&agent->line);
}

/* Moves what has come of the chunked body to `line`; false if more must be read, or at its end. */
static inline bool agent_unchunk(struct agent *agent)
{
    size_t n;

    if (agent->chunk_left == 0) {
        char *end = agent->in.len ? strstr(agent->in.data, "\r\n") : NULL;

        if (!end || strtoul(agent->in.data, NULL, 16) == 0)
            return false;
        agent->chunk_left = strtoul(agent->in.data, NULL, 16) + 2; /* with its CRLF */
        str_drop(&agent->in, (size_t)(end + 2 - agent->in.data));
    }
    n = agent->in.len < agent->chunk_left ? agent->in.len : agent->chunk_left;
    if (n == 0)
        return false;
    if (agent->chunk_left > 2)
        str_add_bytes(&agent->line, agent->in.data,
                      n < agent->chunk_left - 2 ? n : agent->chunk_left - 2);
    agent->chunk_left -= n;
    str_drop(&agent->in, n);
    return true;
}

static inline bool agent_is_at_end(const struct agent *agent)
{
    return agent->chunk_left == 0 && agent->in.len >= 5 &&
           memcmp(agent->in.data, "0\r\n\r\n", 5) == 0;
}

/** The next line, bookmarks too; yours to json_decref. NULL: the server ended the stream. */
static inline json_t *agent_any_line(struct agent *agent)
{
    char *end;
    json_t *line;

    for (;;) {
        while (agent_unchunk(agent))
            ;
        end = agent->line.len ? memchr(agent->line.data, '\n', agent->line.len) : NULL;
        if (end)
            break;
        if (agent_is_at_end(agent) || !agent_receive(agent->stream, &agent->in))
            return NULL;
    }
    line = json_loadb(agent->line.data, (size_t)(end - agent->line.data), 0, NULL);
    str_drop(&agent->line, (size_t)(end + 1 - agent->line.data));
    CHECK(line != NULL);
    return line;
}

static inline bool agent_is_line(const json_t *line, const char *what)
{
    return strcmp(json_string_value(json_object_get(line, "do")), what) == 0;
}

/** The next line that is no bookmark; yours to json_decref. NULL: the server ended the stream. */
static inline json_t *agent_line(struct agent *agent)
{
    json_t *line = agent_any_line(agent);

    while (line && agent_is_line(line, "bookmark")) {
        json_decref(line);
        line = agent_any_line(agent);
    }
    return line;
}

/** Expects the bookmark behind the difference: nothing was sent. */
static inline void agent_expect_nothing(struct agent *agent)
{
    json_t *line = agent_any_line(agent);

    CHECK(line && agent_is_line(line, "bookmark"));
    json_decref(line);
}

/** Expects a line of this kind about this attempt; yours to json_decref. */
static inline json_t *agent_expect(struct agent *agent, const char *what, const char *attempt)
{
    json_t *line = agent_line(agent);

    CHECK(line != NULL);
    CHECK_TEXT(json_string_value(json_object_get(line, "do")), what);
    CHECK_TEXT(json_string_value(json_object_get(line, "attempt")), attempt);
    return line;
}

/** Says something of one attempt (`more` is of the report); the result's code, "" if it is ok. */
static inline const char *agent_result(int status, json_t *answer)
{
    static char code[64];
    json_t *result = json_array_get(json_object_get(answer, "results"), 0);
    const char *text = json_string_value(json_object_get(result, "code"));

    if (status != 200)
        text = json_string_value(json_object_get(answer, "code"));
    else if (json_is_true(json_object_get(result, "ok")))
        text = "";
    snprintf(code, sizeof(code), "%s", text ? text : "(no result)");
    json_decref(answer);
    return code;
}

static inline const char *agent_ack(struct agent *agent, const char *attempt)
{
    char *more = text_format("\"attempts\":[\"%s\"]", attempt);
    json_t *answer;
    int status = agent_say(agent, "ack", more, &answer);

    mem_free(more);
    return agent_result(status, answer);
}

static inline const char *agent_report(struct agent *agent, const char *attempt, const char *rest)
{
    char *more = text_format("\"reports\":[{\"attempt\":\"%s\",%s}]", attempt, rest);
    json_t *answer;
    int status = agent_say(agent, "reports", more, &answer);

    mem_free(more);
    return agent_result(status, answer);
}

#define AGENT_RUNNING   "\"state\":\"running\",\"startedAt\":\"2026-01-01T00:00:00Z\""
#define AGENT_ENDED     "\"state\":\"ended\",\"cause\":\"COMPLETED\",\"code\":0"
#define AGENT_CANCELLED "\"state\":\"ended\",\"cause\":\"CANCELLED\",\"signal\":15"

#endif
