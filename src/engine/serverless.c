/* Serverless: see serverless.h. */
#include "engine/serverless.h"

#include <string.h>

#include "base/str.h"
#include "engine/room.h"

enum { IS_THERE = 10 }; /* what an available node scores above one on its way */

const struct berth_pool *pool_find(const struct session *s, const char *name)
{
    return name ? shelf_get(&s->model->shelves[BERTH_POOL], name) : NULL;
}

struct berth_node pool_node(const struct berth_pool *pool, const char *id)
{
    return (struct berth_node){
        .id = id,
        .state = NODE_COMING,
        .pool = pool->name,
        .gpu_model = pool->gpu_model,
        .runtime = pool->runtime,
    };
}

/* --- What a class of tasks wants */

static bool is_said(const char *text)
{
    return text && text[0];
}

static void list_models(struct session *s, const struct berth_words *words, struct wish *wish)
{
    wish->models = ARENA_NEW0_N(&s->arena, struct gpu_model, words->n + 1);
    for (size_t i = 0; i < words->n && !wish->is_any; i++) {
        if (strcmp(words->at[i], "any") == 0)
            wish->is_any = true;
        else
            wish->models[wish->n_models++] = gpu_model_of(words->at[i]);
    }
}

static const struct berth_chain *chain_for(const struct session *s, const struct gpu_model *model)
{
    VEC_EACH (item, &s->model->shelves[BERTH_CHAIN].items) {
        struct gpu_model of = gpu_model_of((*item)->key);
        if (strcmp(of.name, model->name) == 0)
            return (*item)->kept;
    }
    return NULL;
}

/* The first listed model with a chain counts; pools that there are not are passed over. */
static void list_chain(struct session *s, struct wish *wish)
{
    const struct berth_chain *chain = NULL;

    if (!s->policy->failover || wish->is_any || wish->selector)
        return;
    shelf_sort(&s->model->shelves[BERTH_CHAIN]);
    for (size_t i = 0; i < wish->n_models && !chain; i++)
        chain = chain_for(s, &wish->models[i]);
    if (!chain)
        return;
    wish->chain = ARENA_NEW0_N(&s->arena, const struct berth_pool *, chain->pools.n + 1);
    for (size_t i = 0; i < chain->pools.n; i++) {
        const struct berth_pool *pool = pool_find(s, chain->pools.at[i]);
        if (pool)
            wish->chain[wish->n_chain++] = pool;
    }
}

struct wish *wish_of(struct session *s, const struct kind *of)
{
    struct kind *kind = (struct kind *)of; /* what hangs on it is a cache */
    const struct berth_task_group *spec = kind->spec;
    uint32_t gpu = dim_find(s->model, "gpu");
    struct wish *wish;

    if (kind->wished == s->number)
        return kind->wish;
    wish = ARENA_NEW0(&s->arena, struct wish);
    kind->wish = wish;
    kind->wished = s->number;
    wish->kind = kind;
    wish->selector = is_said(spec->pool_selector) ? spec->pool_selector : NULL;
    wish->is_pinned = is_said(spec->pinned_to);
    wish->wants_gpu = gpu != NOWHERE && asks_of(&kind->asks, gpu) > 0;
    wish->n_standings = s->model->alikes.n;
    wish->standings = ARENA_NEW0_N(&s->arena, struct standing, wish->n_standings + 1);
    if (wish->wants_gpu) {
        list_models(s, &spec->gpu_models, wish);
        list_chain(s, wish);
    }
    return wish;
}

/* --- Filters */

/* The place of a pool in the chain, from 1; 0 if it is not in it. */
static uint32_t chain_place(const struct wish *wish, const char *pool)
{
    for (size_t i = 0; pool && i < wish->n_chain; i++)
        if (strcmp(wish->chain[i]->name, pool) == 0)
            return (uint32_t)(i + 1);
    return 0;
}

/* The place of a model in the list, or -1 if it is not wanted. */
static int64_t model_place(const struct session *s, const struct wish *wish,
                           const struct gpu_model *model)
{
    for (size_t i = 0; i < wish->n_models; i++)
        if (gpu_model_serves(&wish->models[i], model))
            return (int64_t)i;
    if (wish->is_any && model->place >= 0)
        return (int64_t)wish->n_models + model->place;
    if (wish->is_any && wish->selector && s->policy->any_gpu == ANY_GPU_POOL)
        return 0;
    return !wish->is_any && !wish->n_models ? 0 : -1; /* a GPU, and no word on which */
}

static bool is_beneath(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0;
}

/* Without empty parts, "." and ".."; out has room for the path. */
static void path_resolve(const char *path, char *out)
{
    size_t n = 0;

    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (n && out[--n] != '/')
                ;
        } else if (length && !(length == 1 && path[0] == '.')) {
            out[n++] = '/';
            memcpy(out + n, path, length);
            n += length;
        }
        path += length + (path[length] == '/');
    }
    if (!n)
        out[n++] = '/';
    out[n] = '\0';
}

/* The system's folders. */
static bool is_systems(const char *path)
{
    static const char *const exact[] = { "/", "/home", "/var" };
    static const char *const begins[] = { "/dev", "/etc", "/proc",    "/root",
                                          "/run", "/sys", "/var/lib", "/var/run" };
    CLEANUP(freep) char *plain = NEW0_N(char, strlen(path) + 3);

    path_resolve(path, plain);
    for (size_t i = 0; i < COUNT_OF(exact); i++)
        if (strcmp(plain, exact[i]) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (is_beneath(plain, begins[i]))
            return true;
    return path[0] != '/';
}

/* Whether tasks may go to strangers' machines. */
static bool is_for_strangers(const struct wish *wish)
{
    const struct berth_task_group *spec = wish->kind->spec;

    if (!spec->allow_marketplace || wish->selector || spec->docker || spec->durable_disk)
        return false;
    for (size_t i = 0; i < spec->host_mounts.n; i++)
        if (is_systems(spec->host_mounts.at[i]))
            return false;
    return true;
}

static bool is_foreign(const struct wish *wish, const struct berth_node *node,
                       const struct berth_pool *pool)
{
    return is_said(node->owner) && !text_eq(node->owner, wish->kind->namespace_) &&
           !node->managed && !(pool && pool->marketplace);
}

static enum wait_code pool_filter(const struct wish *wish, const struct berth_node *node,
                                  const struct berth_pool *pool)
{
    const struct berth_task_group *spec = wish->kind->spec;
    bool is_open = chain_place(wish, node->pool) || wish->is_pinned;

    if (wish->selector && !wish->is_pinned && !text_eq(wish->selector, node->pool))
        return WAIT_POOL_MISMATCH;
    if (!pool)
        return WAIT_NONE;
    if (pool->requires_selector && !wish->selector && !is_open)
        return WAIT_POOL_MISMATCH;
    if (pool->requires_storage && !spec->storage && !chain_place(wish, node->pool))
        return WAIT_POOL_MISMATCH;
    if (pool->marketplace && !is_for_strangers(wish))
        return WAIT_POOL_MISMATCH;
    if (pool->preemptible && !spec->allow_preemptible)
        return WAIT_SPOT_NOT_ALLOWED;
    return WAIT_NONE;
}

/* Whether a checkpoint could be restored there; one of files alone can be anywhere. */
static bool restores(const struct wish *wish, const struct berth_node *node)
{
    const struct berth_checkpoint *point = wish->kind->spec->checkpoint;
    const char *runtime = is_said(node->runtime) ? node->runtime : "runc";

    if (!point || !point->available || point->filesystem_only)
        return true;
    if (is_said(point->runtime) && !text_eq(point->runtime, runtime))
        return false;
    return !is_said(point->gpu_model) ||
           (is_said(node->gpu_model) && gpu_model_same(point->gpu_model, node->gpu_model));
}

struct standing wish_standing(struct session *s, const struct wish *wish,
                              const struct berth_node *node)
{
    const struct berth_pool *pool = pool_find(s, node->pool);
    struct standing out = { .is_known = true };
    bool has_gpu = is_said(node->gpu_model);
    struct gpu_model model = gpu_model_of(has_gpu ? node->gpu_model : "");
    int64_t place = has_gpu && wish->wants_gpu ? model_place(s, wish, &model) : 0;

    if (node->cordoned || node->draining)
        out.code = WAIT_NODE_CORDONED;
    else if (is_foreign(wish, node, pool))
        out.code = WAIT_NOT_YOUR_NODE;
    else
        out.code = pool_filter(wish, node, pool);
    if (!out.code && !restores(wish, node))
        out.code = WAIT_CHECKPOINT_MISMATCH;
    if (place < 0)
        out.rank = chain_place(wish, node->pool);
    if (!out.code && (has_gpu != wish->wants_gpu || (place < 0 && !out.rank)))
        out.code = WAIT_NO_SUCH_DEVICE;
    out.score = (pool ? (int64_t)pool->priority : 0) +
                (node_takes_work(node->state) ? IS_THERE : 0) - (place > 0 ? place : 0);
    return out;
}

const struct standing *standing_of(struct session *s, const struct kind *kind,
                                   const struct node *node)
{
    const struct wish *wish = wish_of(s, kind);
    struct standing *standing = &wish->standings[node->alike];

    if (!standing->is_known)
        *standing = wish_standing(s, wish, node->kept);
    return standing;
}

/* --- Pools that machines could come from */

struct ranked {
    const struct berth_pool *pool;
    struct standing standing;
    int64_t place; /* of its model in the list */
};

/* Listed models in their order, then the chain; of equals the pool of higher priority. */
static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->standing.rank != y->standing.rank)
        return x->standing.rank < y->standing.rank ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->pool->priority != y->pool->priority)
        return x->pool->priority > y->pool->priority ? -1 : 1;
    if (x->pool->seq != y->pool->seq)
        return x->pool->seq < y->pool->seq ? -1 : 1;
    return strcmp(x->pool->name, y->pool->name);
}

void wish_list_pools(struct session *s, struct wish *wish)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_POOL];
    struct ranked *list;
    size_t n = 0;

    if (wish->has_pools)
        return;
    wish->has_pools = true;
    list = ARENA_NEW0_N(&s->arena, struct ranked, shelf->items.n + 1);
    VEC_EACH (item, &shelf->items) {
        struct ranked *one = &list[n];
        struct berth_node node;
        one->pool = (*item)->kept;
        node = pool_node(one->pool, one->pool->name);
        one->standing = wish_standing(s, wish, &node);
        one->place = one->pool->priority - one->standing.score;
        if (one->place > (int64_t)wish->n_models) /* "any": of those not listed none goes first */
            one->place = (int64_t)wish->n_models;
        n += one->standing.code == WAIT_NONE;
    }
    qsort(list, n, sizeof(*list), by_rank);
    wish->pools = ARENA_NEW0_N(&s->arena, const struct berth_pool *, n + 1);
    for (size_t i = 0; i < n; i++)
        wish->pools[i] = list[i].pool;
    wish->n_pools = n;
}

/* --- Nodes that fell silent */

void nodes_note_silence(struct session *s, uint8_t bit)
{
    int64_t timeout_ms = s->policy->heartbeat_timeout_ms;

    NODE_EACH (node, s->model) {
        const struct berth_pool *pool = pool_find(s, node->kept->pool);
        bool counts = bit == SILENT_ANY || (pool && pool->is_private);
        int64_t end_ms = node->kept->heard_at_ms;
        bool silent;
        if (end_ms && end_ms < BERTH_NEVER - timeout_ms)
            end_ms += timeout_ms;
        else
            counts = false; /* nobody says when it was heard of */
        silent = counts && s->in.now_ms > end_ms;
        if (counts && !silent && node_takes_work(node->kept->state))
            session_wake_at(s, end_ms + 1);
        if (silent == ((node->silent & bit) != 0))
            continue;
        node->silent ^= bit;
        node_touch(s->model, node);
    }
}

/* --- Room */

int64_t serverless_rented(const struct kind *kind, const struct node *node, const char *resource)
{
    const struct berth_amounts *rented = &node->kept->rented;

    for (size_t i = 0; i < rented->n; i++)
        if (strcmp(rented->at[i].name, resource) == 0)
            return is_said(kind->spec->pinned_to) ? 0 : rented->at[i].value;
    return 0;
}

fail_t serverless_room(const struct session *s, const struct kind *kind, const struct node *node,
                       enum room *room)
{
    bool is_held = false, is_idle = true;

    *room = ROOM_NONE;
    for (size_t i = 0; i < kind->asks.n; i++) {
        const struct ask *ask = &kind->asks.at[i];
        const struct column *c = &s->model->columns[ask->dim];
        int64_t idle = column_idle(c, node->at);
        int64_t rented = serverless_rented(kind, node, s->model->dims.at[ask->dim]->name);
        if (ask->value > wrap_sub(idle, rented))
            return FAIL_DIM + ask->dim;
        is_held = is_held || ask->value > wrap_sub(wrap_sub(idle, c->pipelined[node->at]), rented);
    }
    if (is_held)
        return WAIT_RESERVED_FOR_OTHER;
    if (node_is_odd(kind, node)) {
        fail_t fail = room_odd(s->model, kind, node, &is_idle);
        if (fail != FAIL_NONE || !is_idle)
            return fail != FAIL_NONE ? fail : WAIT_RESERVED_FOR_OTHER;
    }
    *room =
        s->setup->shard_mode == BERTH_SHARD_SOFT && !node->in_shard ? ROOM_IDLE_OUTSIDE : ROOM_IDLE;
    return FAIL_NONE;
}
