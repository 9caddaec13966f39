/* Order: what a start asks for, read from its line and held against what this node allows. */
#ifndef AGENT_ORDER_H
#define AGENT_ORDER_H

#include <jansson.h>

#include "base/arena.h"
#include "runtime/runtime.h"

enum { ORDER_ID_SIZE = 101 /* of a container's id and its NUL */ };

/* What the node says to orders; borrowed. */
struct order_rules {
    const struct machine *machine;
    int default_runtime; /* enum runtime_kind; -1 there is none */
    bool allow_process;
};

struct order {
    struct arena arena; /* of all that container points to */
    struct container container;
    int64_t grace_ms;
    enum detail detail; /* of a refusal */
    struct err refusal; /* code not 0: it cannot be started here, and why */
};

/**
 * Writes the container's id of an attempt: j-12/worker.3#1 becomes j-12.worker.3.1.
 *
 * Returns  0; -EINVAL it is no attempt's name, or too long
 */
MUST_CHECK int order_id(const char *attempt, char out[ORDER_ID_SIZE], struct err *err);

/**
 * Reads the spec of a start. What cannot be started here is no error: refusal says why, so that the
 * attempt can be ended with it.
 *
 * @id, folder  of the container; copied
 */
void order_read(const json_t *spec, const char *id, const char *folder,
                const struct order_rules *rules, struct order *out);
void order_fini(struct order *order);

#endif
