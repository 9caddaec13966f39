/*
 * The first tokens: an admin's and one for agents, where the ledger knows none.
 */
#ifndef SERVER_FIRST_TOKENS_H
#define SERVER_FIRST_TOKENS_H

#include "server/inside.h"

/**
 * Where the ledger has no token with the right `admin` (or `agent`), the one in the data folder's
 * file is put into it; the file is made (0600) if it is not there. Blocks; before server_run.
 *
 * Returns  0; -EINVAL a file that holds no token; others as file system and ledger say
 */
MUST_CHECK int first_tokens_make(struct server *server, struct err *err);

#endif
