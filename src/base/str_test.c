#include "base/str.h"

#include "base/test.h"

static const struct {
    const char *name, *text;
    bool is_pair;
    const char *word;
    int64_t number;
} pairs[] = {
    { "a word and a number", "a1f 17", true, "a1f", 17 },
    { "as long as may be", "1234567 0", true, "1234567", 0 },
    { "the largest number", "a 9223372036854775807", true, "a", INT64_MAX },
    { "a word too long", "12345678 0", false, "", -1 },
    { "a number too large", "a 9223372036854775808", false, "", -1 },
    { "below 0", "a -1", false, "", -1 },
    { "no number", "a ", false, "", -1 },
    { "no space", "a", false, "", -1 },
    { "no word", " 1", false, "", -1 },
    { "two spaces", "a  1", false, "", -1 },
    { "more behind", "a 1 ", false, "", -1 },
    { "nothing", "", false, "", -1 },
};

TEST(text_is_read_as_a_word_and_a_number)
{
    ROW_EACH (c, pairs) {
        char word[8] = "";
        int64_t number = -1;
        CHECK_EQ(text_to_pair(c->text, word, sizeof(word), &number), c->is_pair);
        CHECK_TEXT(word, c->word);
        CHECK_EQ(number, c->number);
    }
}
