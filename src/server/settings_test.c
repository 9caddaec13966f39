#include "base/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "berth/engine.h"
#include "server/server.h"

/* Reads a configuration from a text; the file is gone afterwards. */
static int read_told(const char *text, struct server_config **out, struct str *faults,
                     struct err *err)
{
    char path[] = "/tmp/berth-settings-XXXXXX";
    int fd = mkstemp(path), r;

    CHECK(fd >= 0);
    CHECK_EQ(file_write_all(fd, text, strlen(text)), 0);
    close(fd);
    r = server_config_read(path, out, faults, err);
    unlink(path);
    return r;
}

static int read_text(const char *text, struct server_config **out, struct err *err)
{
    CLEANUP(str_fini) struct str faults = { 0 };

    return read_told(text, out, &faults, err);
}

TEST(all_that_is_wrong_is_told)
{
    CLEANUP(str_fini) struct str faults = { 0 };
    struct server_config *config = NULL;
    struct err err = { 0 };

    CHECK_EQ(read_told("retain: 1x\nscheduler:\n  actions: [alocate]\n  policy: {tie: packed}\n",
                       &config, &faults, &err),
             -EINVAL);
    CHECK(strstr(str_text(&faults), ":1:1: /retain: "));
    CHECK(strstr(str_text(&faults), ":3:13: /scheduler/actions/0: no action alocate"));
    CHECK(strstr(str_text(&faults), ":4:12: /scheduler/policy/tie: one of id "));
    CHECK(strncmp(err.text, str_text(&faults), strlen(err.text)) == 0);
}

TEST(a_whole_file)
{
    struct server_config *config;
    const struct server_options *options;
    struct err err = { 0 };

    CHECK_OK(read_text("listen: 0.0.0.0:7070\nworkerListen: 10.0.0.1:7071\ndata: /var/lib/berth\n"
                       "store: 'memory:'\ntokenFile: /run/token\ntokens: {lifetime: 90d}\n"
                       "nodes: {ttl: 20s, beat: 5s}\nretain: 14d\n"
                       "log: {level: debug, format: json}\nscheduler: {profile: berth}\n",
                       &config, &err),
             &err);
    options = server_config_options(config);
    CHECK_TEXT(options->listen, "0.0.0.0:7070");
    CHECK_TEXT(options->worker_listen, "10.0.0.1:7071");
    CHECK_TEXT(options->data, "/var/lib/berth");
    CHECK_TEXT(options->store, "memory:");
    CHECK_TEXT(options->token_file, "/run/token");
    CHECK_EQ(options->token_lifetime_ms, INT64_C(90) * 24 * 3600 * 1000);
    CHECK_EQ(options->node_ttl_ms, 20000);
    CHECK_EQ(options->node_beat_ms, 5000);
    CHECK_EQ(options->retain_ms, INT64_C(14) * 24 * 3600 * 1000);
    CHECK(options->has_log_level && options->log_level == LOG_DEBUG);
    CHECK(options->has_log_format && options->log_format == LOG_JSON);
    CHECK(options->engine != NULL);
    CHECK_TEXT(options->profile, "berth");
    server_config_free(config);
}

TEST(an_empty_file_says_nothing)
{
    struct server_config *config;
    struct err err = { 0 };

    CHECK_OK(read_text("# nothing\n", &config, &err), &err);
    CHECK(server_config_options(config)->listen == NULL);
    server_config_free(config);
}

/* A ttl alone must not leave nodes with the default's beat, which may be slower than it. */
TEST(a_ttl_brings_its_beat)
{
    struct server_config *config;
    struct err err = { 0 };

    CHECK_OK(read_text("nodes: {ttl: 6s}\n", &config, &err), &err);
    CHECK_EQ(server_config_options(config)->node_ttl_ms, 6000);
    CHECK_EQ(server_config_options(config)->node_beat_ms, 2000);
    server_config_free(config);
    /* Nor does a long one make a dead node seen late. */
    CHECK_OK(read_text("nodes: {ttl: 10m}\n", &config, &err), &err);
    CHECK_EQ(server_config_options(config)->node_beat_ms, 10000);
    server_config_free(config);
}

static const struct {
    const char *name, *text, *why; /* what the reason names */
} rows[] = {
    { "an unknown member", "listen: a:1\nlisten_to: b\n", ":2:1: /listen_to" },
    { "an unknown member within", "log:\n  colour: red\n", ":2:3: /log/colour" },
    { "another type", "data: [a]\n", "/data" },
    { "a bad duration", "retain: soon\n", ":1:1: /retain" },
    { "a level that is none", "log: {level: loud}\n", "/log/level" },
    { "a beat that is too slow", "nodes: {ttl: 10s, beat: 6s}\n", "/nodes/beat" },
    { "a beat that is too slow for the default", "nodes: {beat: 151s}\n", "/nodes/beat" },
    { "a ttl that no beat keeps", "nodes: {ttl: 20ms}\n", "/nodes/ttl: it must be at least 1s" },
    { "a ttl of nothing", "nodes:\n  ttl: 0s\n",
      ":2:3: /nodes/ttl: must be more than 0s; leave it out for the default" },
    { "a beat of nothing", "nodes: {beat: 0ms}\n", "/nodes/beat: must be more than 0s" },
    { "nothing that is retained", "retain: 0s\n", "/retain: must be more than 0s" },
    { "an order that never can come", "orderTimeout: 0s\n", "/orderTimeout: must be more than 0s" },
    { "a profile that is none", "scheduler: {profile: magic}\n", "/scheduler/profile" },
    { "a plugin that is none", "scheduler:\n  tiers:\n  - plugins:\n    - name: magic\n",
      ":4:7: /scheduler/tiers/0" },
    { "a profile that starts parts of gangs",
      "scheduler:\n  profile: volcano\n  tiers: [{plugins: [{name: predicates}]}]\n",
      ":1:1: /scheduler: without plugin gang" },
    { "a pool without a name", "pools:\n- priority: 1\n", "/pools/0" },
    { "a pool that cannot name a node", "pools:\n- name: a b\n", ":2:3: /pools/0/name" },
    { "an unknown member of a pool", "pools:\n- {name: a, machines: 2}\n", "/pools/0/machines" },
    { "a domain without a name", "hyperNodes:\n- tier: 1\n", "/hyperNodes/0" },
    { "a domain twice", "hyperNodes:\n- name: a\n- name: a\n",
      ":3:3: /hyperNodes/1/name: \"a\" stands here twice" },
    { "a domain beneath itself", "hyperNodes:\n- name: a\n  children: [a]\n",
      ":3:3: /hyperNodes/0/children: lead back to \"a\"" },
    { "domains in a circle",
      "hyperNodes:\n- {name: top}\n- {name: a, children: [b]}\n- {name: b, children: [c]}\n"
      "- {name: c, children: [a]}\n",
      "/hyperNodes/1/children: lead back to \"a\"" },
    { "a domain that there is not", "hyperNodes:\n- name: a\n  children:\n  - b\n",
      ":4:5: /hyperNodes/0/children/0: \"b\" is none of the domains" },
    { "a domain beneath two",
      "hyperNodes:\n- name: x\n- {name: a, children: [x]}\n- {name: b, children: [x]}\n",
      "/hyperNodes/2/children/0: \"x\" is beneath \"a\" already" },
    { "a chain to no pool", "pools:\n- name: a\nfailover:\n  A10:\n  - a\n  - spot\n",
      ":6:5: /failover/A10/1: \"spot\" is no pool" },
    { "a chain without pools", "failover: {A10: [spot]}\n",
      "/failover/A10/0: \"spot\" is no pool" },
    { "a chain of nothing", "failover:\n  A10: []\n", ":2:3: /failover/A10: names no pool" },
    { "a chain with a pool twice", "pools: [{name: a}]\nfailover: {A10: [a, a]}\n",
      "/failover/A10/1: \"a\" stands here twice" },
    { "a quota without a name", "resourceQuotas:\n- namespace: lab\n", "/resourceQuotas/0" },
    { "a quota twice", "resourceQuotas:\n- name: a\n- {name: a, namespace: lab}\n- name: a\n",
      ":4:3: /resourceQuotas/2/name: \"default/a\" stands here twice" },
    { "a quota of what is no amount", "resourceQuotas:\n- name: a\n  hard:\n    cpu: much\n",
      ":4:5: /resourceQuotas/0/hard/cpu" },
    { "a quota of what is no namespace", "resourceQuotas:\n- name: a\n  namespace: The Lab\n",
      ":3:3: /resourceQuotas/0/namespace: \"The Lab\" is not a namespace's name" },
    { "an unknown member of a quota", "resourceQuotas:\n- {name: a, soft: {}}\n",
      "/resourceQuotas/0/soft" },
    { "a quota that nothing heeds",
      "scheduler: {profile: bench}\nresourceQuotas: [{name: a, hard: {cpu: 1}}]\n",
      ":2:1: /resourceQuotas: nothing heeds it" },
    { "no object", "- a\n", "must be an object" },
    { "no YAML", "a: [\n", ":" },
    { "a key twice", "data: a\ndata: b\n", ":2:" },
};

TEST(what_will_not_do_is_named_with_its_line)
{
    ROW_EACH (c, rows) {
        struct server_config *config;
        struct err err = { 0 };

        CHECK_EQ(read_text(c->text, &config, &err), -EINVAL);
        if (!strstr(err.text, c->why))
            print_error("%s\n", err.text);
        CHECK(strstr(err.text, c->why) != NULL);
        CHECK(text_begins(err.text, "/tmp/berth-settings-"));
    }
}

static const char *const heeded[] = {
    "", "scheduler: {profile: beam}\n",
    "scheduler: {profile: volcano, tiers: [{plugins: [{name: gang}, {name: resourcequota}]}]}\n"
};

TEST(quotas_are_what_the_engine_is_told)
{
    for (size_t i = 0; i < COUNT_OF(heeded); i++) {
        CLEANUP(freep)
        char *text = text_format(
            "%sresourceQuotas: [{name: a, namespace: lab, hard: {cpu: 2}}, {name: b}]\n",
            heeded[i]);
        const struct server_options *options;
        struct server_config *config;
        struct err err = { 0 };

        CHECK_OK(read_text(text, &config, &err), &err);
        options = server_config_options(config);
        CHECK_EQ(options->n_objects, 2);
        CHECK_EQ(options->objects[0].kind, BERTH_QUOTA);
        CHECK_TEXT(options->objects[0].quota->namespace_, "lab");
        CHECK_EQ(options->objects[0].quota->hard.at[0].value, 2000);
        CHECK_TEXT(options->objects[1].quota->namespace_, "default");
        server_config_free(config);
    }
}

TEST(a_file_that_is_not_there)
{
    struct server_config *config;
    struct str faults = { 0 };
    struct err err = { 0 };

    CHECK_EQ(server_config_read("/nonexistent/berth.yaml", &config, &faults, &err), -ENOENT);
    CHECK(strstr(err.text, "/nonexistent/berth.yaml"));
}
