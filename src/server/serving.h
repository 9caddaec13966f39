/*
 * Serving, for tests: a whole server on a free port with its ledger in memory, and somebody who
 * asks it over a plain socket.
 */
#ifndef SERVER_SERVING_H
#define SERVER_SERVING_H

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>

#include "base/file.h"
#include "base/test.h"
#include "base/test_http.h"
#include "server/server.h"

struct serving {
    struct server *server;
    pthread_t thread;
    char dir[32];
    char token[80], agent_token[80]; /* "Authorization: Bearer …\r\n" */
    uint16_t port;
    int fd; /* a connection that is kept */
    struct test_answer answer;
};

static void *serving_run(void *server)
{
    server_run(server);
    return NULL;
}

static inline void serving_read_token(const char *path, char out[80])
{
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };

    CHECK_OK(file_read(AT_FDCWD, path, 100, &text, &err), &err);
    text.data[strcspn(text.data, "\n")] = '\0';
    snprintf(out, 80, "%s", text.data);
}

/** Opens a server whose ledger was there before, so that no tokens are made. */
static inline void serving_restart(struct serving *s, struct server_options options)
{
    struct err err = { 0 };

    *s = (struct serving){ .fd = -1 };
    strcpy(s->dir, "/tmp/berth-serving-XXXXXX");
    CHECK(mkdtemp(s->dir) != NULL);
    options.data = s->dir;
    options.listen = "127.0.0.1:0";
    if (!options.store)
        options.store = "memory:";
    CHECK_OK(server_open(&options, &s->server, &err), &err);
    s->port = (uint16_t)strtoul(strrchr(server_address(s->server), ':') + 1, NULL, 10);
    CHECK_EQ(pthread_create(&s->thread, NULL, serving_run, s->server), 0);
    s->fd = test_dial(s->port);
}

/** Opens a server with the options given, in a folder of its own, and runs it. */
static inline void serving_start_with(struct serving *s, struct server_options options)
{
    serving_restart(s, options);
    serving_read_token(server_token_path(s->server), s->token);
    serving_read_token(server_agent_token_path(s->server), s->agent_token);
}

static inline void serving_start(struct serving *s)
{
    serving_start_with(s, (struct server_options){ 0 });
}

static inline void serving_stop(struct serving *s)
{
    struct err err = { 0 };

    server_stop(s->server);
    pthread_join(s->thread, NULL);
    server_close(s->server);
    if (s->fd >= 0)
        close(s->fd);
    test_answer_fini(&s->answer);
    CHECK_OK(file_remove_tree(AT_FDCWD, s->dir, &err), &err);
}

/** Sends a request without waiting for its answer. @headers  lines ended by CR LF, or "" */
static inline void serving_say(int fd, const char *token, const char *request, const char *headers,
                               const char *body)
{
    CLEANUP(str_fini) struct str out = { 0 };

    str_addf(&out, "%s HTTP/1.1\r\nHost: test\r\n%s", request, headers);
    if (token)
        str_addf(&out, "Authorization: Bearer %s\r\n", token);
    if (body)
        str_addf(&out, "%sContent-Length: %zu\r\n",
                 strstr(headers, "Content-Type") ? "" : "Content-Type: application/json\r\n",
                 strlen(body));
    str_addf(&out, "\r\n%s", body ? body : "");
    test_say_bytes(fd, out.data, out.len);
}

/** Asks with a token (NULL: none) and gives the status; the answer is in s->answer. */
static inline int serving_ask_as(struct serving *s, const char *token, const char *request,
                                 const char *headers, const char *body)
{
    serving_say(s->fd, token, request, headers, body);
    test_hear_answer_to(s->fd, strncmp(request, "HEAD", 4) == 0, &s->answer);
    return s->answer.status;
}

/** Asks as the admin. @request  "GET /v1/jobs"; @body NULL for none */
static inline int serving_ask(struct serving *s, const char *request, const char *headers,
                              const char *body)
{
    return serving_ask_as(s, s->token, request, headers, body);
}

/** Asks with a token, and the status must be this; prints the answer otherwise. */
#define SERVING_EXPECT_AS(at, token_, want, request, headers, text)                                \
    do {                                                                                           \
        if (serving_ask_as((at), (token_), (request), (headers), (text)) != (want))                \
            print_error("%s\n%s%s\n", (request), str_text(&(at)->answer.head),                     \
                        str_text(&(at)->answer.body));                                             \
        CHECK_EQ((at)->answer.status, (want));                                                     \
    } while (0)
/** The same as the admin. */
#define SERVING_EXPECT(at, want, request, headers, text)                                           \
    SERVING_EXPECT_AS((at), (at)->token, (want), (request), (headers), (text))

/** The last answer's body; yours to json_decref. */
static inline json_t *serving_body(struct serving *s)
{
    json_t *body = json_loads(str_text(&s->answer.body), 0, NULL);

    if (!body)
        print_error("%s\n", str_text(&s->answer.body));
    CHECK(body != NULL);
    return body;
}

/** A member of the last answer's body by a path like "tasks.total" or "items.0.id", as a text. */
static inline const char *serving_get(struct serving *s, const char *path)
{
    static __thread char out[2000];
    json_t *body = serving_body(s), *at = body;
    char part[64];

    while (at && *path) {
        size_t n = strcspn(path, ".");

        snprintf(part, sizeof(part), "%.*s", (int)n, path);
        at = json_is_array(at) ? json_array_get(at, strtoul(part, NULL, 10))
                               : json_object_get(at, part);
        path += n + (path[n] == '.');
    }
    if (json_is_string(at)) {
        snprintf(out, sizeof(out), "%s", json_string_value(at));
    } else if (at) {
        char *text = json_dumps(at, JSON_ENCODE_ANY | JSON_COMPACT);
        snprintf(out, sizeof(out), "%s", text);
        free(text);
    }
    if (!at)
        snprintf(out, sizeof(out), "(none)");
    json_decref(body);
    return out;
}

#endif
