/*
 * start_bench KIND COUNT AT-ONCE [IMAGE]: how many starts of `true` a second, from the preparation
 * to nothing left, on one thread; and what one costs in cpu, all processes together.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/runtime.h"

enum { MOST_AT_ONCE = 64 };

struct slot {
    struct container container;
    struct watch *watch;
    char id[32], folder[128];
};

static int64_t prepare_us, clean_us, spawn_us, total_start_us;

static int fail(const char *what, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 1;
}

static int start_one(struct runtime *rt, struct slot *slot, const char *dir, int number,
                     struct err *err)
{
    enum detail detail;
    int64_t began = clock_boot_us(&clock_system);
    int r;

    snprintf(slot->id, sizeof(slot->id), "b-%d", number);
    snprintf(slot->folder, sizeof(slot->folder), "%s/%s", dir, slot->id);
    if (mkdir(slot->folder, 0700) < 0)
        return err_sys(err, -errno, "make %s", slot->folder);
    slot->container.id = slot->id;
    slot->container.folder = slot->folder;
    r = runtime_prepare(rt, &slot->container, NULL, &detail, err);
    prepare_us += clock_boot_us(&clock_system) - began;
    began = clock_boot_us(&clock_system);
    if (r == 0)
        r = runtime_start(rt, &slot->container, &slot->watch, err);
    spawn_us += clock_boot_us(&clock_system) - began;
    return r;
}

/* Returns 1 when the slot's container has ended and nothing of it is left. */
static int look(struct runtime *rt, struct slot *slot, struct err *err)
{
    struct watch_event event;
    int64_t began;
    int r = watch_read(slot->watch, &event, err);

    if (r < 0)
        return r;
    if (event.kind == WATCH_STARTED)
        total_start_us += event.setup_us;
    if (event.kind != WATCH_ENDED)
        return event.kind == WATCH_LOST ? err_set(err, -EIO, "a monitor was lost") : 0;
    if (!event.exit.has_started)
        return err_set(err, -EIO, "%s", event.exit.text);
    watch_free(TAKE(slot->watch));
    began = clock_boot_us(&clock_system);
    r = runtime_clean(rt, slot->folder, err);
    if (r == 0)
        r = runtime_forget(rt, slot->folder, err);
    clean_us += clock_boot_us(&clock_system) - began;
    return r < 0 ? r : 1;
}

static int run(struct runtime *rt, struct slot *slots, int n, int at_once, const char *dir,
               struct err *err)
{
    int begun = 0, ended = 0, r = 0;

    while (r >= 0 && ended < n) {
        struct pollfd polled[MOST_AT_ONCE];
        for (int i = 0; i < at_once && r >= 0; i++) {
            if (!slots[i].watch && begun < n)
                r = start_one(rt, &slots[i], dir, begun++, err);
            polled[i] = (struct pollfd){ .fd = slots[i].watch ? watch_fd(slots[i].watch) : -1,
                                         .events = POLLIN };
        }
        if (r < 0 || poll(polled, (nfds_t)at_once, 30000) < 0)
            break;
        for (int i = 0; i < at_once && r >= 0; i++) {
            if (polled[i].revents && (r = look(rt, &slots[i], err)) > 0)
                ended++;
        }
    }
    return r < 0 ? r : 0;
}

static double cpu_ms(int who)
{
    struct rusage used;

    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

int main(int argc, char **argv)
{
    static struct slot slots[MOST_AT_ONCE];
    static const char *const command[] = { "true", NULL };
    static const char *const env[] = { "PATH=/bin:/usr/bin", NULL };
    struct machine machine;
    struct runtime *rt = NULL;
    char dir[] = "/tmp/berth-bench-XXXXXX";
    int n = argc > 2 ? atoi(argv[2]) : 0, at_once = argc > 3 ? atoi(argv[3]) : 0, kind;
    struct err err = { 0 };
    int64_t began;
    double seconds;

    kind = argc > 1 ? states_find(argv[1], runtime_kind_words, RUNTIME_KIND_COUNT) : -1;
    if (kind < 0 || n < 1 || at_once < 1 || at_once > MOST_AT_ONCE || !mkdtemp(dir)) {
        fprintf(stderr, "usage: start_bench crun|runc|process COUNT AT-ONCE [IMAGE]\n");
        return 2;
    }
    runtime_probe(&machine);
    if (machine_speed_up_attach(&err) < 0)
        fprintf(stderr, "%s\n", err.text);
    err = (struct err){ 0 };
    if (runtime_open(&(struct runtime_config){ dir, "bench", BERTH_BUILD_DIR "/berth-monitor",
                                               &machine, NULL },
                     &rt, &err) < 0)
        return fail("open", &err);
    for (int i = 0; i < at_once; i++)
        slots[i].container =
            (struct container){ .runtime = (enum runtime_kind)kind,
                                .command = command,
                                .env = env,
                                .image = argc > 4 ? argv[4] : NULL,
                                .memory_bytes = 64 << 20,
                                .cpu_milli = 1000,
                                .pids = 100,
                                .network = kind == RUNTIME_PROCESS ? NETWORK_HOST : NETWORK_NONE };
    began = clock_boot_us(&clock_system);
    if (run(rt, slots, n, at_once, dir, &err) < 0)
        return fail("run", &err);
    seconds = (double)(clock_boot_us(&clock_system) - began) / 1e6;
    runtime_rest(rt); /* what the monitors used counts when they have ended */
    printf(
        "%s: %.0f a second; a start: prepare %lld us, spawn %lld us, monitor to first instruction "
        "%lld us, clean %lld us; cpu %.2f ms own, %.2f ms monitors and containers\n",
        argv[1], n / seconds, (long long)prepare_us / n, (long long)spawn_us / n,
        (long long)total_start_us / n, (long long)clean_us / n, cpu_ms(RUSAGE_SELF) / n,
        cpu_ms(RUSAGE_CHILDREN) / n);
    runtime_leave(rt);
    runtime_close(rt);
    return file_remove_tree(-1, dir, &err) < 0 ? fail("remove", &err) : 0;
}
