/*
 * Other life: the agent has come to a server whose ledger is of another incarnation than the one
 * that it served. That may be a backup of that which was put back, one that it served before, or
 * one that has nothing to do with it.
 *
 * Each attempt is of the incarnation that gave it, and only a ledger that is, or was, that one may
 * go on with it. What the server has for live of this node, and only names, is then claimed, told
 * the end of as it was written down here, or given up as of another life. The rest are orphans: they
 * run on, are nobody's, and a person decides.
 */
#include <fcntl.h>
#include <stdio.h>

#include "agent/inside.h"
#include "agent/stored.h"
#include "base/file.h"
#include "base/log.h"

enum { SPEC_MAX_BYTES = CLIENT_LINE_MAX_BYTES + 4096 /* of notes */ };

static bool has(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_eq(json_string_value(json_array_get(list, i)), text))
            return true;
    return false;
}

/* Whether the ledger that answers is, or was, the one that gave something. */
static bool was_given(const json_t *answer, const char *given_by)
{
    return *given_by &&
           (text_eq(json_string_value(json_object_get(answer, "incarnation")), given_by) ||
            has(json_object_get(answer, "lives"), given_by));
}

static void note_orphan(struct attempt *attempt, const char *value)
{
    struct err err = { 0 };

    if (attempt_note(attempt, "orphan", value, &err) < 0)
        log_warn("whose an attempt is would be forgotten by a restart", "attempt", attempt->name,
                 "why", err.text, NULL);
}

static void claim(struct attempt *attempt)
{
    log_info("another life of the ledger goes on with it", "attempt", attempt->name, NULL);
    if (attempt->life.is_silent)
        note_orphan(attempt, "0");
    attempt_on(attempt, LIFE_CLAIMED);
}

static void orphan(struct attempt *attempt)
{
    if (attempt->life.is_silent)
        return;
    log_warn("an orphan: the server is not the one that gave it", "attempt", attempt->name, "do",
             "it runs on until its limit, or until this agent is stopped; berth node list counts "
             "them",
             NULL);
    note_orphan(attempt, "1");
    attempt_on(attempt, LIFE_ORPHANED);
}

static void settle_one(struct agent *agent, const char *name, const json_t *answer)
{
    struct attempt *attempt = attempt_find(agent, name);
    bool is_live = has(json_object_get(answer, "live"), name);

    if (!attempt)
        return;
    if (is_live && was_given(answer, attempt->given_by) && !attempt->life.is_dropped) {
        claim(attempt);
        return;
    }
    orphan(attempt);
    attempt = attempt_find(agent, name);
    if (attempt && is_live)
        mail_refusal(attempt);
}

/* How one ended that is on the shelf, if it is, and was written down. */
static void find_end(struct agent *agent, const char *id, struct stored_end *out)
{
    CLEANUP(freep) char *path = text_format("%s/%s/spec", agent->ended_dir, id);
    CLEANUP(str_fini) struct str text = { 0 };
    const char *silent = shelf_silent_end(agent->shelf, id);
    struct notes notes = { 0 };
    struct err err = { 0 };

    *out = (struct stored_end){ 0 };
    if (silent) {
        stored_end_read(silent, out);
        return;
    }
    if (file_read(AT_FDCWD, path, SPEC_MAX_BYTES, &text, &err) < 0)
        return;
    json_decref(stored_read(str_text(&text), id, &notes, &err));
    *out = notes.end;
}

/* The server has one for live that is not here any more. */
static void tell_end(struct agent *agent, const char *name, const json_t *answer)
{
    char id[ORDER_ID_SIZE];
    struct stored_end end;
    struct attempt *attempt;
    struct err err = { 0 };
    unsigned deeds;

    if (order_id(name, id, &err) < 0)
        return;
    find_end(agent, id, &end);
    attempt = attempt_new(agent, name, id);
    attempt->is_asked_for = true;
    deeds = life_begin(&attempt->life, LIFE_ASKED_FOR);
    attempt->life.end.cause = CAUSE_OTHER_LIFE;
    snprintf(attempt->life.end.text, sizeof(attempt->life.end.text),
             "it ended before the node came to this life of the ledger, how is not known");
    if (end.cause != CAUSE_NONE && was_given(answer, end.given_by)) {
        attempt->life.end = (struct life_end){
            .cause = end.cause, .detail = end.detail, .code = end.code, .signal = end.signal
        };
        attempt->started_ms = end.started_ms;
        attempt->ended_ms = end.ended_ms;
    }
    log_info("the end of an attempt is told to another life of the ledger", "attempt", name,
             "cause", cause_words[attempt->life.end.cause], NULL);
    attempt_do(attempt, deeds);
}

void other_life_settle(struct agent *agent, const json_t *answer)
{
    const json_t *live = json_object_get(answer, "live");
    struct sents names = attempts_names(agent);

    VEC_EACH (sent, &names)
        settle_one(agent, sent->name, answer);
    VEC_FINI(&names);
    for (size_t i = 0; i < json_array_size(live); i++) {
        const char *name = json_string_value(json_array_get(live, i));
        if (name && !attempt_find(agent, name))
            tell_end(agent, name, answer);
    }
}

void other_life_add_orphans(struct agent *agent, struct str *out)
{
    const char *between = "";

    str_add_char(out, '[');
    MAP_EACH (entry, &agent->attempts) {
        struct attempt *attempt = entry->value;
        if (!attempt->life.is_silent || attempt->life.is_dropped)
            continue;
        str_add(out, between);
        wire_text(out, attempt->name);
        between = ",";
    }
    str_add_char(out, ']');
}
