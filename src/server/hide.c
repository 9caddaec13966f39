/* Hide: see hide.h. */
#include "server/hide.h"

#include <string.h>

#include "base/name.h"
#include "base/str.h"

struct hiding {
    const struct who *who;
    job_in_fn *is_in;
    void *arg;
};

/* Whether a text names a job, a task or an attempt that is not to be seen. */
static bool is_hidden(const struct hiding *hiding, const char *name)
{
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    return name && name_parse(name, &parts, &err) == 0 && parts.job &&
           !hiding->is_in(hiding->arg, parts.job, hiding->who->ns);
}

static void hide_member(json_t *object, const char *key, const struct hiding *hiding)
{
    if (is_hidden(hiding, json_string_value(json_object_get(object, key))))
        json_object_set_new(object, key, json_string(HIDDEN_JOB));
}

static void hide_items(json_t *list, const struct hiding *hiding)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (is_hidden(hiding, json_string_value(item)))
            json_array_set_new(list, i, json_string(HIDDEN_JOB));
    }
}

/* Of jobs that this ledger does not have, nobody knows the namespace. */
static void hide_all(json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_set_new(list, i, json_string(HIDDEN_JOB));
}

/* "preempt for j-12" */
static void hide_end(json_t *object, const char *key, const struct hiding *hiding)
{
    const char *text = json_string_value(json_object_get(object, key));
    const char *name = text ? strrchr(text, ' ') : NULL;
    CLEANUP(str_fini) struct str hidden = { 0 };

    if (!name || !is_hidden(hiding, name + 1))
        return;
    str_add_bytes(&hidden, text, (size_t)(name + 1 - text));
    str_add(&hidden, HIDDEN_JOB);
    json_object_set_new(object, key, json_string(hidden.data));
}

void hide_jobs(json_t *object, const struct who *who, job_in_fn *is_in, void *arg)
{
    struct hiding hiding = { who, is_in, arg };

    if (!who->ns[0])
        return;
    hide_member(object, "job", &hiding); /* of an order */
    hide_member(object, "evictedFor", &hiding);
    hide_member(object, "takenBy", &hiding);
    hide_items(json_object_get(object, "victims"), &hiding);
    hide_end(object, "message", &hiding);
    hide_all(json_object_get(json_object_get(object, "info"), "orphans")); /* of a node */
    hide_items(json_object_get(json_object_get(object, "info"), "kept"), &hiding);
}

void hide_jobs_of(json_t *list, const struct who *who, job_in_fn *is_in, void *arg)
{
    json_t *object;
    size_t i;

    json_array_foreach(list, i, object) hide_jobs(object, who, is_in, arg);
}

bool hide_by_reader(void *reader, uint64_t job, const char *ns)
{
    struct row_job *row = NULL;
    struct err err = { 0 };
    bool is = reader_job(reader, job, &row, &err) == 0 && text_eq(row->ns, ns);

    row_free(ROW_JOB, row);
    return is;
}
