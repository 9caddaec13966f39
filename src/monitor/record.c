/* Record: see record.h. */
#include "monitor/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

size_t record_format(const struct record *r, char out[RECORD_MAX_BYTES])
{
    int n = snprintf(
        out, RECORD_MAX_BYTES,
        "started=%d\ndetail=%s\ncode=%d\nsignal=%d\noom=%d\noomKills=%lld\n"
        "leaseOver=%d\nlimitOver=%d\nstartedMs=%lld\nendedMs=%lld\nstartedBootMs=%lld\n"
        "endedBootMs=%lld\npeakMemory=%lld\ncpuUs=%lld\ntext=%s\n",
        r->has_started, r->detail ? r->detail : "", r->code, r->signal, r->is_oom,
        (long long)r->oom_kills, r->is_lease_over, r->is_limit_over, (long long)r->started_ms,
        (long long)r->ended_ms, (long long)r->started_boot_ms, (long long)r->ended_boot_ms,
        (long long)r->peak_memory_bytes, (long long)r->cpu_us, r->text);

    return (size_t)n;
}

int record_save(const char *text, size_t n)
{
    int fd = open("exit.new", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    struct stat st;
    bool is_written;

    if (fd < 0)
        return -errno;
    /* One of an earlier container may be there. It is not emptied first: what was empty, ext4 would
     * write out to the disk at once when it is closed. */
    is_written = write(fd, text, n) == (ssize_t)n && fstat(fd, &st) == 0 &&
                 (st.st_size == (off_t)n || ftruncate(fd, (off_t)n) == 0);
    close(fd);
    if (!is_written)
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
