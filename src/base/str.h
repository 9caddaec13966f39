/*
 * Strings: a builder that grows, and a few questions about text.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* A growing text: { 0 } is empty. data is NULL until something was added, else ends in NUL. */
struct str {
    char *data;
    size_t len, cap; /* bytes; len without the NUL */
};

void str_fini(struct str *str);
/** The text so far, "" when nothing was added; borrowed until the next change. */
const char *str_text(const struct str *str);
/** Hands the text on ("" rather than NULL) and leaves the builder empty. */
char *str_take(struct str *str);
void str_clear(struct str *str);
void str_add(struct str *str, const char *text);
void str_add_char(struct str *str, char c);
void str_add_bytes(struct str *str, const void *data, size_t n);
void str_addf(struct str *str, const char *fmt, ...) FORMAT(2, 3);
void str_addv(struct str *str, const char *fmt, va_list args) FORMAT(2, 0);
/** Makes room for n more bytes (and the NUL) and gives their place; then raise len by what was
 * written. */
char *str_room(struct str *str, size_t n);
/** Drops the first n bytes. */
void str_drop(struct str *str, size_t n);

/** A new string made like printf; yours. */
char *text_format(const char *fmt, ...) FORMAT(1, 2);
/** Equal; NULL equals only NULL. */
bool text_eq(const char *a, const char *b);
/** Whether text begins with start. */
bool text_begins(const char *text, const char *start);
/** Order for qsort of char *: by bytes. */
int text_cmp(const void *a, const void *b);

/**
 * Reads a whole number, nothing before or after it.
 *
 * Returns  0; -EINVAL for anything that is not a number; -ERANGE outside of min..max
 */
int text_to_int(const char *text, int64_t min, int64_t max, int64_t *out) MUST_CHECK;
/**
 * Reads a word, a space and a whole number from 0 on: "a1f 17".
 *
 * @word    word[size]; left alone, as out is, if it is not that, or does not fit
 * Returns  whether it was
 */
bool text_to_pair(const char *text, char *word, size_t size, int64_t *out);

#endif
