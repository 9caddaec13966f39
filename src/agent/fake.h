/*
 * Fake: a server for tests of the agent, small enough to be seen through: it knows attempts and
 * their states, delivers, judges acks and reports by the table of states, and can be told to
 * misbehave. The agent runs in a child process, so that it can be killed.
 */
#ifndef AGENT_FAKE_H
#define AGENT_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/http.h"
#include "base/loop.h"
#include "base/states.h"
#include "base/str.h"

enum { FAKE_ATTEMPTS_MAX = 2000 };

struct fake_attempt {
    char name[64];
    char *spec;
    enum attempt_state state;
    int64_t generation;
    bool was_told, is_stop_wanted;
    int n_acks, n_ends; /* that changed the state; more than one is a fault of the agent */
    enum cause cause;
    enum detail detail;
    int code, signal;
    bool has_timings, has_started_at;
    char message[256];
};

struct fake {
    char dir[64]; /* the agent's data folder; removed at the end */
    char node[64];
    struct loop *loop;
    struct http_server *http;
    struct timer *deadline, *look;
    struct http_request *stream;
    char addr[64];
    int64_t generation;
    const char *live, *lives;          /* JSON lists of a registration by another life; NULL: none,
                                          as an earlier server */
    const char *incarnation, *opening; /* opening NULL: it says none, as an earlier server */
    int64_t revision;                  /* that acks are answered with, where there is an opening */
    char seen[128];                    /* what the last message said that it had seen */
    int64_t ttl_ms, beat_ms;
    int n_repeats;       /* of reports of an end */
    int n_starts;        /* reports of a start */
    int64_t beat_ttl_ms; /* that the last beat said to count by */
    int n_requests, n_registers, n_beats, n_leaves, n_ack_messages, n_report_messages;
    struct str held;    /* the attempts of the last registration, comma behind each */
    struct str info;    /* its whole body */
    struct str orphans; /* the last list of them in a beat */
    struct fake_attempt attempts[FAKE_ATTEMPTS_MAX];
    size_t n;

    /* misbehaviour */
    int refuse_acks;  /* so many acks are refused */
    int lose_acks;    /* so many ack messages are taken, and their answers lost */
    int lose_reports; /* likewise, of those with an end */
    int refuse_busy;  /* so many messages are answered 503 */
    bool is_mute;     /* answers nothing at all */
    bool forgets_all; /* registrations end all that is held */
    bool is_fork;     /* its ledger is another copy: everything is refused */
    int n_forked;     /* so many registrations were, for that */

    /* a log that is being read */
    struct str log;
    bool log_is_over, log_is_gone;
    int log_status; /* what pieces are answered with */

    pid_t agent;
    int exit_status; /* of the last one: as waitpid gives it */
    struct fdwatch *agent_watch;
    bool agent_is_over;
    int64_t start_timeout_ms, stop_budget_ms; /* 0: the agent's own; 4 s */
    const char *default_runtime;
    const struct clock *clock; /* of the agent; NULL: the machine's */

    bool (*until)(struct fake *fake);
    bool is_late;
};

void fake_begin(struct fake *fake);
/** Ends the server, and checks that nothing is left of the agent: no process, no group. */
void fake_end(struct fake *fake);
/** Starts an agent in a child process; kill_at as in point.h, or NULL. */
void fake_spawn(struct fake *fake, const char *kill_at);
/** Sends the agent a signal and waits for its end; returns its status as of waitpid. */
int fake_finish(struct fake *fake, int signal);
/** Makes an attempt, bound, and delivers it if there is a stream. */
struct fake_attempt *fake_add(struct fake *fake, const char *name, const char *spec);
/** Wants its end. */
void fake_stop(struct fake *fake, struct fake_attempt *attempt, enum cause cause, int64_t grace_ms);
/** Ends it here, and tells the agent to drop it. */
void fake_drop(struct fake *fake, struct fake_attempt *attempt);
/** Asks for its log. */
void fake_read_log(struct fake *fake, const char *name, uint64_t at, uint64_t limit,
                   bool is_follow);
/** Sends a line of work. */
void fake_line(struct fake *fake, const char *fmt, ...) FORMAT(2, 3);
/** Cuts the stream of work. */
void fake_cut(struct fake *fake);
/** Serves until it holds; fails the test when that takes too long. */
void fake_wait(struct fake *fake, bool (*until)(struct fake *fake), const char *what);

bool fake_is_registered(struct fake *fake);
bool fake_has_stream(struct fake *fake);
bool fake_all_ended(struct fake *fake);
bool fake_all_run(struct fake *fake);
bool fake_agent_is_over(struct fake *fake);

#endif
