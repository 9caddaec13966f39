/*
 * Res: amounts of every dimension at once, for the arithmetic of shares.
 *
 * A vector is wide[n], n the model's dimensions when the session opened. Comparisons say which
 * dimensions they mean: those that somebody asks for (then the slot that every task takes is no
 * dimension), or all.
 */
#ifndef ENGINE_RES_H
#define ENGINE_RES_H

#include "engine/session.h"

#define RES_INFINITE ((wide)1 << 96)

/* A share as a fraction; den above 0. */
struct share {
    wide num, den;
};

wide *res_new(struct session *s);
void res_copy(const struct session *s, wide *to, const wide *from);
void res_add_asks(wide *to, const struct asks *asks, wide times);
/** Adds named amounts; names that no task or node could have are left out where has_odd says. */
void res_add_amounts(struct session *s, wide *to, bool *has, const struct berth_amounts *amounts);
/** What a job's tasks hold: allocated, and (promised) what it was promised in this session. */
void res_job(const struct session *s, const struct job *job, bool promised, wide *to);
/** The job's least resources. */
void res_minimum(struct session *s, const struct job *job, wide *to);

/** The largest part of a dimension of `whole` that `part` is; dims of which there is none count not. */
struct share res_dominant(const struct session *s, const wide *part, const wide *whole);
/** Likewise; nothing of nothing is 0, something of nothing is all. */
int share_cmp(struct share a, struct share b);
/** |a - b| <= 1/million. */
bool share_near(struct share a, struct share b);

/**
 * The first dimension that is asked for (pods aside) in which used + asked is above limit, or
 * NOWHERE.
 */
uint32_t res_over(const wide *used, const struct asks *asks, const wide *limit);
/** Whether a <= b in all dimensions. */
bool res_within(const struct session *s, const wide *a, const wide *b);
/** Whether a dimension's name is one that resources have in profile volcano. */
bool res_name_counts(const struct session *s, const char *name);

/** The most that the tasks of any one node could hold of a dimension when it was first asked for. */
wide res_most_on_a_node(struct session *s, uint32_t dim);
/** One value more in a number that tells lists of values apart. */
uint64_t stamp_fold(uint64_t stamp, wide value);

/** Adds what an admitted job has reserved and does not hold yet; scratch: two vectors. */
void res_add_reserved(struct session *s, const struct job *job, wide *const scratch[2],
                      wide *inqueue);
/** What inqueue jobs of a queue have reserved and do not hold yet, and what they hold above it. */
void res_reserved(struct session *s, const struct queue *queue, wide *inqueue, wide *elastic);

#endif
