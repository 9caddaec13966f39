#include "cli/events.h"

#include <string.h>

#include "cli/stage.h"

enum { ANSWERS = 6 };

/* The n-th answer to a request for events: lines, then a proper end, a cut, or another status. */
struct answer {
    int status; /* 0: 200 */
    const char *lines;
    bool is_cut;
};

#define E(rev)    "{\"revision\":" rev ",\"type\":\"job.x\"}\n"
#define MARK(rev) "{\"revision\":" rev ",\"type\":\"bookmark\"}\n"
#define LAST      "{\"revision\":99,\"type\":\"job.last\"}\n"

static const struct {
    const char *name;
    int64_t after;
    struct answer answers[ANSWERS];
    const char *queries,
        *said;  /* revisions in order; "gap" and "aheadN" where it was told of them */
    int status; /* of the end; 0: the last event came */
} rows[] = {
    { "one answer", 7, { { 0, E("8") E("9") LAST, false } }, "from=7 ", "8 9 99 ", 0 },
    { "from now", -1, { { 0, E("8") LAST, false } }, " ", "8 99 ", 0 },
    { "cut in the middle of a line",
      7,
      { { 0, E("8") "{\"revision\":9,", true }, { 0, E("9") LAST, false } },
      "from=7 from=8 ",
      "8 9 99 ",
      0 },
    { "ended by the server",
      7,
      { { 0, E("8"), false }, { 0, LAST, false } },
      "from=7 from=8 ",
      "8 99 ",
      0 },
    { "a bookmark counts",
      7,
      { { 0, MARK("40"), true }, { 0, LAST, false } },
      "from=7 from=40 ",
      "99 ",
      0 },
    { "said twice, heard once",
      7,
      { { 0, E("8") E("9"), true }, { 0, E("8") E("9") E("10") LAST, false } },
      "from=7 from=9 ",
      "8 9 10 99 ",
      0 },
    { "a slow reader is closed",
      7,
      { { 0, E("8") "{\"revision\":8,\"type\":\"overflow\"}\n", false }, { 0, LAST, false } },
      "from=7 from=8 ",
      "8 99 ",
      0 },
    { "starting for a while",
      7,
      { { 503, "{}", false }, { 503, "{}", false }, { 0, LAST, false } },
      "from=7 from=7 from=7 ",
      "99 ",
      0 },
    { "too old", 7, { { 410, "{}", false }, { 0, LAST, false } }, "from=7 from=50 ", "gap 99 ", 0 },
    { "another ledger",
      7,
      { { 0, E("8"), false },
        { 409, "{\"code\":\"LEDGER_FORKED\",\"status\":409}", false },
        { 0, LAST, false } },
      "from=7 from=8 from=60 ",
      "8 parted5 99 ",
      0 },
    { "yet to come",
      7,
      { { 0, MARK("5") MARK("6") E("8") LAST, false } },
      "from=7 ",
      "ahead5 8 99 ",
      0 },
    { "yet to come, as nothing was kept that long",
      7,
      { { 0, E("8"), true },
        { 0, MARK("3"), true },
        { 0, MARK("4") E("9") MARK("9") LAST, false } },
      "from=7 from=8 from=8 ",
      "8 ahead3 9 99 ",
      0 },
    { "not allowed", 7, { { 403, "{}", false } }, "from=7 ", "", 403 },
};

struct scene {
    struct stage stage;
    struct events *events;
    const struct answer *answers;
    size_t n_asked;
    struct str queries, said;
    int status;
};

static void serve(struct http_request *request, void *arg)
{
    struct scene *scene = arg;
    const struct answer *answer = &scene->answers[scene->n_asked++];

    CHECK(scene->n_asked <= ANSWERS && answer->lines);
    CHECK_TEXT(http_header(request, "accept"), "application/x-ndjson");
    str_addf(&scene->queries, "%s ", http_query_text(request));
    if (answer->status) {
        http_set_header(request, "Berth-Revision", "5");
        http_answer(request, answer->status, answer->lines, strlen(answer->lines));
        return;
    }
    http_stream_begin(request, 200);
    http_stream_write(request, answer->lines, strlen(answer->lines));
    if (answer->is_cut)
        http_stream_abort(request);
    else
        http_stream_end(request);
}

static void on_event(void *arg, const json_t *event)
{
    struct scene *scene = arg;

    str_addf(&scene->said, "%lld ",
             (long long)json_integer_value(json_object_get(event, "revision")));
    if (text_eq(json_string_value(json_object_get(event, "type")), "job.last")) {
        events_close(TAKE(scene->events)); /* allowed from within */
        stage_finish(&scene->stage);
    }
}

static void on_gap(void *arg)
{
    struct scene *scene = arg;

    str_add(&scene->said, "gap ");
    events_restart(scene->events, 50);
}

static void on_parted(void *arg, int64_t shared, const struct problem *problem)
{
    struct scene *scene = arg;

    (void)problem;
    str_addf(&scene->said, "parted%lld ", (long long)shared);
    events_restart(scene->events, 60);
}

static void on_ahead(void *arg, int64_t newest)
{
    struct scene *scene = arg;

    str_addf(&scene->said, "ahead%lld ", (long long)newest);
}

static void on_end(void *arg, int status, const struct problem *problem, const struct err *err)
{
    struct scene *scene = arg;

    (void)problem;
    (void)err;
    scene->status = status;
    stage_finish(&scene->stage);
}

static void scene_close(struct scene *scene)
{
    events_close(scene->events);
    stage_close(&scene->stage);
    str_fini(&scene->queries);
    str_fini(&scene->said);
}

TEST(events_go_on_behind_the_last_one)
{
    ROW_EACH (c, rows) {
        struct scene scene = { .answers = c->answers };

        stage_open(&scene.stage, serve, &scene);
        scene.events = events_open(&(struct events_options){ .loop = scene.stage.loop,
                                                             .client = scene.stage.client,
                                                             .query = "",
                                                             .after = c->after,
                                                             .give_up_ms = -1,
                                                             .on_event = on_event,
                                                             .on_gap = on_gap,
                                                             .on_parted = on_parted,
                                                             .on_ahead = on_ahead,
                                                             .on_end = on_end,
                                                             .arg = &scene });
        loop_run(scene.stage.loop);
        CHECK(scene.stage.is_over);
        CHECK_TEXT(str_text(&scene.queries), c->queries);
        CHECK_TEXT(str_text(&scene.said), c->said);
        CHECK_EQ(scene.status, c->status);
        scene_close(&scene);
    }
}
