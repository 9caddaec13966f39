/* Policy: single choices by name. */
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/quantity.h"
#include "base/str.h"
#include "engine/setup.h"

enum policy_kind { P_WORD, P_BOOL, P_DURATION, P_SPAN, P_COUNT, P_MILLI, P_AGING, P_QUOTA };

/* Words in the order of their enums, separated by spaces. */
static const struct {
    const char *name;
    enum policy_kind kind;
    size_t at;
    const char *words;
} options[] = {
    { "mode", P_WORD, offsetof(struct policy, mode), "batch serverless reference" },
    { "victims", P_WORD, offsetof(struct policy, victims), "every-tier first-tier" },
    { "victimUnit", P_WORD, offsetof(struct policy, victim_unit), "spare-or-whole task" },
    { "reclaim", P_WORD, offsetof(struct policy, reclaim), "within-share plugins" },
    { "victimSet", P_WORD, offsetof(struct policy, victim_set), "minimal greedy" },
    { "evict", P_WORD, offsetof(struct policy, evict), "only-if-placed by-sum" },
    { "preemptFor", P_WORD, offsetof(struct policy, preempt_for), "minimum all" },
    { "reservations", P_WORD, offsetof(struct policy, reservations), "durable none" },
    { "search", P_WORD, offsetof(struct policy, search), "exact sample" },
    { "tie", P_WORD, offsetof(struct policy, tie), "id rank hash spread pack" },
    { "enqueue", P_WORD, offsetof(struct policy, enqueue), "bounded reference" },
    { "capacity", P_WORD, offsetof(struct policy, capacity), "usable all" },
    { "jobTie", P_WORD, offsetof(struct policy, job_tie), "seq created" },
    { "anyGpu", P_WORD, offsetof(struct policy, any_gpu), "catalogue pool" },
    { "gpuModels", P_WORD, offsetof(struct policy, gpu_models), "order set" },
    { "commit", P_WORD, offsetof(struct policy, commit), "atomic" },
    { "wake", P_WORD, offsetof(struct policy, wake), "exact" },
    { "deciders", P_WORD, offsetof(struct policy, deciders), "one many" },
    { "failover", P_BOOL, offsetof(struct policy, failover), NULL },
    { "minRuntime", P_DURATION, offsetof(struct policy, min_runtime_ms), NULL },
    { "protectAfter", P_DURATION, offsetof(struct policy, protect_after_ms), NULL },
    { "reservationTtl", P_SPAN, offsetof(struct policy, reservation_ttl_ms), NULL },
    { "inqueueTimeout", P_SPAN, offsetof(struct policy, inqueue_timeout_ms), NULL },
    { "gangTimeout", P_DURATION, offsetof(struct policy, gang_timeout_ms), NULL },
    { "heartbeatTimeout", P_SPAN, offsetof(struct policy, heartbeat_timeout_ms), NULL },
    { "bootTime", P_SPAN, offsetof(struct policy, boot_time_ms), NULL },
    { "gangSearchSteps", P_COUNT, offsetof(struct policy, gang_search_steps), NULL },
    { "provisionAttempts", P_COUNT, offsetof(struct policy, provision_attempts), NULL },
    { "memoryHeadroom", P_MILLI, offsetof(struct policy, memory_milli), NULL },
    { "aging", P_AGING, 0, NULL },
    { "defaultQuota", P_QUOTA, 0, NULL },
};

static int unknown(const char *name, struct err *err)
{
    const char *known[COUNT_OF(options)];
    const char *near;
    char step[POINTER_STEP_SIZE];

    for (size_t i = 0; i < COUNT_OF(options); i++)
        known[i] = options[i].name;
    near = nearest(name, known, COUNT_OF(known));
    return err_set(err, -EINVAL, "%s: no such policy%s%s%s", pointer_step(name, step),
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int read_word(const struct berth_value *value, const char *words, int *out, struct err *err)
{
    size_t n = value->kind == BERTH_VALUE_TEXT ? strlen(value->text) : 0;
    int i = 0;

    for (const char *word = words; n && *word; i++) {
        size_t length = strcspn(word, " ");
        if (length == n && strncmp(word, value->text, n) == 0) {
            *out = i;
            return 0;
        }
        word += length + strspn(word + length, " ");
    }
    return err_set(err, -EINVAL, "/%s: one of %s", value->key, words);
}

static int read_duration(const struct berth_value *value, int64_t *out, struct err *err)
{
    struct err why = { 0 };

    if (value->kind == BERTH_VALUE_TEXT && strcmp(value->text, "never") == 0) {
        *out = BERTH_NEVER;
        return 0;
    }
    if (value->kind != BERTH_VALUE_TEXT)
        return err_set(err, -EINVAL, "/%s: a duration such as \"30s\", or \"never\"", value->key);
    if (duration_parse(value->text, out, &why) < 0)
        return err_set(err, -EINVAL, "/%s: %s", value->key, why.text);
    return 0;
}

/* Of nothing, what it bounds would be over as it begins: room held for nobody, no node ever heard of. */
static int read_span(const struct berth_value *value, int64_t *out, struct err *err)
{
    int r = read_duration(value, out, err);

    if (r < 0 || *out > 0)
        return r;
    return err_set(err, -EINVAL, "/%s: must be more than 0s; \"never\" is without end", value->key);
}

static int read_count(const struct berth_value *value, int64_t *out, struct err *err)
{
    if (value->kind != BERTH_VALUE_INT || value->number < 0)
        return err_set(err, -EINVAL, "/%s: a whole number, 0 or more", value->key);
    *out = value->number;
    return 0;
}

static int read_aging(const struct berth_value *value, struct policy *policy, struct err *err)
{
    if (value->kind != BERTH_VALUE_OBJECT)
        return err_set(err, -EINVAL, "/aging: an object with step and max");
    for (size_t i = 0; i < value->n_members; i++) {
        const struct berth_value *m = &value->members[i];
        int r = strcmp(m->key, "step") == 0  ? read_duration(m, &policy->aging_step_ms, err)
                : strcmp(m->key, "max") == 0 ? read_count(m, &policy->aging_max, err)
                                             : err_set(err, -EINVAL, "/%s: unknown", m->key);
        if (r < 0)
            return err_under(err, "/aging");
    }
    return 0;
}

static int read_quota(const struct berth_value *value, struct policy *policy, struct err *err)
{
    if (value->kind != BERTH_VALUE_OBJECT)
        return err_set(err, -EINVAL, "/defaultQuota: an object with cpu and gpu");
    policy->default_cpu = policy->default_gpu = -1;
    for (size_t i = 0; i < value->n_members; i++) {
        const struct berth_value *m = &value->members[i];
        struct err why = { 0 };
        int64_t *out = strcmp(m->key, "cpu") == 0   ? &policy->default_cpu
                       : strcmp(m->key, "gpu") == 0 ? &policy->default_gpu
                                                    : NULL;
        if (!out)
            return err_set(err, -EINVAL, "/defaultQuota/%s: unknown", m->key);
        if (m->kind == BERTH_VALUE_INT && m->number >= 0 && m->number <= QUANTITY_MAX / 1000)
            *out = m->number * 1000;
        else if (m->kind != BERTH_VALUE_TEXT)
            return err_set(err, -EINVAL, "/defaultQuota/%s: a quantity", m->key);
        else if (quantity_parse(m->text, QUANTITY_MILLI, out, &why) < 0)
            return err_set(err, -EINVAL, "/defaultQuota/%s: %s", m->key, why.text);
    }
    policy->has_default_quota = true;
    return 0;
}

static int read_milli(const struct berth_value *value, int64_t *out, struct err *err)
{
    double number;

    if (!value_number(value, &number) || number < 1 || number > 100)
        return err_set(err, -EINVAL, "/%s: a number from 1 to 100", value->key);
    *out = (int64_t)(number * 1000 + 0.5);
    return 0;
}

static int read_option(size_t i, const struct berth_value *value, struct policy *policy,
                       struct err *err)
{
    void *at = (char *)policy + options[i].at;

    switch (options[i].kind) {
    case P_WORD:
        return read_word(value, options[i].words, at, err);
    case P_BOOL:
        if (value->kind != BERTH_VALUE_BOOL)
            return err_set(err, -EINVAL, "/%s: true or false", value->key);
        *(bool *)at = value->truth;
        return 0;
    case P_DURATION:
        return read_duration(value, at, err);
    case P_SPAN:
        return read_span(value, at, err);
    case P_COUNT:
        return read_count(value, at, err);
    case P_MILLI:
        return read_milli(value, at, err);
    case P_AGING:
        return read_aging(value, policy, err);
    case P_QUOTA:
        return read_quota(value, policy, err);
    }
    return 0;
}

int policy_read(const struct berth_value *object, struct policy *policy, struct err *err)
{
    if (!object)
        return 0;
    if (object->kind != BERTH_VALUE_OBJECT)
        return err_set(err, -EINVAL, "an object");
    for (size_t i = 0; i < object->n_members; i++) {
        const struct berth_value *value = &object->members[i];
        size_t at = 0;
        int r;
        while (at < COUNT_OF(options) && strcmp(options[at].name, value->key) != 0)
            at++;
        r = at == COUNT_OF(options) ? unknown(value->key, err)
                                    : read_option(at, value, policy, err);
        if (r < 0)
            return r;
    }
    return 0;
}
