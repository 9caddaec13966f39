/*
 * Fuzz target: reading rows back from the JSON of events. The first byte picks the kind. What
 * was read is written and read again: the same row, the same text.
 */
#include <stdint.h>
#include <string.h>

#include "ledger/schema.h"

#include "ledger/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = { 0 }, again = { 0 };
    struct err err = { 0 };
    enum row_kind kind;
    void *row = NULL, *back = NULL;

    if (n == 0)
        return 0;
    kind = (enum row_kind)((data[0] - 'a') % ROW_KIND_COUNT);
    if (data[0] < 'a' || row_from_json(kind, (const char *)data + 1, n - 1, &row, &err) < 0)
        return 0;
    row_to_json(kind, row, &text);
    if (row_from_json(kind, str_text(&text), text.len, &back, &err) < 0 || !row_eq(kind, row, back))
        __builtin_trap();
    row_to_json(kind, back, &again);
    if (strcmp(str_text(&text), str_text(&again)) != 0)
        __builtin_trap();
    row_free(kind, row);
    row_free(kind, back);
    str_fini(&text);
    str_fini(&again);
    return 0;
}
