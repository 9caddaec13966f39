#include <errno.h>

#include "base/name.h"
#include "server/scene.h"
#include "server/view.h"

/* A ledger with a node, its view, and nobody who decides. */
struct stage {
    struct scene scene;
    struct view *view;
    struct agent agent;
};

static void stage_open_with(struct stage *stage, const char *store, int64_t idle_ms)
{
    struct view_options options = { .idle_ms = idle_ms };
    struct err err = { 0 };

    *stage = (struct stage){ .agent = { .node = "n1", .stream = -1 } };
    scene_open(&stage->scene, store, NULL);
    options.ledger = stage->scene.ledger;
    view_open(&options, &stage->view);
    scene_start(&stage->scene);
    CHECK_OK(view_start(stage->view, &err), &err);
    stage->agent.port = stage->scene.port;
}

static void stage_open(struct stage *stage)
{
    stage_open_with(stage, "memory:", 0);
}

static void stage_close(struct stage *stage)
{
    agent_fini(&stage->agent);
    view_stop(stage->view);
    scene_stop(&stage->scene);
    view_close(stage->view);
    scene_close(&stage->scene);
}

static void stage_join(struct stage *stage)
{
    CHECK_EQ(agent_register_with(&stage->agent, "b1", "", NULL), 200);
    agent_open(&stage->agent, "");
    agent_expect_nothing(&stage->agent);
}

/* What a test keeps of an answer. */
struct heard {
    pthread_mutex_t lock;
    pthread_cond_t come;
    bool is_there;
    int code;
    enum wait_code state;
    size_t n_nodes, n_groups, n_parts, n_verdicts, n_changes;
    char node[64], task[NAME_ATTEMPT_SIZE];
    uint32_t n_pending, n_tasks;
};

static void on_answer(const struct view_answer *answer, void *arg)
{
    struct heard *heard = arg;

    pthread_mutex_lock(&heard->lock);
    heard->is_there = true;
    heard->code = answer->code;
    heard->state = answer->explanation.state;
    heard->n_nodes = answer->explanation.n_nodes;
    heard->n_groups = answer->n_groups;
    heard->n_verdicts = answer->n_verdicts;
    heard->n_changes = answer->changes.n;
    for (size_t i = 0; i < answer->n_groups; i++) {
        if (answer->groups[i].kind != BERTH_GROUP_BIND)
            continue;
        heard->n_parts += answer->groups[i].n_parts;
        snprintf(heard->node, sizeof(heard->node), "%s", answer->groups[i].parts[0].node);
    }
    if (answer->task.group)
        snprintf(heard->task, sizeof(heard->task), "%s.%u", answer->task.group, answer->task.index);
    heard->n_pending = answer->queue.n_pending;
    heard->n_tasks = answer->node.n_tasks;
    pthread_cond_signal(&heard->come);
    pthread_mutex_unlock(&heard->lock);
}

static struct heard ask(struct stage *stage, const struct view_question *question)
{
    struct heard heard = { .lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER };

    view_ask(stage->view, question, stage->scene.loop, on_answer, &heard);
    pthread_mutex_lock(&heard.lock);
    while (!heard.is_there)
        pthread_cond_wait(&heard.come, &heard.lock);
    pthread_mutex_unlock(&heard.lock);
    return heard;
}

static const char big[] = "{\"name\":\"big\",\"image\":\"dir:/i\",\"resources\":{\"cpu\":64}}";

TEST(view_explains_why_a_job_waits)
{
    struct view_question question = { .kind = VIEW_EXPLAIN, .n_changes = 3 };
    struct heard heard;
    struct stage stage;

    stage_open(&stage);
    stage_join(&stage);
    question.job = scene_submit(&stage.scene, big);
    heard = ask(&stage, &question);
    CHECK_EQ(heard.code, 0);
    CHECK_EQ(heard.state, WAIT_LARGER_THAN_ANY_NODE);
    CHECK_EQ(heard.n_nodes, 1);
    CHECK_EQ(heard.n_changes, 1);
    CHECK_TEXT(heard.task, "task.0");
    question.job += 1000;
    CHECK_EQ(ask(&stage, &question).code, -ENOENT);
    stage_close(&stage);
}

TEST(view_answers_with_all_that_was_committed_before)
{
    struct view_question question = { .kind = VIEW_EXPLAIN };
    struct stage stage;

    stage_open(&stage);
    stage_join(&stage);
    for (int i = 0; i < 20; i++) {
        question.job = scene_submit(&stage.scene, big);
        CHECK_EQ(ask(&stage, &question).code, 0);
    }
    stage_close(&stage);
}

TEST(view_lets_go_and_begins_again)
{
    struct view_question question = { .kind = VIEW_EXPLAIN };
    struct stage stage;

    stage_open_with(&stage, "memory:", 1);
    stage_join(&stage);
    CHECK(!view_is_following(stage.view));
    for (int i = 0; i < 3; i++) {
        question.job = scene_submit(&stage.scene, big);
        CHECK_EQ(ask(&stage, &question).code, 0);
        while (view_is_following(stage.view))
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    stage_close(&stage);
}

TEST(view_plans_without_changing_anything)
{
    struct view_question question = { .kind = VIEW_PLAN };
    struct view_question about_node = { .kind = VIEW_NODE, .name = "n1" };
    struct view_question about_queue = { .kind = VIEW_QUEUE, .name = "default" };
    struct problem problem = { 0 };
    struct job_spec *spec = NULL;
    struct heard heard;
    struct stage stage;
    json_t *object;

    stage_open(&stage);
    stage_join(&stage);
    object = json_loads("{\"name\":\"p\",\"groups\":[{\"name\":\"w\",\"replicas\":3,\"image\":"
                        "\"dir:/i\",\"resources\":{\"cpu\":2}}]}",
                        0, NULL);
    CHECK_EQ(job_spec_from_json(object, NULL, &spec, &problem), 0);
    json_decref(object);
    question.spec = spec;
    heard = ask(&stage, &question);
    CHECK_EQ(heard.code, 0);
    CHECK_EQ(heard.n_parts, 3);
    CHECK_TEXT(heard.node, "n1");
    CHECK_EQ(heard.n_verdicts, 0);
    job_spec_free(spec);

    heard = ask(&stage, &about_node);
    CHECK_EQ(heard.code, 0);
    CHECK_EQ(heard.n_tasks, 0);
    CHECK_EQ(ask(&stage, &about_queue).n_pending, 0);
    about_node.name = "n9";
    CHECK_EQ(ask(&stage, &about_node).code, -ENOENT);
    stage_close(&stage);
}
