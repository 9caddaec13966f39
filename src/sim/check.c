/* check: a line for each document, and how many passed. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "scenario/scenario.h"
#include "sim/inside.h"

static void print_line(const char *path, const struct scenario_result *result)
{
    const char *at = str_text(&result->faults);

    printf("%s %s", result->passed ? "ok" : "FAIL", path);
    for (const char *before = ": "; !result->passed && *at; before = "; ") {
        size_t n = strcspn(at, "\n");
        printf("%s%.*s", before, (int)n, at);
        at += n + (at[n] == '\n');
    }
    putchar('\n');
}

static void print_json(const char *path, const struct scenario *scenario,
                       const struct scenario_result *result)
{
    json_auto_t *object = json_object();
    json_t *faults = json_array();
    CLEANUP(freep) char *text = NULL;

    json_object_set_new(object, "file", json_string(path));
    json_object_set_new(object, "name", json_string(scenario_name(scenario)));
    json_object_set_new(object, "passed", json_boolean(result->passed));
    for (const char *at = str_text(&result->faults); *at;) {
        size_t n = strcspn(at, "\n");
        json_array_append_new(faults, json_stringn(at, n));
        at += n + (at[n] == '\n');
    }
    json_object_set_new(object, "faults", faults);
    json_object_update(object, result->answer);
    text = json_dumps(object, JSON_COMPACT);
    puts(text ? text : "{}");
}

/* 1 passed, 0 not, below 0 the file cannot be read. */
static int check_file(const char *path, bool as_json, struct err *err)
{
    CLEANUP(str_fini) struct str text = { 0 };
    CLEANUP(scenario_files_freep) struct scenario_files *files = scenario_files_new(path);
    CLEANUP(scenario_freep) struct scenario *scenario = NULL;
    CLEANUP(scenario_result_fini) struct scenario_result result = { 0 };
    int r = file_read(AT_FDCWD, path, SCENARIO_MAX_BYTES, &text, err);

    if (r < 0)
        return r;
    scenario = scenario_read_with(str_text(&text), text.len, files);
    if (scenario_check(scenario, &result) < 0)
        result.passed = false;
    if (as_json)
        print_json(path, scenario, &result);
    else
        print_line(path, &result);
    return result.passed;
}

/* What cannot be read is told of and counted; the other files are checked all the same. */
static void tell_unread(struct err *err, size_t *n_unread)
{
    fprintf(stderr, "berth: %s\n", err->text);
    *err = (struct err){ 0 };
    ++*n_unread;
}

int sim_check(char **files, size_t n, bool as_json)
{
    CLEANUP(paths_fini) struct paths paths = { 0 };
    struct err err = { 0 };
    size_t n_passed = 0, n_failed = 0, n_unread = 0;

    for (size_t i = 0; i < n; i++)
        if (paths_add(&paths, files[i], &err) < 0)
            tell_unread(&err, &n_unread);
    for (size_t i = 0; i < paths.n; i++) {
        int r = check_file(paths.at[i], as_json, &err);
        n_passed += r > 0;
        n_failed += r == 0;
        if (r < 0)
            tell_unread(&err, &n_unread);
    }
    if (!as_json)
        printf("%zu passed, %zu failed\n", n_passed, n_failed);
    if (n_unread)
        return 2;
    return n_failed || !n_passed;
}
