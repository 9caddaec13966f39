/* Parts of a client that its two halves share. */
#ifndef CLIENT_PARTS_H
#define CLIENT_PARTS_H

#include "client/exchange.h"

struct client {
    struct target target;
    CURLM *multi;
    int interrupt_fd; /* readable: interrupted */

    struct loop *loop; /* NULL: it blocks. The rest is for clients on a loop */
    struct timer *timer;
    struct client_ticket *first; /* all tickets */
    bool is_delivering;          /* callbacks run: tickets are not freed under them */
};

#endif
