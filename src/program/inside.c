/* Inside of the program: see inside.h. */
#include "program/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/quantity.h"
#include "base/str.h"

int program_fail(const struct err *err)
{
    struct str none = { 0 };

    return program_fail_all(err, &none);
}

int program_fail_all(const struct err *err, const struct str *faults)
{
    if (faults->len)
        fprintf(stderr, "berth: %s", faults->data);
    else
        fprintf(stderr, "berth: %s\n", err->text);
    if (err->code == -EACCES)
        return PROGRAM_NOT_ALLOWED;
    return err->code == -EINVAL ? PROGRAM_WRONG_USE : PROGRAM_FAILED;
}

void program_at_point(const char *point)
{
    const char *wanted = getenv("BERTH_TEST_KILL_AT");

    if (wanted && text_eq(wanted, point))
        raise(SIGKILL);
}

char *program_default_data(const char *name)
{
    const char *share = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

    if (geteuid() == 0)
        return text_format("/var/lib/berth/%s", name);
    if (share && share[0] == '/')
        return text_format("%s/berth/%s", share, name);
    return text_format("%s/.local/share/berth/%s", home ? home : "", name);
}

char *program_system_config(const char *name)
{
    const char *etc = getenv("BERTH_ETC");
    char *path = text_format("%s/%s", etc && *etc ? etc : "/etc/berth", name);

    if (access(path, F_OK) == 0)
        return path;
    mem_free(path);
    return NULL;
}

char *program_open_data(const char *path, struct err *err)
{
    char *absolute;

    if (file_make_dirs(path, 0700, err) < 0)
        return NULL;
    absolute = realpath(path, NULL);
    if (!absolute)
        err_sys(err, -errno, "find data folder %s", path);
    return absolute;
}

char *program_monitor_path(struct err *err)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash, *path;

    if (n < 0) {
        err_sys(err, -errno, "find this program in /proc/self/exe");
        return NULL;
    }
    self[n] = '\0';
    slash = strrchr(self, '/');
    path = text_format("%.*s/berth-monitor", (int)(slash - self), self);
    if (access(path, X_OK) == 0)
        return path;
    err_sys(err, -errno, "find berth-monitor, which lies beside berth: %s", path);
    free(path);
    return NULL;
}

struct agent_offer *program_read_offers(const struct flag_pair *pairs, size_t n, struct err *err)
{
    struct agent_offer *offers = NEW0_N(struct agent_offer, n);

    for (size_t i = 0; i < n; i++) {
        offers[i].resource = pairs[i].name;
        if (quantity_parse(pairs[i].value, quantity_unit_of(pairs[i].name), &offers[i].value, err) <
            0) {
            err_wrap(err, "--offer %s", pairs[i].name);
            free(offers);
            return NULL;
        }
    }
    return offers;
}
