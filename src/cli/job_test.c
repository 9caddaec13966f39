#include "cli/job.h"

#include <string.h>

#include "base/clock.h"
#include "base/test.h"

#define NOW "2026-09-14T10:10:00.000Z"

/* The cells named of an item, a line each. */
static char *cells(const struct listing *listing, const char *cols, const char *text,
                   bool is_absolute)
{
    struct output output = { .format = OUTPUT_COLS, .cols = cols, .is_absolute = is_absolute };
    CLEANUP(json_decrefp) json_t *items = json_pack("[o]", json_loads(text, 0, NULL));
    struct err err = { 0 };
    char *out = NULL;
    size_t n;

    CHECK_EQ(clock_parse_wall(NOW, &output.now_ms), 0);
    output.to = open_memstream(&out, &n);
    CHECK_OK(output_list(&output, listing, items, &err), &err);
    fclose(output.to);
    return out;
}

#define RUNNING(more) "{\"state\":\"running\",\"startedAt\":\"2026-09-14T10:00:00.000Z\"," more "}"
#define COUNTS(live, running, failed)                                                              \
    "\"tasks\":{\"total\":4,\"live\":" #live ",\"running\":" #running ",\"failed\":" #failed "}"
#define SILENT(node) "{\"node\":\"" node "\",\"since\":\"2026-09-14T10:07:00.000Z\"}"

static const struct {
    const char *name, *job, *cells;
} jobs[] = {
    { "runs", RUNNING("\"nodes\":[\"a\"],\"nodeCount\":1," COUNTS(1, 1, 0)), "10m00s  a\n" },
    { "is only placed, or being stopped",
      RUNNING("\"nodes\":[\"a\"],\"nodeCount\":1," COUNTS(4, 0, 0)), "     -  a  no task runs\n" },
    { "is placed once more, after another try",
      RUNNING("\"nodes\":[\"a\"],\"nodeCount\":1," COUNTS(1, 0, 1)), "10m00s  a\n" },
    { "is placed on a node that is silent",
      RUNNING("\"nodes\":[\"a\"],\"nodeCount\":1,\"silent\":[" SILENT("a") "]," COUNTS(4, 0, 0)),
      "     -  a (silent for 03m00s)  no task runs\n" },
    { "runs on one that is",
      RUNNING(
          "\"nodes\":[\"a\",\"b\"],\"nodeCount\":2,\"silent\":[" SILENT("b") "]," COUNTS(4, 4, 0)),
      "10m00s  a,b (silent for 03m00s)\n" },
    { "runs on some that are, not all shown",
      RUNNING("\"nodes\":[\"a\",\"b\",\"c\",\"d\"],\"nodeCount\":4,\"silent\":[" SILENT(
          "b") "," SILENT("c") "," SILENT("d") "]," COUNTS(4, 4, 0)),
      "10m00s  a,b (silent for 03m00s) +2 (2 silent)\n" },
};

TEST(a_job_that_has_not_begun_is_told_as_that)
{
    ROW_EACH (c, jobs) {
        CLEANUP(freep) char *found = cells(&job_listing, "RUNNING,INFO", c->job, false);
        CLEANUP(freep) char *wanted = text_copy(c->cells);

        CHECK_TEXT(found + strspn(found, " "), wanted + strspn(wanted, " "));
    }
}

TEST(silence_is_a_time_where_times_are_wanted)
{
    CLEANUP(freep)
    char *job = cells(
        &job_listing, "INFO",
        RUNNING("\"nodes\":[\"a\"],\"nodeCount\":1,\"silent\":[" SILENT("a") "]," COUNTS(1, 1, 0)),
        true);
    CLEANUP(freep)
    char *task = cells(&task_listing, "STATE,INFO",
                       "{\"state\":\"bound\",\"node\":\"a\",\"silentSince\":\"2026-09-14T10:07:00."
                       "000Z\"}",
                       false);

    CHECK_TEXT(job, "a (silent since 2026-09-14T10:07:00.000Z)\n");
    CHECK_TEXT(task, "bound  node silent for 03m00s\n");
}
