/*
 * Preparing: each phase that fails or is cancelled is undone, and what is malformed is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "runtime/rig.h"

struct fault {
    int fail_begin, fail_end; /* phase, or -1 */
    int cancel_at;
    atomic_bool is_cancelled;
    int n_reports;
};

static int on_begin(void *ctx, enum start_phase phase)
{
    struct fault *fault = ctx;

    if ((int)phase == fault->cancel_at)
        atomic_store(&fault->is_cancelled, true);
    return (int)phase == fault->fail_begin ? -EIO : 0;
}

static int on_end(void *ctx, const struct phase_report *report)
{
    struct fault *fault = ctx;

    fault->n_reports++;
    CHECK(report->took_us >= 0);
    return (int)report->phase == fault->fail_end ? -EIO : 0;
}

static void prepare_in_vain(struct rig *rig, enum runtime_kind kind, struct fault *fault, int code)
{
    struct prepare_hooks hooks = { fault, on_begin, on_end, &fault->is_cancelled };
    struct attempt a;
    struct leftovers before, after;
    enum detail detail = DETAIL_COUNT;
    struct err err = { 0 };

    rig_attempt(rig, &a, kind, COMMAND("true"));
    rig_count(rig, &before);
    CHECK_EQ(runtime_prepare(rig->runtime, &a.container, &hooks, &detail, &err), code);
    CHECK(code == -ECANCELED ? detail == DETAIL_NONE : detail != DETAIL_NONE);
    rig_count(rig, &after);
    rig_check_same(&before, &after);
    {
        /* Nothing but the list of phases: not even for a clean-up to find. */
        CLEANUP(freep) char *path = text_format("%s/phase", a.folder);
        CHECK(unlink(path) == 0);
        CHECK_EQ(rmdir(a.folder), 0);
    }
}

static void fail_phases(struct rig *rig, enum runtime_kind kind)
{
    for (int phase = 0; phase < START_PHASE_COUNT; phase++) {
        struct fault begin = { phase, -1, -1, false, 0 };
        struct fault end = { -1, phase, -1, false, 0 };
        struct fault cancel = { -1, -1, phase, false, 0 };
        prepare_in_vain(rig, kind, &begin, -EIO);
        prepare_in_vain(rig, kind, &end, -EIO);
        prepare_in_vain(rig, kind, &cancel, -ECANCELED);
        CHECK_EQ(end.n_reports, phase + 1);
    }
}

TEST(prepare_undoes_each_phase)
{
    rig_each(fail_phases);
}

static const char *const env_without_equals[] = { "A", NULL };

TEST(prepare_refuses_what_is_malformed)
{
    static const struct {
        const char *name;
        struct container with;
    } bad[] = {
        { "an id with a slash", { .id = "a/b" } },
        { "an id that is a folder", { .id = ".." } },
        { "an image for a process", { .image = "dir:/" } },
        { "an environment entry without =", { .env = env_without_equals } },
        { "a relative folder", { .work_dir = "usr" } },
        { "a user's name for a process", { .user = "root" } },
        { "a negative user", { .user = "-1" } },
    };
    struct rig rig;

    rig_open(&rig);
    ROW_EACH (c, bad) {
        struct attempt a;
        enum detail detail = DETAIL_NONE;
        struct err err = { 0 };
        rig_attempt(&rig, &a, RUNTIME_PROCESS, COMMAND("true"));
        a.container.id = c->with.id ? c->with.id : a.id;
        a.container.image = c->with.image;
        a.container.env = c->with.env;
        a.container.work_dir = c->with.work_dir;
        a.container.user = c->with.user;
        CHECK_EQ(runtime_prepare(rig.runtime, &a.container, NULL, &detail, &err), -EINVAL);
        CHECK_EQ(rmdir(a.folder), 0); /* it made nothing */
    }
    rig_close(&rig);
}

TEST(phases_on_lesser_machines)
{
    static rig_body_fn *const bodies[] = { fail_phases };

    rig_each_lesser(bodies, COUNT_OF(bodies));
}
