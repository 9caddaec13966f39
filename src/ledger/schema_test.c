/* Rows and their JSON: what was written is read back to the byte, and nothing else is read. */
#include "ledger/schema.h"

#include <string.h>

#include "base/test.h"
#include "ledger/ledger.h"

static void random_text(struct str *out, uint64_t *seed)
{
    static const char letters[] = "ab\"\\\n\x01\x1f/\xc3\xa4 {}[],:";
    size_t n = test_random(seed) % 12;

    str_clear(out);
    for (size_t i = 0; i < n; i++)
        str_add_char(out, letters[test_random(seed) % (sizeof(letters) - 1)]);
}

static const char *random_json(uint64_t *seed)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "{\"a\":[1,2.5e-3,null,true]}",
        "{ \"b\" : \"\\u00e4\\\"\" }",
        "-0.5",
        "[{\"x\":{}},false]",
    };

    return texts[test_random(seed) % COUNT_OF(texts)];
}

static void fill(enum row_kind kind, void *row, uint64_t *seed)
{
    const struct kind *k = &schema[kind];
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < k->n_columns; i++) {
        const struct column *column = &k->columns[i];
        uint64_t number = test_random(seed);
        if (column->type == COLUMN_JSON) {
            const char *json = random_json(seed);
            row_put_text(row, column, json, strlen(json));
        } else if (column->type == COLUMN_TEXT) {
            random_text(&text, seed);
            row_put_text(row, column, str_text(&text), text.len);
        } else if (column->type == COLUMN_BOOL) {
            row_put_int(row, column, (int64_t)(number & 1));
        } else if (column->words) {
            row_put_int(row, column, (int64_t)(number % column->n_words));
        } else {
            row_put_int(row, column, (int64_t)(number >> (number & 63)));
        }
    }
}

TEST(rows_of_all_kinds_come_back_from_their_json)
{
    uint64_t seed = test_seed();

    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++) {
        for (int i = 0; i < 200; i++) {
            CLEANUP(str_fini) struct str text = { 0 };
            struct err err = { 0 };
            void *row = row_new(kind), *back = NULL;
            fill(kind, row, &seed);
            row_to_json(kind, row, &text);
            CHECK(json_is_well(str_text(&text), '{'));
            CHECK_OK(row_from_json(kind, str_text(&text), text.len, &back, &err), &err);
            CHECK(row_eq(kind, row, back));
            row_free(kind, back);
            row_free(kind, row);
        }
    }
}

static const struct {
    const char *name, *text, *says;
} wrong[] = {
    { "nothing", "", "no object" },
    { "a list", "[]", "no object" },
    { "no key", "{\"generation\":1}", "a key is missing" },
    { "an unknown column", "{\"node\":\"n\",\"x\":1}", "not known" },
    { "a column twice", "{\"node\":\"n\",\"beat\":1,\"beat\":1}", "comes twice" },
    { "a number that is a text", "{\"node\":\"n\",\"beat\":\"1\"}", "cannot hold" },
    { "a number with a fraction", "{\"node\":\"n\",\"beat\":1.5}", "no end" },
    { "a number that is too large", "{\"node\":\"n\",\"beat\":9223372036854775808}",
      "cannot hold" },
    { "a text that is a number", "{\"node\":1}", "cannot hold" },
    { "a NUL within a text", "{\"node\":\"a\\u0000b\"}", "cannot hold" },
    { "an escape that is never written", "{\"node\":\"a\\u0041b\"}", "cannot hold" },
    { "something behind the end", "{\"node\":\"n\"} ", "no end" },
    { "no end", "{\"node\":\"n\"", "no end" },
    { "a lone comma", "{\"node\":\"n\",}", "no name" },
};

TEST(what_was_not_written_here_is_not_read)
{
    ROW_EACH (c, wrong) {
        struct err err = { 0 };
        void *row = NULL;
        CHECK_EQ(row_from_json(ROW_BEAT, c->text, strlen(c->text), &row, &err), -22);
        if (!strstr(err.text, c->says))
            print_error("%s\n", err.text);
        CHECK(strstr(err.text, c->says));
    }
}

TEST(states_are_words_of_their_list)
{
    static const char good[] = "{\"job\":1,\"group\":0,\"index\":0,\"state\":\"failed\"}";
    static const char bad[] = "{\"job\":1,\"group\":0,\"index\":0,\"state\":\"done\"}";
    struct err err = { 0 };
    void *row = NULL;

    CHECK_OK(row_from_json(ROW_TASK, good, strlen(good), &row, &err), &err);
    CHECK_EQ(((struct row_task *)row)->state, TASK_FAILED);
    row_free(ROW_TASK, row);
    CHECK(row_from_json(ROW_TASK, bad, strlen(bad), &row, &err) < 0);
}

static const struct {
    const char *name, *text;
    bool is_well;
} jsons[] = {
    { "an object", "{\"a\":1}", true },
    { "blanks between", "{ \"a\" :\n[ 1 , 2 ] }", true },
    { "a list where an object is due", "[]", false },
    { "not closed", "{\"a\":1", false },
    { "a leading zero", "{\"a\":01}", false },
    { "a bare word", "{\"a\":yes}", false },
    { "a control byte in a text", "{\"a\":\"\x02\"}", false },
    { "an unknown escape", "{\"a\":\"\\x\"}", false },
    { "a short escape", "{\"a\":\"\\u12\"}", false },
    { "an exponent without digits", "{\"a\":1e}", false },
    { "two values", "{}{}", false },
};

TEST(json_is_well_formed_or_not)
{
    CLEANUP(str_fini) struct str deep = { 0 };

    ROW_EACH (c, jsons)
        CHECK_EQ(json_is_well(c->text, '{'), c->is_well);
    for (int i = 0; i < 100000; i++)
        str_add_char(&deep, '[');
    CHECK(!json_is_well(str_text(&deep), '['));
}

TEST(a_copy_shares_texts_and_changes_alone)
{
    struct row_queue *row = row_new(ROW_QUEUE), *copy;

    row_set(&row->name, "research");
    copy = row_copy(ROW_QUEUE, row);
    CHECK(copy->name == row->name);
    row_set(&copy->name, "prod");
    CHECK_TEXT(row->name, "research");
    row_set(&copy->name, NULL);
    CHECK_TEXT(copy->name, "");
    CHECK(!row_eq(ROW_QUEUE, row, copy));
    row_free(ROW_QUEUE, row);
    row_free(ROW_QUEUE, copy);
}
