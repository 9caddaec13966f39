/*
 * Inside of the server: what its files share. Nobody else includes this.
 */
#ifndef SERVER_INSIDE_H
#define SERVER_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/http.h"
#include "base/loop.h"
#include "base/pool.h"
#include "ledger/ledger.h"
#include "server/auth.h"
#include "server/cycle.h"
#include "server/nodes.h"
#include "server/server.h"
#include "server/steward.h"
#include "server/view.h"
#include "server/watch.h"

enum { SERVER_READERS = 2, SERVER_DURATION_BUCKETS = 8 };

struct call;

/* Counted since the start; read by any thread. */
struct server_counts {
    _Atomic uint64_t requests[6]; /* by the first digit of the status; 0: none was sent */
    _Atomic uint64_t durations[SERVER_DURATION_BUCKETS];
    _Atomic uint64_t duration_us_sum;
    _Atomic uint64_t submitted, cancelled;
};
extern const int64_t server_duration_us[SERVER_DURATION_BUCKETS]; /* upper ends; last: no end */

struct server {
    struct server_options options; /* its texts are the next ones */
    char *data, *store, *token_path, *agent_token_path;
    const struct clock *clock;
    char name[17]; /* this server's id, random */
    struct ledger *ledger;
    char incarnation[80], opening[64]; /* the ledger's, which closes before what is answered last */
    struct loop *loop, *node_loop;     /* node_loop: the same, or one of its own */
    struct http_server *http, *worker_http; /* worker_http: NULL where it is the same */
    pthread_t node_thread;
    bool has_node_thread;
    struct pool *pool;
    struct {
        pthread_mutex_t lock;
        struct reader *at[SERVER_READERS]; /* those that are free */
        size_t n;
    } readers;
    struct auth *auth;
    struct watch *watch;
    struct nodes *nodes;
    struct cycle *cycle;
    struct view *view;
    struct steward *steward;
    struct call *calls;  /* the API loop's: those that are not answered yet */
    bool is_announced;   /* DATA/address is ours */
    bool is_closing;     /* the API loop's: nothing new is begun */
    char waits_for[240]; /* before there are threads: why the ledger is not open yet; "" it is */
    int64_t begun_at;    /* wall ms */
    int64_t
        memory_milli; /* what jobs hold of memory that are accepted, in thousandths of what they ask */
    struct server_counts counts;
};

/** A reader that nobody else uses meanwhile; given back by server_put_reader. Any thread. */
struct reader *server_take_reader(struct server *server);
void server_put_reader(struct server *server, struct reader *reader);

#endif
