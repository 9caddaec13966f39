/* Configurations: what of an image and of a container becomes the command, its environment, its
 * limits. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "base/test_folder.h"
#include "runtime/inside.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The config.json of a container of an image whose root is this machine's; NULL if it was
 * refused. */
static json_t *configure(struct container *c, const struct image *image, enum detail *detail,
                         struct err *err)
{
    static struct runtime rt;
    CLEANUP(freep) char *bundle = NULL, *path = NULL;
    CLEANUP(str_fini) struct str text = { 0 };
    struct err why = { 0 };

    bundle = text_format("%s/bundle", test_folder());
    path = text_format("%s/config.json", bundle);
    CHECK_OK(file_make_dirs(bundle, 0700, &why), &why);
    c->runtime = RUNTIME_CRUN;
    c->id = "j-1.task.0.1";
    c->folder = test_folder();
    *detail = DETAIL_RUNTIME_FAILED;
    if (config_write(&rt, c, image, detail, err) < 0)
        return NULL;
    CHECK_OK(file_read(AT_FDCWD, path, 1 << 20, &text, &why), &why);
    return json_loadb(str_text(&text), text.len, 0, NULL);
}

static struct image image_of(const char *const *entrypoint, const char *const *cmd,
                             const char *const *env)
{
    static const char *const none[] = { NULL };

    return (struct image){ .root = (char *)"/",
                           .entrypoint = (char **)(entrypoint ? entrypoint : none),
                           .cmd = (char **)(cmd ? cmd : none),
                           .env = (char **)(env ? env : none),
                           .work_dir = (char *)"",
                           .user = (char *)"" };
}

static char *join(const json_t *list)
{
    struct str out = { 0 };

    for (size_t i = 0; i < json_array_size(list); i++)
        str_addf(&out, "%s%s", i ? " " : "", json_string_value(json_array_get(list, i)));
    return str_take(&out);
}

static const json_t *process_of(const json_t *config, const char *key)
{
    return json_object_get(json_object_get(config, "process"), key);
}

static const struct {
    const char *name;
    const char *const *entrypoint, *const *cmd, *const *command, *const *args;
    const char *runs; /* NULL: refused */
} commands[] = {
    { "the image's entry point and cmd", LIST("/bin/sh"), LIST("-c", "true"), NULL, NULL,
      "/bin/sh -c true" },
    { "args in place of cmd", LIST("/bin/sh"), LIST("-c", "true"), NULL, LIST("x"), "/bin/sh x" },
    { "a command in place of both", LIST("/bin/sh"), LIST("-c", "true"), LIST("/bin/true"), NULL,
      "/bin/true" },
    { "a command with args", LIST("/bin/sh"), LIST("-c"), LIST("/bin/true", "a"), LIST("b"),
      "/bin/true a b" },
    { "cmd alone", NULL, LIST("/bin/sh", "-i"), NULL, NULL, "/bin/sh -i" },
    { "args alone", NULL, NULL, NULL, LIST("/bin/true"), "/bin/true" },
    { "nothing", NULL, NULL, NULL, NULL, NULL },
    { "an empty entry point", LIST(""), NULL, NULL, NULL, NULL },
    { "an entry point that is not there", LIST("/no/such"), LIST("x"), NULL, NULL, NULL },
};

TEST(config_takes_the_command_of_the_job_or_of_the_image)
{
    ROW_EACH (c, commands) {
        struct container container = { .command = c->command, .args = c->args };
        struct image image = image_of(c->entrypoint, c->cmd, NULL);
        enum detail detail;
        struct err err = { 0 };
        json_t *config = configure(&container, &image, &detail, &err);
        CLEANUP(freep) char *runs = join(process_of(config, "args"));

        CHECK_EQ(config != NULL, c->runs != NULL);
        if (c->runs)
            CHECK_TEXT(runs, c->runs);
        else
            CHECK_EQ(detail, DETAIL_COMMAND_NOT_FOUND);
        json_decref(config);
    }
}

/* The value of a variable, "" if it is not there; it must not stand there twice. */
static const char *variable(const json_t *config, const char *name)
{
    const json_t *env = process_of(config, "env");
    const char *value = NULL;
    size_t n = strlen(name);

    for (size_t i = 0; i < json_array_size(env); i++) {
        const char *text = json_string_value(json_array_get(env, i));
        if (strncmp(text, name, n) != 0 || text[n] != '=')
            continue;
        CHECK(!value);
        value = text + n + 1;
    }
    return value ? value : "";
}

TEST(config_lays_the_jobs_variables_over_the_images)
{
    struct container container = { .command = LIST("/bin/true"), .env = LIST("B=job", "C=") };
    struct image image = image_of(NULL, NULL, LIST("A=image", "B=image", "C=image"));
    enum detail detail;
    struct err err = { 0 };
    json_t *config = configure(&container, &image, &detail, &err);

    CHECK_TEXT(variable(config, "A"), "image");
    CHECK_TEXT(variable(config, "B"), "job");
    CHECK_TEXT(variable(config, "C"), "");
    CHECK(strstr(variable(config, "PATH"), "/bin"));
    json_decref(config);
    container.env = LIST("PATH=/bin:/own");
    config = configure(&container, &image, &detail, &err);
    CHECK_TEXT(variable(config, "PATH"), "/bin:/own");
    json_decref(config);
}

static const struct {
    const char *name;
    int64_t cpu_milli, memory_bytes;
    int64_t quota, limit; /* 0: there is none */
} limits[] = {
    { "none", 0, 0, 0, 0 },
    { "cpu alone", 500, 0, 50000, 0 },
    { "memory alone", 0, 128 << 20, 0, 128 << 20 },
    { "both", 32000, 1 << 20, 3200000, 1 << 20 },
    { "the least of cpu", 1, 0, 1000, 0 },
};

TEST(config_limits_what_was_asked_for_and_nothing_else)
{
    ROW_EACH (c, limits) {
        struct container container = { .command = LIST("/bin/true"),
                                       .cpu_milli = c->cpu_milli,
                                       .memory_bytes = c->memory_bytes };
        struct image image = image_of(NULL, NULL, NULL);
        enum detail detail;
        struct err err = { 0 };
        json_t *config = configure(&container, &image, &detail, &err);
        const json_t *resources = json_object_get(json_object_get(config, "linux"), "resources");
        const json_t *cpu = json_object_get(resources, "cpu");
        const json_t *memory = json_object_get(resources, "memory");

        CHECK_EQ(json_integer_value(json_object_get(cpu, "quota")), c->quota);
        CHECK_EQ(json_integer_value(json_object_get(cpu, "period")), c->quota ? 100000 : 0);
        CHECK_EQ(json_integer_value(json_object_get(memory, "limit")), c->limit);
        CHECK_EQ(json_integer_value(json_object_get(memory, "swap")), c->limit);
        json_decref(config);
    }
}
