/* Serverless placement: see serverless.h. */
#include "engine/serverless.h"

#include <string.h>

#include "base/str.h"

/* Models in the order in which "any" prefers them. */
static const char *const catalogue[] = {
    "A10",        "A10G",       "A100", "A100-40", "A100-80",    "A16",     "A30",     "A40",
    "A4000",      "A5000",      "L4",   "L40",     "T4",         "GAUDI2",  "GH200",   "H100",
    "H200",       "B200",       "B300", "A6000",   "RTX4000Ada", "RTX4090", "RTX5090", "RTX6000",
    "RTX6000Ada", "RTXPro6000", "L40S", "V100",    "V100-32",
};

/* By ASCII: the locale must not decide. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_word(char c)
{
    return is_digit(c) || (upper(c) >= 'A' && upper(c) <= 'Z');
}

/* A name without vendor, separators, form factor and unit: A100-SXM4-80GB is A10080. */
static void plain_name(const char *name, char out[64])
{
    static const char *const dropped[] = { "NVIDIA", "TESLA", "GEFORCE", "SXM2", "SXM3",
                                           "SXM4",   "SXM5",  "PCIE",    "HBM3", "HBM2E" };
    size_t n = 0, length;

    for (const char *c = name; *c && n + 1 < 64; c++)
        if (is_word(*c))
            out[n++] = upper(*c);
    out[n] = '\0';
    for (size_t i = 0; i < COUNT_OF(dropped); i++) {
        char *at = strstr(out, dropped[i]);
        if (at)
            memmove(at, at + strlen(dropped[i]), strlen(at + strlen(dropped[i])) + 1);
    }
    length = strlen(out);
    if (length > 3 && strcmp(out + length - 2, "GB") == 0 && is_digit(out[length - 3]))
        out[length - 2] = '\0';
    else if (length > 5 && out[length - 1] == 'G' &&
             (strcmp(out + length - 3, "80G") == 0 || strcmp(out + length - 3, "40G") == 0 ||
              strcmp(out + length - 3, "32G") == 0))
        out[length - 1] = '\0';
}

bool gpu_model_eq(const char *a, const char *b)
{
    char x[64], y[64];

    if (!a || !b)
        return a == b;
    plain_name(a, x);
    plain_name(b, y);
    return strcmp(x, y) == 0;
}

static size_t catalogue_place(const char *model)
{
    for (size_t i = 0; i < COUNT_OF(catalogue); i++)
        if (gpu_model_eq(catalogue[i], model))
            return i;
    return COUNT_OF(catalogue);
}

const struct berth_pool *pool_find(const struct session *s, const char *name)
{
    return name ? shelf_get(&s->model->shelves[BERTH_POOL], name) : NULL;
}

/* The chain of the first listed model that has one. */
static const struct berth_chain *chain_of(const struct session *s, const struct kind *kind)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_CHAIN];

    for (size_t i = 0; i < kind->spec->gpu_models.n; i++)
        VEC_EACH (item, &shelf->items) {
            const struct berth_chain *chain = (*item)->kept;
            if (gpu_model_eq(chain->model, kind->spec->gpu_models.at[i]))
                return chain;
        }
    return NULL;
}

struct wish wish_of(struct session *s, const struct kind *kind, bool unselected)
{
    const struct berth_words *models = &kind->spec->gpu_models;
    uint32_t gpu = dim_find(s->model, "gpu");
    struct wish wish = { .kind = kind, .selector = unselected ? NULL : kind->spec->pool_selector };

    if (wish.selector && !wish.selector[0])
        wish.selector = NULL;
    wish.wants_gpu = gpu != NOWHERE && asks_of(&kind->asks, gpu) > 0;
    wish.any =
        wish.wants_gpu && (models->n == 0 || (models->n == 1 && text_eq(models->at[0], "any")));
    if (wish.wants_gpu && !wish.any && !wish.selector && s->policy->failover)
        wish.chain = chain_of(s, kind);
    return wish;
}

/* The place of a pool in the chain, from 1; 0 if it is not in it. */
static size_t chain_place(const struct session *s, const struct wish *wish, const char *pool)
{
    size_t place = 0;

    for (size_t i = 0; wish->chain && pool && i < wish->chain->pools.n; i++) {
        if (!pool_find(s, wish->chain->pools.at[i]))
            continue; /* of a pool that there is not */
        place++;
        if (strcmp(wish->chain->pools.at[i], pool) == 0)
            return place;
    }
    return 0;
}

static bool is_listed(const struct wish *wish, const char *model)
{
    for (size_t i = 0; i < wish->kind->spec->gpu_models.n; i++)
        if (gpu_model_eq(wish->kind->spec->gpu_models.at[i], model))
            return true;
    return false;
}

static bool wants_model(const struct session *s, const struct wish *wish, const char *model)
{
    if (!wish->any)
        return is_listed(wish, model);
    if (wish->selector && s->policy->any_gpu == ANY_GPU_POOL)
        return true;
    return catalogue_place(model) < COUNT_OF(catalogue);
}

/* Folders of the system, alone or (with a star) with all that is beneath them. */
static bool is_system_mount(const char *path)
{
    static const char *const exact[] = { "/", "/home", "/var" };
    static const char *const begins[] = { "/dev", "/etc", "/proc",    "/root",
                                          "/run", "/sys", "/var/lib", "/var/run" };

    for (size_t i = 0; i < COUNT_OF(exact); i++)
        if (strcmp(path, exact[i]) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (text_begins(path, begins[i]))
            return true;
    return false;
}

static bool is_safe_for_strangers(const struct wish *wish)
{
    const struct berth_task_group *spec = wish->kind->spec;

    if (!spec->allow_marketplace || wish->selector || spec->docker || spec->durable_disk)
        return false;
    for (size_t i = 0; i < spec->host_mounts.n; i++)
        if (is_system_mount(spec->host_mounts.at[i]))
            return false;
    return true;
}

static bool restores(const struct wish *wish, const char *runtime, const char *model)
{
    const struct berth_checkpoint *point = wish->kind->spec->checkpoint;

    if (!point || !point->available || point->filesystem_only)
        return true;
    if (point->runtime && point->runtime[0] &&
        !text_eq(point->runtime, runtime && runtime[0] ? runtime : "runc"))
        return false;
    return !point->gpu_model || !point->gpu_model[0] || gpu_model_eq(point->gpu_model, model);
}

/* What a pool asks of those who use it. */
static enum wait_code pool_filter(const struct session *s, const struct wish *wish,
                                  const struct berth_pool *pool, const char *name, bool pinned)
{
    bool in_chain = chain_place(s, wish, name) > 0;

    if (wish->selector && !pinned && !text_eq(wish->selector, name))
        return WAIT_POOL_MISMATCH;
    if (!pool)
        return WAIT_NONE;
    if (!wish->selector && pool->requires_selector && !in_chain && !pinned)
        return WAIT_POOL_MISMATCH;
    if (pool->requires_storage && !wish->kind->spec->storage && !in_chain)
        return WAIT_POOL_MISMATCH;
    if (pool->marketplace && !is_safe_for_strangers(wish))
        return WAIT_POOL_MISMATCH;
    if (pool->preemptible && !wish->kind->spec->allow_preemptible)
        return WAIT_SPOT_NOT_ALLOWED;
    return WAIT_NONE;
}

static enum wait_code gpu_filter(const struct session *s, const struct wish *wish,
                                 const char *model, const char *pool)
{
    bool has = model && model[0];

    if (has != wish->wants_gpu)
        return WAIT_NO_SUCH_DEVICE;
    if (!has || chain_place(s, wish, pool) || wants_model(s, wish, model))
        return WAIT_NONE;
    return WAIT_NO_SUCH_DEVICE;
}

enum wait_code wish_filter(struct session *s, const struct wish *wish, const struct node *node)
{
    const struct berth_node *kept = node->kept;
    const struct berth_task_group *spec = wish->kind->spec;
    const struct berth_pool *pool = pool_find(s, kept->pool);
    bool pinned = spec->pinned_to && spec->pinned_to[0];
    enum wait_code code;

    if (pool && pool->is_private && kept->heard_at_ms &&
        s->in.now_ms - kept->heard_at_ms > s->policy->heartbeat_timeout_ms)
        return WAIT_NODE_NOT_READY;
    if (kept->cordoned || kept->draining)
        return WAIT_NODE_CORDONED;
    if (pinned && strcmp(spec->pinned_to, node->id) != 0)
        return WAIT_NODE_PINNED;
    if (kept->owner && kept->owner[0] && !text_eq(kept->owner, wish->kind->namespace_) &&
        !kept->managed && !(pool && pool->marketplace))
        return WAIT_NOT_YOUR_NODE;
    code = pool_filter(s, wish, pool, kept->pool, pinned);
    if (code)
        return code;
    if (!restores(wish, kept->runtime, kept->gpu_model))
        return WAIT_CHECKPOINT_MISMATCH;
    return gpu_filter(s, wish, kept->gpu_model, kept->pool);
}

size_t wish_rank(struct session *s, const struct wish *wish, const struct node *node)
{
    if (!wish->chain || is_listed(wish, node->kept->gpu_model))
        return 0;
    return chain_place(s, wish, node->kept->pool);
}

static int64_t preference(const struct wish *wish, const char *model)
{
    size_t place;

    if (!wish->wants_gpu)
        return 0;
    if (wish->any) {
        place = catalogue_place(model);
        return place == COUNT_OF(catalogue) ? 0 : (int64_t)place;
    }
    for (size_t i = 0; i < wish->kind->spec->gpu_models.n; i++)
        if (gpu_model_eq(wish->kind->spec->gpu_models.at[i], model))
            return (int64_t)i;
    return 0;
}

int64_t wish_score(struct session *s, const struct wish *wish, const struct node *node)
{
    const struct berth_pool *pool = pool_find(s, node->kept->pool);

    return (pool ? pool->priority : 0) + (node->kept->state == NODE_READY ? 10 : 0) -
           preference(wish, node->kept->gpu_model);
}

bool wish_takes_pool(struct session *s, const struct wish *wish, const struct berth_pool *pool)
{
    return !pool_filter(s, wish, pool, pool->name, false) &&
           !gpu_filter(s, wish, pool->gpu_model, pool->name) &&
           restores(wish, pool->runtime, pool->gpu_model);
}

/* A pool with the place it takes in the order. */
struct ranked {
    const struct berth_pool *pool;
    size_t chain;
    int64_t preference;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->chain != y->chain)
        return x->chain < y->chain ? -1 : 1;
    if (x->preference != y->preference)
        return x->preference < y->preference ? -1 : 1;
    if (x->pool->priority != y->pool->priority)
        return x->pool->priority > y->pool->priority ? -1 : 1;
    if (x->pool->seq != y->pool->seq)
        return x->pool->seq < y->pool->seq ? -1 : 1;
    return strcmp(x->pool->name, y->pool->name);
}

size_t wish_pools(struct session *s, const struct wish *wish, const struct berth_pool **out)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_POOL];
    struct ranked *list = ARENA_NEW0_N(&s->arena, struct ranked, shelf->items.n + 1);
    size_t n = 0;

    VEC_EACH (item, &shelf->items) {
        const struct berth_pool *pool = (*item)->kept;
        bool listed = !wish->wants_gpu || wants_model(s, wish, pool->gpu_model);
        if (!wish_takes_pool(s, wish, pool))
            continue;
        list[n++] = (struct ranked){ pool, listed ? 0 : chain_place(s, wish, pool->name),
                                     !listed || wish->any ? 0 : preference(wish, pool->gpu_model) };
    }
    qsort(list, n, sizeof(*list), by_rank);
    for (size_t i = 0; i < n; i++)
        out[i] = list[i].pool;
    return n;
}
