/*
 * What an agent finds in an attempt's folder: `launch` and `exit`, written by a monitor and by a runtime that
 * may have been killed over it. Any bytes are a state, or an error with a reason, and none of them
 * starts anything twice: the first monitor may take what is well-formed, the second may not.
 *
 * The input is `launch`, a byte of 255, and `exit`; without that byte there is no `exit`.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "monitor/launch.h"
#include "runtime/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void put(const char *name, const uint8_t *data, size_t n)
{
    CLEANUP(freep) char *path = text_format("%s/%s", test_folder(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert(fd >= 0 && (n == 0 || write(fd, data, n) == (ssize_t)n));
    close(fd);
}

static void unlink_exit(void)
{
    CLEANUP(freep) char *path = text_format("%s/exit", test_folder());

    unlink(path);
}

static void inspect(bool has_exit)
{
    static struct runtime rt; /* without groups: a container that nobody holds is gone, or fresh */
    struct inspection found = { 0 };
    struct err err = { 0 };
    int r;

    snprintf(rt.machine.boot_id, sizeof(rt.machine.boot_id), "boot-1");
    r = runtime_inspect(&rt, test_folder(), &found, &err);
    if (r < 0) {
        assert(err.code == r && err.text[0]);
        return;
    }
    assert(found.state != FOLDER_RUNNING && found.state != FOLDER_ORPHANED);
    assert((found.state == FOLDER_ENDED) == has_exit);
    assert(memchr(found.exit.text, '\0', sizeof(found.exit.text)));
    assert(found.exit.detail >= DETAIL_NONE && found.exit.detail < DETAIL_COUNT);
}

static int take(void)
{
    struct launch launch = { .fd = -1 };
    int was = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), r;

    assert(was >= 0 && chdir(test_folder()) == 0);
    r = launch_take(&launch);

    if (r == 0) {
        assert(launch.args && launch.args[0] && launch.env);
        for (size_t i = 0; launch.groups[i]; i++)
            assert(i < LAUNCH_MAX_GROUPS);
    }
    launch_fini(&launch);
    assert(fchdir(was) == 0);
    close(was);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = n ? memchr(data, 255, n) : NULL;
    size_t n_launch = end ? (size_t)(end - data) : n;

    put("launch", data, n_launch);
    unlink_exit();
    if (end)
        put("exit", end + 1, n - n_launch - 1);
    inspect(end != NULL);
    if (take() == 0)
        assert(take() == -EBUSY);
    inspect(end != NULL);
    return 0;
}
