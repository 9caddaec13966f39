/* Jobs: see job.h. Reading is in job_read.c, writing in job_write.c. */
#include "api/job.h"

#include <errno.h>
#include <string.h>

#include "api/json.h"
#include "base/str.h"

static void labels_fini(struct labels *labels)
{
    for (size_t i = 0; i < labels->n; i++) {
        mem_free(labels->at[i].key);
        mem_free(labels->at[i].value);
    }
    mem_free(labels->at);
}

static void texts_fini(struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        mem_free(texts->at[i]);
    mem_free(texts->at);
}

static void group_fini(struct job_group *group)
{
    mem_free(group->name);
    mem_free(group->image);
    texts_fini(&group->command);
    texts_fini(&group->args);
    labels_fini(&group->env);
    mem_free(group->work_dir);
    mem_free(group->user);
    mem_free(group->runtime);
    for (size_t i = 0; i < group->resources.n; i++)
        mem_free(group->resources.at[i].resource);
    mem_free(group->resources.at);
    labels_fini(&group->node_selector);
    labels_fini(&group->preferred_labels);
    for (size_t i = 0; i < group->n_tolerations; i++) {
        mem_free(group->tolerations[i].key);
        mem_free(group->tolerations[i].value);
        mem_free(group->tolerations[i].effect);
    }
    mem_free(group->tolerations);
}

void job_spec_free(struct job_spec *spec)
{
    if (!spec)
        return;
    mem_free(spec->name);
    mem_free(spec->ns);
    mem_free(spec->queue);
    labels_fini(&spec->labels);
    for (size_t i = 0; i < spec->n_groups; i++)
        group_fini(&spec->groups[i]);
    mem_free(spec->groups);
    mem_free(spec);
}

void job_spec_freep(struct job_spec **spec)
{
    job_spec_free(*spec);
    *spec = NULL;
}

int64_t job_group_amount(const struct job_group *group, const char *resource)
{
    for (size_t i = 0; i < group->resources.n; i++)
        if (strcmp(group->resources.at[i].resource, resource) == 0)
            return group->resources.at[i].value;
    return 0;
}

int job_spec_from_canonical(const char *text, struct job_spec **out, struct err *err)
{
    struct problem problem = { 0 };
    json_t *object = NULL;
    int r = json_read(text, strlen(text), 4 * JOB_BODY_MAX_BYTES, &object, &problem);

    if (r == 0)
        r = job_spec_from_json(object, NULL, out, &problem);
    json_decref(object);
    return r < 0 ? err_set(err, -EINVAL, "job's spec: %s", problem.detail) : 0;
}
