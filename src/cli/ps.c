/*
 * berth ps, berth job list: jobs as a table; with --watch again whenever something changes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cli/job.h"
#include "cli/sort.h"
#include "cli/watch.h"

enum { LIMIT_DEFAULT = 200, LIMIT_MAX = 100000 };

/* What is listed. */
struct ps {
    struct cli *cli;
    const struct args *args;
    struct output output;
    struct str path; /* "/v1/jobs?queue=research..." */
    int64_t limit;
    const char *sort;
};

/* Mine, unless others are asked for. */
static int add_user(struct ps *ps)
{
    CLEANUP(json_decrefp) json_t *self = NULL;
    int r;

    if (args_has(ps->args, "all-users"))
        return 0;
    if (args_has(ps->args, "user")) {
        cli_add_query(&ps->path, "user", args_get(ps->args, "user"));
        return 0;
    }
    r = cli_get(ps->cli, "/v1/self", &self);
    if (r == 0)
        cli_add_query(&ps->path, "user", json_string_value(json_object_get(self, "user")));
    return r;
}

static int make_path(struct ps *ps)
{
    const struct args *args = ps->args;
    CLEANUP(freep) char *field = NULL;

    str_add(&ps->path, "/v1/jobs");
    if (!args_has(args, "all") && !args_has(args, "state"))
        cli_add_query(&ps->path, "active", "1");
    if (!args_has(args, "all-namespaces"))
        cli_add_query(&ps->path, "namespace", ps->cli->settings.values[SETTING_NAMESPACE]);
    cli_add_query(&ps->path, "state", args_get(args, "state"));
    cli_add_query(&ps->path, "queue", args_get(args, "queue"));
    cli_add_query(&ps->path, "name", args_get(args, "name"));
    cli_add_query(&ps->path, "label", args_get(args, "label"));
    cli_add_query(&ps->path, "since", args_get(args, "since"));
    ps->sort = args_has(args, "sort") ? args_get(args, "sort") : NULL;
    if (ps->sort)
        field = sort_field(&job_listing, ps->sort);
    if ((ps->sort && !field) || ps->output.format == OUTPUT_WIDE ||
        ps->output.format == OUTPUT_TEMPLATE || output_has_rows(&ps->output))
        cli_add_query(&ps->path, "resources", "1");
    return add_user(ps);
}

static int fetch(void *arg, json_t **out)
{
    const struct ps *ps = arg;

    return sort_get(ps->cli, ps->path.data, ps->limit, &job_listing, ps->sort, &ps->output, out);
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
    if (sort_take_more(list) && output_is_table(&ps->output))
        fprintf(stderr, "more than %" PRId64 " jobs; see --limit\n", ps->limit);
    return print_list(ps, list);
}

static int watch(struct ps *ps)
{
    return cli_watch(&(struct watch_options){ .cli = ps->cli,
                                              .output = ps->output,
                                              .listing = &job_listing,
                                              .query = "&type=job.*,attempt.*",
                                              .by_revision = true,
                                              .left_prefix = "/v1/jobs/",
                                              .fetch = fetch,
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
    r = cli_check_filters(cli, args);
    if (r != 0)
        return r;
    if (args_has(args, "quiet"))
        ps.output.format = OUTPUT_ID;
    r = make_path(&ps);
    if (r == 0)
        r = args_has(args, "watch") ? watch(&ps) : print_once(&ps);
    str_fini(&ps.path);
    return r;
}

static const struct cli_flag own[] = {
    { "all", 'a', NULL, "those that are over too", NULL, false },
    { "state", 0, "STATES", "only these: pending,running,stopping,succeeded,failed,cancelled",
      "@=pending|running|stopping|succeeded|failed|cancelled", false },
    { "queue", 'q', "NAME", "only of this queue", "@queue", false },
    { "name", 0, "NAME", "only of this name", NULL, false },
    { "label", 'l', "KEY=VALUE", "only with this label", NULL, false },
    { "since", 0, "TIME", "submitted or ended since: 2d, or a time", NULL, false },
    { "user", 0, "NAME", "somebody else's", NULL, false },
    { "all-users", 0, NULL, "everybody's", NULL, false },
    { "all-namespaces", 'A', NULL, "of all namespaces", NULL, false },
    { "sort", 0, "FIELD", "by a field or column, - before it for the largest first", "@sort",
      false },
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
