/*
 * Logs: from a node's agent to a reader, as fast as the reader takes them.
 *
 * The agent sends a piece when the last one was passed on, and a piece is passed on when the
 * reader's socket is empty again: nothing piles up here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "server/call_job.h"
#include "server/log_lines.h"
#include "server/routes.h"
#include "server/show.h"

struct logs {
    struct call_job job; /* first */
    struct call *call;
    char attempt[NAME_ATTEMPT_SIZE];
    char *node;
    struct log_lines lines;
    uint64_t at, end; /* first byte wanted; behind the last one that came */
    bool is_follow, was_started, is_over;
    int64_t silent_at; /* wall ms: when the node was heard of last; 0: it is */
    struct nodes_log *log;
    struct http_request *request; /* once the stream has begun */
    bool is_waiting;              /* for the reader's socket */
};

static void logs_free(void *state)
{
    struct logs *logs = state;

    row_free(ROW_JOB, logs->job.row);
    job_spec_freep(&logs->job.spec);
    nodes_log_close(logs->log);
    log_lines_fini(&logs->lines);
    free(logs->node);
    free(logs);
}

/* ---- the stream ---- */

/* The last thing to do with it: the call ends the rest. */
static void end_logs(struct logs *logs, bool is_whole)
{
    struct http_request *request = TAKE(logs->request);

    http_on_close(request, NULL, NULL);
    http_on_drained(request, NULL, NULL);
    if (is_whole)
        http_stream_end(request);
    else
        http_stream_abort(request);
    call_free(logs->call);
}

static void on_close(struct http_request *request, void *arg)
{
    (void)request;
    end_logs(arg, false);
}

static void on_drained(struct http_request *request, void *arg)
{
    struct logs *logs = arg;

    (void)request;
    if (!logs->is_waiting)
        return;
    logs->is_waiting = false;
    nodes_log_drained(logs->log);
}

/*
 * Begins the answer; its head says which byte of the log comes first, so that a reader learns what
 * is gone. (Of a tail nobody knows yet.) False: the reader is gone, and the call is over.
 */
static bool begin_stream(struct logs *logs, uint64_t at)
{
    char offset[24];

    if (logs->request)
        return true;
    snprintf(offset, sizeof(offset), "%" PRIu64, at);
    if (!logs->lines.tail)
        http_set_header(logs->call->request, "Berth-Log-Offset", offset);
    http_set_header(logs->call->request, "Berth-Attempt", logs->attempt);
    logs->request = call_stream(logs->call, 200, "text/plain; charset=utf-8");
    http_on_close(logs->request, on_close, logs);
    http_on_drained(logs->request, on_drained, logs);
    if (!http_is_closed(logs->request))
        return true;
    end_logs(logs, false);
    return false;
}

static void log_came(uint64_t at, const void *bytes, size_t n, void *arg)
{
    CLEANUP(str_fini) struct str out = { 0 };
    struct logs *logs = arg;

    if (!begin_stream(logs, at))
        return;
    logs->end = at + n;
    log_lines_take(&logs->lines, bytes, n, &out);
    http_stream_write(logs->request, str_text(&out), out.len);
    if (http_stream_buffered(logs->request) > 0)
        logs->is_waiting = true;
    else
        nodes_log_drained(logs->log);
}

static void open_log(struct logs *logs);

/* The log lies on the node alone. */
static void refuse_no_agent(struct logs *logs)
{
    bool is_silent = nodes_is_silent(logs->call->server->nodes, logs->node);
    CLEANUP(str_fini) struct str how = { 0 };

    str_add(&how, is_silent ? "silent" : "not connected");
    if (is_silent && logs->silent_at) {
        str_add(&how, " since ");
        clock_format_wall(logs->silent_at, &how);
    }
    call_refuse(
        logs->call, PROBLEM_BEHIND,
        "the log of %s lies on node %s, whose agent is %s: it can be read once that is back "
        "(see: berth node show %s)",
        logs->attempt, logs->node, how.data, logs->node);
}

static void refuse_end(struct logs *logs, enum nodes_log_end how)
{
    struct call *call = logs->call;

    if (how == NODES_LOG_GONE && !logs->was_started)
        call_refuse(call, PROBLEM_NOT_FOUND, "%s has no log: it %s", logs->attempt,
                    logs->is_over ? "was never started" : "has not started yet");
    else if (how == NODES_LOG_GONE)
        call_refuse(call, PROBLEM_GONE, "node %s has no log of %s any more", logs->node,
                    logs->attempt);
    else
        refuse_no_agent(logs);
}

static void log_ended(enum nodes_log_end how, void *arg)
{
    CLEANUP(str_fini) struct str out = { 0 };
    struct logs *logs = arg;
    bool has_tail = logs->lines.tail > 0;

    if (how != NODES_LOG_END && !logs->request) {
        refuse_end(logs, how);
        return;
    }
    if (how == NODES_LOG_END) {
        if (!begin_stream(logs, logs->at))
            return;
        log_lines_flush(&logs->lines, &out);
        http_stream_write(logs->request, str_text(&out), out.len);
    }
    /* The tail is what was there; what comes after it is followed from its end. */
    if (how == NODES_LOG_END && has_tail && logs->is_follow) {
        nodes_log_close(TAKE(logs->log));
        logs->at = logs->end;
        open_log(logs);
        return;
    }
    end_logs(logs, how == NODES_LOG_END);
}

static void open_log(struct logs *logs)
{
    struct server *server = logs->call->server;
    struct nodes_log_query query = { .attempt = logs->attempt,
                                     .node = logs->node,
                                     .at = logs->at,
                                     .is_follow = logs->is_follow && !logs->lines.tail };
    struct nodes_log_reader reader = {
        .loop = server->loop, .data = log_came, .end = log_ended, .arg = logs
    };

    logs->is_waiting = false;
    logs->log = nodes_log_open(server->nodes, &query, &reader);
}

static void found(struct call *call)
{
    struct logs *logs = call->state;

    if (call->server->is_closing)
        call_refuse(call, PROBLEM_STARTING, "the server is stopping");
    else
        open_log(logs);
}

/* ---- which attempt ---- */

static int keep_attempt(struct logs *logs, const struct row_attempt *row)
{
    name_attempt(row->job, logs->job.spec->groups[row->grp].name, (uint32_t)row->idx,
                 (uint32_t)row->number, logs->attempt);
    free(logs->node);
    logs->node = text_copy(row->node);
    logs->was_started = row->started_at != 0;
    logs->is_over = row->state == ATTEMPT_ENDED;
    logs->end = logs->at;
    return 0;
}

static int attempt_read(struct call *call, struct reader *reader, struct err *err)
{
    struct logs *logs = call->state;
    struct name_parts parts = { 0 };
    struct row_attempt *row = NULL;
    struct attempt_key key = { .job = logs->job.id };
    int64_t group;
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    r = name_parse(call->args[0], &parts, err);
    if (r < 0)
        return r;
    group = call_job_group(logs->job.spec, parts.group);
    if (group < 0)
        return call_not_found(call, "attempt", call->args[0]);
    key = (struct attempt_key){ logs->job.id, (uint32_t)group, parts.index, parts.number };
    r = reader_attempt(reader, &key, &row, err);
    if (r == READER_NONE)
        return call_not_found(call, "attempt", call->args[0]);
    if (r == 0)
        r = keep_attempt(logs, row);
    row_free(ROW_ATTEMPT, row);
    logs->silent_at = show_silent_since(call->server->nodes, reader, logs->node);
    return r;
}

static int take_last(const void *row, void *arg)
{
    keep_attempt(arg, row);
    return 1;
}

static int last_read(struct call *call, struct reader *reader, struct err *err)
{
    struct logs *logs = call->state;
    const char *task = call_query(call, "task");
    struct attempt_key after = { .job = logs->job.id }, *from = NULL;
    uint32_t group = 0, index = 0;
    char wanted[NAME_ATTEMPT_SIZE];
    int r = call_job_load(call, reader, err);

    if (r < 0 || call->problem.code)
        return r;
    if (task && !call_job_task(call, logs->job.spec, task, &group, &index))
        return 0;
    /* The task before it in order, so that the walk begins with it. */
    if (group > 0 || index > 0) {
        after.group = index > 0 ? group : group - 1;
        after.index = index > 0 ? index - 1 : UINT32_MAX;
        after.number = UINT32_MAX;
        from = &after;
    }
    r = reader_last_attempts(reader, logs->job.id, from, 1, take_last, logs, err);
    if (r < 0)
        return r;
    name_task(logs->job.id, logs->job.spec->groups[group].name, index, wanted);
    if (!logs->attempt[0] || strncmp(logs->attempt, wanted, strlen(wanted)) != 0 ||
        logs->attempt[strlen(wanted)] != '#')
        return call_not_found(call, "attempt yet of task", wanted);
    logs->silent_at = show_silent_since(call->server->nodes, reader, logs->node);
    return 0;
}

/* ---- what is asked for ---- */

static bool read_streams(struct call *call, unsigned *out)
{
    const char *word = call_query(call, "stream");
    int stream = word ? states_find(word, cri_stream_words, CRI_STREAM_COUNT) : -1;

    if (word && stream < 0) {
        problem_set(&call->problem, PROBLEM_BAD_REQUEST, "stream=%s: want stdout, stderr or berth",
                    word);
        return false;
    }
    if (word)
        *out = 1u << stream;
    return true;
}

static bool read_format(struct call *call, bool *is_cri)
{
    const char *word = call_query(call, "format");

    *is_cri = text_eq(word, "cri");
    if (!word || *is_cri || text_eq(word, "text"))
        return true;
    problem_set(&call->problem, PROBLEM_BAD_REQUEST, "format=%s: want text or cri", word);
    return false;
}

static bool read_query(struct call *call, struct logs *logs)
{
    int64_t at = 0, tail = 0;

    logs->lines.streams = 1u << CRI_STDOUT | 1u << CRI_STDERR;
    if (!read_format(call, &logs->lines.is_cri))
        return false;
    if (logs->lines.is_cri)
        logs->lines.streams |= 1u << CRI_NOTICE;
    if (!read_streams(call, &logs->lines.streams) ||
        !call_query_int(call, "at", 0, INT64_MAX, &at) ||
        !call_query_int(call, "tail", 1, LOG_TAIL_MAX, &tail) ||
        !call_query_bool(call, "follow", &logs->is_follow))
        return false;
    logs->at = (uint64_t)at;
    logs->lines.tail = (size_t)tail;
    return true;
}

static struct logs *begin(struct call *call)
{
    struct logs *logs = NEW0(struct logs);

    call->state = logs;
    call->free_state = logs_free;
    logs->call = call;
    return read_query(call, logs) ? logs : NULL;
}

void on_attempt_logs(struct call *call)
{
    struct logs *logs = begin(call);
    struct name_parts parts = { 0 };
    struct err err = { 0 };

    if (logs && (name_parse(call->args[0], &parts, &err) < 0 || !parts.has_number))
        call_not_found(call, "attempt", call->args[0]);
    if (call->problem.code) {
        call_end(call);
        return;
    }
    logs->job.id = parts.job;
    call_read(call, attempt_read, found);
}

void on_job_logs(struct call *call)
{
    struct logs *logs = begin(call);

    if (logs && call_job_id(call, call->args[0], &logs->job.id))
        call_read(call, last_read, found);
    else
        call_end(call);
}
