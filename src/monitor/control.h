/*
 * Control: those who talk to the monitor: the agent that spawned it, and whoever opens `sock`.
 *
 * One message is one packet of text. In: "term", "kill", "stop" (TERM, and KILL when the grace is
 * over), "status". Out: "started KEY=VALUE ...", "ended" and the exit record, "status ...", "error ...".
 */
#ifndef MONITOR_CONTROL_H
#define MONITOR_CONTROL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { CONTROL_MAX = 8, CONTROL_MESSAGE_BYTES = 2048 };

enum command { COMMAND_NONE, COMMAND_TERM, COMMAND_KILL, COMMAND_STOP, COMMAND_STATUS };

struct control {
    int listener; /* -1: none */
    int fds[CONTROL_MAX];
    size_t n;
    bool is_new[CONTROL_MAX]; /* has not been told the state yet */
};

/** Listens at `sock`; parent, if >= 0, is the first connection. Returns 0 or a negative errno. */
int control_open(struct control *control, int parent);
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
