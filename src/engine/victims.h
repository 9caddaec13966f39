/*
 * Victims: whom to evict from a node so that a task fits, and in which order.
 */
#ifndef ENGINE_VICTIMS_H
#define ENGINE_VICTIMS_H

#include "engine/pq.h"
#include "engine/session.h"

/** Tasks on a node by namespace, name and index: the order in which plugins are asked. */
struct victims node_tasks(struct session *s, const struct node *node);
/** Whether a is evicted before b for a task of job `taker`. */
bool victim_before(struct session *s, const struct task *a, const struct task *b,
                   const struct job *taker);
/** Whether a task is among them. */
bool victims_have(const struct victims *victims, const struct task *task);
/** Sorts so that who is evicted first comes first. */
void victims_sort(struct session *s, struct victims *victims, const struct job *taker);
/**
 * The same order as a heap, from which they are taken one by one: what each eviction changes in the
 * order is seen where the heap is sifted, and nowhere else. Profile `volcano` decides so.
 */
void victims_heap(struct session *s, struct victims *victims, const struct job *taker);
/** Takes the first of a heap, which must not be empty. */
struct task *victims_pop(struct session *s, struct victims *heap, const struct job *taker);
/** Whether a task fits what the node will have free, with `more` added if that is not NULL. */
bool fits_future(const struct session *s, const struct task *task, const struct node *node,
                 const struct victims *more);
/** Whether amounts say that it would fit without those of the victims that are marked (NULL: all). */
bool fits_without(const struct session *s, const struct task *task, const struct node *node,
                  const struct victims *victims, const bool *marked);
/** Whether a task's priority class, or its group, spares it. */
bool task_is_preemptable(const struct task *task);

/** Whether a task keeps the system itself alive: plugin conformance spares it. */
bool task_is_vital(const struct task *task);

/** Whether with those of a job that are gone it can lose one more and have its minimum yet. */
bool victims_spare(const struct victims *gone, const struct task *task);

/** Whether none of a job's tasks that run, or (held) are promised room, is spared evictions. */
bool job_may_go_whole(const struct session *s, const struct job *job, bool held);
/**
 * Adds what of a job evictions could free on nodes that are there: all of it, or no more than it has above its minimum
 * where some of its tasks are spared, or its budget does not let all go. What it was promised in this session is of
 * that. `rides`: what others could take of it on machines on their way instead.
 */
void job_add_losable(const struct session *s, const struct job *job, bool rides, wide *to);

/** How many of a job's running tasks its budget lets go, below 0 if too few run; INT64_MAX: any. */
int64_t job_may_lose(const struct job *job);

#endif
