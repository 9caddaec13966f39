/* Fit: see fit.h. */
#include "engine/fit.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "engine/devices.h"
#include "engine/kept.h"
#include "engine/serverless.h"
#include "engine/sheet.h"

enum { SAMPLE_LEAST_NODES = 100, SAMPLE_LEAST_PERCENT = 5 };

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

const uint8_t *fit_verdicts(struct session *s, struct kind *kind)
{
    const struct model *model = s->model;
    size_t n = model->alikes.n;

    if (kind->verdicts_epoch == model->epoch && kind->n_verdicts >= n)
        return kind->verdicts;
    if (kind->verdicts_epoch != model->epoch)
        kind->n_verdicts = 0;
    kind->verdicts = mem_resize(kind->verdicts, n + 1, 1);
    memset(kind->verdicts + kind->n_verdicts, 0, n - kind->n_verdicts);
    kind->n_verdicts = n;
    kind->verdicts_epoch = model->epoch;
    return kind->verdicts;
}

/* By classes: worked out once for each pair of them. */
static enum wait_code fixed_of(struct session *s, struct kind *kind, const struct node *node)
{
    uint8_t *verdict = (uint8_t *)&fit_verdicts(s, kind)[node->alike];

    if (!*verdict)
        *verdict = (uint8_t)(FIT_VERDICT_YES + judge_fixed(s, kind, node));
    return (enum wait_code)(*verdict - FIT_VERDICT_YES);
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

/* What is the node's own, whatever it holds. */
static enum wait_code judge_own(struct session *s, const struct kind *kind, const struct node *node)
{
    enum wait_code code = fixed_of(s, (struct kind *)kind, node);

    if (s->setup->shard_mode == BERTH_SHARD_HARD && !node->in_shard)
        code = first_of(code, WAIT_SHARD);
    if (kind->spec->pinned_to && strcmp(kind->spec->pinned_to, node->id) != 0)
        code = first_of(code, WAIT_NODE_PINNED);
    if (kind->requires_.n && !has_size(s->model, kind, node))
        code = first_of(code, WAIT_NODE_TOO_SMALL);
    return code;
}

enum wait_code fit_coming(struct session *s, const struct kind *kind, const struct node *node)
{
    enum wait_code code = judge_own(s, kind, node);

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

bool fit_suits(struct session *s, const struct kind *kind, const struct node *node)
{
    return node->kept->state == NODE_COMING ? !fit_coming(s, kind, node)
                                            : !fit_predicate(s, kind, node);
}

bool fit_ever(struct session *s, const struct kind *kind, const struct node *node)
{
    if ((!node_takes_work(node->kept->state) && node->kept->state != NODE_COMING) ||
        judge_own(s, kind, node) || (kind->wants_devices && devices_suit(s, kind, node)))
        return false;
    HOOKS (use, s, HOOKED_NEVER)
        if (use->plugin->never(s, use, kind, node))
            return false;
    return true;
}

bool fit_excludes(struct session *s, const struct kind *a, const struct node *on_a,
                  const struct kind *b, const struct node *on_b)
{
    HOOKS (use, s, HOOKED_EXCLUDES)
        if (use->plugin->excludes(s, use, a, on_a, b, on_b))
            return true;
    return false;
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

bool fit_has_ranks(const struct session *s, const struct kind *kind)
{
    return s->setup->hooked[HOOKED_RANK].n || kind->wants_devices;
}

uint32_t fit_rank(struct session *s, const struct kind *kind, const struct node *node)
{
    uint32_t rank = 0;

    HOOKS (use, s, HOOKED_RANK)
        rank += use->plugin->rank(s, use, kind, node);
    return kind->wants_devices ? rank + devices_rank(s, kind, node) : rank;
}

static int64_t free_of(const struct model *model, const struct kind *kind, const struct node *node,
                       uint32_t dim)
{
    const struct column *c = &model->columns[dim];
    int64_t idle = column_idle(c, node->at), future = column_future(c, node->at);

    idle = idle < future ? idle : future;
    return wrap_sub(idle, serverless_rented(kind, node, model->dims.at[dim]->name));
}

/* Free capacity as one number: thousandths of cpu, Mi of memory, and a million a GPU. */
int64_t fit_free_sum(const struct model *model, const struct kind *kind, const struct node *node)
{
    uint32_t gpu = dim_find(model, "gpu");
    int64_t sum = free_of(model, kind, node, DIM_CPU);

    sum = wrap_add(sum, free_of(model, kind, node, DIM_MEMORY) >> 20);
    if (gpu != NOWHERE && asks_of(&kind->asks, gpu))
        sum = wrap_add(sum, free_of(model, kind, node, gpu) / 1000 * 1000000);
    return sum;
}

/* The smaller goes first among nodes of equal scores. */
int64_t fit_tie(const struct session *s, const struct task *task, const struct kind *kind,
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
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) a tie by hash is never kept, see sheet.c: here is a task */
        seed[1] = map_hash(seed, task->group->job->id, strlen(task->group->job->id));
        seed[1] ^= map_hash(seed, task->group->spec->name, strlen(task->group->spec->name));
        seed[1] += task->index;
        return (int64_t)(map_hash(seed, node->id, strlen(node->id)) >> 1);
    }
    return 0;
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
    double *scores = ARENA_NEW0_N(s->lists, double, n + 1);
    size_t best = 0;

    if (sheet_is_local(s, kind_for(s, task))) {
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
        a = fit_tie(s, task, kind_for(s, task), nodes[i]);
        b = fit_tie(s, task, kind_for(s, task), nodes[best]);
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
    struct gather g = { ARENA_NEW0_N(s->lists, struct node *, n + 1), 0, ROOM_NONE, 0 };

    for (size_t i = 0; i < n; i++) {
        enum room room;
        fail_t fail = fit_fail(s, kind_for(s, task), nodes[i], &room);
        s->n_steps++;
        if (fail >= FAIL_DIM && !with_room)
            room = ROOM_FUTURE_OUTSIDE;
        else if (fail != FAIL_NONE)
            continue;
        gather_add(&g, nodes[i], with_room ? room : ROOM_IDLE,
                   fit_rank(s, kind_for(s, task), nodes[i]));
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
static bool visit_some(struct session *s, const struct task *task, size_t want, size_t *visited,
                       struct choice *out)
{
    struct model *model = s->model;
    size_t n = model->nodes.n, found = 0, i = 0;
    struct gather g = { ARENA_NEW0_N(s->lists, struct node *, n + 1), 0, ROOM_NONE, 0 };

    for (; i < n; i++) {
        struct node *node = model->nodes.at[(s->cursor + i) % n];
        enum room room;
        if (fit_fail(s, kind_for(s, task), node, &room) != FAIL_NONE)
            continue;
        if (found == want) {
            i++;
            break;
        }
        found++;
        gather_add(&g, node, room, fit_rank(s, kind_for(s, task), node));
    }
    *visited = i;
    if (!g.n)
        return false;
    out->room = g.room;
    best_of(s, task, g.nodes, g.n, out);
    return true;
}

static bool best_sampled(struct session *s, const struct task *task, struct choice *out)
{
    struct kind *kind = kind_for(s, task);
    size_t n = s->model->nodes.n, want = sample_want(n), visited;
    const struct kept *kept = sheet_is_local(s, kind) && !s->in.is_cold ? kept_of(s, kind) : NULL;
    bool found = kept ? kept_best_of_some(s, kept, s->cursor % n, want, &visited, out)
                      : visit_some(s, task, want, &visited, out);

    s->n_steps += visited;
    s->cursor_changed = s->cursor_changed || visited % n != 0;
    s->cursor = (uint32_t)((s->cursor + visited) % n);
    return found;
}

/* The best node that a scan has found so far. */
struct found {
    uint32_t at; /* NOWHERE: none */
    enum room room;
    uint32_t rank;
    double score;
};

/* Whether a node goes before another that is as good. */
static bool tie_before(const struct session *s, const struct kind *kind, uint32_t a, uint32_t b)
{
    struct node *const *nodes = s->model->nodes.at;
    int64_t x, y;

    if (s->policy->tie == TIE_ID)
        return s->model->rows.name[a] < s->model->rows.name[b];
    x = fit_tie(s, NULL, kind, nodes[a]);
    y = fit_tie(s, NULL, kind, nodes[b]);
    return x < y || (x == y && nodes[a]->name_at < nodes[b]->name_at);
}

/* Whether the node of a sheet goes before what was found so far. */
static bool sheet_beats(const struct session *s, const struct kind *kind, const struct sheet *sheet,
                        size_t i, const struct found *best)
{
    if (best->at == NOWHERE)
        return true;
    if (sheet->room[i] != best->room)
        return sheet->room[i] < best->room;
    if (sheet->rank[i] != best->rank)
        return sheet->rank[i] < best->rank;
    if (sheet->score[i] != best->score)
        return sheet->score[i] > best->score;
    return tie_before(s, kind, sheet->from + (uint32_t)i, best->at);
}

static void scan_sheet(const struct session *s, const struct kind *kind, const struct sheet *sheet,
                       struct found *best)
{
    for (size_t i = 0; i < sheet->n; i++)
        if (sheet->fail[i] == FAIL_NONE && sheet_beats(s, kind, sheet, i, best))
            *best = (struct found){ sheet->from + (uint32_t)i, (enum room)sheet->room[i],
                                    sheet->rank[i], sheet->score[i] };
}

/* All that fit there have room now, and none has a rank. */
static void scan_open_sheet(const struct session *s, const struct kind *kind,
                            const struct sheet *sheet, struct found *best)
{
    double most = sheet_most(sheet);

    if (best->room == ROOM_IDLE && most < best->score)
        return;
    if (best->room != ROOM_IDLE || most > best->score)
        *best = (struct found){ NOWHERE, ROOM_IDLE, 0, most };
    for (size_t i = 0; i < sheet->n; i++) {
        uint32_t at = sheet->from + (uint32_t)i;
        if (sheet->score[i] == most && sheet->lacks[i] >= 0 &&
            (best->at == NOWHERE || tie_before(s, kind, at, best->at)))
            best->at = at;
    }
}

/* One pass over all nodes, for a class whose answers go by each node alone. */
static bool best_scanned(struct session *s, struct kind *kind, struct choice *out)
{
    size_t n = s->model->nodes.n;
    struct found best = { .at = NOWHERE, .room = ROOM_NONE };
    struct sheet sheet;

    s->n_steps += n;
    for (size_t from = 0; from < n; from += SHEET_SIZE) {
        sheet_find(s, kind, (uint32_t)from, n - from < SHEET_SIZE ? n - from : SHEET_SIZE, &sheet);
        if (!sheet.n_fit || sheet.best_room > best.room)
            continue;
        sheet_score(s, kind, &sheet);
        if (sheet.is_open)
            scan_open_sheet(s, kind, &sheet, &best);
        else
            scan_sheet(s, kind, &sheet, &best);
    }
    if (best.at != NOWHERE)
        *out = (struct choice){ s->model->nodes.at[best.at], best.room, best.score };
    return best.at != NOWHERE;
}

static bool best_anew(struct session *s, const struct task *task, struct choice *out)
{
    struct kind *kind = kind_for(s, task);
    const struct kept *kept;

    if (!sheet_is_local(s, kind) || s->in.is_cold)
        return fit_best_of(s, task, s->model->nodes.at, s->model->nodes.n, true, out);
    kept = kind->n_uses++ > 0 ? kept_of(s, kind) : NULL;
    if (!kept)
        return best_scanned(s, kind, out);
    s->n_steps++;
    return kept_best(s, kept, out);
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
        kind->failed_number == s->number && !s->in.is_cold)
        return false;
    if (s->policy->search == SEARCH_SAMPLE && model->nodes.n > SAMPLE_LEAST_NODES)
        found = best_sampled(s, task, out);
    else
        found = best_anew(s, task, out);
    if (!found) {
        kind->failed_epoch = model->epoch;
        kind->failed_read = now;
        kind->failed_number = s->number;
    }
    return found;
}

static void count_sheet(const struct sheet *sheet, struct fit_counts *out)
{
    for (size_t i = 0; i < sheet->n; i++) {
        fail_t fail = sheet->fail[i];
        if (fail == FAIL_NONE)
            out->n_fit++;
        else if (fail < FAIL_DIM)
            /* cppcheck-suppress arrayIndexOutOfBoundsCond ; below FAIL_DIM it is a wait code */
            out->by_code[fail]++;
        else
            out->by_dim[fail - FAIL_DIM]++;
    }
}

void fit_count(struct session *s, struct kind *kind, struct arena *arena, struct fit_counts *out)
{
    struct model *model = s->model;
    const struct kept *kept =
        sheet_is_local(s, kind) && kept_is_there(kind) && !s->in.is_cold ? kept_of(s, kind) : NULL;
    size_t n = model->nodes.n;
    struct sheet sheet;

    *out = (struct fit_counts){ .n_dims = model->dims.n };
    out->by_dim = ARENA_NEW0_N(arena, uint32_t, out->n_dims + 1);
    if (kept) {
        kept_count(kept, out);
        return;
    }
    for (size_t from = 0; from < n; from += SHEET_SIZE) {
        sheet_judge(s, kind, (uint32_t)from, n - from < SHEET_SIZE ? n - from : SHEET_SIZE, &sheet);
        count_sheet(&sheet, out);
    }
}
