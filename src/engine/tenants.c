/* Tenants: see tenants.h. */
#include "engine/tenants.h"

#include <string.h>

#include "base/map.h"
#include "base/str.h"

enum { NO_LIMIT = -1 };

struct tenant {
    int64_t cpu_limit, gpu_limit; /* NO_LIMIT */
    wide cpu, gpu;
};

struct tenants {
    struct session *s;
    struct map map; /* by namespace: those that have a quota of their own, or the default */
    uint32_t gpu;   /* the dimension, or NOWHERE */
};

static const char *name_of(const struct job *job)
{
    return job->kept->namespace_ ? job->kept->namespace_ : "";
}

static struct tenant *tenant_new(struct tenants *tenants, const char *name, int64_t cpu,
                                 int64_t gpu)
{
    struct tenant *tenant = ARENA_NEW0(&tenants->s->arena, struct tenant);

    *tenant = (struct tenant){ .cpu_limit = cpu, .gpu_limit = gpu };
    map_put(&tenants->map, name, tenant);
    return tenant;
}

static void limit(int64_t *at, int64_t value)
{
    if (*at == NO_LIMIT || value < *at)
        *at = value;
}

static void read_quotas(struct tenants *tenants)
{
    VEC_EACH (item, &tenants->s->model->shelves[BERTH_QUOTA].items) {
        const struct berth_quota *quota = (*item)->kept;
        const char *name = quota->namespace_ ? quota->namespace_ : "";
        struct tenant *tenant = map_get(&tenants->map, name);
        if (!tenant)
            tenant = tenant_new(tenants, name, NO_LIMIT, NO_LIMIT);
        for (size_t i = 0; i < quota->hard.n; i++) {
            if (strcmp(quota->hard.at[i].name, "cpu") == 0)
                limit(&tenant->cpu_limit, quota->hard.at[i].value);
            else if (strcmp(quota->hard.at[i].name, "gpu") == 0)
                limit(&tenant->gpu_limit, quota->hard.at[i].value);
        }
    }
}

static struct tenant *tenant_of(struct tenants *tenants, const char *name)
{
    const struct policy *policy = tenants->s->policy;
    struct tenant *tenant = map_get(&tenants->map, name);

    if (!tenant && policy->has_default_quota)
        tenant = tenant_new(tenants, name, policy->default_cpu, policy->default_gpu);
    return tenant;
}

static void count(const struct tenants *tenants, struct tenant *tenant, const struct kind *kind,
                  int64_t n)
{
    tenant->cpu += (wide)asks_of(&kind->asks, DIM_CPU) * n;
    if (tenants->gpu != NOWHERE)
        tenant->gpu += (wide)asks_of(&kind->asks, tenants->gpu) * n;
}

/* The tasks of a group that were let in: they hold something, are promised it, or wait for it. */
static uint32_t n_admitted(const struct group *group)
{
    const struct berth_job *job = group->job->kept;
    uint32_t n =
        group_n_allocated(group) + group->n[BERTH_TASK_UNKNOWN] + group->n[BERTH_TASK_PIPELINED];

    return job->phase != BERTH_PHASE_PENDING && !job->stopping ? n + group->n[BERTH_TASK_PENDING]
                                                               : n;
}

struct tenants *tenants_new(struct session *s)
{
    struct tenants *tenants;

    if (!s->model->shelves[BERTH_QUOTA].items.n && !s->policy->has_default_quota)
        return NULL;
    tenants = ARENA_NEW0(&s->arena, struct tenants);
    tenants->s = s;
    tenants->gpu = dim_find(s->model, "gpu");
    read_quotas(tenants);
    JOB_EACH (job, s->model) {
        struct tenant *tenant = tenant_of(tenants, name_of(job));
        for (size_t i = 0; tenant && i < job->n_groups; i++)
            count(tenants, tenant, job->groups[i].kind, n_admitted(&job->groups[i]));
    }
    return tenants;
}

bool tenants_has_quota(const struct tenants *tenants, const char *namespace_)
{
    return tenants && map_get(&tenants->map, namespace_);
}

const char *tenants_admit(struct tenants *tenants, const struct task *task)
{
    struct tenant *tenant = tenants ? tenant_of(tenants, name_of(task->group->job)) : NULL;
    struct tenant before;

    if (!tenant)
        return NULL;
    before = *tenant;
    count(tenants, tenant, task->group->kind, 1);
    /* Over both limits it is the GPU that is named. */
    if (tenant->gpu > before.gpu && tenant->gpu_limit != NO_LIMIT &&
        tenant->gpu > tenant->gpu_limit) {
        *tenant = before;
        return "gpu";
    }
    if (tenant->cpu > before.cpu && tenant->cpu_limit != NO_LIMIT &&
        tenant->cpu > tenant->cpu_limit) {
        *tenant = before;
        return "cpu";
    }
    return NULL;
}

void tenants_leave(struct tenants *tenants, const struct task *task)
{
    struct tenant *tenant = tenants ? tenant_of(tenants, name_of(task->group->job)) : NULL;

    if (tenant)
        count(tenants, tenant, task->group->kind, -1);
}

void tenants_free(struct tenants *tenants)
{
    if (tenants)
        map_fini(&tenants->map);
}
