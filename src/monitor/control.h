/*
 * Control: those who talk to the monitor: the agent that spawned it, and whoever opens `sock`.
 *
 * One message is one packet of text. In: "run FOLDER" (from the agent, between containers), "term",
 * "kill", "stop" (TERM, and KILL when the grace is over), "status",
 * "limit MS" (another time limit; 0 none). Out: "started KEY=VALUE ...",
 * "ended" or "unsaved" and the exit record, "status ...", "error ...".
 *
 * The socket is made when it is needed: when the agent has gone, or by SIGUSR1. A container that
 * lives and dies under one agent needs none.
 */
#ifndef MONITOR_CONTROL_H
#define MONITOR_CONTROL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { CONTROL_MAX = 8, CONTROL_MESSAGE_BYTES = 2048 };

enum command {
    COMMAND_NONE,
    COMMAND_TERM,
    COMMAND_KILL,
    COMMAND_STOP,
    COMMAND_STATUS,
    COMMAND_LIMIT
};

struct control {
    int parent;   /* the agent that spawned this monitor; -1: it has gone */
    int listener; /* -1: none */
    int fds[CONTROL_MAX];
    size_t n;
    bool is_new[CONTROL_MAX]; /* has not been told the state yet */
    long long number;         /* of the last command that has one */
};

/** Begins with the one connection to the agent. */
void control_open(struct control *control, int parent);
/** Listens at `sock` from now on. Returns 0, also if it does already; a negative errno. */
int control_listen(struct control *control);
/** Lets all go but the agent, and the socket. */
void control_close(struct control *control);
/** Adds what is to be polled. Returns how many. */
size_t control_poll(const struct control *control, struct pollfd *out);
/** Takes in a new connection, if one waits. */
void control_accept(struct control *control);
/** Reads one command of connection i; COMMAND_NONE where none is there; drops who has gone. */
enum command control_read(struct control *control, size_t i);
/** To connection i. */
void control_tell(struct control *control, size_t i, const char *text, size_t n);
void control_tell_all(struct control *control, const char *text, size_t n);
/** Forgets connections that have gone. */
void control_tidy(struct control *control);

#endif
