/* Held room as the API shows it: docs/api.md, "Held room". */
#include "server/show.h"

#include "base/name.h"

json_t *show_reservation(const struct row_reservation *row)
{
    json_t *object = json_object();
    char name[NAME_ATTEMPT_SIZE];

    name_job(row->job, name);
    show_text(object, "job", name);
    show_number(object, "id", (int64_t)row->id);
    show_text(object, "purpose", purpose_words[row->purpose]);
    show_text(object, "state", reservation_state_words[row->state]);
    show_text(object, "why", release_words[row->why]);
    show_text(object, "reason", row->reason);
    show_text(object, "decision", row->decision);
    show_json(object, "victims", row->victims);
    show_time(object, "until", row->until);
    show_time(object, "madeAt", row->made_at);
    show_time(object, "endedAt", row->ended_at);
    if (row->taken_by) {
        name_job(row->taken_by, name);
        show_text(object, "takenBy", name);
    }
    show_number(object, "revision", (int64_t)row->rev);
    return object;
}

json_t *show_room(const struct row_part *row, const char *group)
{
    json_t *object = json_object(), *waits = row->waits[0] ? json_loads(row->waits, 0, NULL) : NULL;
    char name[NAME_ATTEMPT_SIZE];

    name_task(row->job, group, (uint32_t)row->idx, name);
    show_text(object, "task", name);
    show_number(object, "reservation", (int64_t)row->reservation);
    show_text(object, "node", row->node);
    show_text(object, "state", reservation_state_words[row->state]);
    show_text(object, "why", release_words[row->why]);
    show_number(object, "waitsFor", (int64_t)json_array_size(waits));
    show_number(object, "revision", (int64_t)row->rev);
    json_decref(waits);
    return object;
}

json_t *show_order(const struct row_order *row)
{
    json_t *object = json_object(), *shape = show_read_object(row->shape);
    char name[NAME_ATTEMPT_SIZE];

    show_text(object, "key", row->key);
    show_text(object, "pool", row->pool);
    show_set(object, "shape", show_amounts(shape));
    if (row->job) {
        name_job(row->job, name);
        show_text(object, "job", name);
    }
    show_text(object, "state", order_state_words[row->state]);
    show_text(object, "provider", row->provider);
    show_text(object, "reason", row->reason);
    show_time(object, "madeAt", row->made_at);
    show_time(object, "endedAt", row->ended_at);
    show_number(object, "revision", (int64_t)row->rev);
    json_decref(shape);
    return object;
}
