/*
 * Shapes: see shape.h. Copying walks an object twice: once to count the bytes of its lists and
 * texts, once to lay them behind it.
 */
#include "engine/shape.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

#include "base/quantity.h"

/* Lays things one behind the other; without a base it only counts. */
struct packer {
    char *base;
    size_t used;
};

static void *pack(struct packer *p, const void *from, size_t size, size_t align)
{
    void *to;

    p->used = (p->used + align - 1) & ~(align - 1);
    to = p->base ? p->base + p->used : NULL;
    if (to && size)
        memcpy(to, from, size);
    p->used += size;
    return to;
}

static const char *pack_text(struct packer *p, const char *text)
{
    return text ? pack(p, text, strlen(text) + 1, 1) : NULL;
}

static void pack_members(struct packer *p, const struct shape *shape, const void *from, char *to);

static void pack_amounts(struct packer *p, const struct berth_amounts *from,
                         struct berth_amounts *to)
{
    struct berth_amount *at =
        pack(p, from->at, from->n * sizeof(*at), alignof(struct berth_amount));
    size_t n = 0;

    for (size_t i = 0; i < from->n; i++) {
        const char *name = pack_text(p, from->at[i].name);
        size_t k = 0;
        if (!at)
            continue;
        while (k < n && strcmp(at[k].name, name) < 0)
            k++;
        if (k < n && strcmp(at[k].name, name) == 0) {
            at[k].value += from->at[i].value;
            continue;
        }
        memmove(&at[k + 1], &at[k], (n - k) * sizeof(*at));
        at[k] = (struct berth_amount){ name, from->at[i].value };
        n++;
    }
    if (to)
        *to = (struct berth_amounts){ n ? at : NULL, n };
}

static void pack_labels(struct packer *p, const struct berth_labels *from, struct berth_labels *to)
{
    struct berth_label *at = pack(p, from->at, from->n * sizeof(*at), alignof(struct berth_label));

    for (size_t i = 0; i < from->n; i++) {
        const char *key = pack_text(p, from->at[i].key), *value = pack_text(p, from->at[i].value);
        size_t k = i;
        if (!at)
            continue;
        for (; k > 0 && strcmp(at[k - 1].key, key) > 0; k--)
            at[k] = at[k - 1];
        at[k] = (struct berth_label){ key, value };
    }
    if (to)
        *to = (struct berth_labels){ from->n ? at : NULL, from->n };
}

static void pack_words(struct packer *p, const struct berth_words *from, struct berth_words *to)
{
    const char **at = pack(p, from->at, from->n * sizeof(*at), alignof(char *));

    for (size_t i = 0; i < from->n; i++) {
        const char *word = pack_text(p, from->at[i]);
        if (at)
            at[i] = word;
    }
    if (to)
        *to = (struct berth_words){ from->n ? at : NULL, from->n };
}

static void pack_list(struct packer *p, const struct member *m, const char *from, char *to)
{
    const char *list = *(const char *const *)(from + m->at);
    size_t n = m->kind == M_POINTER ? (list ? 1 : 0) : *(const size_t *)(from + m->count_at);
    char *at = pack(p, list, n * m->shape->size, alignof(max_align_t));

    for (size_t i = 0; i < n; i++)
        pack_members(p, m->shape, list + i * m->shape->size, at ? at + i * m->shape->size : NULL);
    if (to)
        *(char **)(to + m->at) = n ? at : NULL;
}

static void pack_plain(struct packer *p, const struct member *m, const char *from, char *to)
{
    const void *list = *(const void *const *)(from + m->at);
    size_t size = m->kind == M_PORTS ? sizeof(uint16_t) : 1;
    size_t n = *(const size_t *)(from + m->count_at);
    void *at = pack(p, list, n * size, size);

    if (to)
        *(void **)(to + m->at) = n ? at : NULL;
}

static void pack_numbers(struct packer *p, const struct berth_numbers *from,
                         struct berth_numbers *to)
{
    const uint32_t *at = pack(p, from->at, from->n * sizeof(*at), alignof(uint32_t));

    if (to)
        *to = (struct berth_numbers){ from->n ? at : NULL, from->n };
}

static void pack_member(struct packer *p, const struct member *m, const char *from, char *to)
{
    const void *value = from + m->at;
    void *slot = to ? to + m->at : NULL;

    switch (m->kind) {
    case M_TEXT: {
        const char *text = pack_text(p, *(const char *const *)value);
        if (slot)
            *(const char **)slot = text;
        break;
    }
    case M_AMOUNTS:
        pack_amounts(p, value, slot);
        break;
    case M_LABELS:
        pack_labels(p, value, slot);
        break;
    case M_WORDS:
        pack_words(p, value, slot);
        break;
    case M_NUMBERS:
        pack_numbers(p, value, slot);
        break;
    case M_PORTS:
    case M_BYTES:
        pack_plain(p, m, from, to);
        break;
    case M_LIST:
    case M_POINTER:
        pack_list(p, m, from, to);
        break;
    case M_STRUCT:
        pack_members(p, m->shape, value, slot);
        break;
    case M_BOOL:
    case M_INT:
    case M_U32:
    case M_U64:
    case M_I64:
    case M_DOUBLE:
        break; /* came with the struct itself */
    }
}

/* The struct itself was copied already; this copies what its members point at. */
static void pack_members(struct packer *p, const struct shape *shape, const void *from, char *to)
{
    for (size_t i = 0; i < shape->n; i++)
        pack_member(p, &shape->members[i], from, to);
}

void *shape_copy(const struct shape *shape, const void *object)
{
    struct packer p = { 0 };

    pack(&p, object, shape->size, alignof(max_align_t));
    pack_members(&p, shape, object, NULL);
    p.base = mem_zero(1, p.used);
    p.used = 0;
    pack(&p, object, shape->size, alignof(max_align_t));
    pack_members(&p, shape, object, p.base);
    return p.base;
}

static void write_text(struct str *out, const char *text)
{
    str_add_char(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            str_add_char(out, '\\');
        str_add_char(out, *c);
    }
    str_add_char(out, '"');
}

static void write_number(struct str *out, int64_t value)
{
    char digits[24];
    size_t n = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--n] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        digits[--n] = '-';
    str_add_bytes(out, digits + n, sizeof(digits) - n);
}

static void write_bits(struct str *out, double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    str_addf(out, "0x%" PRIx64, bits);
}

static void write_list(const struct member *m, const char *object, unsigned use, struct str *out)
{
    const char *list = *(const char *const *)(object + m->at);
    size_t n = m->kind == M_POINTER ? 1 : *(const size_t *)(object + m->count_at);

    str_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        str_add_char(out, '{');
        shape_write(m->shape, list + i * m->shape->size, use, out);
        str_add_char(out, '}');
    }
    str_add_char(out, ']');
}

static void write_amounts(const struct berth_amounts *amounts, struct str *out)
{
    for (size_t i = 0; i < amounts->n; i++) {
        write_text(out, amounts->at[i].name);
        str_add_char(out, ':');
        write_number(out, amounts->at[i].value);
    }
}

static void write_labels(const struct berth_labels *labels, struct str *out)
{
    for (size_t i = 0; i < labels->n; i++) {
        write_text(out, labels->at[i].key);
        str_add_char(out, ':');
        write_text(out, labels->at[i].value ? labels->at[i].value : "");
    }
}

static void write_plain(const struct member *m, const char *object, struct str *out)
{
    const void *list = *(const void *const *)(object + m->at);
    size_t n = *(const size_t *)(object + m->count_at);

    for (size_t i = 0; i < n; i++) {
        write_number(out, m->kind == M_PORTS ? ((const uint16_t *)list)[i]
                                             : ((const unsigned char *)list)[i]);
        str_add_char(out, ',');
    }
}

static bool is_zero(const struct member *m, const char *object)
{
    const char *value = object + m->at;

    switch (m->kind) {
    case M_TEXT:
    case M_POINTER:
        return !*(const void *const *)value;
    case M_BOOL:
        return !*(const bool *)value;
    case M_INT:
        return !*(const int *)value;
    case M_U32:
        return !*(const uint32_t *)value;
    case M_U64:
    case M_I64:
    case M_DOUBLE:
        return !*(const uint64_t *)value;
    case M_AMOUNTS:
        return !((const struct berth_amounts *)value)->n;
    case M_LABELS:
        return !((const struct berth_labels *)value)->n;
    case M_WORDS:
        return !((const struct berth_words *)value)->n;
    case M_NUMBERS:
        return !((const struct berth_numbers *)value)->n;
    case M_PORTS:
    case M_BYTES:
    case M_LIST:
        return !*(const size_t *)(object + m->count_at);
    case M_STRUCT:
        return false;
    }
    return false;
}

static void write_value(const struct member *m, const char *object, unsigned use, struct str *out)
{
    const void *value = object + m->at;

    switch (m->kind) {
    case M_TEXT:
        write_text(out, *(const char *const *)value);
        break;
    case M_BOOL:
        str_add_char(out, '1');
        break;
    case M_INT:
        write_number(out, *(const int *)value);
        break;
    case M_U32:
        write_number(out, *(const uint32_t *)value);
        break;
    case M_U64:
    case M_I64:
        write_number(out, *(const int64_t *)value);
        break;
    case M_DOUBLE:
        write_bits(out, *(const double *)value);
        break;
    case M_AMOUNTS:
        write_amounts(value, out);
        break;
    case M_LABELS:
        write_labels(value, out);
        break;
    case M_WORDS:
        for (size_t i = 0; i < ((const struct berth_words *)value)->n; i++)
            write_text(out, ((const struct berth_words *)value)->at[i]);
        break;
    case M_NUMBERS:
        for (size_t i = 0; i < ((const struct berth_numbers *)value)->n; i++) {
            write_number(out, ((const struct berth_numbers *)value)->at[i]);
            str_add_char(out, ',');
        }
        break;
    case M_PORTS:
    case M_BYTES:
        write_plain(m, object, out);
        break;
    case M_LIST:
    case M_POINTER:
        write_list(m, object, use, out);
        break;
    case M_STRUCT:
        str_add_char(out, '{');
        shape_write(m->shape, value, use, out);
        str_add_char(out, '}');
        break;
    }
}

void shape_write(const struct shape *shape, const void *object, unsigned use, struct str *out)
{
    for (size_t i = 0; i < shape->n; i++) {
        const struct member *m = &shape->members[i];
        if ((use && !(m->use & use)) || is_zero(m, object))
            continue;
        str_add(out, m->name);
        str_add_char(out, '=');
        write_value(m, object, use, out);
        str_add_char(out, ';');
    }
}

static int check_amounts(const struct shape *shape, const struct member *m,
                         const struct berth_amounts *amounts, struct err *err)
{
    for (size_t i = 0; i < amounts->n; i++) {
        const struct berth_amount *one = &amounts->at[i];
        if (!one->name || !*one->name)
            return err_set(err, -EINVAL, "%s: %s has an amount without a name", shape->name,
                           m->name);
        if (one->value < 0 || one->value > QUANTITY_MAX)
            return err_set(err, -ERANGE, "%s: %s of %s is %" PRId64 ", not in 0..2^60", shape->name,
                           m->name, one->name, one->value);
    }
    return 0;
}

static int check_list(const struct member *m, const char *object, struct err *err)
{
    const char *list = *(const char *const *)(object + m->at);
    size_t n = m->kind == M_POINTER ? (list ? 1 : 0) : *(const size_t *)(object + m->count_at);

    for (size_t i = 0; i < n; i++) {
        int r = shape_check(m->shape, list + i * m->shape->size, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int shape_check(const struct shape *shape, const void *object, struct err *err)
{
    for (size_t i = 0; i < shape->n; i++) {
        const struct member *m = &shape->members[i];
        const void *value = (const char *)object + m->at;
        int r = 0;
        if (m->kind == M_TEXT && (m->use & USE_KEY) && !*(const char *const *)value)
            return err_set(err, -EINVAL, "%s: %s is missing", shape->name, m->name);
        if (m->kind == M_AMOUNTS)
            r = check_amounts(shape, m, value, err);
        else if (m->kind == M_LIST || m->kind == M_POINTER)
            r = check_list(m, object, err);
        else if (m->kind == M_STRUCT)
            r = shape_check(m->shape, value, err);
        if (r < 0)
            return r;
    }
    return 0;
}

void berth_delta_write(const struct berth_delta *delta, struct str *out)
{
    str_add(out, delta->end ? "-" : "+");
    str_add(out, berth_kind_words[delta->kind]);
    str_add_char(out, ' ');
    shape_write(shape_of[delta->kind], delta->any, delta->end ? USE_KEY : 0, out);
}
