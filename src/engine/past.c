/* Past: see past.h. */
#include "engine/past.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"

enum { ONE_BITS = 32, NOTES_A_HALF = 1000, LEAST_MS = 1000 };

/* 2^-(1/2), 2^-(1/4), 2^-(1/8), ... in 2^-32. */
static const uint32_t roots[] = {
    3037000500, 3611622603, 3938502376, 4112874773, 4202935003, 4248701965, 4271771996, 4283353945,
    4289156690, 4292061010, 4293513907, 4294240540, 4294603903, 4294785595, 4294876445, 4294921870,
};

uint64_t past_left(int64_t dt_ms, int64_t half_ms)
{
    uint64_t left = (uint64_t)1 << ONE_BITS;
    wide rest;

    if (dt_ms <= 0)
        return left;
    if (dt_ms / half_ms >= ONE_BITS)
        return 0;
    left >>= dt_ms / half_ms;
    rest = dt_ms % half_ms;
    for (size_t i = 0; i < COUNT_OF(roots); i++) {
        rest *= 2;
        if (rest < half_ms)
            continue;
        rest -= half_ms;
        left = (left * roots[i]) >> ONE_BITS;
    }
    return left;
}

/* The average as it was noted: "AT\n", then a line "VALUE DIM QUEUE" each. */
static int64_t read_note(struct session *s, wide **past)
{
    const struct berth_memo *memo = shelf_get(&s->model->shelves[BERTH_MEMO], PAST_MEMO);
    char *text, *line, *next;
    int64_t at_ms = 0;

    if (!memo || !memo->size)
        return 0;
    text = arena_zero(&s->arena, memo->size + 1);
    memcpy(text, memo->data, memo->size);
    for (line = text; line && *line; line = next) {
        char *dim, *queue;
        int64_t value = 0;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        dim = strchr(line, ' ');
        if (dim)
            *dim++ = '\0';
        queue = dim ? strchr(dim, ' ') : NULL;
        if (queue)
            *queue++ = '\0';
        if (text_to_int(line, 0, INT64_MAX, &value) < 0)
            continue;
        if (!dim) {
            at_ms = value;
        } else if (queue) {
            const struct queue *q = queue_find(s->model, queue);
            uint32_t d = dim_find(s->model, dim);
            if (q && q->at != NOWHERE && d != NOWHERE)
                past[q->at][d] = value;
        }
    }
    return at_ms;
}

static void write_note(struct session *s, wide **past)
{
    CLEANUP(str_fini) struct str text = { 0 };
    const char *action = s->action;

    str_addf(&text, "%" PRId64 "\n", s->in.now_ms);
    for (size_t i = 0; i < s->model->queues.n; i++)
        for (uint32_t d = 0; d < s->model->dims.n; d++)
            if (past[i][d] > 0)
                str_addf(&text, "%" PRId64 " %s %s\n", wide_clamp(past[i][d]),
                         s->model->dims.at[d]->name, s->model->queues.at[i]->name);
    s->action = "open";
    answer_memo(s, PAST_MEMO, str_text(&text), text.len);
    s->action = action;
}

wide **past_use(struct session *s, int64_t half_ms)
{
    struct model *model = s->model;
    wide **past = ARENA_NEW0_N(&s->arena, wide *, model->queues.n + 1);
    int64_t every = half_ms / NOTES_A_HALF > LEAST_MS ? half_ms / NOTES_A_HALF : LEAST_MS;
    int64_t at_ms;
    uint64_t left;

    for (size_t i = 0; i < model->queues.n; i++)
        past[i] = ARENA_NEW0_N(&s->arena, wide, model->dims.n + 1);
    at_ms = read_note(s, past);
    left = at_ms ? past_left(s->in.now_ms - at_ms, half_ms) : (uint64_t)1 << ONE_BITS;
    for (size_t i = 0; i < model->queues.n; i++) {
        const struct queue *queue = model->queues.at[i];
        for (size_t d = 0; d < model->dims.n; d++) {
            wide now = d < queue->n_sums ? queue->allocated[d] : 0;
            past[i][d] += ((now - past[i][d]) * (((wide)1 << ONE_BITS) - left)) >> ONE_BITS;
        }
    }
    if (!at_ms || s->in.now_ms - at_ms >= every)
        write_note(s, past);
    session_wake_at(s, (at_ms && s->in.now_ms - at_ms < every ? at_ms : s->in.now_ms) + every);
    return past;
}
