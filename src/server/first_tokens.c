/* The first tokens: see first_tokens.h. */
#include "server/first_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"

enum { TOKEN_MIN_BYTES = 32, TOKEN_MAX_BYTES = 4096 };

/* Which rights some token of the ledger has. */
struct have {
    bool right[RIGHT_COUNT];
};

static int note_right(const void *row, void *arg)
{
    const struct row_token *token = row;
    struct have *have = arg;

    for (int i = 1; i < RIGHT_COUNT; i++)
        have->right[i] |= text_eq(token->rights, right_words[i]);
    return 0;
}

static int read_rights(struct server *server, struct have *have, struct err *err)
{
    struct reader *reader = server_take_reader(server);
    uint64_t revision;
    int r = reader_begin(reader, &revision, err);

    if (r == 0) {
        r = reader_tokens(reader, note_right, have, err);
        reader_end(reader);
    }
    server_put_reader(server, reader);
    return r < 0 ? r : 0;
}

/* The token in a file, which is made if it is not there. */
static int read_token(const char *path, struct str *out, struct err *err)
{
    char random[DIGEST_HEX_SIZE];
    int r;

    if (access(path, F_OK) == 0) {
        r = file_check_secret(path, err);
        if (r < 0)
            return r;
        r = file_read(AT_FDCWD, path, TOKEN_MAX_BYTES, out, err);
        while (r == 0 && out->len && isspace((unsigned char)out->data[out->len - 1]))
            out->data[--out->len] = '\0';
        if (r == 0 && out->len < TOKEN_MIN_BYTES)
            return err_set(err, -EINVAL, "%s: no token of at least %d letters", path,
                           TOKEN_MIN_BYTES);
        return r;
    }
    r = digest_random_hex(random, err);
    if (r < 0)
        return r;
    str_addf(out, "%s\n", random);
    r = file_write(AT_FDCWD, path, out->data, out->len, 0600, true, err);
    out->data[--out->len] = '\0';
    return r;
}

static void wake(struct op *op, void *arg)
{
    (void)op;
    sem_post(arg);
}

static int put_token(struct server *server, const char *token, enum right right, struct err *err)
{
    struct op *op;
    char hash[DIGEST_HEX_SIZE];
    sem_t done;
    int r = 0;

    sem_init(&done, 0, 0);
    op = op_new(OP_TOKEN_PUT, wake, &done);
    digest_hex(token, strlen(token), hash);
    op->token_put.hash = text_copy(hash);
    op->token_put.name = text_format("first-%s", right_words[right]);
    op->token_put.user = text_copy(right_words[right]);
    op->token_put.ns = text_copy("");
    op->token_put.rights = text_copy(right_words[right]);
    ledger_send(server->ledger, op);
    while (sem_wait(&done) < 0 && errno == EINTR)
        ;
    if (op->problem.code) /* a ledger that cannot be written is as a full disk: it may pass */
        r = err_set(err, op->problem.code == PROBLEM_STORE_UNAVAILABLE ? -ENOSPC : -EIO,
                    "keep the first token: %s", op->problem.detail);
    op_free(op);
    sem_destroy(&done);
    return r;
}

static int make(struct server *server, const char *path, enum right right, struct err *err)
{
    CLEANUP(str_fini) struct str token = { 0 };
    int r = read_token(path, &token, err);

    if (r == 0)
        r = put_token(server, token.data, right, err);
    if (r == 0)
        log_info("a first token", "rights", right_words[right], "file", path, NULL);
    return r;
}

int first_tokens_make(struct server *server, struct err *err)
{
    struct have have = { 0 };
    int r = read_rights(server, &have, err);

    if (r == 0 && !have.right[RIGHT_ADMIN])
        r = make(server, server->token_path, RIGHT_ADMIN, err);
    if (r == 0 && !have.right[RIGHT_AGENT])
        r = make(server, server->agent_token_path, RIGHT_AGENT, err);
    return r;
}
