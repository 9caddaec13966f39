/* Sink: see sink.h. */
#include "cli/sink.h"

#include <string.h>

#include "base/file.h"

enum { BUFFER_BYTES = 64 << 10 };

void sink_fini(struct sink *sink)
{
    str_fini(&sink->buffer);
}

void sink_flush(struct sink *sink)
{
    int r;

    if (!sink->buffer.len)
        return;
    r = file_write_all(sink->fds[sink->buffered], sink->buffer.data, sink->buffer.len);
    if (r < 0 && !sink->error)
        sink->error = -r;
    str_clear(&sink->buffer);
}

/* What is buffered is of one stream, so that the order of the two stays. */
static void choose(struct sink *sink, int which)
{
    if (sink->buffered != which || sink->buffer.len > BUFFER_BYTES)
        sink_flush(sink);
    sink->buffered = which;
}

/* Begins or goes on with a line of the label. */
static void begin_line(struct sink *sink, const char *label)
{
    const char **open = &sink->open[sink->buffered];

    if (*open == label)
        return;
    if (*open)
        str_add_char(&sink->buffer, '\n');
    str_add(&sink->buffer, label);
    str_add(&sink->buffer, " | ");
    *open = label;
}

static void write_lines(struct sink *sink, const char *label, const char *data, size_t n)
{
    while (n > 0) {
        const char *end = memchr(data, '\n', n);
        size_t piece = end ? (size_t)(end - data) + 1 : n;

        begin_line(sink, label);
        str_add_bytes(&sink->buffer, data, piece);
        if (end)
            sink->open[sink->buffered] = NULL;
        data += piece;
        n -= piece;
    }
}

void sink_write(struct sink *sink, const char *label, enum cri_stream stream, const char *data,
                size_t n)
{
    if (stream == CRI_NOTICE) {
        if (sink->is_quiet)
            return;
        choose(sink, 1);
        write_lines(sink, "berth", data, n);
        return;
    }
    choose(sink, stream == CRI_STDERR);
    if (sink->has_labels)
        write_lines(sink, label, data, n);
    else
        str_add_bytes(&sink->buffer, data, n);
}
