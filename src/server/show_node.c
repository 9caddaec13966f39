/* A node as the API shows it: docs/api.md, "Nodes". */
#include "server/nodes.h"
#include "server/show.h"

/* The first that holds: lost, unreachable, leaving, draining, cordoned, disabled, the state. */
static const char *shown_state(const struct row_node *row)
{
    bool is_up = row->state == NODE_READY || row->state == NODE_COMING;

    if (is_up && row->is_draining)
        return "draining";
    if (is_up && row->is_cordoned)
        return "cordoned";
    if (is_up && *row->disabled)
        return "disabled";
    return node_state_words[row->state];
}

static json_t *show_cordon(const struct row_node *row)
{
    json_t *object = json_object();

    show_text(object, "by", row->cordoned_by);
    show_text(object, "reason", row->cordon_reason);
    show_time(object, "since", row->cordoned_at);
    return object;
}

static json_t *show_disabled(const struct row_node *row)
{
    json_t *object = json_object();

    show_text(object, "reason", row->disabled);
    show_time(object, "since", row->disabled_at);
    return object;
}

static json_t *show_free(const json_t *offers, const json_t *used)
{
    json_t *left = json_object(), *out;
    const char *resource;
    json_t *value;

    json_object_foreach((json_t *)offers, resource, value)
    {
        int64_t free_now =
            json_integer_value(value) - json_integer_value(json_object_get(used, resource));

        /* A node may have shrunk below its use. */
        show_number(left, resource, free_now > 0 ? free_now : 0);
    }
    out = show_amounts(left);
    json_decref(left);
    return out;
}

void show_node_use(json_t *node, const struct row_node *row, const json_t *used, size_t n_attempts,
                   bool is_connected)
{
    json_t *offers = show_read_object(row->offers);

    show_set(node, "connected", json_boolean(is_connected));
    show_set(node, "used", show_amounts(used));
    show_set(node, "free", show_free(offers, used));
    show_number(node, "attempts", (int64_t)n_attempts);
    json_decref(offers);
}

/* A beat is written down more often than its node. */
static int64_t heard_at(const struct row_node *row, const struct row_beat *beat)
{
    bool is_later = beat->generation == row->generation && beat->heard_at > row->heard_at;

    return is_later ? beat->heard_at : row->heard_at;
}

void show_node_heard(json_t *node, const struct row_node *row, const struct row_beat *beat)
{
    show_time(node, "heardAt", heard_at(row, beat));
}

int64_t show_silent_since(struct nodes *nodes, struct reader *reader, const char *node)
{
    struct row_node *row = NULL;
    struct row_beat *beat = NULL;
    struct err err = { 0 };
    int64_t at = 0;

    if (!nodes_is_silent(nodes, node))
        return 0;
    if (reader_node(reader, node, &row, &err) == 0)
        at = reader_beat(reader, node, &beat, &err) == 0 ? heard_at(row, beat) : row->heard_at;
    row_free(ROW_BEAT, beat);
    row_free(ROW_NODE, row);
    return at;
}

json_t *show_node(const struct row_node *row)
{
    json_t *object = json_object(), *offers = show_read_object(row->offers);

    show_text(object, "name", row->name);
    show_text(object, "state", shown_state(row));
    show_text(object, "condition", node_state_words[row->state]);
    if (row->is_cordoned)
        show_set(object, "cordon", show_cordon(row));
    if (*row->disabled)
        show_set(object, "disabled", show_disabled(row));
    show_set(object, "draining", json_boolean(row->is_draining));
    show_number(object, "generation", (int64_t)row->generation);
    show_set(object, "offers", show_amounts(offers));
    show_json(object, "labels", row->labels);
    show_json(object, "setLabels", row->set_labels);
    show_json(object, "taints", row->taints);
    show_json(object, "imagePrefixes", row->images);
    show_json(object, "info", row->info);
    show_text(object, "address", row->address);
    show_text(object, "bootId", row->boot_id);
    show_text(object, "identity", row->identity);
    show_duration(object, "ttl", row->ttl_ms);
    show_time(object, "firstRegisteredAt", row->first_at ? row->first_at : row->registered_at);
    show_time(object, "registeredAt", row->registered_at);
    show_time(object, "heardAt", row->heard_at);
    show_number(object, "revision", (int64_t)row->rev);
    json_decref(offers);
    return object;
}
