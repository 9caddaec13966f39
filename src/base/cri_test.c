#include "base/cri.h"

#include <string.h>

#include "base/test.h"

static const char log_text[] = "2026-01-01T00:00:00Z stdout F one\n"
                               "2026-01-01T00:00:01Z stderr P par\n"
                               "2026-01-01T00:00:02Z stderr F t\n"
                               "not a line\n"
                               "2026-01-01T00:00:03Z stdout X bad tag\n"
                               "2026-01-01T00:00:03Z stdout F \n"
                               "2026-01-01T00:00:03Z stdout P \n"
                               "2026-01-01T00:00:04Z berth F notice\n"
                               "2026-01-01T00:00:05Z stdout P end";

static void collect(enum cri_stream stream, const char *time, size_t n_time, const char *data,
                    size_t n, void *arg)
{
    struct str *out = arg;

    CHECK_EQ(n_time, 20);
    CHECK_EQ(memcmp(time, "2026-01-01", 10), 0);
    str_add_bytes(&out[stream], data, n);
}

/* Whatever pieces the bytes come in, the same comes out. */
TEST(cri_decode_gives_the_exact_bytes_in_any_pieces)
{
    for (size_t piece = 1; piece < sizeof(log_text); piece++) {
        struct str out[CRI_STREAM_COUNT] = { 0 };
        CLEANUP(cri_decoder_fini) struct cri_decoder decoder = { 0 };
        size_t n = strlen(log_text);
        for (size_t at = 0; at < n; at += piece)
            cri_decode(&decoder, log_text + at, at + piece < n ? piece : n - at, collect, out);
        CHECK_TEXT(str_text(&out[CRI_STDOUT]), "one\n\n");
        CHECK_TEXT(str_text(&out[CRI_STDERR]), "part\n");
        CHECK_TEXT(str_text(&out[CRI_NOTICE]), "notice\n");
        CHECK_EQ(decoder.n_bad_lines, 2);
        CHECK_EQ(decoder.n_whole_bytes, n - strlen("2026-01-01T00:00:05Z stdout P end"));
        for (int i = 0; i < CRI_STREAM_COUNT; i++)
            str_fini(&out[i]);
    }
}

TEST(cri_resync_drops_the_broken_line)
{
    struct str out[CRI_STREAM_COUNT] = { 0 };
    CLEANUP(cri_decoder_fini) struct cri_decoder decoder = { 0 };
    static const char text[] = "stdout F half\n2026-01-01T00:00:00Z stdout F whole\n";

    cri_decoder_resync(&decoder);
    cri_decode(&decoder, text, strlen(text), collect, out);
    CHECK_TEXT(str_text(&out[CRI_STDOUT]), "whole\n");
    for (int i = 0; i < CRI_STREAM_COUNT; i++)
        str_fini(&out[i]);
}
