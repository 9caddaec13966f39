/*
 * An event as the API shows it: docs/api.md, "Events". Its object is made from the row by what
 * shows it in lists, so that an object reads the same wherever it comes from.
 */
#include "server/show.h"

#include <string.h>

#include "base/name.h"

uint64_t show_event_job(const char *subject)
{
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    return name_parse(subject, &parts, &err) == 0 ? parts.job : 0;
}

/* The subject has the group's name; the row only its place. */
static void read_group(const char *subject, char out[NAME_MAX_BYTES + 1])
{
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    out[0] = '\0';
    if (name_parse(subject, &parts, &err) == 0)
        snprintf(out, NAME_MAX_BYTES + 1, "%s", parts.group);
}

/* A task that ended without an attempt. */
static json_t *show_ended_task(const struct row_task *row, const char *subject, const char *group)
{
    json_t *object = json_object();

    show_text(object, "name", subject);
    show_text(object, "group", group);
    show_number(object, "index", row->idx);
    show_text(object, "state", task_state_words[row->state]);
    if (row->code)
        show_text(object, "reason", wait_codes[row->code].word);
    show_number(object, "revision", (int64_t)row->rev);
    return object;
}

static json_t *show_lease(const struct row_lease *row)
{
    json_t *object = json_object();

    show_text(object, "name", row->name);
    show_text(object, "holder", row->holder);
    show_number(object, "fence", (int64_t)row->fence);
    show_duration(object, "ttl", row->ttl_ms);
    return object;
}

static json_t *show_memo(const struct row_memo *row)
{
    json_t *object = json_object();

    show_text(object, "name", row->name);
    show_text(object, "value", row->value);
    show_number(object, "revision", (int64_t)row->rev);
    return object;
}

static json_t *show_quota(const struct row_quota *row)
{
    json_t *object = json_object(), *hard = json_loads(row->hard, 0, NULL);

    show_text(object, "namespace", row->ns);
    show_text(object, "name", row->name);
    show_set(object, "hard", show_amounts(hard));
    show_number(object, "revision", (int64_t)row->rev);
    json_decref(hard);
    return object;
}

static json_t *show_row(enum row_kind kind, const void *row, const char *subject)
{
    char group[NAME_MAX_BYTES + 1];

    switch (kind) {
    case ROW_JOB:
        return show_job(row, NULL, NULL);
    case ROW_TASK:
        read_group(subject, group);
        return show_ended_task(row, subject, group);
    case ROW_ATTEMPT:
        read_group(subject, group);
        return show_attempt(row, group);
    case ROW_NODE:
        return show_node(row);
    case ROW_QUEUE:
        return show_queue(row);
    case ROW_TOKEN:
        return show_token(row);
    case ROW_LEASE:
        return show_lease(row);
    case ROW_MEMO:
        return show_memo(row);
    case ROW_RESERVATION:
        return show_reservation(row);
    case ROW_PART:
        read_group(subject, group);
        return show_room(row, group);
    case ROW_ORDER:
        return show_order(row);
    case ROW_QUOTA:
        return show_quota(row);
    case ROW_META:
    case ROW_BEAT:
    case ROW_IDEM:
    case ROW_EVENT:
    case ROW_KIND_COUNT:
        break;
    }
    return json_object(); /* such rows have no events */
}

json_t *show_event(const struct batch_event *event)
{
    json_t *object = json_object();
    uint64_t job = show_event_job(event->subject);
    char id[NAME_ATTEMPT_SIZE];

    show_number(object, "revision", (int64_t)event->rev);
    show_time(object, "time", event->at);
    show_text(object, "type", event->type);
    show_text(object, "subject", event->subject);
    if (job) {
        name_job(job, id);
        show_text(object, "job", id);
    }
    show_text(object, "by", event->by);
    show_set(object, "object",
             event->row.any ? show_row(event->kind, event->row.any, event->subject)
                            : json_object());
    return object;
}

json_t *show_logged_event(const struct row_event *row)
{
    struct batch_event event = { .rev = row->rev,
                                 .at = row->at,
                                 .type = row->type,
                                 .subject = row->subject,
                                 .by = row->by,
                                 .body = row->body,
                                 .kind = (enum row_kind)row->row_kind };
    struct err err = { 0 };
    void *body = NULL;
    json_t *object;

    /* What an older program wrote may have columns that are not known here: shown without. */
    if (row_from_json(event.kind, row->body, strlen(row->body), &body, &err) == 0)
        event.row.any = body;
    object = show_event(&event);
    if (body)
        row_free(event.kind, body);
    return object;
}
