/*
 * What a document expects: every key, word and name is held against the document, so that an
 * expectation with a slip of the pen cannot pass by meaning nothing.
 */
#include <string.h>

#include "scenario/inside.h"

typedef void check_fn(struct scenario *s, const struct json_at *at);

static void refuse_type(const struct json_at *at, const char *wanted)
{
    json_refuse(at, PROBLEM_INVALID_FIELD, "must be %s, not %s", wanted, json_type_word(at->value));
}

static void refuse_unlisted(const struct json_at *at, const char *what, const char *name)
{
    json_refuse(at, PROBLEM_INVALID_FIELD, "no %s \"%.80s\" is listed", what, name);
}

static bool is_text(const struct json_at *at)
{
    if (json_is_string(at->value))
        return true;
    refuse_type(at, "text");
    return false;
}

static void check_in(const struct map *map, const char *what, const struct json_at *at)
{
    if (is_text(at) && !map_get(map, json_string_value(at->value)))
        refuse_unlisted(at, what, json_string_value(at->value));
}

static void check_task(struct scenario *s, const struct json_at *at)
{
    check_in(&s->task_by_key, "task", at);
}

static void check_node(struct scenario *s, const struct json_at *at)
{
    check_in(&s->node_by_name, "node", at);
}

static void check_count(struct scenario *s, const struct json_at *at)
{
    (void)s;
    if (!json_is_integer(at->value) || json_integer_value(at->value) < 0)
        refuse_type(at, "a whole number that is not negative");
}

static void check_number(struct scenario *s, const struct json_at *at)
{
    (void)s;
    if (!json_is_number(at->value))
        refuse_type(at, "a number");
}

static void check_bool(struct scenario *s, const struct json_at *at)
{
    (void)s;
    if (!json_is_boolean(at->value))
        refuse_type(at, "true or false");
}

static void check_text(struct scenario *s, const struct json_at *at)
{
    (void)s;
    is_text(at);
}

static void check_phase(struct scenario *s, const struct json_at *at)
{
    static const char *const words[] = { "pending", "inqueue", "running", "unknown", "completed" };
    int unused;

    (void)s;
    json_get_word(at->up, at->key, words, COUNT_OF(words), &unused);
}

/* A code's word, or the same in small letters with blanks, as some schedulers print it. */
static void check_code_word(const struct json_at *at, const char *text)
{
    CLEANUP(freep) char *word = text_copy(text);

    for (char *c = word; *c; c++)
        *c = *c == ' ' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    if (wait_code_find(word) < 0)
        json_refuse(at, PROBLEM_INVALID_FIELD, "\"%.60s\" is no reason to wait", text);
}

static void check_code(struct scenario *s, const struct json_at *at)
{
    (void)s;
    if (is_text(at))
        check_code_word(at, json_string_value(at->value));
}

static void check_amount(struct scenario *s, const struct json_at *at)
{
    int64_t unused;

    (void)s;
    json_quantity(at, share_unit_of(at->key), &unused);
}

static void check_reason(struct scenario *s, const struct json_at *at)
{
    static const struct json_key keys[] = { KEY("code"), KEY("resource") };
    struct json_at code = json_at_member(at, "code"), resource = json_at_member(at, "resource");

    if (json_is_string(at->value)) {
        check_code(s, at);
        return;
    }
    if (!CHECK_KEYS(at, keys))
        return;
    if (code.value)
        check_code(s, &code);
    else
        json_refuse(at, PROBLEM_INVALID_FIELD, "a code is needed");
    if (resource.value)
        is_text(&resource);
}

/* Each value of an object; keys must be in the map, where there is one. */
static void check_each(struct scenario *s, const struct json_at *at, const struct map *keys,
                       const char *what, check_fn *check)
{
    const char *name;
    json_t *value;

    if (!json_is_object(at->value)) {
        refuse_type(at, "an object");
        return;
    }
    json_object_foreach((json_t *)at->value, name, value)
    {
        struct json_at member = json_at_member(at, name);
        if (keys && !map_get(keys, name))
            refuse_unlisted(&member, what, name);
        else
            check(s, &member);
    }
}

static void check_items(struct scenario *s, const struct json_at *at, check_fn *check)
{
    if (!json_is_array(at->value)) {
        refuse_type(at, "a list");
        return;
    }
    for (size_t i = 0; i < json_array_size(at->value); i++) {
        struct json_at item = json_at_item(at, i);
        check(s, &item);
    }
}

static void check_task_nodes(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_node);
}
static void check_nodes(struct scenario *s, const struct json_at *at)
{
    check_items(s, at, check_node);
}
static void check_any_of(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_nodes);
}
static void check_tasks(struct scenario *s, const struct json_at *at)
{
    check_items(s, at, check_task);
}
static void check_counts(struct scenario *s, const struct json_at *at)
{
    check_items(s, at, check_count);
}
static void check_task_texts(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_text);
}
static void check_job_texts(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->job_by_id, "job", check_text);
}
static void check_texts(struct scenario *s, const struct json_at *at)
{
    check_items(s, at, check_text);
}
static void check_codes(struct scenario *s, const struct json_at *at)
{
    check_items(s, at, check_code);
}
static void check_job_phases(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->job_by_id, "job", check_phase);
}
static void check_job_counts(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->job_by_id, "job", check_count);
}
static void check_task_codes(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_codes);
}
static void check_task_reasons(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_reason);
}
static void check_node_bools(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->node_by_name, "node", check_bool);
}
static void check_feasible(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_node_bools);
}
static void check_node_numbers(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->node_by_name, "node", check_number);
}
static void check_scores(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_node_numbers);
}
static void check_amounts(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, NULL, NULL, check_amount);
}
static void check_queue_amounts(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->queue_by_name, "queue", check_amounts);
}
static void check_cores(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->node_by_name, "node", check_counts);
}

static void check_gpus(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_counts);
}

static void check_code_counts(struct scenario *s, const struct json_at *at)
{
    const char *code;
    json_t *value;

    check_each(s, at, NULL, NULL, check_count);
    if (json_is_object(at->value))
        json_object_foreach((json_t *)at->value, code, value)
        {
            struct json_at member = json_at_member(at, code);
            check_code_word(&member, code);
        }
}

static void check_node_reasons(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->task_by_key, "task", check_code_counts);
}

static void check_states(struct scenario *s, const struct json_at *at)
{
    static const struct json_key keys[] = { KEY("pending"), KEY("running"), KEY("ended") };

    if (CHECK_KEYS(at, keys))
        check_each(s, at, NULL, NULL, check_count);
}

static void check_queue_jobs(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->queue_by_name, "queue", check_states);
}

static void check_machines(struct scenario *s, const struct json_at *at)
{
    if (json_is_array(at->value))
        check_items(s, at, check_amounts);
    else
        check_count(s, at);
}

static void check_provision(struct scenario *s, const struct json_at *at)
{
    check_each(s, at, &s->pool_by_name, "pool", check_machines);
}

static const struct {
    struct json_key key;
    check_fn *check;
} table[] = {
    { KEY("bind"), check_task_nodes },
    { KEY("bindAnyOf"), check_any_of },
    { KEY("bindCount"), check_count },
    { KEY("notBound"), check_tasks },
    { KEY("evict"), check_tasks },
    { KEY("evictCount"), check_count },
    { KEY("pipelined"), check_task_nodes },
    { KEY("jobPhase"), check_job_phases },
    { KEY("reasons"), check_task_codes },
    { KEY("messages"), check_task_texts },
    { KEY("jobMessages"), check_job_texts },
    { KEY("jobBindCount"), check_job_counts },
    { KEY("bindCountByHyperNode"), check_counts },
    { KEY("feasible"), check_feasible },
    { KEY("nodeScores"), check_scores },
    { KEY("nodeReasons"), check_node_reasons },
    { KEY("deserved"), check_queue_amounts },
    { KEY("fairShare"), check_queue_amounts },
    { KEY("demand"), check_queue_amounts },
    { KEY("queueJobs"), check_queue_jobs },
    { KEY("cores"), check_cores },
    { KEY("gpus"), check_gpus },
    { KEY("gpuUse"), check_cores },
    { KEY("refused"), check_text },
    { KEY("mayRefuse"), check_texts },
    { KEY("reserve"), check_task_nodes },
    { KEY("provision"), check_provision },
    { KEY("waits"), check_task_reasons },
    { KEY("fails"), check_task_reasons },
    { KEY("digest"), check_text },
};

void read_expect(struct scenario *s, const struct json_at *top)
{
    struct json_key keys[COUNT_OF(table)];
    struct json_at at = json_at_member(top, "expect");

    for (size_t i = 0; i < COUNT_OF(table); i++)
        keys[i] = table[i].key;
    if (!at.value || !CHECK_KEYS(&at, keys))
        return;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct json_at member = json_at_member(&at, table[i].key.name);
        if (member.value)
            table[i].check(s, &member);
    }
}
