/* Digests and secrets: see digest.h. */
#include "base/digest.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void to_hex(const unsigned char bytes[32], char out[DIGEST_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[64] = '\0';
}

void digest_hex(const void *data, size_t n, char out[DIGEST_HEX_SIZE])
{
    unsigned char bytes[32];
    unsigned int size = 0;

    if (!EVP_Digest(data, n, bytes, &size, EVP_sha256(), NULL) || size != sizeof(bytes))
        abort();
    to_hex(bytes, out);
}

int digest_random_hex(char out[DIGEST_HEX_SIZE], struct err *err)
{
    unsigned char bytes[32];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return err_sys(err, -errno, "get random bytes");
    to_hex(bytes, out);
    return 0;
}

bool digest_eq(const char *a, const char *b)
{
    size_t n = strlen(a);

    return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}
