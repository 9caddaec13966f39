/*
 * What agents send. The first byte says which kind. Any body is read into an
 * operation, or refused with faults that can be written; what is kept as JSON of it is JSON.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "server/nodes_talk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void say_faults(const struct problem *problem)
{
    CLEANUP(str_fini) struct str lines = { 0 };

    assert(problem->code);
    problem_write(problem, "fuzz", &lines);
    assert(lines.len);
    json_decref(problem_to_json(problem, NULL));
}

static void is_json(const char *text, json_type type)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert(value && json_typeof(value) == type);
    json_decref(value);
}

static void read_registration(struct talk *talk)
{
    struct op *op = op_new(OP_REGISTER, NULL, NULL);
    struct op_register *reg = &op->reg;

    if (read_register(talk, reg) < 0) {
        say_faults(&talk->message.problem);
    } else {
        assert(reg->node && reg->boot_id[0]);
        is_json(reg->offers, JSON_OBJECT);
        is_json(reg->labels, JSON_OBJECT);
        is_json(reg->taints, JSON_ARRAY);
        is_json(reg->images, JSON_ARRAY);
        is_json(reg->info, JSON_OBJECT);
    }
    mem_free(talk->unknown);
    op_free(op);
}

static void read_reports(struct talk *talk)
{
    struct json_at list = json_at_member(&talk->message.top, "reports");
    bool is_good = !list.value || json_check_list(&list, MESSAGE_ATTEMPTS_MAX);

    for (size_t i = 0; is_good && i < json_array_size(list.value); i++) {
        struct json_at at = json_at_item(&list, i);
        struct op *op = op_new(OP_REPORT, NULL, NULL);
        const char *name = NULL;
        is_good = read_report(&at, &op->report, &name) == 0;
        assert(!is_good || name);
        op_free(op);
    }
    if (!is_good)
        say_faults(&talk->message.problem);
}

static void read_beat(struct talk *talk)
{
    char *disabled = read_disabled(&talk->message.top);

    if (talk->message.problem.code)
        say_faults(&talk->message.problem);
    else
        assert(disabled && strlen(disabled) <= DISABLED_MAX_BYTES);
    mem_free(disabled);
}

static void read_attempts(struct talk *talk)
{
    const char **names;
    size_t n;

    if (message_attempts(&talk->message, &names, &n) < 0) {
        say_faults(&talk->message.problem);
        return;
    }
    assert(n <= MESSAGE_ATTEMPTS_MAX);
    for (size_t i = 0; i < n; i++)
        assert(names[i]);
    mem_free(names);
}

static void (*const readers[TALK_KIND_COUNT])(struct talk *talk) = {
    [TALK_REGISTER] = read_registration,
    [TALK_BEAT] = read_beat,
    [TALK_ATTEMPTS] = read_attempts,
    [TALK_REPORTS] = read_reports,
};

/* The letter that a kind's inputs begin with. */
static const char letters[TALK_KIND_COUNT] = {
    [TALK_REGISTER] = 'g', [TALK_BEAT] = 'b',    [TALK_LEAVE] = 'l',
    [TALK_ATTEMPTS] = 'a', [TALK_REPORTS] = 'r',
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct nodes nodes;
    struct talk talk = { .nodes = &nodes };
    enum talk_kind kind = TALK_REGISTER;

    if (n == 0)
        return 0;
    for (int i = 0; i < TALK_KIND_COUNT; i++)
        if (data[0] == letters[i])
            kind = (enum talk_kind)i;
    if (message_parse(&talk.message, (const char *)data + 1, n - 1, kind) < 0)
        say_faults(&talk.message.problem);
    else if (readers[kind])
        readers[kind](&talk);
    message_fini(&talk.message);
    return 0;
}
