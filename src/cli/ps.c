/*
 * berth ps, berth job list: jobs as a table; with --watch again whenever something changes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cli/events.h"
#include "cli/job.h"

enum { PAGE_MAX = 1000, LIMIT_DEFAULT = 200, LIMIT_MAX = 100000, REDRAW_MS = 200, AGES_MS = 2000 };

/* What is listed. */
struct ps {
    struct cli *cli;
    const struct args *args;
    struct output output;
    struct str query; /* "&queue=research..." */
    int64_t limit;

    /* While watching. */
    struct loop *loop;
    struct events *events;
    struct timer *redraw;
    json_t *shown; /* id to revision of what was printed; NULL on a terminal */
    int exit_code;
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

    if (!args_has(args, "all") && !args_has(args, "state"))
        add_query(&ps->query, "active", "1");
    if (!args_has(args, "all-namespaces"))
        add_query(&ps->query, "namespace", ps->cli->settings.values[SETTING_NAMESPACE]);
    add_query(&ps->query, "state", args_get(args, "state"));
    add_query(&ps->query, "queue", args_get(args, "queue"));
    add_query(&ps->query, "name", args_get(args, "name"));
    add_query(&ps->query, "label", args_get(args, "label"));
    add_query(&ps->query, "since", args_get(args, "since"));
    if (ps->output.format == OUTPUT_WIDE || ps->output.format == OUTPUT_COLS)
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

/* ---- watching ---- */

/* Of a list what was not printed as it is now; remembers it as printed. */
static json_t *take_changed(struct ps *ps, const json_t *list)
{
    json_t *changed = json_array(), *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item)
    {
        const char *id = json_string_value(json_object_get(item, "id"));
        json_t *revision = json_object_get(item, "revision");

        if (!id || json_equal(json_object_get(ps->shown, id), revision))
            continue;
        json_object_set(ps->shown, id, revision);
        json_array_append(changed, item);
    }
    return changed;
}

static void print_changed(struct ps *ps, const json_t *list)
{
    CLEANUP(json_decrefp) json_t *changed = take_changed(ps, list);

    if (json_array_size(changed) == 0)
        return;
    ps->exit_code = print_list(ps, changed);
    ps->output.has_head = false;
    fflush(ps->output.to);
}

static void draw(void *arg)
{
    struct ps *ps = arg;
    CLEANUP(json_decrefp) json_t *list = NULL;

    ps->exit_code = fetch(ps, &list);
    ps->output.now_ms = clock_wall_ms(&clock_system);
    if (ps->exit_code == 0 && ps->shown) {
        print_changed(ps, list);
    } else if (ps->exit_code == 0) {
        fputs("\x1b[H\x1b[2J", ps->output.to);
        ps->exit_code = print_list(ps, list);
        fflush(ps->output.to);
        timer_set(ps->redraw, AGES_MS);
    }
    if (ps->exit_code != 0)
        loop_stop(ps->loop);
}

static void on_event(void *arg, const json_t *event)
{
    struct ps *ps = arg;

    (void)event;
    timer_set(ps->redraw, REDRAW_MS); /* many events make one look */
}

static void on_gap(void *arg)
{
    struct ps *ps = arg;

    events_restart(ps->events, -1); /* each look reads the whole list, so nothing is missed */
    timer_set(ps->redraw, REDRAW_MS);
}

static void on_end(void *arg, int status, const struct problem *problem, const struct err *err)
{
    struct ps *ps = arg;

    ps->exit_code =
        status ? cli_fail_problem(ps->cli, problem, status) : cli_fail_err(ps->cli, err);
    loop_stop(ps->loop);
}

static int watch(struct ps *ps)
{
    struct client *client = NULL;
    struct err err = { 0 };
    int r = loop_open(&ps->loop, &err);

    if (r == 0)
        r = client_open(&ps->cli->settings, ps->loop, &client, &err);
    if (r < 0) {
        loop_close(ps->loop);
        return cli_fail_err(ps->cli, &err);
    }
    if (!ps->output.width || !output_is_table(&ps->output))
        ps->shown = json_object();
    ps->redraw = timer_new(ps->loop, draw, ps);
    timer_set(ps->redraw, 0);
    ps->events = events_open(&(struct events_options){ .loop = ps->loop,
                                                       .client = client,
                                                       .query = "&type=job.*,attempt.*",
                                                       .after = -1,
                                                       .give_up_ms = -1,
                                                       .on_event = on_event,
                                                       .on_gap = on_gap,
                                                       .on_end = on_end,
                                                       .arg = ps });
    loop_run(ps->loop);
    events_close(ps->events);
    timer_free(ps->redraw);
    json_decref(ps->shown);
    client_close(client);
    loop_close(ps->loop);
    return ps->exit_code;
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
    "or how it ended.";

const struct verb verb_ps = {
    .name = "ps",
    .run = run_ps,
    .help = "List jobs",
    .usage = "[FLAG...]",
    .more = more,
    .examples = { "ps -w", "ps -a --since 1h -o wide --all-users" },
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
