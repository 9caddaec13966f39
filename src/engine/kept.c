/* Kept answers: see kept.h. */
#include "engine/kept.h"

#include <assert.h>
#include <string.h>

#include "engine/sheet.h"
#include "engine/tourney.h"

enum { MOST_BYTES = 256 << 20, BYTES_A_NODE = 28, LEAST_KEPT = 16, FEW_TOUCHES = 64 };
enum { TIE_BITS = 30, SCORE_AT = TIE_BITS, RANK_AT = SCORE_AT + 64, ROOM_AT = RANK_AT + 32 };

struct kept {
    struct kind *newer, *older; /* classes with kept answers, by their last use */
    uint64_t used_in;           /* the session of that */
    uint64_t epoch, read;       /* touches before number `read` are in it */
    size_t n, n_dims;
    fail_t *fail;
    struct tourney tourney;
    int64_t *tie; /* NULL: the key holds it */
    const uint32_t *names;
    uint32_t by_code[WAIT_CODE_COUNT];
    uint32_t *by_dim;
    uint32_t n_fit;
};

/* --- Keys: room, rank, score (bigger first), tie */

static uwide key_of(enum room room, uint32_t rank, double score, uint32_t tie)
{
    double plain = score + 0.0; /* no second zero */
    uint64_t bits;

    memcpy(&bits, &plain, sizeof(bits));
    /* As an unsigned number it is the smaller, the bigger the score. */
    bits = bits >> 63 ? bits : ~(bits | (uint64_t)1 << 63);
    return (uwide)room << ROOM_AT | (uwide)rank << RANK_AT | (uwide)bits << SCORE_AT | tie;
}

static double key_score(uwide key)
{
    uint64_t bits = (uint64_t)(key >> SCORE_AT);
    double score;

    bits = bits >> 63 ? bits : ~bits & ~((uint64_t)1 << 63);
    memcpy(&score, &bits, sizeof(score));
    return score;
}

static bool ties_before(const void *arg, uint32_t a, uint32_t b)
{
    const struct kept *kept = arg;

    if (kept->tie[a] != kept->tie[b])
        return kept->tie[a] < kept->tie[b];
    return kept->names[a] < kept->names[b];
}

/* --- Which classes have some */

static void unlink_kept(struct model *model, struct kept *kept)
{
    *(kept->newer ? &kept->newer->kept->older : &model->newest_kept) = kept->older;
    *(kept->older ? &kept->older->kept->newer : &model->oldest_kept) = kept->newer;
    kept->newer = kept->older = NULL;
}

static void link_kept(struct model *model, struct kind *kind)
{
    kind->kept->older = model->newest_kept;
    if (model->newest_kept)
        model->newest_kept->kept->newer = kind;
    else
        model->oldest_kept = kind;
    model->newest_kept = kind;
}

static void clear(struct kept *kept)
{
    free(kept->fail);
    free(kept->tie);
    free(kept->by_dim);
    tourney_fini(&kept->tourney);
}

void kept_free(struct model *model, struct kind *kind)
{
    if (!kind->kept)
        return;
    unlink_kept(model, kind->kept);
    clear(kind->kept);
    free(kind->kept);
    kind->kept = NULL;
    model->n_kept--;
}

/* Room for one more: what was not used of late goes. Those in use stay, so that many classes that
 * take turns do not drive each other out. */
static bool make_room(struct session *s)
{
    struct model *model = s->model;
    size_t most = MOST_BYTES / (BYTES_A_NODE * (model->nodes.n + 1));

    if (model->n_kept < (most < LEAST_KEPT ? LEAST_KEPT : most))
        return true;
    if (model->oldest_kept->kept->used_in + 1 >= s->number)
        return false;
    kept_free(model, model->oldest_kept);
    return true;
}

/* --- Filling */

static void count_fail(struct kept *kept, fail_t fail, int by)
{
    if (fail == FAIL_NONE)
        kept->n_fit += (uint32_t)by;
    else if (fail < FAIL_DIM)
        /* cppcheck-suppress arrayIndexOutOfBoundsCond ; below FAIL_DIM it is a wait code */
        kept->by_code[fail] += (uint32_t)by;
    else
        kept->by_dim[fail - FAIL_DIM] += (uint32_t)by;
}

/* The key of node i of a sheet. */
static uwide sheet_key(struct session *s, const struct kind *kind, struct kept *kept,
                       const struct sheet *sheet, size_t i)
{
    uint32_t at = sheet->from + (uint32_t)i, tie = 0;

    if (sheet->fail[i] != FAIL_NONE)
        return KEY_NONE;
    if (kept->tie)
        kept->tie[at] = fit_tie(s, NULL, kind, s->model->nodes.at[at]);
    else
        tie = s->policy->tie == TIE_ID ? s->model->rows.name[at] : at;
    return key_of((enum room)sheet->room[i], sheet->rank[i], sheet->score[i], tie);
}

static void read_sheet(struct session *s, struct kind *kind, struct kept *kept, uint32_t from,
                       size_t n)
{
    uwide *keys = tourney_keys(&kept->tourney);
    struct sheet sheet;

    sheet_judge(s, kind, from, n, &sheet);
    if (sheet.n_fit)
        sheet_score(s, kind, &sheet);
    for (size_t i = 0; i < n; i++) {
        kept->fail[from + i] = sheet.fail[i];
        count_fail(kept, sheet.fail[i], 1);
        keys[from + i] = sheet_key(s, kind, kept, &sheet, i);
    }
}

static void size_for(struct session *s, struct kept *kept)
{
    size_t n = s->model->nodes.n;
    bool own_tie = s->policy->tie == TIE_SPREAD || s->policy->tie == TIE_PACK;

    assert(n < (size_t)1 << TIE_BITS);
    if (kept->n != n || !kept->fail) {
        free(kept->fail);
        tourney_fini(&kept->tourney);
        kept->n = n;
        kept->fail = NEW0_N(fail_t, n + 1);
        tourney_init(&kept->tourney, n);
    }
    free(kept->tie);
    kept->tie = own_tie ? NEW0_N(int64_t, n + 1) : NULL;
    kept->names = s->model->rows.name;
    kept->tourney.before = own_tie ? ties_before : NULL;
    kept->tourney.arg = kept;
}

static void size_dims(const struct model *model, struct kept *kept)
{
    if (kept->by_dim && kept->n_dims == model->dims.n)
        return;
    kept->by_dim = mem_resize(kept->by_dim, model->dims.n + 1, sizeof(*kept->by_dim));
    for (size_t i = kept->n_dims; i <= model->dims.n; i++)
        kept->by_dim[i] = 0;
    kept->n_dims = model->dims.n;
}

static void build(struct session *s, struct kind *kind, struct kept *kept)
{
    struct model *model = s->model;

    size_for(s, kept);
    kept->n_dims = 0;
    size_dims(model, kept);
    memset(kept->by_dim, 0, (kept->n_dims + 1) * sizeof(*kept->by_dim));
    memset(kept->by_code, 0, sizeof(kept->by_code));
    kept->n_fit = 0;
    for (size_t from = 0; from < kept->n; from += SHEET_SIZE)
        read_sheet(s, kind, kept, (uint32_t)from,
                   kept->n - from < SHEET_SIZE ? kept->n - from : SHEET_SIZE);
    tourney_play(&kept->tourney);
    kept->epoch = model->epoch;
    kept->read = model->touched_base + model->touched.n;
}

static void renew(struct session *s, struct kind *kind, struct kept *kept, uint32_t at)
{
    struct sheet sheet;

    sheet_judge(s, kind, at, 1, &sheet);
    if (sheet.n_fit)
        sheet_score(s, kind, &sheet);
    count_fail(kept, kept->fail[at], -1);
    count_fail(kept, sheet.fail[0], 1);
    kept->fail[at] = sheet.fail[0];
    tourney_set(&kept->tourney, at, sheet_key(s, kind, kept, &sheet, 0));
}

/* A session that ends takes back what it did one by one: many touches are of few nodes, and each
 * of those is looked at once. */
static void renew_touched(struct session *s, struct kind *kind, struct kept *kept, uint64_t now)
{
    const struct model *model = s->model;
    bool is_long = now - kept->read > FEW_TOUCHES + kept->n / 256;
    uint64_t *seen = is_long ? ARENA_NEW0_N(&s->arena, uint64_t, kept->n / 64 + 1) : NULL;

    for (; kept->read < now; kept->read++) {
        uint32_t at = model->touched.at[kept->read - model->touched_base];
        if (seen && seen[at / 64] >> at % 64 & 1)
            continue;
        if (seen)
            seen[at / 64] |= (uint64_t)1 << at % 64;
        renew(s, kind, kept, at);
    }
}

const struct kept *kept_of(struct session *s, struct kind *kind)
{
    struct model *model = s->model;
    uint64_t now = model->touched_base + model->touched.n;
    struct kept *kept = kind->kept;

    if (!kept) {
        if (!make_room(s))
            return NULL;
        kept = kind->kept = NEW0(struct kept);
        model->n_kept++;
        link_kept(model, kind);
    } else if (model->newest_kept != kind) {
        unlink_kept(model, kept);
        link_kept(model, kind);
    }
    kept->used_in = s->number;
    /* Many touches are read in one pass sooner than one by one, if passes are what it takes. */
    if (kept->epoch != model->epoch || kept->n != model->nodes.n ||
        now - kept->read > (sheet_is_plain(s, kind) ? kept->n / 4 : kept->n)) {
        build(s, kind, kept);
        return kept;
    }
    size_dims(model, kept);
    renew_touched(s, kind, kept, now);
    return kept;
}

bool kept_is_there(const struct kind *kind)
{
    return kind->kept;
}

/* --- Reading */

static void choose(struct session *s, uint32_t at, uwide key, struct choice *out)
{
    out->node = s->model->nodes.at[at];
    out->room = (enum room)(key >> ROOM_AT);
    out->score = key_score(key);
}

bool kept_best(struct session *s, const struct kept *kept, struct choice *out)
{
    uwide key;
    uint32_t at = tourney_best(&kept->tourney, &key);

    if (at == NOWHERE)
        return false;
    choose(s, at, key, out);
    return true;
}

bool kept_best_of_some(struct session *s, const struct kept *kept, size_t from, size_t want,
                       size_t *visited, struct choice *out)
{
    const uwide *keys = tourney_keys((struct tourney *)&kept->tourney);
    uwide best = KEY_NONE;
    size_t found = 0, n = 0, at = from;
    uint32_t best_at = NOWHERE;

    for (; n < kept->n; n++, at = at + 1 < kept->n ? at + 1 : 0) {
        if (kept->fail[at] != FAIL_NONE)
            continue;
        if (found++ == want) {
            n++;
            break;
        }
        if (best_at == NOWHERE || keys[at] < best ||
            (kept->tie && keys[at] == best && ties_before(kept, (uint32_t)at, best_at))) {
            best = keys[at];
            best_at = (uint32_t)at;
        }
    }
    *visited = n;
    if (best_at == NOWHERE)
        return false;
    choose(s, best_at, best, out);
    return true;
}

void kept_count(const struct kept *kept, struct fit_counts *out)
{
    memcpy(out->by_code, kept->by_code, sizeof(out->by_code));
    memcpy(out->by_dim, kept->by_dim, out->n_dims * sizeof(*out->by_dim));
    out->n_fit = kept->n_fit;
}
