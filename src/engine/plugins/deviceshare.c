/*
 * Deviceshare: which devices of a node are shared, and how full they make it.
 *
 * Which devices have room is the engine's to say for every plugin; here are the orders and scores
 * of the reference: with GPU sharing a share goes to the first device with room, with vGPUs by
 * the policy: binpack to the fullest, spread to the one that the fewest tasks hold, else to the
 * last.
 */
#include <errno.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/plugins.h"

enum policy_of_shares { SHARES_LAST, SHARES_BINPACK, SHARES_SPREAD };

struct arguments {
    bool sharing, number, vgpu, ascend_cluster, ascend_hami, unused_bool;
    const char *policy, *unused;
    int64_t weight;
    enum policy_of_shares order;
};

/* The last three say where a cluster keeps what the engine is told. */
static const struct argument known[] = {
    { "deviceshare.GPUSharingEnable", ARG_TRUTH, offsetof(struct arguments, sharing) },
    { "deviceshare.GPUNumberEnable", ARG_TRUTH, offsetof(struct arguments, number) },
    { "deviceshare.VGPUEnable", ARG_TRUTH, offsetof(struct arguments, vgpu) },
    { "deviceshare.AscendMindClusterVNPUEnable", ARG_TRUTH,
      offsetof(struct arguments, ascend_cluster) },
    { "deviceshare.AscendHAMiVNPUEnable", ARG_TRUTH, offsetof(struct arguments, ascend_hami) },
    { "deviceshare.SchedulePolicy", ARG_TEXT, offsetof(struct arguments, policy) },
    { "deviceshare.ScheduleWeight", ARG_INT, offsetof(struct arguments, weight) },
    { "deviceshare.NodeLockEnable", ARG_TRUTH, offsetof(struct arguments, unused_bool) },
    { "deviceshare.KnownGeometriesCMName", ARG_TEXT, offsetof(struct arguments, unused) },
    { "deviceshare.KnownGeometriesCMNamespace", ARG_TEXT, offsetof(struct arguments, unused) },
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    struct arguments *a = ARENA_NEW0(arena, struct arguments);
    int r = arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);

    *out = a;
    if (r < 0)
        return r;
    if (a->sharing && a->number)
        return err_set(err, -EINVAL,
                       "/deviceshare.GPUNumberEnable: not with deviceshare.GPUSharingEnable");
    if (a->vgpu && (a->sharing || a->number))
        return err_set(err, -EINVAL, "/deviceshare.VGPUEnable: not with deviceshare.%s",
                       a->sharing ? "GPUSharingEnable" : "GPUNumberEnable");
    if (a->ascend_cluster || a->ascend_hami)
        return err_set(err, -EINVAL, "/deviceshare.%s: only false is known",
                       a->ascend_cluster ? "AscendMindClusterVNPUEnable" : "AscendHAMiVNPUEnable");
    if (text_eq(a->policy, "binpack"))
        a->order = SHARES_BINPACK;
    else if (text_eq(a->policy, "spread"))
        a->order = SHARES_SPREAD;
    else if (a->policy && a->policy[0])
        return err_set(err, -EINVAL, "/deviceshare.SchedulePolicy: one of binpack spread");
    return 0;
}

/* How many tasks hold some of a device. */
static int64_t n_holders(const struct node *node, size_t device)
{
    int64_t n = 0;

    VEC_EACH (task, &node->tasks)
        for (size_t i = 0; (*task)->hold && i < (*task)->hold->n_shares; i++)
            n += (*task)->hold->shares[i].at == device;
    return n;
}

static bool is_on(const struct arguments *a)
{
    return a->vgpu || (a->order != SHARES_LAST && !a->sharing && !a->number);
}

static bool device_order(struct session *s, struct plugin_use *use, const struct kind *kind,
                         const struct node *node, size_t device, int64_t milli, int64_t *order)
{
    const struct arguments *a = use->config;

    (void)s;
    (void)kind;
    (void)milli;
    if (!is_on(a)) {
        *order = 0; /* the first */
        return a->sharing || a->number;
    }
    switch (a->order) {
    case SHARES_BINPACK:
        *order = -node->devices.at[device].used;
        break;
    case SHARES_SPREAD:
        *order = n_holders(node, device);
        break;
    case SHARES_LAST:
        *order = -(int64_t)device;
        break;
    }
    return true;
}

/* Summed over the devices that the task would get. */
static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    const struct arguments *a = use->config;
    const struct hold *hold;
    double sum = 0;
    bool idle;

    if (!a->weight || !is_on(a) || a->order == SHARES_LAST || !kind->wants_devices ||
        room_fail(s->model, kind, node, &idle) != FAIL_NONE)
        return 0;
    hold = devices_choose(s, kind, node, idle, &s->tried);
    for (size_t i = 0; hold && i < hold->n_shares; i++) {
        const struct device *device = &node->devices.at[hold->shares[i].at];
        if (a->order == SHARES_BINPACK)
            sum += 100.0 * (double)(device->used + hold->shares[i].milli) / DEVICE_MILLI;
        else if (!s->setup->is_reference && !device->used)
            sum += 100; /* the reference asks after the task was added, when none is unused */
    }
    arena_clear(&s->tried);
    return sum * (double)a->weight;
}

const struct plugin plugin_deviceshare = {
    .name = "deviceshare",
    .configure = configure,
    .score = score,
    .device_order = device_order,
};
