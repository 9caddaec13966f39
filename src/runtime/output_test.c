/*
 * Output: what containers write, byte for byte; its limits; its files.
 */
#include <string.h>

#include "base/file.h"
#include "base/test.h"
#include "runtime/rig.h"

static void write_binary(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;
    size_t n, n_wrong = 0;

    /* Every byte value but the newline, over and over: 10 MiB of it. */
    rig_attempt(rig, &a, kind,
                COMMAND("sh", "-c", "yes | head -c 10485760 | tr '\\n' '\\000' | tr 'y' '\\377'"));
    rig_run(rig, &a);
    CHECK_EQ(a.ended.exit.code, 0);
    out = rig_output(&a, OUT, &n);
    CHECK_EQ(n, 10485760);
    for (size_t i = 0; i < n; i++)
        n_wrong += out[i] != (i % 2 ? '\0' : '\377');
    CHECK_EQ(n_wrong, 0);
    rig_clean(rig, &a);
}

TEST(container_output_is_exact_without_newlines)
{
    rig_each(write_binary);
}

static void limit_lines(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    CLEANUP(freep) char *out = NULL;
    CLEANUP(freep) char *notice = NULL;

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "yes | head -n 1000"));
    a.container.log_lines_per_hour = 10;
    rig_run(rig, &a);
    out = rig_output(&a, OUT, NULL);
    notice = rig_output(&a, NOTICE, NULL);
    CHECK_EQ(strlen(out), 20);
    CHECK(text_begins(notice, "limit of 10 lines an hour reached"));
    CHECK(strchr(notice, '\n') == notice + strlen(notice) - 1); /* one notice */
    rig_clean(rig, &a);
}

TEST(container_output_is_limited_in_lines)
{
    rig_each(limit_lines);
}

static void rotate_log(struct rig *rig, enum runtime_kind kind)
{
    struct attempt a;
    struct log_piece piece;
    struct err err = { 0 };
    static char buf[4096];

    rig_attempt(rig, &a, kind, COMMAND("sh", "-c", "yes | head -c 2000000"));
    a.container.log_file_bytes = 1 << 20;
    a.container.log_keep_bytes = 4 << 20;
    rig_run(rig, &a);
    CHECK_OK(runtime_log_read(a.folder, 0, buf, sizeof(buf), &piece, &err), &err);
    CHECK(piece.offset > 0);     /* the beginning is gone, and that is told */
    CHECK(piece.end > 40000000); /* a million lines of over forty bytes: offsets count on */
    CHECK(piece.end - piece.offset <= 4 << 20);
    CHECK_EQ(piece.n, sizeof(buf));
    CHECK_OK(runtime_log_read(a.folder, piece.end - 10, buf, sizeof(buf), &piece, &err), &err);
    CHECK_EQ(piece.n, 10);
    CHECK(memcmp(buf + 6, "F y\n", 4) == 0);
    CHECK_OK(runtime_log_read(a.folder, piece.end + 5, buf, sizeof(buf), &piece, &err), &err);
    CHECK_EQ(piece.n, 0);
    rig_clean(rig, &a);
}

TEST(container_log_is_rotated_and_offsets_count_on)
{
    rig_each(rotate_log);
}
