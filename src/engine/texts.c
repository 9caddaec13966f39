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

/* Joins entries, sorted as text, and frees them. */
static void add_sorted(char **entries, size_t n, struct str *out)
{
    qsort(entries, n, sizeof(*entries), text_cmp);
    for (size_t i = 0; i < n; i++) {
        str_addf(out, "%s%s", i ? ", " : "", entries[i]);
        free(entries[i]);
    }
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
    str_addf(out, "0/%" PRIu64 " nodes are unavailable%s", n_nodes, n ? ": " : "");
    add_sorted(entries, n, out);
    str_add_char(out, '.');
    free(entries);
}

/* --- A job */

static const char *const state_words[BERTH_TASK_STATE_COUNT] = {
    [BERTH_TASK_PENDING] = "Pending",     [BERTH_TASK_ALLOCATED] = "Allocated",
    [BERTH_TASK_PIPELINED] = "Pipelined", [BERTH_TASK_BINDING] = "Binding",
    [BERTH_TASK_BOUND] = "Bound",         [BERTH_TASK_RUNNING] = "Running",
    [BERTH_TASK_RELEASING] = "Releasing", [BERTH_TASK_SUCCEEDED] = "Succeeded",
    [BERTH_TASK_FAILED] = "Failed",       [BERTH_TASK_CANCELLED] = "Cancelled",
    [BERTH_TASK_UNKNOWN] = "Unknown",
};

static void add_states(const struct berth_job_message *m, struct str *out)
{
    char *entries[BERTH_TASK_STATE_COUNT + 1];
    size_t n = 0;

    for (size_t i = 0; i < BERTH_TASK_STATE_COUNT; i++)
        if (m->n[i])
            entries[n++] = text_format("%" PRIu32 " %s", m->n[i], state_words[i]);
    entries[n++] = text_format("%" PRIu32 " minAvailable", m->min_available);
    add_sorted(entries, n, out);
}

static void add_pending(const struct berth_job_message *m, struct str *out)
{
    uint32_t pending = m->n[BERTH_TASK_PENDING];
    uint32_t placed = m->n_schedulable < pending ? m->n_schedulable : pending;
    char *entries[2];
    size_t n = 0;

    if (!pending)
        return;
    if (placed)
        entries[n++] = text_format("%" PRIu32 " Schedulable", placed);
    if (pending > placed)
        entries[n++] = text_format("%" PRIu32 " Unschedulable", pending - placed);
    str_add(out, "; Pending: ");
    add_sorted(entries, n, out);
}

/* Why the job as such waits; what is not told by node. */
static void add_job_error(const struct berth_reason *reason, struct str *out)
{
    const char *resource = reason->resource ? reason->resource : "resources";

    if (reason->code == WAIT_NOT_ADMITTED && reason->blocker)
        str_addf(out, "queue resource quota insufficient: insufficient %s", resource);
    else if (reason->code == WAIT_NOT_ADMITTED)
        str_addf(out, "resource in cluster is overused: overused %s", resource);
    else
        str_add(out, wait_codes[reason->code].sentence);
}

void berth_job_text(const struct berth_job_message *m, struct str *out)
{
    str_addf(out, "pod group is %sready, ", m->is_ready ? "" : "not ");
    add_states(m, out);
    add_pending(m, out);
    if (!m->reason)
        return;
    if (m->reason->n_counts && m->task) {
        str_addf(out, ". Origin reason is %s: ", m->task);
        berth_reason_text(m->reason, out);
    } else if (!m->reason->n_counts) {
        str_add(out, ". Origin reason is: ");
        add_job_error(m->reason, out);
    }
}
