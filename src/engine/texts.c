/*
 * Texts: a reason in the words of the batch scheduler that profile volcano stands for, so that who
 * reads its messages by program finds them again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "berth/engine.h"

/* What a node is said to fail; NULL: the code's own sentence. */
static const char *node_text(enum wait_code code)
{
    static const struct {
        enum wait_code code;
        const char *text;
    } texts[] = {
        { WAIT_NODE_CORDONED, "node(s) were unschedulable" },
        { WAIT_SHARD, "node isn't in scheduler node shard" },
        { WAIT_LABEL_MISMATCH, "node(s) didn't match Pod's node affinity/selector" },
        { WAIT_TAINT_NOT_TOLERATED, "node(s) had untolerated taint(s)" },
        { WAIT_AFFINITY, "node(s) didn't match pod affinity/anti-affinity rules" },
        { WAIT_PORT_TAKEN, "node(s) didn't have free ports for the requested pod ports" },
        { WAIT_INSUFFICIENT_SLOTS, "node(s) pod number exceeded" },
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].code == code)
            return texts[i].text;
    return NULL;
}

static char *entry_of(const struct berth_node_count *count)
{
    const char *text = node_text(count->code);
    size_t length;

    if (!text && count->resource)
        return text_format("%" PRIu32 " Insufficient %s", count->n, count->resource);
    text = text ? text : wait_codes[count->code].sentence;
    length = strlen(text);
    while (length && text[length - 1] == '.')
        length--;
    return text_format("%" PRIu32 " %.*s", count->n, (int)length, text);
}

void berth_reason_text(const struct berth_reason *reason, struct str *out)
{
    char **entries = NEW0_N(char *, reason->n_counts + 1);
    uint64_t n_nodes = 0;
    size_t n = 0;

    for (size_t i = 0; i < reason->n_counts; i++) {
        if (!reason->counts[i].code)
            continue; /* there it would fit */
        entries[n++] = entry_of(&reason->counts[i]);
        n_nodes += reason->counts[i].n;
    }
    qsort(entries, n, sizeof(*entries), text_cmp);
    str_addf(out, "0/%" PRIu64 " nodes are unavailable", n_nodes);
    for (size_t i = 0; i < n; i++)
        str_addf(out, "%s%s", i ? ", " : ": ", entries[i]);
    str_add_char(out, '.');
    for (size_t i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
}
