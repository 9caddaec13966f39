/*
 * Lists that are read whole: narrowed by state and label, sorted, cut into pages.
 *
 * Nodes, queues and tokens are few enough for that; jobs are not, and have ways of their own.
 */
#ifndef SERVER_LIST_H
#define SERVER_LIST_H

#include "server/cursor.h"

/* What may be asked of a kind of list. */
struct list_kind {
    const char *id; /* the member that tells items apart, and ends every order */
    /* What it may be sorted by: members ("name"), or what all keys of an object begin with
     * ("used." stands for used.cpu and the like). Ends in NULL. */
    const char *const *sorts;
    const char *const *states; /* the words of `state`; NULL: it is not asked */
    size_t n_states;
};

/* What was asked of one. */
struct list_ways {
    const struct list_kind *kind;
    struct cursor cursor;
    bool is_paged;            /* else all of it is one page */
    unsigned states;          /* bits of the kind's; 0: all */
    char *label_key;          /* NULL: any */
    const char *label_value;  /* NULL: whatever it is */
    const char *sort, *group; /* the member; of an object, `group` is what the key begins with */
    bool is_down;
};

/**
 * Reads `sort`, `limit`, `cursor`, `state` and `label` of a call's query.
 *
 * Returns  the call's state from now on, which frees it; NULL: the problem is set
 */
struct list_ways *list_ways_begin(struct call *call, const struct list_kind *kind);
void list_ways_fini(struct list_ways *ways);

/** Refuses the `sort` of a call's query, naming the words that there are. Returns false. */
bool list_refuse_sort(struct call *call, const char *const *sorts, size_t n);

/**
 * Reads `state` of a call's query: "ready,cordoned" as bits of a table of words.
 *
 * @out     gains bits; untouched where nothing was asked
 * Returns  false: the problem is set
 */
bool list_read_states(struct call *call, const char *const *words, size_t n, unsigned *out);
/** Reads `label`: its key is yours, NULL where none was asked; its value is the call's, NULL:
 * any. */
void list_read_label(struct call *call, char **key, const char **value);
/** Whether an item's `labels` have the key, with the value where it is not NULL. */
bool list_has_label(const json_t *item, const char *key, const char *value);

/** Whether an item has a state and a label that were asked for. */
bool list_ways_has(const struct list_ways *ways, const json_t *item);

/** Whether the order goes by a member that begins so: "usage." */
bool list_ways_sorts_by(const struct list_ways *ways, const char *begin);

/** The answer: what of the items (taken) was asked for. */
json_t *list_ways_answer(const struct list_ways *ways, json_t *items, uint64_t revision);

#endif
