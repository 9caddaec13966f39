/* What the reader of requests makes of any bytes, and that it makes the same of them however they
 * are cut. */
#include <stdlib.h>
#include <string.h>

#include "base/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The steps as a text: pieces of data are joined, so that cuts do not show. */
static void trace(const char *bytes, size_t n, size_t piece, struct str *out)
{
    struct http_head head;
    enum http_step step = HTTP_STEP_MORE;
    size_t at = 0;

    http_head_init(&head, 4096, 4096);
    while (at < n && step != HTTP_STEP_REFUSED) {
        size_t end = at + piece < n ? at + piece : n, used, n_data;
        const char *data;

        do {
            step = http_head_read(&head, bytes + at, end - at, &used, &data, &n_data);
            at += used;
            str_add_bytes(out, data, n_data);
            if (step == HTTP_STEP_HEAD)
                str_addf(out, "[%s %s %zu]", head.text.data + head.method,
                         head.text.data + head.target, head.fields.n);
            if (step == HTTP_STEP_DONE) {
                str_add(out, "[done]");
                http_head_again(&head);
            }
            if (step == HTTP_STEP_REFUSED)
                str_addf(out, "[%d]", head.status);
        } while (step != HTTP_STEP_MORE && step != HTTP_STEP_REFUSED);
    }
    http_head_fini(&head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str whole = { 0 }, bytes = { 0 }, pieces = { 0 };

    trace((const char *)data, n, n, &whole);
    trace((const char *)data, n, 1, &bytes);
    trace((const char *)data, n, 7, &pieces);
    /* A refusal may come before or behind data of the same piece, never with another status. */
    if (whole.len != bytes.len || whole.len != pieces.len ||
        (whole.len && (memcmp(whole.data, bytes.data, whole.len) != 0 ||
                       memcmp(whole.data, pieces.data, whole.len) != 0)))
        abort();
    str_fini(&whole);
    str_fini(&bytes);
    str_fini(&pieces);
    return 0;
}
