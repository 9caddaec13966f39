#include "cli/logreader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stage.h"

enum { ANSWERS = 6 };

/* What the server does with the n-th request for the log. */
struct answer {
    int status;      /* 0: 200 */
    int64_t n_bytes; /* sent before it is cut; below 0: all, and a proper end */
    int64_t gone;    /* bytes of the log that are rotated away by then */
};

static const char log_text[] = "2026-09-14T10:00:00Z stdout F one\n"
                               "2026-09-14T10:00:00Z stderr F two\n"
                               "2026-09-14T10:00:01Z stdout P thr\n"
                               "2026-09-14T10:00:01Z stdout F ee\n"
                               "2026-09-14T10:00:01Z stdout P end";
enum { LINE = 34 }; /* the length of each of the first two lines */

static const struct {
    const char *name;
    struct answer answers[ANSWERS];
    const char *queries; /* as they were asked, each followed by a blank */
    const char *out, *err;
    int64_t gap;
    int status;  /* of the end */
    int n_waits; /* how often it was told that nothing comes */
} rows[] = {
    { "whole", { { 0, -1, 0 } }, "format=cri&follow=1 ", "one\nthree\n", "two\n", 0, 200, 0 },
    { "cut within the first line",
      { { 0, 5, 0 }, { 0, -1, 0 } },
      "format=cri&follow=1 format=cri&follow=1 ",
      "one\nthree\n",
      "two\n",
      0,
      200,
      0 },
    { "cut behind a line",
      { { 0, LINE, 0 }, { 0, -1, 0 } },
      "format=cri&follow=1 format=cri&follow=1&at=34 ",
      "one\nthree\n",
      "two\n",
      0,
      200,
      0 },
    { "cut within later lines, twice",
      { { 0, LINE + 10, 0 }, { 0, LINE + 12, 0 }, { 0, -1, 0 } },
      "format=cri&follow=1 format=cri&follow=1&at=34 format=cri&follow=1&at=68 ",
      "one\nthree\n",
      "two\n",
      0,
      200,
      0 },
    { "nobody there for a while",
      { { 0, LINE, 0 }, { 503, 0, 0 }, { 503, 0, 0 }, { 0, -1, 0 } },
      "format=cri&follow=1 format=cri&follow=1&at=34 format=cri&follow=1&at=34 "
      "format=cri&follow=1&at=34 ",
      "one\nthree\n",
      "two\n",
      0,
      200,
      1 },
    { "what was next is gone",
      { { 0, LINE, 0 }, { 0, -1, 2 * LINE } },
      "format=cri&follow=1 format=cri&follow=1&at=34 ",
      "one\nthree\n",
      "",
      LINE,
      200,
      0 },
    { "no such attempt", { { 404, 0, 0 } }, "format=cri&follow=1 ", "", "", 0, 404, 0 },
    { "thrown away meanwhile",
      { { 0, LINE, 0 }, { 410, 0, 0 } },
      "format=cri&follow=1 format=cri&follow=1&at=34 ",
      "one\n",
      "",
      0,
      410,
      0 },
};

struct scene {
    struct stage stage;
    const struct answer *answers;
    size_t n_asked;
    struct str queries, out, err;
    int64_t gap;
    int status, n_waits;
};

static void serve(struct http_request *request, void *arg)
{
    struct scene *scene = arg;
    const struct answer *answer = &scene->answers[scene->n_asked++];
    const char *at_text = http_query(request, "at");
    int64_t at = at_text ? strtoll(at_text, NULL, 10) : 0;
    int64_t n_left;
    char offset[24];

    CHECK(scene->n_asked <= ANSWERS);
    str_addf(&scene->queries, "%s ", http_query_text(request));
    CHECK_TEXT(http_part(request, 2), "j-1/w.0#2");
    if (answer->status) {
        http_answer(request, answer->status, "{}", 2);
        return;
    }
    if (at < answer->gone)
        at = answer->gone;
    n_left = (int64_t)strlen(log_text) - at;
    snprintf(offset, sizeof(offset), "%lld", (long long)at);
    http_set_header(request, "Berth-Log-Offset", offset);
    http_stream_begin(request, 200);
    http_stream_write(request, log_text + at,
                      (size_t)(answer->n_bytes < 0 ? n_left : answer->n_bytes));
    if (answer->n_bytes < 0)
        http_stream_end(request);
    else
        http_stream_abort(request);
}

static void on_bytes(void *arg, enum cri_stream stream, const char *data, size_t n)
{
    struct scene *scene = arg;

    str_add_bytes(stream == CRI_STDERR ? &scene->err : &scene->out, data, n);
}

static void on_wait(void *arg, const struct problem *problem)
{
    struct scene *scene = arg;

    scene->n_waits += problem->code == PROBLEM_STORE_UNAVAILABLE ||
                      problem->code == PROBLEM_BEHIND || problem->code == PROBLEM_STARTING;
}

static void on_gap(void *arg, int64_t n_bytes)
{
    ((struct scene *)arg)->gap += n_bytes;
}

static void on_end(void *arg, int status, const struct problem *problem)
{
    struct scene *scene = arg;

    CHECK_EQ(problem == NULL, status == 200);
    scene->status = status;
    stage_finish(&scene->stage);
}

static void scene_close(struct scene *scene)
{
    stage_close(&scene->stage);
    str_fini(&scene->queries);
    str_fini(&scene->out);
    str_fini(&scene->err);
}

TEST(logreader_goes_on_at_the_byte_where_it_broke)
{
    ROW_EACH (c, rows) {
        struct scene scene = { .answers = c->answers };

        stage_open(&scene.stage, serve, &scene);
        logreader_open(&(struct logreader_options){ .loop = scene.stage.loop,
                                                    .client = scene.stage.client,
                                                    .attempt = "j-1/w.0#2",
                                                    .tail = -1,
                                                    .is_following = true,
                                                    .give_up_ms = -1,
                                                    .on_bytes = on_bytes,
                                                    .on_gap = on_gap,
                                                    .on_wait = on_wait,
                                                    .on_end = on_end,
                                                    .arg = &scene });
        loop_run(scene.stage.loop);
        CHECK(scene.stage.is_over);
        CHECK_TEXT(str_text(&scene.queries), c->queries);
        CHECK_TEXT(str_text(&scene.out), c->out);
        CHECK_TEXT(str_text(&scene.err), c->err);
        CHECK_EQ(scene.gap, c->gap);
        CHECK_EQ(scene.status, c->status);
        CHECK_EQ(scene.n_waits, c->n_waits);
        scene_close(&scene);
    }
}
