/*
 * Shapes: the members of every object, in tables, so that copying, writing and checking an
 * object is said once for all of them. A member that is added to an object in berth/engine.h
 * gets its row in shape.c, and nothing else.
 */
#ifndef ENGINE_SHAPE_H
#define ENGINE_SHAPE_H

#include "base/str.h"
#include "berth/engine.h"

enum member_kind {
    M_TEXT,
    M_BOOL,
    M_INT, /* int and enums */
    M_U32,
    M_U64,
    M_I64,
    M_DOUBLE,
    M_AMOUNTS,
    M_LABELS,
    M_WORDS,
    M_NUMBERS,
    M_PORTS,   /* uint16_t list; its count lies at count_at */
    M_BYTES,   /* void pointer; its size lies at count_at */
    M_LIST,    /* of structs; its count lies at count_at */
    M_STRUCT,  /* within the object */
    M_POINTER, /* to one struct, or NULL */
};

/* What a member takes part in. */
enum member_use {
    USE_KEY = 1,   /* the key of its object */
    USE_CLASS = 2, /* tasks, or nodes, that differ here are not alike */
};

struct shape;
struct member {
    const char *name;
    enum member_kind kind;
    size_t at, count_at;
    unsigned use;
    const struct shape *shape; /* of lists, structs and pointers */
};

struct shape {
    const char *name;
    size_t size;
    const struct member *members;
    size_t n;
};

extern const struct shape *const shape_of[BERTH_KIND_COUNT];
extern const struct shape shape_task_group, shape_group, shape_verdict, shape_reason;

/**
 * A deep copy in one block, amounts and labels in the order of their names, amounts of
 * one name added up. Yours to free.
 */
void *shape_copy(const struct shape *shape, const void *object);

/** Adds the members that have any bit of `use` (0: all) and are not zero, as NAME=VALUE; */
void shape_write(const struct shape *shape, const void *object, unsigned use, struct str *out);

/**
 * Checks amounts against QUANTITY_MAX and texts of keys against NULL.
 *
 * Returns  0; -EINVAL, -ERANGE, the text naming kind and member
 */
MUST_CHECK int shape_check(const struct shape *shape, const void *object, struct err *err);

#endif
