#include "base/quantity.h"

#include <errno.h>

#include "base/test.h"

static const struct {
    const char *name, *text;
    enum quantity_unit unit;
    int result;
    int64_t value;
    const char *shown;
} rows[] = {
    { "whole cores", "2", QUANTITY_MILLI, 0, 2000, "2" },
    { "thousandths", "500m", QUANTITY_MILLI, 0, 500, "500m" },
    { "a fraction", "1.5", QUANTITY_MILLI, 0, 1500, "1500m" },
    { "finer than a thousandth rounds up", "0.0001", QUANTITY_MILLI, 0, 1, "1m" },
    { "nanocores round up", "1n", QUANTITY_MILLI, 0, 1, "1m" },
    { "binary", "4Gi", QUANTITY_BYTES, 0, 4ll << 30, "4Gi" },
    { "decimal", "1G", QUANTITY_BYTES, 0, 1000000000, "1000000000" },
    { "kibi", "1025", QUANTITY_BYTES, 0, 1025, "1025" },
    { "half a gibi", "0.5Gi", QUANTITY_BYTES, 0, 1ll << 29, "512Mi" },
    { "exponent", "1e3", QUANTITY_BYTES, 0, 1000, "1000" },
    { "exa, not an exponent", "1E", QUANTITY_BYTES, 0, 1000000000000000000, "976562500000000Ki" },
    { "milli bytes round up", "1500m", QUANTITY_BYTES, 0, 2, "2" },
    { "zero", "0", QUANTITY_MILLI, 0, 0, "0" },
    { "minus zero", "-0", QUANTITY_MILLI, 0, 0, "0" },
    { "the largest", "1Ei", QUANTITY_BYTES, 0, QUANTITY_MAX, "1Ei" },
    { "one above the largest", "1152921504606846977", QUANTITY_BYTES, -ERANGE, 0, "" },
    { "2^63", "9223372036854775808", QUANTITY_BYTES, -ERANGE, 0, "" },
    { "huge exponent", "1e400", QUANTITY_BYTES, -ERANGE, 0, "" },
    { "tiny exponent", "1e-400", QUANTITY_BYTES, 0, 1, "1" },
    { "negative", "-1", QUANTITY_MILLI, -ERANGE, 0, "" },
    { "not a number", "NaN", QUANTITY_MILLI, -EINVAL, 0, "" },
    { "infinity", "inf", QUANTITY_MILLI, -EINVAL, 0, "" },
    { "empty", "", QUANTITY_MILLI, -EINVAL, 0, "" },
    { "whole", "110", QUANTITY_WHOLE, 0, 110000, "110" },
    { "whole in thousandths", "2000m", QUANTITY_WHOLE, 0, 2000, "2" },
    { "whole thousands", "1.5k", QUANTITY_WHOLE, 0, 1500000, "1500" },
    { "a part of what is whole", "1.5", QUANTITY_WHOLE, -EINVAL, 0, "" },
    { "a thousandth of what is whole", "1m", QUANTITY_WHOLE, -EINVAL, 0, "" },
    { "too many of what is whole", "1Ei", QUANTITY_WHOLE, -ERANGE, 0, "" },
    { "only a suffix", "Gi", QUANTITY_BYTES, -EINVAL, 0, "" },
    { "unknown suffix", "1GB", QUANTITY_BYTES, -EINVAL, 0, "" },
    { "blank inside", "1 G", QUANTITY_BYTES, -EINVAL, 0, "" },
    { "hex", "0x10", QUANTITY_BYTES, -EINVAL, 0, "" },
    { "two points", "1.2.3", QUANTITY_BYTES, -EINVAL, 0, "" },
    { "too many digits", "1234567890123456789012345678901", QUANTITY_BYTES, -EINVAL, 0, "" },
};

TEST(quantity_parse_reads_or_refuses)
{
    ROW_EACH (c, rows) {
        struct err err = { 0 };
        int64_t value = 0;
        CHECK_EQ(quantity_parse(c->text, c->unit, &value, &err), c->result);
        CHECK_EQ(value, c->value);
        CHECK_EQ(err.code, c->result);
    }
}

TEST(quantity_format_is_read_back)
{
    ROW_EACH (c, rows) {
        if (c->result)
            continue;
        CLEANUP(str_fini) struct str out = { 0 };
        struct err err = { 0 };
        int64_t value = -1;
        quantity_format(c->value, c->unit, &out);
        CHECK_TEXT(str_text(&out), c->shown);
        CHECK_EQ(quantity_parse(str_text(&out), c->unit, &value, &err), 0);
        CHECK_EQ(value, c->value);
    }
}

static const struct {
    const char *name, *text;
    int result;
    int64_t ms;
    const char *shown;
} times[] = {
    { "seconds", "30s", 0, 30000, "30s" },
    { "mixed", "1h30m", 0, 5400000, "1h30m" },
    { "fraction", "1.5h", 0, 5400000, "1h30m" },
    { "milliseconds", "250ms", 0, 250, "250ms" },
    { "days", "2d", 0, 172800000, "2d" },
    { "nothing", "0s", 0, 0, "0s" },
    { "bare zero", "0", -EINVAL, 0, "" },
    { "no unit", "30", -EINVAL, 0, "" },
    { "wrong order", "30s1h", -EINVAL, 0, "" },
    { "same unit twice", "1s1s", -EINVAL, 0, "" },
    { "negative", "-1s", -ERANGE, 0, "" },
    { "words", "soon", -EINVAL, 0, "" },
    { "empty", "", -EINVAL, 0, "" },
    { "the longest", "3650d", 0, DURATION_MAX_MS, "3650d" },
    { "longer", "3650d1ms", -ERANGE, 0, "" },
    { "too long", "999999999999d", -ERANGE, 0, "" },
    { "of more digits than are read", "99999999999999999999999999999999999.5d", -ERANGE, 0, "" },
    { "too long, and no unit", "999999999999x", -EINVAL, 0, "" },
    { "a long fraction", "1.000000000000000000s", 0, 1000, "1s" },
    { "parts that are too long together", "3649d24h1s", -ERANGE, 0, "" },
};

TEST(duration_parse_says_what_the_longest_is)
{
    struct err err = { 0 };
    int64_t ms = 0;

    CHECK_EQ(duration_parse("4000d", &ms, &err), -ERANGE);
    CHECK_TEXT(err.text, "\"4000d\" is longer than 3650d, the longest that may be");
}

TEST(duration_parse_reads_or_refuses)
{
    ROW_EACH (c, times) {
        struct err err = { 0 };
        int64_t ms = 0;
        CHECK_EQ(duration_parse(c->text, &ms, &err), c->result);
        CHECK_EQ(ms, c->ms);
        if (c->result)
            continue;
        CLEANUP(str_fini) struct str out = { 0 };
        duration_format(ms, &out);
        CHECK_TEXT(str_text(&out), c->shown);
    }
}

static const struct {
    const char *name;
    int64_t bytes, milli, held;
} headrooms[] = {
    { "none: to the byte", 1, 1000, 1 },
    { "in whole Mi, upwards", 1, 1250, 1 << 20 },
    { "exact", INT64_C(1000) << 20, 1250, INT64_C(1250) << 20 },
    { "a half is one", INT64_C(50) << 20, 1250, INT64_C(63) << 20 },
    { "nothing", 0, 1250, 0 },
    { "no more than there can be", INT64_MAX / 2, 100000, INT64_MAX },
};

TEST(memory_is_held_with_headroom)
{
    ROW_EACH (c, headrooms)
        CHECK_EQ(quantity_with_headroom(c->bytes, c->milli), c->held);
}
