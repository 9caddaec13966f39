/*
 * For tests: worlds of a few lines, and answers as text.
 */
#ifndef ENGINE_TESTING_H
#define ENGINE_TESTING_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/test.h"
#include "berth/engine.h"

struct world {
    struct berth_engine *engine;
    struct arena arena;
    struct berth_decisions out;
    struct berth_cycle_in in;
    uint64_t seq;
};

static inline void world_init(struct world *w)
{
    struct err err = { 0 };

    *w = (struct world){ .in = { .now_ms = 1000000 } };
    w->engine = berth_engine_new(&err);
    CHECK(w->engine != NULL);
}

static inline void world_fini(struct world *w)
{
    berth_decisions_free(&w->out);
    berth_engine_free(w->engine);
    arena_fini(&w->arena);
}

static inline void world_tell(struct world *w, enum berth_kind kind, const void *object)
{
    struct berth_delta delta = { kind, false, { .any = object } };
    struct err err = { 0 };

    CHECK_OK(berth_engine_apply(w->engine, &delta, 1, &err), &err);
}

static inline void world_end(struct world *w, enum berth_kind kind, const void *object)
{
    struct berth_delta delta = { kind, true, { .any = object } };
    struct err err = { 0 };

    CHECK_OK(berth_engine_apply(w->engine, &delta, 1, &err), &err);
}

/* cpu in cores, memory in bytes. */
static inline struct berth_amounts world_amounts(struct world *w, int64_t cpu, int64_t memory)
{
    struct berth_amount *at = ARENA_NEW0_N(&w->arena, struct berth_amount, 2);

    at[0] = (struct berth_amount){ "cpu", cpu * 1000 };
    at[1] = (struct berth_amount){ "memory", memory };
    return (struct berth_amounts){ at, 2 };
}

static inline void world_queue(struct world *w, const char *name)
{
    world_tell(w, BERTH_QUEUE, &(struct berth_queue){ .name = name, .seq = ++w->seq });
}

static inline void world_node(struct world *w, const char *id, int64_t cpu)
{
    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = id,
                                     .seq = ++w->seq,
                                     .state = NODE_READY,
                                     .facts = 7,
                                     .offers = world_amounts(w, cpu, (int64_t)64 << 30) });
}

static inline void world_job(struct world *w, const char *id, uint32_t replicas, uint32_t least,
                             int64_t cpu)
{
    struct berth_task_group group = {
        .name = "task", .role = "task", .replicas = replicas, .asks = world_amounts(w, cpu, 1 << 20)
    };

    world_tell(w, BERTH_JOB,
               &(struct berth_job){ .id = id,
                                    .name = id,
                                    .seq = ++w->seq,
                                    .queue = "default",
                                    .min_available = least,
                                    .groups = &group,
                                    .n_groups = 1 });
}

static inline void world_cycle(struct world *w)
{
    struct err err = { 0 };

    berth_decisions_free(&w->out);
    CHECK_OK(berth_engine_cycle(w->engine, &w->in, &w->out, &err), &err);
}

enum { WORLD_MIXES = 8 };

/*
 * Gives a configuration plugins other than its profile's: 0 leaves them. The tree of `capacity`
 * wants a queue `root`; the zone of `tdm` is open for two minutes soon after a world begins.
 */
static inline void world_mix(struct world *w, uint64_t mix, struct berth_config *config)
{
    static const struct berth_value zone = { .key = "tdm.revocable-zone.night",
                                             .kind = BERTH_VALUE_TEXT,
                                             .text = "0:17-0:19" };
    static const struct berth_value zones = { .kind = BERTH_VALUE_OBJECT,
                                              .members = (struct berth_value *)&zone,
                                              .n_members = 1 };
    static const struct berth_plugin_use first[] = { { .name = "priority" },
                                                     { .name = "gang" },
                                                     { .name = "conformance" } };
    static const char *const shares[WORLD_MIXES] = {
        "", "capacity", "capacity", "proportion", "share", "share", "capacity", "proportion"
    };
    static const char *const others[WORLD_MIXES] = { "", "", "", "", "pdb", "tdm", "pdb", "tdm" };
    struct berth_plugin_use *uses = ARENA_NEW0_N(&w->arena, struct berth_plugin_use, 5);
    struct berth_tier *tiers = ARENA_NEW0_N(&w->arena, struct berth_tier, 2);

    if (!mix)
        return;
    uses[0] = (struct berth_plugin_use){
        .name = shares[mix],
        .has_enabled = true,
        .enabled = BERTH_HOOKS_DEFAULT | (mix == 2 ? BERTH_HOOK_BIT(BERTH_HOOK_HIERARCHY) : 0)
    };
    uses[1].name = "predicates";
    uses[2].name = "nodeorder";
    uses[3].name = others[mix];
    if (text_eq(others[mix], "tdm"))
        uses[3].arguments = &zones;
    tiers[0] = (struct berth_tier){ first, COUNT_OF(first) };
    tiers[1] = (struct berth_tier){ uses, others[mix][0] ? 4 : 3 };
    config->has_tiers = true;
    config->tiers = tiers;
    config->n_tiers = 2;
}

/* The decisions as "bind j1/task.0>n1,j1/task.1>n2; ..." without admissions. */
static inline const char *world_groups(struct world *w)
{
    CLEANUP(str_fini) struct str text = { 0 };

    for (size_t i = 0; i < w->out.n_groups; i++) {
        const struct berth_group *group = &w->out.groups[i];
        if (group->kind == BERTH_GROUP_ADMIT || group->kind == BERTH_GROUP_MEMO)
            continue;
        str_addf(&text, "%s%s", text.len ? "; " : "", berth_group_kind_words[group->kind]);
        for (size_t k = 0; k < group->n_parts; k++)
            str_addf(&text, "%s%s/%s.%" PRIu32 ">%s", k ? "," : " ", group->parts[k].task.job,
                     group->parts[k].task.group, group->parts[k].task.index, group->parts[k].node);
    }
    return arena_text(&w->arena, str_text(&text));
}

/* The verdict on a job: its code's word, or "" where there is none. */
static inline const struct berth_reason *world_reason(struct world *w, const char *job)
{
    for (size_t i = 0; i < w->out.n_verdicts; i++)
        if (text_eq(w->out.verdicts[i].job, job))
            return w->out.verdicts[i].reason;
    return NULL;
}

static inline const char *world_waits(struct world *w, const char *job)
{
    const struct berth_reason *reason = world_reason(w, job);

    return reason ? wait_codes[reason->code].word : "";
}

static inline int world_add(const struct berth_delta *delta, void *text)
{
    berth_delta_write(delta, text);
    str_add(text, "\n");
    return 0;
}

static inline char *world_export(struct berth_engine *engine)
{
    struct str text = { 0 };

    CHECK_EQ(berth_engine_export(engine, world_add, &text), 0);
    return str_take(&text);
}

static inline int world_feed(const struct berth_delta *delta, void *engine)
{
    struct err err = { 0 };

    return berth_engine_apply(engine, delta, 1, &err);
}

/* What a group reserves, as the reservation of its name. */
static inline void world_reserve(struct world *w, const struct berth_group *group)
{
    struct berth_reservation made = { .id = group->name,
                                      .seq = w->in.revision,
                                      .owner = group->job,
                                      .purpose = BERTH_FOR_MACHINE,
                                      .made_at_ms = w->in.now_ms,
                                      .until_ms = group->until_ms };
    struct berth_reservation_part *parts =
        ARENA_NEW0_N(&w->arena, struct berth_reservation_part, group->n_parts + 1);

    for (size_t i = 0; i < group->n_parts; i++)
        if (group->parts[i].kind == BERTH_PART_RESERVE)
            parts[made.n_parts++] = (struct berth_reservation_part){
                .task = group->parts[i].task,
                .node = group->parts[i].node,
                .holds = group->parts[i].holds,
            };
    made.parts = parts;
    if (made.n_parts && made.id)
        world_tell(w, BERTH_RESERVATION, &made);
}

/* A machine that is ordered is on its way from now on. */
static inline void world_order(struct world *w, const struct berth_group *group)
{
    world_tell(w, BERTH_ORDER,
               &(struct berth_order){ .key = group->name,
                                      .seq = w->in.revision,
                                      .pool = group->pool,
                                      .shape = group->shape,
                                      .state = BERTH_ORDER_PLACED,
                                      .made_at_ms = w->in.now_ms });
    world_tell(w, BERTH_NODE,
               &(struct berth_node){ .id = group->name,
                                     .seq = 1000 + w->in.revision,
                                     .state = NODE_COMING,
                                     .pool = group->pool,
                                     .offers = group->shape,
                                     .order = group->name });
}

static inline void world_fail(struct world *w, const struct berth_group *group)
{
    for (size_t i = 0; i < group->n_parts; i++)
        world_tell(w, BERTH_TASK,
                   &(struct berth_task){ .job = group->parts[i].task.job,
                                         .group = group->parts[i].task.group,
                                         .index = group->parts[i].task.index,
                                         .state = BERTH_TASK_FAILED });
    if (!group->n_parts)
        world_end(w, BERTH_JOB, &(struct berth_job){ .id = group->job });
}

/* What a server does with machines that are ordered, room on them, and what is given up. */
static inline void world_accept_rest(struct world *w, const struct berth_group *group)
{
    if (group->kind == BERTH_GROUP_ORDER)
        world_order(w, group);
    if (group->kind == BERTH_GROUP_ORDER || (group->kind == BERTH_GROUP_RESERVE && !group->n_takes))
        world_reserve(w, group);
    if (group->kind == BERTH_GROUP_FAIL)
        world_fail(w, group);
}

/* What is held for the owner of a group already stays, beside what the group adds. */
static inline void world_keep_parts(const struct world *w, const struct berth_group *group,
                                    struct berth_reservation_part *parts, size_t *n)
{
    size_t n_new = *n;

    for (size_t i = 0; i < w->out.n_promised; i++) {
        const struct berth_part *part = &w->out.promised[i];
        bool is_there = !text_eq(part->task.job, group->job);
        for (size_t k = 0; k < n_new; k++)
            is_there = is_there || (text_eq(parts[k].task.group, part->task.group) &&
                                    parts[k].task.index == part->task.index);
        if (!is_there)
            parts[(*n)++] =
                (struct berth_reservation_part){ .task = part->task, .node = part->node };
    }
}

/* Keeps what a group with evictions reserves, and lets go what was used, taken or is released. */
static inline void world_accept_room(struct world *w, const struct berth_group *group)
{
    struct berth_reservation_part *parts = ARENA_NEW0_N(&w->arena, struct berth_reservation_part,
                                                        group->n_parts + w->out.n_promised + 1);
    struct berth_reservation r = { .id = group->name,
                                   .seq = ++w->seq,
                                   .owner = group->job,
                                   .until_ms = group->until_ms,
                                   .parts = parts };

    for (size_t i = 0; i < group->n_takes; i++)
        world_end(w, BERTH_RESERVATION,
                  &(struct berth_reservation){ .id = group->takes[i].reservation });
    for (size_t i = 0; i < group->n_parts; i++) {
        const struct berth_part *part = &group->parts[i];
        if (part->kind == BERTH_PART_BIND && part->reservation)
            world_end(w, BERTH_RESERVATION, &(struct berth_reservation){ .id = part->reservation });
        if (part->kind == BERTH_PART_RESERVE)
            parts[r.n_parts++] = (struct berth_reservation_part){ .task = part->task,
                                                                  .node = part->node,
                                                                  .waits = part->waits,
                                                                  .n_waits = part->n_waits };
    }
    if ((group->kind == BERTH_GROUP_EVICT || group->n_takes) && group->name && r.n_parts) {
        world_keep_parts(w, group, parts, &r.n_parts);
        world_tell(w, BERTH_RESERVATION, &r);
    }
    if (group->kind == BERTH_GROUP_RELEASE)
        world_end(w, BERTH_RESERVATION, &r);
}

/* Does with the answer what a server would: the binds stand, as tasks in a state. */
static inline void world_accept(struct world *w, enum berth_task_state state)
{
    for (size_t i = 0; i < w->out.n_groups; i++) {
        const struct berth_group *group = &w->out.groups[i];
        world_accept_room(w, group);
        for (size_t k = 0; k < group->n_parts; k++) {
            const struct berth_part *part = &group->parts[k];
            if (part->kind == BERTH_PART_RESERVE || group->kind == BERTH_GROUP_FAIL)
                continue;
            world_tell(
                w, BERTH_TASK,
                &(struct berth_task){
                    .job = part->task.job,
                    .group = part->task.group,
                    .index = part->task.index,
                    .attempt = part->task.attempt,
                    .node = part->node,
                    .started_at_ms = w->in.now_ms,
                    .holds = part->n_shares ? part->holds : (struct berth_amounts){ 0 },
                    .shares = part->shares,
                    .n_shares = part->n_shares,
                    .cores = part->cores,
                    .state = part->kind == BERTH_PART_EVICT ? BERTH_TASK_RELEASING : state });
        }
        world_accept_rest(w, group);
        if (group->kind == BERTH_GROUP_MEMO)
            world_tell(w, BERTH_MEMO,
                       &(struct berth_memo){ group->name, group->data, group->size });
    }
}

#endif
