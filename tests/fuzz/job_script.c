/* Scripts: what the #BERTH lines say, as a job. */
#include "api/script.h"

#include "job_round.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    CLEANUP(flags_fini) struct flags flags;
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct problem problem = { 0 };
    const char *text = (const char *)data;

    job_round("fuzz.sh", text, n);
    flags_init(&flags);
    if (script_read("fuzz.sh", text, n, &flags, &problem) < 0) {
        assert(problem.n_fields);
        return 0;
    }
    if (job_spec_from_json(flags.job, "fuzz", &spec, &problem) < 0)
        flags_blame(&flags, &problem);
    return 0;
}
