/*
 * Openings: see opening.h. Each is a row of meta, `opening.ID`, with its number, its first revision
 * and its last; the row `openings.forgotten` has the last revision of those that are not kept any more.
 * A row `life.INCARNATION` has the last revision of an incarnation that the ledger was before.
 */
#include "ledger/opening.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "opening.", forgotten[] = "openings.forgotten", life[] = "life.";

static void put(struct changes *changes, const char *name, const char *value)
{
    struct row_meta *row = row_new(ROW_META);

    row_set(&row->name, name);
    row_set(&row->value, value);
    changes_put_quiet(changes, ROW_META, row);
}

static void put_opening(struct changes *changes, const struct opening *opening)
{
    CLEANUP(freep) char *name = text_format("%s%s", prefix, opening->id);
    CLEANUP(freep)
    char *value = text_format("%" PRIu64 " %" PRIu64 " %" PRIu64, opening->number, opening->first,
                              opening->last);

    put(changes, name, value);
}

static void forget(struct changes *changes, const struct opening *opening)
{
    CLEANUP(freep) char *name = text_format("%s%s", prefix, opening->id);
    const void *row = mirror_find(changes->mirror, ROW_META, name);

    if (row)
        changes_del_quiet(changes, ROW_META, row);
}

static bool read_row(const struct row_meta *row, struct opening *out)
{
    *out = (struct opening){ 0 };
    if (!text_begins(row->name, prefix) || strlen(row->name + strlen(prefix)) >= sizeof(out->id))
        return false;
    memcpy(out->id, row->name + strlen(prefix), strlen(row->name + strlen(prefix)));
    return sscanf(row->value, "%" SCNu64 " %" SCNu64 " %" SCNu64, &out->number, &out->first,
                  &out->last) == 3;
}

struct openings openings_read(const struct mirror *mirror)
{
    struct openings out = { 0 };
    size_t n;
    CLEANUP(freep) const char **names = mirror_names(mirror, ROW_META, &n);

    for (size_t i = 0; i < n; i++) {
        struct opening opening;
        if (read_row(mirror_find(mirror, ROW_META, names[i]), &opening))
            VEC_PUSH(&out, opening);
    }
    return out;
}

/* The last revision of those that were forgotten; 0: none was. */
static uint64_t forgotten_until(const struct mirror *mirror)
{
    const struct row_meta *row = mirror_find(mirror, ROW_META, forgotten);
    uint64_t revision = 0;

    return row && sscanf(row->value, "%" SCNu64, &revision) == 1 ? revision : 0;
}

static void forget_until(struct changes *changes, uint64_t revision)
{
    CLEANUP(freep) char *value = text_format("%" PRIu64, revision);

    if (revision > forgotten_until(changes->mirror))
        put(changes, forgotten, value);
}

void opening_begin(struct changes *changes, const char *id, bool is_new_incarnation)
{
    struct openings before = openings_read(changes->mirror);
    struct opening next = { .number = 1, .first = changes->revision + 1, .last = UINT64_MAX };

    VEC_EACH (opening, &before)
        if (opening->number >= next.number)
            next.number = opening->number + 1;
    VEC_EACH (opening, &before) {
        if (is_new_incarnation) {
            forget(changes, opening);
        } else if (opening->number + OPENINGS_MAX <= next.number) {
            forget(changes, opening);
            forget_until(changes, opening->last);
        } else if (opening->last == UINT64_MAX) {
            opening->last = changes->revision;
            put_opening(changes, opening);
        }
    }
    snprintf(next.id, sizeof(next.id), "%s", id);
    put_opening(changes, &next);
    VEC_FINI(&before);
}

static enum opening_holds holds(const struct opening *opening, uint64_t revision)
{
    return revision <= opening->last ? OPENING_HOLDS : OPENING_HOLDS_NOT;
}

enum opening_holds openings_hold(const struct openings *openings, const char *id, uint64_t revision)
{
    VEC_EACH (opening, openings)
        if (text_eq(opening->id, id))
            return holds(opening, revision);
    return OPENING_HOLDS_NOT;
}

enum opening_holds opening_look(const struct mirror *mirror, const char *id, uint64_t revision)
{
    CLEANUP(freep) char *name = text_format("%s%s", prefix, id);
    const struct row_meta *row = mirror_find(mirror, ROW_META, name);
    struct opening opening;

    if (row && read_row(row, &opening))
        return holds(&opening, revision);
    return revision <= forgotten_until(mirror) ? OPENING_FORGOTTEN : OPENING_HOLDS_NOT;
}

/* ---- earlier lives ---- */

void life_end(struct changes *changes, const char *incarnation)
{
    CLEANUP(freep) char *name = text_format("%s%s", life, incarnation);
    CLEANUP(freep) char *value = text_format("%" PRIu64, changes->revision);

    put(changes, name, value);
}

static bool read_life(const struct row_meta *row, struct life *out)
{
    *out = (struct life){ 0 };
    if (!text_begins(row->name, life) ||
        strlen(row->name + strlen(life)) >= sizeof(out->incarnation))
        return false;
    memcpy(out->incarnation, row->name + strlen(life), strlen(row->name + strlen(life)));
    return sscanf(row->value, "%" SCNu64, &out->last) == 1;
}

bool life_look(const struct mirror *mirror, const char *incarnation, uint64_t *until)
{
    CLEANUP(freep) char *name = text_format("%s%s", life, incarnation);
    const struct row_meta *row = mirror_find(mirror, ROW_META, name);
    struct life found;

    if (!row || !read_life(row, &found))
        return false;
    *until = found.last;
    return true;
}

struct lives lives_read(const struct mirror *mirror)
{
    struct lives out = { 0 };
    size_t n;
    CLEANUP(freep) const char **names = mirror_names(mirror, ROW_META, &n);

    for (size_t i = 0; i < n; i++) {
        struct life found;
        if (read_life(mirror_find(mirror, ROW_META, names[i]), &found))
            VEC_PUSH(&out, found);
    }
    return out;
}
