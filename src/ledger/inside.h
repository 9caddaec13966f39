/*
 * Inside of the ledger, for ledger.c, writer.c and reader.c only.
 */
#ifndef LEDGER_INSIDE_H
#define LEDGER_INSIDE_H

#include <pthread.h>

#include "base/digest.h"
#include "base/mem_keep.h"
#include "ledger/changes.h"
#include "ledger/judge.h"
#include "ledger/ledger.h"
#include "ledger/opening.h"
#include "ledger/pace.h"
#include "ledger/store.h"

enum { BATCH_OPS_MAX = 512, NAME_OF_BATCH_SIZE = 128 };

struct listener {
    batch_fn *fn;
    void *arg;
};

/* A batch on its way through the writer. */
struct writing {
    struct op *ops[BATCH_OPS_MAX];
    size_t n_ops;
    struct changes changes;
    char name[NAME_OF_BATCH_SIZE];
    uint64_t before; /* the revision it began at */
    char why[240];   /* its commit failed */
};

struct ledger {
    char *address, *server;
    struct clock clock;
    void (*at_point)(const char *point);
    void (*on_trouble)(const char *why);
    bool is_restored;
    char opening[OPENING_ID_SIZE]; /* makes batch names unique, too */
    struct openings openings;      /* as they are from here on: another begins with another life */
    struct lives lives; /* the incarnations that it was before; never changes while open */
    char incarnation[DIGEST_HEX_SIZE];
    VEC_OF(struct listener) listeners;

    /* the writer thread's, once it runs */
    struct store *store;
    struct mirror mirror;
    bool is_stale;  /* the mirror may differ from the store: load it again */
    bool is_unsure; /* of `writing` it is not known whether it was committed */
    int n_asked;    /* how often that was looked up in vain */
    uint64_t n_batches;
    struct writing writing;
    struct pace pace;
    struct mem_ahead ahead;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t arrived;
    struct op *first, **end;
    size_t n_waiting, n_sends; /* sends: since the last batch */
    bool is_gathering;         /* the writer wakes by itself, or when there is a full batch */
    bool is_closing;
    char trouble[240]; /* why the store cannot be written; "" it can */
};

/** The writer's thread: until the ledger closes and nothing waits. */
void *writer_run(void *arg);
/** Whether what waits fills a batch, or enough share it. With the lock held. */
bool writer_has_enough(const struct ledger *ledger);
/** Tells all listeners all that is live. */
MUST_CHECK int writer_tell_base(struct ledger *ledger, struct err *err);
void ledger_at(const struct ledger *ledger, const char *point);

#endif
