/*
 * Which version this is.
 */
#ifndef SERVER_VERSION_H
#define SERVER_VERSION_H

extern const char *const server_version; /* "0.1.0" */
extern const char *const server_commit;

#endif
