/* Feed, the engine's side: see feed_engine.h. */
#include "server/feed_engine.h"

#include <string.h>

#include "base/log.h"

static int configure(struct berth_engine *engine, const struct berth_config *config,
                     struct err *err)
{
    struct berth_delta delta = { .kind = BERTH_CONFIG, .config = config };
    int r = config ? berth_engine_apply(engine, &delta, 1, err) : 0;

    return r < 0 ? err_wrap(err, "configure the engine") : 0;
}

/* As it is configured. */
static int make_plain(const struct feed_engine_from *from, struct berth_engine **engine,
                      struct err *err)
{
    berth_engine_free(*engine);
    *engine = berth_engine_new(err);
    if (!*engine)
        return err->code;
    for (size_t i = 0; i < from->n_plugins; i++)
        if (berth_engine_add_plugin(*engine, &from->plugins[i], err) < 0)
            return err->code;
    return configure(*engine, from->config, err);
}

/* Jobs come with what they hold, headroom and all, as it was fixed when they were accepted. */
static int drop_headroom(const struct feed_engine_from *from, struct berth_engine *engine,
                         struct err *err)
{
    const struct berth_value *said = from->config->policy;
    size_t n = said ? said->n_members : 0, n_kept = 0;
    CLEANUP(freep) struct berth_value *members = NEW0_N(struct berth_value, n + 1);
    struct berth_value policy = { .kind = BERTH_VALUE_OBJECT, .members = members };
    struct berth_config config = *from->config;

    for (size_t i = 0; i < n; i++)
        if (strcmp(said->members[i].key, "memoryHeadroom") != 0)
            members[n_kept++] = said->members[i];
    members[n_kept++] =
        (struct berth_value){ .key = "memoryHeadroom", .kind = BERTH_VALUE_INT, .number = 1 };
    policy.n_members = n_kept;
    config.policy = &policy;
    return configure(engine, &config, err);
}

int feed_engine_headroom(const struct feed_engine_from *from, int64_t *memory_milli,
                         struct err *err)
{
    struct berth_engine *engine = NULL;
    int r = make_plain(from, &engine, err);

    if (r == 0)
        *memory_milli = berth_engine_memory_headroom(engine);
    berth_engine_free(engine);
    return r;
}

int feed_engine_make(const struct feed_engine_from *from, struct berth_engine **engine,
                     struct err *err)
{
    int r = make_plain(from, engine, err);

    if (r == 0 && from->config && berth_engine_memory_headroom(*engine) > 1000)
        r = drop_headroom(from, *engine, err);
    if (r < 0)
        return r;
    /* Whether jobs must be let in goes by quotas too, and is asked before it hears of anything. */
    for (size_t i = 0; i < from->n_objects && r == 0; i++)
        if (from->objects[i].kind == BERTH_QUOTA)
            r = berth_engine_apply(*engine, &from->objects[i], 1, err);
    return r < 0 ? err_wrap(err, "tell the engine of quotas") : 0;
}

static void apply_all(struct berth_engine *engine, const struct feed_deltas *deltas)
{
    struct err err = { 0 };

    if (berth_engine_apply(engine, deltas->at, deltas->n, &err) == 0)
        return;
    log_error("the engine takes an object not", "why", err.text, NULL);
    /* Applying twice changes nothing, so one by one from the first. */
    for (size_t i = 0; i < deltas->n; i++) {
        struct err one = { 0 };

        if (berth_engine_apply(engine, &deltas->at[i], 1, &one) < 0)
            log_error("left out of the engine", "why", one.text, NULL);
    }
}

bool feed_engine_apply(struct feed *feed, struct berth_engine *engine, const struct batch *batch)
{
    CLEANUP(arena_fini) struct arena arena = { 0 };
    struct feed_deltas deltas = { 0 };
    bool is_news = false;

    feed_batch(feed, batch, &arena, &deltas);
    if (deltas.n)
        apply_all(engine, &deltas);
    VEC_EACH (delta, &deltas)
        is_news = is_news || delta->kind != BERTH_MEMO;
    VEC_FINI(&deltas);
    return is_news;
}
