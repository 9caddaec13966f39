/* Record: see record.h. */
#include "monitor/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

size_t record_format(const struct record *r, char out[RECORD_MAX_BYTES])
{
    int n =
        snprintf(out, RECORD_MAX_BYTES,
                 "started=%d\ndetail=%s\ncode=%d\nsignal=%d\noom=%d\noomKills=%lld\n"
                 "leaseOver=%d\nstartedMs=%lld\nendedMs=%lld\nstartedBootMs=%lld\n"
                 "endedBootMs=%lld\npeakMemory=%lld\ncpuUs=%lld\ntext=%s\n",
                 r->has_started, r->detail ? r->detail : "", r->code, r->signal, r->is_oom,
                 (long long)r->oom_kills, r->is_lease_over, (long long)r->started_ms,
                 (long long)r->ended_ms, (long long)r->started_boot_ms, (long long)r->ended_boot_ms,
                 (long long)r->peak_memory_bytes, (long long)r->cpu_us, r->text);

    return (size_t)n;
}

int record_save(const char *text, size_t n)
{
    int fd = open("exit.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    ssize_t written;

    if (fd < 0)
        return -errno;
    written = write(fd, text, n);
    close(fd);
    if (written != (ssize_t)n)
        return -ENOSPC;
    /* Not synced: after a power failure the boot id tells that the container is gone. */
    return rename("exit.new", "exit") < 0 ? -errno : 0;
}

void record_fail(struct record *record, const char *detail, const char *fmt, ...)
{
    va_list args;

    record->has_started = false;
    record->detail = detail;
    va_start(args, fmt);
    vsnprintf(record->text, sizeof(record->text), fmt, args);
    va_end(args);
    for (char *c = record->text; *c; c++) {
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    }
}
