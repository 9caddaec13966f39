/* YAML: any value read is written as JSON, which is YAML, and read again; and as a job. */
#include "api/yaml.h"

#include "job_round.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    json_auto_t *value = NULL, *again = NULL;
    struct problem problem = { 0 };
    const char *text = (const char *)data;
    CLEANUP(freep) char *written = NULL;

    job_round("fuzz.yaml", text, n);
    if (yaml_read(text, n, 1 << 20, &value, &problem) < 0)
        return 0;
    /* Aliases may make it long; what libyaml then takes to read it is not what is tested. */
    written = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    if (!written)
        abort();
    if (strlen(written) > 1 << 16 || strstr(written, "\\u"))
        return 0; /* JSON's pairs of surrogates are not YAML's escapes */
    if (yaml_read(written, strlen(written), 1 << 20, &again, &problem) < 0)
        abort();
    assert(json_equal(value, again));
    return 0;
}
