/*
 * Cycle, questions: answered from the engine as it stands, between cycles.
 */
#ifndef SERVER_CYCLE_ANSWER_H
#define SERVER_CYCLE_ANSWER_H

#include "server/cycle.h"
#include "server/feed.h"

/* A question on its way, and its answer. */
struct cycle_ask {
    struct cycle_question question; /* its texts are the next two, its spec a copy */
    char *name, *group;
    struct job_spec *spec;
    struct cycle_answer answer;
    struct berth_decisions decisions; /* of a plan: what the answer points into */
    struct verdicts *verdicts;        /* likewise of an explanation */
};

/** Copies a question. */
void cycle_ask_init(struct cycle_ask *ask, const struct cycle_question *question);
void cycle_ask_fini(struct cycle_ask *ask);

/**
 * Fills in ask->answer.
 *
 * @in        revision, now and seed of the answer
 * @verdicts  of the last cycle
 */
void cycle_ask_answer(struct cycle_ask *ask, struct berth_engine *engine, const struct feed *feed,
                      const struct berth_cycle_in *in, struct verdicts *verdicts);

#endif
