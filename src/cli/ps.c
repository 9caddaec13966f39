/*
 * berth ps, berth job list: jobs as a table; with --watch again whenever something changes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cli/job.h"
#include "cli/watch.h"

enum { PAGE_MAX = 1000, LIMIT_DEFAULT = 200, LIMIT_MAX = 100000 };

/* What is listed. */
struct ps {
    struct cli *cli;
    const struct args *args;
    struct output output;
    struct str query; /* "&queue=research..." */
    int64_t limit;
};

static void add_query(struct str *query, const char *key, const char *value)
{
    if (!value)
        return;
    str_addf(query, "&%s=", key);
    client_escape(value, query);
}

/* Mine, unless others are asked for. */
static int add_user(struct ps *ps)
{
    CLEANUP(json_decrefp) json_t *self = NULL;
    int r;

    if (args_has(ps->args, "all-users"))
        return 0;
    if (args_has(ps->args, "user")) {
        add_query(&ps->query, "user", args_get(ps->args, "user"));
        return 0;
    }
    r = cli_get(ps->cli, "/v1/self", &self);
    if (r == 0)
        add_query(&ps->query, "user", json_string_value(json_object_get(self, "user")));
    return r;
}

static int make_query(struct ps *ps)
{
    const struct args *args = ps->args;
    CLEANUP(freep)
    char *sort =
        args_has(args, "sort") ? cli_sort_field(&job_listing, args_get(args, "sort")) : NULL;

    if (!args_has(args, "all") && !args_has(args, "state"))
        add_query(&ps->query, "active", "1");
    if (!args_has(args, "all-namespaces"))
        add_query(&ps->query, "namespace", ps->cli->settings.values[SETTING_NAMESPACE]);
    add_query(&ps->query, "state", args_get(args, "state"));
    add_query(&ps->query, "queue", args_get(args, "queue"));
    add_query(&ps->query, "name", args_get(args, "name"));
    add_query(&ps->query, "label", args_get(args, "label"));
    add_query(&ps->query, "since", args_get(args, "since"));
    add_query(&ps->query, "sort", sort);
    if (ps->output.format == OUTPUT_WIDE || output_has_rows(&ps->output))
        str_add(&ps->query, "&resources=1");
    return add_user(ps);
}

/* Gathers pages until the limit. */
static int fetch(struct ps *ps, json_t **out)
{
    CLEANUP(json_decrefp) json_t *all = NULL;
    CLEANUP(freep) char *cursor = text_copy("");

    while (cursor) {
        CLEANUP(json_decrefp) json_t *page = NULL;
        CLEANUP(str_fini) struct str path = { 0 };
        int64_t left = ps->limit - (int64_t)json_array_size(json_object_get(all, "items"));
        const char *next;
        int r;

        str_addf(&path, "/v1/jobs?limit=%" PRId64 "%s", left < PAGE_MAX ? left : PAGE_MAX,
                 str_text(&ps->query));
        add_query(&path, "cursor", cursor[0] ? cursor : NULL);
        r = cli_get(ps->cli, path.data, &page);
        if (r != 0)
            return r;
        next = json_string_value(json_object_get(page, "next"));
        mem_free(cursor);
        cursor = text_copy(next);
        if (!all)
            all = json_incref(page);
        else
            json_array_extend(json_object_get(all, "items"), json_object_get(page, "items"));
        if ((int64_t)json_array_size(json_object_get(all, "items")) >= ps->limit)
            break;
    }
    *out = TAKE(all);
    return 0;
}

static int print_list(struct ps *ps, const json_t *list)
{
    struct err err = { 0 };

    if (output_list(&ps->output, &job_listing, list, &err) < 0)
        return cli_fail_usage(ps->cli, "%s", err.text);
    return EXIT_DONE;
}

static int print_once(struct ps *ps)
{
    CLEANUP(json_decrefp) json_t *list = NULL;
    int r = fetch(ps, &list);

    if (r != 0)
        return r;
    if (output_is_table(&ps->output) && json_object_get(list, "next"))
        fprintf(stderr, "more than %" PRId64 " jobs; see --limit\n", ps->limit);
    return print_list(ps, list);
}

static int fetch_list(void *arg, json_t **out)
{
    return fetch(arg, out);
}

static int watch(struct ps *ps)
{
    return cli_watch(&(struct watch_options){ .cli = ps->cli,
                                              .output = ps->output,
                                              .listing = &job_listing,
                                              .query = "&type=job.*,attempt.*",
                                              .by_revision = true,
                                              .left_prefix = "/v1/jobs/",
                                              .fetch = fetch_list,
                                              .arg = ps });
}

/* ---- the verbs ---- */

static int run_ps(struct cli *cli, const struct args *args)
{
    struct ps ps = { .cli = cli, .args = args, .limit = LIMIT_DEFAULT };
    struct err err = { 0 };
    int r = cli_need_output(cli, args, &ps.output);

    if (r != 0)
        return r;
    if (args_int(args, "limit", 1, LIMIT_MAX, &ps.limit, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (args_has(args, "quiet"))
        ps.output.format = OUTPUT_ID;
    r = make_query(&ps);
    if (r == 0)
        r = args_has(args, "watch") ? watch(&ps) : print_once(&ps);
    str_fini(&ps.query);
    return r;
}

static const struct cli_flag own[] = {
    { "all", 'a', NULL, "those that are over too", NULL, false },
    { "state", 0, "STATES", "only these: pending,running,stopping,succeeded,failed,cancelled", NULL,
      false },
    { "queue", 'q', "NAME", "only of this queue", "@queue", false },
    { "name", 0, "NAME", "only of this name", NULL, false },
    { "label", 'l', "KEY=VALUE", "only with this label", NULL, false },
    { "since", 0, "TIME", "submitted or ended since: 2d, or a time", NULL, false },
    { "user", 0, "NAME", "somebody else's", NULL, false },
    { "all-users", 0, NULL, "everybody's", NULL, false },
    { "all-namespaces", 'A', NULL, "of all namespaces", NULL, false },
    { "sort", 0, "FIELD", "by a field or column, - before it for the largest first", NULL, false },
    { "limit", 0, "N", "at most so many (default 200)", NULL, false },
    { "watch", 'w', NULL, "print again what changes, until Ctrl-C", NULL, false },
    { "quiet", 0, NULL, "print ids only", NULL, false },
};
static const struct flag_set own_flags = { "Flags of the list", own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &time_flags, &client_flags },
};

static const char more[] =
    "Lists your jobs that are not over, newest first. INFO says why a job waits, where it runs,\n"
    "or how it ended. FIELD is one of id name namespace user queue priority state tasks waiting\n"
    "running age submittedAt startedAt endedAt code, or a column's head.";

const struct verb verb_ps = {
    .name = "ps",
    .run = run_ps,
    .help = "List jobs",
    .usage = "[FLAG...]",
    .more = more,
    .examples = { "ps -w --sort -waiting", "ps -a --since 1h -o wide --all-users" },
    .grammar = &grammar,
};
const struct verb verb_job_list = {
    .name = "job list",
    .run = run_ps,
    .help = "List jobs (the same as ps)",
    .usage = "[FLAG...]",
    .more = more,
    .examples = { "job list --state pending,running", "job list -a -q research -o jsonl" },
    .grammar = &grammar,
};
