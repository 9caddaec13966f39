/*
 * Codes: the closed lists of why something waits and why a request was refused, each with a
 * sentence and a next step. `berth explain code`, the manual and the API are made from them.
 *
 * The third list, why an attempt ended, is in states.h. A word is in one list only.
 */
#ifndef BASE_CODE_H
#define BASE_CODE_H

#include <stddef.h>

/* Why a task waits. Those from NODE_NOT_READY to RESERVED_FOR_OTHER are about one node, in the
 * order in which a node is asked: it counts under the first that it fails. */
enum wait_code {
    WAIT_NONE,
    WAIT_NOT_YET_CONSIDERED,
    WAIT_HELD,
    WAIT_SUSPENDED,
    WAIT_DEPENDENCY,
    WAIT_DEPENDENCY_FAILED,
    WAIT_BEFORE_START_TIME,
    WAIT_RETRY_BACKOFF,
    WAIT_RATE_LIMITED,
    WAIT_QUEUE_CLOSED,
    WAIT_QUEUE_UNKNOWN,
    WAIT_NOT_ADMITTED,
    WAIT_OVER_CAP,
    WAIT_OVER_GUARANTEE_NOT_RECLAIMABLE,
    WAIT_LARGER_THAN_QUEUE,
    WAIT_LARGER_THAN_ANY_NODE,
    WAIT_LARGER_THAN_CLUSTER,
    WAIT_BEHIND_HIGHER_RANK,
    WAIT_PROTECTED_HEAD,
    WAIT_GANG_INCOMPLETE,
    WAIT_GANG_BROKEN,
    WAIT_NO_NODE_KNOWN,
    WAIT_CAPACITY_CHANGED,
    WAIT_WAITING_FOR_EVICTION,
    WAIT_WAITING_FOR_MACHINE,
    WAIT_PROVISION_FAILED,

    WAIT_NODE_NOT_READY, /* from here on: about one node, in this order */
    WAIT_NODE_CORDONED,
    WAIT_SHARD,
    WAIT_NODE_PINNED,
    WAIT_NOT_YOUR_NODE,
    WAIT_POOL_MISMATCH,
    WAIT_SPOT_NOT_ALLOWED,
    WAIT_ZONE_CLOSED,
    WAIT_VERSION_MISSING,
    WAIT_CHECKPOINT_MISMATCH,
    WAIT_NODE_TOO_SMALL,
    WAIT_LABEL_MISMATCH,
    WAIT_TAINT_NOT_TOLERATED,
    WAIT_IMAGE_NOT_ALLOWED,
    WAIT_AFFINITY,
    WAIT_TOPOLOGY,
    WAIT_NODE_BUSY,
    WAIT_PORT_TAKEN,
    WAIT_VOLUME_ABSENT,
    WAIT_CLAIM_ABSENT,
    WAIT_NO_SUCH_DEVICE,
    WAIT_DEVICE_QUARANTINED,
    WAIT_PLUGIN,
    WAIT_INSUFFICIENT_SLOTS,
    WAIT_INSUFFICIENT_CPU,
    WAIT_INSUFFICIENT_MEMORY,
    WAIT_INSUFFICIENT_STORAGE,
    WAIT_INSUFFICIENT_COUNTER,
    WAIT_INSUFFICIENT_DEVICE,
    WAIT_FRAGMENTED,
    WAIT_RESERVED_FOR_OTHER,
    WAIT_CODE_COUNT
};
#define WAIT_FIRST_OF_NODE WAIT_NODE_NOT_READY

/* Why a request was refused. */
enum problem_code {
    PROBLEM_NONE,
    PROBLEM_BAD_REQUEST,
    PROBLEM_UNKNOWN_PARAMETER,
    PROBLEM_BAD_CURSOR,
    PROBLEM_NO_TOKEN,
    PROBLEM_TOKEN_EXPIRED,
    PROBLEM_NOT_ALLOWED,
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD_NOT_ALLOWED,
    PROBLEM_GONE,
    PROBLEM_REVISION_GONE,
    PROBLEM_CONFLICT,
    PROBLEM_NODE_TAKEN,
    PROBLEM_LEDGER_FORKED,
    PROBLEM_STALE_ATTEMPT,
    PROBLEM_CHANGED_SINCE,
    PROBLEM_PRECONDITION_NEEDED,
    PROBLEM_TOO_LARGE,
    PROBLEM_NOT_JSON,
    PROBLEM_INVALID_FIELD,
    PROBLEM_UNKNOWN_FIELD,
    PROBLEM_COMES_LATER,
    PROBLEM_NEVER_FITS,
    PROBLEM_KEY_REUSED,
    PROBLEM_TOO_MANY_REQUESTS,
    PROBLEM_QUEUE_FULL,
    PROBLEM_STARTING,
    PROBLEM_STORE_UNAVAILABLE,
    PROBLEM_BEHIND,
    PROBLEM_INTERNAL,
    PROBLEM_CODE_COUNT
};

struct code_text {
    const char *word;     /* NOT_ALLOWED */
    const char *sentence; /* what it means */
    const char *next;     /* what to do */
    int status;           /* HTTP status of a problem; 0 for others */
};

extern const struct code_text wait_codes[WAIT_CODE_COUNT];
extern const struct code_text problem_codes[PROBLEM_CODE_COUNT];

/** The place of a word in wait_codes, or -1. */
int wait_code_find(const char *word);
/** The text of a code of any of the three lists, or NULL. */
const struct code_text *code_find(const char *word);
/** The i-th code of all three lists, NULL behind the last. */
const struct code_text *code_at(size_t i);

#endif
