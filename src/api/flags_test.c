#include "api/flags.h"

#include <errno.h>
#include <string.h>

#include "api/job.h"
#include "api/script.h"
#include "base/str.h"
#include "base/test.h"

/* Splits at blanks, takes all words and says what came of them. */
static char *take(const char *line)
{
    CLEANUP(flags_fini) struct flags flags;
    CLEANUP(freep) char *copy = text_copy(line);
    struct problem problem = { 0 };
    char *words[32], *rest = NULL;
    size_t n = 0, at = 0;
    int r = 1;

    for (char *w = strtok_r(copy, " ", &rest); w && n < 32; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    flags_init(&flags);
    flags.base_dir = "/home/me";
    while (at < n && r == 1)
        r = flags_take(&flags, words, n, &at, &problem);
    if (r == 0)
        return text_format("stopped at %s", words[at]);
    if (r < 0)
        return text_format("%s %s: %s", problem_codes[problem.code].word, problem.fields[0].pointer,
                           problem.fields[0].text);
    return json_dumps(flags.job, JSON_COMPACT);
}

static const struct {
    const char *name, *words, *object;
} rows[] = {
    { "nothing", "", "{}" },
    { "value behind", "--cpu 2", "{\"resources\":{\"cpu\":\"2\"}}" },
    { "value behind =", "--cpu=2", "{\"resources\":{\"cpu\":\"2\"}}" },
    { "empty value behind =", "--name=", "{\"name\":\"\"}" },
    { "letter", "-q r -ns", "{\"queue\":\"r\",\"namespace\":\"s\"}" },
    { "the last one counts", "--name a --name b", "{\"name\":\"b\"}" },
    { "pairs add up", "--env A=1 --env B=x=y --env A=2", "{\"env\":{\"A\":\"2\",\"B\":\"x=y\"}}" },
    { "resources add up", "--resource lic=2 --memory 1Gi --cpu 1",
      "{\"resources\":{\"lic\":\"2\",\"memory\":\"1Gi\",\"cpu\":\"1\"}}" },
    { "numbers", "--tasks 3 --priority -5 --retries 2",
      "{\"replicas\":3,\"priority\":-5,\"retries\":{\"max\":2}}" },
    { "of gang and minimum the last counts", "--gang --min-available 2", "{\"minAvailable\":2}" },
    { "of minimum and gang the last counts", "--min-available 2 --gang", "{\"gang\":true}" },
    { "not preemptable", "--not-preemptable", "{\"preemptable\":false}" },
    { "tolerations",
      "--toleration k --toleration k:NoExecute --toleration k=v "
      "--toleration k=a:b:NoSchedule --toleration :NoExecute",
      "{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"},"
      "{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"},"
      "{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\"},"
      "{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"a:b\",\"effect\":\"NoSchedule\"},"
      "{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}]}" },
    { "relative image", "--image oci:./a/b", "{\"image\":\"oci:/home/me/a/b\"}" },
    { "absolute image", "--image dir:/a", "{\"image\":\"dir:/a\"}" },
    { "other image", "--image alpine:3", "{\"image\":\"alpine:3\"}" },
    { "not a job flag", "--cpu 1 --follow", "stopped at --follow" },
    { "a word that only begins like one", "--cpus 1", "stopped at --cpus" },
    { "a command", "--cpu 1 -- echo", "stopped at --" },
    { "no value", "--cpu", "INVALID_FIELD /resources/cpu: --cpu: needs a value" },
    { "a value too many", "--gang=yes", "INVALID_FIELD /gang: --gang: takes no value" },
    { "not a number", "--tasks x",
      "INVALID_FIELD /replicas: --tasks: \"x\" is not a whole number" },
    { "too large a number", "--tasks 9223372036854775808",
      "INVALID_FIELD /replicas: --tasks: \"9223372036854775808\" is too large" },
    { "no pair", "--env A", "INVALID_FIELD /env: --env: must be NAME=VALUE" },
    { "no name", "--env =A", "INVALID_FIELD /env: --env: must be NAME=VALUE" },
    { "no pair of a label", "--label a", "INVALID_FIELD /labels: --label: must be KEY=VALUE" },
    { "nothing to tolerate", "--toleration :",
      "INVALID_FIELD /tolerations: --toleration: must be KEY[=VALUE][:EFFECT], or :EFFECT for "
      "every "
      "taint of it" },
    { "no effect", "--toleration k:",
      "INVALID_FIELD /tolerations: --toleration: must be KEY[=VALUE][:EFFECT], or :EFFECT for "
      "every "
      "taint of it" },
    { "a value of nothing", "--toleration =v",
      "INVALID_FIELD /tolerations: --toleration: must be KEY[=VALUE][:EFFECT], or :EFFECT for "
      "every "
      "taint of it" },
    { "later", "--gpus 1",
      "COMES_LATER /gpu: --gpus: comes with a later version; leave it out for now" },
    { "later without a value", "--volume",
      "COMES_LATER /volumes: --volume: comes with a later version; leave it out for now" },
    { "a key that no flag sets", "--affinity {}",
      "INVALID_FIELD /affinity: --affinity: has no flag: a job file says it" },
    { "a budget", "--budget maxUnavailable=30%", "{\"budget\":{\"maxUnavailable\":\"30%\"}}" },
    { "a domain by name", "--topology hard:rack",
      "{\"topology\":{\"mode\":\"hard\",\"tier\":\"rack\"}}" },
    { "a domain by number", "--topology soft:2", "{\"topology\":{\"mode\":\"soft\",\"tier\":2}}" },
    { "any domain", "--topology soft", "{\"topology\":{\"mode\":\"soft\"}}" },
    { "the longest wait", "--backoff 1s --backoff-max 1m",
      "{\"retries\":{\"backoff\":\"1s\",\"backoffMax\":\"1m\"}}" },
    { "later too", "--after j-1",
      "COMES_LATER /after: --after: comes with a later version; leave it out for now" },
};

TEST(flags_make_an_object)
{
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *object = take(c->words);
        CHECK_TEXT(object, c->object);
    }
}

TEST(flags_of_the_table_have_all_they_need)
{
    for (size_t i = 0; flag_at(i); i++) {
        const struct flag *flag = flag_at(i);
        CHECK(flag->name && flag->key && (flag->help || flag_why(flag)));
        CHECK_EQ(!flag->value, flag->kind == FLAG_TRUE || flag->kind == FLAG_FALSE);
    }
    CHECK_TEXT(flags_nearest("--cpus=2")->name, "cpu");
    CHECK_TEXT(flags_nearest("--memroy")->name, "memory");
    CHECK_TEXT(flags_nearest("--limit=1h")->name, "time");
    CHECK_TEXT(flags_nearest("--nodeSelector")->name, "node-selector");
    CHECK(!flags_nearest("--zebra"));
}

static const struct {
    const char *name, *file, *object;
} files[] = {
    { "a flat job", "{\"image\":\"oci:/i\",\"env\":{\"A\":\"1\",\"B\":\"1\"},\"minAvailable\":1}",
      "{\"image\":\"oci:/i\",\"env\":{\"A\":\"1\",\"B\":\"2\"},\"gang\":true,\"queue\":\"q\"}" },
    { "one group", "{\"queue\":\"x\",\"groups\":[{\"image\":\"oci:/i\"}]}",
      "{\"queue\":\"q\",\"groups\":[{\"image\":\"oci:/i\",\"env\":{\"B\":\"2\"}}],\"gang\":true}" },
    { "two groups", "{\"groups\":[{},{}]}",
      "/groups: the job has several groups, so no flag can set their env" },
};

TEST(flags_go_over_a_file)
{
    static const char *const words[] = { "-q", "q", "--env", "B=2", "--gang" };
    CLEANUP(flags_fini) struct flags flags;
    struct problem none = { 0 };

    flags_init(&flags);
    for (size_t at = 0; at < COUNT_OF(words);)
        CHECK_EQ(flags_take(&flags, (char *const *)words, COUNT_OF(words), &at, &none), 1);
    ROW_EACH (c, files) {
        json_auto_t *object = json_loads(c->file, 0, NULL),
                    *expected = json_loads(c->object, 0, NULL);
        struct problem problem = { 0 };
        if (flags_apply(&flags, object, &problem) < 0)
            CHECK_TEXT(problem.detail, c->object);
        else
            CHECK(json_equal(object, expected));
    }
}

TEST(flags_are_named_for_the_faults_they_cause)
{
    static const char *const words[] = { "--cpu", "much", "--label", "a/b=c", "--env", "B=2" };
    CLEANUP(flags_fini) struct flags flags;
    CLEANUP(job_spec_freep) struct job_spec *spec = NULL;
    struct problem problem = { 0 };

    flags_init(&flags);
    for (size_t at = 0; at < COUNT_OF(words);)
        CHECK_EQ(flags_take(&flags, (char *const *)words, COUNT_OF(words), &at, &problem), 1);
    CHECK_EQ(job_spec_from_json(flags.job, NULL, &spec, &problem), -EINVAL);
    problem.fields[0].line = problem.fields[1].line = 7; /* as if a file said the same */
    flags_blame(&flags, &problem);
    CHECK_EQ(problem.fields[0].line, 7);
    CHECK_EQ(problem.fields[1].line, 0);
    CHECK_EQ(problem.n_fields, 2);
    CHECK_TEXT(problem.fields[0].pointer, "/image");
    CHECK(!text_begins(problem.fields[0].text, "--"));
    CHECK_TEXT(problem.fields[1].text, "--cpu: \"much\" is not a quantity");
}

TEST(the_help_of_the_priority_names_its_bounds)
{
    CLEANUP(freep) char *bounds = text_format("%d to %d", JOB_PRIORITY_MIN, JOB_PRIORITY_MAX);
    const struct flag *flag;
    size_t i = 0;

    while ((flag = flag_at(i)) && !text_eq(flag->name, "priority"))
        i++;
    CHECK(flag != NULL);
    CHECK_TEXT(flag->help, bounds);
}
