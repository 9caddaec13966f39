/*
 * What was parsed is printed and parsed again, and must be equal.
 */
#ifndef FUZZ_JOB_ROUND_H
#define FUZZ_JOB_ROUND_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/job.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A job's text of any kind: read, write, read, write; or faults that can all be written. */
static inline void job_round(const char *path, const char *text, size_t n)
{
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL, *again = NULL;
    CLEANUP(freep) char *first = NULL, *second = NULL;
    struct problem problem = { 0 };
    struct err err = { 0 };

    if (job_spec_from_text(path, text, n, &spec, &problem) < 0) {
        json_auto_t *document = problem_to_json(&problem, NULL);
        CLEANUP(freep) char *whole = json_dumps(document, JSON_COMPACT);
        CLEANUP(str_fini) struct str lines = { 0 };
        assert(problem.code && whole && !spec);
        problem_write(&problem, path, &lines);
        return;
    }
    first = job_spec_to_text(spec, NULL);
    if (job_spec_from_canonical(first, &again, &err) < 0)
        abort();
    second = job_spec_to_text(again, NULL);
    assert(strcmp(first, second) == 0);
}

#endif
