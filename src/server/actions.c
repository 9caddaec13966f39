/* Actions: see actions.h. */
#include "server/actions.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "berth/engine.h"

/* Machines are ordered of somebody, and there is nobody yet. */
bool action_is_carried(const char *action)
{
    return strcmp(action, "provision") != 0;
}

const struct berth_words *actions_of(const struct berth_config *engine)
{
    const struct berth_config *profile = NULL;

    if (!engine->has_actions)
        profile = berth_profile_find(engine->profile ? engine->profile : "berth");
    return engine->has_actions ? &engine->actions : profile ? &profile->actions : NULL;
}

static int check_named(const struct berth_words *actions, char **at, struct err *err)
{
    for (size_t i = 0; i < actions->n; i++) {
        if (action_is_carried(actions->at[i]))
            continue;
        *at = text_format("/scheduler/actions/%zu", i);
        return err_set(err, -EINVAL,
                       "the server cannot carry out '%s': no provider brings machines to it yet",
                       actions->at[i]);
    }
    return 0;
}

int actions_check(const struct berth_config *engine, bool are_of_profile, char **at,
                  struct err *err)
{
    const struct berth_words *actions = actions_of(engine);
    const char *profile = engine->profile ? engine->profile : "berth";

    if (engine->has_actions && !are_of_profile)
        return check_named(actions, at, err);
    for (size_t i = 0; actions && i < actions->n; i++)
        if (action_is_carried(actions->at[i]))
            return 0;
    if (!actions)
        return 0; /* the engine says what it does not know */
    *at = text_copy("/scheduler/profile");
    return err_set(err, -EINVAL,
                   "all that '%s' does is order machines, and no provider brings any to this "
                   "server yet; name actions beside it",
                   engine->has_actions ? "the file" : profile);
}
