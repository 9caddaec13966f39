/*
 * Memory: small allocations that cannot fail, and owned locals that end by themselves.
 *
 * A process that cannot get memory for a small object ends: the ledger is the truth, and
 * nothing that matters lives only in memory. A size that comes from outside is held against
 * a stated limit before it gets here.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>

#define MUST_CHECK                   __attribute__((warn_unused_result))
#define CLEANUP(fn)                  __attribute__((cleanup(fn))) /* calls fn(&variable) on every way out */
#define FORMAT(fmt, args)            __attribute__((format(printf, fmt, args)))
#define COUNT_OF(array)              (sizeof(array) / sizeof((array)[0]))
#define CONTAINER(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/** A zeroed object of the type; yours to mem_free. */
#define NEW0(type) ((type *)mem_zero(1, sizeof(type)))
/** An object of the type, zeroed up to a member of it; from there on it holds anything. */
#define NEW0_UPTO(type, member) ((type *)mem_zero_upto(sizeof(type), offsetof(type, member)))
/** n zeroed objects of the type. */
#define NEW0_N(type, n) ((type *)mem_zero((n), sizeof(type)))
/** The value of p, leaving NULL behind: hands an owned local on. */
#define TAKE(p)                                                                                    \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

/** n * size zeroed bytes; ends the process when there are none. */
void *mem_zero(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
/** size bytes, the first n of them zeroed; ends the process when there are none. */
void *mem_zero_upto(size_t size, size_t n) __attribute__((malloc, returns_nonnull));
/** Like realloc(ptr, n * size), checked for overflow; ends the process on failure. */
void *mem_resize(void *ptr, size_t n, size_t size) __attribute__((returns_nonnull));
/** A copy of size bytes, with a NUL behind them. */
void *mem_copy(const void *from, size_t size) __attribute__((returns_nonnull));
/** A copy of a string; NULL stays NULL. */
char *text_copy(const char *text);
/** free(ptr); NULL is fine. */
void mem_free(void *ptr);
/** For CLEANUP on any owned pointer: frees *(void **)ptr. */
void freep(void *ptr);

#endif
