/*
 * Seen: the last revision of the ledger that this agent heard of, and the opening that wrote it.
 *
 * Each message says so. A server whose ledger lacks it has a copy that went another way, or is a
 * backup: it refuses, and nothing here is stopped, started or reported by its word. So what the
 * agent acts on raises it at once, in memory; the file follows with the next beat, and what was let
 * start has it in its own folder.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/inside.h"
#include "base/log.h"

static void say_header(struct agent *agent)
{
    const struct identity *identity = &agent->identity;

    agent->seen_headers[0] = NULL;
    if (!identity->opening[0])
        return;
    snprintf(agent->seen, sizeof(agent->seen), "Berth-Seen: %s %" PRId64, identity->opening,
             identity->revision > 0 ? identity->revision : 0);
    agent->seen_headers[0] = agent->seen;
}

static void keep(struct agent *agent)
{
    struct err err = { 0 };

    if (identity_write(agent->data_dir, &agent->identity, &err) < 0)
        log_warn("cannot remember the server", "why", err.text, NULL);
    else
        agent->revision_kept = agent->identity.revision;
}

void seen_open(struct agent *agent)
{
    agent->revision_kept = agent->identity.revision;
    say_header(agent);
}

void seen_raise(struct agent *agent, const char *opening, int64_t revision)
{
    if (text_eq(opening, agent->identity.opening) && revision > agent->identity.revision)
        agent->identity.revision = revision;
    say_header(agent);
}

void seen_note(struct agent *agent, const json_t *object, bool is_kept)
{
    struct identity *identity = &agent->identity;
    const char *opening = json_string_value(json_object_get(object, "opening"));
    const json_t *revision = json_object_get(object, "revision");
    bool is_other;

    opening = opening && strlen(opening) < sizeof(identity->opening) ? opening : "";
    if (!json_is_integer(revision))
        return;
    is_other = !text_eq(opening, identity->opening);
    if (is_other) {
        /* It has what was seen; its own revision is not to be taken for one of the old opening, nor
         * a late answer of the old one for one of its own. */
        snprintf(identity->opening, sizeof(identity->opening), "%s", opening);
        identity->revision = json_integer_value(revision);
    } else if (json_integer_value(revision) > identity->revision) {
        identity->revision = json_integer_value(revision);
    }
    if (is_other || (is_kept && identity->revision != agent->revision_kept))
        keep(agent);
    say_header(agent);
}

void seen_forget(struct agent *agent, const char *incarnation)
{
    struct identity *identity = &agent->identity;

    snprintf(identity->incarnation, sizeof(identity->incarnation), "%s",
             incarnation ? incarnation : "");
    identity->opening[0] = '\0';
    identity->revision = -1; /* another count: it begins anew */
    agent->revision_kept = -1;
    say_header(agent);
}

const char *const *seen_headers(struct agent *agent)
{
    return agent->seen_headers[0] ? agent->seen_headers : NULL;
}
