/*
 * Points where a test kills the agent: BERTH_TEST_KILL_AT=NAME ends the process with KILL when it
 * comes to the point of that name. Not set, a point does nothing.
 *
 *     after-store               a delivered attempt is in its folder, and nothing was asked yet
 *     after-ack                 the server let it start
 *     before-start              it is prepared and acked; the runtime was not called
 *     after-start               the monitor was spawned
 *     after-running             its first instruction was seen, and not reported
 *     after-exit-before-clean   it ended; nothing was removed
 *     after-exit-before-report  all was removed; the end was not reported
 *     after-report              the server has the end; the folder is still among the live ones
 */
#ifndef AGENT_POINT_H
#define AGENT_POINT_H

void point(const char *name);

#endif
