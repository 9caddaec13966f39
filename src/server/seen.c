/* Seen: see seen.h. */
#include "server/seen.h"

#include "base/str.h"

bool seen_read(const struct http_request *request, struct seen *out)
{
    const char *text = http_header(request, "Berth-Seen");

    *out = (struct seen){ 0 };
    return !text || text_to_pair(text, out->opening, sizeof(out->opening), &out->revision);
}

/* What became of the ledger that was seen. */
static void refuse(struct call *call, const char *incarnation, const struct seen *seen,
                   uint64_t shared)
{
    const char *why = text_eq(incarnation, call->server->incarnation)
                          ? "it is a copy that lacks what came then"
                      : shared ? "it was put back from a backup (berth server --restored)"
                               : "it is another one, or one that was put back from a backup";

    if (shared)
        problem_set(
            &call->problem, PROBLEM_LEDGER_FORKED,
            "this ledger is not the one of which revision %lld was seen: %s; both are the same "
            "up to revision %llu",
            (long long)seen->revision, why, (unsigned long long)shared);
    else
        problem_set(&call->problem, PROBLEM_LEDGER_FORKED,
                    "this ledger is not the one of which revision %lld was seen: %s",
                    (long long)seen->revision, why);
    call->parted_at = shared;
}

bool seen_check(struct call *call)
{
    const char *incarnation = http_header(call->request, "Berth-Incarnation");
    struct seen seen;
    uint64_t shared;

    if (!seen_read(call->request, &seen)) {
        problem_set(&call->problem, PROBLEM_BAD_REQUEST,
                    "Berth-Seen is an opening and a revision: OPENING REVISION");
        return false;
    }
    if (!seen.opening[0])
        return true;
    if (!incarnation)
        incarnation = call->server->incarnation;
    shared = ledger_shares(call->server->ledger, incarnation, seen.opening);
    if ((uint64_t)seen.revision <= shared)
        return true;
    refuse(call, incarnation, &seen, shared);
    return false;
}
