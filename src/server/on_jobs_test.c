#include "server/serving.h"

static void submit(struct serving *s, const char *name, const char *more)
{
    CLEANUP(freep) char *body = text_format("{\"name\":\"%s\",\"image\":\"oci:/i\"%s}", name, more);

    SERVING_EXPECT(s, 201, "POST /v1/jobs", "", body);
}

TEST(a_submit_answers_the_job_and_where_it_is)
{
    struct serving s;
    char location[256], etag[256], revision[256];
    CLEANUP(freep) char *request = NULL;

    serving_start(&s);
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "Content-Type: application/yaml; charset=utf-8\r\n",
                   "name: train\nimage: oci:/i\npriority: 5\nlabels: {team: vision}\n"
                   "resources: {cpu: 500m, memory: 1Gi}\nreplicas: 3\n");
    CHECK_TEXT(serving_get(&s, "name"), "train");
    CHECK_TEXT(serving_get(&s, "user"), "admin");
    CHECK_TEXT(serving_get(&s, "resources.cpu"), "1500m");
    CHECK_TEXT(serving_get(&s, "resources.memory"), "3Gi");
    CHECK_TEXT(serving_get(&s, "tasks.pending"), "3");
    CHECK_TEXT(serving_get(&s, "labels.team"), "vision");
    CHECK_TEXT(serving_get(&s, "reasons.0.tasks"), "3");
    CHECK_TEXT(serving_get(&s, "spec.groups.0.replicas"), "3");
    CHECK(test_header(&s.answer, "Location", location));
    CHECK(test_header(&s.answer, "ETag", etag));
    CHECK(test_header(&s.answer, "Berth-Revision", revision));
    CHECK_EQ(strlen(etag), strlen(revision) + 2);
    request = text_format("GET %s", location);
    SERVING_EXPECT(&s, 200, request, "", NULL);
    CHECK_TEXT(serving_get(&s, "name"), "train");
    serving_stop(&s);
}

TEST(the_same_key_is_the_same_job)
{
    static const char one[] = "{\"name\":\"a\",\"image\":\"oci:/i\"}";
    static const char same[] = "{\"image\":\"oci:/i\",\"name\":\"a\",\"priority\":0}";
    static const char other[] = "{\"name\":\"b\",\"image\":\"oci:/i\"}";
    static const char key[] = "Idempotency-Key: nightly 1\r\n";
    struct serving s;
    char id[64], value[256];

    serving_start(&s);
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", key, one);
    snprintf(id, sizeof(id), "%s", serving_get(&s, "id"));
    CHECK(!test_header(&s.answer, "Idempotency-Replayed", value));
    /* What counts is the job that is meant, not how it is written. */
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", key, same);
    CHECK_TEXT(serving_get(&s, "id"), id);
    CHECK(test_header(&s.answer, "Idempotency-Replayed", value));
    CHECK_TEXT(value, "true");
    SERVING_EXPECT(&s, 422, "POST /v1/jobs", key, other);
    CHECK_TEXT(serving_get(&s, "code"), "KEY_REUSED");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "Idempotency-Key: other\r\n", one);
    CHECK(strcmp(serving_get(&s, "id"), id) != 0);
    serving_stop(&s);
}

TEST(variables_have_the_names_of_variables)
{
    struct serving s;

    serving_start(&s);
    SERVING_EXPECT(&s, 422, "POST /v1/jobs", "",
                   "{\"image\":\"oci:/i\",\"env\":{\"OK\":\"1\",\"A B\":\"1\"}}");
    CHECK_TEXT(serving_get(&s, "code"), "INVALID_FIELD");
    CHECK_TEXT(serving_get(&s, "errors.0.pointer"), "/env/A B");
    CHECK_TEXT(serving_get(&s, "errors.1"), "(none)");
    serving_stop(&s);
}

static const struct {
    const char *name, *query, *names; /* of the jobs listed */
} filters[] = {
    { "all, newest first", "", "d c b a" },
    { "by queue", "?queue=default", "d c b a" },
    { "by another queue", "?queue=root", "" },
    { "by name", "?name=b", "b" },
    { "by user", "?user=nobody", "" },
    { "by state", "?state=cancelled", "a" },
    { "by several states", "?state=pending,cancelled", "d c b a" },
    { "active", "?active=1", "d c b" },
    { "by label", "?label=team", "d c" },
    { "by label and value", "?label=team%3Dred", "c" },
    { "by namespace", "?namespace=lab", "d" },
    { "since an hour ago", "?since=1h", "d c b a" },
    { "since tomorrow", "?since=2999-01-01T00:00:00Z", "" },
    { "several at once", "?label=team&namespace=default", "c" },
    { "a page", "?limit=2", "d c" },
};

static const struct {
    const char *name, *query;
    int status;
    const char *says;
} no_filters[] = {
    { "a queue that is not there", "?queue=defalt", 404,
      "there is no queue defalt; did you mean default?" },
    { "the same in an order", "?queue=defalt&sort=name", 404,
      "there is no queue defalt; did you mean default?" },
    { "an empty queue", "?queue=", 400, "queue= is empty" },
    { "an empty label", "?label=", 400, "label= is empty" },
    { "an empty state", "?state=", 400, "state= is empty" },
    { "an empty user", "?user=&queue=default", 400, "user= is empty" },
};

/* Of all lists, and of what else can be narrowed. */
static const struct {
    const char *name, *request, *says;
} empty[] = {
    { "a node's state", "GET /v1/nodes?state=", "state= is empty" },
    { "a node's label", "GET /v1/nodes?label=", "label= is empty" },
    { "a node's state, followed", "GET /v1/nodes?watch=1&state=", "state= is empty" },
    { "a queue's state", "GET /v1/queues?state=", "state= is empty" },
    { "an order's state", "GET /v1/orders?state=", "state= is empty" },
    { "a task's state", "GET /v1/jobs/j-1/tasks?state=", "state= is empty" },
    { "a task", "GET /v1/jobs/j-1/tasks?task=", "task= is empty" },
    { "a type of events", "GET /v1/events?type=", "type= is empty" },
    { "the job of events", "GET /v1/events?job=", "job= is empty" },
    { "a resource", "GET /v1/queues/default/why?resource=", "resource= is empty" },
    { "a node of an explanation", "GET /v1/jobs/j-1/explain?node=", "node= is empty" },
    { "a limit", "GET /v1/nodes?limit=", "limit= is empty" },
    { "a state that there is not", "GET /v1/nodes?state=redy", "did you mean ready?" },
    { "a queue's", "GET /v1/queues?state=opn", "did you mean open?" },
    { "an order's", "GET /v1/orders?state=wantd", "did you mean wanted?" },
};

TEST(what_is_empty_narrows_nothing_anywhere)
{
    struct serving s;

    serving_start(&s);
    ROW_EACH (c, empty) {
        SERVING_EXPECT(&s, 400, c->request, "", NULL);
        CHECK(strstr(serving_get(&s, "detail"), c->says));
    }
    SERVING_EXPECT(&s, 200, "GET /v1/nodes?sort=&cursor=", "", NULL);
    serving_stop(&s);
}

TEST(what_would_narrow_nothing_is_no_filter)
{
    struct serving s;

    serving_start(&s);
    submit(&s, "a", "");
    ROW_EACH (c, no_filters) {
        CLEANUP(freep) char *request = text_format("GET /v1/jobs%s", c->query);

        SERVING_EXPECT(&s, c->status, request, "", NULL);
        CHECK(strstr(serving_get(&s, "detail"), c->says));
    }
    serving_stop(&s);
}

static void add_names(struct serving *s, struct str *out)
{
    json_t *list = serving_body(s), *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item) str_addf(
        out, "%s%s", out->len ? " " : "", json_string_value(json_object_get(item, "name")));
    json_decref(list);
}

static void submit_four(struct serving *s)
{
    CLEANUP(freep) char *request = NULL;

    submit(s, "a", "");
    request = text_format("DELETE /v1/jobs/%s", serving_get(s, "id"));
    SERVING_EXPECT(s, 204, request, "", NULL);
    submit(s, "b", "");
    submit(s, "c", ",\"labels\":{\"team\":\"red\"}");
    submit(s, "d", ",\"labels\":{\"team\":\"blue\"},\"namespace\":\"lab\"");
}

TEST(jobs_are_listed_by_filters)
{
    struct serving s;

    serving_start(&s);
    submit_four(&s);
    ROW_EACH (c, filters) {
        CLEANUP(freep) char *request = text_format("GET /v1/jobs%s", c->query);
        CLEANUP(str_fini) struct str names = { 0 };

        SERVING_EXPECT(&s, 200, request, "", NULL);
        add_names(&s, &names);
        CHECK_TEXT(str_text(&names), c->names);
        CHECK_TEXT(serving_get(&s, "items.0.spec"), "(none)");
    }
    serving_stop(&s);
}

TEST(a_cursor_goes_on_with_the_same_filters_only)
{
    CLEANUP(str_fini) struct str names = { 0 };
    struct serving s;
    char cursor[200];
    CLEANUP(freep) char *request = NULL, *other = NULL;

    serving_start(&s);
    submit_four(&s);
    SERVING_EXPECT(&s, 200, "GET /v1/jobs?limit=3&queue=default", "", NULL);
    add_names(&s, &names);
    snprintf(cursor, sizeof(cursor), "%s", serving_get(&s, "next"));
    /* The page's size may change, and what was submitted meanwhile is no matter. */
    submit(&s, "e", "");
    request = text_format("GET /v1/jobs?queue=default&limit=1&cursor=%s", cursor);
    SERVING_EXPECT(&s, 200, request, "", NULL);
    add_names(&s, &names);
    CHECK_TEXT(str_text(&names), "d c b a");
    CHECK_TEXT(serving_get(&s, "next"), "(none)");
    other = text_format("GET /v1/jobs?cursor=%s", cursor);
    SERVING_EXPECT(&s, 400, other, "", NULL);
    CHECK_TEXT(serving_get(&s, "code"), "BAD_CURSOR");
    serving_stop(&s);
}

static const struct {
    const char *name, *if_match, *body;
    int status;
    const char *what; /* the code of a problem, or labels, priority and held afterwards */
} patches[] = {
    { "without If-Match", "", "{}", 428, "PRECONDITION_NEEDED" },
    { "an old ETag", "If-Match: \"1\"\r\n", "{}", 412, "CHANGED_SINCE" },
    { "no ETag at all", "If-Match: nonsense\r\n", "{}", 412, "CHANGED_SINCE" },
    { "priority", "If-Match: *\r\n", "{\"priority\":7}", 200, "{\"a\":\"1\"} 7 false" },
    { "labels merged", "If-Match: *\r\n", "{\"labels\":{\"b\":\"2\"}}", 200,
      "{\"a\":\"1\",\"b\":\"2\"} 7 false" },
    { "a label taken away", "If-Match: *\r\n", "{\"labels\":{\"a\":null}}", 200,
      "{\"b\":\"2\"} 7 false" },
    { "held", "If-Match: *\r\n", "{\"held\":true}", 200, "{\"b\":\"2\"} 7 true" },
    { "released", "If-Match: *\r\n", "{\"held\":false}", 200, "{\"b\":\"2\"} 7 false" },
    { "an unknown member", "If-Match: *\r\n", "{\"colour\":1}", 422, "UNKNOWN_FIELD" },
    { "a member that cannot be changed", "If-Match: *\r\n", "{\"image\":\"x\"}", 422,
      "UNKNOWN_FIELD" },
    { "priority of another type", "If-Match: *\r\n", "{\"priority\":\"7\"}", 422, "INVALID_FIELD" },
    { "priority out of range", "If-Match: *\r\n", "{\"priority\":100001}", 422, "INVALID_FIELD" },
    { "a label of another type", "If-Match: *\r\n", "{\"labels\":{\"a\":1}}", 422,
      "INVALID_FIELD" },
    { "a label with a bad name", "If-Match: *\r\n", "{\"labels\":{\"a b\":\"1\"}}", 422,
      "INVALID_FIELD" },
    { "labels of another type", "If-Match: *\r\n", "{\"labels\":[]}", 422, "INVALID_FIELD" },
    { "no object", "If-Match: *\r\n", "[]", 422, "INVALID_FIELD" },
};

TEST(a_job_is_patched)
{
    struct serving s;
    CLEANUP(freep) char *request = NULL, *match = NULL;
    char etag[256];

    serving_start(&s);
    submit(&s, "a", ",\"labels\":{\"a\":\"1\"}");
    request = text_format("PATCH /v1/jobs/%s", serving_get(&s, "id"));
    ROW_EACH (c, patches) {
        CLEANUP(str_fini) struct str seen = { 0 };

        SERVING_EXPECT(&s, c->status, request, c->if_match, c->body);
        if (c->status == 200) {
            str_addf(&seen, "%s ", serving_get(&s, "labels"));
            str_addf(&seen, "%s ", serving_get(&s, "priority"));
            str_add(&seen, serving_get(&s, "held"));
        }
        CHECK_TEXT(c->status == 200 ? str_text(&seen) : serving_get(&s, "code"), c->what);
    }
    /* The ETag of what was read does, once. */
    SERVING_EXPECT(&s, 200, request, "If-Match: *\r\n", "{\"priority\":8}");
    CHECK(test_header(&s.answer, "ETag", etag));
    match = text_format("If-Match: %s\r\n", etag);
    SERVING_EXPECT(&s, 200, request, match, "{\"priority\":9}");
    SERVING_EXPECT(&s, 412, request, match, "{\"priority\":10}");
    serving_stop(&s);
}

static const struct {
    const char *name, *body;
    int status;
    const char *limit, *submitted; /* afterwards, or the code and the fault */
} limits[] = {
    { "said anew", "{\"limit\":\"2h\"}", 200, "2h", "1h" },
    { "more", "{\"limit\":\"+30m\"}", 200, "2h30m", "1h" },
    { "less", "{\"limit\":\"-90m\"}", 200, "1h", "(none)" },
    { "more than there can be", "{\"limit\":\"+3650d\"}", 422, "INVALID_FIELD",
      "is longer than 3650d, the longest that may be" },
    { "by no duration", "{\"limit\":\"+soon\"}", 422, "INVALID_FIELD",
      "\"soon\" is not a duration (such as 30s, 1h30m, 2d; units d h m s ms)" },
    { "taken away", "{\"limit\":null}", 200, "(none)", "1h" },
    { "more than none", "{\"limit\":\"+1h\"}", 422, "INVALID_FIELD",
      "there is none that could be moved; say how long it is to be" },
};

TEST(a_limit_is_said_or_moved)
{
    struct serving s;
    CLEANUP(freep) char *request = NULL;

    serving_start(&s);
    submit(&s, "a", ",\"limit\":\"1h\"");
    CHECK_TEXT(serving_get(&s, "limit"), "1h");
    CHECK_TEXT(serving_get(&s, "limitSubmitted"), "(none)");
    request = text_format("PATCH /v1/jobs/%s", serving_get(&s, "id"));
    ROW_EACH (c, limits) {
        bool is_good = c->status == 200;

        SERVING_EXPECT(&s, c->status, request, "If-Match: *\r\n", c->body);
        CHECK_TEXT(serving_get(&s, is_good ? "limit" : "code"), c->limit);
        CHECK_TEXT(serving_get(&s, is_good ? "limitSubmitted" : "errors.0.detail"), c->submitted);
        if (is_good) /* it can be submitted again as it is */
            CHECK_TEXT(serving_get(&s, "spec.limitSubmitted"), "(none)");
    }
    serving_stop(&s);
}

TEST(cancelling_twice_is_cancelling_once)
{
    struct serving s;
    CLEANUP(freep) char *remove = NULL, *action = NULL, *show = NULL;

    serving_start(&s);
    submit(&s, "a", "");
    show = text_format("GET /v1/jobs/%s", serving_get(&s, "id"));
    remove = text_format("DELETE /v1/jobs/%s", serving_get(&s, "id"));
    action = text_format("POST /v1/jobs/%s/actions", serving_get(&s, "id"));
    SERVING_EXPECT(&s, 204, remove, "", NULL);
    CHECK_EQ(s.answer.body.len, 0);
    SERVING_EXPECT(&s, 204, remove, "", NULL);
    SERVING_EXPECT(&s, 200, action, "", "{\"action\":\"cancel\"}");
    CHECK_TEXT(serving_get(&s, "state"), "cancelled");
    SERVING_EXPECT(&s, 200, show, "", NULL);
    CHECK_TEXT(serving_get(&s, "state"), "cancelled");
    CHECK_TEXT(serving_get(&s, "stopCause"), "CANCELLED");
    CHECK_TEXT(serving_get(&s, "code"), "(none)"); /* nothing ran */
    CHECK_TEXT(serving_get(&s, "tasks.cancelled"), "1");
    CHECK_TEXT(serving_get(&s, "reasons"), "(none)");
    SERVING_EXPECT(&s, 404, "DELETE /v1/jobs/j-999", "", NULL);
    serving_stop(&s);
}

static const struct {
    const char *name, *body;
    int status;
    const char *held; /* afterwards, or the code */
} actions[] = {
    { "hold", "{\"action\":\"hold\"}", 200, "true" },
    { "hold again", "{\"action\":\"hold\"}", 200, "true" },
    { "release", "{\"action\":\"release\"}", 200, "false" },
    { "none", "{}", 422, "INVALID_FIELD" },
    { "unknown", "{\"action\":\"dance\"}", 422, "INVALID_FIELD" },
    { "a grace too long", "{\"action\":\"cancel\",\"graceSeconds\":601}", 422, "INVALID_FIELD" },
    { "an unknown member", "{\"action\":\"cancel\",\"grace\":1}", 422, "UNKNOWN_FIELD" },
};

TEST(a_job_is_held_and_released)
{
    struct serving s;
    CLEANUP(freep) char *request = NULL;

    serving_start(&s);
    submit(&s, "a", "");
    request = text_format("POST /v1/jobs/%s/actions", serving_get(&s, "id"));
    ROW_EACH (c, actions) {
        SERVING_EXPECT(&s, c->status, request, "", c->body);
        CHECK_TEXT(serving_get(&s, c->status == 200 ? "held" : "code"), c->held);
    }
    serving_stop(&s);
}

static const char huge[] = "{\"name\":\"huge\",\"groups\":[{\"name\":\"w\",\"image\":\"oci:/i\","
                           "\"resources\":{\"cpu\":64}}]}";

/* A node of four cores whose agent says nothing more. */
static void join(struct serving *s)
{
    SERVING_EXPECT_AS(s, s->agent_token, 200, "POST /v1/worker/register", "",
                      "{\"node\":\"n1\",\"bootId\":\"b\",\"incarnation\":\"\",\"revisionSeen\":0,"
                      "\"version\":\"1\",\"offers\":{\"cpu\":4000,\"memory\":1073741824},"
                      "\"labels\":{},\"taints\":[],\"info\":{},\"attempts\":[]}");
}

TEST(a_dry_run_says_what_would_be_and_submits_nothing)
{
    struct serving s;

    serving_start(&s);
    join(&s);
    SERVING_EXPECT(&s, 200, "POST /v1/jobs?dryRun=1", "",
                   "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":4}}");
    CHECK_TEXT(serving_get(&s, "outcome"), "start");
    CHECK_TEXT(serving_get(&s, "placements.0.task"), "task.0");
    CHECK_TEXT(serving_get(&s, "placements.0.node"), "n1");
    SERVING_EXPECT(&s, 200, "POST /v1/jobs?dryRun=1", "", huge);
    CHECK_TEXT(serving_get(&s, "outcome"), "wait");
    CHECK_TEXT(serving_get(&s, "reasons.0.code"), "LARGER_THAN_ANY_NODE");
    CHECK_TEXT(serving_get(&s, "explain"), "(none)");
    SERVING_EXPECT(&s, 200, "POST /v1/jobs?dryRun=1&changes=1", "", huge);
    CHECK_TEXT(serving_get(&s, "explain.code"), "LARGER_THAN_ANY_NODE");
    CHECK_TEXT(serving_get(&s, "explain.queue.place"), "1");
    CHECK_TEXT(serving_get(&s, "explain.nodes.failed.0.nodes.0.name"), "n1");
    CHECK_TEXT(serving_get(&s, "explain.changes.0.pointer"), "/groups/0/resources/cpu");
    CHECK_TEXT(serving_get(&s, "explain.changes.0.to"), "4");
    /* Of what starts only the rest is explained, and nothing that would start it. */
    SERVING_EXPECT(
        &s, 200, "POST /v1/jobs?dryRun=1&changes=1", "",
        "{\"name\":\"a\",\"image\":\"oci:/i\",\"replicas\":3,\"resources\":{\"cpu\":2}}");
    CHECK_TEXT(serving_get(&s, "outcome"), "start");
    CHECK_TEXT(serving_get(&s, "placements.2"), "(none)");
    CHECK_TEXT(serving_get(&s, "explain.code"), "INSUFFICIENT_CPU");
    CHECK_TEXT(serving_get(&s, "explain.reason.blocker"), "(none)");
    CHECK_TEXT(serving_get(&s, "explain.changes"), "(none)");
    SERVING_EXPECT(&s, 400, "POST /v1/jobs?dryRun=1&changes=11", "", huge);
    SERVING_EXPECT(&s, 200, "GET /v1/jobs", "", NULL);
    CHECK_TEXT(serving_get(&s, "items"), "[]");
    serving_stop(&s);
}

TEST(what_can_never_run_is_refused_or_warned_of_as_asked)
{
    struct serving s;

    serving_start(&s);
    join(&s);
    SERVING_EXPECT(&s, 422, "POST /v1/jobs?requireFeasible=1", "", huge);
    CHECK_TEXT(serving_get(&s, "code"), "NEVER_FITS");
    CHECK_TEXT(serving_get(&s, "detail"), "group w: LARGER_THAN_ANY_NODE: asks cpu 64, at most 4");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs?requireFeasible=1", "",
                   "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":4}}");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs?warn=1", "", huge);
    CHECK_TEXT(serving_get(&s, "state"), "pending");
    CHECK_TEXT(serving_get(&s, "warnings.0.group"), "w");
    CHECK_TEXT(serving_get(&s, "warnings.0.code"), "LARGER_THAN_ANY_NODE");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "", huge);
    CHECK_TEXT(serving_get(&s, "warnings"), "(none)");
    SERVING_EXPECT(&s, 400, "POST /v1/jobs?warn=2", "", huge);
    serving_stop(&s);
}

TEST(a_batch_gives_each_job_an_answer_of_its_own)
{
    static const char batch[] =
        "{\"jobs\":[{\"name\":\"a\",\"image\":\"oci:/i\"},{\"name\":\"B\",\"image\":\"oci:/i\"},"
        "{\"name\":\"c\",\"image\":\"oci:/"
        "i\",\"queue\":\"nobody\"},{\"name\":\"d\",\"image\":\"oci:/i\"}]}";
    struct serving s;
    char first[64];

    serving_start(&s);
    SERVING_EXPECT(&s, 200, "POST /v1/jobs:batch", "Idempotency-Key: k\r\n", batch);
    CHECK_TEXT(serving_get(&s, "items.0.status"), "201");
    snprintf(first, sizeof(first), "%s", serving_get(&s, "items.0.id"));
    CHECK_TEXT(serving_get(&s, "items.1.status"), "422");
    CHECK_TEXT(serving_get(&s, "items.1.errors.0.pointer"), "/name");
    CHECK_TEXT(serving_get(&s, "items.2.status"), "422");
    CHECK_TEXT(serving_get(&s, "items.2.errors.0.pointer"), "/queue");
    CHECK_TEXT(serving_get(&s, "items.3.status"), "201");
    SERVING_EXPECT(&s, 200, "POST /v1/jobs:batch", "Idempotency-Key: k\r\n", batch);
    CHECK_TEXT(serving_get(&s, "items.0.id"), first);
    CHECK_TEXT(serving_get(&s, "items.0.replayed"), "true");
    SERVING_EXPECT(&s, 200, "GET /v1/jobs", "", NULL);
    CHECK_TEXT(serving_get(&s, "items.1.name"), "a");
    CHECK_TEXT(serving_get(&s, "items.2"), "(none)");
    serving_stop(&s);
}

static const struct {
    const char *name, *body, *pointer;
} bad_batches[] = {
    { "no list", "{}", "/jobs" },
    { "an empty list", "{\"jobs\":[]}", "/jobs" },
    { "a list alone", "[]", "/jobs" },
    { "another member", "{\"jobs\":[{}],\"also\":1}", "/" },
};

TEST(a_batch_that_is_none_is_refused_whole)
{
    CLEANUP(str_fini) struct str many = { 0 };
    struct serving s;

    serving_start(&s);
    ROW_EACH (c, bad_batches) {
        SERVING_EXPECT(&s, 422, "POST /v1/jobs:batch", "", c->body);
        CHECK_TEXT(serving_get(&s, "errors.0.pointer"), c->pointer);
    }
    str_add(&many, "{\"jobs\":[{}");
    for (int i = 0; i < 500; i++)
        str_add(&many, ",{}");
    str_add(&many, "]}");
    SERVING_EXPECT(&s, 422, "POST /v1/jobs:batch", "", many.data);
    serving_stop(&s);
}
