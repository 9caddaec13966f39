/*
 * Digests: the same decisions, to the byte, whatever surrounds the process: the locale, what the
 * processor can do, how memory is handed out. The test runs itself again in each surrounding.
 */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/cluster.h"

enum { N_HISTORIES = 16, N_CYCLES = 10, SKIPPED = 77 };

static const char *const profile_names[] = { "berth", "volcano", "ledger", "bench" };

/* The digests of some histories, one a line. */
static void write_digests(struct str *out)
{
    for (uint64_t i = 0; i < N_HISTORIES; i++) {
        struct cluster c;
        cluster_init(&c, 1000 + i, profile_names[i % COUNT_OF(profile_names)]);
        for (int cycle = 0; cycle < N_CYCLES; cycle++) {
            cluster_stir(&c);
            cluster_stir(&c);
            cluster_decide(&c);
            str_addf(out, "%s %s\n", c.w.out.digest, world_groups(&c.w));
            cluster_accept(&c);
            cluster_end_releasing(&c);
            c.w.in.now_ms += 61000;
        }
        cluster_fini(&c);
    }
}

static const struct {
    const char *name, *variable, *value;
} rows[] = {
    { "as it is", "BERTH_NOTHING", "1" },
    { "a language whose i has no dot", "LC_ALL", "tr_TR.UTF-8" },
    { "a language with commas in numbers", "LC_ALL", "de_DE.UTF-8" },
    { "a processor without FMA and AVX2", "GLIBC_TUNABLES",
      "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX2_Usable,-FMA_Usable,-FMA4" },
    { "memory that is full of noise", "GLIBC_TUNABLES",
      "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0:glibc.malloc.mmap_threshold=4096" },
    { "another malloc", "LD_PRELOAD", OTHER_MALLOC },
};

/* In the child: the surrounding is there. */
static void answer_child(int fd)
{
    CLEANUP(str_fini) struct str out = { 0 };
    const char *text;

    if (!setlocale(LC_ALL, ""))
        _exit(SKIPPED); /* the machine has no such locale */
    write_digests(&out);
    text = str_text(&out);
    for (size_t at = 0; at < out.len;) {
        ssize_t n = write(fd, text + at, out.len - at);
        if (n <= 0)
            _exit(1);
        at += (size_t)n;
    }
    _exit(0);
}

static int run_again(const char *variable, const char *value, struct str *out)
{
    int fds[2], status = 0;
    pid_t pid;

    CHECK_EQ(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        CLEANUP(freep) char *fd = text_format("%d", fds[1]);
        close(fds[0]);
        setenv("BERTH_DIGESTS", fd, 1);
        setenv(variable, value, 1);
        execl("/proc/self/exe", "digests", NULL);
        _exit(1);
    }
    CHECK(pid > 0);
    close(fds[1]);
    for (ssize_t n = 1; n > 0;) {
        char *room = str_room(out, 4096);
        n = read(fds[0], room, 4096);
        out->len += n > 0 ? (size_t)n : 0;
        out->data[out->len] = '\0';
    }
    close(fds[0]);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

__attribute__((constructor)) static void answer_if_child(void)
{
    const char *fd = getenv("BERTH_DIGESTS");

    if (fd)
        answer_child(atoi(fd));
}

TEST(digests_are_the_same_in_any_surrounding)
{
    CLEANUP(str_fini) struct str here = { 0 };

    write_digests(&here);
    CHECK(here.len > 1000);
    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str there = { 0 };
        int status;
        if (!c->value[0]) {
            print_message("%s: left out, the sanitizer's is one\n", c->name);
            continue;
        }
        status = run_again(c->variable, c->value, &there);
        if (status == SKIPPED) {
            print_message("%s: left out, the machine has no locale %s\n", c->name, c->value);
            continue;
        }
        CHECK_EQ(status, 0);
        CHECK_TEXT(str_text(&there), str_text(&here));
    }
}
