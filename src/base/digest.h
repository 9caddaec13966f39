/*
 * Digests and secrets: SHA-256, random tokens, comparison in constant time.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { DIGEST_HEX_SIZE = 65 /* 64 hex digits and NUL */ };

/** SHA-256 of n bytes, as lower-case hex. */
void digest_hex(const void *data, size_t n, char out[DIGEST_HEX_SIZE]);
/** 256 random bits, as 64 lower-case hex digits: a token, an id. */
MUST_CHECK int digest_random_hex(char out[DIGEST_HEX_SIZE], struct err *err);
/** Whether two texts are equal, in a time that does not depend on where they differ. */
bool digest_eq(const char *a, const char *b);

#endif
