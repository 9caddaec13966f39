/* Log lines: see cri.h. A line is decoded in one place, whatever pieces it came in. */
#include "base/cri.h"

#include <string.h>

const char *const cri_stream_words[CRI_STREAM_COUNT] = {
    [CRI_STDOUT] = "stdout",
    [CRI_STDERR] = "stderr",
    [CRI_NOTICE] = "berth",
};

void cri_decoder_fini(struct cri_decoder *decoder)
{
    str_fini(&decoder->line);
}

void cri_decoder_resync(struct cri_decoder *decoder)
{
    str_clear(&decoder->line);
    decoder->is_in_gap = true;
}

static int find_stream(const char *word, size_t n)
{
    for (int i = 0; i < CRI_STREAM_COUNT; i++)
        if (strlen(cri_stream_words[i]) == n && memcmp(word, cri_stream_words[i], n) == 0)
            return i;
    return -1;
}

/* The line, newline included, which a whole line hands on and a part does not. */
static bool decode_line(const char *line, size_t n, cri_fn *fn, void *arg)
{
    const char *end = line + n, *stream = memchr(line, ' ', n), *tag, *text;
    int which;

    if (!stream)
        return false;
    tag = memchr(stream + 1, ' ', (size_t)(end - stream - 1));
    if (!tag || end - tag < 4 || tag[2] != ' ' || (tag[1] != 'F' && tag[1] != 'P'))
        return false;
    which = find_stream(stream + 1, (size_t)(tag - stream - 1));
    if (which < 0)
        return false;
    text = tag + 3;
    fn((enum cri_stream)which, line, (size_t)(stream - line), text,
       (size_t)(end - text) - (tag[1] == 'P'), arg);
    return true;
}

void cri_decode(struct cri_decoder *decoder, const void *bytes, size_t n, cri_fn *fn, void *arg)
{
    const char *at = bytes, *end = at + n;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n_line = newline ? (size_t)(newline + 1 - at) : (size_t)(end - at);
        if (!newline || decoder->line.len || decoder->is_in_gap)
            str_add_bytes(&decoder->line, at, n_line);
        if (!newline)
            return;
        const char *line = decoder->line.len ? decoder->line.data : at;
        size_t n_whole = decoder->line.len ? decoder->line.len : n_line;
        if (!decoder->is_in_gap && !decode_line(line, n_whole, fn, arg))
            decoder->n_bad_lines++;
        decoder->is_in_gap = false;
        decoder->n_whole_bytes += n_whole;
        str_clear(&decoder->line);
        at += n_line;
    }
}
