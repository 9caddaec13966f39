/*
 * The built-in profiles by name. What they hold is data, share/berth/profiles/NAME.yaml, of which
 * the build makes a table (tools/make-profiles).
 */
#include "base/str.h"
#include "engine/setup.h"

const char *berth_profile_at(size_t i)
{
    return i < n_profiles ? profiles[i].profile : NULL;
}

const struct berth_config *berth_profile_find(const char *name)
{
    for (size_t i = 0; i < n_profiles; i++)
        if (text_eq(profiles[i].profile, name))
            return &profiles[i];
    return NULL;
}
