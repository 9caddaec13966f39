#include "base/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "program/agent_config.h"

/* Reads a configuration from a text; the file is gone afterwards. */
static int read_text(const char *text, struct agent_config *out, struct err *err)
{
    char path[] = "/tmp/berth-agent-config-XXXXXX";
    CLEANUP(str_fini) struct str faults = { 0 };
    int fd = mkstemp(path), r;

    CHECK(fd >= 0);
    CHECK_EQ(file_write_all(fd, text, strlen(text)), 0);
    close(fd);
    r = agent_config_read(path, out, &faults, err);
    unlink(path);
    return r;
}

static const char whole[] =
    "server: http://a:7070,http://b:7070\ntokenFile: /run/token\nname: gpu-a1\n"
    "data: /var/lib/berth/agent\nruntime: runc\noffers: {licence: 4, memory: 8Gi, cpu: 500m}\n"
    "labels: {disk: nvme, rack: r1}\n"
    "taints: [{key: dedicated, value: ml, effect: NoSchedule}]\n"
    "imagePrefixes: [/srv/images, /opt]\nallowProcess: false\nspeedUpAttach: false\n"
    "log: {level: warn, format: json}\n";

TEST(a_whole_file)
{
    CLEANUP(agent_config_fini) struct agent_config config = { 0 };
    struct err err = { 0 };

    CHECK_OK(read_text(whole, &config, &err), &err);
    CHECK_TEXT(config.servers, "http://a:7070,http://b:7070");
    CHECK_TEXT(config.token_file, "/run/token");
    CHECK_TEXT(config.name, "gpu-a1");
    CHECK_TEXT(config.data, "/var/lib/berth/agent");
    CHECK_TEXT(config.runtime, "runc");
    CHECK_EQ(config.offers.n, 3);
    CHECK_TEXT(config.offers.at[1].resource, "memory");
    CHECK_EQ(config.offers.at[0].value, 4000);
    CHECK_EQ(config.offers.at[1].value, INT64_C(8) << 30);
    CHECK_EQ(config.offers.at[2].value, 500);
    CHECK_EQ(config.labels.n, 2);
    CHECK_TEXT(config.labels.at[0].key, "disk");
    CHECK_TEXT(config.labels.at[0].value, "nvme");
    CHECK_EQ(config.taints.n, 1);
    CHECK_TEXT(config.taints.at[0].key, "dedicated");
    CHECK_TEXT(config.taints.at[0].value, "ml");
    CHECK_TEXT(config.taints.at[0].effect, "NoSchedule");
    CHECK_EQ(config.image_prefixes.n, 2);
    CHECK_TEXT(config.image_prefixes.at[1], "/opt");
    CHECK(config.forbids_process && config.forbids_speed_up);
    CHECK(config.has_log_level && config.log_level == LOG_WARN);
    CHECK(config.has_log_format && config.log_format == LOG_JSON);
}

TEST(an_empty_file_says_nothing)
{
    CLEANUP(agent_config_fini) struct agent_config config = { 0 };
    struct err err = { 0 };

    CHECK_OK(read_text("# nothing\n", &config, &err), &err);
    CHECK(!config.servers && !config.offers.n && !config.forbids_process);
}

TEST(flags_go_over_the_file)
{
    CLEANUP(agent_config_fini) struct agent_config config = { 0 };
    struct flag_pair offer = { .name = "licence", .value = "9" };
    struct flag_pair label = { .name = "disk", .value = "hdd" };
    struct agent_flags flags = { .name = "other",
                                 .image_prefix = "/a,/b/c",
                                 .offers = &offer,
                                 .n_offers = 1,
                                 .labels = &label,
                                 .n_labels = 1 };
    struct err err = { 0 };

    CHECK_OK(read_text(whole, &config, &err), &err);
    CHECK_OK(agent_config_take_flags(&config, &flags, &err), &err);
    CHECK_TEXT(config.name, "other");
    CHECK_TEXT(config.token_file, "/run/token");
    CHECK_EQ(config.offers.n, 4); /* the later one counts */
    CHECK_EQ(config.offers.at[3].value, 9000);
    CHECK_EQ(config.labels.n, 3);
    CHECK_TEXT(config.labels.at[2].value, "hdd");
    CHECK_EQ(config.image_prefixes.n, 2);
    CHECK_TEXT(config.image_prefixes.at[0], "/a");
    CHECK_TEXT(config.image_prefixes.at[1], "/b/c");
}

TEST(a_prefix_of_a_flag_is_absolute)
{
    CLEANUP(agent_config_fini) struct agent_config config = { 0 };
    struct agent_flags flags = { .image_prefix = "/a,images" };
    struct err err = { 0 };

    CHECK_EQ(agent_config_take_flags(&config, &flags, &err), -EINVAL);
    CHECK(strstr(err.text, "images"));
}

static const struct {
    const char *name, *text, *why; /* what the reason names */
} rows[] = {
    { "an unknown member", "name: a\nlable: {}\n", ":2:1: /lable" },
    { "the nearest one", "lables: {}\n", "labels" },
    { "another type", "data: [a]\n", "/data" },
    { "a name that is none", "name: a b\n", ":1:1: /name" },
    { "a runtime that is none", "runtime: docker\n", "/runtime" },
    { "an amount that is none", "offers:\n  cpu: 2\n  licence: many\n", ":3:3: /offers/licence" },
    { "offers that are a list", "offers: [cpu]\n", "/offers" },
    { "a label without text", "labels: {rack: {a: b}}\n", "/labels/rack" },
    { "a label's key that is none", "labels: {'a b': c}\n", "/labels/a b" },
    { "a taint without effect", "taints:\n- {key: a}\n", "/taints/0" },
    { "a taint without key", "taints:\n- {effect: NoExecute}\n", "/taints/0" },
    { "a taint's effect that is none", "taints: [{key: a, effect: Never}]\n", "/taints/0/effect" },
    { "a relative prefix", "imagePrefixes: [/srv, images]\n", "/imagePrefixes/1" },
    { "yes is no bool", "allowProcess: 3\n", "/allowProcess" },
    { "a level that is none", "log: {level: loud}\n", "/log/level" },
    { "no object", "- a\n", "must be an object" },
    { "a key twice", "data: a\ndata: b\n", ":2:" },
};

TEST(what_will_not_do_is_named_with_its_line)
{
    ROW_EACH (c, rows) {
        CLEANUP(agent_config_fini) struct agent_config config = { 0 };
        struct err err = { 0 };

        CHECK_EQ(read_text(c->text, &config, &err), -EINVAL);
        if (!strstr(err.text, c->why))
            print_error("%s\n", err.text);
        CHECK(strstr(err.text, c->why) != NULL);
        CHECK(text_begins(err.text, "/tmp/berth-agent-config-"));
    }
}

TEST(a_file_that_is_not_there)
{
    struct agent_config config = { 0 };
    struct str faults = { 0 };
    struct err err = { 0 };

    CHECK_EQ(agent_config_read("/nonexistent/agent.yaml", &config, &faults, &err), -ENOENT);
    CHECK(strstr(err.text, "/nonexistent/agent.yaml"));
}
