/* show: a document's objects and what comes of them, as tables. */
#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "base/quantity.h"
#include "scenario/scenario.h"
#include "sim/inside.h"

enum { MOST_COLUMNS = 8 };

/* Rows of text; the first is the head. Columns are as wide as their widest cell. */
struct grid {
    size_t n_columns;
    VEC_OF(char *) cells;
};

static void grid_fini(struct grid *grid)
{
    VEC_EACH (cell, &grid->cells)
        mem_free(*cell);
    VEC_FINI(&grid->cells);
}

static void grid_add(struct grid *grid, const char *text)
{
    VEC_PUSH(&grid->cells, text_copy(text && text[0] ? text : "-"));
}

static void grid_print(const struct grid *grid)
{
    size_t widths[MOST_COLUMNS] = { 0 };

    assert(grid->n_columns > 0);
    if (grid->cells.n <= grid->n_columns)
        return; /* only the head */
    for (size_t i = 0; i < grid->cells.n; i++) {
        size_t n = strlen(grid->cells.at[i]), column = i % grid->n_columns;
        widths[column] = n > widths[column] ? n : widths[column];
    }
    for (size_t i = 0; i < grid->cells.n; i++) {
        bool is_last = i % grid->n_columns == grid->n_columns - 1;
        printf("%-*s%s", is_last ? 0 : (int)widths[i % grid->n_columns], grid->cells.at[i],
               is_last ? "\n" : "  ");
    }
    putchar('\n');
}

static char *amounts_text(const struct berth_amounts *amounts)
{
    struct str out = { 0 };

    for (size_t i = 0; i < amounts->n; i++) {
        str_addf(&out, "%s%s=", i ? " " : "", amounts->at[i].name);
        quantity_format(amounts->at[i].value, quantity_unit_of(amounts->at[i].name), &out);
    }
    return str_take(&out);
}

static void add_head(struct grid *grid, const char *const *names, size_t n)
{
    grid->n_columns = n;
    for (size_t i = 0; i < n; i++)
        grid_add(grid, names[i]);
}

static void show_nodes(const struct berth_delta *deltas, size_t n)
{
    static const char *const head[] = { "NODE", "STATE", "OFFERS", "POOL" };
    CLEANUP(grid_fini) struct grid grid = { 0 };

    add_head(&grid, head, COUNT_OF(head));
    for (size_t i = 0; i < n; i++) {
        CLEANUP(freep) char *offers = NULL;
        if (deltas[i].kind != BERTH_NODE)
            continue;
        offers = amounts_text(&deltas[i].node->offers);
        grid_add(&grid, deltas[i].node->id);
        grid_add(&grid,
                 deltas[i].node->cordoned ? "cordoned" : node_state_words[deltas[i].node->state]);
        grid_add(&grid, offers);
        grid_add(&grid, deltas[i].node->pool);
    }
    grid_print(&grid);
}

static bool has_guarantees(const struct berth_delta *deltas, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (deltas[i].kind == BERTH_QUEUE && deltas[i].queue->guarantee.n)
            return true;
    return false;
}

static void show_queues(const struct berth_delta *deltas, size_t n)
{
    static const char *const head[] = {
        "QUEUE", "PARENT", "WEIGHT", "DESERVED", "CAP", "GUARANTEE"
    };
    bool are_guaranteed = has_guarantees(deltas, n);
    CLEANUP(grid_fini) struct grid grid = { 0 };

    add_head(&grid, head, COUNT_OF(head) - !are_guaranteed);
    for (size_t i = 0; i < n; i++) {
        CLEANUP(freep) char *deserved = NULL, *cap = NULL, *weight = NULL, *guarantee = NULL;
        if (deltas[i].kind != BERTH_QUEUE)
            continue;
        deserved = amounts_text(&deltas[i].queue->deserved);
        cap = amounts_text(&deltas[i].queue->capability);
        guarantee = amounts_text(&deltas[i].queue->guarantee);
        weight = text_format("%d", deltas[i].queue->weight ? deltas[i].queue->weight : 1);
        grid_add(&grid, deltas[i].queue->name);
        grid_add(&grid, deltas[i].queue->parent);
        grid_add(&grid, weight);
        grid_add(&grid, deserved);
        grid_add(&grid, cap);
        if (are_guaranteed)
            grid_add(&grid, guarantee);
    }
    grid_print(&grid);
}

/* What came of a task, in a few words. */
static char *outcome(const json_t *answer, const char *task)
{
    static const struct {
        const char *key, *words;
    } rows[] = {
        { "bind", "bound to " },
        { "pipelined", "waits for room on " },
        { "reserve", "reserved on " },
        { "fails", "fails: " },
    };
    const json_t *evicted = json_object_get(answer, "evict"), *item, *reason, *gpus;
    struct str out = { 0 };
    size_t i;

    for (i = 0; i < COUNT_OF(rows); i++) {
        const char *value =
            json_string_value(json_object_get(json_object_get(answer, rows[i].key), task));
        if (value)
            str_addf(&out, "%s%s%s", out.len ? ", " : "", rows[i].words, value);
    }
    gpus = json_object_get(json_object_get(answer, "gpus"), task);
    json_array_foreach(gpus, i, item) str_addf(&out, "%s%lld",
                                               i         ? ","
                                               : out.len ? ", gpu "
                                                         : "gpu ",
                                               (long long)json_integer_value(item));
    json_array_foreach(evicted, i, item) if (strcmp(json_string_value(item), task) == 0)
        str_addf(&out, "%sevicted", out.len ? ", " : "");
    reason = json_object_get(json_object_get(answer, "reasons"), task);
    if (reason)
        str_addf(&out, "%swaits: %s", out.len ? ", " : "",
                 json_string_value(json_object_get(reason, "code")));
    return str_take(&out);
}

static const struct berth_task *state_of(const struct berth_delta *deltas, size_t n,
                                         const struct berth_job *job, const char *group)
{
    for (size_t i = 0; i < n; i++)
        if (deltas[i].kind == BERTH_TASK && strcmp(deltas[i].task->job, job->id) == 0 &&
            strcmp(deltas[i].task->group, group) == 0)
            return deltas[i].task;
    return NULL;
}

static void add_task(struct grid *grid, const struct berth_job *job,
                     const struct berth_task_group *group, const struct berth_task *state,
                     const json_t *answer)
{
    CLEANUP(freep) char *key = text_format("%s/%s", job->namespace_, group->name);
    CLEANUP(freep) char *asks = amounts_text(&group->asks), *came = outcome(answer, key);

    grid_add(grid, key);
    grid_add(grid, job->name);
    grid_add(grid, job->queue);
    grid_add(grid, asks);
    grid_add(grid, state ? berth_task_state_words[state->state] : "pending");
    grid_add(grid, state ? state->node : NULL);
    grid_add(grid, came);
}

/* Before the run: it changes what the deltas show. */
static void gather_tasks(struct grid *grid, const struct berth_delta *deltas, size_t n,
                         const json_t *answer)
{
    static const char *const head[] = { "TASK", "JOB", "QUEUE", "ASKS", "WAS", "ON", "OUTCOME" };

    add_head(grid, head, COUNT_OF(head));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; deltas[i].kind == BERTH_JOB && j < deltas[i].job->n_groups; j++)
            add_task(grid, deltas[i].job, &deltas[i].job->groups[j],
                     state_of(deltas, n, deltas[i].job, deltas[i].job->groups[j].name), answer);
}

static void show_verdict(const struct scenario_result *result)
{
    printf("%s%s", result->passed ? "came out as expected\n" : "did not come out as expected:\n",
           str_text(&result->faults));
}

/* A document that was refused: with the reason, if it expected to be. */
static int show_refused(const char *file, struct scenario *scenario)
{
    CLEANUP(scenario_result_fini) struct scenario_result result = { 0 };
    CLEANUP(str_fini) struct str reason = { 0 };

    problem_write(scenario_problem(scenario), file, &reason);
    if (scenario_check(scenario, &result) < 0) {
        fputs(str_text(&reason), stderr);
        return 2;
    }
    printf("%s\n\nrefused:\n%s\n", scenario_name(scenario), str_text(&reason));
    show_verdict(&result);
    return 0;
}

static void show(const struct scenario *before, struct scenario *scenario)
{
    CLEANUP(scenario_result_fini) struct scenario_result result = { 0 };
    CLEANUP(grid_fini) struct grid tasks = { 0 };
    size_t n;
    const struct berth_delta *deltas = scenario_deltas(before, &n);

    if (scenario_check(scenario, &result) < 0)
        result.passed = false;
    printf("%s\n\n", scenario_name(scenario));
    show_queues(deltas, n);
    show_nodes(deltas, n);
    gather_tasks(&tasks, deltas, n, result.answer);
    grid_print(&tasks);
    show_verdict(&result);
}

int sim_show(const char *file)
{
    CLEANUP(str_fini) struct str text = { 0 };
    CLEANUP(scenario_files_freep) struct scenario_files *files = scenario_files_new(file);
    CLEANUP(scenario_freep) struct scenario *before = NULL, *scenario = NULL;
    struct err err = { 0 };

    if (file_read(AT_FDCWD, file, SCENARIO_MAX_BYTES, &text, &err) < 0) {
        fprintf(stderr, "berth: %s\n", err.text);
        return 2;
    }
    before = scenario_read_with(str_text(&text), text.len, files);
    scenario = scenario_read_with(str_text(&text), text.len, files);
    if (scenario_problem(scenario)->code)
        return show_refused(file, scenario);
    show(before, scenario);
    return 0;
}
