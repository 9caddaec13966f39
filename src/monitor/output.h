/*
 * Output: what the container writes becomes CRI lines in log.BASE files.
 */
#ifndef MONITOR_OUTPUT_H
#define MONITOR_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/launch.h"

enum stream { STREAM_OUT, STREAM_ERR, STREAM_COUNT };

/**
 * Takes what one pipe has now and logs it; never waits.
 *
 * @fd      non-blocking
 * Returns  1 something was read; 0 nothing is there now; -1 the pipe has ended
 */
int output_take(const struct launch *launch, enum stream stream, int fd);
/** Closes the log; the next container's is another. */
void output_end(void);

#endif
