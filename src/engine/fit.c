/* Fit: see fit.h. */
#include "engine/fit.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/serverless.h"

enum { SAMPLE_LEAST_NODES = 100, SAMPLE_LEAST_PERCENT = 5, MOST_FIT_BYTES = 256 << 20 };

struct fit {
    uint64_t epoch, read; /* touches before number `read` are in it */
    size_t n, leaves;
    fail_t *fail;
    uint8_t *room;
    uint32_t *rank;
    double *score;
    int64_t *tie;
    uint32_t *tree; /* tree[1] is the best node's place, or NOWHERE */
    uint32_t by_code[WAIT_CODE_COUNT];
    uint32_t *by_dim;
    size_t n_dims;
    uint32_t n_fit;
};

#define HOOKS(use, s, what)                                                                        \
    for (size_t i_ = 0; i_ < (s)->setup->hooked[what].n; i_++)                                     \
        for (struct plugin_use *use = (s)->setup->hooked[what].at[i_], *once_ = use; once_;        \
             once_ = NULL)

enum wait_code fail_code(const struct model *model, fail_t fail)
{
    return fail >= FAIL_DIM ? model->dims.at[fail - FAIL_DIM]->code : (enum wait_code)fail;
}

/* --- One node */

static enum wait_code first_of(enum wait_code a, enum wait_code b)
{
    return !a ? b : !b ? a : a < b ? a : b;
}

static enum wait_code judge_fixed(struct session *s, const struct kind *kind,
                                  const struct node *node)
{
    enum wait_code code = WAIT_NONE;

    if (node->kept->draining)
        code = WAIT_NODE_CORDONED;
    HOOKS (use, s, HOOKED_PREDICATE_FIXED)
        code = first_of(code, use->plugin->predicate_fixed(s, use, kind, node));
    return code;
}

/* By classes: worked out once for each pair of them. */
static enum wait_code fixed_of(struct session *s, struct kind *kind, const struct node *node)
{
    struct model *model = s->model;
    uint8_t *verdict;

    if (kind->verdicts_epoch != model->epoch || kind->n_verdicts < model->alikes.n) {
        size_t n = model->alikes.n;
        if (kind->verdicts_epoch != model->epoch)
            kind->n_verdicts = 0;
        kind->verdicts = mem_resize(kind->verdicts, n + 1, 1);
        memset(kind->verdicts + kind->n_verdicts, 0, n - kind->n_verdicts);
        kind->n_verdicts = n;
        kind->verdicts_epoch = model->epoch;
    }
    verdict = &kind->verdicts[node->alike];
    if (!*verdict)
        *verdict = (uint8_t)(1 + judge_fixed(s, kind, node));
    return (enum wait_code)(*verdict - 1);
}

static bool has_size(const struct model *model, const struct kind *kind, const struct node *node)
{
    for (size_t i = 0; i < kind->requires_.n; i++)
        if (model->columns[kind->requires_.at[i].dim].offers[node->at] <
            kind->requires_.at[i].value)
            return false;
    return true;
}

enum wait_code fit_fixed(struct session *s, const struct kind *kind, const struct node *node)
{
    return node->at == NOWHERE ? judge_fixed(s, kind, node)
                               : fixed_of(s, (struct kind *)kind, node);
}

enum wait_code fit_coming(struct session *s, const struct kind *kind, const struct node *node)
{
    enum wait_code code = fixed_of(s, (struct kind *)kind, node);

    if (s->setup->shard_mode == BERTH_SHARD_HARD && !node->in_shard)
        code = first_of(code, WAIT_SHARD);
    if (kind->spec->pinned_to && strcmp(kind->spec->pinned_to, node->id) != 0)
        code = first_of(code, WAIT_NODE_PINNED);
    if (kind->requires_.n && !has_size(s->model, kind, node))
        code = first_of(code, WAIT_NODE_TOO_SMALL);
    if (code && code < WAIT_VERSION_MISSING)
        return code;
    HOOKS (use, s, HOOKED_PREDICATE)
        code = first_of(code, use->plugin->predicate(s, use, kind, node));
    return kind->wants_devices ? first_of(code, devices_suit(s, kind, node)) : code;
}

enum wait_code fit_predicate(struct session *s, const struct kind *kind, const struct node *node)
{
    return node_takes_work(node->kept->state) ? fit_coming(s, kind, node) : WAIT_NODE_NOT_READY;
}

bool fit_is_resolvable(struct session *s, const struct kind *kind, const struct node *node)
{
    enum wait_code code;

    if (!node_takes_work(node->kept->state) || fixed_of(s, (struct kind *)kind, node))
        return false;
    code = fit_predicate(s, kind, node);
    return !code || code == WAIT_AFFINITY || code == WAIT_PORT_TAKEN || code == WAIT_PLUGIN ||
           code == WAIT_CLAIM_ABSENT;
}

static fail_t room_of(const struct session *s, const struct kind *kind, const struct node *node,
                      enum room *room)
{
    bool outside = s->setup->shard_mode == BERTH_SHARD_SOFT && !node->in_shard;
    bool idle;
    fail_t fail;

    if (s->setup->is_beam)
        return serverless_room(s, kind, node, room);
    *room = ROOM_NONE;
    fail = room_fail(s->model, kind, node, &idle);
    if (fail != FAIL_NONE)
        return fail;
    *room = idle ? (outside ? ROOM_IDLE_OUTSIDE : ROOM_IDLE)
                 : (outside ? ROOM_FUTURE_OUTSIDE : ROOM_FUTURE);
    return FAIL_NONE;
}

fail_t fit_fail(struct session *s, const struct kind *kind, const struct node *node,
                enum room *room)
{
    enum wait_code code = fit_predicate(s, kind, node);

    *room = ROOM_NONE;
    return code ? (fail_t)code : room_of(s, kind, node, room);
}

static double local_score(struct session *s, const struct kind *kind, const struct node *node)
{
    double score = 0;

    HOOKS (use, s, HOOKED_SCORE)
        score += use->plugin->score(s, use, kind, node);
    return score;
}

static uint32_t rank_of(struct session *s, const struct kind *kind, const struct node *node)
{
    uint32_t rank = 0;

    HOOKS (use, s, HOOKED_RANK)
        rank += use->plugin->rank(s, use, kind, node);
    return kind->wants_devices ? rank + devices_rank(s, kind, node) : rank;
}

static int64_t free_of(const struct model *model, uint32_t dim, uint32_t at)
{
    const struct column *c = &model->columns[dim];
    int64_t idle = column_idle(c, at), future = column_future(c, at);

    return idle < future ? idle : future;
}

/* Free capacity as one number: thousandths of cpu, Mi of memory, and a million a GPU. */
int64_t fit_free_sum(const struct model *model, const struct kind *kind, const struct node *node)
{
    uint32_t gpu = dim_find(model, "gpu");
    int64_t sum = free_of(model, DIM_CPU, node->at);

    sum = wrap_add(sum, free_of(model, DIM_MEMORY, node->at) >> 20);
    if (gpu != NOWHERE && asks_of(&kind->asks, gpu))
        sum = wrap_add(sum, free_of(model, gpu, node->at) / 1000 * 1000000);
    return sum;
}

/* The smaller goes first among nodes of equal scores. */
static int64_t tie_of(const struct session *s, const struct task *task, const struct kind *kind,
                      const struct node *node)
{
    uint64_t seed[2] = { s->in.seed, 0 };

    switch ((enum policy_tie)s->policy->tie) {
    case TIE_ID:
        return node->name_at;
    case TIE_RANK:
        return node->at;
    case TIE_SPREAD:
        return -fit_free_sum(s->model, kind, node);
    case TIE_PACK:
        return fit_free_sum(s->model, kind, node);
    case TIE_HASH:
        seed[1] = map_hash(seed, task->group->job->id, strlen(task->group->job->id));
        seed[1] ^= map_hash(seed, task->group->spec->name, strlen(task->group->spec->name));
        seed[1] += task->index;
        return (int64_t)(map_hash(seed, node->id, strlen(node->id)) >> 1);
    }
    return 0;
}

/* --- The kept answers */

static bool goes_before(const struct session *s, const struct fit *fit, uint32_t a, uint32_t b)
{
    if (fit->room[a] != fit->room[b])
        return fit->room[a] < fit->room[b];
    if (fit->rank[a] != fit->rank[b])
        return fit->rank[a] < fit->rank[b];
    if (fit->score[a] != fit->score[b])
        return fit->score[a] > fit->score[b];
    if (fit->tie[a] != fit->tie[b])
        return fit->tie[a] < fit->tie[b];
    return s->model->nodes.at[a]->name_at < s->model->nodes.at[b]->name_at;
}

static uint32_t winner(const struct session *s, const struct fit *fit, uint32_t a, uint32_t b)
{
    if (a == NOWHERE || b == NOWHERE)
        return a == NOWHERE ? b : a;
    return goes_before(s, fit, b, a) ? b : a;
}

static void count_fail(struct fit *fit, fail_t fail, int by)
{
    if (fail == FAIL_NONE)
        fit->n_fit += (uint32_t)by;
    else if (fail < FAIL_DIM)
        fit->by_code[fail] += (uint32_t)by;
    else
        fit->by_dim[fail - FAIL_DIM] += (uint32_t)by;
}

static void leaf_set(struct session *s, struct kind *kind, struct fit *fit, uint32_t at)
{
    const struct node *node = s->model->nodes.at[at];
    enum room room;

    fit->fail[at] = fit_fail(s, kind, node, &room);
    fit->room[at] = (uint8_t)room;
    count_fail(fit, fit->fail[at], 1);
    if (fit->fail[at] != FAIL_NONE) {
        fit->tree[fit->leaves + at] = NOWHERE;
        return;
    }
    fit->rank[at] = rank_of(s, kind, node);
    fit->score[at] = local_score(s, kind, node);
    fit->tie[at] = tie_of(s, NULL, kind, node);
    fit->tree[fit->leaves + at] = at;
}

static void leaf_renew(struct session *s, struct kind *kind, struct fit *fit, uint32_t at)
{
    count_fail(fit, fit->fail[at], -1);
    leaf_set(s, kind, fit, at);
    for (size_t i = (fit->leaves + at) / 2; i; i /= 2) {
        uint32_t best = winner(s, fit, fit->tree[2 * i], fit->tree[2 * i + 1]);
        if (best == fit->tree[i] && best != at)
            break; /* what stands above does not hang on this node */
        fit->tree[i] = best;
    }
}

static void fit_clear(struct fit *fit)
{
    free(fit->fail);
    free(fit->room);
    free(fit->rank);
    free(fit->score);
    free(fit->tie);
    free(fit->tree);
    free(fit->by_dim);
    *fit = (struct fit){ 0 };
}

void fit_free(struct model *model, struct kind *kind)
{
    if (!kind->fit)
        return;
    fit_clear(kind->fit);
    free(kind->fit);
    kind->fit = NULL;
    model->n_fits--;
}

/* Drops the kept answers that were not used for longest. */
static void fit_make_room(struct model *model)
{
    size_t most = MOST_FIT_BYTES / (64 * (model->nodes.n + 1));
    struct kind *oldest = NULL;
    struct map_entry *entry;
    size_t at = 0;

    if (model->n_fits < (most < 16 ? 16 : most))
        return;
    while ((entry = map_next(&model->kind_map, &at))) {
        struct kind *kind = entry->value;
        if (kind->fit && (!oldest || kind->used_at < oldest->used_at))
            oldest = kind;
    }
    if (oldest)
        fit_free(model, oldest);
}

static void fit_build(struct session *s, struct kind *kind)
{
    struct model *model = s->model;
    size_t n = model->nodes.n;
    struct fit *fit = kind->fit;

    if (!fit) {
        fit_make_room(model);
        fit = kind->fit = NEW0(struct fit);
        model->n_fits++;
    }
    if (fit->n != n || !fit->leaves || fit->n_dims != model->dims.n) {
        fit_clear(fit);
        fit->n = n;
        fit->leaves = 1;
        while (fit->leaves < n)
            fit->leaves *= 2;
        fit->n_dims = model->dims.n;
        fit->fail = NEW0_N(fail_t, n + 1);
        fit->room = NEW0_N(uint8_t, n + 1);
        fit->rank = NEW0_N(uint32_t, n + 1);
        fit->score = NEW0_N(double, n + 1);
        fit->tie = NEW0_N(int64_t, n + 1);
        fit->tree = NEW0_N(uint32_t, 2 * fit->leaves);
        fit->by_dim = NEW0_N(uint32_t, fit->n_dims + 1);
    }
    memset(fit->by_code, 0, sizeof(fit->by_code));
    memset(fit->by_dim, 0, (fit->n_dims + 1) * sizeof(*fit->by_dim));
    fit->n_fit = 0;
    for (size_t i = 0; i < fit->leaves; i++)
        fit->tree[fit->leaves + i] = NOWHERE;
    for (uint32_t i = 0; i < n; i++)
        leaf_set(s, kind, fit, i);
    for (size_t i = fit->leaves - 1; i >= 1; i--)
        fit->tree[i] = winner(s, fit, fit->tree[2 * i], fit->tree[2 * i + 1]);
    if (fit->leaves == 1)
        fit->tree[1] = fit->tree[fit->leaves];
    fit->epoch = model->epoch;
    fit->read = model->touched_base + model->touched.n;
}

/* Brings what is kept for a class up to date, or makes it. */
static const struct fit *fit_of(struct session *s, struct kind *kind)
{
    struct model *model = s->model;
    uint64_t now = model->touched_base + model->touched.n;
    struct fit *fit = kind->fit;

    kind->used_at = ++model->clock;
    if (!fit || fit->epoch != model->epoch || fit->n != model->nodes.n ||
        fit->n_dims != model->dims.n || fit->read < model->touched_base ||
        now - fit->read > model->nodes.n / 2 + 16) {
        fit_build(s, kind);
        return kind->fit;
    }
    for (; fit->read < now; fit->read++)
        leaf_renew(s, kind, fit, model->touched.at[fit->read - model->touched_base]);
    return fit;
}

static bool is_local(struct session *s, const struct kind *kind)
{
    if (s->policy->tie == TIE_HASH)
        return false;
    HOOKS (use, s, HOOKED_IS_LOCAL)
        if (!use->plugin->is_local(s, use, kind))
            return false;
    return true;
}

/* --- The search */

/* The class that is searched for. */
static struct kind *kind_for(const struct session *s, const struct task *task)
{
    return s->as ? s->as : task->group->kind;
}

void fit_scores(struct session *s, const struct task *task, struct node *const *nodes, size_t n,
                double *scores)
{
    struct candidates candidates = { (struct node **)nodes, scores, n };

    for (size_t i = 0; i < n; i++)
        scores[i] = local_score(s, kind_for(s, task), nodes[i]);
    HOOKS (use, s, HOOKED_SCORE_ALL)
        use->plugin->score_all(s, use, task, &candidates);
}

/* The best by score of nodes that all have room of one sort. */
static void best_of(struct session *s, const struct task *task, struct node **nodes, size_t n,
                    struct choice *out)
{
    double *scores = ARENA_NEW0_N(&s->arena, double, n + 1);
    size_t best = 0;

    if (is_local(s, kind_for(s, task))) {
        /* The same sum as a kept answer has, so that what is kept changes nothing. */
        for (size_t i = 0; i < n; i++)
            scores[i] = local_score(s, kind_for(s, task), nodes[i]);
    } else {
        fit_scores(s, task, nodes, n, scores);
    }
    for (size_t i = 1; i < n; i++) {
        int64_t a, b;
        if (scores[i] < scores[best])
            continue;
        a = tie_of(s, task, kind_for(s, task), nodes[i]);
        b = tie_of(s, task, kind_for(s, task), nodes[best]);
        if (scores[i] > scores[best] || a < b ||
            (a == b && nodes[i]->name_at < nodes[best]->name_at))
            best = i;
    }
    out->node = nodes[best];
    out->score = scores[best];
}

struct gather {
    struct node **nodes; /* that have room of the best sort found so far */
    size_t n;
    enum room room;
    uint32_t rank;
};

static void gather_add(struct gather *g, struct node *node, enum room room, uint32_t rank)
{
    if (room < g->room || (room == g->room && rank < g->rank)) {
        g->room = room;
        g->rank = rank;
        g->n = 0;
    }
    if (room == g->room && rank == g->rank)
        g->nodes[g->n++] = node;
}

bool fit_best_of(struct session *s, const struct task *task, struct node *const *nodes, size_t n,
                 bool with_room, struct choice *out)
{
    struct gather g = { ARENA_NEW0_N(&s->arena, struct node *, n + 1), 0, ROOM_NONE, 0 };

    for (size_t i = 0; i < n; i++) {
        enum room room;
        fail_t fail = fit_fail(s, kind_for(s, task), nodes[i], &room);
        s->n_steps++;
        if (fail >= FAIL_DIM && !with_room)
            room = ROOM_FUTURE_OUTSIDE;
        else if (fail != FAIL_NONE)
            continue;
        gather_add(&g, nodes[i], with_room ? room : ROOM_IDLE,
                   rank_of(s, kind_for(s, task), nodes[i]));
    }
    if (!g.n)
        return false;
    out->room = g.room;
    best_of(s, task, g.nodes, g.n, out);
    return true;
}

/* How many feasible nodes a sampling search is content with. */
static size_t sample_want(size_t n)
{
    size_t percent;

    if (n <= SAMPLE_LEAST_NODES)
        return n;
    percent = n / 125 < 50 - SAMPLE_LEAST_PERCENT ? 50 - n / 125 : SAMPLE_LEAST_PERCENT;
    n = n * percent / 100;
    return n < SAMPLE_LEAST_NODES ? SAMPLE_LEAST_NODES : n;
}

/* Visits nodes from the cursor on until enough of them are feasible. */
static bool best_sampled(struct session *s, const struct task *task, struct choice *out)
{
    struct model *model = s->model;
    size_t n = model->nodes.n, want = sample_want(n), found = 0, visited = 0;
    struct gather g = { ARENA_NEW0_N(&s->arena, struct node *, n + 1), 0, ROOM_NONE, 0 };

    for (; visited < n; visited++) {
        struct node *node = model->nodes.at[(s->cursor + visited) % n];
        enum room room;
        if (fit_fail(s, kind_for(s, task), node, &room) != FAIL_NONE)
            continue;
        if (found == want) {
            visited++;
            break;
        }
        found++;
        gather_add(&g, node, room, rank_of(s, kind_for(s, task), node));
    }
    s->n_steps += visited;
    s->cursor_changed = s->cursor_changed || visited % n != 0;
    s->cursor = (uint32_t)((s->cursor + visited) % n);
    if (!g.n)
        return false;
    out->room = g.room;
    best_of(s, task, g.nodes, g.n, out);
    return true;
}

static bool best_kept(struct session *s, struct kind *kind, struct choice *out)
{
    const struct fit *fit = fit_of(s, kind);
    uint32_t at = fit->tree[1];

    s->n_steps++;
    if (at == NOWHERE)
        return false;
    out->node = s->model->nodes.at[at];
    out->room = fit->room[at];
    out->score = fit->score[at];
    return true;
}

bool fit_best(struct session *s, const struct task *task, struct choice *out)
{
    struct model *model = s->model;
    struct kind *kind = kind_for(s, task);
    uint64_t now = model->touched_base + model->touched.n;
    bool found;

    if (!model->nodes.n)
        return false;
    if (kind->failed_epoch == model->epoch && kind->failed_read == now &&
        kind->failed_number == s->number)
        return false;
    if (s->policy->search == SEARCH_SAMPLE && model->nodes.n > SAMPLE_LEAST_NODES)
        found = best_sampled(s, task, out);
    else if (is_local(s, kind) && kind->n_uses++ > 0)
        found = best_kept(s, kind, out);
    else
        found = fit_best_of(s, task, model->nodes.at, model->nodes.n, true, out);
    if (!found) {
        kind->failed_epoch = model->epoch;
        kind->failed_read = now;
        kind->failed_number = s->number;
    }
    return found;
}

void fit_count(struct session *s, struct kind *kind, struct arena *arena, struct fit_counts *out)
{
    struct model *model = s->model;

    *out = (struct fit_counts){ .n_dims = model->dims.n };
    out->by_dim = ARENA_NEW0_N(arena, uint32_t, out->n_dims + 1);
    if (is_local(s, kind) && model->nodes.n) {
        const struct fit *fit = fit_of(s, kind);
        memcpy(out->by_code, fit->by_code, sizeof(out->by_code));
        memcpy(out->by_dim, fit->by_dim, out->n_dims * sizeof(*out->by_dim));
        out->n_fit = fit->n_fit;
        return;
    }
    NODE_EACH (node, model) {
        enum room room;
        fail_t fail = fit_fail(s, kind, node, &room);
        if (fail == FAIL_NONE)
            out->n_fit++;
        else if (fail < FAIL_DIM)
            out->by_code[fail]++;
        else
            out->by_dim[fail - FAIL_DIM]++;
    }
}
