#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"
#include "client/client.h"

/* A folder of its own for home, configuration, runtime and work; all of BERTH_* unset. */
struct scene {
    char dir[64];
    char *was;
};

static void put(const struct scene *scene, const char *path, const char *text, mode_t mode)
{
    CLEANUP(freep) char *whole = text_format("%s/%s", scene->dir, path);
    struct err err = { 0 };
    char *slash = strrchr(whole, '/');

    *slash = '\0';
    CHECK_OK(file_make_dirs(whole, 0700, &err), &err);
    *slash = '/';
    CHECK_OK(file_write(AT_FDCWD, whole, text, strlen(text), mode, false, &err), &err);
    CHECK_EQ(chmod(whole, mode), 0);
}

static void scene_begin(struct scene *scene)
{
    static const char *const names[] = { "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR" };
    CLEANUP(freep) char *run = NULL;

    snprintf(scene->dir, sizeof(scene->dir), "/tmp/berth-settings-XXXXXX");
    CHECK(mkdtemp(scene->dir));
    scene->was = getcwd(NULL, 0);
    for (int i = 0; i < SETTING_COUNT; i++)
        if (client_setting_names[i].env)
            unsetenv(client_setting_names[i].env);
    unsetenv("BERTH_CONFIG");
    setenv("HOME", scene->dir, 1);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        setenv(names[i], scene->dir, 1);
    run = text_format("%s/berth", scene->dir);
    setenv("BERTH_RUN_DIR", run, 1); /* not those of this machine */
    CHECK_EQ(chdir(scene->dir), 0);
}

static void scene_end(struct scene *scene)
{
    struct err err = { 0 };

    CHECK_EQ(chdir(scene->was), 0);
    free(scene->was);
    CHECK_OK(file_remove_tree(AT_FDCWD, scene->dir, &err), &err);
}

static const char config[] = "addr: http://file:1\n"
                             "token: from-file\n"
                             "queue: top\n"
                             "contexts:\n"
                             "  prod: {addr: 'http://prod:2', tokenFile: secret}\n";

static const struct {
    const char *name;
    const char *flag_addr, *flag_token;
    const char *env[4]; /* name, value */
    const char *project;
    const char *addr, *token, *queue;
    enum client_origin addr_origin;
} rows[] = {
    { "the user's file",
      NULL,
      NULL,
      { NULL },
      NULL,
      "http://file:1",
      "from-file",
      "top",
      ORIGIN_USER },
    { "the environment stands above it",
      NULL,
      NULL,
      { "BERTH_ADDR", "http://env:3" },
      NULL,
      "http://env:3",
      "from-file",
      "top",
      ORIGIN_ENV },
    { "a flag stands above both",
      "http://flag:4",
      "from-flag",
      { "BERTH_ADDR", "http://env:3" },
      NULL,
      "http://flag:4",
      "from-flag",
      "top",
      ORIGIN_FLAG },
    { "a project sets the queue",
      NULL,
      NULL,
      { NULL },
      "queue: mine\n",
      "http://file:1",
      "from-file",
      "mine",
      ORIGIN_USER },
    { "a context with a token file of its own",
      NULL,
      NULL,
      { "BERTH_CONTEXT", "prod" },
      NULL,
      "http://prod:2",
      "from-secret",
      "top",
      ORIGIN_USER },
    { "a nearer token file beats a farther token",
      NULL,
      NULL,
      { "BERTH_TOKEN_FILE", "berth/secret" },
      NULL,
      "http://file:1",
      "from-secret",
      "top",
      ORIGIN_USER },
    { "an empty variable is none",
      NULL,
      NULL,
      { "BERTH_ADDR", "" },
      NULL,
      "http://file:1",
      "from-file",
      "top",
      ORIGIN_USER },
};

TEST(settings_come_from_the_nearest_level)
{
    ROW_EACH (c, rows) {
        struct scene scene;
        struct client_settings found = { 0 };
        struct err err = { 0 };
        const char *flags[SETTING_COUNT] = {
            [SETTING_ADDR] = c->flag_addr, [SETTING_TOKEN] = c->flag_token
        };

        scene_begin(&scene);
        put(&scene, "berth/config.yaml", config, 0600);
        put(&scene, "berth/secret", "from-secret\n", 0600);
        if (c->project)
            put(&scene, "berth.yaml", c->project, 0644);
        if (c->env[0])
            setenv(c->env[0], c->env[1], 1);
        CHECK_OK(client_settings_find(flags, &found, &err), &err);
        CHECK_TEXT(found.values[SETTING_ADDR], c->addr);
        CHECK_TEXT(found.values[SETTING_TOKEN], c->token);
        CHECK_TEXT(found.values[SETTING_QUEUE], c->queue);
        CHECK_EQ(found.origins[SETTING_ADDR], c->addr_origin);
        client_settings_fini(&found);
        scene_end(&scene);
    }
}

static const struct {
    const char *name;
    const char *path, *text;
    const char *env[2];
    int code;
    const char *part; /* of the reason */
} faults[] = {
    { "not YAML", "berth/config.yaml", "a: [", { NULL }, -EINVAL, "config.yaml:" },
    { "an unknown key",
      "berth/config.yaml",
      "queue: a\nadr: b\n",
      { NULL },
      -EINVAL,
      "config.yaml:2: adr is not a setting" },
    { "a list for a text",
      "berth/config.yaml",
      "addr: [a]\n",
      { NULL },
      -EINVAL,
      "the value of addr" },
    { "an address in a project",
      "berth.yaml",
      "addr: http://evil\n",
      { NULL },
      -EINVAL,
      "cannot be set for a project" },
    { "a context that is nowhere",
      "x",
      "",
      { "BERTH_CONTEXT", "nope" },
      -EINVAL,
      "BERTH_CONTEXT: no configuration file has a context nope" },
    { "a context that is misspelt",
      "berth/config.yaml",
      "contexts: {prod: {queue: a}, test: {queue: b}}\n",
      { "BERTH_CONTEXT", "prd" },
      -EINVAL,
      "BERTH_CONTEXT: no configuration file has a context prd; did you mean prod?" },
    { "a context, of others",
      "berth/config.yaml",
      "contexts: {prod: {queue: a}, test: {queue: b}}\n",
      { "BERTH_CONTEXT", "nope" },
      -EINVAL,
      "a context nope; there are prod, test" },
    { "a context that the file itself chooses",
      "berth/config.yaml",
      "context: nope\n",
      { NULL },
      -EINVAL,
      "berth/config.yaml: context: no configuration file has a context nope" },
    { "a token file that is not there",
      "x",
      "",
      { "BERTH_TOKEN_FILE", "gone" },
      -EACCES,
      "BERTH_TOKEN_FILE: the token cannot be read: open gone" },
    { "a token file of a file that is not there",
      "berth/config.yaml",
      "tokenFile: gone\n",
      { NULL },
      -EACCES,
      "berth/config.yaml: tokenFile: the token cannot be read: open " },
    { "an empty token file",
      "x",
      "\n",
      { "BERTH_TOKEN_FILE", "x" },
      -EACCES,
      "BERTH_TOKEN_FILE: x: no token" },
    { "a token that is none",
      "x",
      "",
      { "BERTH_TOKEN", "a b" },
      -EACCES,
      "BERTH_TOKEN: not a token: byte 2 is no printable" },
    { "a token with a line break",
      "x",
      "a\nb",
      { "BERTH_TOKEN_FILE", "x" },
      -EACCES,
      "byte 2 is no printable" },
    { "a configuration that was named and is not there",
      "x",
      "",
      { "BERTH_CONFIG", "gone" },
      -EINVAL,
      "BERTH_CONFIG: open gone" },
    { "a configuration that was named and will not do",
      "x",
      "adr: b\n",
      { "BERTH_CONFIG", "x" },
      -EINVAL,
      "BERTH_CONFIG: x:1: adr is not a setting" },
};

TEST(settings_name_what_is_wrong)
{
    ROW_EACH (c, faults) {
        struct scene scene;
        struct client_settings found = { 0 };
        struct err err = { 0 };

        scene_begin(&scene);
        put(&scene, c->path, c->text, 0600);
        if (c->env[0])
            setenv(c->env[0], c->env[1], 1);
        CHECK_EQ(client_settings_find(NULL, &found, &err), c->code);
        CHECK(strstr(err.text, c->part));
        client_settings_fini(&found);
        scene_end(&scene);
    }
}

TEST(a_wrong_value_of_a_flag_is_that_flag_s)
{
    const char *flags[SETTING_COUNT] = { [SETTING_TOKEN_FILE] = "gone" };
    struct scene scene;
    struct client_settings found = { 0 };
    struct err err = { 0 };

    scene_begin(&scene);
    CHECK_EQ(client_settings_find(flags, &found, &err), -EACCES);
    CHECK(strstr(err.text, "--token-file: the token cannot be read: open gone"));
    client_settings_fini(&found);
    scene_end(&scene);
}

static const struct {
    const char *name;
    mode_t mode;
    int code;
} modes[] = {
    { "its owner alone", 0600, 0 },
    { "its owner, to read", 0400, 0 },
    { "a group", 0640, -EACCES },
    { "everybody", 0644, -EACCES },
    { "everybody may write", 0602, -EACCES },
};

TEST(a_token_that_others_can_read_is_refused)
{
    ROW_EACH (c, modes) {
        struct scene scene;
        struct client_settings found = { 0 };
        struct err err = { 0 };

        scene_begin(&scene);
        put(&scene, "x", "secret\n", c->mode);
        setenv("BERTH_TOKEN_FILE", "x", 1);
        CHECK_EQ(client_settings_find(NULL, &found, &err), c->code);
        if (c->code)
            CHECK(strstr(err.text, "others can read the token in x") &&
                  strstr(err.text, "chmod 600 x"));
        client_settings_fini(&found);
        scene_end(&scene);
    }
}

TEST(dev_is_found_until_it_withdraws)
{
    struct scene scene;
    struct client_settings found = { 0 };
    struct err err = { 0 };
    CLEANUP(freep) char *token = NULL, *dev = NULL;

    scene_begin(&scene);
    put(&scene, "token", "dev-token\n", 0600);
    token = text_format("%s/token", scene.dir);
    dev = text_format("%s/berth/dev.json", scene.dir);
    CHECK_OK(client_dev_announce("http://127.0.0.1:7070", token, &err), &err);
    CHECK_OK(client_settings_find(NULL, &found, &err), &err);
    CHECK_TEXT(found.values[SETTING_ADDR], "http://127.0.0.1:7070");
    CHECK_TEXT(found.values[SETTING_TOKEN], "dev-token");
    CHECK_EQ(found.origins[SETTING_ADDR], ORIGIN_DEV);
    client_settings_fini(&found);

    /* Its address, named by hand, still finds its token; another address does not get it. */
    setenv("BERTH_ADDR", "http://127.0.0.1:7070/", 1);
    CHECK_OK(client_settings_find(NULL, &found, &err), &err);
    CHECK_TEXT(found.values[SETTING_TOKEN], "dev-token");
    client_settings_fini(&found);
    setenv("BERTH_ADDR", "http://127.0.0.1:7071", 1);
    CHECK_OK(client_settings_find(NULL, &found, &err), &err);
    CHECK(!found.values[SETTING_TOKEN]);
    client_settings_fini(&found);
    unsetenv("BERTH_ADDR");

    /* What others can read or write is not believed. */
    CHECK_EQ(chmod(dev, 0644), 0);
    CHECK_OK(client_settings_find(NULL, &found, &err), &err);
    CHECK(!found.values[SETTING_ADDR]);
    client_settings_fini(&found);
    CHECK_EQ(chmod(dev, 0600), 0);

    client_dev_withdraw();
    CHECK(access(dev, F_OK) < 0);
    scene_end(&scene);
}

TEST(dev_of_a_dead_process_is_ignored)
{
    struct scene scene;
    struct client_settings found = { 0 };
    struct err err = { 0 };

    scene_begin(&scene);
    /* No process has the largest number there is. */
    put(&scene, "berth/dev.json",
        "{\"addr\":\"http://127.0.0.1:1\",\"tokenPath\":\"/x\",\"pid\":2147483647}", 0600);
    CHECK_OK(client_settings_find(NULL, &found, &err), &err);
    CHECK(!found.values[SETTING_ADDR]);
    client_settings_fini(&found);
    scene_end(&scene);
}
