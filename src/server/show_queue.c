/* A queue as the API shows it: docs/api.md, "Queues". */
#include "server/show.h"

static void show_part(json_t *object, const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);

    if (json_is_object(value))
        show_set(object, key, show_amounts(value));
    else if (value)
        show_set(object, key, json_deep_copy(value));
}

static void show_limits(json_t *object, json_t *limits)
{
    json_t *out, *amounts;
    const char *group;

    if (!limits)
        return;
    out = json_object();
    json_object_foreach(limits, group, amounts) show_set(out, group, show_amounts(amounts));
    show_set(object, "nodeGroupLimits", out);
}

json_t *show_queue(const struct row_queue *row)
{
    static const char *const keys[] = { "weight",     "priority",  "deserved",
                                        "guarantee",  "cap",       "reclaimable",
                                        "preemption", "hierarchy", "hierarchyWeights" };
    static const char *const groups[] = { "nodeGroupAffinity", "nodeGroupAntiAffinity" };
    json_t *object = json_object(), *spec = show_read_object(row->spec);

    show_text(object, "name", row->name);
    show_text(object, "parent", row->parent);
    show_text(object, "state", queue_state_words[row->state]);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        show_part(object, spec, keys[i]);
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        if (json_object_get(spec, groups[i]))
            show_set(object, groups[i], json_deep_copy(json_object_get(spec, groups[i])));
    show_limits(object, json_object_get(spec, "nodeGroupLimits"));
    if (json_object_get(spec, "minRuntime"))
        show_duration(object, "minRuntime",
                      json_integer_value(json_object_get(spec, "minRuntime")));
    if (json_object_get(spec, "maxLimit"))
        show_duration(object, "maxLimit", json_integer_value(json_object_get(spec, "maxLimit")));
    show_number(object, "revision", (int64_t)row->rev);
    json_decref(spec);
    return object;
}

json_t *show_queue_usage(const struct berth_queue_view *view)
{
    json_t *object = json_object();

    show_set(object, "deserved", show_engine_amounts(&view->deserved));
    show_set(object, "fairShare", show_engine_amounts(&view->fair_share));
    show_set(object, "allocated", show_engine_amounts(&view->allocated));
    show_set(object, "demand", show_engine_amounts(&view->demand));
    show_set(object, "requested", show_engine_amounts(&view->requested));
    show_set(object, "cap", show_engine_amounts(&view->cap));
    show_number(object, "pending", view->n_pending);
    show_number(object, "running", view->n_running);
    show_number(object, "ended", view->n_ended);
    return object;
}
