/* libcurl: see curl.h. Once loaded it stays until the process ends. */
#define CURL_HAS_OWN_NAMES
#include "client/curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define LIBRARY "libcurl.so.4"

struct curl_calls curl_calls;

static struct err failed; /* why it could not be loaded; written once */

static const struct {
    const char *name;
    size_t offset;
} calls[] = {
#define CURL_ROW(name) { #name, offsetof(struct curl_calls, name) },
    CURL_CALLS(CURL_ROW)
#undef CURL_ROW
};

static void load(void)
{
    struct curl_calls found = { 0 };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? NULL : dlerror();

    for (size_t i = 0; !why && i < COUNT_OF(calls); i++) {
        void *call = dlsym(library, calls[i].name);

        memcpy((char *)&found + calls[i].offset, &call, sizeof(call));
        why = call ? NULL : calls[i].name;
    }
    if (!why && found.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        why = "it does not begin";
    if (why)
        (void)err_set(&failed, -ELIBACC, "load %s, which speaks to servers: %s", LIBRARY, why);
    else
        curl_calls = found;
}

int curl_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (failed.code)
        return err_set(err, failed.code, "%s", failed.text);
    return 0;
}
