/*
 * Orders of jobs: what a list of them may be sorted by.
 *
 * Without one the newest comes first, which is the order of the ledger. Any other order looks at
 * all jobs that pass the filter and keeps those of the page; a cursor holds the last one's value,
 * so that pages follow each other without loss or repetition as long as values stay.
 */
#ifndef SERVER_JOB_ORDER_H
#define SERVER_JOB_ORDER_H

#include "ledger/ledger.h"
#include "server/cursor.h"

enum { JOB_KEY_TEXT_SIZE = 80 };

struct job_order {
    int field; /* below 0: none */
    bool is_down;
};

/* Where a job stands in an order. */
struct job_key {
    uint64_t id;
    bool has_value; /* without one it comes last */
    int64_t number;
    char text[JOB_KEY_TEXT_SIZE]; /* longer ones are compared by their beginning */
};

/** Reads `sort`. False: the problem is set. */
bool job_order_read(struct call *call, struct job_order *out);
struct job_key job_order_key(const struct job_order *order, const struct row_job *row);
int job_order_compare(const struct job_order *order, const struct job_key *a,
                      const struct job_key *b);
/** As a cursor's key, and back; false: it is damaged. */
void job_order_write(const struct job_key *key, char out[sizeof(((struct cursor *)0)->key)]);
bool job_order_parse(const char *text, struct job_key *out);

/* The first jobs of an order: kept in it, no more than `most`. */
struct job_page {
    struct job_order order;
    struct job_key after; /* only what comes behind it; id 0: all */
    size_t most, n;
    struct job_row {
        struct job_key key;
        struct row_job *row;
    } * rows;
};

/** @most  at least 1 */
void job_page_init(struct job_page *page, const struct job_order *order, size_t most);
void job_page_fini(struct job_page *page);
/** Looks at a job; keeps it if it belongs on the page. */
void job_page_take(struct job_page *page, const struct row_job *row);

#endif
