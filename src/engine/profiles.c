/*
 * The built-in profiles, as configurations.
 *
 * `berth` is the default; `volcano` decides as the batch scheduler of that name does, quirks
 * included; `beam` is the serverless order; `bench` is the least that places a task; `ledger`
 * chooses by preferred labels, weight and how much runs.
 */
#include "base/str.h"
#include "engine/setup.h"

#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const char *const[]){ __VA_ARGS__ },                                                      \
            sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)                          \
    }
#define TEXT(name, value)                                                                          \
    {                                                                                              \
        .key = (name), .kind = BERTH_VALUE_TEXT, .text = (value)                                   \
    }
#define WHOLE(name, value)                                                                         \
    {                                                                                              \
        .key = (name), .kind = BERTH_VALUE_INT, .number = (value)                                  \
    }
#define REAL(name, value)                                                                          \
    {                                                                                              \
        .key = (name), .kind = BERTH_VALUE_DOUBLE, .real = (value)                                 \
    }
#define FLAG(name, value)                                                                          \
    {                                                                                              \
        .key = (name), .kind = BERTH_VALUE_BOOL, .truth = (value)                                  \
    }
#define OBJECT(...)                                                                                \
    .kind = BERTH_VALUE_OBJECT, .members = (const struct berth_value[]){ __VA_ARGS__ },            \
    .n_members = sizeof((const struct berth_value[]){ __VA_ARGS__ }) / sizeof(struct berth_value)
#define TIER(...)                                                                                  \
    {                                                                                              \
        (const struct berth_plugin_use[]){ __VA_ARGS__ },                                          \
            sizeof((const struct berth_plugin_use[]){ __VA_ARGS__ }) /                             \
                sizeof(struct berth_plugin_use)                                                    \
    }

static const struct berth_tier berth_tiers[] = {
    TIER({ .name = "priority" }, { .name = "gang" }, { .name = "conformance" }),
    TIER({ .name = "share" }, { .name = "predicates" }, { .name = "nodeorder" },
         { .name = "network-topology-aware" }),
};
static const struct berth_value berth_policy = { OBJECT(
    TEXT("victims", "every-tier"), TEXT("victimUnit", "spare-or-whole"),
    TEXT("reclaim", "within-share"), TEXT("victimSet", "minimal"), TEXT("evict", "only-if-placed"),
    TEXT("preemptFor", "minimum"), TEXT("reservations", "durable"), TEXT("search", "exact"),
    TEXT("tie", "id"), TEXT("enqueue", "bounded"), TEXT("capacity", "usable"),
    TEXT("jobTie", "seq"), TEXT("minRuntime", "0s"), TEXT("protectAfter", "10m"),
    TEXT("reservationTtl", "5m"), TEXT("inqueueTimeout", "5m"), TEXT("gangTimeout", "10m"),
    TEXT("bootTime", "3m"), TEXT("heartbeatTimeout", "60s"), WHOLE("gangSearchSteps", 10000),
    WHOLE("provisionAttempts", 3), REAL("memoryHeadroom", 1), FLAG("failover", true),
    { .key = "aging", OBJECT(TEXT("step", "10m"), WHOLE("max", 100)) }) };

static const struct berth_tier volcano_tiers[] = {
    TIER({ .name = "priority" }, { .name = "gang" }, { .name = "conformance" }),
    TIER({ .name = "overcommit" }, { .name = "drf" }, { .name = "predicates" },
         { .name = "proportion" }, { .name = "nodeorder" }),
};
static const struct berth_value volcano_policy = { OBJECT(
    TEXT("victims", "first-tier"), TEXT("victimUnit", "task"), TEXT("reclaim", "plugins"),
    TEXT("victimSet", "greedy"), TEXT("evict", "by-sum"), TEXT("preemptFor", "all"),
    TEXT("reservations", "none"), TEXT("search", "sample"), TEXT("tie", "rank"),
    TEXT("enqueue", "reference"), TEXT("capacity", "all"), TEXT("jobTie", "created"),
    TEXT("minRuntime", "0s"), TEXT("protectAfter", "never"), TEXT("reservationTtl", "5m"),
    TEXT("inqueueTimeout", "never"), TEXT("gangTimeout", "never"), TEXT("bootTime", "3m"),
    TEXT("heartbeatTimeout", "60s"), WHOLE("gangSearchSteps", 0), WHOLE("provisionAttempts", 0),
    REAL("memoryHeadroom", 1), FLAG("failover", true),
    { .key = "aging", OBJECT(TEXT("step", "0s"), WHOLE("max", 0)) }) };

/* Resources, what goes by the node's class, least requested: no more. */
static const struct berth_value bench_order = { OBJECT(
    WHOLE("leastrequested.weight", 1), WHOLE("nodeaffinity.weight", 0),
    WHOLE("podaffinity.weight", 0), WHOLE("balancedresource.weight", 0),
    WHOLE("tainttoleration.weight", 0), WHOLE("imagelocality.weight", 0),
    WHOLE("podtopologyspread.weight", 0)) };
static const struct berth_tier bench_tiers[] = {
    TIER({ .name = "predicates" }, { .name = "nodeorder", .arguments = &bench_order }),
};

static const struct berth_tier beam_tiers[] = {
    TIER({ .name = "predicates" }, { .name = "pools" }),
};
static const struct berth_value beam_policy = { OBJECT(
    TEXT("search", "exact"), TEXT("tie", "spread"), TEXT("jobTie", "created"),
    TEXT("reservations", "durable"), TEXT("reservationTtl", "180s"),
    TEXT("heartbeatTimeout", "60s"), TEXT("anyGpu", "pool"), TEXT("protectAfter", "never"),
    TEXT("inqueueTimeout", "never"), TEXT("gangTimeout", "never"), TEXT("bootTime", "180s"),
    WHOLE("provisionAttempts", 3), REAL("memoryHeadroom", 1.25), FLAG("failover", true)) };

static const struct berth_tier ledger_tiers[] = {
    TIER({ .name = "gang" }, { .name = "predicates" }, { .name = "ledger" }),
};

static const struct berth_config profiles[] = {
    { .profile = "berth",
      .actions = WORDS("enqueue", "allocate", "preempt", "reclaim", "backfill", "provision"),
      .tiers = berth_tiers,
      .n_tiers = COUNT_OF(berth_tiers),
      .policy = &berth_policy },
    { .profile = "volcano",
      .actions = WORDS("enqueue", "allocate", "backfill"),
      .tiers = volcano_tiers,
      .n_tiers = COUNT_OF(volcano_tiers),
      .policy = &volcano_policy },
    { .profile = "beam",
      .actions = WORDS("provision"),
      .tiers = beam_tiers,
      .n_tiers = COUNT_OF(beam_tiers),
      .policy = &beam_policy },
    { .profile = "ledger",
      .actions = WORDS("allocate", "backfill"),
      .tiers = ledger_tiers,
      .n_tiers = COUNT_OF(ledger_tiers),
      .policy = &berth_policy },
    { .profile = "bench",
      .actions = WORDS("allocate"),
      .tiers = bench_tiers,
      .n_tiers = COUNT_OF(bench_tiers),
      .policy = &berth_policy },
};

const char *berth_profile_at(size_t i)
{
    return i < COUNT_OF(profiles) ? profiles[i].profile : NULL;
}

const struct berth_config *berth_profile_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(profiles); i++)
        if (text_eq(profiles[i].profile, name))
            return &profiles[i];
    return NULL;
}
