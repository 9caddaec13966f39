#include "scenario/config.h"

#include <errno.h>
#include <string.h>

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
