#include "server/hide.h"

#include "base/test.h"

/* Jobs below 10 are of namespace lab. */
static bool is_in(void *arg, uint64_t job, const char *ns)
{
    (void)arg;
    return text_eq(ns, "lab") && job < 10;
}

static const struct {
    const char *name, *ns, *shown, *left;
} rows[] = {
    { "who sees all", "", "{\"takenBy\":\"j-12\"}", "{\"takenBy\":\"j-12\"}" },
    { "one's own", "lab", "{\"evictedFor\":\"j-9\"}", "{\"evictedFor\":\"j-9\"}" },
    { "another's", "lab", "{\"evictedFor\":\"j-12\",\"node\":\"n1\"}",
      "{\"evictedFor\":\"" HIDDEN_JOB "\",\"node\":\"n1\"}" },
    { "who took it", "lab", "{\"takenBy\":\"j-12\"}", "{\"takenBy\":\"" HIDDEN_JOB "\"}" },
    { "of several those", "lab", "{\"victims\":[\"j-9/task.0#1\",\"j-12/a.3#2\"]}",
      "{\"victims\":[\"j-9/task.0#1\",\"" HIDDEN_JOB "\"]}" },
    { "in words", "lab", "{\"message\":\"preempt for j-12\"}",
      "{\"message\":\"preempt for " HIDDEN_JOB "\"}" },
    { "words of its own", "lab", "{\"message\":\"drained by admin\"}",
      "{\"message\":\"drained by admin\"}" },
    { "whom a machine is ordered for", "lab", "{\"job\":\"j-12\"}",
      "{\"job\":\"" HIDDEN_JOB "\"}" },
    { "what a node has of another ledger", "lab",
      "{\"info\":{\"orphans\":[\"j-9/w.0#1\",\"j-12/w.0#1\"]}}",
      "{\"info\":{\"orphans\":[\"" HIDDEN_JOB "\",\"" HIDDEN_JOB "\"]}}" },
    { "nothing to hide", "lab", "{}", "{}" },
};

TEST(names_of_other_namespaces_are_hidden)
{
    ROW_EACH (c, rows) {
        CLEANUP(json_decrefp) json_t *object = json_loads(c->shown, 0, NULL);
        CLEANUP(json_decrefp) json_t *left = json_loads(c->left, 0, NULL);
        CLEANUP(freep) char *text = NULL, *wanted = NULL;
        struct who who = { 0 };

        snprintf(who.ns, sizeof(who.ns), "%s", c->ns);
        hide_jobs(object, &who, is_in, NULL);
        text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
        wanted = json_dumps(left, JSON_COMPACT | JSON_SORT_KEYS);
        CHECK_TEXT(text, wanted);
    }
}
