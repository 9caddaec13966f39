/* Nodes, the lines of a stream, as docs/design/agent-protocol.md has them. */
#include <inttypes.h>
#include <jansson.h>

#include "server/nodes_inside.h"

static char *line_of(const struct nodes *nodes, json_t *line)
{
    char *text;

    json_object_set_new(line, "opening", json_string(nodes->opening));
    json_object_set_new(line, "revision", json_integer((json_int_t)nodes->fleet.revision));
    text = json_dumps(line, JSON_COMPACT);

    json_decref(line);
    return text;
}

static json_t *texts_of(const struct texts *texts)
{
    json_t *list = json_array();

    for (size_t i = 0; i < texts->n; i++)
        json_array_append_new(list, json_string(texts->at[i]));
    return list;
}

static json_t *amounts_of(const struct amounts *amounts)
{
    json_t *object = json_object();

    for (size_t i = 0; i < amounts->n; i++)
        json_object_set_new(object, amounts->at[i].resource, json_integer(amounts->at[i].value));
    return object;
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_sprintf("%" PRIu64, value));
}

/* The job's, then Berth's, which win. */
static json_t *env_of(const struct fleet_attempt *attempt, const struct job_group *group)
{
    json_t *env = json_object();
    char name[NAME_ATTEMPT_SIZE];

    for (size_t i = 0; i < group->env.n; i++)
        json_object_set_new(env, group->env.at[i].key, json_string(group->env.at[i].value));
    name_job(attempt->key.job, name);
    json_object_set_new(env, "BERTH_JOB_ID", json_string(name));
    name_task(attempt->key.job, group->name, attempt->key.index, name);
    json_object_set_new(env, "BERTH_TASK", json_string(name));
    set_number(env, "BERTH_INDEX", attempt->key.index);
    set_number(env, "BERTH_COUNT", group->replicas);
    set_number(env, "BERTH_ATTEMPT", attempt->key.number);
    set_number(env, "BERTH_FENCE", attempt->key.number);
    json_object_set_new(env, "BERTH_NODE", json_string(attempt->worker->name));
    return env;
}

static json_t *spec_of(const struct fleet_attempt *attempt, const struct job_spec *spec)
{
    const struct job_group *group = &spec->groups[attempt->key.group];
    char job[NAME_ATTEMPT_SIZE];

    name_job(attempt->key.job, job);
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:o,s:o,s:o,s:s,s:s,s:s,s:s,s:o,s:I,s:I,s:s}", /* */
        "job", job, "jobName", spec->name, "namespace", spec->ns, "group", group->name, "index",
        (json_int_t)attempt->key.index, "count", (json_int_t)group->replicas, "number",
        (json_int_t)attempt->key.number, "image", group->image, "command",
        texts_of(&group->command), "args", texts_of(&group->args), "env", env_of(attempt, group),
        "workDir", group->work_dir, "user", group->user, "runtime", group->runtime, "network",
        group->network == JOB_NETWORK_NONE ? "none" : "host", "resources",
        amounts_of(&group->holds), "limitMs", (json_int_t)spec->limit_ms, "graceMs",
        (json_int_t)spec->grace_ms, "onDisconnect",
        spec->on_disconnect == ON_DISCONNECT_KEEP ? "keep" : "stop");
}

char *line_start(const struct nodes *nodes, struct fleet_attempt *attempt)
{
    const struct job_spec *spec = fleet_spec(attempt->job);
    json_t *line;

    if (!spec)
        return NULL;
    line = json_pack("{s:s,s:s,s:o}", "do", "start", "attempt", attempt->name, "spec",
                     spec_of(attempt, spec));
    return line ? line_of(nodes, line) : NULL;
}

char *line_stop(const struct nodes *nodes, const struct fleet_attempt *attempt)
{
    return line_of(nodes, json_pack("{s:s,s:s,s:s,s:I}", "do", "stop", "attempt", attempt->name,
                                    "cause", cause_words[attempt->cause], "graceMs",
                                    (json_int_t)attempt->grace_ms));
}

char *line_limit(const struct nodes *nodes, const struct fleet_attempt *attempt, int64_t limit_ms)
{
    return line_of(nodes, json_pack("{s:s,s:s,s:I}", "do", "limit", "attempt", attempt->name,
                                    "limitMs", (json_int_t)limit_ms));
}

char *line_drop(const struct nodes *nodes, const char *attempt)
{
    return line_of(nodes, json_pack("{s:s,s:s}", "do", "drop", "attempt", attempt));
}

char *line_bookmark(const struct nodes *nodes)
{
    return line_of(nodes, json_pack("{s:s}", "do", "bookmark"));
}
