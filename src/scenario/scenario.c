/* Scenarios: see scenario.h. Here: the whole document, its configuration and its times. */
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

#include "api/yaml.h"
#include "base/clock.h"
#include "scenario/config.h"
#include "scenario/inside.h"

static const struct json_key top_keys[] = {
    KEY("name"),           KEY("config"),       KEY("priorityClasses"), KEY("queues"),
    KEY("nodes"),          KEY("jobs"),         KEY("expect"),          KEY("hyperNodes"),
    KEY("resourceQuotas"), KEY("deviceClaims"), KEY("pools"),           KEY("failover"),
    KEY("reservations"),
};

static const struct json_key config_keys[] = {
    KEY("profile"), KEY("policy"),  KEY("actions"), KEY("tiers"), KEY("actionArguments"),
    KEY("cycles"),  KEY("shard"),   KEY("now"),     KEY("seed"),  KEY("step"),
    KEY("memos"),   KEY("plugins"),
};

void scenario_add(struct scenario *s, enum berth_kind kind, const void *object)
{
    VEC_PUSH(&s->deltas, ((struct berth_delta){ .kind = kind, .any = object }));
}

bool known_once(struct map *map, const char *key, void *value, const struct json_at *at)
{
    if (!map_get(map, key)) {
        map_put(map, key, value);
        return true;
    }
    json_refuse(at, PROBLEM_INVALID_FIELD, "\"%.80s\" stands here twice", key);
    return false;
}

struct known_task *known_task_find(const struct scenario *s, const char *job, const char *group)
{
    const char *slash = strchr(job, '/');
    CLEANUP(freep) char *key = NULL;

    if (!slash)
        return NULL;
    key = text_format("%.*s/%s", (int)(slash - job), job, group);
    return map_get(&s->task_by_key, key);
}

/* Four letters of base64 are three bytes; -1 for what is none. */
static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

static bool decode(struct reader *r, const char *text, struct berth_memo *memo)
{
    size_t n = strlen(text), size = 0;
    unsigned char *out = arena_zero(r->arena, n + 1);
    uint32_t bits = 0;

    while (n > 0 && text[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4)
            out[size++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    memo->data = out;
    memo->size = size;
    return n % 4 != 1;
}

static void read_memos(struct scenario *s, struct reader *r, const struct json_at *up)
{
    struct berth_labels texts = { 0 };
    struct json_at object = json_at_member(up, "memos");

    take_labels(r, up, "memos", &texts);
    for (size_t i = 0; i < texts.n; i++) {
        struct berth_memo *memo = ARENA_NEW0(r->arena, struct berth_memo);
        struct json_at at = json_at_member(&object, texts.at[i].key);
        memo->name = texts.at[i].key;
        if (decode(r, texts.at[i].value, memo))
            scenario_add(s, BERTH_MEMO, memo);
        else
            json_refuse(&at, PROBLEM_INVALID_FIELD, "is not base64");
    }
}

static void read_times(struct scenario *s, const struct json_at *at)
{
    struct json_at now = json_at_member(at, "now");
    const char *text;
    int64_t cycles = 1;

    if (json_get_text(at, "now", &text) && clock_parse_wall(text, &s->times.now_ms) < 0)
        json_refuse(&now, PROBLEM_INVALID_FIELD, "\"%.40s\" is not a time of RFC 3339", text);
    take_duration(at, "step", &s->times.step_ms);
    take_u64(at, "seed", &s->times.seed);
    json_get_int(at, "cycles", 1, SCENARIO_CYCLES_MAX, &cycles);
    s->times.cycles = (uint32_t)cycles;
}

static void read_config(struct scenario *s, struct reader *r, const struct json_at *top)
{
    struct json_at at = json_at_member(top, "config");

    s->times.cycles = 1;
    scenario_add(s, BERTH_CONFIG, &s->config.config);
    if (!at.value || !CHECK_KEYS(&at, config_keys))
        return;
    read_times(s, &at);
    r->now_ms = s->times.now_ms;
    config_take(r, &at, &s->config);
    read_memos(s, r, &at);
}

static void read_priority_classes(struct scenario *s, struct reader *r, const struct json_at *top)
{
    struct json_at object = json_at_member(top, "priorityClasses");
    const char *name;
    json_t *value;

    if (!object.value)
        return;
    if (!json_is_object(object.value)) {
        json_refuse(&object, PROBLEM_INVALID_FIELD, "must be an object of whole numbers");
        return;
    }
    json_object_foreach((json_t *)object.value, name, value)
    {
        struct berth_priority_class *class = ARENA_NEW0(r->arena, struct berth_priority_class);
        class->name = name;
        take_i32(&object, name, INT32_MIN, &class->value);
        scenario_add(s, BERTH_PRIORITY_CLASS, class);
    }
}

static bool lists_devices(const json_t *document)
{
    const json_t *nodes = json_object_get(document, "nodes");

    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (json_object_get(json_array_get(nodes, i), "gpus"))
            return true;
    return false;
}

static void read_document(struct scenario *s, struct scenario_files *files)
{
    struct reader r = { .arena = &s->arena, .files = files };
    struct json_at top = json_at_top(s->document, &s->problem);

    if (!CHECK_KEYS(&top, top_keys))
        return;
    take_text(&top, "name", &s->name);
    r.has_devices = lists_devices(s->document);
    s->expect = json_object_get(s->document, "expect");
    read_config(s, &r, &top);
    read_priority_classes(s, &r, &top);
    read_queues(s, &r, &top);
    read_pools(s, &r, &top);
    read_nodes(s, &r, &top);
    read_domains(s, &r, &top);
    read_quotas(s, &r, &top);
    read_jobs(s, &r, &top);
    read_reservations(s, &r, &top);
    read_expect(s, &top);
}

struct scenario *scenario_read_with(const char *text, size_t n, struct scenario_files *files)
{
    struct scenario *s = NEW0(struct scenario);
    size_t i = 0;
    bool is_json;
    int r;

    s->name = "";
    while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    is_json = i < n && text[i] == '{';
    r = is_json ? json_read(text, n, SCENARIO_MAX_BYTES, &s->document, &s->problem)
                : yaml_read(text, n, SCENARIO_MAX_BYTES, &s->document, &s->problem);
    if (r < 0 && !s->document)
        return s;
    read_document(s, files);
    if (is_json)
        json_locate(text, n, &s->problem);
    else
        yaml_locate(text, n, &s->problem);
    return s;
}

struct scenario *scenario_read(const char *text, size_t n)
{
    return scenario_read_with(text, n, NULL);
}

void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    VEC_FINI(&s->deltas);
    VEC_FINI(&s->nodes);
    VEC_FINI(&s->jobs);
    VEC_FINI(&s->domains);
    VEC_FINI(&s->reservations);
    map_fini(&s->node_by_name);
    map_fini(&s->job_by_id);
    map_fini(&s->task_by_key);
    map_fini(&s->queue_by_name);
    map_fini(&s->pool_by_name);
    json_decref(s->document);
    arena_fini(&s->arena);
    mem_free(s);
}

void scenario_freep(struct scenario **s)
{
    scenario_free(*s);
    *s = NULL;
}

const struct problem *scenario_problem(const struct scenario *s)
{
    return &s->problem;
}

const char *scenario_name(const struct scenario *s)
{
    return s->name;
}

const struct berth_delta *scenario_deltas(const struct scenario *s, size_t *n)
{
    *n = s->problem.code ? 0 : s->deltas.n;
    return s->deltas.at;
}

struct scenario_times scenario_times(const struct scenario *s)
{
    return s->times;
}
