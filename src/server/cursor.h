/*
 * Cursors: where a list goes on. A cursor is the last key and a digest of the filters, so that one
 * list's cursor does not go with another's.
 */
#ifndef SERVER_CURSOR_H
#define SERVER_CURSOR_H

#include "server/call.h"

enum { CURSOR_LIMIT_DEFAULT = 100 };

/* A list's page. */
struct cursor {
    size_t limit;
    char key[128]; /* the last one shown; "" from the beginning */
    char digest[17];
};

/**
 * Reads `limit` and `cursor` of a call's query.
 *
 * Returns  false: the problem is set (BAD_CURSOR, BAD_REQUEST)
 */
bool cursor_read(struct call *call, struct cursor *out);
/** The whole list's answer: items (taken), and `next` if there is a further key ("" if not). */
json_t *cursor_answer(const struct cursor *cursor, json_t *items, const char *next,
                      uint64_t revision);

#endif
