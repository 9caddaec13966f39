/* Stored: see stored.h. */
#include "agent/stored.h"

#include <errno.h>
#include <string.h>

#include "agent/order.h"
#include "base/str.h"

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
