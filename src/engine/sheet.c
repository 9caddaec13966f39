/* Sheets: see sheet.h. Its loops are for the compiler to make vectors of. */
#include "engine/sheet.h"

#include <float.h>
#include <string.h>

#include "engine/room.h"

/* NOLINTBEGIN(bugprone-macro-parentheses) a name that is declared has none */
#define HOOKS(use, s, what)                                                                        \
    for (size_t i_ = 0; i_ < (s)->setup->hooked[what].n; i_++)                                     \
        for (struct plugin_use *use = (s)->setup->hooked[what].at[i_], *once_ = use; once_;        \
             once_ = NULL)
/* NOLINTEND(bugprone-macro-parentheses) */

/* --- What holds for the class during a session */

static bool judge_local(struct session *s, const struct kind *kind)
{
    if (s->policy->tie == TIE_HASH)
        return false;
    HOOKS (use, s, HOOKED_IS_LOCAL)
        if (!use->plugin->is_local(s, use, kind))
            return false;
    return true;
}

/* Whether what keeps the class from a node goes by the node, and by company. */
static bool judge_tracked(struct session *s, const struct kind *kind)
{
    HOOKS (use, s, HOOKED_PREDICATE) {
        const struct plugin *plugin = use->plugin;
        if (plugin->is_local && !plugin->is_local(s, use, kind) &&
            !(plugin->is_local_but_for_company && plugin->is_local_but_for_company(s, use, kind)))
            return false;
    }
    return true;
}

/* Whether a node's class and its room are all that counts. */
static bool judge_plain(struct session *s, const struct kind *kind)
{
    if (s->setup->is_beam || s->setup->shard_mode != BERTH_SHARD_NONE || kind->spec->pinned_to ||
        kind->requires_.n || kind->wants_devices)
        return false;
    HOOKS (use, s, HOOKED_PREDICATE)
        if (!use->plugin->minds || use->plugin->minds(s, use, kind))
            return false;
    return true;
}

/* Whether a node that takes the class may refuse it because somebody leaves. */
static bool judge_leaving(struct session *s, const struct kind *kind)
{
    if (s->setup->is_beam || kind->wants_devices)
        return true;
    HOOKS (use, s, HOOKED_PREDICATE) {
        const struct plugin *plugin = use->plugin;
        if (plugin->minds_leaving ? plugin->minds_leaving(s, use, kind)
                                  : !plugin->minds || plugin->minds(s, use, kind))
            return true;
    }
    return false;
}

static void judge_kind(struct session *s, struct kind *kind)
{
    if (kind->judged == s->number)
        return;
    kind->judged = s->number;
    kind->is_local = judge_local(s, kind);
    kind->is_tracked = judge_tracked(s, kind);
    kind->is_plain = judge_plain(s, kind);
    kind->minds_leaving = judge_leaving(s, kind);
}

bool sheet_is_local(struct session *s, struct kind *kind)
{
    judge_kind(s, kind);
    return kind->is_local;
}

bool sheet_is_tracked(struct session *s, struct kind *kind)
{
    judge_kind(s, kind);
    return kind->is_tracked;
}

bool sheet_is_plain(struct session *s, struct kind *kind)
{
    judge_kind(s, kind);
    return kind->is_plain;
}

bool sheet_minds_leaving(struct session *s, struct kind *kind)
{
    judge_kind(s, kind);
    return kind->minds_leaving;
}

/* --- Room */

/* Below 0 in idle or future: that node is short of something. */
struct rest {
    int64_t idle[SHEET_SIZE], future[SHEET_SIZE];
};

/* A difference below 0 keeps its sign through all that is laid over it. */
static void lay_over(int64_t *restrict rest, const int64_t *restrict has, int64_t asks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rest[i] |= (int64_t)((uint64_t)has[i] - (uint64_t)asks);
}

static void rest_fill(const struct model *model, const struct kind *kind, const struct sheet *out,
                      struct rest *rest)
{
    memset(rest->idle, 0, out->n * sizeof(*rest->idle));
    if (model->n_in_between)
        memset(rest->future, 0, out->n * sizeof(*rest->future));
    for (size_t k = 0; k < kind->asks.n; k++) {
        const struct column *c = &model->columns[kind->asks.at[k].dim];
        lay_over(rest->idle, c->idle + out->from, kind->asks.at[k].value, out->n);
        if (model->n_in_between)
            lay_over(rest->future, c->future + out->from, kind->asks.at[k].value, out->n);
    }
}

static void ask_room(const struct model *model, const struct kind *kind, uint32_t at,
                     struct sheet *out, size_t i)
{
    bool idle;

    out->fail[i] = room_fail(model, kind, model->nodes.at[at], &idle);
    out->room[i] = idle ? ROOM_IDLE : ROOM_FUTURE;
}

/* One node, without the passes. */
static void judge_one(struct session *s, struct kind *kind, struct sheet *out)
{
    const struct model *model = s->model;
    uint32_t at = out->from;

    out->fail[0] =
        model->rows.takes_work[at] ? fit_fixed(s, kind, model->nodes.at[at]) : WAIT_NODE_NOT_READY;
    if (out->fail[0] == FAIL_NONE)
        ask_room(model, kind, at, out, 0);
    out->n_fit = out->fail[0] == FAIL_NONE;
    out->best_room = out->n_fit ? (enum room)out->room[0] : ROOM_NONE;
}

static void judge_plainly(struct session *s, struct kind *kind, struct sheet *out)
{
    const struct model *model = s->model;
    const uint8_t *verdicts = fit_verdicts(s, kind);
    const uint32_t *alike = model->rows.alike + out->from;
    const uint8_t *takes_work = model->rows.takes_work + out->from;
    const uint8_t *is_over = model->rows.is_over + out->from;
    bool has_idle = false;
    size_t n_fit = 0;
    struct rest rest;
    const int64_t *future = model->n_in_between ? rest.future : rest.idle;

    rest_fill(model, kind, out, &rest);
    for (uint32_t i = 0; i < out->n; i++) {
        uint32_t at = out->from + i;
        out->room[i] = rest.idle[i] < 0 ? ROOM_FUTURE : ROOM_IDLE;
        if (verdicts[alike[i]] != FIT_VERDICT_YES || !takes_work[i])
            out->fail[i] =
                takes_work[i] ? fit_fixed(s, kind, model->nodes.at[at]) : WAIT_NODE_NOT_READY;
        else
            out->fail[i] = FAIL_NONE;
        if (out->fail[i] != FAIL_NONE)
            continue;
        if (future[i] < 0 || is_over[i])
            ask_room(model, kind, at, out, i);
        if (out->fail[i] != FAIL_NONE)
            continue;
        n_fit++;
        has_idle |= out->room[i] == ROOM_IDLE;
    }
    out->n_fit = n_fit;
    out->best_room = !n_fit ? ROOM_NONE : has_idle ? ROOM_IDLE : ROOM_FUTURE;
}

static void judge_one_by_one(struct session *s, struct kind *kind, struct sheet *out)
{
    for (size_t i = 0; i < out->n; i++) {
        enum room room;
        out->fail[i] = fit_fail(s, kind, s->model->nodes.at[out->from + i], &room);
        out->room[i] = (uint8_t)room;
        if (out->fail[i] != FAIL_NONE)
            continue;
        out->n_fit++;
        out->best_room = room < out->best_room ? room : out->best_room;
    }
}

void sheet_judge(struct session *s, struct kind *kind, uint32_t from, size_t n, struct sheet *out)
{
    judge_kind(s, kind);
    out->is_open = false;
    out->from = from;
    out->n = n;
    out->n_fit = 0;
    out->best_room = ROOM_NONE;
    if (kind->is_plain && n == 1)
        judge_one(s, kind, out);
    else if (kind->is_plain)
        judge_plainly(s, kind, out);
    else
        judge_one_by_one(s, kind, out);
}

/* --- Sheets that stay open */

/* Whether all nodes are within what they offer, and are (*even) of one class and take work. */
static bool are_within(const struct rows *rows, uint32_t from, size_t n, bool *even)
{
    const uint32_t *restrict alike = rows->alike + from;
    const uint8_t *restrict takes_work = rows->takes_work + from;
    const uint8_t *restrict is_over = rows->is_over + from;
    uint32_t differs = 0, first = alike[0];
    uint8_t all = 1, any = 0;

    for (size_t i = 0; i < n; i++)
        differs |= alike[i] ^ first;
    for (size_t i = 0; i < n; i++) {
        all &= takes_work[i];
        any |= is_over[i];
    }
    *even = !differs && all;
    return !any;
}

/* Those that will not do for other reasons than room are as if they were short; false: it is not known of all. */
static bool lay_verdicts(const struct rows *rows, const uint8_t *verdicts, bool even,
                         struct sheet *out)
{
    const uint32_t *alike = rows->alike + out->from;
    const uint8_t *takes_work = rows->takes_work + out->from;
    bool is_known = true;

    if (even)
        return verdicts[alike[0]] == FIT_VERDICT_YES;
    for (size_t i = 0; i < out->n; i++) {
        uint8_t verdict = verdicts[alike[i]];
        is_known &= verdict != FIT_VERDICT_NONE || !takes_work[i];
        out->lacks[i] |= verdict == FIT_VERDICT_YES && takes_work[i] ? 0 : -1;
    }
    return is_known;
}

void sheet_find(struct session *s, struct kind *kind, uint32_t from, size_t n, struct sheet *out)
{
    const struct rows *rows = &s->model->rows;
    int64_t none = -1;
    bool even;

    judge_kind(s, kind);
    out->is_open = true;
    out->from = from;
    out->n = n;
    memset(out->lacks, 0, n * sizeof(*out->lacks));
    if (!kind->is_plain || s->model->n_in_between || !are_within(rows, from, n, &even) ||
        !lay_verdicts(rows, fit_verdicts(s, kind), even, out)) {
        sheet_judge(s, kind, from, n, out);
        return;
    }
    for (size_t k = 0; k < kind->asks.n; k++)
        lay_over(out->lacks, s->model->columns[kind->asks.at[k].dim].idle + from,
                 kind->asks.at[k].value, n);
    for (size_t i = 0; i < n; i++)
        none &= out->lacks[i];
    out->n_fit = none >= 0;
    out->best_room = out->n_fit ? ROOM_IDLE : ROOM_NONE;
}

/* Several at a time, so that none waits for the one before it. */
double sheet_most(const struct sheet *sheet)
{
    enum { WAYS = 8 };
    double most[WAYS], best = -DBL_MAX;
    size_t i = 0;

    for (size_t k = 0; k < WAYS; k++)
        most[k] = -DBL_MAX;
    for (; i + WAYS <= sheet->n; i += WAYS)
        for (size_t k = 0; k < WAYS; k++) {
            double score = sheet->lacks[i + k] < 0 ? -DBL_MAX : sheet->score[i + k];
            most[k] = score > most[k] ? score : most[k];
        }
    for (; i < sheet->n; i++)
        if (sheet->lacks[i] >= 0 && sheet->score[i] > best)
            best = sheet->score[i];
    for (size_t k = 0; k < WAYS; k++)
        best = most[k] > best ? most[k] : best;
    return best;
}

void sheet_close(struct sheet *sheet)
{
    if (!sheet->is_open)
        return;
    for (size_t i = 0; i < sheet->n; i++)
        sheet->fail[i] = sheet->lacks[i] < 0 ? FAIL_DIM : FAIL_NONE;
    memset(sheet->room, ROOM_IDLE, sheet->n * sizeof(*sheet->room));
    sheet->is_open = false;
}

/* --- Scores */

static void add_one_by_one(struct session *s, struct plugin_use *use, const struct kind *kind,
                           struct sheet *sheet)
{
    for (size_t i = 0; i < sheet->n; i++)
        if (sheet->fail[i] == FAIL_NONE)
            sheet->score[i] +=
                use->plugin->score(s, use, kind, s->model->nodes.at[sheet->from + i]);
}

void sheet_score(struct session *s, struct kind *kind, struct sheet *sheet)
{
    bool has_ranks = fit_has_ranks(s, kind);

    if (has_ranks)
        sheet_close(sheet);
    memset(sheet->rank, 0, sheet->n * sizeof(*sheet->rank));
    memset(sheet->score, 0, sheet->n * sizeof(*sheet->score));
    for (size_t i = 0; i < sheet->n && has_ranks; i++)
        if (sheet->fail[i] == FAIL_NONE)
            sheet->rank[i] = fit_rank(s, kind, s->model->nodes.at[sheet->from + i]);
    HOOKS (use, s, HOOKED_SCORE) {
        if (use->plugin->score_run) {
            use->plugin->score_run(s, use, kind, sheet->from, sheet->n, sheet->score);
        } else {
            sheet_close(sheet);
            add_one_by_one(s, use, kind, sheet);
        }
    }
}
