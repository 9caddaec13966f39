#include "scenario/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "base/test.h"
#include "scenario/scenario.h"

static const struct {
    const char *name, *text, *fault;
} rows[] = {
    { "nothing", "", "" },
    { "a profile", "profile: volcano\n", "" },
    { "JSON", "{\"profile\": \"volcano\"}", "" },
    { "policy", "policy: {tie: pack}\n", "" },
    { "unknown profile", "profile: berht\n",
      "1:1 /profile: no profile berht; did you mean berth?" },
    { "unknown action", "# ours\nactions: [allocate, alocate]\n",
      "2:21 /actions/1: no action alocate; did you mean allocate?" },
    { "unknown key", "action: []\n",
      "1:1 /action: unknown key \"action\"; did you mean "
      "\"actions\"?" },
    { "key of a document", "cycles: 3\n", "1:1 /cycles: unknown key \"cycles\"" },
    { "a path where no file is read", "profile: ./mine.yaml\n",
      "1:1 /profile: profiles cannot be read from files here" },
    { "a plugin where none is loaded", "plugins: [/x.so]\n",
      "1:11 /plugins/0: plugins cannot be loaded here" },
    { "a plugin without a path", "plugins: [{sha256: a}]\n", "1:11 /plugins/0: a path is needed" },
    { "policy is no object", "policy: pack\n", "1:1 /policy: must be an object, not text" },
    { "not YAML", "a: [\n", "2:1 : not YAML: did not find expected node content" },
};

TEST(config_is_read_whole_or_refused_with_the_path)
{
    ROW_EACH (c, rows) {
        struct scenario_config *config = NULL;
        struct problem problem = { 0 };
        CLEANUP(str_fini) struct str found = { 0 };
        int r = scenario_config_read(c->text, strlen(c->text), &config, &problem);
        if (problem.n_fields)
            str_addf(&found, "%d:%d %s: %s", problem.fields[0].line, problem.fields[0].column,
                     problem.fields[0].pointer, problem.fields[0].text);
        CHECK_TEXT(str_text(&found), c->fault);
        CHECK_EQ(r, c->fault[0] ? -EINVAL : 0);
        CHECK_EQ(config != NULL, r == 0);
        scenario_config_free(config);
    }
}

TEST(config_is_what_an_engine_takes)
{
    static const char text[] = "profile: volcano\nactions: [allocate]\n"
                               "shard: {mode: soft, nodes: [a]}\n";
    struct scenario_config *config = NULL;
    struct problem problem = { 0 };
    const struct berth_config *got;
    struct err err = { 0 };

    CHECK_EQ(scenario_config_read(text, strlen(text), &config, &problem), 0);
    got = scenario_config_get(config);
    CHECK_OK(berth_config_check(got, &err), &err);
    CHECK_TEXT(got->profile, "volcano");
    CHECK_TEXT(got->actions.at[0], "allocate");
    CHECK_EQ(got->shard_mode, BERTH_SHARD_SOFT);
    CHECK_TEXT(got->shard_nodes.at[0], "a");
    CHECK(!got->has_tiers);
    scenario_config_free(config);
}

/* A folder of its own, with files of a name and a text each. */
struct folder {
    char path[64];
};

static void folder_fini(struct folder *folder)
{
    struct err err = { 0 };

    CHECK_OK(file_remove_tree(AT_FDCWD, folder->path, &err), &err);
}

static struct folder folder_make(void)
{
    struct folder folder = { "/tmp/berth-profiles-XXXXXX" };

    CHECK(mkdtemp(folder.path) != NULL);
    return folder;
}

static void folder_put(const struct folder *folder, const char *name, const char *text)
{
    CLEANUP(freep) char *path = text_format("%s/%s", folder->path, name);
    struct err err = { 0 };

    CHECK_OK(file_write(AT_FDCWD, path, text, strlen(text), 0600, false, &err), &err);
}

/* Reads a configuration that lies in the folder; its first fault as text, or NULL. */
static char *read_beside(const struct folder *folder, struct scenario_files **files,
                         const char *text, struct scenario_config **out)
{
    CLEANUP(freep) char *beside = text_format("%s/server.yaml", folder->path);
    struct problem problem = { 0 };

    *files = scenario_files_new(beside);
    if (scenario_config_read_with(text, strlen(text), *files, out, &problem) == 0)
        return NULL;
    return text_format("%s: %s", problem.fields[0].pointer, problem.fields[0].text);
}

TEST(config_is_laid_over_a_profile_from_a_file)
{
    CLEANUP(folder_fini) struct folder folder = folder_make();
    CLEANUP(scenario_files_freep) struct scenario_files *files = NULL;
    struct scenario_config *config = NULL;
    const struct berth_config *got;

    folder_put(&folder, "base.yaml",
               "profile: volcano\nactions: [allocate]\npolicy: {tie: pack, victims: every-tier}\n");
    folder_put(&folder, "mine.yaml", "profile: ./base.yaml\npolicy: {tie: spread}\n");
    CHECK(
        !read_beside(&folder, &files, "profile: ./mine.yaml\npolicy: {search: exact}\n", &config));
    got = scenario_config_get(config);
    CHECK_TEXT(got->profile, "volcano");
    CHECK_EQ(got->actions.n, 1);
    CHECK_TEXT(berth_value_get(got->policy, "tie")->text, "spread");
    CHECK_TEXT(berth_value_get(got->policy, "victims")->text, "every-tier");
    CHECK_TEXT(berth_value_get(got->policy, "search")->text, "exact");
    CHECK_EQ(got->policy->n_members, 3);
    scenario_config_free(config);
}

TEST(config_says_what_is_wrong_with_a_profile_in_a_file)
{
    static const struct {
        const char *name, *file, *says;
    } wrong[] = {
        { "no such file", NULL, "No such file or directory" },
        { "misspelt key", "action: []\n",
          "/mine.yaml:1:1: /action: unknown key \"action\"; did you "
          "mean \"actions\"?" },
        { "misspelt option", "policy:\n  tei: id\n",
          "/mine.yaml:2:3: /policy/tei: no such policy; did "
          "you mean tie?" },
        { "itself", "profile: ./mine.yaml\n", "/mine.yaml builds upon itself" },
        { "no YAML", "a: [\n", "not YAML" },
    };

    ROW_EACH (c, wrong) {
        CLEANUP(folder_fini) struct folder folder = folder_make();
        CLEANUP(scenario_files_freep) struct scenario_files *files = NULL;
        struct scenario_config *config = NULL;
        CLEANUP(freep) char *fault = NULL;
        if (c->file)
            folder_put(&folder, "mine.yaml", c->file);
        fault = read_beside(&folder, &files, "profile: ./mine.yaml\n", &config);
        CHECK(fault != NULL);
        if (!strstr(fault, c->says))
            CHECK_TEXT(fault, c->says);
        CHECK(strncmp(fault, "/profile: ", 10) == 0);
    }
}
