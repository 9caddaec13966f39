/* Tokens: list, make, delete; and who asks. */
#include <string.h>

#include "base/digest.h"
#include "base/name.h"
#include "base/states.h"
#include "server/call.h"
#include "server/list_watch.h"
#include "server/routes.h"
#include "server/show.h"

enum { ID_BYTES = 16, PATH_PARTS_MAX = 8 };

#define TEN_YEARS_MS (INT64_C(3650) * 24 * 3600 * 1000)

/* ---- what one may ---- */

/* The route of a path, which is cut into its parts. NULL: there is none. */
static const struct route *route_of(enum http_method method, char *path)
{
    const char *parts[PATH_PARTS_MAX], *args[CALL_ARGS_MAX];
    char allowed[80];
    size_t n = 0;

    while (path && n < PATH_PARTS_MAX) {
        const char *part = strsep(&path, "/");
        if (part[0])
            parts[n++] = part;
    }
    return path ? NULL : route_find(method, parts, n, args, allowed);
}

static const struct route *asked_route(struct call *call)
{
    const char *word = call_query(call, "method"), *path = call_query(call, "path");
    int method = word ? states_find(word, http_method_words, HTTP_METHOD_COUNT) : HTTP_GET;
    CLEANUP(freep) char *copy = text_copy(path ? path : "");
    const struct route *route = method < 0 ? NULL : route_of((enum http_method)method, copy);

    if (!route)
        problem_set(&call->problem, PROBLEM_BAD_REQUEST, "%s %s: there is no such call",
                    word ? word : "GET", path ? path : "");
    return route;
}

void on_self_can(struct call *call)
{
    const struct route *route = asked_route(call);
    const char *ns = call_query(call, "namespace");
    struct problem why = { 0 };
    bool can;

    if (!route) {
        call_end(call);
        return;
    }
    can = route->right == RIGHT_NONE || auth_allows(&call->who, route->right, &why);
    if (can && ns && !call_sees(call, ns)) {
        can = false;
        problem_set(&why, PROBLEM_NOT_ALLOWED, "the token `%s` is for the namespace `%s`",
                    call->who.name, call->who.ns);
    }
    call->answer = json_object();
    show_set(call->answer, "can", json_boolean(can));
    show_text(call->answer, "needs", right_words[route->right]);
    show_text(call->answer, "why", why.detail);
    call_end(call);
}

void on_self(struct call *call)
{
    call->answer = show_who(&call->who);
    call_end(call);
}

static int list_token(const void *row, void *arg)
{
    json_array_append_new(arg, show_token(row));
    return 0;
}

static int tokens_read(struct call *call, struct reader *reader, struct err *err)
{
    json_t *items = json_array();
    int r = reader_tokens(reader, list_token, items, err);

    call->answer = list_ways_answer(call->state, items, call->revision);
    return r;
}

static const char *const token_sorts[] = { "id",     "name",  "user", "namespace",
                                           "rights", "until", NULL };
static const struct list_kind token_list = { "id", token_sorts, NULL, 0 };

void on_tokens_list(struct call *call)
{
    struct list_ways *ways = list_ways_begin(call, &token_list);
    bool is_watched;

    if (!ways || !list_watch_read(call, &is_watched))
        call_end(call);
    else if (is_watched)
        list_watch_rows(call, ROW_TOKEN, NULL);
    else
        call_read(call, tokens_read, NULL);
}

/* ---- make ---- */

static const struct json_key token_keys[] = { { "name", false },
                                              { "user", false },
                                              { "namespace", false },
                                              { "rights", false },
                                              { "lifetime", false } };

static void read_name(const struct json_at *top, const char *key, const char **out)
{
    struct json_at at = json_at_member(top, key);

    if (json_get_text(top, key, out) && !name_is_valid(*out))
        json_refuse(&at, PROBLEM_INVALID_FIELD,
                    "\"%.70s\" is not a name: 1 to 63 of a-z, 0-9 and -", *out);
}

static struct op *read_token(struct call *call, const json_t *body, const char *hash)
{
    struct json_at top = json_at_top(body, &call->problem), at;
    const char *name = NULL, *user = NULL, *ns = "";
    int64_t lifetime_ms = call->server->options.token_lifetime_ms;
    int right = RIGHT_NONE;
    struct op *op;

    if (!json_check_object(&top, token_keys, COUNT_OF(token_keys)))
        return NULL;
    read_name(&top, "name", &name);
    read_name(&top, "user", &user);
    read_name(&top, "namespace", &ns);
    json_get_duration(&top, "lifetime", TEN_YEARS_MS, &lifetime_ms);
    at = json_at_member(&top, "rights");
    if ((json_get_word(&top, "rights", right_words, RIGHT_COUNT, &right) || !at.value) &&
        right == RIGHT_NONE)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "say which: viewer, user, admin or agent");
    at = json_at_member(&top, "name");
    if (!at.value)
        json_refuse(&at, PROBLEM_INVALID_FIELD, "a token needs a name");
    if (call->problem.code)
        return NULL;
    op = op_new(OP_TOKEN_PUT, NULL, NULL);
    op->token_put.hash = text_copy(hash);
    op->token_put.name = text_copy(name);
    op->token_put.user = text_copy(user ? user : name);
    op->token_put.ns = text_copy(ns);
    op->token_put.rights = text_copy(right_words[right]);
    op->token_put.until = lifetime_ms ? clock_wall_ms(call->server->clock) + lifetime_ms : 0;
    return op;
}

static void answer_made(void *arg)
{
    struct call *call = arg;
    const struct op_token_put *put = &call->op->token_put;
    CLEANUP(freep) char *id = mem_copy(put->hash, ID_BYTES);

    call->answer = json_object();
    show_text(call->answer, "id", id);
    show_text(call->answer, "token", call->state);
    show_text(call->answer, "name", put->name);
    show_text(call->answer, "user", put->user);
    show_text(call->answer, "namespace", put->ns);
    show_text(call->answer, "rights", put->rights);
    show_time(call->answer, "until", put->until);
    call->status = 201;
    call_end(call);
}

static void made(struct call *call)
{
    /* The answer must not be ahead of what requests are held against. */
    watch_when(call->server->watch, call->op->revision, answer_made, call);
}

void on_tokens_create(struct call *call)
{
    char token[DIGEST_HEX_SIZE], hash[DIGEST_HEX_SIZE];
    struct err err = { 0 };
    json_t *body = call_body(call);
    struct op *op = NULL;

    if (body && digest_random_hex(token, &err) < 0)
        problem_set(&call->problem, PROBLEM_INTERNAL, "%s", err.text);
    if (body && !call->problem.code) {
        digest_hex(token, strlen(token), hash);
        op = read_token(call, body, hash);
    }
    json_decref(body);
    if (!op) {
        call_end(call);
        return;
    }
    call->state = text_copy(token);
    call->free_state = mem_free;
    call_send(call, op, made);
}

/* ---- delete ---- */

struct search {
    const char *id;
    char *hash;
};

static void search_free(void *state)
{
    struct search *search = state;

    free(search->hash);
    free(search);
}

static int match_token(const void *row, void *arg)
{
    const struct row_token *token = row;
    struct search *search = arg;

    if (strlen(search->id) != ID_BYTES || !text_begins(token->hash, search->id))
        return 0;
    search->hash = text_copy(token->hash);
    return 1;
}

static int token_read(struct call *call, struct reader *reader, struct err *err)
{
    int r = reader_tokens(reader, match_token, call->state, err);

    return r < 0 ? r : 0;
}

static void answer_gone(void *arg)
{
    struct call *call = arg;

    call->status = 204;
    call_end(call);
}

static void deleted(struct call *call)
{
    watch_when(call->server->watch, call->op->revision, answer_gone, call);
}

static void delete_loaded(struct call *call)
{
    struct search *search = call->state;
    struct op *op;

    if (!search->hash) {
        answer_gone(call);
        return;
    }
    op = op_new(OP_TOKEN_DELETE, NULL, NULL);
    op->token_delete.hash = text_copy(search->hash);
    call_send(call, op, deleted);
}

void on_token_delete(struct call *call)
{
    struct search *search = NEW0(struct search);

    search->id = call->args[0];
    call->state = search;
    call->free_state = search_free;
    call_read(call, token_read, delete_loaded);
}
