#include "base/digest.h"

#include <string.h>

#include "base/test.h"

/* The examples of FIPS 180-2, appendix B. */
static const struct {
    const char *name, *text, *hex;
} rows[] = {
    { "nothing", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
};

TEST(digest_hex_is_sha_256)
{
    ROW_EACH (c, rows) {
        char hex[DIGEST_HEX_SIZE];
        digest_hex(c->text, strlen(c->text), hex);
        CHECK_TEXT(hex, c->hex);
    }
}

TEST(digest_random_differs)
{
    char a[DIGEST_HEX_SIZE], b[DIGEST_HEX_SIZE];
    struct err err = { 0 };

    CHECK_OK(digest_random_hex(a, &err), &err);
    CHECK_OK(digest_random_hex(b, &err), &err);
    CHECK(!digest_eq(a, b));
    CHECK(digest_eq(a, a));
    CHECK(!digest_eq(a, "short"));
}
