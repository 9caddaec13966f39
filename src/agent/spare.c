/*
 * Spare: folders of attempts that ended without output, used again for the next ones.
 *
 * To make a folder and its files costs much: on an ext4 without a journal each new inode looks at
 * all that were removed within the last minutes, which came to 0.5 ms a file where a few hundred
 * attempts end a second. A folder is cleared while it is spare, and moved into place with its new
 * `spec` in it: what lies among the attempts is never half of one and half of another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/inside.h"
#include "base/file.h"
#include "base/log.h"

static char *path_of(const struct agent *agent, unsigned spare)
{
    return text_format("%s/%u", agent->spare_dir, spare);
}

int spares_open(struct agent *agent, struct err *err)
{
    int r = file_remove_tree(AT_FDCWD, agent->spare_dir, err);

    return r < 0 ? r : file_make_dirs(agent->spare_dir, 0700, err);
}

bool spare_give(struct agent *agent, const char *folder)
{
    unsigned spare = agent->spare_last + 1;
    CLEANUP(freep) char *path = NULL;

    if (agent->spares.n == SPARES_MAX)
        return false;
    path = path_of(agent, spare);
    if (rename(folder, path) < 0)
        return false;
    agent->spare_last = spare;
    VEC_PUSH(&agent->spares, spare);
    return true;
}

unsigned spare_take(struct agent *agent)
{
    return agent->spares.n ? agent->spares.at[--agent->spares.n] : 0;
}

int spec_write(const char *folder, const char *line)
{
    CLEANUP(freep) char *path = text_format("%s/spec", folder);
    CLEANUP(freep) char *text = text_format("%s\n", line);
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    /* Where it is cut off, its end is missing, and then it was never acked. */
    return fd < 0 ? -errno : file_overwrite(fd, text, strlen(text));
}

static bool refill(const char *spare, const struct attempt *attempt)
{
    CLEANUP(freep) char *exit = text_format("%s/exit", spare);
    CLEANUP(freep) char *next = text_format("%s/exit.new", spare);

    /* An attempt that was never started left none. */
    return (rename(exit, next) == 0 || errno == ENOENT) && spec_write(spare, attempt->line) == 0 &&
           rename(spare, attempt->folder) == 0;
}

bool spare_use(const struct attempt *attempt)
{
    CLEANUP(freep) char *path = NULL;
    struct err err = { 0 };

    if (!attempt->spare)
        return false;
    path = path_of(attempt->agent, attempt->spare);
    if (refill(path, attempt))
        return true;
    if (file_remove_tree(AT_FDCWD, path, &err) < 0)
        log_warn("a spare folder cannot be removed", "why", err.text, NULL);
    return false;
}
