/* JSON: any value read is written and read again; and the same text as a job. */
#include "api/json.h"

#include "job_round.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    json_auto_t *value = NULL, *again = NULL;
    struct problem problem = { 0 };
    const char *text = (const char *)data;
    CLEANUP(freep) char *written = NULL;

    job_round("fuzz.json", text, n);
    if (json_read(text, n, 1 << 20, &value, &problem) < 0)
        return 0;
    written = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!written || json_read(written, strlen(written), 8 << 20, &again, &problem) < 0)
        abort();
    assert(json_equal(value, again));
    return 0;
}
