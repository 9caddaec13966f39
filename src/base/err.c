/* Errors: see err.h. Never allocates. */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static FORMAT(3, 0) void set_text(struct err *err, int code, const char *fmt, va_list args)
{
    assert(code < 0 && err->code == 0);
    err->code = code;
    vsnprintf(err->text, sizeof(err->text), fmt, args);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    set_text(err, code, fmt, args);
    va_end(args);
    return code;
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
    va_list args;
    size_t len;

    va_start(args, fmt);
    set_text(err, code, fmt, args);
    va_end(args);
    len = strlen(err->text);
    snprintf(err->text + len, sizeof(err->text) - len, ": %s", strerrordesc_np(-code));
    return code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    char was[sizeof(err->text)];
    va_list args;
    size_t len;

    assert(err->code < 0);
    memcpy(was, err->text, sizeof(was));
    va_start(args, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    len = strlen(err->text);
    if (len + 2 < sizeof(err->text)) {
        memcpy(err->text + len, ": ", 3);
        len += 2;
        /* What does not fit of the older reason is cut at its end. */
        size_t room = sizeof(err->text) - len - 1, n = strlen(was);
        n = n < room ? n : room;
        memcpy(err->text + len, was, n);
        err->text[len + n] = '\0';
    }
    return err->code;
}
