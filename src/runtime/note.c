/* Note: what clean-up must know, out of `launch`; and the monitor's record of how it ended. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/inside.h"

enum { MOST_BYTES = 4096 };

/* Reads FOLDER/NAME; -ENOENT without a text. */
static int read_in(const char *folder, const char *name, struct str *out, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/%s", folder, name);

    if (access(path, F_OK) < 0 && errno == ENOENT)
        return -ENOENT;
    return file_read(AT_FDCWD, path, MOST_BYTES, out, err);
}

/* Takes the next KEY=VALUE line; false at the end or where there is no `=`. */
static bool next_field(char **rest, char **key, char **value)
{
    char *line = *rest && **rest ? strsep(rest, "\n") : NULL;

    if (!line)
        return false;
    *key = strsep(&line, "=");
    *value = line;
    return line != NULL;
}

/* Takes one record of `launch`; true when the last of those that make the note was seen. */
static bool take_field(struct note *note, const char *record)
{
    const char *value = strchr(record, '=') ? strchr(record, '=') + 1 : "";

    if (text_begins(record, "boot="))
        snprintf(note->boot_id, sizeof(note->boot_id), "%s", value);
    else if (text_begins(record, "id="))
        snprintf(note->id, sizeof(note->id), "%s", value);
    else if (text_begins(record, "runtime="))
        note->runtime =
            (enum runtime_kind)states_find(value, runtime_kind_words, RUNTIME_KIND_COUNT);
    else if (text_begins(record, "node="))
        snprintf(note->node, sizeof(note->node), "%s", value);
    return note->node[0];
}

pid_t launch_owner(int launch)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    /* Of the open file, not of this process: other threads may have it open too. */
    if (fcntl(launch, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid > 0 ? lock.l_pid : 0; /* -1: of one who cleans up */
}

/* The monitor's mark is the last record; monitor/launch.c writes it. */
static bool is_begun(int launch)
{
    static const char mark[] = "begun=1";
    char tail[sizeof(mark)];
    struct stat st;

    return fstat(launch, &st) == 0 && st.st_size >= (off_t)sizeof(mark) &&
           pread(launch, tail, sizeof(tail), st.st_size - (off_t)sizeof(tail)) ==
               (ssize_t)sizeof(tail) &&
           !memcmp(tail, mark, sizeof(mark));
}

int note_read_from(int launch, struct note *out, struct err *err)
{
    struct note note = { .runtime = RUNTIME_KIND_COUNT };
    char head[MOST_BYTES];
    ssize_t n = pread(launch, head, sizeof(head) - 1, 0); /* its first records are the note */

    if (n < 0)
        return err_sys(err, -errno, "read launch");
    head[n] = '\0';
    for (char *at = head; at < head + n && !take_field(&note, at); at += strlen(at) + 1)
        ;
    /* One that was cut off was written before anything else was made; an empty one is cleaned
     * up. */
    if (!note.id[0] || !note.node[0] || note.runtime >= RUNTIME_KIND_COUNT)
        return -ENOENT;
    note.is_begun = is_begun(launch);
    note.monitor = launch_owner(launch);
    *out = note;
    return 0;
}

int note_read(const char *folder, struct note *out, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/launch", folder);
    CLEANUP(closep) int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? -ENOENT : err_sys(err, -errno, "open %s", path);
    return note_read_from(fd, out, err);
}

int record_parse(const char *text, struct exit_record *out, struct err *err)
{
    CLEANUP(freep) char *copy = text_copy(text);
    char *rest = copy, *key, *value;
    struct exit_record record = { 0 };
    int64_t started = -1, code = 0, signal = 0, oom = 0, oom_kills = 0, lease_over = 0,
            limit_over = 0;
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {
        { "started", &started },
        { "code", &code },
        { "signal", &signal },
        { "oom", &oom },
        { "oomKills", &oom_kills },
        { "leaseOver", &lease_over },
        { "limitOver", &limit_over },
        { "startedMs", &record.started_ms },
        { "endedMs", &record.ended_ms },
        { "startedBootMs", &record.started_boot_ms },
        { "endedBootMs", &record.ended_boot_ms },
        { "peakMemory", &record.peak_memory_bytes },
        { "cpuUs", &record.cpu_us },
    };

    while (next_field(&rest, &key, &value)) {
        if (text_eq(key, "text"))
            snprintf(record.text, sizeof(record.text), "%s", value);
        else if (text_eq(key, "detail") && value[0])
            record.detail = (enum detail)states_find(value, detail_words, DETAIL_COUNT);
        for (size_t i = 0; i < COUNT_OF(numbers); i++) {
            if (text_eq(key, numbers[i].key) &&
                text_to_int(value, INT64_MIN, INT64_MAX, numbers[i].number) < 0)
                return err_set(err, -EBADMSG, "exit record: %s=%s is no number", key, value);
        }
    }
    if (started < 0 || (int)record.detail < 0)
        return err_set(err, -EBADMSG, "no exit record: %.40s", text);
    record.has_started = started;
    record.code = (int)code;
    record.signal = (int)signal;
    record.is_oom = oom;
    record.oom_kills = (int)oom_kills;
    record.is_lease_over = lease_over;
    record.is_limit_over = limit_over;
    *out = record;
    return 0;
}

int record_read(const char *folder, struct exit_record *out, struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 };
    int r = read_in(folder, "exit", &text, err);

    return r < 0 ? r : record_parse(str_text(&text), out, err);
}
