/* Channel: the half of a client that lives on a loop. */
#ifndef CLIENT_CHANNEL_H
#define CLIENT_CHANNEL_H

#include "client/parts.h"

/** Puts the client on the loop. */
void channel_open(struct client *client, struct loop *loop);
/** Takes it off again, with all tickets. */
void channel_close(struct client *client);

#endif
