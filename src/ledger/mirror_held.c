/*
 * Mirror, held room: open reservations and their parts, by job and by node. What a part's group
 * asks is held on its node while the part is open.
 */
#include "ledger/mirror_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "ledger/ledger.h"

/* ---- keys of attempts, as rows keep them ---- */

static bool read_key(const json_t *value, struct attempt_key *out)
{
    json_int_t n[4];

    if (json_array_size(value) != COUNT_OF(n))
        return false;
    for (size_t i = 0; i < COUNT_OF(n); i++) {
        const json_t *number = json_array_get(value, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0 ||
            (i > 0 && json_integer_value(number) > UINT32_MAX))
            return false;
        n[i] = json_integer_value(number);
    }
    *out = (struct attempt_key){ (uint64_t)n[0], (uint32_t)n[1], (uint32_t)n[2], (uint32_t)n[3] };
    return true;
}

bool attempt_keys_read(const char *text, struct attempt_key **out, size_t *n)
{
    json_t *list = *text ? json_loads(text, 0, NULL) : json_array();
    bool is_good = json_is_array(list);

    *n = json_array_size(list);
    *out = NEW0_N(struct attempt_key, *n + 1);
    for (size_t i = 0; i < *n && is_good; i++)
        is_good = read_key(json_array_get(list, i), &(*out)[i]);
    json_decref(list);
    if (is_good)
        return true;
    mem_free(*out);
    *out = NULL;
    return false;
}

void attempt_keys_write(const struct attempt_key *keys, size_t n, struct str *out)
{
    str_add_char(out, '[');
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%s[%" PRIu64 ",%u,%u,%u]", i ? "," : "", keys[i].job, keys[i].group,
                 keys[i].index, keys[i].number);
    str_add_char(out, ']');
}

/* ---- finding ---- */

struct mirror_part *mirror_part(const struct mirror_job *job, int64_t grp, int64_t idx)
{
    for (size_t i = 0; i < job->parts.n; i++)
        if (job->parts.at[i]->row->grp == grp && job->parts.at[i]->row->idx == idx)
            return job->parts.at[i];
    return NULL;
}

struct row_attempt *mirror_live(const struct mirror *mirror, const struct attempt_key *key)
{
    const struct mirror_job *job = mirror_job(mirror, key->job);
    const struct mirror_task *task = job ? mirror_task(job, key->group, key->index) : NULL;

    return task && task->live && task->number == key->number ? task->live : NULL;
}

static int cmp_parts(const void *a, const void *b)
{
    const struct mirror_part *x = *(struct mirror_part *const *)a;
    const struct mirror_part *y = *(struct mirror_part *const *)b;

    return row_cmp(ROW_PART, x->row, y->row);
}

static struct mirror_part **sorted(struct mirror_part *const *at, size_t n_parts, size_t *n)
{
    struct mirror_part **parts = NEW0_N(struct mirror_part *, n_parts + 1);

    *n = n_parts;
    if (n_parts)
        memcpy(parts, at, n_parts * sizeof(*parts));
    qsort(parts, n_parts, sizeof(*parts), cmp_parts);
    return parts;
}

struct mirror_part **mirror_node_parts(const struct mirror_node *node, size_t *n)
{
    return sorted(node->parts.at, node->parts.n, n);
}

struct mirror_part **mirror_job_parts(const struct mirror_job *job, size_t *n)
{
    return sorted(job->parts.at, job->parts.n, n);
}

/* ---- in and out ---- */

bool held_is_kept(enum row_kind kind, const void *row)
{
    const struct row_reservation *reservation = row;
    const struct row_part *part = row;

    return (kind == ROW_PART ? part->state : reservation->state) == RESERVATION_OPEN;
}

static void *swap_reservation(struct mirror_job *job, void *row)
{
    struct row_reservation *was = job->reservation;

    job->reservation = row;
    return was;
}

static void part_free(struct mirror_part *part)
{
    mem_free(part->waits);
    mem_free(part);
}

/* Takes a part out of its job and node; its row, which was counted. */
static struct row_part *take_part(struct mirror *mirror, struct mirror_job *job,
                                  struct mirror_part *part)
{
    struct mirror_node *node = mirror_node(mirror, part->row->node);
    struct row_part *row = part->row;

    mirror_use(node, part->group, -1, true);
    for (size_t i = node->parts.n; i-- > 0;)
        if (node->parts.at[i] == part)
            VEC_SWAP_OUT(&node->parts, i);
    for (size_t i = job->parts.n; i-- > 0;)
        if (job->parts.at[i] == part)
            VEC_SWAP_OUT(&job->parts, i);
    part_free(part);
    return row;
}

static struct mirror_part *find_part(const struct mirror_job *job, const struct row_part *key)
{
    struct mirror_part *part = mirror_part(job, key->grp, key->idx);

    return part && part->row->reservation == key->reservation ? part : NULL;
}

static void add_part(struct mirror *mirror, struct mirror_job *job, struct row_part *row,
                     struct attempt_key *waits, size_t n_waits)
{
    struct mirror_node *node = mirror_node(mirror, row->node);
    struct mirror_part *part = NEW0(struct mirror_part);

    part->row = row;
    part->group = &job->groups[row->grp];
    part->waits = waits;
    part->n_waits = n_waits;
    VEC_PUSH(&job->parts, part);
    VEC_PUSH(&node->parts, part);
    mirror_use(node, part->group, 1, true);
}

static int put_part(struct mirror *mirror, struct mirror_job *job, struct row_part *row, void **was,
                    struct err *err)
{
    struct mirror_part *part = find_part(job, row);
    struct attempt_key *waits = NULL;
    size_t n_waits = 0;

    if (held_is_kept(ROW_PART, row)) {
        if (!mirror_node(mirror, row->node))
            return err_set(err, -EBADMSG, "held room of j-%" PRIu64 ": no node %s", row->job,
                           row->node);
        if (!attempt_keys_read(row->waits, &waits, &n_waits))
            return err_set(err, -EBADMSG,
                           "held room of j-%" PRIu64 ": what it waits for cannot be read",
                           row->job);
    }
    *was = part ? take_part(mirror, job, part) : NULL;
    if (held_is_kept(ROW_PART, row))
        add_part(mirror, job, row, waits, n_waits);
    return 0;
}

int held_put(struct mirror *mirror, enum row_kind kind, void *row, void **was, struct err *err)
{
    const struct row_part *part = row; /* both begin with the job */
    struct mirror_job *job = mirror_job(mirror, part->job);

    if (!job || (kind == ROW_PART && !mirror_task(job, part->grp, part->idx)))
        return err_set(err, -EBADMSG, "%s of j-%" PRIu64 ": no such job or task", schema[kind].name,
                       part->job);
    if (kind == ROW_PART)
        return put_part(mirror, job, row, was, err);
    *was = swap_reservation(job, held_is_kept(kind, row) ? row : NULL);
    return 0;
}

void *held_take_back(struct mirror *mirror, enum row_kind kind, void *now, void *was)
{
    struct row_part *row = now;
    struct mirror_job *job = mirror_job(mirror, row->job);
    struct mirror_part *part;
    struct err err = { 0 };
    void *kept = NULL;

    if (kind == ROW_RESERVATION)
        return swap_reservation(job, was);
    part = find_part(job, row);
    if (part)
        kept = take_part(mirror, job, part);
    if (was) {
        void *none;
        int r = put_part(mirror, job, was, &none, &err);
        (void)r; /* it was read before */
    }
    return kept;
}

void held_drop(struct mirror *mirror, struct mirror_job *job)
{
    while (job->parts.n)
        row_free(ROW_PART, take_part(mirror, job, job->parts.at[0]));
    VEC_FINI(&job->parts);
    row_free(ROW_RESERVATION, job->reservation);
    job->reservation = NULL;
}
