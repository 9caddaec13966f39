#include "server/serving.h"

static const struct {
    const char *name, *request, *headers, *body;
    int status;
    const char *path, *value; /* a member of the answer */
} steps[] = {
    { "two are there from the beginning", "GET /v1/queues", "", NULL, 200, "items.1.name", "root" },
    { "create", "POST /v1/queues", "",
      "{\"name\":\"research\",\"weight\":2,\"cap\":{\"cpu\":\"20\",\"memory\":\"4Gi\"}}", 201,
      "cap.memory", "4Gi" },
    { "create again", "POST /v1/queues", "", "{\"name\":\"research\"}", 409, "code", "CONFLICT" },
    { "create without a name", "POST /v1/queues", "", "{\"weight\":2}", 422, "errors.0.pointer",
      "/name" },
    { "create with a bad name", "POST /v1/queues", "", "{\"name\":\"A b\"}", 422, "code",
      "INVALID_FIELD" },
    { "a weight of 0", "POST /v1/queues", "", "{\"name\":\"b\",\"weight\":0}", 422,
      "errors.0.pointer", "/weight" },
    { "an amount that is none", "POST /v1/queues", "",
      "{\"name\":\"b\",\"cap\":{\"cpu\":\"many\"}}", 422, "errors.0.pointer", "/cap/cpu" },
    { "a cap of half a task", "POST /v1/queues", "", "{\"name\":\"b\",\"cap\":{\"pods\":1.5}}", 422,
      "errors.0.pointer", "/cap/pods" },
    { "all that a queue can have", "POST /v1/queues", "",
      "{\"name\":\"full\",\"weight\":2,\"priority\":4,\"deserved\":{\"cpu\":2},\"guarantee\":{"
      "\"cpu\":1},"
      "\"capability\":{\"cpu\":3},\"reclaimable\":false,\"minRuntime\":\"90s\"}",
      201, "minRuntime", "1m30s" },
    { "a capability is the cap", "GET /v1/queues/full", "", NULL, 200, "cap", "{\"cpu\":\"3\"}" },
    { "a patch knows it too", "PATCH /v1/queues/full", "If-Match: *\r\n",
      "{\"capability\":{\"cpu\":4}}", 200, "cap", "{\"cpu\":\"4\"}" },
    { "both names at once", "POST /v1/queues", "", "{\"name\":\"b\",\"cap\":{},\"capability\":{}}",
      422, "errors.0.pointer", "/capability" },
    { "a guarantee above the cap", "PATCH /v1/queues/full", "If-Match: *\r\n",
      "{\"guarantee\":{\"cpu\":5}}", 422, "errors.0.pointer", "/guarantee/cpu" },
    { "a time that is none", "PATCH /v1/queues/full", "If-Match: *\r\n",
      "{\"minRuntime\":\"soon\"}", 422, "errors.0.pointer", "/minRuntime" },
    { "a longest limit", "PATCH /v1/queues/full", "If-Match: *\r\n", "{\"maxLimit\":\"120m\"}", 200,
      "maxLimit", "2h" },
    { "none longer than there can be", "PATCH /v1/queues/full", "If-Match: *\r\n",
      "{\"maxLimit\":\"4000d\"}", 422, "errors.0.pointer", "/maxLimit" },
    { "a job above it", "POST /v1/jobs", "",
      "{\"queue\":\"full\",\"image\":\"dir:/i\",\"limit\":\"3h\"}", 422, "errors.0.detail",
      "3h is above the longest limit of queue full, which is 2h" },
    { "one that is only planned", "POST /v1/jobs?dryRun=1", "",
      "{\"queue\":\"full\",\"image\":\"dir:/i\",\"limit\":\"3h\"}", 422, "errors.0.pointer",
      "/limit" },
    { "a longest limit is taken back", "PATCH /v1/queues/full", "If-Match: *\r\n",
      "{\"maxLimit\":\"0s\"}", 200, "maxLimit", "(none)" },
    { "a job of any limit is planned", "POST /v1/jobs?dryRun=1", "",
      "{\"queue\":\"full\",\"image\":\"dir:/i\",\"limit\":\"3h\"}", 200, "outcome", "wait" },
    { "it is closed", "PATCH /v1/queues/full", "If-Match: *\r\n", "{\"state\":\"closed\"}", 200,
      "state", "closed" },
    { "what is planned there is refused as a submit is", "POST /v1/jobs?dryRun=1", "",
      "{\"queue\":\"full\",\"image\":\"dir:/i\"}", 409, "detail",
      "queue full is closed and takes no new jobs" },
    { "the full one goes", "DELETE /v1/queues/full", "", NULL, 204, NULL, NULL },
    { "a state that is none", "POST /v1/queues", "", "{\"name\":\"b\",\"state\":\"ajar\"}", 422,
      "errors.0.pointer", "/state" },
    { "a parent that is not there", "POST /v1/queues", "", "{\"name\":\"b\",\"parent\":\"nobody\"}",
      422, "errors.0.pointer", "/parent" },
    { "a child", "POST /v1/queues", "", "{\"name\":\"child\",\"parent\":\"research\"}", 201,
      "parent", "research" },
    { "show", "GET /v1/queues/research", "", NULL, 200, "weight", "2" },
    { "a name misspelt", "GET /v1/queues/reserch", "", NULL, 404, "detail",
      "there is no queue reserch; did you mean research?" },
    { "a change of one", "PATCH /v1/queues/reserch", "If-Match: *\r\n", "{\"weight\":5}", 404,
      "detail", "there is no queue reserch; did you mean research?" },
    { "the arithmetic of one", "GET /v1/queues/reserch/why", "", NULL, 404, "detail",
      "there is no queue reserch; did you mean research?" },
    { "what is like none", "GET /v1/queues/zzz", "", NULL, 404, "detail", "there is no queue zzz" },
    { "put without If-Match", "PUT /v1/queues/research", "", "{}", 428, "code",
      "PRECONDITION_NEEDED" },
    { "put replaces", "PUT /v1/queues/research", "If-Match: *\r\n", "{\"priority\":3}", 200,
      "weight", "(none)" },
    { "put another's name", "PUT /v1/queues/research", "If-Match: *\r\n", "{\"name\":\"b\"}", 422,
      "errors.0.pointer", "/name" },
    { "patch an old one", "PATCH /v1/queues/research", "If-Match: \"1\"\r\n", "{\"weight\":5}", 412,
      "code", "CHANGED_SINCE" },
    { "patch adds", "PATCH /v1/queues/research", "If-Match: *\r\n",
      "{\"weight\":5,\"cap\":{\"cpu\":\"9\",\"memory\":\"1Gi\"}}", 200, "priority", "3" },
    { "patch within amounts", "PATCH /v1/queues/research", "If-Match: *\r\n",
      "{\"cap\":{\"cpu\":null,\"gpu\":\"1\"}}", 200, "cap", "{\"gpu\":\"1\",\"memory\":\"1Gi\"}" },
    { "limits of a group", "PATCH /v1/queues/research", "If-Match: *\r\n",
      "{\"nodeGroupLimits\":{\"g1\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"g2\":{\"cpu\":\"1\"}}}",
      200, "nodeGroupLimits",
      "{\"g1\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"g2\":{\"cpu\":\"1\"}}" },
    { "patch within a group's", "PATCH /v1/queues/research", "If-Match: *\r\n",
      "{\"nodeGroupLimits\":{\"g1\":{\"cpu\":\"4\"},\"g2\":null}}", 200, "nodeGroupLimits",
      "{\"g1\":{\"cpu\":\"4\",\"memory\":\"1Gi\"}}" },
    { "patch takes one of a group's away", "PATCH /v1/queues/research", "If-Match: *\r\n",
      "{\"nodeGroupLimits\":{\"g1\":{\"memory\":null}}}", 200, "nodeGroupLimits",
      "{\"g1\":{\"cpu\":\"4\"}}" },
    { "patch takes away", "PATCH /v1/queues/research", "If-Match: *\r\n", "{\"cap\":null}", 200,
      "cap", "(none)" },
    { "patch what is not there", "PATCH /v1/queues/nobody", "If-Match: *\r\n", "{}", 404, "code",
      "NOT_FOUND" },
    { "drain", "PATCH /v1/queues/research", "If-Match: *\r\n", "{\"state\":\"draining\"}", 200,
      "state", "draining" },
    { "delete with a child", "DELETE /v1/queues/research", "", NULL, 409, "code", "CONFLICT" },
    { "delete the child", "DELETE /v1/queues/child", "", NULL, 204, NULL, NULL },
    { "delete", "DELETE /v1/queues/research", "", NULL, 204, NULL, NULL },
    { "delete again", "DELETE /v1/queues/research", "", NULL, 204, NULL, NULL },
    { "it is gone", "GET /v1/queues/research", "", NULL, 404, "code", "NOT_FOUND" },
    { "root stays", "DELETE /v1/queues/root", "", NULL, 409, "code", "CONFLICT" },
};

TEST(queues_from_begin_to_end)
{
    struct serving s;

    serving_start(&s);
    ROW_EACH (c, steps) {
        SERVING_EXPECT(&s, c->status, c->request, c->headers, c->body);
        if (c->path)
            CHECK_TEXT(serving_get(&s, c->path), c->value);
    }
    serving_stop(&s);
}

TEST(usage_is_the_engines)
{
    struct serving s;

    serving_start(&s);
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "",
                   "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":3}}");
    SERVING_EXPECT(&s, 200, "GET /v1/queues/default", "", NULL);
    CHECK_TEXT(serving_get(&s, "usage.requested.cpu"), "3");
    CHECK_TEXT(serving_get(&s, "usage.pending"), "1");
    serving_stop(&s);
}

static void join(struct serving *s, const char *node)
{
    CLEANUP(freep)
    char *body =
        text_format("{\"node\":\"%s\",\"bootId\":\"b\",\"incarnation\":\"\",\"revisionSeen\":0,"
                    "\"version\":\"1\",\"offers\":{\"cpu\":4000},\"labels\":{},\"taints\":[],"
                    "\"info\":{},\"attempts\":[]}",
                    node);

    SERVING_EXPECT_AS(s, s->agent_token, 200, "POST /v1/worker/register", "", body);
}

/* What is requested is all; demand is what could start, and what is fair goes by it. */
TEST(usage_tells_what_could_start)
{
    CLEANUP(freep) char *path = NULL;
    struct serving s;

    serving_start(&s);
    join(&s, "n1");
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n1/actions", "", "{\"action\":\"cordon\"}");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "",
                   "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":3}}");
    SERVING_EXPECT(&s, 200, "GET /v1/queues/default", "", NULL);
    CHECK_TEXT(serving_get(&s, "usage.requested.cpu"), "3");
    CHECK_TEXT(serving_get(&s, "usage.demand.cpu"), "(none)");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "",
                   "{\"name\":\"b\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":2}}");
    path = text_format("POST /v1/jobs/%s/actions", serving_get(&s, "id"));
    SERVING_EXPECT(&s, 200, path, "", "{\"action\":\"hold\"}");
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n1/actions", "", "{\"action\":\"uncordon\"}");
    SERVING_EXPECT(&s, 200, "GET /v1/queues/default/why", "", NULL);
    CHECK_TEXT(serving_get(&s, "requested"), "5");
    CHECK_TEXT(serving_get(&s, "demand"), "3");
    CHECK_TEXT(serving_get(&s, "fairShare"), "3");
    serving_stop(&s);
}

TEST(guarantees_are_held_against_the_nodes_that_take_work)
{
    struct serving s;

    serving_start(&s);
    join(&s, "n1");
    join(&s, "n2");
    SERVING_EXPECT(&s, 201, "POST /v1/queues", "", "{\"name\":\"q\",\"guarantee\":{\"cpu\":6}}");
    CHECK_TEXT(serving_get(&s, "warnings"), "(none)");
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n2/actions", "", "{\"action\":\"cordon\"}");
    SERVING_EXPECT(&s, 200, "PATCH /v1/queues/q", "If-Match: *\r\n", "{\"weight\":2}");
    CHECK_TEXT(serving_get(&s, "warnings.0.guaranteed"), "6");
    CHECK_TEXT(serving_get(&s, "warnings.0.cluster"), "4");
    SERVING_EXPECT(&s, 201, "POST /v1/queues", "", "{\"name\":\"other\"}");
    CHECK_TEXT(serving_get(&s, "warnings"), "(none)");
    SERVING_EXPECT(&s, 200, "POST /v1/nodes/n2/actions", "", "{\"action\":\"uncordon\"}");
    SERVING_EXPECT(&s, 200, "PATCH /v1/queues/q", "If-Match: *\r\n", "{\"weight\":3}");
    CHECK_TEXT(serving_get(&s, "warnings"), "(none)");
    serving_stop(&s);
}
