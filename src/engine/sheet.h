/*
 * Sheets: what a run of nodes says to a class of tasks, in plain arrays and in few passes.
 *
 * What a sheet says of a node is what fit_fail and the score hooks say of it alone; where no
 * plugin minds the class node by node, it is worked out without asking each.
 */
#ifndef ENGINE_SHEET_H
#define ENGINE_SHEET_H

#include "engine/fit.h"

enum { SHEET_SIZE = 256 };

struct sheet {
    uint32_t from;       /* the place of the first node */
    size_t n, n_fit;     /* of an open one n_fit is 0 or not */
    bool is_open;        /* which fit stands in `lacks` alone: see sheet_find */
    enum room best_room; /* ROOM_NONE if none fits */
    fail_t fail[SHEET_SIZE];
    uint8_t room[SHEET_SIZE];
    uint32_t rank[SHEET_SIZE]; /* this and the next: of those that fit */
    double score[SHEET_SIZE];
    int64_t
        lacks[SHEET_SIZE]; /* of an open one: below 0 if the node does not fit; else it does, now */
};

/** Whether answers about the class may be kept until a node is touched. */
bool sheet_is_local(struct session *s, struct kind *kind);
/** Whether what keeps the class from a node goes by that node and by company alone, which see. */
bool sheet_is_tracked(struct session *s, struct kind *kind);
/** Whether a node's class and its room are all that counts to the class of tasks. */
bool sheet_is_plain(struct session *s, struct kind *kind);
/** Whether a node that takes the class of tasks may refuse it because somebody leaves that node, or another. */
bool sheet_minds_leaving(struct session *s, struct kind *kind);
/** Fills in which of at most SHEET_SIZE nodes fit. */
void sheet_judge(struct session *s, struct kind *kind, uint32_t from, size_t n, struct sheet *out);
/**
 * As sheet_judge, but may leave the sheet open where no room is being freed and nothing is over its size: then it is
 * known at once whether any fits. Why a node of an open sheet does not fit is never said: FAIL_DIM.
 */
void sheet_find(struct session *s, struct kind *kind, uint32_t from, size_t n, struct sheet *out);
/** The best score of those that fit, of an open sheet that was scored and on which some do. */
double sheet_most(const struct sheet *sheet);
/** Closes an open sheet: fills in fail and room. */
void sheet_close(struct sheet *sheet);
/** Fills in rank and score; closes the sheet if somebody has to be asked node by node. */
void sheet_score(struct session *s, struct kind *kind, struct sheet *sheet);

#endif
