#include "api/problem.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"

TEST(problem_keeps_the_first_code_and_every_field)
{
    struct problem problem = { 0 };
    CLEANUP(str_fini) struct str text = { 0 };

    CHECK(problem_add(&problem, PROBLEM_UNKNOWN_FIELD, "/a", "unknown") < 0);
    CHECK(problem_add(&problem, PROBLEM_INVALID_FIELD, "", "the %s", "whole") < 0);
    problem_set(&problem, PROBLEM_INTERNAL, "too late");
    problem.fields[0].line = 3;
    problem.fields[0].column = 5;
    CHECK_EQ(problem.code, PROBLEM_UNKNOWN_FIELD);
    CHECK_TEXT(problem.detail, "/a: unknown");
    CHECK_EQ(problem.n_fields, 2);
    problem_write(&problem, "x.yaml", &text);
    CHECK_TEXT(str_text(&text), "x.yaml:3:5: /a: unknown\nx.yaml: the whole\n");
}

TEST(problem_goes_out_as_a_document_and_comes_back)
{
    struct problem problem = { 0 }, again = { 0 };
    json_auto_t *document = NULL, *second = NULL;

    for (int i = 0; i < PROBLEM_FIELDS_MAX + 5; i++)
        problem_add(&problem, PROBLEM_INVALID_FIELD, "/a/b", "fault %d", i);
    problem.fields[1].line = 7;
    problem.fields[1].column = 2;
    document = problem_to_json(&problem, "req-1");
    CHECK_TEXT(json_string_value(json_object_get(document, "type")),
               "https://berth.example/problems/invalid-field");
    CHECK_EQ(json_integer_value(json_object_get(document, "status")), 422);
    CHECK_TEXT(json_string_value(json_object_get(document, "requestId")), "req-1");
    CHECK_EQ(json_array_size(json_object_get(document, "errors")), PROBLEM_FIELDS_MAX);

    problem_from_json(document, 422, &again);
    CHECK_EQ(again.code, PROBLEM_INVALID_FIELD);
    CHECK_EQ(again.n_fields, PROBLEM_FIELDS_MAX + 5);
    CHECK_EQ(again.fields[1].line, 7);
    second = problem_to_json(&again, "req-1");
    CHECK(json_equal(document, second));
}

TEST(problem_without_fields_has_no_list)
{
    struct problem problem = { 0 };
    json_auto_t *document = NULL;

    problem_set(&problem, PROBLEM_NOT_FOUND, "no job j-7");
    document = problem_to_json(&problem, NULL);
    CHECK(!json_object_get(document, "errors"));
    CHECK(!json_object_get(document, "requestId"));
    CHECK_EQ(json_integer_value(json_object_get(document, "status")), 404);
}

/* A text cut at a limit, in the middle of a letter, must not spoil the document. */
TEST(problem_text_is_cut_at_a_letter)
{
    struct problem problem = { 0 };
    json_auto_t *document = NULL;
    char text[600];
    const char *detail;

    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa4", 3);
    problem_add(&problem, PROBLEM_INVALID_FIELD, "/x", "%s", text);
    document = problem_to_json(&problem, NULL);
    detail = json_string_value(
        json_object_get(json_array_get(json_object_get(document, "errors"), 0), "detail"));
    CHECK(detail && strlen(detail) > 200);
}

static const struct {
    const char *name, *body;
    int status;
    enum problem_code code;
} answers[] = {
    { "a code that is not known here", "{\"code\":\"BRAND_NEW\",\"detail\":\"x\"}", 422,
      PROBLEM_INVALID_FIELD },
    { "no code", "{}", 404, PROBLEM_NOT_FOUND },
    { "another status", "{}", 418, PROBLEM_BAD_REQUEST },
    { "a proxy's error", "{}", 502, PROBLEM_INTERNAL },
    { "not an object", "[]", 503, PROBLEM_STARTING },
    { "members of the wrong types", "{\"code\":1,\"detail\":[],\"errors\":[1,{\"line\":\"x\"}]}",
      422, PROBLEM_INVALID_FIELD },
};

TEST(problem_is_read_from_any_answer)
{
    ROW_EACH (c, answers) {
        struct problem problem;
        json_auto_t *body = json_loads(c->body, 0, NULL);
        problem_from_json(body, c->status, &problem);
        CHECK_EQ(problem.code, c->code);
        CHECK(problem.detail[0]);
    }
    struct problem problem;
    problem_from_json(NULL, 500, &problem);
    CHECK_EQ(problem.code, PROBLEM_INTERNAL);
}
