/*
 * Works: what blocks, on threads of the pools. While a work runs it owns attempt->work; of the rest
 * it reads only what does not change (folder, order, line) and the flag that cancels it.
 *
 * What is stored is not fsynced: it must outlive the agent, and that the page cache does. What a
 * crash of the machine loses is over anyhow: the boot id says so, and the server ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/point.h"
#include "base/file.h"
#include "base/log.h"

/* ---- Storing and preparing ---- */

static int store(struct attempt *attempt, struct err *err)
{
    int r;

    if (!attempt->line || spare_use(attempt))
        return 0; /* without a line an earlier agent has */
    if (mkdir(attempt->folder, 0700) < 0)
        return err_sys(err, -errno, "make %s", attempt->folder);
    r = spec_write(attempt->folder, attempt->line);
    return r < 0 ? err_sys(err, r, "write %s/spec", attempt->folder) : 0;
}

static int on_phase_end(void *ctx, const struct phase_report *report)
{
    struct attempt *attempt = ctx;
    char note[32] = "";

    if (report->phase == PHASE_IMAGE && report->is_cache_hit)
        snprintf(note, sizeof(note), "cached");
    else if (report->phase == PHASE_IMAGE && report->bytes)
        snprintf(note, sizeof(note), "%" PRId64 " bytes", report->bytes);
    wire_timing_add(&attempt->work.timings, start_phase_words[report->phase],
                    now_us(attempt->agent) - report->took_us - attempt->received_us,
                    report->took_us, note);
    return 0;
}

/* Behind the spec, in the same file: to make another costs as much as the rest of a delivery. */
static int append(struct attempt *attempt, const char *text, size_t n, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/spec", attempt->folder);
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    int r = fd < 0 ? -errno : file_write_all(fd, text, n);

    return r < 0 ? err_sys(err, r, "note in %s", path) : 0;
}

static void write_notes(struct attempt *attempt)
{
    struct err err = { 0 };

    if (append(attempt, str_text(&attempt->notes), attempt->notes.len, &err) < 0)
        log_warn("cannot note in an attempt's folder", "why", err.text, NULL);
    str_fini(&attempt->notes);
}

static void on_stored(void *arg)
{
    struct attempt *attempt = arg;

    mem_free(TAKE(attempt->line));
    if (attempt->notes.len)
        write_notes(attempt);
    wire_timing_add(&attempt->timings, "receive", 0, now_us(attempt->agent) - attempt->received_us,
                    NULL);
    point("after-store");
    if (attempt->work.stored < 0 &&
        room_take_failure(attempt->agent, attempt->work.stored, attempt->work.err.text)) {
        attempt_on(attempt, LIFE_DROP); /* it was let start by nobody: other nodes may have it */
        return;
    }
    attempt_on(attempt, LIFE_STORED);
    relay_poke(attempt->agent->relay, attempt->name);
}

static void run_prepare(void *arg)
{
    struct attempt *attempt = arg;
    struct prepare_hooks hooks = { .ctx = attempt,
                                   .end = on_phase_end,
                                   .is_cancelled = &attempt->is_cancelled };

    attempt->work.r = attempt->work.stored = store(attempt, &attempt->work.err);
    attempt->work.detail = attempt->work.r < 0 ? DETAIL_RUNTIME_FAILED : DETAIL_NONE;
    loop_post(attempt->agent->loop, on_stored, attempt);
    if (attempt->work.stored < 0)
        return;
    if (attempt->order.refusal.code) {
        attempt->work.r = attempt->order.refusal.code;
        attempt->work.err = attempt->order.refusal;
        attempt->work.detail = attempt->order.detail;
        return;
    }
    attempt->work.r = runtime_prepare(attempt->agent->runtime, &attempt->order.container, &hooks,
                                      &attempt->work.detail, &attempt->work.err);
}

static void on_prepared(void *arg)
{
    struct attempt *attempt = arg;
    struct life_news news = { .event = LIFE_PREPARED };
    struct wire_timings *timings = &attempt->work.timings;

    for (size_t i = 0; i < timings->n && attempt->timings.n < WIRE_TIMINGS_MAX; i++)
        attempt->timings.at[attempt->timings.n++] = timings->at[i];
    if (attempt->work.r < 0) {
        news = (struct life_news){ .event = LIFE_PREPARE_FAILED,
                                   .detail = attempt->work.detail,
                                   .text = attempt->work.err.text };
        if (attempt->work.r == -ECANCELED)
            news.detail = DETAIL_NONE;
    }
    attempt_happens(attempt, &news);
}

void work_prepare(struct attempt *attempt)
{
    pool_run(attempt->agent->makers, run_prepare, attempt->agent->loop, on_prepared, attempt);
}

/* ---- Cleaning ---- */

static void run_clean(void *arg)
{
    struct attempt *attempt = arg;

    attempt->work.err = (struct err){ 0 };
    attempt->work.r = runtime_clean(attempt->agent->runtime, attempt->folder, &attempt->work.err);
    /* Waits for a monitor that has ended; one that hung was ended by the cleaning. */
    watch_free(TAKE(attempt->work.watch));
    attempt->work.content = shelf_look(attempt->folder);
}

static void on_cleaned(void *arg)
{
    struct attempt *attempt = arg;

    if (attempt->work.r < 0)
        log_warn("an attempt cannot be cleaned up yet", "attempt", attempt->name, "why",
                 attempt->work.err.text, NULL);
    else
        point("after-exit-before-report");
    attempt_on(attempt, attempt->work.r < 0 ? LIFE_CLEAN_FAILED : LIFE_CLEANED);
}

void work_clean(struct attempt *attempt)
{
    attempt->work.watch = TAKE(attempt->watch);
    pool_run(attempt->agent->helpers, run_clean, attempt->agent->loop, on_cleaned, attempt);
}

static void run_forget(void *arg)
{
    CLEANUP(freep) char *path = arg;
    struct err err = { 0 };

    if (file_remove_tree(AT_FDCWD, path, &err) < 0)
        log_warn("a folder cannot be removed", "why", err.text, NULL);
}

void work_forget(struct agent *agent, char *path)
{
    pool_run(agent->helpers, run_forget, NULL, NULL, path);
}

int attempt_note(struct attempt *attempt, const char *word, const char *value, struct err *err)
{
    CLEANUP(freep) char *line = text_format("%s=%s\n", word, value);

    if (!attempt->line)
        return append(attempt, line, strlen(line), err);
    str_add(&attempt->notes, line); /* the spec is being stored: behind that */
    return 0;
}
