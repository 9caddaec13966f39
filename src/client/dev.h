/* Dev: how programs of one user find that user's `berth dev`. */
#ifndef CLIENT_DEV_H
#define CLIENT_DEV_H

#include <stdbool.h>

struct dev_found {
    char *addr, *token_path, *path; /* path: of dev.json; all owned */
};

/**
 * Looks for the announcement of a running `berth dev` of this user.
 *
 * Returns  true and *out filled; false: there is none, it is another user's, or its process is gone
 */
bool dev_find(struct dev_found *out);
void dev_found_fini(struct dev_found *found);

#endif
