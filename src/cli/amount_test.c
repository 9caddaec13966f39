#include "cli/amount.h"

#include "base/test.h"

static const struct {
    const char *name, *text, *resource, *want;
} rows[] = {
    { "an odd size", "24683620Ki", "memory", "23.5Gi" },
    { "a round size", "512Gi", "memory", "512Gi" },
    { "nearly round", "33554436Ki", "memory", "32Gi" },
    { "many of a smaller unit", "9999Ki", "memory", "9.8Mi" },
    { "bytes", "1000", "memory", "1000" },
    { "none", "0", "memory", "0" },
    { "rounded up to the next unit", "1048575Ki", "memory", "1Gi" },
    { "decimal units", "1G", "memory", "953.7Mi" },
    { "the largest", "1024Pi", "memory", "1Ei" },
    { "thousandths", "2500m", "cpu", "2.5" },
    { "few of them", "50m", "cpu", "0.05" },
    { "odd ones", "36667m", "pods", "36.667" },
    { "whole ones", "12", "cpu", "12" },
    { "a word that ends alike", "m", "cpu", "m" },
    { "no amount", "-", "memory", "-" },
};

TEST(amounts_are_short)
{
    ROW_EACH (c, rows) {
        CLEANUP(str_fini) struct str text = { 0 };

        amount_add(c->text, c->resource, &text);
        CHECK_TEXT(str_text(&text), c->want);
    }
}
