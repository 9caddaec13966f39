/* Watching a list: see watch.h. */
#include "cli/watch.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "cli/events.h"
#include "cli/sort.h"

enum { LOOK_MS = 200, AGES_MS = 2000, AGAIN_MS = 2000 };

struct watch {
    struct watch_options options;
    struct loop *loop;
    struct client *client; /* of the events; the list is read by the one of cli */
    struct events *events;
    struct timer *look, *ages;
    json_t *list;     /* as it was read last */
    json_t *shown;    /* id to what was printed of it; NULL on a terminal */
    bool will_look;   /* the list is to be read, as soon as there is somebody to ask */
    bool has_no_line; /* nobody is reached */
    int exit_code;
};

/* ---- what changed ---- */

static void id_of(const struct watch *watch, const json_t *item, struct str *out)
{
    output_text(item, watch->options.listing->id, out);
}

/* What tells whether an item is as it was printed. */
static json_t *mark_of(const struct watch *watch, json_t *item)
{
    return watch->options.by_revision ? json_object_get(item, "revision") : item;
}

/* Of a list what was not printed as it is now; remembers it as printed, and what the list has. */
static json_t *take_changed(struct watch *watch, const json_t *list, json_t *present)
{
    json_t *changed = json_array(), *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item)
    {
        CLEANUP(str_fini) struct str id = { 0 };

        id_of(watch, item, &id);
        json_object_set_new(present, str_text(&id), json_true());
        if (json_equal(json_object_get(watch->shown, str_text(&id)), mark_of(watch, item)))
            continue;
        json_object_set(watch->shown, str_text(&id), mark_of(watch, item));
        json_array_append(changed, item);
    }
    return changed;
}

/*
 * What was printed and is not in the list any more is read once more: how it ended. What is as it
 * was printed did not leave: others came before it, and the list is cut. What is not there any more
 * was deleted, long after its end.
 */
static int add_left(struct watch *watch, const json_t *present, json_t *changed)
{
    const char *id;
    json_t *mark;
    void *next;

    json_object_foreach_safe(watch->shown, next, id, mark)
    {
        CLEANUP(json_decrefp) json_t *item = NULL;
        CLEANUP(freep) char *path = NULL;
        int r = 0;

        if (json_object_get(present, id))
            continue;
        if (watch->options.left_prefix) {
            path = cli_path(watch->options.left_prefix, id, "");
            r = cli_find(watch->options.cli, path, &item);
        }
        if (r != 0)
            return r;
        if (item && !json_equal(mark, mark_of(watch, item)))
            json_array_append(changed, item);
        json_object_del(watch->shown, id);
    }
    return 0;
}

/* ---- printing ---- */

static int print_items(struct watch *watch, const json_t *list)
{
    struct err err = { 0 };

    if (output_list(&watch->options.output, watch->options.listing, list, &err) < 0)
        return cli_fail_usage(watch->options.cli, "%s", err.text);
    fflush(watch->options.output.to);
    return EXIT_DONE;
}

static int print_changed(struct watch *watch, const json_t *list)
{
    CLEANUP(json_decrefp) json_t *present = json_object();
    CLEANUP(json_decrefp) json_t *changed = take_changed(watch, list, present);
    int r_left = add_left(watch, present, changed), r = 0;

    if (json_array_size(changed)) { /* is taken for printed, whatever became of the others */
        r = print_items(watch, changed);
        watch->options.output.has_head = false;
    }
    return r ? r : r_left;
}

/* Prints the list as it was read last; on a terminal again as its ages go on. */
static int print_list(struct watch *watch)
{
    int r;

    watch->options.output.now_ms = clock_wall_ms(&clock_system);
    if (watch->shown)
        return print_changed(watch, watch->list);
    fputs("\x1b[H\x1b[2J", watch->options.output.to);
    r = print_items(watch, watch->list);
    timer_set(watch->ages, AGES_MS);
    return r;
}

static void end(struct watch *watch, int exit_code)
{
    watch->exit_code = exit_code;
    loop_stop(watch->loop);
}

static void on_ages(void *arg)
{
    struct watch *watch = arg;
    int r = print_list(watch);

    if (r != 0)
        end(watch, r);
}

/* ---- reading the list ---- */

/* Reads the list and prints it. Returns 0, or an exit code after printing why. */
static int read_list(struct watch *watch)
{
    CLEANUP(json_decrefp) json_t *list = NULL;
    int r = watch->options.fetch(watch->options.arg, &list);

    if (r != 0)
        return r;
    sort_take_more(list); /* what is printed again and again says it only by its length */
    json_decref(watch->list);
    watch->list = TAKE(list);
    return print_list(watch);
}

/* Looks again later if the server is away. */
static void look(struct watch *watch)
{
    int r = read_list(watch);

    watch->will_look = r == EXIT_UNREACHABLE;
    if (watch->will_look)
        timer_set(watch->look, AGAIN_MS);
    else if (r != 0)
        end(watch, r);
}

static void on_look(void *arg)
{
    struct watch *watch = arg;

    if (!watch->has_no_line) /* else when it is back */
        look(watch);
}

/* Many events make one look. */
static void look_soon(struct watch *watch)
{
    if (!watch->will_look)
        timer_set(watch->look, LOOK_MS);
    watch->will_look = true;
}

/* ---- events ---- */

static void on_event(void *arg, const json_t *event)
{
    (void)event;
    look_soon(arg);
}

static int64_t revision_of(const struct watch *watch)
{
    const json_t *revision = json_object_get(watch->list, "revision");

    return json_is_integer(revision) ? json_integer_value(revision) : -1;
}

/* Events are missing: whatever they were about is in the list as it is now. */
static void on_gap(void *arg)
{
    struct watch *watch = arg;

    look(watch);
    events_restart(watch->events, revision_of(watch)); /* an old one makes a gap again */
}

/* All that was printed is of another ledger: the list begins anew. */
static void on_parted(void *arg, int64_t shared, const struct problem *problem)
{
    struct watch *watch = arg;

    (void)shared;
    fprintf(stderr, "berth: %s; the list begins anew\n", problem->detail);
    client_hold(watch->client, NULL);
    if (watch->shown)
        json_object_clear(watch->shown);
    look(watch);
    events_restart(watch->events, watch->will_look ? -1 : revision_of(watch));
}

static void on_line(void *arg, bool is_lost, const char *why)
{
    struct watch *watch = arg;

    (void)why;
    watch->has_no_line = is_lost;
    if (!is_lost && watch->will_look)
        timer_set(watch->look, 0);
}

static void on_end(void *arg, int status, const struct problem *problem, const struct err *err)
{
    struct watch *watch = arg;

    end(watch, status ? cli_fail_problem(watch->options.cli, problem, status)
                      : cli_fail_err(watch->options.cli, err));
}

/* Reads the list once, then goes on from its revision. */
static int watch_on(struct watch *watch)
{
    int r = read_list(watch);

    if (r != 0)
        return r;
    client_hold(watch->client, watch->options.cli->client);
    watch->events = events_open(&(struct events_options){ .loop = watch->loop,
                                                          .client = watch->client,
                                                          .query = watch->options.query,
                                                          .after = revision_of(watch),
                                                          .give_up_ms = -1,
                                                          .on_event = on_event,
                                                          .on_gap = on_gap,
                                                          .on_parted = on_parted,
                                                          .on_line = on_line,
                                                          .on_end = on_end,
                                                          .arg = watch });
    loop_run(watch->loop);
    events_close(watch->events);
    return watch->exit_code;
}

int cli_watch(const struct watch_options *options)
{
    struct watch watch = { .options = *options };
    struct err err = { 0 };
    int r = loop_open(&watch.loop, &err);

    if (r == 0)
        r = client_open(&options->cli->settings, watch.loop, &watch.client, &err);
    if (r < 0) {
        loop_close(watch.loop);
        return cli_fail_err(options->cli, &err);
    }
    if (watch.options.output.format == OUTPUT_JSON)
        watch.options.output.format = OUTPUT_JSONL; /* it has no end to close a list */
    if (!options->output.width || !output_is_table(&options->output))
        watch.shown = json_object();
    watch.look = timer_new(watch.loop, on_look, &watch);
    watch.ages = timer_new(watch.loop, on_ages, &watch);
    r = watch_on(&watch);
    timer_free(watch.look);
    timer_free(watch.ages);
    json_decref(watch.list);
    json_decref(watch.shown);
    client_close(watch.client);
    loop_close(watch.loop);
    return r;
}
