#include "agent/order.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

static const struct {
    const char *name;
    const char *attempt;
    int r;
    const char *id;
} ids[] = {
    { "an attempt", "j-12/worker.3#1", 0, "j-12.worker.3.1" },
    { "a task", "j-12/worker.3", -EINVAL, "" },
    { "a job", "j-12", -EINVAL, "" },
    { "a path", "j-12/../../etc#1", -EINVAL, "" },
    { "nothing", "", -EINVAL, "" },
    { "too long",
      "j-18446744073709551615/"
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.4294967295#4294967295",
      -EINVAL, "" },
};

TEST(order_id_is_a_file_name_of_its_own)
{
    ROW_EACH (c, ids) {
        char id[ORDER_ID_SIZE] = "";
        struct err err = { 0 };

        CHECK_EQ(order_id(c->attempt, id, &err), c->r);
        CHECK_TEXT(c->r == 0 ? id : "", c->id);
    }
}

static const struct machine machine = {
    .runtimes = {
        [RUNTIME_CRUN] = { .is_usable = true },
        [RUNTIME_RUNC] = { .is_usable = false, .why_not = "not installed" },
        [RUNTIME_PROCESS] = { .is_usable = true },
    },
};

static const struct {
    const char *name;
    const char *spec;
    bool allow_process;
    int default_runtime;
    enum detail detail;
    const char *part; /* of the refusal; NULL: it is not refused */
} specs[] = {
    { "an image", "{\"image\":\"dir:/x\"}", false, RUNTIME_CRUN, DETAIL_NONE, NULL },
    { "a process", "{\"runtime\":\"process\",\"command\":[\"true\"]}", true, RUNTIME_CRUN,
      DETAIL_NONE, NULL },
    { "a process where none is allowed", "{\"runtime\":\"process\",\"command\":[\"true\"]}", false,
      RUNTIME_CRUN, DETAIL_RUNTIME_FAILED, "does not allow it" },
    { "a process without a command", "{\"runtime\":\"process\"}", true, RUNTIME_CRUN,
      DETAIL_RUNTIME_FAILED, "needs a command" },
    { "no runtime at all", "{\"image\":\"dir:/x\"}", false, -1, DETAIL_RUNTIME_FAILED,
      "has no runtime" },
    { "one that is not usable", "{\"runtime\":\"runc\",\"image\":\"dir:/x\"}", false, RUNTIME_CRUN,
      DETAIL_RUNTIME_FAILED, "not installed" },
    { "one that is unknown", "{\"runtime\":\"vm\",\"image\":\"dir:/x\"}", false, RUNTIME_CRUN,
      DETAIL_RUNTIME_FAILED, "does not know the runtime vm" },
    { "no image", "{\"command\":[\"true\"]}", false, RUNTIME_CRUN, DETAIL_IMAGE_ABSENT,
      "needs an image" },
    { "a command that is no text", "{\"image\":\"dir:/x\",\"command\":[1]}", false, RUNTIME_CRUN,
      DETAIL_RUNTIME_FAILED, "command[0]" },
    { "a network of later", "{\"image\":\"dir:/x\",\"network\":\"bridge\"}", false, RUNTIME_CRUN,
      DETAIL_RUNTIME_FAILED, "network bridge" },
    { "a negative limit", "{\"image\":\"dir:/x\",\"limitMs\":-1}", false, RUNTIME_CRUN,
      DETAIL_RUNTIME_FAILED, "limitMs" },
    { "no spec", "7", false, RUNTIME_CRUN, DETAIL_RUNTIME_FAILED, "without a spec" },
};

TEST(order_says_why_it_cannot_be_started_here)
{
    ROW_EACH (c, specs) {
        struct order_rules rules = { &machine, c->default_runtime, c->allow_process };
        json_t *spec = json_loads(c->spec, JSON_DECODE_ANY, NULL);
        struct order order;

        order_read(spec, "j-1.a.0.1", "/data/j-1.a.0.1", &rules, &order);
        CHECK_EQ(order.refusal.code != 0, c->part != NULL);
        CHECK_EQ(order.detail, c->detail);
        CHECK(!c->part || strstr(order.refusal.text, c->part));
        order_fini(&order);
        json_decref(spec);
    }
}

TEST(order_takes_all_that_a_start_says)
{
    struct order_rules rules = { &machine, RUNTIME_CRUN, false };
    json_t *spec = json_loads("{\"image\":\"oci:/i\",\"command\":[\"a\",\"b\"],\"args\":[\"c\"],"
                              "\"env\":{\"K\":\"V=W\"},\"workDir\":\"/w\",\"user\":\"7:8\","
                              "\"network\":\"none\",\"resources\":{\"cpu\":1500,\"memory\":4096,"
                              "\"fpga\":1000},\"limitMs\":5,\"graceMs\":6,"
                              "\"onDisconnect\":\"keep\",\"later\":true}",
                              0, NULL);
    struct order order;
    const struct container *c = &order.container;

    order_read(spec, "j-1.a.0.1", "/data/j-1.a.0.1", &rules, &order);
    json_decref(spec); /* nothing is borrowed from it */
    CHECK_EQ(order.refusal.code, 0);
    CHECK_TEXT(c->id, "j-1.a.0.1");
    CHECK_TEXT(c->folder, "/data/j-1.a.0.1");
    CHECK_EQ(c->runtime, RUNTIME_CRUN);
    CHECK_TEXT(c->image, "oci:/i");
    CHECK_TEXT(c->command[1], "b");
    CHECK(!c->command[2]);
    CHECK_TEXT(c->args[0], "c");
    CHECK_TEXT(c->env[0], "K=V=W");
    CHECK_TEXT(c->work_dir, "/w");
    CHECK_TEXT(c->user, "7:8");
    CHECK_EQ(c->network, NETWORK_NONE);
    CHECK_EQ(c->cpu_milli, 1500);
    CHECK_EQ(c->memory_bytes, 4096);
    CHECK(c->pids > 0);
    CHECK(c->keep_on_disconnect);
    CHECK_EQ(order.container.limit_ms, 5);
    CHECK_EQ(order.grace_ms, 6);
    order_fini(&order);
}
