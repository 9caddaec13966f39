/* Quantities and durations: see quantity.h. Integers only; nothing is read through a double. */
#include "base/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_DIGITS = 30, LARGEST_EXPONENT = 30 };

static const struct {
    const char *suffix;
    int exp10; /* the suffix is 10^exp10 * 2^exp2 */
    int exp2;
} suffixes[] = {
    { "", 0, 0 },    { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },
    { "k", 3, 0 },   { "M", 6, 0 },   { "G", 9, 0 },   { "T", 12, 0 },
    { "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
    { "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
};

enum quantity_unit quantity_unit_of(const char *resource)
{
    if (text_eq(resource, "memory") || text_eq(resource, "storage") ||
        text_eq(resource, "ephemeral-storage") || text_begins(resource, "hugepages-"))
        return QUANTITY_BYTES;
    return text_eq(resource, "pods") ? QUANTITY_WHOLE : QUANTITY_MILLI;
}

/* A decimal number: digits * 10^exp10. */
struct decimal {
    unsigned __int128 digits;
    int exp10;
    bool negative;
};

/* Reads sign, digits and fraction; returns what is behind them, or NULL if there is no number. */
static const char *read_decimal(const char *at, struct decimal *out)
{
    int n = 0, n_significant = 0;
    bool in_fraction = false;

    if (*at == '-' || *at == '+')
        out->negative = *at++ == '-';
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && !in_fraction); at++) {
        if (*at == '.') {
            in_fraction = true;
            continue;
        }
        n++;
        if (n_significant > 0 || *at != '0')
            n_significant++;
        if (n_significant > MOST_DIGITS)
            return NULL;
        out->digits = out->digits * 10 + (unsigned)(*at - '0');
        out->exp10 -= in_fraction;
    }
    return n ? at : NULL;
}

static const char *read_exponent(const char *at, struct decimal *out)
{
    bool negative = false;
    int exponent = 0;

    at++;
    if (*at == '-' || *at == '+')
        negative = *at++ == '-';
    if (*at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        exponent = exponent * 10 + (*at - '0');
        if (exponent > 1000)
            exponent = 1000;
    }
    out->exp10 += negative ? -exponent : exponent;
    return at;
}

/* digits * 10^exp10 * 2^exp2, rounded up; -ERANGE above QUANTITY_MAX. */
static int scale(struct decimal d, int exp2, int64_t *out)
{
    unsigned __int128 value = d.digits, most = (unsigned __int128)QUANTITY_MAX;
    bool rest = false;

    if (value == 0) {
        *out = 0;
        return 0;
    }
    if (exp2 > 0) {
        /* 2^60 * 10^30 does not fit; more than 2^60 is refused anyway once exp10 is positive. */
        if (value > (~(unsigned __int128)0 >> exp2))
            return -ERANGE;
        value <<= exp2;
    }
    for (; d.exp10 > 0; d.exp10--) {
        if (value > most)
            return -ERANGE;
        value *= 10;
    }
    for (; d.exp10 < 0 && value; d.exp10++) {
        rest |= value % 10 != 0;
        value /= 10;
    }
    value += rest;
    if (value > most)
        return -ERANGE;
    *out = (int64_t)value;
    return 0;
}

int quantity_parse(const char *text, enum quantity_unit unit, int64_t *out, struct err *err)
{
    struct decimal d = { 0 };
    const char *at = read_decimal(text, &d);
    int exp2 = -1;
    int64_t value;

    if (!at)
        return err_set(err, -EINVAL, "\"%.40s\" is not a quantity", text);
    if ((*at == 'e' || *at == 'E') &&
        (at[1] == '-' || at[1] == '+' || (at[1] >= '0' && at[1] <= '9'))) {
        at = read_exponent(at, &d);
        if (!at || *at)
            return err_set(err, -EINVAL, "\"%.40s\" is not a quantity", text);
    }
    for (size_t i = 0; i < COUNT_OF(suffixes) && exp2 < 0; i++)
        if (text_eq(at, suffixes[i].suffix)) {
            exp2 = suffixes[i].exp2;
            d.exp10 += suffixes[i].exp10;
        }
    if (exp2 < 0)
        return err_set(
            err, -EINVAL,
            "\"%.40s\" is not a quantity: unknown suffix \"%.10s\" (known: m k M G T P E "
            "Ki Mi Gi Ti Pi Ei)",
            text, at);
    if (d.negative && d.digits)
        return err_set(err, -ERANGE, "\"%.40s\" is negative", text);
    if (unit != QUANTITY_BYTES)
        d.exp10 += 3;
    if (scale(d, exp2, &value) < 0)
        return err_set(err, -ERANGE, "\"%.40s\" is more than the largest amount, 2^60 %s", text,
                       unit == QUANTITY_BYTES ? "bytes" : "thousandths");
    if (unit == QUANTITY_WHOLE && value % 1000)
        return err_set(err, -EINVAL,
                       "\"%.40s\" is not a whole number, and there are no parts of one", text);
    *out = value;
    return 0;
}

void quantity_format(int64_t value, enum quantity_unit unit, struct str *out)
{
    static const char binary[] = "KMGTPE";
    int steps = 0;

    if (unit != QUANTITY_BYTES) {
        if (value % 1000)
            str_addf(out, "%" PRId64 "m", value);
        else
            str_addf(out, "%" PRId64, value / 1000);
        return;
    }
    while (value && value % 1024 == 0 && steps < 6) {
        value /= 1024;
        steps++;
    }
    str_addf(out, "%" PRId64, value);
    if (steps) {
        str_add_char(out, binary[steps - 1]);
        str_add_char(out, 'i');
    }
}

static const struct {
    const char *suffix;
    int64_t ms;
} time_units[] = {
    { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
};

/* A number of more digits than are read: whether it is so long that it is too large anyhow. */
static const char *pass_digits(const char *at)
{
    size_t n = strspn(at += strspn(at, "0"), "0123456789");

    return n < MOST_DIGITS / 2 ? NULL
                               : at + n + (at[n] == '.' ? 1 + strspn(at + n + 1, "0123456789") : 0);
}

/* One "1.5h"; the unit must be smaller than the one before. Beyond the longest it is only more. */
static const char *read_part(const char *at, size_t *unit, int64_t *total)
{
    struct decimal d = { 0 };
    const char *end = *at >= '0' && *at <= '9' ? read_decimal(at, &d) : NULL;
    bool is_long = !end && (end = pass_digits(at));
    size_t n;
    int64_t ms;

    if (!end)
        return NULL;
    n = strspn(end, "dhms");
    for (size_t i = *unit; i < COUNT_OF(time_units); i++) {
        if (strlen(time_units[i].suffix) != n || strncmp(end, time_units[i].suffix, n) != 0)
            continue;
        d.digits *= (unsigned __int128)time_units[i].ms; /* MOST_DIGITS leave room for it */
        if (is_long || scale(d, 0, &ms) < 0 || ms > DURATION_MAX_MS)
            ms = DURATION_MAX_MS + 1;
        *total += ms;
        *unit = i + 1;
        return end + n;
    }
    return NULL;
}

int duration_parse(const char *text, int64_t *out_ms, struct err *err)
{
    const char *at = text;
    int64_t total = 0;
    size_t unit = 0;

    if (*text == '-')
        return err_set(err, -ERANGE, "\"%.40s\" is negative", text);
    do
        at = read_part(at, &unit, &total);
    while (at && *at);
    if (!at)
        return err_set(err, -EINVAL,
                       "\"%.40s\" is not a duration (such as 30s, 1h30m, 2d; units d h m s ms)",
                       text);
    if (total > DURATION_MAX_MS)
        return err_set(err, -ERANGE, "\"%.40s\" is longer than 3650d, the longest that may be",
                       text);
    *out_ms = total;
    return 0;
}

int64_t quantity_with_headroom(int64_t bytes, int64_t milli)
{
    const int64_t mi = 1 << 20;
    __int128 held;

    if (milli <= 1000)
        return bytes;
    held = ((__int128)bytes * milli + 999) / 1000;
    held = (held + mi - 1) / mi * mi;
    return held > INT64_MAX ? INT64_MAX : (int64_t)held;
}

void duration_format(int64_t ms, struct str *out)
{
    if (ms == 0) {
        str_add(out, "0s");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(time_units); i++) {
        int64_t n = ms / time_units[i].ms;
        if (n)
            str_addf(out, "%" PRId64 "%s", n, time_units[i].suffix);
        ms -= n * time_units[i].ms;
    }
}
