/*
 * Lists, shows, changes and deletions that are nothing but a path and columns. See verb.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/sort.h"
#include "cli/verb.h"
#include "cli/watch.h"

enum { PAGE = 1000, LIMIT_MAX = 100000 };

char *cli_path(const char *prefix, const char *name, const char *more)
{
    struct str path = { 0 };

    str_add(&path, prefix);
    client_escape(name, &path);
    str_add(&path, more);
    return str_take(&path);
}

/* A list that is asked for: its path with what narrows it, and how much of it. */
struct list {
    struct cli *cli;
    struct str path; /* "/v1/nodes?state=ready" */
    int64_t limit;   /* 0: all */
    const char *sort;
    const char *things; /* "nodes" */
    const struct listing *listing;
    const struct output *output;
};

void cli_add_query(struct str *path, const char *key, const char *value)
{
    bool is_path = path->len && path->data[0] == '/';

    if (!value || !value[0])
        return;
    str_addf(path, "%c%s=", is_path && !strchr(path->data, '?') ? '?' : '&', key);
    client_escape(value, path);
}

int cli_check_filters(struct cli *cli, const struct args *args)
{
    static const char *const filters[] = { "state", "queue", "name", "label",     "since",
                                           "user",  "type",  "job",  "namespace", "sort" };

    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        const char *value = args_maybe(args, filters[i]);

        if (value && !value[0])
            return cli_fail_usage(
                cli, "--%s: its value is empty; leave it out where it is not to narrow",
                filters[i]);
    }
    return 0;
}

/* One page, behind the cursor, and of what is left to the limit. */
static int get_page(struct cli *cli, const char *path, int64_t left, const char *cursor,
                    json_t **out)
{
    CLEANUP(str_fini) struct str paged = { 0 };
    char most[24];

    str_add(&paged, path);
    snprintf(most, sizeof(most), "%" PRId64, left < PAGE ? left : PAGE);
    cli_add_query(&paged, "limit", left ? most : NULL);
    cli_add_query(&paged, "cursor", cursor);
    return cli_get(cli, paged.data, out);
}

int cli_get_pages(struct cli *cli, const char *path, int64_t limit, json_t **out)
{
    CLEANUP(json_decrefp) json_t *all = NULL;
    CLEANUP(freep) char *cursor = text_copy("");
    int64_t left = limit;

    while (cursor && (!limit || left > 0)) {
        CLEANUP(json_decrefp) json_t *page = NULL;
        const json_t *next;
        int r = get_page(cli, path, left, cursor, &page);

        if (r != 0)
            return r;
        next = json_object_get(page, "next");
        mem_free(cursor);
        cursor = text_copy(json_string_value(next));
        left -= limit ? (int64_t)json_array_size(json_object_get(page, "items")) : 0;
        if (!all)
            all = json_incref(page);
        else
            json_array_extend(json_object_get(all, "items"), json_object_get(page, "items"));
        if (next)
            json_object_set(all, "next", (json_t *)next);
        else
            json_object_del(all, "next");
    }
    *out = TAKE(all);
    return 0;
}

static int fetch(void *arg, json_t **out)
{
    const struct list *list = arg;

    return sort_get(list->cli, list->path.data, list->limit, list->listing, list->sort,
                    list->output, out);
}

static const struct cli_flag flags[] = {
    { "sort", 0, "FIELD", "by a field or column, - before it for the largest first", "@sort",
      false },
    { "limit", 0, "N", "at most so many", NULL, false },
    { "watch", 'w', NULL, "print again what changes, until Ctrl-C", NULL, false },
    { "quiet", 0, NULL, "print ids only", NULL, false },
};
const struct flag_set list_flags = { "Flags of the list", flags, COUNT_OF(flags) };

static int print_once(struct list *list, const struct output *output, const struct listing *listing)
{
    CLEANUP(json_decrefp) json_t *all = NULL;
    struct err err = { 0 };
    int r = fetch(list, &all);

    if (r != 0)
        return r;
    if (sort_take_more(all) && output_is_table(output))
        fprintf(stderr, "more than %" PRId64 " %s; see --limit\n", list->limit, list->things);
    if (output_list(output, listing, all, &err) < 0)
        return cli_fail_usage(list->cli, "%s", err.text);
    return EXIT_DONE;
}

static int make_list(struct list *list, const struct args *args, const char *path)
{
    struct err err = { 0 };

    list->sort = args_maybe(args, "sort");
    if (args_int(args, "limit", 1, LIMIT_MAX, &list->limit, &err) < 0)
        return cli_fail_usage(list->cli, "%s", err.text);
    if (cli_check_filters(list->cli, args) != 0)
        return EXIT_USAGE;
    str_add(&list->path, path);
    cli_add_query(&list->path, "state", args_maybe(args, "state"));
    cli_add_query(&list->path, "label", args_maybe(args, "label"));
    return 0;
}

int cli_list(struct cli *cli, const struct args *args, const char *path, const char *types,
             const struct listing *listing)
{
    struct list list = { .cli = cli, .listing = listing, .things = path + strlen("/v1/") };
    CLEANUP(freep) char *query = text_format("&type=%s", types);
    struct watch_options watched = {
        .cli = cli, .listing = listing, .query = query, .fetch = fetch, .arg = &list
    };
    int r = cli_need_output(cli, args, &watched.output);

    list.output = &watched.output;
    if (r == 0)
        r = make_list(&list, args, path);
    if (args_has(args, "quiet"))
        watched.output.format = OUTPUT_ID;
    if (r == 0)
        r = args_has(args, "watch") ? cli_watch(&watched)
                                    : print_once(&list, &watched.output, listing);
    str_fini(&list.path);
    return r;
}

/* What is done with each of several things of one kind. */
struct things {
    const char *prefix; /* of their paths */
    const char *word;   /* that is said once it is done */
    const json_t *body; /* what is asked of each */
    const struct listing *listing;
    struct output output;
    bool has_shown; /* one of them */
};

static int show_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    struct things *things = arg;
    struct output *output = &things->output;
    CLEANUP(json_decrefp) json_t *item = NULL;
    CLEANUP(freep) char *path = cli_path(things->prefix, word, "");
    struct err err = { 0 };
    int r = cli_get(cli, path, &item);

    (void)args;
    if (r != 0)
        return r;
    if (things->has_shown && output->format == OUTPUT_WIDE)
        fputc('\n', output->to);
    if (output_item(output, things->listing, item, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    things->has_shown = true;
    output->has_head = false;
    return EXIT_DONE;
}

int cli_show(struct cli *cli, const struct args *args, const char *prefix,
             const struct listing *listing)
{
    struct things things = { .prefix = prefix, .listing = listing };
    int r = cli_need_output(cli, args, &things.output);

    if (r != 0)
        return r;
    if (things.output.format == OUTPUT_TABLE)
        things.output.format = OUTPUT_WIDE; /* one thing has the room */
    return cli_each(cli, args, show_one, &things);
}

int cli_delete(struct cli *cli, const char *path)
{
    return cli_call(cli, &(struct client_request){ .method = "DELETE", .path = path }, NULL, NULL);
}

static int delete_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    const struct things *things = arg;
    CLEANUP(freep) char *path = cli_path(things->prefix, word, "");
    /* The API takes a DELETE of nothing as done; a person who misspelt a name must hear it. */
    int r = cli_get(cli, path, NULL);

    (void)args;
    if (r == 0)
        r = cli_delete(cli, path);
    if (r == 0)
        printf("%s  %s\n", word, things->word);
    return r;
}

int cli_delete_each(struct cli *cli, const struct args *args, const char *prefix, const char *word)
{
    struct things things = { .prefix = prefix, .word = word };
    int r = cli_need_client(cli, args);

    return r == 0 ? cli_each(cli, args, delete_one, &things) : r;
}

static int act_on_one(struct cli *cli, const struct args *args, const char *word, void *arg)
{
    const struct things *things = arg;
    CLEANUP(freep) char *path = cli_path(things->prefix, word, "/actions");

    return cli_change(
        cli, args,
        &(struct client_request){ .method = "POST", .path = path, .is_repeatable = true },
        things->body, things->listing);
}

int cli_act_each(struct cli *cli, const struct args *args, const char *prefix, const json_t *body,
                 const struct listing *listing)
{
    struct things things = { .prefix = prefix, .body = body, .listing = listing };
    int r = cli_need_output(cli, args, &things.output);

    return r == 0 ? cli_each(cli, args, act_on_one, &things) : r;
}

int cli_change(struct cli *cli, const struct args *args, const struct client_request *request,
               const json_t *body, const struct listing *listing)
{
    CLEANUP(json_decrefp) json_t *item = NULL;
    CLEANUP(str_fini) struct str name = { 0 };
    struct output output;
    struct err err = { 0 };
    json_t *warning;
    size_t i;
    int r = cli_need_output(cli, args, &output);

    if (r != 0)
        return r;
    r = cli_call(cli, request, body, &item);
    if (r != 0)
        return r;
    output_text(item, listing->id, &name);
    json_array_foreach(json_object_get(item, "warnings"), i, warning)
        fprintf(stderr, "berth: %s\n", json_string_value(json_object_get(warning, "detail")));
    if (output.format == OUTPUT_TABLE)
        printf("%s  %s%s%s\n", str_text(&name), json_string_value(json_object_get(item, "state")),
               json_is_true(json_object_get(item, "held")) ? " (held)" : "",
               json_is_true(json_object_get(item, "suspended")) ? " (suspended)" : "");
    else if (output_item(&output, listing, item, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

int cli_put_label(json_t *labels, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    CLEANUP(freep) char *key = NULL;

    if (!equals && n > 0 && word[n - 1] != '-')
        return err_set(err, -EINVAL, "'%s' is neither KEY=VALUE nor KEY- (to take it away)", word);
    n -= !equals && n > 0;
    if (n == 0)
        return err_set(err, -EINVAL, "'%s' names no label", word);
    key = mem_copy(word, n);
    json_object_set_new(labels, key, equals ? json_string(equals + 1) : json_null());
    return 0;
}

int cli_put_grace(struct cli *cli, const struct args *args, json_t *body)
{
    int64_t grace_ms = -1;
    struct err err = { 0 };

    if (args_duration(args, "grace", &grace_ms, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (grace_ms >= 0) /* no shorter than was asked */
        json_object_set_new(body, "graceSeconds", json_integer((grace_ms + 999) / 1000));
    return 0;
}

int cli_confirm(struct cli *cli, const struct args *args, const char *what)
{
    char answer[16] = "";

    if (args_has(args, "yes"))
        return 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return cli_fail_usage(cli, "%s cannot be undone: say --yes", what);
    fprintf(stderr, "%s? It cannot be undone. [y/N] ", what);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    return cli_fail(cli, EXIT_FAILED, "nothing was done");
}
