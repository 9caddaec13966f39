/* The hooks by name. A file of its own, since what makes the profiles' tables reads it too. */
#include "berth/engine.h"

const char *const berth_hook_words[BERTH_HOOK_COUNT] = {
    [BERTH_HOOK_JOB_ORDER] = "jobOrder",
    [BERTH_HOOK_TASK_ORDER] = "taskOrder",
    [BERTH_HOOK_QUEUE_ORDER] = "queueOrder",
    [BERTH_HOOK_SUB_JOB_ORDER] = "subJobOrder",
    [BERTH_HOOK_JOB_READY] = "jobReady",
    [BERTH_HOOK_JOB_PIPELINED] = "jobPipelined",
    [BERTH_HOOK_JOB_STARVING] = "jobStarving",
    [BERTH_HOOK_JOB_ENQUEUED] = "jobEnqueued",
    [BERTH_HOOK_SUB_JOB_READY] = "subJobReady",
    [BERTH_HOOK_SUB_JOB_PIPELINED] = "subJobPipelined",
    [BERTH_HOOK_PREDICATE] = "predicate",
    [BERTH_HOOK_NODE_ORDER] = "nodeOrder",
    [BERTH_HOOK_BEST_NODE] = "bestNode",
    [BERTH_HOOK_HYPER_NODE_ORDER] = "hyperNodeOrder",
    [BERTH_HOOK_HYPER_NODE_GRADIENT] = "hyperNodeGradient",
    [BERTH_HOOK_PREEMPTABLE] = "preemptable",
    [BERTH_HOOK_RECLAIMABLE] = "reclaimable",
    [BERTH_HOOK_PREEMPTIVE] = "preemptive",
    [BERTH_HOOK_OVERUSED] = "overused",
    [BERTH_HOOK_ALLOCATABLE] = "allocatable",
    [BERTH_HOOK_VICTIM] = "victim",
    [BERTH_HOOK_HIERARCHY] = "hierarchy",
};
