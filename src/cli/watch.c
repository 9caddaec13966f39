/* Watching a list: see watch.h. */
#include "cli/watch.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "cli/events.h"

enum { REDRAW_MS = 200, AGES_MS = 2000 };

struct watch {
    struct watch_options options;
    struct loop *loop;
    struct events *events;
    struct timer *redraw;
    json_t *shown; /* id to what was printed of it; NULL on a terminal */
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

/* What was printed and is not in the list any more is read once more: how it ended. */
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
            r = cli_get(watch->options.cli, path, &item);
        }
        if (r != 0)
            return r;
        if (item)
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
    int r = add_left(watch, present, changed);

    if (r == 0 && json_array_size(changed))
        r = print_items(watch, changed);
    if (json_array_size(changed))
        watch->options.output.has_head = false;
    return r;
}

static void draw(void *arg)
{
    struct watch *watch = arg;
    CLEANUP(json_decrefp) json_t *list = NULL;

    watch->exit_code = watch->options.fetch(watch->options.arg, &list);
    watch->options.output.now_ms = clock_wall_ms(&clock_system);
    if (watch->exit_code == 0 && watch->shown) {
        watch->exit_code = print_changed(watch, list);
    } else if (watch->exit_code == 0) {
        fputs("\x1b[H\x1b[2J", watch->options.output.to);
        watch->exit_code = print_items(watch, list);
        timer_set(watch->redraw, AGES_MS);
    }
    if (watch->exit_code != 0)
        loop_stop(watch->loop);
}

/* ---- events ---- */

static void on_event(void *arg, const json_t *event)
{
    struct watch *watch = arg;

    (void)event;
    timer_set(watch->redraw, REDRAW_MS); /* many events make one look */
}

static void on_gap(void *arg)
{
    struct watch *watch = arg;

    events_restart(watch->events, -1); /* each look reads the whole list, so nothing is missed */
    timer_set(watch->redraw, REDRAW_MS);
}

static void on_end(void *arg, int status, const struct problem *problem, const struct err *err)
{
    struct watch *watch = arg;

    watch->exit_code = status ? cli_fail_problem(watch->options.cli, problem, status)
                              : cli_fail_err(watch->options.cli, err);
    loop_stop(watch->loop);
}

int cli_watch(const struct watch_options *options)
{
    struct watch watch = { .options = *options };
    struct client *client = NULL;
    struct err err = { 0 };
    int r = loop_open(&watch.loop, &err);

    if (r == 0)
        r = client_open(&options->cli->settings, watch.loop, &client, &err);
    if (r < 0) {
        loop_close(watch.loop);
        return cli_fail_err(options->cli, &err);
    }
    if (watch.options.output.format == OUTPUT_JSON)
        watch.options.output.format = OUTPUT_JSONL; /* it has no end to close a list */
    if (!options->output.width || !output_is_table(&options->output))
        watch.shown = json_object();
    watch.redraw = timer_new(watch.loop, draw, &watch);
    timer_set(watch.redraw, 0);
    watch.events = events_open(&(struct events_options){ .loop = watch.loop,
                                                         .client = client,
                                                         .query = options->query,
                                                         .after = -1,
                                                         .give_up_ms = -1,
                                                         .on_event = on_event,
                                                         .on_gap = on_gap,
                                                         .on_end = on_end,
                                                         .arg = &watch });
    loop_run(watch.loop);
    events_close(watch.events);
    timer_free(watch.redraw);
    json_decref(watch.shown);
    client_close(client);
    loop_close(watch.loop);
    return watch.exit_code;
}

/* ---- sorting ---- */

char *cli_sort_field(const struct listing *listing, const char *word)
{
    bool is_down = word[0] == '-';
    const char *name = word + is_down, *path = NULL;
    bool is_column = false;
    char *field;

    for (size_t i = 0; i < listing->n_columns; i++) {
        if (strcasecmp(listing->columns[i].head, name) != 0)
            continue;
        is_column = true;
        path = listing->columns[i].path;
    }
    field = text_format("%s%s", is_down ? "-" : "", path ? path : name);
    for (char *at = field; *at; at++) {
        if (path && *at == '/')
            *at = '.';
        else if (!path && is_column)
            *at = (char)tolower((unsigned char)*at);
    }
    return field;
}
