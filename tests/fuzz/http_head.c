/* What the reader of requests makes of any bytes, and that it makes the same of them however they
 * are cut. */
#include <stdlib.h>
#include <string.h>

#include "base/http_head.h"
#include "base/http_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void trace_head(const struct http_head *head, struct str *out)
{
    struct http_target target = { 0 };
    const char *text = head->text.data + head->target;
    int r = http_target_split(text, &target);

    str_addf(out, "[%s %s %zu %d]", head->text.data + head->method, text, head->fields.n, r);
    for (size_t i = 0; http_target_part(&target, i); i++)
        str_addf(out, "/%s", http_target_part(&target, i));
    VEC_EACH (query, &target.queries)
        str_addf(out, "&%s", http_target_query(&target, target.texts.data + query->name));
    http_target_fini(&target);
}

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
                trace_head(&head, out);
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
