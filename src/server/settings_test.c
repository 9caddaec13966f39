#include "base/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "server/server.h"

/* Reads a configuration from a text; the file is gone afterwards. */
static int read_text(const char *text, struct server_config **out, struct err *err)
{
    char path[] = "/tmp/berth-settings-XXXXXX";
    int fd = mkstemp(path), r;

    CHECK(fd >= 0);
    CHECK_EQ(file_write_all(fd, text, strlen(text)), 0);
    close(fd);
    r = server_config_read(path, out, err);
    unlink(path);
    return r;
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
    { "a beat that is too slow for the default", "nodes: {beat: 16s}\n", "/nodes/beat" },
    { "a ttl that no beat keeps", "nodes: {ttl: 20ms}\n", "/nodes/ttl: it must be at least 1s" },
    { "a profile that is none", "scheduler: {profile: magic}\n", "/scheduler/profile" },
    { "a plugin that is none", "scheduler:\n  tiers:\n  - plugins:\n    - name: magic\n",
      ":4:7: /scheduler/tiers/0" },
    { "a pool without a name", "pools:\n- priority: 1\n", "/pools/0" },
    { "a pool that cannot name a node", "pools:\n- name: a b\n", ":2:3: /pools/0/name" },
    { "an unknown member of a pool", "pools:\n- {name: a, machines: 2}\n", "/pools/0/machines" },
    { "a domain without a name", "hyperNodes:\n- tier: 1\n", "/hyperNodes/0" },
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

TEST(a_file_that_is_not_there)
{
    struct server_config *config;
    struct err err = { 0 };

    CHECK_EQ(server_config_read("/nonexistent/berth.yaml", &config, &err), -ENOENT);
    CHECK(strstr(err.text, "/nonexistent/berth.yaml"));
}
