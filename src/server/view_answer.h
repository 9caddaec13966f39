/*
 * View, its answers: worked out from the engine as it stands.
 */
#ifndef SERVER_VIEW_ANSWER_H
#define SERVER_VIEW_ANSWER_H

#include "server/feed.h"
#include "server/view.h"

/* A question on its way, and its answer. */
struct asked {
    struct view_question question; /* its texts are the next three, its spec a copy */
    char *name, *group, *resource;
    struct job_spec *spec;
    struct view_answer answer;
    struct berth_decisions decisions; /* of a plan: what the answer points into */
};

/** Copies a question. */
void asked_init(struct asked *asked, const struct view_question *question);
void asked_fini(struct asked *asked);

/**
 * Fills in asked->answer.
 *
 * @in  revision, now and seed of the answer
 */
void asked_answer(struct asked *asked, struct berth_engine *engine, const struct feed *feed,
                  const struct berth_cycle_in *in);

#endif
