/*
 * Fit: which nodes a class of tasks fits on, which of them is best, and why the others are not.
 *
 * A class that is seen once is found its node in one pass (sheet.h); one that is used again keeps
 * what it was told (kept.h). A placement touches one node, and each class repairs just that one
 * when it is next used. So k like tasks on N nodes cost about N + k log N.
 */
#ifndef ENGINE_FIT_H
#define ENGINE_FIT_H

#include "engine/session.h"

/* Where on a node there is room. Smaller is better. */
enum room {
    ROOM_IDLE,         /* now */
    ROOM_IDLE_OUTSIDE, /* now, on a node of another shard */
    ROOM_FUTURE,       /* once what is being freed is free */
    ROOM_FUTURE_OUTSIDE,
    ROOM_NONE
};

/* Why a node will not do: a wait code, or FAIL_DIM + the dimension that is short. */
typedef uint32_t fail_t;
enum { FAIL_NONE = 0, FAIL_DIM = 1 << 16 };

struct choice {
    struct node *node;
    enum room room;
    double score;
};

/** The best node for a task, or false. */
bool fit_best(struct session *s, const struct task *task, struct choice *out);
/** Likewise among some nodes; with_room false: whatever room they have. */
bool fit_best_of(struct session *s, const struct task *task, struct node *const *nodes, size_t n,
                 bool with_room, struct choice *out);
/** The scores of nodes that are the candidates. */
void fit_scores(struct session *s, const struct task *task, struct node *const *nodes, size_t n,
                double *scores);

/* What a class of tasks is told by classes of nodes: 0 not known yet, else this plus the code. */
enum { FIT_VERDICT_NONE, FIT_VERDICT_YES };
/** By class of nodes, as many as the model has. */
const uint8_t *fit_verdicts(struct session *s, struct kind *kind);
/** What plugins say of a node's fixed properties; it need not be one of the model. */
enum wait_code fit_fixed(struct session *s, const struct kind *kind, const struct node *node);
/** What plugins and the model say of a node, room and its state aside. */
enum wait_code fit_coming(struct session *s, const struct kind *kind, const struct node *node);
/** Free capacity as one number: thousandths of cpu, Mi of memory, and a million a GPU. */
int64_t fit_free_sum(const struct model *model, const struct kind *kind, const struct node *node);
/** What plugins and the model say of a node, room aside. */
enum wait_code fit_predicate(struct session *s, const struct kind *kind, const struct node *node);
/** Whether a node suits a class, room aside; a machine on its way as well as one that is there. */
bool fit_suits(struct session *s, const struct kind *kind, const struct node *node);
/** Whether a node could take tasks of a class some time, whatever it and others hold now; room aside,
 * a machine on its way too. Changes with model->fleet alone. */
bool fit_ever(struct session *s, const struct kind *kind, const struct node *node);
/** Whether tasks of two kinds keep each other from standing on these two nodes, which may be one. */
bool fit_excludes(struct session *s, const struct kind *a, const struct node *on_a,
                  const struct kind *b, const struct node *on_b);
/** Whether what a node fails could end by others leaving it. */
bool fit_is_resolvable(struct session *s, const struct kind *kind, const struct node *node);
/** The first check that a node fails. */
fail_t fit_fail(struct session *s, const struct kind *kind, const struct node *node,
                enum room *room);
enum wait_code fail_code(const struct model *model, fail_t fail);

/** How many nodes fail for what, by code in counts[WAIT_CODE_COUNT] and by dimension. */
struct fit_counts {
    uint32_t by_code[WAIT_CODE_COUNT];
    uint32_t *by_dim; /* n_dims of them, in the arena */
    size_t n_dims;
    uint32_t n_fit;
};
void fit_count(struct session *s, struct kind *kind, struct arena *arena, struct fit_counts *out);

/** Nodes of a lower rank come first, whatever their score; without ranks it is 0 on all. */
bool fit_has_ranks(const struct session *s, const struct kind *kind);
uint32_t fit_rank(struct session *s, const struct kind *kind, const struct node *node);
/** What decides among nodes of equal scores: the smaller goes first, then the lesser id. */
int64_t fit_tie(const struct session *s, const struct task *task, const struct kind *kind,
                const struct node *node);

#endif
