/* The actions by name. One file each in actions/. */
#include "engine/actions.h"

#include "base/mem.h"

const struct action *const actions[] = {
    &action_allocate, &action_backfill, &action_enqueue,   &action_gangpreempt, &action_gangreclaim,
    &action_preempt,  &action_reclaim,  &action_provision, &action_shuffle,
};
const size_t n_actions = COUNT_OF(actions);
