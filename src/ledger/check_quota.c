/*
 * The history checker, quotas: no bind takes a namespace above one of its quotas. What a quota
 * that is lowered finds in use stands.
 */
#include "ledger/check_inside.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static struct use *use_of(struct check *c, const char *ns, const char *resource)
{
    struct seen_namespace *seen = map_get(&c->namespaces, ns);
    struct use *use;

    if (!seen) {
        seen = NEW0(struct seen_namespace);
        seen->name = text_copy(ns);
        map_put(&c->namespaces, seen->name, seen);
    }
    VEC_EACH (each, &seen->uses)
        if (strcmp(each->resource, resource) == 0)
            return each;
    use = VEC_ADD(&seen->uses);
    *use = (struct use){ .resource = text_copy(resource) };
    return use;
}

static void limit_fini(struct seen_limit *limit)
{
    mem_free(limit->ns);
    mem_free(limit->quota);
    mem_free(limit->resource);
}

static void forget_limits(struct check *c, const struct row_quota *row)
{
    for (size_t i = c->limits.n; i-- > 0;) {
        struct seen_limit *limit = &c->limits.at[i];
        if (strcmp(limit->ns, row->ns) != 0 || strcmp(limit->quota, row->name) != 0)
            continue;
        limit_fini(limit);
        VEC_SWAP_OUT(&c->limits, i);
    }
}

void check_see_quota(struct check *c, const struct row_quota *row, bool is_gone)
{
    json_t *hard = *row->hard ? json_loads(row->hard, 0, NULL) : NULL, *value;
    const char *resource;

    forget_limits(c, row);
    json_object_foreach(is_gone ? NULL : hard, resource, value)
    {
        struct seen_limit limit = { text_copy(row->ns), text_copy(row->name), text_copy(resource),
                                    json_integer_value(value) };
        VEC_PUSH(&c->limits, limit);
    }
    json_decref(hard);
}

static void check_limits(struct check *c, const char *ns, const struct use *use)
{
    VEC_EACH (limit, &c->limits)
        if (strcmp(limit->ns, ns) == 0 && strcmp(limit->resource, use->resource) == 0 &&
            use->used > limit->most)
            check_find(c,
                       "brings namespace %s to %" PRId64 " of %s, above the %" PRId64
                       " of its quota %s",
                       ns, use->used, use->resource, limit->most, limit->quota);
}

static void add(struct check *c, const char *ns, const char *resource, int64_t value)
{
    struct use *use = use_of(c, ns, resource);

    use->used += value;
    if (value > 0)
        check_limits(c, ns, use);
}

void check_namespace_use(struct check *c, const struct seen_job *job, int64_t grp, int sign)
{
    const struct amounts *asks = &job->spec->groups[grp].holds;

    for (size_t i = 0; i < asks->n; i++)
        if (strcmp(asks->at[i].resource, "pods") != 0)
            add(c, job->ns, asks->at[i].resource, sign * asks->at[i].value);
    add(c, job->ns, "pods", sign * 1000);
}

void check_quotas_fini(struct check *c)
{
    MAP_EACH (entry, &c->namespaces) {
        struct seen_namespace *seen = entry->value;
        VEC_EACH (use, &seen->uses)
            mem_free(use->resource);
        VEC_FINI(&seen->uses);
        mem_free(seen->name);
        mem_free(seen);
    }
    map_fini(&c->namespaces);
    VEC_EACH (limit, &c->limits)
        limit_fini(limit);
    VEC_FINI(&c->limits);
}
