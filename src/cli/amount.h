/*
 * Amounts as people read them in a table: "23.5Gi" where the API says "24683620Ki".
 */
#ifndef CLI_AMOUNT_H
#define CLI_AMOUNT_H

#include <stdint.h>

#include "base/str.h"

/** Adds an amount of the API; of bytes with at most one decimal, in the largest unit that leaves 1
 * or more; thousandths ("2500m") as a decimal. What is no amount is added as it is. */
void amount_add(const char *text, const char *resource, struct str *out);
/** The same for a number of bytes. */
void amount_add_bytes(int64_t bytes, struct str *out);

#endif
