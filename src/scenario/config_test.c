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

/* A configuration and all that is wrong with it, a line each. */
static const struct {
    const char *name, *text, *faults;
} many[] = {
    { "actions, policy and tiers",
      "actions: [alocate, allocate, preemt]\n"
      "policy: {tie: packed, protectAfter: 5x, aging: {step: x, max: -1}}\n"
      "tiers: [{plugins: [{name: prority}, {name: gang}, {name: gang}]}]\n",
      "/policy/tie: one of id rank hash spread pack\n"
      "/policy/protectAfter: \"5x\" is not a duration (such as 30s, 1h30m, 2d; units d h m s ms)\n"
      "/policy/aging/step: \"x\" is not a duration (such as 30s, 1h30m, 2d; units d h m s ms)\n"
      "/policy/aging/max: a whole number, 0 or more\n"
      "/actions/0: no action alocate; did you mean allocate?\n"
      "/actions/2: no action preemt; did you mean preempt?\n"
      "/tiers/0/plugins/0/name: no plugin prority; did you mean priority?\n"
      "/tiers/0/plugins/2/name: gang stands in tier 0 already\n" },
    { "what could not be read, and the rest",
      "actions: [alocate]\ntiers: [{plugins: [{name: drf, enabld: {}, arguments: {x: 1}}]}]\n",
      "/tiers/0/plugins/0/enabld: unknown key \"enabld\"; did you mean \"enabled\"?\n"
      "/actions/0: no action alocate; did you mean allocate?\n"
      "/tiers/0/plugins/0/arguments/x: no such argument; plugin drf has none\n" },
    { "arguments of actions",
      "actionArguments: {preempt: {enableTopologyAwarePreemption: 7, a: 1}, enqueue: {b: 1}, c: "
      "{}}",
      "/actionArguments/preempt/enableTopologyAwarePreemption: true or false\n"
      "/actionArguments/preempt/a: no such argument\n"
      "/actionArguments/enqueue/b: no such argument; action enqueue has none\n"
      "/actionArguments/c: no such action\n" },
    { "arguments of a plugin that takes none",
      "tiers: [{plugins: [{name: gang, arguments: {a: 1, b: 2}}]}]",
      "/tiers/0/plugins/0/arguments/a: no such argument; plugin gang has none\n"
      "/tiers/0/plugins/0/arguments/b: no such argument; plugin gang has none\n" },
    { "names of resources",
      "tiers: [{plugins: [{name: binpack, arguments: {binpack.resources: \"x, a;b\", "
      "binpack.resources.z: 1, binpack.cpu: \"2\"}}]}]",
      "/tiers/0/plugins/0/arguments/binpack.cpu: a number from -2147483648 to 2147483647\n"
      "/tiers/0/plugins/0/arguments/binpack.resources: \"a;b\" is no name of a resource; names "
      "stand apart by commas\n"
      "/tiers/0/plugins/0/arguments/binpack.resources.z: z is not among binpack.resources\n" },
    { "names twice, and those that count already",
      "tiers: [{plugins: [{name: binpack, arguments: {binpack.resources: \"x,x\"}}, "
      "{name: network-topology-aware, arguments: {hypernode.binpack.resources: cpu}}]}]",
      "/tiers/0/plugins/0/arguments/binpack.resources: \"x\" stands here twice\n"
      "/tiers/0/plugins/1/arguments/hypernode.binpack.resources: cpu counts already; name others "
      "only\n" },
    { "numbers below 0, and factors",
      "tiers: [{plugins: [{name: nodeorder, arguments: {nodeaffinity.weight: -2, "
      "podaffinity.weight: "
      "1.5}}, {name: overcommit, arguments: {overcommit-factor: 0.5}}]}]",
      "/tiers/0/plugins/0/arguments/podaffinity.weight: a whole number from -2147483648 to "
      "2147483647\n"
      "/tiers/0/plugins/0/arguments/nodeaffinity.weight: a number of 0 or more, not -2\n"
      "/tiers/0/plugins/1/arguments/overcommit-factor: a number from 1 to 1000, not 0.5\n" },
    { "objects within arguments",
      "tiers: [{plugins: [{name: resource-strategy-fit, arguments: {resources: {cpu: {type: Most, "
      "wight: 1}, memory: {type: LeastAllocated, weight: -1}}, sra: {enable: true, resources: a, "
      "resourceWeight: {b: 2}}}}]}]",
      "/tiers/0/plugins/0/arguments/resources/cpu/wight: no such argument; did you mean weight?\n"
      "/tiers/0/plugins/0/arguments/resources/cpu/type: MostAllocated or LeastAllocated\n"
      "/tiers/0/plugins/0/arguments/resources/memory/weight: a number of 0 or more, not -1\n"
      "/tiers/0/plugins/0/arguments/sra/resourceWeight/b: b is not among resources\n" },
    { "a profile that does not exist, and the rest by the one that is meant",
      "profile: volcan\npolicy: {tie: packed}\ntiers: [{plugins: [{name: binpack, arguments: "
      "{binpack.weight: -1}}]}]",
      "/profile: no profile volcan; did you mean volcano?\n"
      "/policy/tie: one of id rank hash spread pack\n" },
    { "a plugin that cannot be read, and the rest",
      "plugins: [{path: none.so}]\npolicy: {tie: packed}\ntiers: [{plugins: [{name: mine}, {name: "
      "gang, arguments: {a: 1}}]}]",
      "/plugins/0: plugins cannot be loaded here\n"
      "/policy/tie: one of id rank hash spread pack\n"
      "/tiers/0/plugins/1/arguments/a: no such argument; plugin gang has none\n" },
    { "volcano takes what its reference reads past",
      "profile: volcano\ntiers: [{plugins: [{name: binpack, arguments: {binpack.weight: -1, "
      "binpack.resources: \"x,x,cpu\"}}, {name: overcommit, arguments: {overcommit-factor: "
      "0.5}}]}]",
      "" },
};

TEST(config_tells_all_that_is_wrong)
{
    ROW_EACH (c, many) {
        CLEANUP(str_fini) struct str found = { 0 };
        struct scenario_config *config = NULL;
        struct problem problem = { 0 };

        (void)!scenario_config_read(c->text, strlen(c->text), &config, &problem);
        for (size_t i = 0; i < problem_n_kept(&problem); i++)
            str_addf(&found, "%s: %s\n", problem.fields[i].pointer, problem.fields[i].text);
        CHECK_TEXT(str_text(&found), c->faults);
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
