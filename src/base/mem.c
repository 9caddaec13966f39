/* Memory: see mem.h. Never returns NULL for a size; never logs; it aborts. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void *mem_zero(size_t n, size_t size)
{
    void *ptr = calloc(n ? n : 1, size ? size : 1);

    if (!ptr)
        abort();
    return ptr;
}

void *mem_zero_upto(size_t size, size_t n)
{
    void *ptr = malloc(size);

    if (!ptr)
        abort();
    return memset(ptr, 0, n);
}

void *mem_resize(void *ptr, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        abort();
    ptr = realloc(ptr, bytes > 0 ? bytes : 1);
    if (!ptr)
        abort();
    return ptr;
}

void *mem_copy(const void *from, size_t size)
{
    char *to = mem_resize(NULL, 1, size + 1);

    if (size)
        memcpy(to, from, size);
    to[size] = '\0';
    return to;
}

char *text_copy(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}

void mem_free(void *ptr)
{
    free(ptr);
}

void freep(void *ptr)
{
    void **at = ptr;

    free(*at);
    *at = NULL;
}
