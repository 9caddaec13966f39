/* Room: see room.h. */
#include "engine/room.h"

#include "engine/devices.h"

static fail_t fails_size(const struct model *model, const struct node *node, bool *idle)
{
    for (uint32_t d = 0; d < model->dims.n; d++) {
        const struct column *c = &model->columns[d];
        if (column_idle(c, node->at) >= 0)
            continue;
        *idle = false;
        if (column_future(c, node->at) < 0)
            return FAIL_DIM + d;
    }
    return FAIL_NONE;
}

fail_t room_odd(const struct model *model, const struct kind *kind, const struct node *node,
                bool *idle)
{
    fail_t fail = node->n_over ? fails_size(model, node, idle) : FAIL_NONE;

    return fail != FAIL_NONE ? fail : devices_room(model, kind, node, idle);
}

fail_t room_fail(const struct model *model, const struct kind *kind, const struct node *node,
                 bool *idle)
{
    *idle = true;
    for (size_t i = 0; i < kind->asks.n; i++) {
        const struct ask *ask = &kind->asks.at[i];
        const struct column *c = &model->columns[ask->dim];
        if (ask->value > column_future(c, node->at))
            return FAIL_DIM + ask->dim;
        *idle = *idle && ask->value <= column_idle(c, node->at);
    }
    return node_is_odd(kind, node) ? room_odd(model, kind, node, idle) : FAIL_NONE;
}

static bool is_short(const struct column *c, const struct node *node)
{
    return c->pipelined[node->at] > column_idle(c, node->at);
}

bool room_waits_for(const struct model *model, const struct task *task)
{
    const struct asks *asks = task_asks(task);

    for (size_t i = 0; i < asks->n && task->state == BERTH_TASK_RELEASING; i++)
        if (asks->at[i].value && is_short(&model->columns[asks->at[i].dim], task->node))
            return true;
    return false;
}
