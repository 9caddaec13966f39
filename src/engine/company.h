/*
 * Company: which tasks a class of tasks wants near, or keeps away, and where such tasks stand.
 *
 * Who stands where is counted once a session for each term, by parts of the cluster, and then follows the nodes that
 * are touched: to ask about a node costs the same however large the cluster is.
 */
#ifndef ENGINE_COMPANY_H
#define ENGINE_COMPANY_H

#include "engine/session.h"

/** Whether it matters to a class where others are: by required terms of its own, or of those that keep it away. */
bool company_matters(struct session *s, struct kind *kind);
/**
 * Whether a node has the company that a class requires, none that it keeps away, and none that keeps it away.
 * `counts_leaving`: those who are evicted in this session count as if they stayed.
 */
bool company_holds(struct session *s, struct kind *kind, const struct node *node,
                   bool counts_leaving);
/**
 * In a number, what company_holds goes by about a node, without those who leave, but for the node's own tasks:
 * while that stays, so does the answer, whoever of them is evicted.
 */
uint64_t company_stamp(struct session *s, struct kind *kind, const struct node *node);
/** Nodes were touched since number `read`, and are as before: company_holds and company_stamp look at them now, and from there on next. */
void company_rewind(struct session *s, struct kind *kind, uint64_t read);
/**
 * Whether a task that has a place has the company there that it requires, without what other jobs are only promised.
 * `counts_leaving`: as above.
 */
bool company_is_there(struct session *s, const struct task *task, bool counts_leaving);
/** How gladly a class is seen on a node, and likes to be there: weights of preferred terms, times the tasks. */
int64_t company_weighs(struct session *s, struct kind *kind, const struct node *node);

#endif
