/* Which events a reader wants: see event_filter.h. */
#include "server/event_filter.h"

#include <string.h>

#include "base/str.h"

void event_filter_fini(struct event_filter *filter)
{
    free(filter->types);
    filter->types = NULL;
    if (filter->list)
        filter->list->free_list(filter->list);
    filter->list = NULL;
}

static bool type_passes(const char *types, const char *type)
{
    while (types && *types) {
        size_t n = strcspn(types, ",");

        if (n > 0 && types[n - 1] == '*' ? strncmp(types, type, n - 1) == 0
                                         : strlen(type) == n && strncmp(types, type, n) == 0)
            return true;
        types += n + (types[n] == ',');
    }
    return !types;
}

/* Tokens, leases and the like are the admins' business; a job is its namespace's. */
static bool may_see(const struct who *who, enum row_kind kind, const char *ns)
{
    if (kind == ROW_JOB || kind == ROW_TASK || kind == ROW_ATTEMPT || kind == ROW_RESERVATION ||
        kind == ROW_PART)
        return !who->ns[0] || (ns && text_eq(who->ns, ns));
    if (kind == ROW_NODE || kind == ROW_QUEUE)
        return true;
    return who->right == RIGHT_ADMIN && !who->ns[0];
}

bool event_filter_passes(const struct event_filter *filter, enum row_kind kind, const char *type,
                         uint64_t job, const char *ns)
{
    return (!filter->job || filter->job == job) && (!filter->list || filter->list->kind == kind) &&
           type_passes(filter->types, type) && may_see(&filter->who, kind, ns);
}

bool event_filter_takes(const struct event_filter *filter, json_t *shown)
{
    const char *type = json_string_value(json_object_get(shown, "type"));
    const char *dot = type ? strrchr(type, '.') : NULL;
    enum event_place place;

    if (!filter->list)
        return true;
    place = filter->list->place(filter->list, json_object_get(shown, "object"));
    if (place == EVENT_LEFT || text_eq(dot, ".deleted"))
        json_object_set_new(shown, "left", json_true());
    return place != EVENT_NEVER;
}
