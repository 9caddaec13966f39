/* What is left: limits, version, health. */
#include <string.h>

#include "base/states.h"
#include "server/call.h"
#include "server/log_lines.h"
#include "server/routes.h"
#include "server/show.h"
#include "server/version.h"

void on_limits(struct call *call)
{
    static const struct {
        const char *name;
        int64_t value;
    } limits[] = {
        { "bodyBytes", JOB_BODY_MAX_BYTES },
        { "headBytes", 16 << 10 },
        { "tasksPerJob", JOB_TASKS_MAX },
        { "groupsPerJob", JOB_GROUPS_MAX },
        { "labelsBytes", JOB_LABELS_MAX_BYTES },
        { "envBytes", JOB_ENV_MAX_BYTES },
        { "affinityBytes", JOB_AFFINITY_MAX_BYTES },
        { "argsBytes", JOB_ARGS_MAX_BYTES },
        { "priorityMin", JOB_PRIORITY_MIN },
        { "priorityMax", JOB_PRIORITY_MAX },
        { "graceMs", JOB_GRACE_MAX_MS },
        { "durationMs", JOB_DURATION_MAX_MS },
        { "retries", JOB_RETRIES_MAX },
        { "queuesAbove", QUEUE_DEPTH_MAX },
        { "listItems", READER_ROWS_MAX },
        { "logTailLines", LOG_TAIL_MAX },
        { "idempotencyKeyBytes", 128 },
        { "requestIdBytes", CALL_ID_SIZE - 1 },
    };

    call->answer = json_object();
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        show_number(call->answer, limits[i].name, limits[i].value);
    call_end(call);
}

void on_version(struct call *call)
{
    json_t *api = json_array();

    json_array_append_new(api, json_string("v1"));
    call->answer = json_object();
    show_text(call->answer, "version", server_version);
    show_set(call->answer, "api", api);
    show_text(call->answer, "profile", server_profile(call->server));
    show_text(call->answer, "incarnation", ledger_incarnation(call->server->ledger));
    call_end(call);
}

static void end_text(struct call *call, int status, const char *text)
{
    CLEANUP(freep) char *line = text_format("%s\n", text);

    call_end_bytes(call, status, "text/plain", line, strlen(line));
}

void on_health(struct call *call)
{
    end_text(call, 200, "ok");
}

void on_ready(struct call *call)
{
    char why[240];

    if (watch_revision(call->server->watch) == 0)
        call_refuse(call, PROBLEM_STARTING, "the ledger is not followed yet");
    else if (!ledger_is_writable(call->server->ledger, why))
        call_refuse(call, PROBLEM_STORE_UNAVAILABLE, "%s", why);
    else
        end_text(call, 200, "ok");
}
