/*
 * Scenarios: a whole cluster at one instant, a configuration, and what must come of it, as one
 * JSON or YAML document (docs/scenario-format.md); and configurations as text.
 *
 * Reads documents to an engine's deltas, runs the engine as the document says and compares. No
 * clock, and no I/O but what `struct scenario_files` allows: the same text, and the same files
 * that it names, give the same answer.
 */
#ifndef SCENARIO_SCENARIO_H
#define SCENARIO_SCENARIO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/problem.h"
#include "base/arena.h"
#include "base/str.h"
#include "berth/engine.h"

enum { SCENARIO_MAX_BYTES = 64 << 20, SCENARIO_CYCLES_MAX = 10000 };

struct scenario;

/*
 * The files that documents and configurations may name: profiles and plugins. What was loaded stays
 * until the end, so it outlives the engines that use it.
 */
struct scenario_files;

/** @beside  the document: paths of profiles are relative to its folder. Yours to
 * scenario_files_free. */
struct scenario_files *scenario_files_new(const char *beside);
void scenario_files_free(struct scenario_files *files);
void scenario_files_freep(struct scenario_files **files);

/** Reads a document; always gives one, which may be refused. Yours to scenario_free. */
struct scenario *scenario_read(const char *text, size_t n);
/** The same for a document that may name files: borrowed, they must outlive the scenario. */
struct scenario *scenario_read_with(const char *text, size_t n, struct scenario_files *files);
void scenario_free(struct scenario *scenario);
void scenario_freep(struct scenario **scenario);

/** Why it was refused, each fault at its pointer, line and column; code PROBLEM_NONE if it was
 * not. */
const struct problem *scenario_problem(const struct scenario *scenario);
/** Its one line; "" if it has none. */
const char *scenario_name(const struct scenario *scenario);

/**
 * The objects in the order in which they go into an empty engine, the configuration first.
 * Borrowed until scenario_free; none if it was refused.
 */
const struct berth_delta *scenario_deltas(const struct scenario *scenario, size_t *n);

/* When and how often the document is run. */
struct scenario_times {
    int64_t now_ms, step_ms;
    uint64_t seed;
    uint32_t cycles;
};
struct scenario_times scenario_times(const struct scenario *scenario);

/* What came of a document. */
struct scenario_result {
    bool passed;
    struct str faults; /* what was expected and what came, one a line */
    json_t *answer;    /* decisions and reasons, as an object; NULL if it was refused */
};
void scenario_result_fini(struct scenario_result *result);

/**
 * Runs the document in a new engine and holds what came against what it expects. One that must
 * be refused passes if it was, for the value that it names.
 *
 * @out     zeroed; filled, yours to scenario_result_fini
 * Returns  0, passed or not; -EINVAL if it was refused and should not have been (also a fault of
 *          the result)
 */
MUST_CHECK int scenario_check(struct scenario *scenario, struct scenario_result *out);

/**
 * Reads an affinity in the shape of a pod's, as jobs have it.
 *
 * @value    what it is read from: texts are borrowed from it
 * @problem  gains every fault, its pointer behind that of `pointer`
 * Returns   NULL: it says nothing, or will not do
 */
const struct berth_affinity *scenario_affinity_read(const json_t *value, const char *pointer,
                                                    struct arena *arena, struct problem *problem);
/**
 * Checks one that is new, and refuses beside that what Kubernetes refuses of a pod: documents, and
 * jobs of earlier builds, may have it.
 *
 * Returns  whether problem has no fault, of this or from before
 */
bool scenario_affinity_check(const json_t *value, const char *pointer, struct problem *problem);

/* A configuration read from a text. */
struct scenario_config;

/**
 * Reads an engine's configuration: the keys profile, policy, actions, tiers, actionArguments
 * and shard of a document's `config`, as YAML or JSON.
 *
 * @problem  { 0 }; gains every fault with pointer, line and column
 * Returns   0 and *out, yours to scenario_config_free; -EINVAL
 */
MUST_CHECK int scenario_config_read(const char *text, size_t n, struct scenario_config **out,
                                    struct problem *problem);
/** The same for one that may name files: they must outlive it and the engines made by it. */
MUST_CHECK int scenario_config_read_with(const char *text, size_t n, struct scenario_files *files,
                                         struct scenario_config **out, struct problem *problem);
void scenario_config_free(struct scenario_config *config);
/** What an engine takes; borrowed. */
const struct berth_config *scenario_config_get(const struct scenario_config *config);
/** The plugins that an engine must be given before it; borrowed. */
const struct berth_plugin_file *scenario_config_plugins(const struct scenario_config *config,
                                                        size_t *n);

#endif
