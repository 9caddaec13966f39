/* Readers: each look-up and list, over the memory and the SQLite store. */
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "ledger/world.h"

static const struct {
    const char *name;
} stores[] = { { "memory" }, { "sqlite" } };

/* ---- jobs ---- */

static int list_job(const void *row, void *arg)
{
    const struct row_job *job = row;

    str_addf(arg, "%s ", job->name);
    return 0;
}

static const char *jobs(struct reader *reader, struct job_filter filter)
{
    static struct str text;
    struct err err = { 0 };
    uint64_t revision;

    str_clear(&text);
    filter.limit = filter.limit ? filter.limit : READER_ROWS_MAX;
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    CHECK_OK(reader_jobs(reader, &filter, list_job, &text, &err), &err);
    reader_end(reader);
    return str_text(&text);
}

TEST(jobs_are_listed_newest_first_as_filtered)
{
    ROW_EACH (c, stores) {
        struct world w = { 0 };
        struct reader *reader;
        struct err err = { 0 };
        uint64_t a, b;

        world_open(&w, world_fresh(c->name));
        CHECK_OK(reader_open(w.ledger, &reader, &err), &err);
        w.now = 5000;
        a = world_submit(&w, "{\"name\":\"a\",\"namespace\":\"lab\",\"labels\":{\"team\":\"x\"}}");
        b = world_submit(&w, "{\"name\":\"b\",\"namespace\":\"lab\",\"labels\":{\"team\":\"y\"}}");
        w.now = 9000;
        CHECK(world_submit(&w, "{\"name\":\"c\"}"));
        CHECK_EQ(world_stop(&w, a), PROBLEM_NONE);
        CHECK_TEXT(jobs(reader, (struct job_filter){ 0 }), "c b a ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .ns = "lab" }), "b a ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .name = "c" }), "c ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .user = "bob" }), "");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .queue = "default" }), "c b a ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .states = 1 << JOB_PENDING }), "c b ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .states = 1 << JOB_CANCELLED }), "a ");
        CHECK_TEXT(
            jobs(reader, (struct job_filter){ .states = 1 << JOB_CANCELLED | 1 << JOB_PENDING }),
            "c b a ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .since = 9000 }), "c a ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .label_key = "team" }), "b a ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .label_key = "team", .label_value = "y" }),
                   "b ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .limit = 2 }), "c b ");
        CHECK_TEXT(jobs(reader, (struct job_filter){ .before_id = b }), "a ");
        reader_close(reader);
        world_close(&w);
        world_drop();
    }
}

/* ---- attempts ---- */

static int list_attempt(const void *row, void *arg)
{
    const struct row_attempt *a = row;

    str_addf(arg, "%d.%d#%d ", (int)a->grp, (int)a->idx, (int)a->number);
    return 0;
}

static int list_task(const void *row, void *arg)
{
    const struct row_task *task = row;

    str_addf(arg, "%d.%d:%s ", (int)task->grp, (int)task->idx, task_state_words[task->state]);
    return 0;
}

static void fill(struct world *w, uint64_t *job)
{
    world_lead(w);
    CHECK_EQ(world_register(w, "n1", "{\"cpu\":4000}"), PROBLEM_NONE);
    *job = world_submit(w, "{\"replicas\":4,\"onFailure\":\"continue\",\"retries\":{\"max\":3}}");
    CHECK_EQ(world_run(w, world_bind_op(w, *job, 0, 3, "n1")), PROBLEM_NONE);
    CHECK_EQ(world_stop_attempt(w, *job, 0, 1, CAUSE_EVICTED), PROBLEM_NONE);
    CHECK_EQ(world_stop_attempt(w, *job, 2, 1, CAUSE_EVICTED), PROBLEM_NONE);
    CHECK_EQ(world_bind(w, *job, 2, "n1"), PROBLEM_NONE);
}

TEST(attempts_are_listed_whole_or_the_last_of_each_task)
{
    ROW_EACH (c, stores) {
        struct world w = { 0 };
        CLEANUP(str_fini) struct str text = { 0 };
        struct reader *reader;
        struct err err = { 0 };
        struct attempt_key after = { 0 };
        uint64_t job, revision;

        world_open(&w, world_fresh(c->name));
        fill(&w, &job);
        CHECK_OK(reader_open(w.ledger, &reader, &err), &err);
        CHECK_OK(reader_begin(reader, &revision, &err), &err);
        CHECK_OK(reader_attempts(reader, job, NULL, 100, list_attempt, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "0.0#1 0.1#1 0.2#1 0.2#2 ");
        str_clear(&text);
        after = (struct attempt_key){ job, 0, 1, 1 };
        CHECK_OK(reader_attempts(reader, job, &after, 1, list_attempt, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "0.2#1 ");
        str_clear(&text);
        CHECK_OK(reader_last_attempts(reader, job, NULL, 100, list_attempt, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "0.0#1 0.1#1 0.2#2 ");
        str_clear(&text);
        after = (struct attempt_key){ job, 0, 0, 0 };
        CHECK_OK(reader_last_attempts(reader, job, &after, 1, list_attempt, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "0.1#1 ");
        str_clear(&text);
        CHECK_OK(reader_node_attempts(reader, "n1", list_attempt, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "0.1#1 0.2#2 ");
        str_clear(&text);
        CHECK_OK(reader_ended_tasks(reader, job, list_task, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "");
        reader_end(reader);
        CHECK_EQ(world_stop(&w, job), PROBLEM_NONE);
        CHECK_OK(reader_begin(reader, &revision, &err), &err);
        CHECK_OK(reader_ended_tasks(reader, job, list_task, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "0.0:cancelled 0.3:cancelled ");
        reader_close(reader);
        world_close(&w);
        world_drop();
    }
}

/* ---- the rest ---- */

static int list_first_text(const void *row, void *arg)
{
    str_addf(arg, "%s ", *(char *const *)row);
    return 0;
}

static int list_event(const void *row, void *arg)
{
    const struct row_event *event = row;

    str_addf(arg, "%d:%s:%s ", (int)event->rev, event->type, event->subject);
    return 0;
}

TEST(queues_nodes_tokens_and_events_are_listed)
{
    ROW_EACH (c, stores) {
        struct world w = { 0 };
        CLEANUP(str_fini) struct str text = { 0 };
        struct op *op = op_new(OP_TOKEN_PUT, NULL, NULL);
        struct row_token *token = NULL;
        struct row_queue *queue = NULL;
        struct row_lease *lease = NULL;
        struct reader *reader;
        struct err err = { 0 };
        uint64_t revision, oldest;

        world_open(&w, world_fresh(c->name));
        world_lead(&w);
        CHECK_EQ(world_register(&w, "n1", "{}"), PROBLEM_NONE);
        op->token_put.hash = text_copy("00ff");
        op->token_put.name = text_copy("laptop");
        op->token_put.rights = text_copy("viewer");
        CHECK_EQ(world_run(&w, op), PROBLEM_NONE);
        CHECK_OK(reader_open(w.ledger, &reader, &err), &err);
        CHECK_OK(reader_begin(reader, &revision, &err), &err);
        CHECK_EQ(revision, 5);
        CHECK_OK(reader_queues(reader, list_first_text, &text, &err), &err);
        CHECK_OK(reader_nodes(reader, list_first_text, &text, &err), &err);
        CHECK_OK(reader_beats(reader, list_first_text, &text, &err), &err);
        CHECK_OK(reader_tokens(reader, list_first_text, &text, &err), &err);
        CHECK_TEXT(str_text(&text), "default root n1 n1 00ff ");
        CHECK_OK(reader_token(reader, "00ff", &token, &err), &err);
        CHECK_TEXT(token->rights, "viewer");
        row_free(ROW_TOKEN, token);
        CHECK_EQ(reader_token(reader, "00fe", &token, &err), READER_NONE);
        CHECK_OK(reader_queue(reader, "default", &queue, &err), &err);
        CHECK_TEXT(queue->parent, "root");
        row_free(ROW_QUEUE, queue);
        CHECK_OK(reader_lease(reader, "steward", &lease, &err), &err);
        CHECK_EQ(lease->fence, 1);
        row_free(ROW_LEASE, lease);
        str_clear(&text);
        CHECK_OK(reader_events(reader, 1, 3, &oldest, list_event, &text, &err), &err);
        CHECK_EQ(oldest, 1);
        CHECK_TEXT(str_text(&text), "2:queue.created:default 3:lease.taken:steward "
                                    "4:node.registered:n1 ");
        reader_close(reader);
        world_close(&w);
        world_drop();
    }
}

TEST(a_look_stays_at_its_revision)
{
    struct world w = { 0 };
    CLEANUP(str_fini) struct str text = { 0 };
    struct job_filter filter = { .limit = 10 };
    struct reader *reader;
    struct err err = { 0 };
    uint64_t revision, later;

    world_open(&w, world_fresh("sqlite"));
    CHECK(world_submit(&w, "{\"name\":\"a\"}"));
    CHECK_OK(reader_open(w.ledger, &reader, &err), &err);
    CHECK_OK(reader_begin(reader, &revision, &err), &err);
    CHECK(world_submit(&w, "{\"name\":\"b\"}"));
    CHECK_OK(reader_jobs(reader, &filter, list_job, &text, &err), &err);
    CHECK_TEXT(str_text(&text), "a ");
    reader_end(reader);
    CHECK_OK(reader_begin(reader, &later, &err), &err);
    CHECK_EQ(later, revision + 1);
    reader_close(reader);
    world_close(&w);
    world_drop();
}
