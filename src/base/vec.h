/*
 * Vectors: a growing array of any type, as three members.
 *
 *     struct { VEC_OF(struct part) } parts;     or VEC_OF(T) among a struct's members
 *     *VEC_ADD(&parts) = (struct part){ ... };  a zeroed place at the end
 *     VEC_EACH(part, &parts) ...                part points at each
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <string.h>

#include "base/mem.h"

#define VEC_OF(type)                                                                               \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t n, cap;                                                                             \
    }

/** Adds a zeroed place and gives its address, valid until the next one is added. */
#define VEC_ADD(vec)                                                                               \
    ({                                                                                             \
        __typeof__(vec) v_ = (vec);                                                                \
        if (v_->n == v_->cap) {                                                                    \
            v_->cap = v_->cap ? v_->cap * 2 : 8;                                                   \
            v_->at = mem_resize(v_->at, v_->cap, sizeof(*v_->at));                                 \
        }                                                                                          \
        memset(&v_->at[v_->n], 0, sizeof(*v_->at));                                                \
        &v_->at[v_->n++];                                                                          \
    })
#define VEC_PUSH(vec, value) (*VEC_ADD(vec) = (value))
/** Takes element i out by putting the last in its place. */
#define VEC_SWAP_OUT(vec, i) ((vec)->at[i] = (vec)->at[--(vec)->n])
#define VEC_EACH(each, vec)                                                                        \
    for (__typeof__(*(vec)->at) *each = (vec)->at; each && each < (vec)->at + (vec)->n; each++)
#define VEC_FINI(vec)                                                                              \
    do {                                                                                           \
        free((vec)->at);                                                                           \
        (vec)->at = NULL;                                                                          \
        (vec)->n = (vec)->cap = 0;                                                                 \
    } while (0)

#endif
