/* Log lines on their way: see log_lines.h. A line is `TIME STREAM TAG TEXT\n`. */
#include "server/log_lines.h"

#include <string.h>

void log_lines_fini(struct log_lines *lines)
{
    str_fini(&lines->kept);
    VEC_FINI(&lines->ends);
}

/* The stream of a line, or -1; *tag is behind it. */
static int stream_of(const char *line, size_t n, const char **tag)
{
    const char *end = line + n, *at = memchr(line, ' ', n), *blank;

    if (!at)
        return -1;
    at++;
    blank = memchr(at, ' ', (size_t)(end - at));
    if (!blank)
        return -1;
    *tag = blank + 1;
    for (int i = 0; i < CRI_STREAM_COUNT; i++)
        if (strlen(cri_stream_words[i]) == (size_t)(blank - at) &&
            memcmp(cri_stream_words[i], at, (size_t)(blank - at)) == 0)
            return i;
    return -1;
}

static void add_text(enum cri_stream stream, const char *time, size_t n_time, const char *data,
                     size_t n, void *arg)
{
    (void)stream;
    (void)time;
    (void)n_time;
    str_add_bytes(arg, data, n);
}

/* Adds a line to what is sent. */
static void send_line(const struct log_lines *lines, const char *line, size_t n, struct str *out)
{
    struct cri_decoder decoder = { 0 };

    if (lines->is_cri) {
        str_add_bytes(out, line, n);
        return;
    }
    cri_decode(&decoder, line, n, add_text, out);
    cri_decoder_fini(&decoder);
}

/* Where the first kept line begins. */
static size_t kept_begin(const struct log_lines *lines)
{
    return lines->n_kept_from ? lines->ends.at[lines->n_kept_from - 1] : 0;
}

static void drop_first(struct log_lines *lines)
{
    lines->n_kept_from++;
    /* Now and then what was dropped is given back. */
    if (lines->n_kept_from < lines->ends.n - lines->n_kept_from)
        return;
    size_t begin = kept_begin(lines), n = lines->ends.n - lines->n_kept_from;

    str_drop(&lines->kept, begin);
    memmove(lines->ends.at, lines->ends.at + lines->n_kept_from, n * sizeof(*lines->ends.at));
    lines->ends.n = n;
    for (size_t i = 0; i < n; i++)
        lines->ends.at[i] -= begin;
    lines->n_kept_from = 0;
}

/* A part of a line (tag P) stays with what follows it, so that lines are counted as people do. */
static void keep_line(struct log_lines *lines, const char *line, size_t n, bool is_part)
{
    str_add_bytes(&lines->kept, line, n);
    if (lines->is_in_part)
        lines->ends.at[lines->ends.n - 1] = lines->kept.len;
    else
        VEC_PUSH(&lines->ends, lines->kept.len);
    lines->is_in_part = is_part;
    while (lines->ends.n - lines->n_kept_from > lines->tail ||
           (lines->kept.len - kept_begin(lines) > LOG_TAIL_MAX_BYTES &&
            lines->ends.n - lines->n_kept_from > 1))
        drop_first(lines);
}

void log_lines_take(struct log_lines *lines, const char *bytes, size_t n, struct str *out)
{
    const char *end = bytes + n;

    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes)), *tag = NULL;
        size_t n_line = (size_t)((newline ? newline + 1 : end) - bytes);
        int stream = stream_of(bytes, n_line, &tag);

        if (stream >= 0 && lines->streams & 1u << stream) {
            if (lines->tail)
                keep_line(lines, bytes, n_line, *tag == 'P');
            else
                send_line(lines, bytes, n_line, out);
        }
        bytes += n_line;
    }
}

void log_lines_flush(struct log_lines *lines, struct str *out)
{
    size_t begin = kept_begin(lines), n = lines->kept.len - begin;
    size_t tail = lines->tail;

    lines->tail = 0;
    if (tail && n > 0)
        log_lines_take(lines, lines->kept.data + begin, n, out);
    str_clear(&lines->kept);
    lines->ends.n = lines->n_kept_from = 0;
    lines->is_in_part = false;
}
