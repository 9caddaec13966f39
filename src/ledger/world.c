/* See world.h. Not part of the library. */
#include "ledger/world.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"
#include "ledger/schema.h"

static int64_t boot_us(void *arg)
{
    return ((struct world *)arg)->now * 1000;
}

static int64_t wall_ms(void *arg)
{
    return ((struct world *)arg)->now;
}

static char folder[64];

const char *world_fresh(const char *store)
{
    static char address[128];

    if (!store || strcmp(store, "memory") == 0)
        return "memory:";
    /* In memory where there is such a place: durability is not what these tests wait for. */
    snprintf(folder, sizeof(folder), "%s/berth-ledger-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(folder));
    snprintf(address, sizeof(address), "sqlite:%s/ledger.db", folder);
    return address;
}

void world_drop(void)
{
    struct err err = { 0 };

    if (*folder)
        CHECK_OK(file_remove_tree(AT_FDCWD, folder, &err), &err);
    *folder = '\0';
}

void world_open(struct world *world, const char *store)
{
    struct err err = { 0 };

    if (!world->now)
        world->now = 1000000;
    snprintf(world->store, sizeof(world->store), "%s", store);
    world->clock = (struct clock){ boot_us, wall_ms, world };
    CHECK_OK(ledger_open(&(struct ledger_options){ .store = store,
                                                   .clock = &world->clock,
                                                   .server = "s1",
                                                   .at_point = world->at_point },
                         &world->ledger, &err),
             &err);
    CHECK_OK(ledger_start(world->ledger, &err), &err);
}

void world_close(struct world *world)
{
    reader_close(world->reader);
    ledger_close(world->ledger);
    world->reader = NULL;
    world->ledger = NULL;
}

static struct reader *look(struct world *world);

/* ---- operations ---- */

struct wait {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool is_done;
};

static void done(struct op *op, void *arg)
{
    struct wait *wait = arg;

    (void)op;
    pthread_mutex_lock(&wait->lock);
    wait->is_done = true;
    pthread_cond_signal(&wait->cond);
    pthread_mutex_unlock(&wait->lock);
}

enum problem_code world_do(struct world *world, struct op *op)
{
    struct wait wait = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };

    op->done = done;
    /* cppcheck-suppress autoVariables ; this waits until the op is answered */
    op->arg = &wait;
    ledger_send(world->ledger, op);
    pthread_mutex_lock(&wait.lock);
    while (!wait.is_done)
        pthread_cond_wait(&wait.cond, &wait.lock);
    pthread_mutex_unlock(&wait.lock);
    world->problem = op->problem;
    world->revision = op->revision;
    return op->problem.code;
}

enum problem_code world_run(struct world *world, struct op *op)
{
    enum problem_code code = world_do(world, op);

    op_free(op);
    return code;
}

struct op *world_submit_op(const char *json)
{
    struct problem problem = { 0 };
    struct op *op = op_new(OP_SUBMIT, NULL, NULL);
    json_t *object = json_loads(json, 0, NULL);

    CHECK(object);
    if (!json_object_get(object, "groups") && !json_object_get(object, "image"))
        json_object_set_new(object, "image", json_string("dir:/srv/img"));
    if (job_spec_from_json(object, NULL, &op->submit.spec, &problem) < 0)
        print_error("%s\n", problem.detail);
    CHECK(op->submit.spec);
    json_decref(object);
    op->submit.user = text_copy("ann");
    return op;
}

uint64_t world_submit(struct world *world, const char *json)
{
    struct op *op = world_submit_op(json);
    uint64_t job = world_do(world, op) ? 0 : op->submit.job;

    op_free(op);
    return job;
}

void world_lead(struct world *world)
{
    struct op *op = op_new(OP_LEASE, NULL, NULL);

    op->lease.name = text_copy("steward");
    op->lease.is_take = true;
    op->lease.ttl_ms = 6000;
    CHECK_EQ(world_do(world, op), PROBLEM_NONE);
    world->fence = op->lease.fence;
    op_free(op);
}

struct op *world_register_op(const char *node, const char *boot, const char *offers)
{
    struct op *op = op_new(OP_REGISTER, NULL, NULL);

    op->reg.node = text_copy(node);
    op->reg.boot_id = text_copy(boot);
    op->reg.address = text_copy("127.0.0.1");
    op->reg.offers = text_copy(offers);
    op->reg.ttl_ms = 30000;
    return op;
}

enum problem_code world_register(struct world *world, const char *node, const char *offers)
{
    return world_run(world, world_register_op(node, "boot-1", offers));
}

static uint32_t last_number(struct world *world, uint64_t job, uint32_t index)
{
    uint32_t number = 0;
    struct row_attempt *row;

    while ((row = world_attempt(world, job, index, number + 1))) {
        row_free(ROW_ATTEMPT, row);
        number++;
    }
    return number;
}

struct op *world_bind_op(struct world *world, uint64_t job, uint32_t first, uint32_t n_tasks,
                         const char *node)
{
    struct op *op = op_new(OP_BIND, NULL, NULL);
    struct row_node *row = world_node(world, node);
    struct row_job *job_row = world_job(world, job);

    op->bind.job = job;
    op->bind.version = job_row ? job_row->version : 0;
    op->bind.fence = world->fence;
    op->bind.decision = text_copy("d-1");
    op->bind.parts = NEW0_N(struct op_bind_part, n_tasks);
    op->bind.n_parts = n_tasks;
    for (uint32_t i = 0; i < n_tasks; i++)
        op->bind.parts[i] = (struct op_bind_part){
            .index = first + i,
            .number = last_number(world, job, first + i) + 1,
            .node = text_copy(node),
            .facts = row ? row->facts : 0,
        };
    row_free(ROW_NODE, row);
    row_free(ROW_JOB, job_row);
    return op;
}

enum problem_code world_bind(struct world *world, uint64_t job, uint32_t index, const char *node)
{
    return world_run(world, world_bind_op(world, job, index, 1, node));
}

static int keep_reservation(const void *row, void *arg)
{
    struct row_reservation **at = arg;

    row_free(ROW_RESERVATION, *at);
    *at = row_copy(ROW_RESERVATION, row);
    return 0;
}

/* The last reservation of a job, or NULL. */
static struct row_reservation *last_reservation(struct world *world, uint64_t job)
{
    struct reader *reader = look(world);
    struct row_reservation *row = NULL;
    struct err err = { 0 };

    CHECK_OK(reader_reservations(reader, job, keep_reservation, &row, &err), &err);
    reader_end(reader);
    return row;
}

uint64_t world_reservation(struct world *world, uint64_t job)
{
    struct row_reservation *row = last_reservation(world, job);
    uint64_t id = row ? row->id : 0;

    row_free(ROW_RESERVATION, row);
    return id;
}

struct op *world_evict_op(struct world *world, uint64_t job, uint32_t first, uint32_t n_tasks,
                          const char *node)
{
    struct op *op = op_new(OP_EVICT, NULL, NULL);
    struct row_reservation *reservation = last_reservation(world, job);
    struct row_node *row = world_node(world, node);
    struct row_job *job_row = world_job(world, job);

    op->evict.job = job;
    op->evict.version = job_row ? job_row->version : 0;
    op->evict.replaces =
        reservation && reservation->state == RESERVATION_OPEN ? reservation->id : 0;
    op->evict.fence = world->fence;
    op->evict.reason = text_copy("preempt");
    op->evict.decision = text_copy("d-2");
    op->evict.ttl_ms = 300000;
    op->evict.rooms = NEW0_N(struct op_room, n_tasks + 1);
    op->evict.n_rooms = n_tasks;
    for (uint32_t i = 0; i < n_tasks; i++)
        op->evict.rooms[i] = (struct op_room){ .index = first + i,
                                               .node = text_copy(node),
                                               .facts = row ? row->facts : 0 };
    row_free(ROW_RESERVATION, reservation);
    row_free(ROW_NODE, row);
    row_free(ROW_JOB, job_row);
    return op;
}

void world_add_victim(struct world *world, struct op *op, uint64_t job, uint32_t index,
                      uint32_t number)
{
    struct op_evict *evict = &op->evict;
    struct row_attempt *row = world_attempt(world, job, index, number);

    evict->victims = mem_resize(evict->victims, evict->n_victims + 1, sizeof(*evict->victims));
    evict->victims[evict->n_victims++] =
        (struct op_victim){ .attempt = { job, 0, index, number }, .rev = row ? row->rev : 0 };
    row_free(ROW_ATTEMPT, row);
}

enum problem_code world_release(struct world *world, uint64_t job, enum release why)
{
    struct op *op = op_new(OP_RELEASE, NULL, NULL);
    struct row_reservation *row = last_reservation(world, job);

    op->release.job = job;
    op->release.reservation = row ? row->id : 0;
    op->release.rev = row ? row->rev : 0;
    op->release.why = why;
    op->release.fence = world->fence;
    row_free(ROW_RESERVATION, row);
    return world_run(world, op);
}

static uint64_t generation(struct world *world, const char *node)
{
    struct row_node *row = world_node(world, node);
    uint64_t value = row ? row->generation : 0;

    row_free(ROW_NODE, row);
    return value;
}

enum problem_code world_ack(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                            const char *node)
{
    struct op *op = op_new(OP_ACK, NULL, NULL);

    op->ack.node = text_copy(node);
    op->ack.generation = generation(world, node);
    op->ack.attempt = (struct attempt_key){ job, 0, index, number };
    return world_run(world, op);
}

static struct op *report(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                         const char *node)
{
    struct op *op = op_new(OP_REPORT, NULL, NULL);

    op->report.node = text_copy(node);
    op->report.generation = generation(world, node);
    op->report.attempt = (struct attempt_key){ job, 0, index, number };
    return op;
}

enum problem_code world_running(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                                const char *node)
{
    return world_run(world, report(world, job, index, number, node));
}

struct op *world_ended_op(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                          const char *node, int code)
{
    struct op *op = report(world, job, index, number, node);

    op->report.is_ended = true;
    op->report.cause = CAUSE_COMPLETED;
    op->report.code = code;
    return op;
}

enum problem_code world_ended(struct world *world, uint64_t job, uint32_t index, uint32_t number,
                              const char *node, int code)
{
    return world_run(world, world_ended_op(world, job, index, number, node, code));
}

enum problem_code world_stop(struct world *world, uint64_t job)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = job;
    op->stop.cause = CAUSE_CANCELLED;
    op->stop.grace_ms = -1;
    op->stop.by = text_copy("ann");
    return world_run(world, op);
}

enum problem_code world_requeue(struct world *world, uint64_t job, bool suspends)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = job;
    op->stop.cause = CAUSE_REQUEUED;
    op->stop.suspends = suspends;
    op->stop.grace_ms = -1;
    op->stop.by = text_copy("ann");
    return world_run(world, op);
}

enum problem_code world_resume(struct world *world, uint64_t job)
{
    struct op *op = op_new(OP_PATCH, NULL, NULL);

    op->patch.job = job;
    op->patch.resumes = true;
    op->patch.by = text_copy("ann");
    return world_run(world, op);
}

enum problem_code world_stop_attempt(struct world *world, uint64_t job, uint32_t index,
                                     uint32_t number, enum cause cause)
{
    struct op *op = op_new(OP_STOP, NULL, NULL);

    op->stop.job = job;
    op->stop.is_attempt = true;
    op->stop.attempt = (struct attempt_key){ job, 0, index, number };
    op->stop.cause = cause;
    op->stop.grace_ms = -1;
    op->stop.reason = cause == CAUSE_EVICTED ? text_copy("shuffle") : NULL;
    return world_run(world, op);
}

static int say_reservation(const void *data, void *arg)
{
    const struct row_reservation *row = data;
    struct str *out = arg;

    if (out->len)
        str_add(out, "; ");
    str_add(out, reservation_state_words[row->state]);
    if (row->why)
        str_addf(out, " %s", release_words[row->why]);
    return 0;
}

static int say_part(const void *data, void *arg)
{
    const struct row_part *row = data;

    if (row->state == RESERVATION_OPEN)
        str_addf(arg, " %s%s", row->node, *row->waits ? "*" : "");
    return 0;
}

static int note_beat(const void *row, void *arg)
{
    const struct row_beat *beat = row;
    struct op_node_state *op = arg;

    if (strcmp(beat->node, op->node) == 0) {
        op->generation = beat->generation;
        op->beat = beat->beat;
    }
    return 0;
}

enum problem_code world_quota(struct world *world, const char *name, const char *hard)
{
    struct op *op = op_new(OP_QUOTA, NULL, NULL);

    op->quota.ns = text_copy("default");
    op->quota.name = text_copy(name);
    op->quota.hard = hard ? text_copy(hard) : NULL;
    return world_run(world, op);
}

enum problem_code world_node_state(struct world *world, const char *node, enum node_state state)
{
    struct op *op = op_new(OP_NODE_STATE, NULL, NULL);
    struct reader *reader = look(world);
    struct err err = { 0 };

    op->node_state.node = text_copy(node);
    op->node_state.state = state;
    op->node_state.fence = world->fence;
    CHECK_OK(reader_beats(reader, note_beat, &op->node_state, &err), &err);
    reader_end(reader);
    return world_run(world, op);
}

enum problem_code world_beat(struct world *world, const char *node)
{
    return world_beat_disabled(world, node, "");
}

enum problem_code world_beat_disabled(struct world *world, const char *node, const char *why)
{
    struct op *op = op_new(OP_BEAT, NULL, NULL);

    op->beat.node = text_copy(node);
    op->beat.generation = generation(world, node);
    op->beat.disabled = text_copy(why);
    return world_run(world, op);
}

/* ---- rows ---- */

static struct reader *look(struct world *world)
{
    struct err err = { 0 };
    uint64_t revision;

    if (!world->reader)
        CHECK_OK(reader_open(world->ledger, &world->reader, &err), &err);
    CHECK_OK(reader_begin(world->reader, &revision, &err), &err);
    return world->reader;
}

struct row_job *world_job(struct world *world, uint64_t id)
{
    struct reader *reader = look(world);
    struct err err = { 0 };
    struct row_job *row = NULL;

    CHECK(reader_job(reader, id, &row, &err) >= 0);
    reader_end(reader);
    return row;
}

struct row_node *world_node(struct world *world, const char *name)
{
    struct reader *reader = look(world);
    struct err err = { 0 };
    struct row_node *row = NULL;

    CHECK(reader_node(reader, name, &row, &err) >= 0);
    reader_end(reader);
    return row;
}

struct row_attempt *world_attempt(struct world *world, uint64_t job, uint32_t index,
                                  uint32_t number)
{
    struct reader *reader = look(world);
    struct attempt_key key = { job, 0, index, number };
    struct err err = { 0 };
    struct row_attempt *row = NULL;

    CHECK(reader_attempt(reader, &key, &row, &err) >= 0);
    reader_end(reader);
    return row;
}

enum job_state world_job_state(struct world *world, uint64_t id)
{
    struct row_job *row = world_job(world, id);
    enum job_state state = row ? (enum job_state)row->state : JOB_STATE_COUNT;

    row_free(ROW_JOB, row);
    return state;
}

const char *world_attempt_says(struct world *world, uint64_t job, uint32_t index, uint32_t number)
{
    static char text[120];
    struct row_attempt *row = world_attempt(world, job, index, number);

    if (!row)
        return "none";
    snprintf(text, sizeof(text), "%s", attempt_state_words[row->state]);
    if (row->cause)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", cause_words[row->cause]);
    if (row->then)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", then_words[row->then]);
    row_free(ROW_ATTEMPT, row);
    return text;
}

const char *world_held_says(struct world *world, uint64_t job)
{
    static char text[400];
    CLEANUP(str_fini) struct str out = { 0 };
    struct reader *reader = look(world);
    struct err err = { 0 };

    CHECK_OK(reader_reservations(reader, job, say_reservation, &out, &err), &err);
    CHECK_OK(reader_parts(reader, job, say_part, &out, &err), &err);
    reader_end(reader);
    snprintf(text, sizeof(text), "%s", str_text(&out));
    return text;
}
