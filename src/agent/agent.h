/*
 * Agent: the door to the worker on a machine. It registers with a server, holds one stream of work
 * open, prepares and starts containers, watches, stops and cleans them up, reports, and relays
 * logs.
 *
 * One thread, the one that calls agent_run, owns all attempts' state; what blocks is done by two
 * small pools. The containers hang on their monitors, not on the agent: it may be killed at any
 * moment, and the next one on the same folder goes on.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "client/client.h"
#include "runtime/runtime.h"

struct agent;

struct agent_offer {
    const char *resource; /* cpu, memory, pods or a counter such as fpga */
    int64_t value;        /* in the resource's unit: thousandths or bytes */
};

struct agent_label {
    const char *key, *value;
};

struct agent_taint {
    const char *key, *value, *effect; /* NoSchedule, PreferNoSchedule, NoExecute */
};

/* What an agent is, once it is registered; borrowed for the call. */
struct agent_ready {
    const char *node;
    const struct machine *machine;
    const struct agent_offer *offers; /* all that its node offers, found or given */
    size_t n_offers;
};

/* All borrowed for agent_open. Members that are 0 or NULL have the default in brackets. */
struct agent_options {
    const struct client_settings *settings; /* the servers' addresses, the agent's token */
    const char *node;                       /* [the machine's host name] */
    const char *data_dir;                   /* absolute; made if it is missing; one agent each */
    const char *monitor_path;               /* absolute path of berth-monitor */
    const char *version;                    /* of this program */
    const struct agent_offer *offers; /* in place of, or beside, what was found: cpu, memory, */
    size_t n_offers;                  /* and pods [110] */
    const struct agent_label *labels; /* beside host/kernel, host/arch, host/name */
    size_t n_labels;
    const struct agent_taint *taints;
    size_t n_taints;
    const char *const *image_prefixes; /* folders that images may come from [any] */
    const char *default_runtime;       /* of jobs that name none [crun if usable, else runc] */
    bool allow_process;                /* jobs may ask for the runtime `process`, which isolates
                                          nothing; also where default_runtime is process */
    bool speed_up_attach;              /* may mount a named hierarchy, machine_speed_up_attach */
    int64_t start_timeout_ms;          /* of one start, from its ack [5 min] */
    int64_t keep_ended_ms;             /* logs of ended attempts [7 days] */
    int64_t keep_ended_bytes;          /* all of them together [1 GiB] */
    unsigned starts_max;               /* calls of the runtime at once [2 a core, at least 4] */
    const struct machine *machine;     /* what the machine offers [runtime_probe] */
    const struct clock *clock;         /* [the machine's] */
    bool takes_signals;                /* SIGTERM, SIGINT: agent_stop; SIGUSR1: agent_detach */
    int64_t stop_budget_ms;            /* of a stop by signal [30 s] */
    /* Called once on the agent's thread, when it is registered for the first time. */
    void (*on_ready)(void *arg, const struct agent_ready *ready);
    void *arg;
};

/**
 * Opens the data folder (locking it), looks what the machine offers, and adopts what an earlier
 * agent left there. Talks to nobody yet. Blocking.
 *
 * Returns  0; -EBUSY another agent has the folder; -EINVAL an option will not do; another negative
 *          errno with the reason
 */
MUST_CHECK int agent_open(const struct agent_options *options, struct agent **out, struct err *err);

/**
 * Runs on the calling thread until it was stopped or detached.
 *
 * Returns  0; -EACCES the server refuses the token; -EEXIST (of a stop) something could not be
 *          ended within the budget: it runs on under its monitor, and the next agent adopts it
 */
MUST_CHECK int agent_run(struct agent *agent, struct err *err);

/**
 * Ends the agent for good: takes no new work, waits for what runs, then TERM, grace, KILL, all
 * within the budget; cleans up, reports, and leaves. A second call ends the waiting. Any thread;
 * not in a signal handler.
 *
 * @budget_ms  for all of it; split by shares (drain, grace, force, clean up), see stop.h
 */
void agent_stop(struct agent *agent, int64_t budget_ms);

/** Ends the agent and leaves its containers running under their monitors, for an upgrade. Any
 * thread. */
void agent_detach(struct agent *agent);

void agent_close(struct agent *agent);
void agent_closep(struct agent **agent);

/** The node's name; borrowed. Any thread. */
const char *agent_node(const struct agent *agent);

#endif
