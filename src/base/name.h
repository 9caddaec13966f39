/*
 * Names: how jobs, tasks and attempts are written, and which names users may give.
 *
 *     job      j-1204
 *     task     j-1204/worker.3      (j-1204/3 where there is one group)
 *     attempt  j-1204/worker.3#2
 */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    NAME_MAX_BYTES = 63,    /* a name that users give: [a-z0-9-] */
    NAME_ATTEMPT_SIZE = 128 /* room for any attempt's name and its NUL */
};

/** Whether text is [a-z0-9-]{1,63}. */
bool name_is_valid(const char *text);
/** Whether text can name a node: [A-Za-z0-9.-]{1,63}, not beginning with a dot or dash. */
bool name_is_valid_node(const char *text);
/** Whether text is a label's key or a resource's name: [A-Za-z0-9._/-]{1,253}. */
bool name_is_valid_label(const char *text);
/** Whether text can name an environment variable: [A-Za-z0-9_.-]{1,253}, not beginning with a
 * digit. */
bool name_is_valid_variable(const char *text);

/** Writes "j-ID". */
void name_job(uint64_t job, char out[NAME_ATTEMPT_SIZE]);
/** Writes "j-ID/GROUP.INDEX". */
void name_task(uint64_t job, const char *group, uint32_t index, char out[NAME_ATTEMPT_SIZE]);
/** Writes "j-ID/GROUP.INDEX#NUMBER". */
void name_attempt(uint64_t job, const char *group, uint32_t index, uint32_t number,
                  char out[NAME_ATTEMPT_SIZE]);

/* A name taken apart. */
struct name_parts {
    uint64_t job;
    char group[NAME_MAX_BYTES + 1]; /* "" where none was given */
    bool has_index, has_number;
    uint32_t index, number; /* number from 1 */
};

/**
 * Takes a job's, task's or attempt's name apart.
 *
 * Returns  0; -EINVAL with the reason
 */
MUST_CHECK int name_parse(const char *text, struct name_parts *out, struct err *err);

#endif
