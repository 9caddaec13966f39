/* Operations: made by their senders, freed by them. See ledger.h. */
#include "ledger/ledger.h"

#include "base/mem.h"

struct op *op_new(enum op_kind kind, void (*done)(struct op *op, void *arg), void *arg)
{
    struct op *op = NEW0_UPTO(struct op, problem.fields);

    op->kind = kind;
    op->done = done;
    op->arg = arg;
    return op;
}

static void free_all(char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem_free(texts[i]);
}
#define FREE_ALL(...)                                                                              \
    free_all((char *const[]){ __VA_ARGS__ }, sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *))

static void free_submit(struct op_submit *op)
{
    FREE_ALL(op->user, op->key, op->digest, op->text);
    row_free(ROW_JOB, op->row);
    job_spec_free(op->spec);
}

static void free_patch(struct op_patch *op)
{
    FREE_ALL(op->labels, op->by);
}

static void free_bind(struct op_bind *op)
{
    for (size_t i = 0; i < op->n_parts; i++)
        mem_free(op->parts[i].node);
    mem_free(op->parts);
    mem_free(op->takes);
    mem_free(op->decision);
}

static void free_evict(struct op_evict *op)
{
    for (size_t i = 0; i < op->n_rooms; i++)
        mem_free(op->rooms[i].node);
    mem_free(op->rooms);
    mem_free(op->victims);
    mem_free(op->takes);
    FREE_ALL(op->reason, op->decision);
}

static void free_order(struct op_order *op)
{
    for (size_t i = 0; i < op->n_rooms; i++)
        mem_free(op->rooms[i].node);
    mem_free(op->rooms);
    FREE_ALL(op->key, op->pool, op->shape, op->decision);
}

static void free_register(struct op_register *op)
{
    FREE_ALL(op->node, op->boot_id, op->address, op->incarnation, op->opening, op->offers,
             op->labels, op->taints, op->info, op->images, op->identity, op->disabled);
    mem_free(op->held);
    mem_free(op->live);
}

static void free_parts(struct op *op)
{
    switch (op->kind) {
    case OP_SUBMIT:
        free_submit(&op->submit);
        break;
    case OP_STOP:
        FREE_ALL(op->stop.by, op->stop.reason);
        break;
    case OP_PATCH:
        free_patch(&op->patch);
        break;
    case OP_BIND:
        free_bind(&op->bind);
        break;
    case OP_EVICT:
        free_evict(&op->evict);
        break;
    case OP_ORDER:
        free_order(&op->order);
        break;
    case OP_ORDER_STATE:
        FREE_ALL(op->order_state.key, op->order_state.provider, op->order_state.reason,
                 op->order_state.by);
        break;
    case OP_FAIL:
        mem_free(op->fail.reason);
        break;
    case OP_MEMO:
        FREE_ALL(op->memo.name, op->memo.value);
        break;
    case OP_ACK:
        mem_free(op->ack.node);
        break;
    case OP_REPORT:
        FREE_ALL(op->report.node, op->report.timings, op->report.peaks, op->report.message);
        break;
    case OP_REGISTER:
        free_register(&op->reg);
        break;
    case OP_BEAT:
        FREE_ALL(op->beat.node, op->beat.disabled, op->beat.orphans);
        break;
    case OP_LEAVE:
        mem_free(op->leave.node);
        break;
    case OP_CORDON:
        FREE_ALL(op->cordon.node, op->cordon.by, op->cordon.reason);
        break;
    case OP_NODE_LABEL:
        FREE_ALL(op->node_label.node, op->node_label.labels, op->node_label.by);
        break;
    case OP_NODE_DELETE:
        FREE_ALL(op->node_delete.name, op->node_delete.by);
        break;
    case OP_NODE_STATE:
        mem_free(op->node_state.node);
        break;
    case OP_QUEUE_PUT:
        FREE_ALL(op->queue_put.name, op->queue_put.parent, op->queue_put.spec, op->queue_put.by);
        break;
    case OP_QUEUE_DELETE:
        FREE_ALL(op->queue_delete.name, op->queue_delete.by);
        break;
    case OP_QUOTA:
        FREE_ALL(op->quota.ns, op->quota.name, op->quota.hard);
        break;
    case OP_TOKEN_PUT:
        FREE_ALL(op->token_put.hash, op->token_put.name, op->token_put.user, op->token_put.ns,
                 op->token_put.rights);
        break;
    case OP_TOKEN_DELETE:
        mem_free(op->token_delete.hash);
        break;
    case OP_LEASE:
        FREE_ALL(op->lease.name, op->lease.server);
        break;
    case OP_ADMIT:
    case OP_RELEASE:
    case OP_RETAIN:
    case OP_KIND_COUNT:
        break;
    }
}

void op_free(struct op *op)
{
    if (!op)
        return;
    free_parts(op);
    mem_free(op);
}
