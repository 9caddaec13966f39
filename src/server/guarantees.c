/* Guarantees against what there is: see guarantees.h. */
#include "server/guarantees.h"

#include <string.h>

#include "base/quantity.h"
#include "base/vec.h"
#include "server/show.h"

/* A queue as far as it matters here. */
struct kept {
    char *name, *parent;
    json_t *guarantee;
};

struct walk {
    VEC_OF(struct kept) queues;
    struct guarantees *out;
};

static int take_queue(const void *data, void *arg)
{
    static const char *const bounds[] = { "guarantee", "deserved", "cap" };
    const struct row_queue *row = data;
    struct walk *walk = arg;
    json_t *spec = show_read_object(row->spec);

    for (size_t i = 0; i < COUNT_OF(bounds); i++)
        json_object_update(walk->out->known, json_object_get(spec, bounds[i]));
    VEC_PUSH(&walk->queues, ((struct kept){ text_copy(row->name), text_copy(row->parent),
                                            json_incref(json_object_get(spec, "guarantee")) }));
    json_decref(spec);
    return 0;
}

static int take_node(const void *data, void *arg)
{
    const struct row_node *row = data;
    struct walk *walk = arg;
    json_t *offers, *value;
    const char *resource;
    /* As the engine counts what there is to share. */
    bool counts = row->state == NODE_READY && !row_node_is_closed(row);

    if (row->state == NODE_GONE)
        return 0;
    offers = show_read_object(row->offers);
    json_object_update(walk->out->known, offers);
    json_object_foreach(offers, resource, value) if (counts)
        show_add_amount(walk->out->offered, resource, json_integer_value(value));
    json_decref(offers);
    walk->out->n_nodes += counts;
    return 0;
}

/* What is kept for a queue and those below it: its guarantee, or theirs where that is more. */
static json_t *need_of(const struct walk *walk, const char *name, const json_t *own)
{
    json_t *need = json_object(), *value;
    const char *resource;

    for (size_t i = 0; i < walk->queues.n; i++) {
        json_t *below;

        if (strcmp(walk->queues.at[i].parent, name) != 0)
            continue;
        below = need_of(walk, walk->queues.at[i].name, walk->queues.at[i].guarantee);
        json_object_foreach(below, resource, value)
            show_add_amount(need, resource, json_integer_value(value));
        json_decref(below);
    }
    json_object_foreach((json_t *)own, resource, value)
    {
        const json_t *sum = json_object_get(need, resource);

        if (!sum || json_integer_value(sum) < json_integer_value(value))
            json_object_set(need, resource, value);
    }
    return need;
}

int guarantees_read(struct reader *reader, struct guarantees *out, struct err *err)
{
    struct walk walk = { .out = out };
    int r;

    out->offered = json_object();
    out->known = json_object();
    r = reader_nodes(reader, take_node, &walk, err);
    if (r >= 0)
        r = reader_queues(reader, take_queue, &walk, err);
    out->all = need_of(&walk, "", NULL); /* root's, which has no parent */
    for (size_t i = 0; i < walk.queues.n; i++) {
        mem_free(walk.queues.at[i].name);
        mem_free(walk.queues.at[i].parent);
        json_decref(walk.queues.at[i].guarantee);
    }
    VEC_FINI(&walk.queues);
    return r < 0 ? r : 0;
}

void guarantees_fini(struct guarantees *guarantees)
{
    json_decref(guarantees->all);
    json_decref(guarantees->offered);
    json_decref(guarantees->known);
    *guarantees = (struct guarantees){ 0 };
}

static int64_t amount_of(const json_t *amounts, const char *resource)
{
    return json_integer_value(json_object_get(amounts, resource));
}

bool guarantees_exceed(const struct guarantees *guarantees, const char *resource)
{
    return guarantees->n_nodes &&
           amount_of(guarantees->all, resource) > amount_of(guarantees->offered, resource);
}

void guarantees_show(const struct guarantees *guarantees, const char *resource, json_t *object)
{
    show_amount(object, "guaranteed", resource, amount_of(guarantees->all, resource));
    show_amount(object, "cluster", resource, amount_of(guarantees->offered, resource));
    if (guarantees_exceed(guarantees, resource))
        show_set(object, "exceeded", json_true());
}

/* "cpu: all queues are guaranteed 12, the nodes offer 8: ..." */
static void add_warning(const struct guarantees *guarantees, const char *resource, json_t *list)
{
    CLEANUP(str_fini) struct str text = { 0 };
    json_t *object = json_object();

    str_addf(&text, "%s: the queues are guaranteed ", resource);
    quantity_format(amount_of(guarantees->all, resource), quantity_unit_of(resource), &text);
    str_add(&text, " in all, and the nodes offer ");
    quantity_format(amount_of(guarantees->offered, resource), quantity_unit_of(resource), &text);
    str_add(&text, ": it is kept free for them, and nothing is left for other queues");
    show_text(object, "resource", resource);
    guarantees_show(guarantees, resource, object);
    show_text(object, "detail", str_text(&text));
    json_array_append_new(list, object);
}

static bool has_some(const json_t *amounts)
{
    const char *resource;
    json_t *value;

    json_object_foreach((json_t *)amounts, resource, value)
    {
        if (json_integer_value(value) > 0)
            return true;
    }
    return false;
}

static void add_warnings(const struct guarantees *guarantees, const json_t *own, json_t *shown)
{
    json_t *list = json_array(), *value;
    const char *resource;

    json_object_foreach((json_t *)own, resource, value)
    {
        if (json_integer_value(value) > 0 && guarantees_exceed(guarantees, resource))
            add_warning(guarantees, resource, list);
    }
    if (json_array_size(list))
        show_set(shown, "warnings", list);
    else
        json_decref(list);
}

int guarantees_warn(struct reader *reader, const struct row_queue *row, json_t *shown,
                    struct err *err)
{
    CLEANUP(guarantees_fini) struct guarantees guarantees = { 0 };
    json_t *spec = show_read_object(row->spec);
    const json_t *own = json_object_get(spec, "guarantee");
    int r = 0;

    if (has_some(own)) /* without one, nodes and queues need not be read */
        r = guarantees_read(reader, &guarantees, err);
    if (has_some(own) && r == 0)
        add_warnings(&guarantees, own, shown);
    json_decref(spec);
    return r;
}
