#include "cli/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

enum { PIECES = 6 };

static const char a[] = "w.0", b[] = "w.1";

static const struct {
    const char *name;
    bool has_labels, is_quiet;
    struct {
        const char *label;
        enum cri_stream stream;
        const char *data;
    } pieces[PIECES];
    const char *out, *err;
} rows[] = {
    { "byte for byte",
      false,
      false,
      { { a, CRI_STDOUT, "x\n" }, { a, CRI_STDERR, "e" }, { a, CRI_STDOUT, "y" } },
      "x\ny",
      "e" },
    { "each line its label",
      true,
      false,
      { { a, CRI_STDOUT, "x\n" }, { b, CRI_STDOUT, "y\nz\n" } },
      "w.0 | x\nw.1 | y\nw.1 | z\n",
      "" },
    { "a line in parts has one label",
      true,
      false,
      { { a, CRI_STDOUT, "x" }, { a, CRI_STDOUT, "y\n" } },
      "w.0 | xy\n",
      "" },
    { "somebody else's part begins a line",
      true,
      false,
      { { a, CRI_STDOUT, "x" }, { b, CRI_STDOUT, "y\n" }, { a, CRI_STDOUT, "z\n" } },
      "w.0 | x\nw.1 | y\nw.0 | z\n",
      "" },
    { "a part of the other stream does not",
      true,
      false,
      { { a, CRI_STDOUT, "x" }, { b, CRI_STDERR, "e\n" }, { a, CRI_STDOUT, "z\n" } },
      "w.0 | xz\n",
      "w.1 | e\n" },
    { "notices are talk", false, false, { { a, CRI_NOTICE, "killed\n" } }, "", "berth | killed\n" },
    { "and can be silenced", false, true, { { a, CRI_NOTICE, "killed\n" } }, "", "" },
};

static void read_back(int fd, char *out, size_t size)
{
    ssize_t n = pread(fd, out, size - 1, 0);

    CHECK(n >= 0);
    out[n] = '\0';
    close(fd);
}

static int open_nowhere(void)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    return fd;
}

TEST(sink_writes_streams_apart_and_lines_whole)
{
    ROW_EACH (c, rows) {
        struct sink sink = { .fds = { open_nowhere(), open_nowhere() },
                             .has_labels = c->has_labels,
                             .is_quiet = c->is_quiet };
        char out[256], err[256];

        for (size_t i = 0; i < PIECES && c->pieces[i].label; i++)
            sink_write(&sink, c->pieces[i].label, c->pieces[i].stream, c->pieces[i].data,
                       strlen(c->pieces[i].data));
        sink_flush(&sink);
        CHECK_EQ(sink.error, 0);
        read_back(sink.fds[0], out, sizeof(out));
        read_back(sink.fds[1], err, sizeof(err));
        CHECK_TEXT(out, c->out);
        CHECK_TEXT(err, c->err);
        sink_fini(&sink);
    }
}

TEST(sink_remembers_that_it_could_not_write)
{
    struct sink sink = { .fds = { open("/dev/full", O_WRONLY | O_CLOEXEC), STDERR_FILENO } };

    sink_write(&sink, a, CRI_STDOUT, "x\n", 2);
    sink_flush(&sink);
    CHECK_EQ(sink.error, ENOSPC);
    close(sink.fds[0]);
    sink_fini(&sink);
}
