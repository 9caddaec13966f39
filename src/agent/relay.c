/*
 * Relay: see relay.h. A stream is in one of three waits: for a read on a thread, for the server to
 * take a piece, or for its log to grow. What happens while it is in one of the first two is
 * remembered in is_stirred, so that no growth is missed between a read and the wait.
 */
#include "agent/relay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/inside.h"
#include "base/log.h"

enum { PIECE_BYTES = 64 << 10, STREAMS_MAX = 256, RETRY_MS = 500 };

struct stream {
    struct relay *relay;
    struct stream *next;
    char *sid;
    char attempt[NAME_ATTEMPT_SIZE], id[ORDER_ID_SIZE];
    uint64_t at, left; /* left: of the limit; UINT64_MAX none */
    bool is_follow, is_reading, is_stirred, is_closed;
    bool is_retrying; /* the piece was not taken: it is sent again after a pause */
    bool is_last;     /* the piece under way is the last one */
    int watch;        /* of inotify; -1 none */
    struct client_ticket *sending;
    struct timer *again; /* a piece was not taken: send it again */

    /* of the read under way */
    char *folder;
    bool was_complete; /* the log could not grow any more when the read began */
    int r;
    struct err err;
    struct log_piece piece;
    char bytes[PIECE_BYTES];
};

struct relay {
    struct agent *agent;
    struct stream *first;
    size_t n;
    int fd; /* inotify */
    struct fdwatch *watch;
};

static void read_on(struct stream *stream);

/* ---- Life of a stream ---- */

static void free_stream(struct stream *stream)
{
    timer_free(stream->again);
    mem_free(stream->sid);
    mem_free(stream->folder);
    mem_free(stream);
}

static void unwatch(struct stream *stream)
{
    int watch = stream->watch;

    stream->watch = -1;
    if (watch < 0)
        return;
    for (struct stream *other = stream->relay->first; other; other = other->next)
        if (other->watch == watch)
            return; /* shared: the folder is the same */
    inotify_rm_watch(stream->relay->fd, watch);
}

static void remove_stream(struct stream *stream)
{
    struct relay *relay = stream->relay;
    struct stream **at = &relay->first;

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) it is in the list */
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    relay->n--;
    free_stream(stream);
}

/* It is removed when no read is under way. */
static void close_stream(struct stream *stream)
{
    stream->is_closed = true;
    unwatch(stream);
    client_cancel(TAKE(stream->sending));
    timer_unset(stream->again);
    if (!stream->is_reading)
        remove_stream(stream);
}

/* Where its folder is now; NULL there is none, or it is another ledger's of the same name, which is
 * nobody's business here. Yours. */
static char *folder_of(struct stream *stream)
{
    struct agent *agent = stream->relay->agent;
    struct attempt *attempt = attempt_find(agent, stream->attempt);
    char *folder;

    if (attempt && attempt->life.is_silent && !attempt->life.is_dropped)
        return NULL;
    if (attempt && !attempt->is_asked_for)
        return text_copy(attempt->folder);
    folder = text_format("%s/%s", agent->ended_dir, stream->id);
    if (access(folder, F_OK) == 0)
        return folder;
    mem_free(folder);
    return NULL;
}

static bool is_complete(struct stream *stream)
{
    struct attempt *attempt = attempt_find(stream->relay->agent, stream->attempt);

    return !attempt || attempt->life.step >= LIFE_CLEANING;
}

/* ---- Sending ---- */

static void send_piece(struct stream *stream, bool is_gone);

static void on_again(void *arg)
{
    struct stream *stream = arg;

    stream->is_retrying = false;
    send_piece(stream, false);
}

static void on_taken(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct stream *stream = arg;

    (void)err;
    stream->sending = NULL;
    if (r < 0 || answer->status == 503) {
        stream->is_retrying = true;
        timer_set(stream->again, RETRY_MS);
        return;
    }
    if (answer->status != 200 || stream->is_last) {
        close_stream(stream);
        return;
    }
    stream->at = stream->piece.offset + stream->piece.n;
    if (stream->left != UINT64_MAX)
        stream->left -= stream->piece.n;
    read_on(stream);
}

static void send_piece(struct stream *stream, bool is_gone)
{
    CLEANUP(str_fini) struct str path = { 0 };
    struct client_request request = { .method = "POST",
                                      .body = stream->bytes,
                                      .n_body = stream->piece.n,
                                      .content_type = "application/octet-stream",
                                      .timeout_ms = -1, /* a reader may take its time */
                                      .is_repeatable = true };

    str_add(&path, "/v1/worker/streams/");
    client_escape(stream->sid, &path);
    str_add(&path, "?node=");
    client_escape(stream->relay->agent->node, &path);
    str_addf(&path, "&at=%" PRIu64 "&end=%d%s", stream->piece.offset, stream->is_last,
             is_gone ? "&gone=1" : "");
    request.path = str_text(&path);
    stream->sending = client_send(stream->relay->agent->client, &request, on_taken, stream);
}

/* Nothing more than what was sent. */
static void send_end(struct stream *stream)
{
    stream->piece = (struct log_piece){ .offset = stream->at };
    stream->is_last = true;
    send_piece(stream, false);
}

static void send_gone(struct stream *stream)
{
    stream->piece = (struct log_piece){ .offset = stream->at };
    stream->is_last = true;
    send_piece(stream, true);
}

/* ---- Reading ---- */

static void run_read(void *arg)
{
    struct stream *stream = arg;

    stream->err = (struct err){ 0 };
    stream->r = runtime_log_read(stream->folder, stream->at, stream->bytes, PIECE_BYTES,
                                 &stream->piece, &stream->err);
    if (stream->r == -ENOENT) { /* the folder is yet to be made: an empty log */
        stream->r = 0;
        stream->piece = (struct log_piece){ .offset = stream->at, .end = stream->at };
    }
}

/* Cuts a piece behind its last whole line, and at the limit; a line longer than a piece goes in
 * parts. */
static void cut_piece(struct stream *stream)
{
    struct log_piece *piece = &stream->piece;
    size_t n = piece->n < stream->left ? piece->n : (size_t)stream->left;
    const char *end = n ? memrchr(stream->bytes, '\n', n) : NULL;
    bool is_whole = piece->n == n && stream->was_complete && piece->offset + n == piece->end;

    if (end)
        n = (size_t)(end - stream->bytes) + 1;
    else if (!is_whole && n < PIECE_BYTES)
        n = 0; /* the rest of the line is being written, or is beyond the limit */
    piece->n = n;
}

static bool is_last_piece(const struct stream *stream, size_t n_read)
{
    const struct log_piece *piece = &stream->piece;
    bool is_at_end = piece->offset + n_read >= piece->end;

    /* What the limit cut off is not wanted; what is left of a line at the present end neither. */
    return piece->n >= stream->left || (n_read > stream->left) ||
           (is_at_end && (stream->was_complete || !stream->is_follow));
}

static void on_read(void *arg)
{
    struct stream *stream = arg;
    CLEANUP(freep) char *now = NULL;
    size_t n_read = stream->piece.n;

    stream->is_reading = false;
    if (stream->is_closed) {
        remove_stream(stream);
        return;
    }
    now = folder_of(stream);
    if (!text_eq(now, stream->folder)) { /* moved under the read */
        read_on(stream);
        return;
    }
    if (stream->r < 0) {
        log_warn("a log cannot be read", "attempt", stream->attempt, "why", stream->err.text, NULL);
        send_gone(stream);
        return;
    }
    cut_piece(stream);
    stream->is_last = is_last_piece(stream, n_read);
    if (stream->piece.n || stream->is_last)
        send_piece(stream, false);
    else if (stream->is_stirred)
        read_on(stream);
}

static void read_on(struct stream *stream)
{
    struct agent *agent = stream->relay->agent;

    mem_free(stream->folder);
    stream->folder = folder_of(stream);
    if (!stream->folder) {
        if (shelf_is_silent(agent->shelf, stream->id))
            send_end(stream);
        else
            send_gone(stream);
        return;
    }
    stream->was_complete = is_complete(stream);
    if (stream->is_follow && !stream->was_complete && stream->watch < 0)
        stream->watch = inotify_add_watch(stream->relay->fd, stream->folder,
                                          IN_MODIFY | IN_CREATE | IN_MOVED_TO);
    stream->is_stirred = false;
    stream->is_reading = true;
    pool_run(agent->helpers, run_read, agent->loop, on_read, stream);
}

static void stir(struct stream *stream)
{
    stream->is_stirred = true;
    if (!stream->is_closed && !stream->is_reading && !stream->sending && !stream->is_last &&
        !stream->is_retrying)
        read_on(stream);
}

/* ---- What stirs ---- */

static void on_inotify(int fd, unsigned events, void *arg)
{
    struct relay *relay = arg;
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = read(fd, buffer, sizeof(buffer));

    (void)events;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
        for (struct stream *stream = relay->first, *next; stream; stream = next) {
            next = stream->next;
            if (stream->watch == event->wd || event->mask & IN_Q_OVERFLOW)
                stir(stream);
        }
        at += (ssize_t)(sizeof(*event) + event->len);
    }
}

void relay_poke(struct relay *relay, const char *attempt)
{
    for (struct stream *stream = relay->first, *next; stream; stream = next) {
        next = stream->next;
        if (text_eq(stream->attempt, attempt))
            stir(stream);
    }
}

/* ---- The relay ---- */

int relay_open(struct agent *agent, struct relay **out, struct err *err)
{
    struct relay *relay = NEW0(struct relay);

    relay->agent = agent;
    relay->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (relay->fd < 0) {
        int r = err_sys(err, -errno, "watch folders (inotify)");
        mem_free(relay);
        return r;
    }
    relay->watch = fdwatch_new(agent->loop, relay->fd, LOOP_READ, on_inotify, relay);
    *out = relay;
    return 0;
}

void relay_close(struct relay *relay)
{
    if (!relay)
        return;
    while (relay->first) {
        relay->first->is_reading = false;
        close_stream(relay->first);
    }
    fdwatch_free(relay->watch);
    close(relay->fd);
    mem_free(relay);
}

void relay_open_stream(struct relay *relay, const struct relay_request *request)
{
    struct stream *stream;
    struct err err = { 0 };

    if (relay->n >= STREAMS_MAX) {
        log_warn("too many logs are read at once", "attempt", request->attempt, NULL);
        return;
    }
    stream = NEW0(struct stream);
    if (order_id(request->attempt, stream->id, &err) < 0) {
        log_warn("a log that is no attempt's", "why", err.text, NULL);
        mem_free(stream);
        return;
    }
    snprintf(stream->attempt, sizeof(stream->attempt), "%s", request->attempt);
    stream->relay = relay;
    stream->sid = text_copy(request->sid);
    stream->at = request->at;
    stream->left = request->limit ? request->limit : UINT64_MAX;
    stream->is_follow = request->is_follow;
    stream->watch = -1;
    stream->again = timer_new(relay->agent->loop, on_again, stream);
    stream->next = relay->first;
    relay->first = stream;
    relay->n++;
    read_on(stream);
}

void relay_close_stream(struct relay *relay, const char *sid)
{
    for (struct stream *stream = relay->first; stream; stream = stream->next)
        if (!stream->is_closed && text_eq(stream->sid, sid)) {
            close_stream(stream);
            return;
        }
}

void relay_close_all(struct relay *relay)
{
    for (struct stream *stream = relay->first, *next; stream; stream = next) {
        next = stream->next;
        close_stream(stream);
    }
}
