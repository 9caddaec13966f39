/* Plugins that must be refused; which one is chosen as it is built. */
#include "berth/plugin.h"

#ifndef NO_SYMBOL
const struct berth_plugin berth_plugin_v1 = {
#ifdef OTHER_ABI
    .abi = BERTH_PLUGIN_ABI + 1,
#else
    .abi = BERTH_PLUGIN_ABI,
#endif
#ifdef SHORT
    .size = sizeof(struct berth_plugin) - sizeof(void *),
#else
    .size = sizeof(struct berth_plugin),
#endif
#ifdef BUILT_IN
    .name = "gang",
#else
    .name = "faulty",
#endif
#ifndef NO_VERSION
    .version = "1",
#endif
};
#else
extern const int nothing;
const int nothing = 0;
#endif
