/* berth token: who may ask the server. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/verb.h"

static const struct column columns[] = {
    { "ID", "id", NULL, 0 },         { "NAME", "name", NULL, 0 },
    { "USER", "user", NULL, 0 },     { "NAMESPACE", "namespace", NULL, 0 },
    { "RIGHTS", "rights", NULL, 0 }, { "UNTIL", "until", NULL, 0 },
};
static const struct listing listing = { columns, COUNT_OF(columns), "id", "name" };

static int run_list(struct cli *cli, const struct args *args)
{
    return cli_list(cli, args, "/v1/tokens", "token.*", &listing);
}

/* The id of the one token that begins so. Nothing is deleted by a word that no token answers to:
 * who misspells it would believe the token dead. */
static int find_token(struct cli *cli, const json_t *items, const char *word, const char **out)
{
    const json_t *item;
    size_t n = 0, i;

    json_array_foreach(items, i, item)
    {
        const char *id = json_string_value(json_object_get(item, "id"));

        if (!id || !text_begins(id, word))
            continue;
        *out = id;
        n++;
        if (strcmp(id, word) == 0)
            return 0;
    }
    if (n == 0 || !word[0])
        return cli_fail(cli, EXIT_NOT_FOUND, "there is no token with the id %s (berth token list)",
                        word);
    return n == 1 ? 0
                  : cli_fail(cli, EXIT_USAGE, "%zu tokens have an id that begins with %s", n, word);
}

static int delete_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    const json_t *all = arg;
    CLEANUP(freep) char *path = NULL;
    const char *id = NULL;
    int r = find_token(cli, json_object_get(all, "items"), word, &id);

    (void)args;
    if (r != 0)
        return r;
    path = cli_path("/v1/tokens/", id, "");
    r = cli_delete(cli, path);
    if (r == 0)
        printf("%s  deleted\n", id);
    return r;
}

static int run_delete(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *all = NULL;
    int r = cli_need_client(cli, args);

    if (r == 0)
        r = cli_get_pages(cli, "/v1/tokens", 0, &all);
    return r == 0 ? cli_each(cli, args, delete_one, all) : r;
}

/* A new file that only its owner can read, as those who read tokens demand. It is opened before the
 * token is made: a token that cannot be kept, or that takes another's place, should not be made. */
static int open_file(struct cli *cli, const char *path, int *fd)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd >= 0)
        return 0;
    if (errno == EEXIST)
        return cli_fail(cli, EXIT_CONFLICT,
                        "%s is there already, perhaps with a token in use; "
                        "name another file, or remove it",
                        path);
    return cli_fail(cli, EXIT_FAILED, "open %s: %s", path, strerror(errno));
}

static int write_token(struct cli *cli, const char *path, int fd, const json_t *token)
{
    const char *secret = json_string_value(json_object_get(token, "token"));
    CLEANUP(freep) char *line = text_format("%s\n", secret ? secret : "");
    int r = file_write_all(fd, line, strlen(line));

    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r < 0)
        return cli_fail(cli, EXIT_FAILED,
                        "the token was made, but not kept: write %s: %s; delete it (%s)", path,
                        strerror(-r), json_string_value(json_object_get(token, "id")));
    printf("%s  in %s\n", json_string_value(json_object_get(token, "id")), path);
    return EXIT_DONE;
}

static int run_create(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "name", args->rest.at[0]);
    CLEANUP(json_decrefp) json_t *token = NULL;
    static const char *const texts[] = { "user", "namespace", "rights", "lifetime" };
    const char *path = args_get(args, "file");
    CLEANUP(closep) int fd = -1;
    struct output output;
    struct err err = { 0 };
    int r = cli_need_output(cli, args, &output);

    if (r == 0 && path)
        r = open_file(cli, path, &fd);
    if (r != 0)
        return r;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (args_has(args, texts[i]))
            json_object_set_new(body, texts[i], json_string(args_get(args, texts[i])));
    if (!args_has(args, "user"))
        json_object_set_new(body, "user", json_string(args->rest.at[0]));
    if (!args_has(args, "rights"))
        json_object_set_new(body, "rights", json_string("user"));
    /* Not to be repeated blindly: each repetition would make another token. */
    r = cli_call(cli, &(struct client_request){ .method = "POST", .path = "/v1/tokens" }, body,
                 &token);
    if (r != 0 && path)
        unlink(path);
    if (r != 0)
        return r;
    if (path)
        return write_token(cli, path, fd, token);
    if (output.format == OUTPUT_TABLE)
        printf("%s\n", json_string_value(json_object_get(token, "token")));
    else if (output_item(&output, &listing, token, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

static const struct cli_flag own[] = {
    { "user", 0, "NAME", "who asks with it (default: its name)", NULL, false },
    { "namespace", 'n', "NAME", "where it is good (default: everywhere)", NULL, false },
    { "rights", 0, "WORD", "viewer reads, user also submits (default), admin all, agent serves",
      "viewer|user|admin|agent", false },
    { "file", 0, "FILE", "put it into a new file that only you can read, instead of printing it",
      NULL, false },
    { "lifetime", 0, "TIME",
      "how long it is good: 30d; 0s: for ever (default: what the server says)", NULL, false },
};
static const struct flag_set own_flags = { "Flags of the token", own, COUNT_OF(own) };
static const struct grammar list_grammar = { .sets = { &list_flags, &output_flags,
                                                       &client_flags } };
static const struct grammar create_grammar = {
    .sets = { &own_flags, &output_flags, &client_flags },
    .rest = "NAME",
    .n_rest_min = 1,
    .n_rest_max = 1,
};
static const struct grammar delete_grammar = {
    .sets = { &client_flags },
    .rest = "ID",
    .rest_words = "@token",
    .n_rest_min = 1,
    .n_rest_max = REST_MANY,
};

const struct verb verb_token_list = {
    .name = "token list",
    .run = run_list,
    .help = "List the tokens, without their secrets",
    .usage = "[FLAG...]",
    .more = "FIELD is one of id name user namespace rights until.",
    .examples = { "token list --sort until", "token list -o json" },
    .grammar = &list_grammar,
};
const struct verb verb_token_create = {
    .name = "token create",
    .run = run_create,
    .help = "Create a token and print it, this once",
    .usage = "[FLAG...] NAME",
    .examples = { "token create ci --namespace build --lifetime 30d --file ci.token",
                  "token create gpu-a1 --rights agent --file agent.token" },
    .grammar = &create_grammar,
};
const struct verb verb_token_delete = {
    .name = "token delete",
    .run = run_delete,
    .help = "Delete tokens: nobody can ask with them any more",
    .usage = "[FLAG...] ID...",
    .more = "ID is an id, or its beginning where only one token begins so.",
    .examples = { "token delete 3f9a", "token delete 3f9a 77c1" },
    .grammar = &delete_grammar,
};
