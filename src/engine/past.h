/*
 * Past: what queues held, the longer ago the less. A memo keeps it from cycle to cycle.
 */
#ifndef ENGINE_PAST_H
#define ENGINE_PAST_H

#include "engine/session.h"

#define PAST_MEMO "past-use"

/** 2^-(dt/half) in 2^-32: what is left after dt milliseconds; half above 0. */
uint64_t past_left(int64_t dt_ms, int64_t half_ms);

/**
 * What each known queue held, as an average in which half_ms ago weighs half: past[queue->at], each
 * by dimension, in the session's arena. Notes it anew, by what is held now, from time to time.
 */
wide **past_use(struct session *s, int64_t half_ms);

#endif
