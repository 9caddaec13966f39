/*
 * Log reader: see logreader.h.
 *
 * What is counted are bytes of whole lines as they lie on disk; only they are said, so that asking
 * again from there loses nothing and repeats nothing.
 */
#include "cli/logreader.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "cli/events.h"
#include "cli/job.h"

enum { IDLE_MS = 0 }; /* a log may be silent for ever */

struct logreader {
    struct logreader_options options;
    char *attempt;
    struct cri_decoder decoder;
    int64_t at;      /* where the answer at hand was asked to begin; -1: a tail, not known */
    int64_t n_bytes; /* of whole lines of the answer at hand */
    int64_t lost_ms; /* boot clock: since when nothing came; 0: it comes */
    bool is_told;    /* that nothing comes, and by which problem */
    enum problem_code told;
    unsigned n_tries;
    struct client_ticket *ticket;
    struct timer *timer;
};

void logreader_close(struct logreader *reader)
{
    if (!reader)
        return;
    client_cancel(reader->ticket);
    timer_free(reader->timer);
    cri_decoder_fini(&reader->decoder);
    mem_free(reader->attempt);
    mem_free(reader);
}

static void on_piece(enum cri_stream stream, const char *time, size_t n_time, const char *data,
                     size_t n, void *arg)
{
    struct logreader *reader = arg;

    (void)time;
    (void)n_time;
    reader->options.on_bytes(reader->options.arg, stream, data, n);
}

static void on_line(void *arg, const char *line, size_t n)
{
    struct logreader *reader = arg;

    reader->lost_ms = 0;
    reader->is_told = false;
    reader->n_tries = 0;
    if (!line)
        return;
    cri_decode(&reader->decoder, line, n, on_piece, reader);
    cri_decode(&reader->decoder, "\n", 1, on_piece, reader);
    reader->n_bytes += (int64_t)n + 1;
}

/* Moves on to where the next answer has to begin. Returns false if that is not known. */
static bool move_on(struct logreader *reader, const struct client_answer *answer)
{
    int64_t begin = reader->at;

    if (answer->log_offset >= 0 && client_answer_is_ok(answer)) {
        if (begin >= 0 && answer->log_offset > begin)
            reader->options.on_gap(reader->options.arg, answer->log_offset - begin);
        begin = answer->log_offset;
    }
    if (begin < 0)
        return reader->n_bytes == 0; /* nothing was said yet: the tail is asked for again */
    reader->at = begin + reader->n_bytes;
    reader->n_bytes = 0;
    return true;
}

static void end(struct logreader *reader, int status, const struct problem *problem)
{
    struct logreader_options options = reader->options;

    logreader_close(reader);
    options.on_end(options.arg, status, problem);
}

/* Where the server has another ledger, whoever follows the job decides whether to go on with it. */
static bool may_repeat(struct logreader *reader, int r, int status, const struct problem *problem)
{
    int64_t now = clock_boot_ms(&clock_system);
    bool is_passing = status == 503 || status == 429 ||
                      (problem->code == PROBLEM_LEDGER_FORKED && reader->options.is_following);

    if (r == -E2BIG || r == -EPROTO || (r == 0 && !is_passing))
        return false;
    if (!reader->lost_ms)
        reader->lost_ms = now;
    if (reader->options.give_up_ms >= 0 && now - reader->lost_ms >= reader->options.give_up_ms)
        return false;
    if ((!reader->is_told || reader->told != problem->code) && reader->options.on_wait)
        reader->options.on_wait(reader->options.arg, problem);
    reader->is_told = true;
    reader->told = problem->code;
    return true;
}

static void on_done(void *arg, int r, const struct client_answer *answer, const struct err *err)
{
    struct logreader *reader = arg;
    struct problem problem = { 0 };
    bool is_known;

    reader->ticket = NULL;
    if (r == 0 && client_answer_is_ok(answer)) {
        (void)move_on(reader, answer); /* for the gap */
        end(reader, answer->status, NULL);
        return;
    }
    is_known = move_on(reader, answer);
    if (r == 0)
        client_answer_problem(answer, &problem);
    else
        problem_set(&problem, PROBLEM_NONE, "%s", err->text);
    if (is_known && may_repeat(reader, r, answer->status, &problem)) {
        timer_set(reader->timer, pause_of_try(reader->n_tries++));
        return;
    }
    end(reader, r < 0 ? 0 : answer->status, &problem);
}

static void ask_for_it(void *arg)
{
    struct logreader *reader = arg;
    CLEANUP(freep) char *path = NULL;
    CLEANUP(str_fini) struct str query = { 0 };

    str_add(&query, "/logs?format=cri");
    if (reader->options.is_following)
        str_add(&query, "&follow=1");
    if (reader->at < 0)
        str_addf(&query, "&tail=%" PRId64, reader->options.tail);
    else if (reader->at > 0)
        str_addf(&query, "&at=%" PRId64, reader->at);
    path = attempt_path(reader->attempt, query.data);
    reader->ticket =
        client_listen(reader->options.client,
                      &(struct client_request){
                          .method = "GET", .path = path, .accept = "*/*", .idle_ms = IDLE_MS },
                      on_line, on_done, reader);
}

struct logreader *logreader_open(const struct logreader_options *options)
{
    struct logreader *reader = NEW0(struct logreader);

    reader->options = *options;
    reader->attempt = text_copy(options->attempt);
    reader->at = options->tail < 0 ? 0 : -1;
    reader->timer = timer_new(options->loop, ask_for_it, reader);
    ask_for_it(reader);
    return reader;
}
