/*
 * Output: see output.h.
 *
 * A line that a program has not ended yet is logged at once, as a part (P); its end follows as F
 * with the newline meant. So the exact bytes of each stream can be had back: F is text and newline,
 * P is text alone. Files are never renamed: log.BASE holds the logical log from the offset BASE on.
 */
#include "monitor/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "monitor/when.h"

enum {
    READ_BYTES = 65536,
    PART_BYTES = 16384, /* longest text of a line of the log */
    HEADER_BYTES = 64,
    MAX_FILES = 128, /* kept files that are remembered for deletion */
};

static struct {
    int fd;                   /* of the current file; -1 before the first byte */
    int64_t base;             /* its offset in the logical log */
    int64_t written;          /* its size */
    int64_t files[MAX_FILES]; /* bases of the files there are, oldest first */
    size_t n_files;
    bool is_inside[STREAM_COUNT];                  /* the last line of this stream has no end yet */
    bool is_dropping[STREAM_COUNT];                /* and it is not logged */
    int64_t window_ends_ms, lines_left, n_dropped; /* the limit of lines an hour */
    char stamp[100];                               /* the time of the chunk that is being logged */
} log_state = { .fd = -1 };

static char out_buf[READ_BYTES + READ_BYTES / 2];
static size_t out_n;

static void set_stamp(void)
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    snprintf(log_state.stamp, sizeof(log_state.stamp), "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ",
             tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
             now.tv_nsec);
}

static int open_file(int64_t base)
{
    char name[32];

    snprintf(name, sizeof(name), "log.%lld", (long long)base);
    log_state.fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    log_state.base = base;
    log_state.written = 0;
    return log_state.fd;
}

/* Deletes the oldest files until what stays, a full new file included, fits. */
static void drop_old(const struct launch *launch)
{
    while (log_state.n_files > 0 &&
           (log_state.base - log_state.files[0] + launch->log_file_bytes > launch->log_keep_bytes ||
            log_state.n_files == MAX_FILES)) {
        char name[32];
        snprintf(name, sizeof(name), "log.%lld", (long long)log_state.files[0]);
        unlink(name);
        log_state.n_files--;
        memmove(log_state.files, log_state.files + 1,
                log_state.n_files * sizeof(log_state.files[0]));
    }
}

static void flush(const struct launch *launch)
{
    size_t done = 0;

    if (log_state.fd >= 0 && log_state.written >= launch->log_file_bytes) {
        close(log_state.fd);
        log_state.files[log_state.n_files++] = log_state.base;
        open_file(log_state.base + log_state.written);
        drop_old(launch);
    } else if (log_state.fd < 0) {
        open_file(log_state.base + log_state.written);
    }
    while (done < out_n) {
        ssize_t n = write(log_state.fd, out_buf + done, out_n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break; /* a full disk loses output; the container must not be held up by it */
        done += (size_t)n;
    }
    log_state.written += (int64_t)done;
    /* The next line must begin at a line's start: cut off what a full disk let through half. */
    if (done < out_n && log_state.fd >= 0 && done > 0) {
        size_t whole = done;
        while (whole > 0 && out_buf[whole - 1] != '\n')
            whole--;
        if (!ftruncate(log_state.fd, log_state.written - (int64_t)(done - whole)))
            log_state.written -= (int64_t)(done - whole);
    }
    out_n = 0;
}

/* One line of the log: a whole line or its end (F), or a part of one (P). */
static void add_line(const struct launch *launch, const char *stream, char kind, const char *text,
                     size_t n)
{
    if (out_n + HEADER_BYTES + n > sizeof(out_buf))
        flush(launch);
    out_n +=
        (size_t)snprintf(out_buf + out_n, HEADER_BYTES, "%s %s %c ", log_state.stamp, stream, kind);
    memcpy(out_buf + out_n, text, n);
    out_n += n;
    out_buf[out_n++] = '\n';
}

static void add_notice(const struct launch *launch, const char *text)
{
    add_line(launch, "berth", 'F', text, strlen(text));
}

/* Whether one more line may be logged in this hour; says so once when it is the first that may
 * not. */
static bool may_begin_line(const struct launch *launch)
{
    int64_t now;
    char text[160];

    if (launch->log_lines_per_hour <= 0)
        return true;
    if (log_state.lines_left > 0 && log_state.window_ends_ms > 0) {
        log_state.lines_left--;
        return true; /* a line too many in an hour that began late does no harm: no clock is read */
    }
    now = when_boot_ms();
    if (now >= log_state.window_ends_ms) {
        if (log_state.n_dropped > 0) {
            snprintf(text, sizeof(text), "%lld lines were dropped", (long long)log_state.n_dropped);
            add_notice(launch, text);
        }
        log_state.n_dropped = 0;
        log_state.window_ends_ms = now + 3600 * 1000;
        log_state.lines_left = launch->log_lines_per_hour - 1;
        return true;
    }
    if (log_state.n_dropped++ == 0) {
        snprintf(text, sizeof(text),
                 "limit of %lld lines an hour reached: further lines are dropped for %lld s",
                 (long long)launch->log_lines_per_hour,
                 (long long)((log_state.window_ends_ms - now + 999) / 1000));
        add_notice(launch, text);
    }
    return false;
}

static void add_chunk(const struct launch *launch, enum stream stream, const char *data, size_t n)
{
    static const char *const names[STREAM_COUNT] = { "stdout", "stderr" };
    const char *end = data + n;

    while (data < end) {
        const char *newline = memchr(data, '\n', (size_t)(end - data));
        size_t size = (size_t)((newline ? newline : end) - data);
        if (!log_state.is_inside[stream])
            log_state.is_dropping[stream] = !may_begin_line(launch);
        log_state.is_inside[stream] = true;
        for (; size > PART_BYTES; data += PART_BYTES, size -= PART_BYTES) {
            if (!log_state.is_dropping[stream])
                add_line(launch, names[stream], 'P', data, PART_BYTES);
        }
        if (!log_state.is_dropping[stream])
            add_line(launch, names[stream], newline ? 'F' : 'P', data, size);
        data += size;
        if (newline) {
            log_state.is_inside[stream] = false;
            data++;
        }
    }
}

int output_take(const struct launch *launch, enum stream stream, int fd)
{
    static char buf[READ_BYTES];
    ssize_t n = read(fd, buf, sizeof(buf));

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0)
        return -1;
    set_stamp();
    add_chunk(launch, stream, buf, (size_t)n);
    if (out_n > 0)
        flush(launch);
    return 1;
}

void output_end(void)
{
    if (log_state.fd >= 0)
        close(log_state.fd);
    memset(&log_state, 0, sizeof(log_state));
    log_state.fd = -1;
    out_n = 0;
}
