/*
 * Auth: who a token is, from the ledger's tokens in memory.
 *
 * Kept current by batches; asked by every request on any loop. Tokens are known by their SHA-256
 * only.
 */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H

#include "api/problem.h"
#include "ledger/ledger.h"

enum { WHO_TEXT_SIZE = 64 };

enum right { RIGHT_NONE, RIGHT_VIEWER, RIGHT_USER, RIGHT_ADMIN, RIGHT_AGENT, RIGHT_COUNT };
extern const char *const right_words[RIGHT_COUNT]; /* "none", "viewer", ... as rows have them */

/* Who asks. */
struct who {
    enum right right;
    char name[WHO_TEXT_SIZE], user[WHO_TEXT_SIZE];
    char ns[WHO_TEXT_SIZE]; /* "": all */
    int64_t until;          /* wall ms; 0 for ever */
};

struct auth;

struct auth *auth_new(void);
void auth_free(struct auth *auth);
/** Takes over the tokens of a batch; any thread, in order. */
void auth_follow(struct auth *auth, const struct batch *batch);

/**
 * Finds who sent a header `Authorization: Bearer TOKEN`.
 *
 * @header   its value, or NULL
 * @problem  { 0 }; gains NO_TOKEN, TOKEN_EXPIRED, or STARTING before the first batch
 * Returns   0; -EINVAL
 * Thread    any
 */
MUST_CHECK int auth_check(struct auth *auth, const char *header, int64_t now_ms, struct who *out,
                          struct problem *problem);
/** Whether a right is enough; if not, the problem names the one that is missing. */
bool auth_allows(const struct who *who, enum right needed, struct problem *problem);

#endif
