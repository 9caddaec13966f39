/*
 * Comparing: what came of a run against what its document expects.
 */
#ifndef SCENARIO_COMPARE_H
#define SCENARIO_COMPARE_H

#include "scenario/run.h"

/** What is asked of the cluster as given, before any action. */
MUST_CHECK int compare_before(struct run *run, struct str *faults, struct err *err);
/** What is asked at the end. */
MUST_CHECK int compare_after(struct run *run, struct str *faults, struct err *err);

/** Why tasks and jobs wait, in the words of profile volcano. */
void compare_messages(struct run *run, struct str *faults);
/** The indexes of the devices that a task holds, in rising order; in the arena. */
struct berth_numbers gpus_held(const struct berth_task *task, struct arena *arena);
/** Likewise the cores and devices held at the end. */
MUST_CHECK int compare_devices(struct run *run, struct str *faults, struct err *err);

#endif
