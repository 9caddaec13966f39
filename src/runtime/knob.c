/* Knob: see knob.h. */
#include "runtime/knob.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

bool knob_read_all(const char *path, char *out, size_t size)
{
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

    if (n < 0)
        return false;
    out[n] = '\0';
    return true;
}

bool knob_read(const char *path, char *out, size_t size)
{
    if (!knob_read_all(path, out, size))
        return false;
    out[strcspn(out, "\n")] = '\0';
    return true;
}

int knob_write(const char *path, const char *text)
{
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}
