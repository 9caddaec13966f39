/* What an agent finds in the file `spec`: the line of a start, as it came from the server, and notes.
 * Any text is an order that can be carried out, or one that is refused with a reason, or none. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/order.h"
#include "agent/stored.h"
#include "base/quantity.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_each(const char *const *texts)
{
    for (; texts && *texts; texts++)
        assert(strlen(*texts) < 64u << 20);
}

static void read_order(const json_t *line, const char *id)
{
    static struct machine machine;
    struct order_rules rules = { .machine = &machine, .default_runtime = 0, .allow_process = true };
    struct order order;

    for (size_t i = 0; i < RUNTIME_KIND_COUNT; i++)
        machine.runtimes[i].is_usable = true;
    order_read(json_object_get(line, "spec"), id, "/folder", &rules, &order);
    if (order.refusal.code) {
        assert(order.refusal.text[0] && order.detail != DETAIL_NONE);
    } else {
        const struct container *c = &order.container;
        assert(strcmp(c->id, id) == 0 && strcmp(c->folder, "/folder") == 0);
        assert((int)c->runtime >= 0 && c->runtime < RUNTIME_KIND_COUNT);
        assert(c->cpu_milli >= 0 && c->memory_bytes >= 0 && c->pids > 0);
        assert(order.container.limit_ms >= 0 && order.container.limit_ms <= QUANTITY_MAX);
        assert(order.grace_ms >= 0 && order.grace_ms <= QUANTITY_MAX);
        assert(c->cpu_milli <= QUANTITY_MAX);
        assert(c->runtime == RUNTIME_PROCESS ? c->command || c->args : c->image != NULL);
        read_each(c->command);
        read_each(c->args);
        read_each(c->env);
    }
    order_fini(&order);
}

/* The id that the line itself names, so that it is read as far as it goes. */
static void id_of(const char *text, char id[ORDER_ID_SIZE])
{
    size_t n = strcspn(text, "\n");
    json_t *line = json_loadb(text, n, 0, NULL);
    const char *name = json_string_value(json_object_get(line, "attempt"));
    struct err err = { 0 };

    if (!name || order_id(name, id, &err) < 0)
        memcpy(id, "j-1.t.0.1", sizeof("j-1.t.0.1"));
    assert(!strchr(id, '/') && id[0] != '.');
    json_decref(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    CLEANUP(freep) char *text = mem_copy((const char *)data, n);
    struct notes notes = { 0 };
    struct err err = { 0 };
    char id[ORDER_ID_SIZE];
    json_t *line;

    id_of(text, id);
    line = stored_read(text, id, &notes, &err);
    assert(!line == (err.code < 0));
    assert(notes.stop >= CAUSE_NONE && notes.stop < CAUSE_COUNT);
    if (line)
        read_order(line, id);
    json_decref(line);
    return 0;
}
