/*
 * Feed, what tasks want of a node beside amounts and labels.
 */
#ifndef SERVER_FEED_WANTS_H
#define SERVER_FEED_WANTS_H

#include "api/job.h"
#include "base/arena.h"
#include "berth/engine.h"

/** The effect of a taint by its word; NoSchedule for what is none. */
enum berth_effect feed_effect(const char *word);
/** The node, capability, tolerations and affinity of a group; texts are borrowed from it. */
void feed_wants(const struct job_group *from, struct arena *arena, struct berth_task_group *out);
/** What keeps a job together; the name of a tier is borrowed from it. */
struct berth_topology feed_topology(const struct job_group *from);
/** What a node can do: a label `capability/NAME` with a value is NAME@VALUE. */
struct berth_words feed_capabilities(const struct berth_labels *labels, struct arena *arena);

/** What a node weighs where nodes are scored by weight: its label `berth/weight`, else 100. */
int feed_weight(const char *label);

#endif
