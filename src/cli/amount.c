/* Amounts: see amount.h. */
#include "cli/amount.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/quantity.h"

void amount_add_bytes(int64_t bytes, struct str *out)
{
    static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    size_t unit = 0;
    int64_t size = 1, tenths;

    while (unit + 1 < COUNT_OF(units) && bytes / 1024 >= size) {
        size *= 1024;
        unit++;
    }
    tenths = bytes / size * 10 + (bytes % size * 10 + size / 2) / size;
    if (tenths == 10240 && unit + 1 < COUNT_OF(units)) { /* 1023.96Mi is 1Gi, not 1024Mi */
        tenths = 10;
        unit++;
    }
    str_addf(out, "%" PRId64, tenths / 10);
    if (tenths % 10)
        str_addf(out, ".%" PRId64, tenths % 10);
    str_add(out, units[unit]);
}

/* Thousandths as a decimal: 2500 is "2.5". */
static void add_milli(int64_t milli, struct str *out)
{
    int64_t rest = milli % 1000;
    int n_digits = 3;

    str_addf(out, "%" PRId64, milli / 1000);
    if (rest == 0)
        return;
    for (; rest % 10 == 0; rest /= 10)
        n_digits--;
    str_addf(out, ".%0*" PRId64, n_digits, rest);
}

void amount_add(const char *text, const char *resource, struct str *out)
{
    struct err err = { 0 };
    size_t n = strlen(text);
    int64_t bytes, milli;

    if (quantity_unit_of(resource) == QUANTITY_BYTES &&
        quantity_parse(text, QUANTITY_BYTES, &bytes, &err) == 0)
        amount_add_bytes(bytes, out);
    else if (n > 1 && text[n - 1] == 'm' && quantity_parse(text, QUANTITY_MILLI, &milli, &err) == 0)
        add_milli(milli, out);
    else
        str_add(out, text);
}
