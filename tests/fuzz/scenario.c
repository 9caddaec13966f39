/* Scenarios: any text is read, or refused with faults that can be written; what is read is taken
 * by an engine, and what the engine exports is taken by another with the same export. Then it is
 * run, twice, with the same answer. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"

enum { MOST_CYCLES = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int write_delta(const struct berth_delta *delta, void *arg)
{
    berth_delta_write(delta, arg);
    str_add_char(arg, '\n');
    return 0;
}

static int hand_on(const struct berth_delta *delta, void *arg)
{
    struct err err = { 0 };

    if (berth_engine_apply(arg, delta, 1, &err) < 0)
        abort();
    return 0;
}

/* The export of an engine, and of one that was built from it. */
static void round_trip(struct berth_engine *engine)
{
    CLEANUP(str_fini) struct str first = { 0 }, second = { 0 };
    struct err err = { 0 };
    struct berth_engine *again = berth_engine_new(&err);

    if (berth_engine_export(engine, write_delta, &first) < 0 ||
        berth_engine_export(engine, hand_on, again) < 0 ||
        berth_engine_export(again, write_delta, &second) < 0)
        abort();
    assert(strcmp(str_text(&first), str_text(&second)) == 0);
    berth_engine_free(again);
}

static json_t *run(const char *text, size_t n)
{
    CLEANUP(scenario_freep) struct scenario *s = scenario_read(text, n);
    struct scenario_result result = { 0 };

    if (scenario_check(s, &result) < 0)
        abort();
    /* What the reader lets pass the engine takes, and what it answers fits in again. */
    assert(!strstr(str_text(&result.faults), "the engine: "));
    str_fini(&result.faults);
    return result.answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    CLEANUP(scenario_freep) struct scenario *s = scenario_read((const char *)data, n);
    CLEANUP(str_fini) struct str lines = { 0 };
    struct berth_engine *engine;
    struct err err = { 0 };
    size_t n_deltas;
    const struct berth_delta *deltas = scenario_deltas(s, &n_deltas);

    problem_write(scenario_problem(s), "fuzz", &lines);
    assert(!scenario_problem(s)->code == !lines.len);
    if (scenario_problem(s)->code)
        return 0;
    engine = berth_engine_new(&err);
    if (berth_engine_apply(engine, deltas, n_deltas, &err) < 0)
        abort();
    round_trip(engine);
    berth_engine_free(engine);
    if (scenario_times(s).cycles <= MOST_CYCLES) {
        json_auto_t *first = run((const char *)data, n), *second = run((const char *)data, n);
        assert(json_equal(first, second));
    }
    return 0;
}
