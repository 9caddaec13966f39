/* Codes: see code.h. */
#include "base/code.h"

#include "base/states.h"
#include "base/str.h"

const struct code_text wait_codes[WAIT_CODE_COUNT] = {
    [WAIT_NONE] = { "", "", "", 0 },
    [WAIT_NOT_YET_CONSIDERED] = { "NOT_YET_CONSIDERED", "No cycle has looked at it yet.",
                                  "Wait a moment; a cycle runs at each change.", 0 },
    [WAIT_HELD] = { "HELD", "A person holds it back.", "Release the job.", 0 },
    [WAIT_SUSPENDED] = { "SUSPENDED", "It was suspended and stopped.", "Resume the job.", 0 },
    [WAIT_DEPENDENCY] = { "DEPENDENCY", "A job that it comes after has not ended.",
                          "Look at the job named as blocker.", 0 },
    [WAIT_DEPENDENCY_FAILED] = { "DEPENDENCY_FAILED",
                                 "A job that it comes after did not end as it should.",
                                 "Submit it again without that dependency, or mend the other job.",
                                 0 },
    [WAIT_BEFORE_START_TIME] = { "BEFORE_START_TIME", "Its start time has not come.",
                                 "Nothing to do; the time is named.", 0 },
    [WAIT_RETRY_BACKOFF] = { "RETRY_BACKOFF",
                             "What was tried for it failed; the next try is due later.",
                             "Look at the last attempt's logs, or, where a pool is named, at berth "
                             "order list; the time is named.",
                             0 },
    [WAIT_RATE_LIMITED] = { "RATE_LIMITED", "Only so many may start at once or in a time.",
                            "Nothing to do, or raise the rate.", 0 },
    [WAIT_QUEUE_CLOSED] = { "QUEUE_CLOSED", "Its queue takes no new work.",
                            "Open it, or the one above it that is named as blocker (berth queue "
                            "set), or submit to another.",
                            0 },
    [WAIT_QUEUE_UNKNOWN] = { "QUEUE_UNKNOWN", "No queue has that name.",
                             "Create it (berth queue create), or submit to another.", 0 },
    [WAIT_NOT_ADMITTED] = { "NOT_ADMITTED", "Its queue has admitted as much as it may.",
                            "Wait for jobs of the queue to end, or raise its share.", 0 },
    [WAIT_OVER_CAP] = { "OVER_CAP", "It would take its queue or namespace over its cap.",
                        "Wait for work there to end, or raise the cap that is named.", 0 },
    [WAIT_OVER_GUARANTEE_NOT_RECLAIMABLE] = { "OVER_GUARANTEE_NOT_RECLAIMABLE",
                                              "What is free is kept for what other queues are "
                                              "guaranteed.",
                                              "Wait for work to end, add nodes, or lower the "
                                              "guarantee "
                                              "of the queue that is named.",
                                              0 },
    [WAIT_LARGER_THAN_QUEUE] = { "LARGER_THAN_QUEUE",
                                 "It asks for more than its queue's cap, or its namespace's quota.",
                                 "Ask for less, or raise the cap or quota that is named.", 0 },
    [WAIT_LARGER_THAN_ANY_NODE] = { "LARGER_THAN_ANY_NODE",
                                    "One task asks for more than any node has, used or not.",
                                    "Ask for less, or add a larger node.", 0 },
    [WAIT_LARGER_THAN_CLUSTER] = { "LARGER_THAN_CLUSTER",
                                   "All nodes together would not hold the gang, were they "
                                   "empty.",
                                   "Ask for less, or add nodes.", 0 },
    [WAIT_BEHIND_HIGHER_RANK] = { "BEHIND_HIGHER_RANK", "Others come first for the room there is.",
                                  "Wait, or raise its priority.", 0 },
    [WAIT_PROTECTED_HEAD] = { "PROTECTED_HEAD", "Room is kept for a job that has waited too long.",
                              "Give the job a limit that ends before the time named.", 0 },
    [WAIT_GANG_INCOMPLETE] = { "GANG_INCOMPLETE",
                               "Some tasks of the gang fit, not all. Nothing is started until "
                               "minAvailable fit together.",
                               "Look at the task listed as blocking: its own code is the cause.",
                               0 },
    [WAIT_GANG_BROKEN] = { "GANG_BROKEN", "The gang runs with fewer than its minimum.",
                           "Nothing to do: the missing tasks come first in their queue.", 0 },
    [WAIT_NO_NODE_KNOWN] = { "NO_NODE_KNOWN", "There is no node at all.",
                             "Start an agent (berth agent) on a machine.", 0 },
    [WAIT_CAPACITY_CHANGED] = { "CAPACITY_CHANGED",
                                "A placement was refused: what it was decided on had changed.",
                                "Nothing to do: it is decided anew at once.", 0 },
    [WAIT_WAITING_FOR_EVICTION] = { "WAITING_FOR_EVICTION",
                                    "Room is being freed for it by ending other work.",
                                    "Nothing to do: it starts when they have ended.", 0 },
    [WAIT_WAITING_FOR_MACHINE] = { "WAITING_FOR_MACHINE", "A machine for it is on its way.",
                                   "Nothing to do; the order is named.", 0 },
    [WAIT_PROVISION_FAILED] = { "PROVISION_FAILED", "A machine that was ordered did not come.",
                                "Look at berth order list, and at what brings machines; if a time "
                                "is named, the next is ordered then.",
                                0 },

    [WAIT_NODE_NOT_READY] = { "NODE_NOT_READY", "The node is not heard of, or is leaving.",
                              "Look at the agent on that node.", 0 },
    [WAIT_NODE_CORDONED] = { "NODE_CORDONED",
                             "The node is cordoned, draining, or disabled by its agent.",
                             "berth node show says why; uncordon it, or give its disk room.", 0 },
    [WAIT_SHARD] = { "SHARD", "The node belongs to another scheduler's shard.",
                     "Change the shard's nodes.", 0 },
    [WAIT_NODE_PINNED] = { "NODE_PINNED", "The task names another node.", "Change the job's node.",
                           0 },
    [WAIT_NOT_YOUR_NODE] = { "NOT_YOUR_NODE", "The node belongs to another namespace.",
                             "Use nodes of your own or shared ones.", 0 },
    [WAIT_POOL_MISMATCH] = { "POOL_MISMATCH", "The node is in another pool.",
                             "Change the job's pool.", 0 },
    [WAIT_SPOT_NOT_ALLOWED] = { "SPOT_NOT_ALLOWED",
                                "The node may be taken away, which the job does not allow.",
                                "Say `spot: allowed`.", 0 },
    [WAIT_ZONE_CLOSED] = { "ZONE_CLOSED", "The node's zone is not lent out now.",
                           "Wait for the zone's hours.", 0 },
    [WAIT_VERSION_MISSING] = { "VERSION_MISSING",
                               "The node lacks the capability at exactly that version.",
                               "Install it there, or ask for another version.", 0 },
    [WAIT_CHECKPOINT_MISMATCH] = { "CHECKPOINT_MISMATCH",
                                   "The task's checkpoint does not fit the node.",
                                   "Start it without the checkpoint.", 0 },
    [WAIT_NODE_TOO_SMALL] = { "NODE_TOO_SMALL", "The node has less than the task asks for, empty.",
                              "Ask for less, or add a larger node.", 0 },
    [WAIT_LABEL_MISMATCH] = { "LABEL_MISMATCH", "The node lacks a label of the nodeSelector.",
                              "Change the selector or label the node.", 0 },
    [WAIT_TAINT_NOT_TOLERATED] = { "TAINT_NOT_TOLERATED",
                                   "The node has a taint that the task does not tolerate.",
                                   "Add a toleration, or remove the taint.", 0 },
    [WAIT_IMAGE_NOT_ALLOWED] = { "IMAGE_NOT_ALLOWED",
                                 "The node takes images from other folders only.",
                                 "Put the image below a folder that the node allows (berth node "
                                 "show), or allow its own there (berth agent --image-prefix).",
                                 0 },
    [WAIT_AFFINITY] = { "AFFINITY", "The job's affinity or anti-affinity rules the node out.",
                        "Change the affinity.", 0 },
    [WAIT_TOPOLOGY] = { "TOPOLOGY", "The job's network topology rules the node out.",
                        "Allow a higher tier (topology of the job file), start fewer tasks "
                        "together, wait for room under one domain, or list network domains "
                        "(hyperNodes of the server's configuration).",
                        0 },
    [WAIT_NODE_BUSY] = { "NODE_BUSY", "Measured use of the node is above the limit.",
                         "Wait, or raise the limit.", 0 },
    [WAIT_PORT_TAKEN] = { "PORT_TAKEN", "A host port of the task is in use on the node.",
                          "Ask for another port.", 0 },
    [WAIT_VOLUME_ABSENT] = { "VOLUME_ABSENT", "The node lacks a volume of the task.",
                             "Make the volume there.", 0 },
    [WAIT_CLAIM_ABSENT] = { "CLAIM_ABSENT", "The node cannot satisfy a device claim.",
                            "Look at the claim's class.", 0 },
    [WAIT_NO_SUCH_DEVICE] = { "NO_SUCH_DEVICE", "The node has no device of that class or model.",
                              "Ask for another model, or add such a node.", 0 },
    [WAIT_DEVICE_QUARANTINED] = { "DEVICE_QUARANTINED",
                                  "The node's devices are unhealthy or in quarantine.",
                                  "Look at the node's devices.", 0 },
    [WAIT_PLUGIN] = { "PLUGIN", "A plugin said no; it is named.", "Look at that plugin's settings.",
                      0 },
    [WAIT_INSUFFICIENT_SLOTS] = { "INSUFFICIENT_SLOTS", "The node holds as many tasks as it may.",
                                  "Wait for tasks there to end.", 0 },
    [WAIT_INSUFFICIENT_CPU] = { "INSUFFICIENT_CPU", "Not enough free cpu on the node.",
                                "Wait, ask for less, or add nodes.", 0 },
    [WAIT_INSUFFICIENT_MEMORY] = { "INSUFFICIENT_MEMORY", "Not enough free memory on the node.",
                                   "Wait, ask for less, or add nodes.", 0 },
    [WAIT_INSUFFICIENT_STORAGE] = { "INSUFFICIENT_STORAGE", "Not enough free storage on the node.",
                                    "Wait, ask for less, or add nodes.", 0 },
    [WAIT_INSUFFICIENT_COUNTER] = { "INSUFFICIENT_COUNTER",
                                    "Not enough free of a counter that the node declares.",
                                    "Wait, or offer more (berth agent --offer NAME=N).", 0 },
    [WAIT_INSUFFICIENT_DEVICE] = { "INSUFFICIENT_DEVICE", "Not enough free devices on the node.",
                                   "Wait, ask for fewer, or add nodes.", 0 },
    [WAIT_FRAGMENTED] = { "FRAGMENTED",
                          "The node's free parts would do in sum, no single one does.",
                          "Ask for a smaller part, or wait.", 0 },
    [WAIT_RESERVED_FOR_OTHER] = { "RESERVED_FOR_OTHER", "The room is held for another job.",
                                  "Wait; the owner is named.", 0 },
};

const struct code_text problem_codes[PROBLEM_CODE_COUNT] = {
    [PROBLEM_NONE] = { "", "", "", 0 },
    [PROBLEM_BAD_REQUEST] = { "BAD_REQUEST", "The request cannot be read.",
                              "The detail says what is wrong with it.", 400 },
    [PROBLEM_UNKNOWN_PARAMETER] = { "UNKNOWN_PARAMETER", "A query parameter is not known here.",
                                    "Leave it out, or mend its name.", 400 },
    [PROBLEM_BAD_CURSOR] = { "BAD_CURSOR", "The cursor belongs to other filters, or is damaged.",
                             "Start the list again without a cursor.", 400 },
    [PROBLEM_NO_TOKEN] = { "NO_TOKEN", "No token came with the request, or it is not known.",
                           "Set BERTH_TOKEN or BERTH_TOKEN_FILE.", 401 },
    [PROBLEM_TOKEN_EXPIRED] = { "TOKEN_EXPIRED", "The token's time is over.",
                                "Ask for a new token.", 401 },
    [PROBLEM_NOT_ALLOWED] = { "NOT_ALLOWED", "The token lacks the right for this.",
                              "Ask for the right that the detail names.", 403 },
    [PROBLEM_NOT_FOUND] = { "NOT_FOUND", "There is nothing of that name.",
                            "List what there is, and mend the name.", 404 },
    [PROBLEM_METHOD_NOT_ALLOWED] = { "METHOD_NOT_ALLOWED", "That path knows other methods.",
                                     "Use one of those that the header Allow names.", 405 },
    [PROBLEM_GONE] = { "GONE", "It was there, and has been collected.",
                       "Nothing to do; the time is named.", 410 },
    [PROBLEM_REVISION_GONE] = { "REVISION_GONE", "Events that old are no longer held.",
                                "List again, and watch from that list's revision.", 410 },
    [PROBLEM_CONFLICT] = { "CONFLICT", "Something else has that name, or its state forbids this.",
                           "The detail says what stands in the way.", 409 },
    [PROBLEM_NODE_TAKEN] = { "NODE_TAKEN",
                             "Another agent, which is heard of, has that node's name.",
                             "Start this one under another name (berth agent --name), or stop the "
                             "other one.",
                             409 },
    [PROBLEM_LEDGER_FORKED] = { "LEDGER_FORKED",
                                "Another copy of that ledger, which went on, was seen before.",
                                "Start the server that has that one; if this one is to take its "
                                "place, stop this one, run berth server --restored once, and start "
                                "it.",
                                409 },
    [PROBLEM_STALE_ATTEMPT] = { "STALE_ATTEMPT", "The attempt is over or not this node's any more.",
                                "Drop it: the answer names the current one.", 409 },
    [PROBLEM_CHANGED_SINCE] = { "CHANGED_SINCE", "It was changed since it was read.",
                                "Read it again, and repeat the change.", 412 },
    [PROBLEM_PRECONDITION_NEEDED] = { "PRECONDITION_NEEDED", "A change needs the header If-Match.",
                                      "Send the ETag of what was read.", 428 },
    [PROBLEM_TOO_LARGE] = { "TOO_LARGE", "The request is larger than the limit.",
                            "Send less; GET /v1/limits says how much.", 413 },
    [PROBLEM_NOT_JSON] = { "NOT_JSON", "The body is not JSON.",
                           "Send JSON with Content-Type: application/json.", 415 },
    [PROBLEM_INVALID_FIELD] = { "INVALID_FIELD", "A field's value will not do.",
                                "Mend the field at the pointer.", 422 },
    [PROBLEM_UNKNOWN_FIELD] = { "UNKNOWN_FIELD", "A field is not known.",
                                "Mend the field's name at the pointer.", 422 },
    [PROBLEM_COMES_LATER] = { "COMES_LATER", "That is planned and not built yet.",
                              "Leave the field out for now.", 422 },
    [PROBLEM_NEVER_FITS] = { "NEVER_FITS", "The job could not be placed on an empty cluster.",
                             "Ask for less.", 422 },
    [PROBLEM_KEY_REUSED] = { "KEY_REUSED", "That key was used with another body.",
                             "Use a new key for a new job.", 422 },
    [PROBLEM_TOO_MANY_REQUESTS] = { "TOO_MANY_REQUESTS", "Too many requests at once.",
                                    "Try again after the time in Retry-After.", 429 },
    [PROBLEM_QUEUE_FULL] = { "QUEUE_FULL", "The queue holds as many jobs as it may.",
                             "Try again later.", 429 },
    [PROBLEM_STARTING] = { "STARTING", "The server is starting.", "Try again in a moment.", 503 },
    [PROBLEM_STORE_UNAVAILABLE] = { "STORE_UNAVAILABLE",
                                    "The ledger cannot be written now (the detail says why).",
                                    "Nothing that was answered is lost; try again after the time "
                                    "in Retry-After.",
                                    503 },
    [PROBLEM_BEHIND] = { "BEHIND", "This server has not read that revision yet.",
                         "Try again in a moment.", 503 },
    [PROBLEM_INTERNAL] = { "INTERNAL", "The server made a mistake.",
                           "Report it with the request id.", 500 },
};

static const struct code_text end_codes[] = {
    { "COMPLETED", "The process ended by itself; its code or signal tells how.",
      "Look at its logs if the code is not 0.", 0 },
    { "OUT_OF_MEMORY", "The kernel ended it: it used more memory than it asked for.",
      "Ask for more memory; the limit and the peak are named.", 0 },
    { "LIMIT_REACHED", "It ran longer than its limit.", "Raise the limit.", 0 },
    { "HEALTH_FAILED", "Its health check failed.", "Look at its logs.", 0 },
    { "START_FAILED", "It could not be started; the detail names the phase.",
      "See the detail's own entry.", 0 },
    { "CANCELLED", "Somebody cancelled the job.", "Submit it again if that was not meant.", 0 },
    { "EVICTED", "It was ended for another job's sake, which is named.",
      "Nothing to do: it runs again when there is room.", 0 },
    { "DRAINED", "Its node was drained.", "Nothing to do: it runs again elsewhere.", 0 },
    { "SHUTDOWN", "The agent on its node was shut down.", "Nothing to do: it runs again elsewhere.",
      0 },
    { "NODE_LOST", "Its node was not heard of for too long, or started anew.",
      "Nothing to do: it runs again elsewhere.", 0 },
    { "DISOWNED", "Its node came back without it.", "Look at the agent's log on that node.", 0 },
    { "MONITOR_LOST",
      "The process that looked after the container was killed: how it ended is not known, and what "
      "was left of it was ended too.",
      "Look at the node's kernel log (out of memory?), and for who sends signals there.", 0 },
    { "OTHER_LIFE",
      "The ledger was put back from a backup, or the node served another one meanwhile: how this "
      "ended is not known, or what the node runs under its name is another's; no try was spent.",
      "Nothing to do: it runs again. berth node show says which orphans the node has.", 0 },
    { "REQUEUED", "Somebody had its job wait again, or suspended it; no try was spent.",
      "Nothing to do: it runs again when there is room, a suspended job once it is resumed.", 0 },
    { "IMAGE_ABSENT", "The image is not there.", "Mend the image's path or name.", 0 },
    { "IMAGE_PULL", "The image could not be fetched or unpacked.", "The message says why.", 0 },
    { "MOUNT_FAILED", "The root or a mount could not be made.", "The message says which.", 0 },
    { "DEVICE_SETUP_FAILED", "A device could not be given to the container.",
      "The message says which.", 0 },
    { "RUNTIME_FAILED", "The container runtime failed.", "The message is the runtime's own.", 0 },
    { "START_TIMEOUT", "The start took longer than its deadline.",
      "The timeline names the slow phase.", 0 },
    { "COMMAND_NOT_FOUND", "The command is not in the image.", "Mend the command or the PATH.", 0 },
    { "COMMAND_NOT_EXECUTABLE", "The command may not be executed.", "Mend its mode or format.", 0 },
};

int wait_code_find(const char *word)
{
    for (int i = 1; i < WAIT_CODE_COUNT; i++)
        if (text_eq(word, wait_codes[i].word))
            return i;
    return -1;
}

const struct code_text *code_at(size_t i)
{
    if (i < WAIT_CODE_COUNT - 1)
        return &wait_codes[i + 1];
    i -= WAIT_CODE_COUNT - 1;
    if (i < PROBLEM_CODE_COUNT - 1)
        return &problem_codes[i + 1];
    i -= PROBLEM_CODE_COUNT - 1;
    return i < COUNT_OF(end_codes) ? &end_codes[i] : NULL;
}

const struct code_text *code_find(const char *word)
{
    const struct code_text *code;

    for (size_t i = 0; (code = code_at(i)); i++)
        if (text_eq(word, code->word))
            return code;
    return NULL;
}
