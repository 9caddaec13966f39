/* Auth: see auth.h. One map under a lock that is held for a look-up, never across anything else. */
#include "server/auth.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/map.h"

struct known {
    char hash[DIGEST_HEX_SIZE];
    struct who who;
};

struct auth {
    pthread_mutex_t lock;
    struct map by_hash; /* struct known */
    bool is_ready;      /* a base came */
};

const char *const right_words[RIGHT_COUNT] = {
    [RIGHT_NONE] = "none",   [RIGHT_VIEWER] = "viewer", [RIGHT_USER] = "user",
    [RIGHT_ADMIN] = "admin", [RIGHT_AGENT] = "agent",
};

struct auth *auth_new(void)
{
    struct auth *auth = NEW0(struct auth);

    pthread_mutex_init(&auth->lock, NULL);
    return auth;
}

static void forget_all(struct auth *auth)
{
    MAP_EACH (entry, &auth->by_hash)
        free(entry->value);
    map_fini(&auth->by_hash);
    auth->by_hash = (struct map){ 0 };
}

void auth_free(struct auth *auth)
{
    if (!auth)
        return;
    forget_all(auth);
    pthread_mutex_destroy(&auth->lock);
    free(auth);
}

static enum right right_of(const char *word)
{
    for (int i = 1; i < RIGHT_COUNT; i++)
        if (text_eq(word, right_words[i]))
            return (enum right)i;
    return RIGHT_NONE;
}

static void learn(struct auth *auth, const struct row_token *row, bool is_deleted)
{
    struct known *known = map_remove(&auth->by_hash, row->hash);

    free(known);
    if (is_deleted || strlen(row->hash) != DIGEST_HEX_SIZE - 1)
        return;
    known = NEW0(struct known);
    memcpy(known->hash, row->hash, DIGEST_HEX_SIZE);
    known->who.right = right_of(row->rights);
    known->who.until = row->until;
    snprintf(known->who.name, sizeof(known->who.name), "%s", row->name);
    snprintf(known->who.user, sizeof(known->who.user), "%s", row->user);
    snprintf(known->who.ns, sizeof(known->who.ns), "%s", row->ns);
    map_put(&auth->by_hash, known->hash, known);
}

void auth_follow(struct auth *auth, const struct batch *batch)
{
    pthread_mutex_lock(&auth->lock);
    if (batch->is_base)
        forget_all(auth);
    for (size_t i = 0; i < batch->n_events; i++)
        if (batch->events[i].kind == ROW_TOKEN)
            learn(auth, batch->events[i].row.token, batch->events[i].is_deleted);
    auth->is_ready |= batch->is_base;
    pthread_mutex_unlock(&auth->lock);
}

/* Looks a token up; 1 before anything is known. */
static int find(struct auth *auth, const char *token, struct who *out)
{
    char hash[DIGEST_HEX_SIZE];
    const struct known *known;
    bool is_ready;

    digest_hex(token, strlen(token), hash);
    pthread_mutex_lock(&auth->lock);
    is_ready = auth->is_ready;
    known = map_get(&auth->by_hash, hash);
    /* The map compares texts; what it found is compared again in constant time, so that no time
     * tells of a token that is nearly right. */
    if (known && !digest_eq(known->hash, hash))
        known = NULL;
    if (known)
        *out = known->who;
    pthread_mutex_unlock(&auth->lock);
    return known ? 0 : is_ready ? -ENOENT : 1;
}

int auth_check(struct auth *auth, const char *header, int64_t now_ms, struct who *out,
               struct problem *problem)
{
    int r;

    if (!header)
        return problem_set(problem, PROBLEM_NO_TOKEN, "the header Authorization is missing");
    if (strncasecmp(header, "Bearer ", 7) != 0)
        return problem_set(problem, PROBLEM_NO_TOKEN,
                           "the header Authorization is not `Bearer TOKEN`");
    r = find(auth, header + 7 + strspn(header + 7, " "), out);
    if (r > 0)
        return problem_set(problem, PROBLEM_STARTING, "the tokens are not read yet");
    if (r < 0)
        return problem_set(problem, PROBLEM_NO_TOKEN, "the token is not known");
    if (out->until && out->until <= now_ms)
        return problem_set(problem, PROBLEM_TOKEN_EXPIRED, "the token `%s` is over", out->name);
    return 0;
}

bool auth_allows(const struct who *who, enum right needed, struct problem *problem)
{
    bool is_enough = who->right == needed;

    /* An agent's token opens its own paths only, and nobody else's opens those. */
    if (who->right != RIGHT_AGENT && needed != RIGHT_AGENT)
        is_enough = who->right >= needed;
    if (!is_enough)
        problem_set(problem, PROBLEM_NOT_ALLOWED,
                    "this needs the right `%s`; the token `%s` has `%s`", right_words[needed],
                    who->name, right_words[who->right]);
    return is_enough;
}
