/* Digests and secrets: see digest.h. */
#include "base/digest.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
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

/* libcrypto is loaded with the first digest: a verb that needs none would wait for it longer than
 * for all else. Without it nothing can be trusted, so the process ends. */
static struct {
    __typeof__(EVP_Digest) *digest;
    EVP_MD *
        sha256; /* fetched once: looking it up took longer than a digest, and each request has one */
} crypto;

static void load_crypto(void)
{
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    void *digest = library ? dlsym(library, "EVP_Digest") : NULL;
    void *found = library ? dlsym(library, "EVP_MD_fetch") : NULL;
    __typeof__(EVP_MD_fetch) *fetch = NULL;

    memcpy(&crypto.digest, &digest, sizeof(digest));
    memcpy(&fetch, &found, sizeof(found));
    if (!crypto.digest || !fetch) {
        fprintf(stderr, "berth: load libcrypto.so.3: %s\n", dlerror());
        abort();
    }
    crypto.sha256 = fetch(NULL, "SHA256", NULL);
    if (!crypto.sha256)
        abort();
}

void digest_hex(const void *data, size_t n, char out[DIGEST_HEX_SIZE])
{
    unsigned char bytes[32];
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned int size = 0;

    pthread_once(&once, load_crypto);
    if (!crypto.digest(data, n, bytes, &size, crypto.sha256, NULL) || size != sizeof(bytes))
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
    volatile unsigned char differs = 0; /* so that no comparison is left out */

    if (n != strlen(b))
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}
