/*
 * Errors: why a call failed, by value, so that a reason cannot leak.
 *
 * A function that can fail returns int: below 0 an error, 0 done, above 0 an outcome of its
 * own enum. The reason travels as last parameter and is set once: the first is the true one.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/mem.h"

struct err {
    int code;       /* negative errno; 0 while all is well */
    char text[240]; /* says what, which and why; always ends in NUL */
};

/**
 * Sets the reason, once.
 *
 * @code    negative errno
 * Returns  code, so that a failing function can return err_set(...)
 */
int err_set(struct err *err, int code, const char *fmt, ...) FORMAT(3, 4);

/** Like err_set, with ": " and strerror(-code) behind the text. */
int err_sys(struct err *err, int code, const char *fmt, ...) FORMAT(3, 4);

/** Puts "while doing what: " in front of a reason that is set; returns its code. */
int err_wrap(struct err *err, const char *fmt, ...) FORMAT(2, 3);

#endif
