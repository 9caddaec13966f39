/* Which version this is: the build says. */
#include "server/version.h"

const char *const server_version = BERTH_VERSION;
const char *const server_commit = BERTH_COMMIT;
