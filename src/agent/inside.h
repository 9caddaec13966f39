/* Inside of the agent: what its files share. All of it belongs to the thread of agent_run. */
#ifndef AGENT_INSIDE_H
#define AGENT_INSIDE_H

#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/identity.h"
#include "agent/life.h"
#include "agent/order.h"
#include "agent/relay.h"
#include "agent/shelf.h"
#include "agent/stop.h"
#include "agent/wire.h"
#include "base/map.h"
#include "base/name.h"
#include "base/pool.h"
#include "base/vec.h"

enum alarm { ALARM_START, ALARM_GRACE, ALARM_CLEAN, ALARM_COUNT };

enum said { SAID_NOTHING, SAID_START, SAID_END, SAID_REFUSAL };

enum { SPARES_MAX = 64 };

/* One attempt on this node. */
struct attempt {
    struct agent *agent;
    char name[NAME_ATTEMPT_SIZE];
    char id[ORDER_ID_SIZE];
    char *folder;
    char *line;       /* as delivered, until it is stored */
    struct str notes; /* to be written when it is */
    unsigned spare;   /* the folder that becomes its own; 0: a new one */
    struct order order;
    struct life life;
    char given_by[80];  /* the incarnation of the ledger that gave it; "": not known */
    bool is_asked_for;  /* by another life of the ledger: it has no folder but one on the shelf */
    bool is_in_the_way; /* of one of this name that the server wants here: it is to be told */

    /* of the work on a thread of a pool; there is at most one, and it owns these until it is
     * done */
    struct {
        int stored; /* 0, or why not; the work is over then */
        int r;
        enum detail detail;
        struct err err;
        struct wire_timings timings;
        struct watch *watch; /* to be freed */
        struct shelf_content content;
    } work;
    atomic_bool is_cancelled;

    bool
        has_limit; /* another than it was delivered with; kept by the monitor, said anew by the server */
    int64_t limit_ms;
    struct watch *watch;
    struct fdwatch *watching;
    struct timer *timer;
    int64_t alarms[ALARM_COUNT]; /* boot ms; 0 not set */

    struct attempt *next_in_queue;
    bool is_queued, has_turn;
    bool wants_ack;       /* in agent->acks */
    bool wants_word;      /* in agent->words */
    bool says_start;      /* its running was not taken yet */
    int64_t say_start_ms; /* not before this, boot */
    enum said said;       /* under way */

    struct wire_timings timings;
    int64_t received_us, asked_us, ready_us, called_us; /* boot; of phases */
    int64_t started_ms, started_boot_ms, ended_ms;
    int64_t peak_memory_bytes, cpu_us;
};

struct sent {
    char name[NAME_ATTEMPT_SIZE];
};

/* Attempts by name: each may be gone when its turn comes. */
struct sents {
    VEC_OF(struct sent);
};

enum link_state { LINK_DOWN, LINK_REGISTERING, LINK_UP };

struct agent {
    /* options, copied */
    char *node, *data_dir, *attempts_dir, *ended_dir, *spare_dir, *version, *register_offers,
        *register_labels, *register_taints, *register_images;
    struct order_rules rules;
    int64_t start_timeout_ms, stop_budget_ms;
    unsigned turns_max;
    bool takes_signals;
    const struct clock *clock;
    void (*on_ready)(void *arg, const struct agent_ready *ready);
    void *ready_arg;

    struct machine machine;
    struct runtime *runtime;
    struct loop *loop;
    struct pool *makers;  /* prepare: may take long */
    struct pool *helpers; /* clean, logs, files: never long */
    struct client *client;
    int lock_fd;
    struct fdwatch *signals[3];

    /* attempts */
    struct map attempts; /* by name */
    struct attempt *queue, **queue_end;
    unsigned n_turns;
    bool is_giving_turns;

    /* spare folders, by number; spare.c */
    VEC_OF(unsigned) spares;
    unsigned spare_last;

    /* why no new work is taken; room.c */
    char disabled[256]; /* "": it is */
    struct timer *room_timer;

    /* the link to the server; link.c, mail.c */
    enum link_state link;
    struct identity identity;
    int64_t revision_kept; /* of it, in the file */
    char seen[128];        /* what each message says of it, as a header */
    const char *seen_headers[2];
    /* the server that was refused, its ledger being another copy, and why; NULL: none is */
    char *refused, *refused_why;
    bool is_told_refused;
    char *asked;          /* the address that the registration under way was sent to */
    char *heard;          /* the address that answered last; NULL: none did */
    struct str told_down; /* the addresses that were told of as not registering, a line each */
    int64_t generation, ttl_ms, beat_ms, asked_ms; /* asked: when the message under way was sent */
    int64_t lease_until_ms;                        /* no start after this; boot */
    bool was_registered;
    bool is_told_lease_over;
    size_t n_lease_over;                /* of what an earlier agent left */
    bool can_say_orphans;               /* the server knows of them in beats */
    char *orphans_said, *orphans_heard; /* in the last message that tells; that was answered */
    bool is_disabled_said;              /* in the last message that tells */
    bool is_disabled_heard;             /* and that was answered */
    struct client_ticket *registering, *beating, *having, *working, *acking, *wording, *leaving;
    struct timer *register_timer, *beat_timer, *work_timer, *mail_timer, *start_timer, *lease_timer;
    bool has_start_timer; /* it is set */
    int64_t register_pause_ms, work_pause_ms, mail_pause_ms;
    VEC_OF(struct attempt *) acks, words; /* to be sent; NULL: it is gone */
    struct sents acks_sent, words_sent;

    struct relay *relay;
    struct shelf *shelf;
    struct stopping stopping;
    int result; /* of agent_run */
    struct err why;
};

static inline int64_t now_ms(const struct agent *agent)
{
    return clock_boot_ms(agent->clock);
}

static inline int64_t now_us(const struct agent *agent)
{
    return clock_boot_us(agent->clock);
}

/* ---- attempts.c ---- */

struct attempt *attempt_find(struct agent *agent, const char *name);
/** The names of all at this moment; VEC_FINI it. */
struct sents attempts_names(struct agent *agent);
/** Takes a delivered start. Takes line. */
void attempt_deliver(struct agent *agent, const char *name, const json_t *spec, char *line);
/** Lets something happen to it, and does what that asks for. It may be gone afterwards. */
void attempt_happens(struct attempt *attempt, const struct life_news *news);
void attempt_on(struct attempt *attempt, enum life_event event);
/** A new one, in no step yet. */
struct attempt *attempt_new(struct agent *agent, const char *name, const char *id);
/** Does deeds of life_begin. */
void attempt_do(struct attempt *attempt, unsigned deeds);
/** Gives it another time limit, from its first instruction on; 0: none. */
void attempt_limit(struct attempt *attempt, int64_t limit_ms);
/** Listens to the monitor: attempt->watch was made. */
void attempt_listen(struct attempt *attempt);
/** Keeps what an exit record says for the report. */
void attempt_take_exit(struct attempt *attempt, const struct exit_record *exit);
void attempt_free(struct attempt *attempt);
/** Lets as many start as may. */
void attempts_give_turns(struct agent *agent);

/* ---- works.c: what blocks ---- */

/** Stores and prepares on a thread: LIFE_STORED, then LIFE_PREPARED or LIFE_PREPARE_FAILED. */
void work_prepare(struct attempt *attempt);
/** Cleans on a thread: LIFE_CLEANED or LIFE_CLEAN_FAILED. */
void work_clean(struct attempt *attempt);
/** Removes the folder at that path with all in it, on a thread. Takes path. */
void work_forget(struct agent *agent, char *path);
/** Adds WORD=VALUE to what is stored of the attempt. Returns 0; a negative errno. */
MUST_CHECK int attempt_note(struct attempt *attempt, const char *word, const char *value,
                            struct err *err);

/* ---- spare.c ---- */

/** Makes the folder of spares, and removes what an earlier agent left in it. */
MUST_CHECK int spares_open(struct agent *agent, struct err *err);
/** Takes a folder that holds nothing of worth away from where it is. False: it is still there. */
bool spare_give(struct agent *agent, const char *folder);
/** Takes one out; 0: there is none. */
unsigned spare_take(struct agent *agent);
/** Makes attempt->spare the attempt's folder, with its spec. False: there is no folder yet. On a
 * thread. */
bool spare_use(const struct attempt *attempt);
/** Writes the file `spec`. Returns 0 or a negative errno. */
int spec_write(const char *folder, const char *line);

/* ---- adopt.c ---- */

/** Takes over what lies in the data folder. */
MUST_CHECK int adopt_all(struct agent *agent, struct err *err);

/* ---- seen.c: what was heard of the ledger last ---- */

/** Takes what earlier agents kept. */
void seen_open(struct agent *agent);
/** An attempt's folder knows that revision: more than the file does, if that is of the same
 * opening. */
void seen_raise(struct agent *agent, const char *opening, int64_t revision);
/** Notes the opening and revision that an answer or a line of the server names, if it does; keeps
 * them in the file if the opening is another, or is_kept. */
void seen_note(struct agent *agent, const json_t *object, bool is_kept);
/** Begins anew, with another incarnation. */
void seen_forget(struct agent *agent, const char *incarnation);
/** The headers of each message, for client_request. */
const char *const *seen_headers(struct agent *agent);

/* ---- other_life.c: the server is of another life of the ledger than was served ---- */

/** Sorts what is here and was here by the answer to a registration: goes on with what the server has
 * for live and this agent had from a life that it was, makes orphans of the rest, and has the ends
 * told that it asks for. */
void other_life_settle(struct agent *agent, const json_t *answer);
/** Adds a JSON list of the orphans. */
void other_life_add_orphans(struct agent *agent, struct str *out);

/* ---- link.c ---- */

/** Registers (again). */
void link_register(struct agent *agent);
/** Tells the server that the agent takes no new work. */
void link_leave(struct agent *agent);
/** Tells the server that new work is not taken any more, or is again. */
void link_say_disabled(struct agent *agent);
/** Tells the operator, once, that the lease ended what ran: n containers. */
void link_say_lease_over(struct agent *agent, size_t n);
void link_open(struct agent *agent);
void link_close(struct agent *agent);

/* ---- mail.c: acks and reports, in batches ---- */

void mail_ack(struct attempt *attempt);
void mail_word(struct attempt *attempt);
/** Tells the server that one of its name cannot be started here. */
void mail_refusal(struct attempt *attempt);
/** A report of a start may have waited long enough for its end. */
void mail_start_waited(struct agent *agent);
/** The attempt is gone. */
void mail_forget(struct attempt *attempt);
/** Sends what waits; after a registration, with all that was asked and not answered. */
void mail_flush(struct agent *agent);
void mail_ask_again(struct agent *agent);
/** Forgets what is under way: the link is down. */
void mail_cut(struct agent *agent);
/** A pause that doubles. */
int64_t next_pause(int64_t *pause_ms);

/* ---- room.c ---- */

/** Looks at the data folder for the first time. */
void room_open(struct agent *agent);
void room_close(struct agent *agent);
/** Looks again, and says so if new work is not taken any more, or is again. */
void room_look(struct agent *agent);
/** Takes note of a write that failed. False: it was not the disk's fault. */
bool room_take_failure(struct agent *agent, int error, const char *text);

/* ---- stop.c ---- */

/** Something ended: the stop may be over. */
void stop_check(struct agent *agent);

#endif
