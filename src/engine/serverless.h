/*
 * Serverless: which nodes and pools a class of tasks may use, and which of them it would rather.
 *
 * What goes by the class of the tasks and the class of the nodes is worked out once for each
 * pair of them in a session.
 */
#ifndef ENGINE_SERVERLESS_H
#define ENGINE_SERVERLESS_H

#include "engine/fit.h"
#include "engine/models.h"
#include "engine/session.h"

/* How nodes of a class look to a class of tasks, room and the nodes' state aside. */
struct standing {
    bool is_known;
    enum wait_code code; /* the first filter that keeps the tasks away, or WAIT_NONE */
    uint32_t rank;       /* 0; or the place of its pool in the chain of pools that stand in */
    int64_t score;       /* pool priority, 10 if it is there, less the model's place in the list */
};

/* How a class of tasks looks for its place. Of one session. */
struct wish {
    struct kind *kind;
    const char *selector; /* the pool it keeps to, or NULL */
    bool wants_gpu;
    bool is_any;              /* lists "any" */
    bool is_pinned;           /* to one node */
    struct gpu_model *models; /* listed before "any" */
    size_t n_models;
    const struct berth_pool **chain; /* pools that stand in for its model, in order */
    size_t n_chain;
    struct standing *standings; /* by class of nodes */
    size_t n_standings;
    const struct berth_pool **pools; /* that could get a machine for it, best first */
    size_t n_pools;
    bool has_pools;
    struct kind *unselected; /* the same tasks without a selector; made on first use */
    uint64_t failed_turn;    /* when it last led nowhere, see beam.h; 0: never */
};

/** How tasks of a kind look; lives in the session's arena. */
struct wish *wish_of(struct session *s, const struct kind *of);
/** How a node of the model looks to them. */
const struct standing *standing_of(struct session *s, const struct kind *kind,
                                   const struct node *node);
/** Likewise for any node, worked out anew. */
struct standing wish_standing(struct session *s, const struct wish *wish,
                              const struct berth_node *node);
/** Fills wish->pools. */
void wish_list_pools(struct session *s, struct wish *wish);

/** A pool by name, or NULL. */
const struct berth_pool *pool_find(const struct session *s, const char *name);
/** What a machine of the pool would be. */
struct berth_node pool_node(const struct berth_pool *pool, const char *id);

/* Of a node, by node->silent: it was heard of too long ago, by what this plugin goes by. */
enum { SILENT_PRIVATE = 1, SILENT_ANY = 2 };
/**
 * Notes which nodes fell silent since the last session; of private pools alone, or all. Notes
 * when the next one does, if nothing is heard of it.
 */
void nodes_note_silence(struct session *s, uint8_t bit);

/** What of a node is rented away from such tasks. */
int64_t serverless_rented(const struct kind *kind, const struct node *node, const char *resource);
/** Room on a node in profile beam: now, and not held for others. */
fail_t serverless_room(const struct session *s, const struct kind *kind, const struct node *node,
                       enum room *room);

#endif
