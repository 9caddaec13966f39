/*
 * Agent: see agent.h. Opening, running and closing; what happens in between is in the other files:
 *
 *     life.c      what an attempt does, as a function (no I/O)
 *     attempts.c  does it                       works.c   what blocks, on threads
 *     link.c      registering, beats, work      mail.c    acks and reports
 *     adopt.c     after a restart               relay.c   logs
 *     other_life.c  after a restored ledger
 *     stop.c      the shutdown                  shelf.c   what is kept of ended attempts
 *     spare.c     folders used again
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/inside.h"
#include "base/file.h"
#include "base/log.h"

enum { MAKERS = 8, HELPERS = 2, PODS_MILLI = 110000, STOP_BUDGET_MS = 30000 };
#define START_TIMEOUT_MS ((int64_t)300000)
#define KEEP_ENDED_MS    ((int64_t)7 * 24 * 3600 * 1000)
#define KEEP_ENDED_BYTES ((int64_t)1 << 30)

/* ---- Options ---- */

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

static int set_names(struct agent *agent, const struct agent_options *options, struct err *err)
{
    const char *node = options->node && *options->node ? options->node : agent->machine.hostname;

    if (!name_is_valid_node(node))
        return err_set(err, -EINVAL,
                       "%.80s cannot be the name of a node ([A-Za-z0-9.-]{1,63}, not beginning "
                       "with a dot or dash): give one",
                       node);
    if (!options->data_dir || options->data_dir[0] != '/')
        return err_set(err, -EINVAL, "the data folder must be an absolute path");
    agent->node = text_copy(node);
    agent->data_dir = text_copy(options->data_dir);
    agent->attempts_dir = text_format("%s/attempts", options->data_dir);
    agent->ended_dir = text_format("%s/ended", options->data_dir);
    agent->spare_dir = text_format("%s/spare", options->data_dir);
    agent->version = text_copy(options->version ? options->version : "");
    return 0;
}

/* The runtime of jobs that name none: never `process`, unless it was chosen. */
static int choose_runtime(struct agent *agent, const struct agent_options *options, struct err *err)
{
    const char *word = options->default_runtime;
    int kind = word ? states_find(word, runtime_kind_words, RUNTIME_KIND_COUNT) : -1;

    if (word && kind < 0)
        return err_set(err, -EINVAL, "%s is no runtime (crun, runc, process)", word);
    if (!word && agent->machine.runtimes[RUNTIME_CRUN].is_usable)
        kind = RUNTIME_CRUN;
    else if (!word && agent->machine.runtimes[RUNTIME_RUNC].is_usable)
        kind = RUNTIME_RUNC;
    agent->rules =
        (struct order_rules){ .machine = &agent->machine,
                              .default_runtime = kind,
                              .allow_process = options->allow_process || kind == RUNTIME_PROCESS };
    return 0;
}

static void set_offers(struct agent *agent, const struct agent_options *options)
{
    struct agent_offer found[] = { { "cpu", agent->machine.cpu_milli },
                                   { "memory", agent->machine.memory_bytes },
                                   { "pods", PODS_MILLI } };
    json_t *object = json_object();

    for (size_t i = 0; i < COUNT_OF(found); i++)
        json_object_set_new(object, found[i].resource, json_integer(found[i].value));
    for (size_t i = 0; i < options->n_offers; i++)
        json_object_set_new(object, options->offers[i].resource,
                            json_integer(options->offers[i].value));
    agent->register_offers = json_dumps(object, JSON_COMPACT);
    json_decref(object);
}

static void set_labels(struct agent *agent, const struct agent_options *options)
{
    json_t *object = json_object();
    struct utsname name;

    if (uname(&name) == 0)
        json_object_set_new(object, "host/arch", json_string(name.machine));
    json_object_set_new(object, "host/kernel", json_string(agent->machine.kernel));
    json_object_set_new(object, "host/name", json_string(agent->machine.hostname));
    for (size_t i = 0; i < options->n_labels; i++)
        json_object_set_new(object, options->labels[i].key, json_string(options->labels[i].value));
    agent->register_labels = json_dumps(object, JSON_COMPACT);
    json_decref(object);
}

static void set_taints(struct agent *agent, const struct agent_options *options)
{
    json_t *list = json_array();

    for (size_t i = 0; i < options->n_taints; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "key", options->taints[i].key,
                                              "value", options->taints[i].value, "effect",
                                              options->taints[i].effect));
    agent->register_taints = json_dumps(list, JSON_COMPACT);
    json_decref(list);
}

/* The folders that images may come from, as they were said and as they are: a job may name
 * either. */
static void set_images(struct agent *agent, const struct agent_options *options)
{
    json_t *list = json_array();

    for (size_t i = 0; options->image_prefixes && options->image_prefixes[i]; i++) {
        const char *said = options->image_prefixes[i];
        CLEANUP(freep) char *real = realpath(said, NULL);

        json_array_append_new(list, json_string(said));
        if (real && strcmp(real, said) != 0)
            json_array_append_new(list, json_string(real));
    }
    agent->register_images = json_dumps(list, JSON_COMPACT);
    json_decref(list);
}

static void set_limits(struct agent *agent, const struct agent_options *options)
{
    unsigned per_core = (unsigned)((agent->machine.cpu_milli + 999) / 1000) * 2;

    agent->start_timeout_ms = or_default(options->start_timeout_ms, START_TIMEOUT_MS);
    agent->stop_budget_ms = or_default(options->stop_budget_ms, STOP_BUDGET_MS);
    agent->turns_max = options->starts_max ? options->starts_max : per_core > 4 ? per_core : 4;
    agent->takes_signals = options->takes_signals;
    agent->on_ready = options->on_ready;
    agent->ready_arg = options->arg;
}

static int set_options(struct agent *agent, const struct agent_options *options, struct err *err)
{
    int r = set_names(agent, options, err);

    if (r == 0)
        r = choose_runtime(agent, options, err);
    if (r < 0)
        return r;
    set_limits(agent, options);
    set_offers(agent, options);
    set_labels(agent, options);
    set_taints(agent, options);
    set_images(agent, options);
    if (!agent->register_offers || !agent->register_labels || !agent->register_taints ||
        !agent->register_images)
        return err_set(err, -EINVAL, "an offer, label, taint or image prefix is not UTF-8");
    return 0;
}

/* ---- Opening ---- */

static int open_data(struct agent *agent, struct err *err)
{
    CLEANUP(freep) char *lock = text_format("%s/agent.lock", agent->data_dir);
    int r = file_make_dirs(agent->attempts_dir, 0700, err);

    if (r == 0)
        r = file_make_dirs(agent->ended_dir, 0700, err);
    if (r < 0)
        return r;
    agent->lock_fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (agent->lock_fd < 0)
        return err_sys(err, -errno, "open %s", lock);
    if (flock(agent->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, -EBUSY, "%s: another agent has this folder", agent->data_dir);
    r = spares_open(agent, err);
    if (r < 0)
        return r;
    r = identity_open(agent->data_dir, &agent->identity, err);
    seen_open(agent);
    return r;
}

static void say(void *ctx, const char *key, const char *value, const char *message)
{
    (void)ctx;
    if (message)
        log_info(message, "what", key, "found", value, NULL);
}

static void speed_up(struct agent *agent)
{
    struct err err = { 0 };

    if (agent->machine.is_root && machine_speed_up_attach(&err) < 0)
        log_info("the first attach to a group stays slow", "why", err.text, NULL);
}

/* Two agents may run on one machine, under one name (a `berth dev` beside another): each has groups
 * of its own, so that neither takes the other's containers for what a dead one left. */
static char *group_name(const struct agent *agent)
{
    return text_format("%s-%.8s", agent->node, agent->identity.own);
}

static int open_parts(struct agent *agent, const struct agent_options *options, struct err *err)
{
    CLEANUP(freep) char *group = group_name(agent);
    struct runtime_config config = { .data_dir = agent->data_dir,
                                     .node = group,
                                     .monitor_path = options->monitor_path,
                                     .machine = &agent->machine,
                                     .image_prefixes = options->image_prefixes };
    int r = runtime_open(&config, &agent->runtime, err);

    if (r == 0)
        r = loop_open(&agent->loop, err);
    if (r == 0)
        r = pool_open("makers", MAKERS, &agent->makers, err);
    if (r == 0)
        r = pool_open("helpers", HELPERS, &agent->helpers, err);
    if (r == 0)
        r = client_open(options->settings, agent->loop, &agent->client, err);
    if (r == 0)
        r = shelf_open(agent->ended_dir, or_default(options->keep_ended_ms, KEEP_ENDED_MS),
                       or_default(options->keep_ended_bytes, KEEP_ENDED_BYTES), agent->helpers,
                       &agent->shelf, err);
    if (r == 0)
        r = relay_open(agent, &agent->relay, err);
    return r;
}

int agent_open(const struct agent_options *options, struct agent **out, struct err *err)
{
    CLEANUP(agent_closep) struct agent *agent = NEW0(struct agent);
    int r;

    agent->lock_fd = -1;
    agent->clock = options->clock ? options->clock : &clock_system;
    agent->queue_end = &agent->queue;
    if (options->machine)
        agent->machine = *options->machine;
    else
        runtime_probe(&agent->machine);
    r = set_options(agent, options, err);
    if (r == 0)
        r = open_data(agent, err);
    if (r == 0)
        r = open_parts(agent, options, err);
    if (r < 0)
        return r;
    machine_findings(&agent->machine, say, agent);
    if (options->speed_up_attach)
        speed_up(agent);
    link_open(agent);
    room_open(agent);
    r = adopt_all(agent, err);
    if (r < 0)
        return r;
    *out = TAKE(agent);
    return 0;
}

/* ---- Running ---- */

static void on_signal(int signal, unsigned events, void *arg)
{
    struct agent *agent = arg;

    (void)events;
    if (signal == SIGUSR1)
        agent_detach(agent);
    else
        stop_begin(agent, agent->stop_budget_ms);
}

static void watch_signals(struct agent *agent)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGUSR1 };

    for (size_t i = 0; agent->takes_signals && i < COUNT_OF(signals); i++)
        agent->signals[i] = fdwatch_signal(agent->loop, signals[i], on_signal, agent);
}

int agent_run(struct agent *agent, struct err *err)
{
    signal(SIGPIPE, SIG_IGN);
    watch_signals(agent);
    link_register(agent);
    loop_run(agent->loop);
    if (agent->result < 0)
        return err_set(err, agent->result, "%s", agent->why.text);
    return 0;
}

struct stop_order {
    struct agent *agent;
    int64_t budget_ms;
};

static void on_stop_order(void *arg)
{
    struct stop_order *order = arg;

    stop_begin(order->agent, order->budget_ms);
    mem_free(order);
}

void agent_stop(struct agent *agent, int64_t budget_ms)
{
    struct stop_order *order = NEW0(struct stop_order);

    *order = (struct stop_order){ agent, budget_ms };
    loop_post(agent->loop, on_stop_order, order);
}

static void on_detach(void *arg)
{
    struct agent *agent = arg;

    log_info("detached: what runs goes on under its monitors", "running",
             log_int(agent->attempts.n), NULL);
    loop_stop(agent->loop);
}

void agent_detach(struct agent *agent)
{
    loop_post(agent->loop, on_detach, agent);
}

/* ---- Closing ---- */

/* Nothing is waited for longer than a preparation needs to see that it is cancelled. */
static void close_pools(struct agent *agent)
{
    MAP_EACH (entry, &agent->attempts)
        atomic_store(&((struct attempt *)entry->value)->is_cancelled, true);
    pool_close(agent->makers);
    pool_close(agent->helpers);
}

static void free_attempts(struct agent *agent)
{
    struct sents names = attempts_names(agent);

    VEC_EACH (sent, &names)
        attempt_free(attempt_find(agent, sent->name));
    VEC_FINI(&names);
    map_fini(&agent->attempts);
}

static void free_options(struct agent *agent)
{
    mem_free(agent->node);
    mem_free(agent->data_dir);
    mem_free(agent->attempts_dir);
    mem_free(agent->ended_dir);
    mem_free(agent->spare_dir);
    VEC_FINI(&agent->spares);
    mem_free(agent->version);
    mem_free(agent->refused);
    mem_free(agent->refused_why);
    mem_free(agent->asked);
    mem_free(agent->heard);
    mem_free(agent->orphans_said);
    mem_free(agent->orphans_heard);
    str_fini(&agent->told_down);
    mem_free(agent->register_offers);
    mem_free(agent->register_labels);
    mem_free(agent->register_taints);
    mem_free(agent->register_images);
}

void agent_close(struct agent *agent)
{
    if (!agent)
        return;
    close_pools(agent);
    relay_close(agent->relay);
    free_attempts(agent);
    client_close(agent->client);
    link_close(agent);
    room_close(agent);
    timer_free(agent->stopping.timer);
    for (size_t i = 0; i < COUNT_OF(agent->signals); i++)
        fdwatch_free(agent->signals[i]);
    VEC_FINI(&agent->acks);
    VEC_FINI(&agent->words);
    VEC_FINI(&agent->acks_sent);
    VEC_FINI(&agent->words_sent);
    shelf_close(agent->shelf);
    runtime_close(agent->runtime);
    loop_close(agent->loop);
    closep(&agent->lock_fd);
    free_options(agent);
    mem_free(agent);
}

void agent_closep(struct agent **agent)
{
    agent_close(*agent);
}

const char *agent_node(const struct agent *agent)
{
    return agent->node;
}
