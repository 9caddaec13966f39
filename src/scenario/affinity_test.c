#include <string.h>

#include "api/yaml.h"
#include "base/str.h"
#include "base/test.h"
#include "scenario/scenario.h"

#define NEED     "nodeAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n"
#define NODES    NEED "    nodeSelectorTerms:\n    - "
#define WISH     "nodeAffinity:\n  preferredDuringSchedulingIgnoredDuringExecution:\n  - "
#define TASKS    "podAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n  - "
#define AT_TERM  "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0"
#define AT_WISH  "/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution/0"
#define AT_TASKS "/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0"

/* What Kubernetes refuses of a pod; documents, and jobs of earlier builds, may have it. */
static const struct {
    const char *name, *text, *fault;
} rows[] = {
    { "In without values", NODES "matchExpressions: [{key: a, operator: In}]\n",
      AT_TERM "/matchExpressions/0: operator In needs values: name at least one, or use Exists" },
    { "NotIn of an empty list", NODES "matchExpressions: [{key: a, operator: NotIn, values: []}]\n",
      AT_TERM "/matchExpressions/0/values: operator NotIn needs values: name at least one, or use "
              "DoesNotExist" },
    { "Exists with a value", NODES "matchExpressions: [{key: a, operator: Exists, values: [b]}]\n",
      AT_TERM "/matchExpressions/0/values: operator Exists takes no values: leave them out, or use "
              "In" },
    { "DoesNotExist with a value",
      NODES "matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]\n",
      AT_TERM "/matchExpressions/0/values: operator DoesNotExist takes no values" },
    { "Gt of two values", NODES "matchExpressions: [{key: a, operator: Gt, values: ['1', '2']}]\n",
      AT_TERM "/matchExpressions/0/values: operator Gt takes one value, a whole number, not 2" },
    { "Lt of no number", NODES "matchExpressions: [{key: a, operator: Lt, values: [few]}]\n",
      AT_TERM "/matchExpressions/0/values/0: operator Lt takes a whole number; \"few\" is none" },
    { "a match without a key", NODES "matchExpressions: [{operator: Exists}]\n",
      AT_TERM "/matchExpressions/0: a key is needed" },
    { "a match without an operator", NODES "matchExpressions: [{key: a, values: [b]}]\n",
      AT_TERM "/matchExpressions/0: an operator is needed: In, NotIn, Exists, DoesNotExist, Gt" },
    { "a key that is no label's", NODES "matchExpressions: [{key: 'a b', operator: Exists}]\n",
      AT_TERM "/matchExpressions/0/key: \"a b\" is not a label's name" },
    { "a field that is none",
      NODES "matchFields: [{key: metadata.uid, operator: In, values: [n1]}]\n",
      AT_TERM "/matchFields/0: of a node's fields only metadata.name can be matched" },
    { "no terms", NEED "    nodeSelectorTerms: []\n",
      "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms: of no terms "
      "none holds" },
    { "terms left out", "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}\n",
      "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution: nodeSelectorTerms are "
      "needed" },
    { "a weight of nothing", WISH "weight: 0\n    preference: {}\n",
      AT_WISH "/weight: 0 is outside of 1 to 100" },
    { "a weight above all", WISH "weight: 101\n    preference: {}\n",
      AT_WISH "/weight: 101 is outside of 1 to 100" },
    { "Gt of a task's label",
      TASKS "topologyKey: zone\n    labelSelector:\n      matchExpressions: "
            "[{key: a, operator: Gt, values: ['1']}]\n",
      AT_TASKS "/labelSelector/matchExpressions/0/operator: operator Gt is for labels of nodes" },
    { "a topologyKey that is no label's", TASKS "topologyKey: 'a zone'\n    labelSelector: {}\n",
      AT_TASKS "/topologyKey: \"a zone\" is not a label's name" },
    { "a label of tasks that is none",
      TASKS "topologyKey: zone\n    labelSelector: {matchLabels: {'a b': c}}\n",
      AT_TASKS "/labelSelector/matchLabels/a b: \"a b\" is not a label's name" },
    { "all that will do",
      NODES "matchExpressions:\n      - {key: a, operator: In, values: [b]}\n"
            "      - {key: c, operator: Exists}\n      - {key: d, operator: Lt, values: ['-3']}\n"
            "      matchFields: [{key: metadata.name, operator: In, values: [n1]}]\n"
            "  preferredDuringSchedulingIgnoredDuringExecution:\n"
            "  - {weight: 100, preference: {}}\n"
            "podAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n"
            "  - topologyKey: zone\n    labelSelector: {matchLabels: {app: x}}\n",
      "" },
};

/* The first fault, as "POINTER: TEXT". */
static char *fault_of(const json_t *value)
{
    struct problem problem = { 0 };
    bool is_good = scenario_affinity_check(value, "", &problem);

    CHECK_EQ(is_good, problem.code == PROBLEM_NONE);
    return is_good ? text_copy("")
                   : text_format("%s: %s", problem.fields[0].pointer + strlen("/affinity"),
                                 problem.fields[0].text);
}

TEST(what_kubernetes_refuses_is_refused_of_new_jobs_alone)
{
    ROW_EACH (c, rows) {
        CLEANUP(arena_fini) struct arena arena = { 0 };
        CLEANUP(json_decrefp) json_t *value = NULL;
        CLEANUP(freep) char *fault = NULL;
        struct problem problem = { 0 };

        CHECK_EQ(yaml_read(c->text, strlen(c->text), 4096, &value, &problem), 0);
        fault = fault_of(value);
        if (!text_begins(fault, c->fault) || (!*c->fault && *fault))
            CHECK_TEXT(fault, c->fault);
        scenario_affinity_read(value, "", &arena, &problem);
        CHECK_EQ(problem.code == PROBLEM_NONE, strcmp(c->name, "a weight above all") != 0);
    }
}
