/* What a class of tasks finds of devices and cores on a node, and which it gets: see devices.h. */
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/framework.h"

/* What is wanted of a class of devices: whole ones, and a part of one more. */
struct want {
    uint32_t dim;
    size_t whole;
    int64_t milli;  /* of the part; 0 if it is so much memory */
    int64_t memory; /* of the part, or (whole ones) what each must have */
    bool by_memory;
};

/* The devices of one class on one node, as one class of tasks sees them. */
struct view {
    const struct model *model;
    const struct kind *kind;
    const struct node *node;
    struct want want;
    int64_t place; /* of the model that is looked for in the list; -1: any */
    bool idle;
    size_t n_kept_back; /* free ones from the end that tasks without names may be on */
};

/* The amounts of a class are pods, cpu and memory first. */
static size_t first_want(const struct kind *kind)
{
    size_t i = 0;

    while (i < kind->asks.n && kind->asks.at[i].dim < DIM_OTHER)
        i++;
    return i;
}

/* The i-th want of a class of tasks; false behind the last. */
static bool want_at(const struct model *model, const struct kind *kind, size_t i, struct want *out)
{
    int64_t memory = kind->spec->gpu_memory;
    uint32_t gpu = memory ? dim_find(model, "gpu") : NOWHERE;

    if (i < kind->asks.n) {
        const struct ask *ask = &kind->asks.at[i];
        *out = (struct want){ .dim = ask->dim,
                              .whole = (size_t)(ask->value / DEVICE_MILLI),
                              .milli = ask->value % DEVICE_MILLI,
                              .memory = ask->dim == gpu ? memory : 0 };
        return true;
    }
    *out = (struct want){ .dim = gpu, .memory = memory, .by_memory = true };
    return i == kind->asks.n && gpu != NOWHERE && !asks_of(&kind->asks, gpu);
}

#define EACH_WANT(want, model, kind)                                                               \
    for (size_t i_want_ = first_want(kind); want_at((model), (kind), i_want_, &(want)); i_want_++)

static bool node_has_class(const struct node *node, uint32_t dim)
{
    if (node->brief.dim == dim)
        return true;
    for (size_t i = 0; i < node->devices.n; i++)
        if (node->devices.at[i].dim == dim)
            return true;
    return false;
}

/* --- Models */

static bool names_models(const struct kind *kind)
{
    const struct berth_words *words = &kind->spec->gpu_models;

    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->at[i], "any") == 0)
            return false;
    return words->n;
}

/* The place of a model in the list of those wanted, or -1. */
static int32_t place_in_list(const struct kind *kind, const struct gpu_model *has)
{
    for (size_t i = 0; i < kind->spec->gpu_models.n; i++) {
        struct gpu_model wanted = gpu_model_of(kind->spec->gpu_models.at[i]);
        if (gpu_model_serves(&wanted, has))
            return (int32_t)i;
    }
    return -1;
}

/* Likewise of a device; worked out once for each model. */
static int32_t device_place(const struct model *model, const struct kind *of,
                            const struct device *device)
{
    struct kind *kind = (struct kind *)of; /* what hangs on it is a cache */

    if (device->model == NOWHERE)
        return -1;
    while (kind->n_gpu_places <= device->model) {
        kind->gpu_places =
            mem_resize(kind->gpu_places, kind->n_gpu_places + 1, sizeof(*kind->gpu_places));
        kind->gpu_places[kind->n_gpu_places] =
            place_in_list(kind, &model->gpu_models.at[kind->n_gpu_places]);
        kind->n_gpu_places++;
    }
    return kind->gpu_places[device->model];
}

static bool is_suited(const struct view *view, const struct device *device)
{
    if (device->dim != view->want.dim)
        return false;
    if (view->want.memory && device->kept->memory < view->want.memory)
        return false;
    if (view->place >= 0)
        return device_place(view->model, view->kind, device) == view->place;
    return !names_models(view->kind) || device_place(view->model, view->kind, device) >= 0;
}

bool device_suits(const struct model *model, const struct kind *kind, const struct device *device)
{
    return device->kept->memory >= kind->spec->gpu_memory &&
           (!names_models(kind) || device_place(model, kind, device) >= 0);
}

/* How many models are looked at one after the other: a task's devices are all of one. */
static size_t n_passes(const struct kind *kind)
{
    return names_models(kind) ? kind->spec->gpu_models.n : 1;
}

static int64_t pass_place(const struct kind *kind, size_t pass)
{
    return names_models(kind) ? (int64_t)pass : -1;
}

/* --- Whether it has them at all */

static enum wait_code suit_class(const struct view *view)
{
    size_t need = view->want.whole + (view->want.milli > 0 || view->want.by_memory);
    enum wait_code code = WAIT_NO_SUCH_DEVICE;

    for (size_t pass = 0; pass < n_passes(view->kind); pass++) {
        struct view one = *view;
        size_t n = 0, n_on = 0;
        one.place = pass_place(view->kind, pass);
        for (size_t i = 0; i < view->node->devices.n; i++) {
            const struct device *device = &view->node->devices.at[i];
            bool suited = is_suited(&one, device);
            n += suited;
            n_on += suited && !device_is_off(device);
        }
        if (n_on >= need || (n && n < need))
            return WAIT_NONE; /* enough of them, or too few: amounts say it */
        if (n >= need)
            code = WAIT_DEVICE_QUARANTINED;
    }
    return code;
}

/* Of a node that counts its devices. */
static enum wait_code suit_count(const struct session *s, const struct view *view)
{
    const struct berth_node *kept = view->node->kept;
    struct gpu_model has;

    if (s->model->dims.at[view->want.dim]->code != WAIT_INSUFFICIENT_DEVICE ||
        s->setup->is_reference || s->setup->is_beam)
        return WAIT_NONE;
    if (view->want.by_memory || !s->model->columns[view->want.dim].offers[view->node->at])
        return WAIT_NO_SUCH_DEVICE;
    if (!names_models(view->kind))
        return WAIT_NONE;
    has = gpu_model_of(kept->gpu_model ? kept->gpu_model : "");
    return kept->gpu_model && place_in_list(view->kind, &has) >= 0 ? WAIT_NONE
                                                                   : WAIT_NO_SUCH_DEVICE;
}

static enum wait_code suit_sort(const struct session *s, const struct kind *kind,
                                const struct node *node)
{
    struct view view = { .model = s->model, .kind = kind, .node = node };
    enum wait_code code = WAIT_NONE;

    EACH_WANT(view.want, s->model, kind)
    if (!code && node_has_class(node, view.want.dim))
        code = suit_class(&view);
    return code;
}

/* Of the classes of which the node has devices; worked out once for nodes with like ones. */
static enum wait_code suit_devices(const struct session *s, const struct kind *of,
                                   const struct node *node)
{
    struct kind *kind = (struct kind *)of; /* what hangs on it is a cache */
    size_t n = s->model->sort_map.n + 1;

    if (kind->n_suits < n) {
        kind->suits = mem_resize(kind->suits, n, 1);
        memset(kind->suits + kind->n_suits, 0, n - kind->n_suits);
        kind->n_suits = n;
    }
    if (!kind->suits[node->sort])
        kind->suits[node->sort] = (uint8_t)(1 + suit_sort(s, kind, node));
    return (enum wait_code)(kind->suits[node->sort] - 1);
}

enum wait_code devices_suit(const struct session *s, const struct kind *kind,
                            const struct node *node)
{
    struct view view = { .model = s->model, .kind = kind, .node = node };
    enum wait_code code = node->sort ? suit_devices(s, kind, node) : WAIT_NONE;

    EACH_WANT(view.want, s->model, kind)
    if (!code && !node_has_class(node, view.want.dim))
        code = suit_count(s, &view);
    return code;
}

/* --- Whether it has room */

int64_t device_free(const struct device *device, bool idle)
{
    int64_t now = wrap_sub(DEVICE_MILLI, device->used);
    int64_t later = wrap_sub(wrap_add(now, device->releasing), device->pipelined);
    int64_t free = idle && now < later ? now : later;

    return free < 0 ? 0 : free;
}

int64_t device_part(const struct device *device, int64_t memory)
{
    wide part =
        device->kept->memory > 0
            ? ((wide)memory * DEVICE_MILLI + device->kept->memory - 1) / device->kept->memory
            : DEVICE_MILLI + 1;

    return part < 1 ? 1 : part > DEVICE_MILLI ? DEVICE_MILLI + 1 : (int64_t)part;
}

static int64_t part_of(const struct want *want, const struct device *device)
{
    return want->by_memory ? device_part(device, want->memory) : want->milli;
}

/* What a device could give to the task; those kept back, from the end, give nothing. */
static int64_t free_for(const struct view *view, const struct device *device, size_t *n_back)
{
    int64_t free = device_is_off(device) ? 0 : device_free(device, view->idle);

    if (device->dim == view->want.dim && free == DEVICE_MILLI && *n_back) {
        --*n_back;
        return 0;
    }
    return is_suited(view, device) ? free : 0;
}

/* How many free devices must be left alone for tasks that hold some without a name. */
static size_t kept_back(const struct view *view)
{
    const struct column *c = &view->model->columns[view->want.dim];
    uint32_t at = view->node->at;
    wide now = c->used[at], later = now - c->releasing[at] + c->pipelined[at], loose;

    for (size_t i = 0; i < view->node->devices.n; i++) {
        const struct device *device = &view->node->devices.at[i];
        if (device->dim != view->want.dim)
            continue;
        now -= device->used;
        later -= device->used - device->releasing + device->pipelined;
    }
    loose = view->idle && now > later ? now : later;
    return loose > 0 ? (size_t)((loose + DEVICE_MILLI - 1) / DEVICE_MILLI) : 0;
}

/* Whether the devices of a view do; adds what they have free. */
static bool class_fits(const struct view *view, wide *sum)
{
    size_t n_back = view->n_kept_back, n_whole = 0;
    bool has_part = false; /* on a device that is not wholly free */
    bool wants_part = view->want.milli > 0 || view->want.by_memory, whole_does = false;

    for (size_t i = view->node->devices.n; i-- > 0;) {
        const struct device *device = &view->node->devices.at[i];
        int64_t free = free_for(view, device, &n_back);
        if (!free)
            continue;
        *sum += free;
        if (free == DEVICE_MILLI) {
            n_whole++;
            whole_does = whole_does || part_of(&view->want, device) <= DEVICE_MILLI;
        } else if (wants_part && part_of(&view->want, device) <= free) {
            has_part = true;
        }
    }
    if (n_whole < view->want.whole)
        return false;
    return !wants_part || has_part || (whole_does && n_whole > view->want.whole);
}

/* The first model of which the node has enough, or the number of models. */
static size_t first_pass(struct view *view, wide *most)
{
    view->n_kept_back = kept_back(view);
    for (size_t pass = 0; pass < n_passes(view->kind); pass++) {
        wide sum = 0;
        view->place = pass_place(view->kind, pass);
        if (class_fits(view, &sum))
            return pass;
        if (sum > *most)
            *most = sum;
    }
    return n_passes(view->kind);
}

/* What is asked of a class in thousandths; of memory the least that it is of any device. */
static wide asked_of(const struct view *view)
{
    wide least = DEVICE_MILLI;

    if (!view->want.by_memory)
        return (wide)view->want.whole * DEVICE_MILLI + view->want.milli;
    for (size_t i = 0; i < view->node->devices.n; i++) {
        const struct device *device = &view->node->devices.at[i];
        if (device->dim == view->want.dim && part_of(&view->want, device) < least)
            least = part_of(&view->want, device);
    }
    return least;
}

/* Whether it fits now and later, where all devices are of one class, any of them will do, and
 * every holder has a name; false: that is not so. */
static bool ask_brief(const struct view *view, bool fits[2])
{
    const struct want *want = &view->want;
    const struct brief *b = &view->node->brief;
    const struct column *c = &view->model->columns[want->dim];
    uint32_t at = view->node->at;

    if (b->dim != want->dim || want->memory || names_models(view->kind) ||
        c->used[at] != b->named[1] ||
        wrap_sub(wrap_add(c->used[at], c->pipelined[at]), c->releasing[at]) != b->named[0])
        return false;
    for (int i = 0; i < 2; i++)
        fits[i] = b->n_whole[i] >= want->whole &&
                  (!want->milli || b->most[i] >= want->milli || b->n_whole[i] > want->whole);
    return true;
}

static fail_t class_room_at_length(struct view *view, bool *idle)
{
    size_t n = n_passes(view->kind);
    wide most = 0;

    view->idle = true;
    if (first_pass(view, &most) < n)
        return FAIL_NONE;
    *idle = false;
    view->idle = false;
    most = 0;
    if (first_pass(view, &most) < n)
        return FAIL_NONE;
    return most >= asked_of(view) ? WAIT_FRAGMENTED : FAIL_DIM + view->want.dim;
}

static fail_t class_room(struct view *view, bool *idle)
{
    bool fits[2];

    if (ask_brief(view, fits) && (fits[0] || fits[1])) {
        *idle = *idle && fits[1];
        return FAIL_NONE;
    }
    return class_room_at_length(view, idle);
}

/* --- Cores */

size_t kind_n_cores(const struct kind *kind)
{
    return kind->spec->whole_cores ? (size_t)((asks_of(&kind->asks, DIM_CPU) + 999) / 1000) : 0;
}

static bool core_is_free(const struct node *node, size_t at, bool idle)
{
    const struct core_use *use = node->cores ? &node->cores[at] : NULL;

    return !use || (!use->pipelined && (idle ? !use->used : use->used == use->releasing));
}

static bool cores_fit(const struct kind *kind, const struct node *node, bool idle)
{
    size_t n = 0, wanted = kind_n_cores(kind);

    for (size_t i = 0; i < node->kept->cores.n && n < wanted; i++)
        n += core_is_free(node, i, idle);
    return n >= wanted;
}

fail_t devices_room(const struct model *model, const struct kind *kind, const struct node *node,
                    bool *idle)
{
    struct view view = { .model = model, .kind = kind, .node = node };
    fail_t fail;

    EACH_WANT(view.want, model, kind)
    {
        fail = node_has_class(node, view.want.dim) ? class_room(&view, idle) : FAIL_NONE;
        if (fail != FAIL_NONE)
            return fail;
    }
    if (!kind->spec->whole_cores)
        return FAIL_NONE;
    *idle = *idle && cores_fit(kind, node, true);
    return *idle || cores_fit(kind, node, false) ? FAIL_NONE : WAIT_FRAGMENTED;
}

uint32_t devices_rank(const struct session *s, const struct kind *kind, const struct node *node)
{
    struct view view = { .model = s->model, .kind = kind, .node = node };
    uint32_t rank = 0;
    wide unused = 0;

    if (!names_models(kind) || s->setup->is_beam || s->policy->gpu_models == GPU_MODELS_SET)
        return 0;
    EACH_WANT(view.want, s->model, kind)
    {
        struct gpu_model has;
        size_t pass;
        if (node_has_class(node, view.want.dim)) {
            view.idle = true;
            pass = first_pass(&view, &unused);
            view.idle = false;
            rank += (uint32_t)(pass < n_passes(kind) ? pass : first_pass(&view, &unused));
        } else if (s->model->dims.at[view.want.dim]->code == WAIT_INSUFFICIENT_DEVICE &&
                   node->kept->gpu_model) {
            has = gpu_model_of(node->kept->gpu_model);
            rank += (uint32_t)(place_in_list(kind, &has) + 1);
        }
    }
    return rank;
}

/* --- The choice */

static bool is_taken(const struct hold *hold, size_t at)
{
    for (size_t i = 0; i < hold->n_shares; i++)
        if (hold->shares[i].at == at)
            return true;
    return false;
}

static void take(struct arena *arena, struct hold *hold, size_t at, int64_t milli)
{
    struct hold_share *shares = ARENA_NEW0_N(arena, struct hold_share, hold->n_shares + 1);

    if (hold->n_shares)
        memcpy(shares, hold->shares, hold->n_shares * sizeof(*shares));
    shares[hold->n_shares++] = (struct hold_share){ (uint32_t)at, milli };
    hold->shares = shares;
}

/* Smaller goes first: what a plugin says, else the fullest, or the emptiest if ties spread. */
static int64_t order_of(struct session *s, const struct view *view, size_t at, int64_t milli)
{
    const struct hooked *hooked = &s->setup->hooked[HOOKED_DEVICE_ORDER];
    int64_t free = device_free(&view->node->devices.at[at], view->idle), order;

    for (size_t i = 0; i < hooked->n; i++)
        if (hooked->at[i]->plugin->device_order(s, hooked->at[i], view->kind, view->node, at, milli,
                                                &order))
            return order;
    return s->policy->tie == TIE_SPREAD ? -free : free;
}

static size_t best_part(struct session *s, const struct view *view, const struct hold *hold,
                        const int64_t *free)
{
    size_t best = view->node->devices.n;
    int64_t least = 0;

    for (size_t i = 0; i < view->node->devices.n; i++) {
        int64_t part = part_of(&view->want, &view->node->devices.at[i]), order;
        if (free[i] < part || !free[i] || is_taken(hold, i))
            continue;
        order = order_of(s, view, i, part);
        if (best == view->node->devices.n || order < least) {
            best = i;
            least = order;
        }
    }
    return best;
}

static void choose_class(struct session *s, struct view *view, struct arena *arena,
                         struct hold *hold)
{
    size_t n = view->node->devices.n, n_back, n_left = view->want.whole, best;
    int64_t *free = ARENA_NEW0_N(arena, int64_t, n + 1);
    wide unused = 0;

    if (first_pass(view, &unused) == n_passes(view->kind))
        return; /* it was made to fit by other means: then nothing is named */
    n_back = view->n_kept_back;
    for (size_t i = n; i-- > 0;)
        free[i] = free_for(view, &view->node->devices.at[i], &n_back);
    for (size_t i = 0; i < n && n_left; i++) {
        if (free[i] < DEVICE_MILLI)
            continue;
        take(arena, hold, i, DEVICE_MILLI);
        n_left--;
    }
    if (!view->want.milli && !view->want.by_memory)
        return;
    best = best_part(s, view, hold, free);
    if (best < n)
        take(arena, hold, best, part_of(&view->want, &view->node->devices.at[best]));
}

static void choose_cores(const struct kind *kind, const struct node *node, bool idle,
                         struct arena *arena, struct hold *hold)
{
    size_t wanted = kind_n_cores(kind);

    if (!wanted)
        return;
    hold->cores = ARENA_NEW0_N(arena, uint32_t, wanted);
    for (size_t i = 0; i < node->kept->cores.n && hold->n_cores < wanted; i++)
        if (core_is_free(node, i, idle))
            hold->cores[hold->n_cores++] = (uint32_t)i;
}

/* What a task takes whose memory of a device is so many thousandths of the one chosen. */
static struct asks asks_with(const struct model *model, const struct asks *asks, uint32_t dim,
                             int64_t milli, struct arena *arena)
{
    struct asks out = { ARENA_NEW0_N(arena, struct ask, asks->n + 1), 0 };
    size_t i = 0;

    for (; i < asks->n && dim_before(model, asks->at[i].dim, dim); i++)
        out.at[out.n++] = asks->at[i];
    out.at[out.n++] = (struct ask){ dim, milli };
    for (; i < asks->n; i++)
        out.at[out.n++] = asks->at[i];
    return out;
}

const struct hold *devices_choose(struct session *s, const struct kind *kind,
                                  const struct node *node, bool idle, struct arena *arena)
{
    struct view view = { .model = s->model, .kind = kind, .node = node, .idle = idle };
    struct hold *hold;

    if (node->at == NOWHERE || !kind->wants_devices ||
        (!node->devices.n && !kind->spec->whole_cores))
        return NULL;
    hold = ARENA_NEW0(arena, struct hold);
    EACH_WANT(view.want, s->model, kind)
    {
        size_t before = hold->n_shares;
        if (!node_has_class(node, view.want.dim))
            continue;
        choose_class(s, &view, arena, hold);
        if (view.want.by_memory && hold->n_shares > before)
            hold->asks =
                asks_with(s->model, &kind->asks, view.want.dim, hold->shares[before].milli, arena);
    }
    choose_cores(kind, node, idle, arena, hold);
    return hold->n_shares || hold->n_cores ? hold : NULL;
}

uint32_t kind_device_dim(const struct model *model, const struct kind *kind)
{
    struct want want;

    EACH_WANT(want, model, kind)
    if (model->dims.at[want.dim]->code == WAIT_INSUFFICIENT_DEVICE)
        return want.dim;
    return kind->spec->whole_cores ? DIM_CPU : NOWHERE;
}

const struct asks *kind_charge(const struct model *model, const struct kind *of)
{
    struct kind *kind = (struct kind *)of; /* what hangs on it is a cache */
    uint32_t gpu = kind->spec->gpu_memory ? dim_find(model, "gpu") : NOWHERE;
    int64_t most = 0;

    if (gpu == NOWHERE || asks_of(&kind->asks, gpu))
        return &kind->asks;
    if (kind->charged == model->device_turn)
        return &kind->charge;
    VEC_EACH (item, &model->shelves[BERTH_DEVICE].items) {
        const struct device device = { .kept = (*item)->kept };
        int64_t part = device_part(&device, kind->spec->gpu_memory);
        if (part <= DEVICE_MILLI && part > most)
            most = part;
    }
    asks_fini(&kind->charge);
    for (size_t i = 0; i < kind->asks.n; i++)
        asks_add(model, &kind->charge, kind->asks.at[i].dim, kind->asks.at[i].value);
    asks_add(model, &kind->charge, gpu, most);
    kind->charged = model->device_turn;
    return &kind->charge;
}

struct kind kind_asking(const struct model *model, const struct kind *like, struct asks asks)
{
    struct kind kind = *like;

    kind.asks = kind.charge = asks;
    kind.charged = model->device_turn;
    return kind;
}
