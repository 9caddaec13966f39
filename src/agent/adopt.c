/*
 * Adopt: what an earlier agent left in the data folder, taken over from the folders alone.
 *
 * A folder of another boot is over. One that never came to its start is begun again; one whose
 * start was called and left no trace of a monitor is ended, for nobody can tell whether it ran.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/inside.h"
#include "agent/stored.h"
#include "base/file.h"
#include "base/log.h"

enum { SPEC_MAX_BYTES = CLIENT_LINE_MAX_BYTES + 4096 /* of notes */ };

/* What is no attempt of ours, or cannot be read: ended and removed. */
static int discard(struct agent *agent, const char *folder, const char *why, struct err *err)
{
    log_warn("a folder that is no attempt is removed", "folder", folder, "why", why, NULL);
    if (runtime_clean(agent->runtime, folder, err) < 0)
        return err->code;
    return runtime_forget(agent->runtime, folder, err);
}

/* Ended by the machine's restart: the server knows by the boot id. Only its log is kept. */
static int shelve(struct agent *agent, const char *id, const char *folder, struct err *err)
{
    CLEANUP(freep) char *to = text_format("%s/%s", agent->ended_dir, id);

    log_info("ended by the restart of the machine", "attempt", id, NULL);
    if (runtime_clean(agent->runtime, folder, err) < 0)
        return err->code;
    if (rename(folder, to) < 0)
        return runtime_forget(agent->runtime, folder, err);
    shelf_keep(agent->shelf, id, clock_wall_ms(agent->clock), shelf_look(to).bytes);
    return 0;
}

/* The stop that an earlier agent noted stands. */
static void restore_stop(struct attempt *attempt, const struct notes *notes)
{
    if ((int)notes->stop > CAUSE_NONE)
        attempt_happens(attempt, &(struct life_news){ .event = LIFE_STOP,
                                                      .cause = notes->stop,
                                                      .grace_ms = attempt->order.grace_ms });
}

static void begin(struct attempt *attempt, const struct notes *notes, enum life_begin how)
{
    unsigned deeds = life_begin(&attempt->life, how);

    attempt->life.is_silent = notes->is_orphan;
    attempt_do(attempt, deeds);
}

static void begin_over(struct attempt *attempt, const struct notes *notes,
                       const struct life_news *news)
{
    begin(attempt, notes, LIFE_FOUND_OVER);
    restore_stop(attempt, notes);
    attempt_happens(attempt, news);
}

static void take_over(struct attempt *attempt, const struct notes *notes,
                      const struct inspection *found);

static void begin_running(struct attempt *attempt, const struct notes *notes, bool is_second_look)
{
    struct err err = { 0 };
    struct inspection again = { .state = FOLDER_GONE };

    if (watch_open(attempt->agent->runtime, attempt->folder, &attempt->watch, &err) == 0) {
        begin(attempt, notes, LIFE_FOUND_RUNNING);
        attempt_listen(attempt);
        restore_stop(attempt, notes);
        return;
    }
    /* It ended between two looks: its record tells. */
    err = (struct err){ 0 };
    if (is_second_look ||
        runtime_inspect(attempt->agent->runtime, attempt->folder, &again, &err) < 0)
        begin_over(attempt, notes, &(struct life_news){ .event = LIFE_LOST });
    else if (again.state == FOLDER_RUNNING)
        begin_running(attempt, notes, true);
    else
        take_over(attempt, notes, &again);
}

static void take_over(struct attempt *attempt, const struct notes *notes,
                      const struct inspection *found)
{
    struct exit_record unknown = {
        .text = "the agent died while it was starting: whether it ran is not known"
    };

    switch (found->state) {
    case FOLDER_FRESH:
        if (notes->was_called)
            begin_over(attempt, notes,
                       &(struct life_news){ .event = LIFE_EXITED, .exit = &unknown });
        else
            begin(attempt, notes, LIFE_FOUND_FRESH);
        break;
    case FOLDER_RUNNING:
        begin_running(attempt, notes, false);
        break;
    case FOLDER_ENDED:
        attempt_take_exit(attempt, &found->exit);
        attempt->agent->n_lease_over += found->exit.is_lease_over;
        begin_over(attempt, notes,
                   &(struct life_news){ .event = LIFE_EXITED, .exit = &found->exit });
        break;
    case FOLDER_ORPHANED:
    case FOLDER_GONE:
        begin_over(attempt, notes, &(struct life_news){ .event = LIFE_LOST });
        break;
    }
}

/* Reads what was delivered, and the notes. Returns NULL, and why, if that is no start of this
 * id. */
static json_t *read_line(const char *folder, const char *id, struct notes *notes, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/spec", folder);
    CLEANUP(str_fini) struct str text = { 0 };

    if (file_read(AT_FDCWD, path, SPEC_MAX_BYTES, &text, err) < 0)
        return NULL;
    return stored_read(str_text(&text), id, notes, err);
}

static int adopt_one(struct agent *agent, const char *id, struct err *err)
{
    CLEANUP(freep) char *folder = text_format("%s/%s", agent->attempts_dir, id);
    struct err why = { 0 };
    struct inspection found;
    struct notes notes = { 0 };
    struct attempt *attempt;
    json_t *line = read_line(folder, id, &notes, &why);
    int r;

    if (!line)
        return discard(agent, folder, why.text, err);
    r = runtime_inspect(agent->runtime, folder, &found, &why);
    if (r < 0 || found.is_other_boot) {
        json_decref(line);
        return r < 0 ? discard(agent, folder, why.text, err) : shelve(agent, id, folder, err);
    }
    attempt = attempt_new(agent, json_string_value(json_object_get(line, "attempt")), id);
    /* One that was not started yet, or by an earlier version, is the present ledger's. */
    if (*notes.given_by || !notes.is_orphan)
        snprintf(attempt->given_by, sizeof(attempt->given_by), "%s",
                 *notes.given_by ? notes.given_by : agent->identity.incarnation);
    order_read(json_object_get(line, "spec"), id, folder, &agent->rules, &attempt->order);
    json_decref(line);
    seen_raise(agent, notes.seen_opening, notes.seen_revision);
    log_info("adopted", "attempt", attempt->name, NULL);
    take_over(attempt, &notes, &found);
    return 0;
}

static bool is_known(void *ctx, const char *id)
{
    const struct agent *agent = ctx;
    CLEANUP(freep) char *folder = text_format("%s/%s", agent->attempts_dir, id);

    return access(folder, F_OK) == 0;
}

int adopt_all(struct agent *agent, struct err *err)
{
    DIR *dir;
    int r;

    r = runtime_sweep(agent->runtime, is_known, agent, err);
    if (r < 0)
        return err_wrap(err, "end what has this node's name and no folder");
    if (r > 0)
        log_warn("what had this node's name and no folder was ended", "count", log_int(r), NULL);
    dir = opendir(agent->attempts_dir);
    if (!dir)
        return err_sys(err, -errno, "open %s", agent->attempts_dir);
    r = 0;
    for (struct dirent *entry; r >= 0 && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            r = adopt_one(agent, entry->d_name, err);
    closedir(dir);
    if (agent->n_lease_over)
        log_warn("the lease was over while no agent ran: containers were ended", "containers",
                 log_int((int64_t)agent->n_lease_over), "do",
                 "if agents may be away longer, give the server a longer nodes.ttl, or jobs "
                 "onDisconnect: keep",
                 NULL);
    return r;
}
