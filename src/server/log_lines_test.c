#include "base/test.h"

#include <string.h>

#include "server/log_lines.h"

static const struct {
    const char *name, *bytes, *out;
    size_t tail;
    bool is_cri;
    unsigned streams;
} rows[] = {
    { "text", "t stdout F a\nt stderr F b\n", "a\nb\n", 0, false, 7 },
    { "one stream", "t stdout F a\nt stderr F b\n", "b\n", 0, false, 1u << CRI_STDERR },
    { "parts are joined", "t stdout P a\nt stdout F b\n", "ab\n", 0, false, 7 },
    { "as on disk", "t stdout P a\nt stdout F b\n", "t stdout P a\nt stdout F b\n", 0, true, 7 },
    { "what is no line is dropped", "nonsense\nt nowhere F x\nt stdout F a\n", "a\n", 0, false, 7 },
    { "a part counts with its end", "t stdout F a\nt stdout P b\nt stdout F c\n", "bc\n", 1, false,
      7 },
    { "a part at the end", "t stdout F a\nt stdout P b\n", "b", 1, false, 7 },
    { "empty", "", "", 3, false, 7 },
    { "blanks in a text", "t stdout F  a  b \n", " a  b \n", 0, false, 7 },
};

TEST(lines_are_chosen_and_written)
{
    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str out = { 0 };
        CLEANUP(log_lines_fini)
        struct log_lines lines = { .is_cri = c->is_cri, .streams = c->streams, .tail = c->tail };

        log_lines_take(&lines, c->bytes, strlen(c->bytes), &out);
        CHECK(!c->tail || out.len == 0);
        log_lines_flush(&lines, &out);
        CHECK_TEXT(str_text(&out), c->out);
    }
}

TEST(the_tail_is_the_last_lines_whatever_came_before)
{
    for (size_t tail = 1; tail < 40; tail++) {
        CLEANUP(str_fini) struct str out = { 0 }, want = { 0 };
        CLEANUP(log_lines_fini) struct log_lines lines = { .streams = 7, .tail = tail };

        for (int i = 0; i < 100; i++) {
            CLEANUP(freep) char *line = text_format("t stdout F line %d\n", i);

            log_lines_take(&lines, line, strlen(line), &out);
            if (i >= 100 - (int)tail)
                str_addf(&want, "line %d\n", i);
        }
        log_lines_flush(&lines, &out);
        CHECK_TEXT(str_text(&out), str_text(&want));
        /* What comes later goes straight through. */
        log_lines_take(&lines, "t stdout F more\n", 16, &want);
        CHECK(strstr(want.data, "more\n") != NULL);
    }
}
