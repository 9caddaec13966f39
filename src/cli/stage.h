/*
 * For the tests of what asks a server again and again: a loop with a server of the test's own and
 * a client, that ends by itself if nothing else ends it.
 */
#ifndef CLI_STAGE_H
#define CLI_STAGE_H

#include "base/http.h"
#include "base/test.h"
#include "client/client.h"

enum { STAGE_LATE_MS = 20000 };

struct stage {
    struct loop *loop;
    struct http_server *server;
    struct client *client;
    struct timer *late;
    bool is_over;
};

static inline void stage_stop(void *arg)
{
    loop_stop(((struct stage *)arg)->loop);
}

static inline void stage_finish(struct stage *stage)
{
    stage->is_over = true;
    loop_stop(stage->loop);
}

static inline void stage_open(struct stage *stage, http_fn *fn, void *arg)
{
    struct client_settings settings = { 0 };
    struct err err = { 0 };

    CHECK_OK(loop_open(&stage->loop, &err), &err);
    CHECK_OK(
        http_server_open(stage->loop,
                         &(struct http_options){ .listen = "127.0.0.1:0", .fn = fn, .arg = arg },
                         &stage->server, &err),
        &err);
    settings.values[SETTING_ADDR] = text_format("http://%s", http_server_address(stage->server));
    CHECK_OK(client_open(&settings, stage->loop, &stage->client, &err), &err);
    client_settings_fini(&settings);
    stage->late = timer_new(stage->loop, stage_stop, stage);
    timer_set(stage->late, STAGE_LATE_MS);
}

static inline void stage_close(struct stage *stage)
{
    client_close(stage->client);
    http_server_close(stage->server);
    timer_free(stage->late);
    loop_close(stage->loop);
}

#endif
