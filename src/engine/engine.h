/* Inside the engine: what its public calls share. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/session.h"

struct model *engine_model(struct berth_engine *engine);
const struct setup *engine_setup(const struct berth_engine *engine);

/**
 * Runs a cycle whose changes still stand when it returns; session_close takes them back.
 *
 * @out  as of berth_engine_cycle; outlives the session
 */
struct session *engine_run(struct berth_engine *engine, const struct berth_cycle_in *in,
                           struct berth_decisions *out);

/* An object as it would be exported; members of tasks stand in place. */
struct export_now {
    const void *object;
    struct berth_task task;
};
/** The object that has the key of `like`; false if there is none. */
bool export_one(struct model *model, enum berth_kind kind, const void *like,
                struct export_now *out);
int export_all(struct model *model, berth_sink_fn *sink, void *arg);
/** A task's row as it would be told; false if its group implies it. */
bool task_told(const struct task *task, struct berth_task *out);

#endif
