#include "base/code.h"

#include "base/states.h"
#include "base/test.h"

TEST(codes_are_whole_and_in_one_list_only)
{
    const struct code_text *code;

    for (size_t i = 0; (code = code_at(i)); i++) {
        CHECK(code->word && code->word[0]);
        CHECK(code->sentence && code->sentence[0]);
        CHECK(code->next && code->next[0]);
        CHECK(code_find(code->word) == code);
    }
}

/* PORT_TAKEN is the one word that is both a reason to wait and a phase's failure. */
TEST(codes_cover_every_cause_and_detail)
{
    for (int i = 1; i < CAUSE_COUNT; i++)
        CHECK(code_find(cause_words[i]) != NULL);
    for (int i = 1; i < DETAIL_COUNT; i++)
        CHECK(code_find(detail_words[i]) != NULL);
}
