/* Stored: see stored.h. */
#include "agent/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/order.h"
#include "base/str.h"

void stored_end_write(const struct stored_end *end, char out[STORED_END_SIZE])
{
    const char *detail = end->detail ? detail_words[end->detail] : "-";

    snprintf(out, STORED_END_SIZE, "%s %s %d %d %" PRId64 " %" PRId64 " %s",
             cause_words[end->cause], detail, end->code, end->signal, end->started_ms,
             end->ended_ms, end->given_by);
}

void stored_end_read(const char *text, struct stored_end *out)
{
    struct stored_end end = { 0 };
    char cause[32], detail[32];
    int found;

    *out = end;
    if (sscanf(text, "%31s %31s %d %d %" SCNd64 " %" SCNd64 " %79s", cause, detail, &end.code,
               &end.signal, &end.started_ms, &end.ended_ms, end.given_by) != 7)
        return;
    found = states_find(cause, cause_words, CAUSE_COUNT);
    if (found <= CAUSE_NONE)
        return;
    end.cause = (enum cause)found;
    found = states_find(detail, detail_words, DETAIL_COUNT);
    end.detail = found < 0 ? DETAIL_NONE : (enum detail)found;
    *out = end;
}

static void read_notes(const char *text, struct notes *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        CLEANUP(freep) char *line = text_format("%.*s", (int)n, text);
        int cause;

        if (text_eq(line, "starting=1"))
            out->was_called = true;
        else if (text_eq(line, "orphan=1"))
            out->is_orphan = true;
        else if (text_eq(line, "orphan=0")) /* it was claimed since */
            out->is_orphan = false;
        else if (text_begins(line, "given="))
            snprintf(out->given_by, sizeof(out->given_by), "%s", line + strlen("given="));
        else if (text_begins(line, "end="))
            stored_end_read(line + strlen("end="), &out->end);
        else if (text_begins(line, "seen="))
            /* One cut off is smaller, and says less. */
            text_to_pair(line + strlen("seen="), out->seen_opening, sizeof(out->seen_opening),
                         &out->seen_revision);
        else if (text_begins(line, "stop=")) {
            cause = states_find(line + strlen("stop="), cause_words, CAUSE_COUNT);
            out->stop = cause < 0 ? out->stop : (enum cause)cause; /* one cut off says nothing */
        }
        text += n + (text[n] == '\n');
    }
}

json_t *stored_read(const char *text, const char *id, struct notes *notes, struct err *err)
{
    const char *end = strchr(text, '\n'); /* missing: it was not stored whole */
    json_t *line = end ? json_loadb(text, (size_t)(end - text), 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(line, "attempt"));
    char expected[ORDER_ID_SIZE];

    if (end)
        read_notes(end + 1, notes);
    if (name && order_id(name, expected, err) == 0 && text_eq(expected, id))
        return line;
    if (!err->code)
        err_set(err, -EINVAL, "spec is not the start of %s", id);
    json_decref(line);
    return NULL;
}
