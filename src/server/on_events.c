/* Events: a list, or a stream that goes on. */
#include "server/on_events.h"

#include <string.h>

#include "base/map.h"
#include "base/name.h"
#include "server/call.h"
#include "server/cursor.h"
#include "server/event_filter.h"
#include "server/hide.h"
#include "server/routes.h"
#include "server/show.h"

enum { SCAN_MAX = 20000 /* events looked at for one page */ };

void event_page_fini(struct event_page *page)
{
    MAP_EACH (entry, &page->namespaces)
        free(entry->value);
    map_fini(&page->namespaces);
    json_decref(page->items);
    *page = (struct event_page){ 0 };
}

/* The namespace of a job, read once a page; "" if the job is not there any more. */
static const char *namespace_of(struct event_page *page, struct reader *reader, uint64_t job)
{
    char *ns = map_get_int(&page->namespaces, job);
    struct row_job *row = NULL;
    struct err err = { 0 };

    if (ns || !job)
        return ns;
    ns = text_copy(reader_job(reader, job, &row, &err) == 0 ? row->ns : "");
    row_free(ROW_JOB, row);
    map_put_int(&page->namespaces, job, ns);
    return ns;
}

struct walk {
    struct event_page *page;
    const struct event_filter *filter;
    struct reader *reader;
    size_t limit;
};

/* Of a walk, which is the argument. */
static bool is_in(void *arg, uint64_t job, const char *ns)
{
    struct walk *walk = arg;

    return text_eq(namespace_of(walk->page, walk->reader, job), ns);
}

static int take_event(const void *row, void *arg)
{
    const struct row_event *event = row;
    struct walk *walk = arg;
    uint64_t job = show_event_job(event->subject);
    const char *ns = namespace_of(walk->page, walk->reader, job);
    json_t *shown;

    if (json_array_size(walk->page->items) == walk->limit)
        return 1;
    walk->page->last = event->rev;
    walk->page->n_seen++;
    if (!event_filter_passes(walk->filter, (enum row_kind)event->row_kind, event->type, job, ns))
        return 0;
    shown = show_logged_event(event);
    hide_jobs(json_object_get(shown, "object"), &walk->filter->who, is_in, walk);
    if (event_filter_takes(walk->filter, shown))
        json_array_append(walk->page->items, shown);
    json_decref(shown);
    return 0;
}

int event_page_read(struct reader *reader, const struct event_filter *filter, uint64_t after,
                    size_t limit, struct event_page *page, struct err *err)
{
    struct walk walk = { page, filter, reader, limit };
    size_t n_seen;
    int r;

    page->items = json_array();
    page->last = after;
    page->n_seen = 0;
    do {
        n_seen = page->n_seen;
        r = reader_events(reader, page->last, READER_ROWS_MAX, &page->oldest, take_event, &walk,
                          err);
        page->is_gone = r >= 0 && page->oldest && after + 1 < page->oldest;
    } while (r >= 0 && !page->is_gone && page->n_seen - n_seen == READER_ROWS_MAX &&
             page->n_seen < SCAN_MAX);
    return r < 0 ? r : 0;
}

/* ---- the list ---- */

struct list {
    struct event_filter filter;
    struct event_page page;
    uint64_t after;
    size_t limit;
    bool has_from;
};

static void list_free(void *state)
{
    struct list *list = state;

    event_filter_fini(&list->filter);
    event_page_fini(&list->page);
    free(list);
}

static int refuse_gone(struct call *call, const struct event_page *page)
{
    problem_set(&call->problem, PROBLEM_REVISION_GONE,
                "events before revision %llu are no longer held", (unsigned long long)page->oldest);
    return 0;
}

static int list_read(struct call *call, struct reader *reader, struct err *err)
{
    struct list *list = call->state;
    int r = event_page_read(reader, &list->filter, list->after, list->limit, &list->page, err);

    if (r == 0 && list->page.is_gone && !list->has_from) {
        uint64_t oldest = list->page.oldest;

        event_page_fini(&list->page);
        r = event_page_read(reader, &list->filter, oldest - 1, list->limit, &list->page, err);
    }
    if (r < 0)
        return r;
    if (list->page.is_gone)
        return refuse_gone(call, &list->page);
    call->answer = json_object();
    show_set(call->answer, "items", TAKE(list->page.items));
    if (list->page.last < call->revision)
        show_number(call->answer, "next", (int64_t)list->page.last);
    show_number(call->answer, "revision", (int64_t)call->revision);
    return 0;
}

/* ---- what is asked for ---- */

bool events_read_from(struct call *call, bool is_sse, bool *has_from, uint64_t *after)
{
    const char *last = is_sse ? http_header(call->request, "Last-Event-ID") : NULL;
    int64_t from = -1;

    if (!call_query_int(call, "from", 0, INT64_MAX, &from))
        return false;
    if (last && text_to_int(last, 0, INT64_MAX, &from) < 0) {
        problem_set(&call->problem, PROBLEM_BAD_REQUEST, "Last-Event-ID is no revision");
        return false;
    }
    *has_from = from >= 0;
    *after = from < 0 ? 0 : (uint64_t)from;
    return true;
}

/* What events are about: the words before the dot of their types. */
static const char *const subjects[] = {
    "job",   "task",  "attempt", "reservation", "room",  "node",
    "queue", "quota", "token",   "order",       "lease", "memo"
};

static bool is_type(const char *type, size_t n)
{
    bool is_open = n > 0 && type[n - 1] == '*';
    size_t n_subject = strcspn(type, ".,*");

    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        bool is_whole = strlen(subjects[i]) == n_subject && type[n_subject] == '.';

        if (strncmp(subjects[i], type, n_subject) == 0 &&
            (is_whole || (is_open && type[n_subject] != '.')))
            return true;
    }
    return false;
}

/* Waiting for what there never is would be a mistake. */
static bool check_types(struct call *call, const char *types)
{
    while (types && *types) {
        size_t n = strcspn(types, ",");
        CLEANUP(str_fini) struct str all = { 0 };

        if (!is_type(types, n)) {
            for (size_t i = 0; i < COUNT_OF(subjects); i++)
                str_addf(&all, "%s%s.*", i ? ", " : "", subjects[i]);
            problem_set(&call->problem, PROBLEM_BAD_REQUEST,
                        "type=%.*s: there are no such events; there are %s", (int)(n < 60 ? n : 60),
                        types, all.data);
            return false;
        }
        types += n + (types[n] == ',');
    }
    return true;
}

static bool read_filter(struct call *call, struct list *list)
{
    const char *types = call_query(call, "type"), *job = call_query(call, "job");
    int64_t limit = CURSOR_LIMIT_DEFAULT;

    list->filter.types = text_copy(types && types[0] ? types : NULL);
    list->filter.who = call->who;
    if (!check_types(call, types) || !call_query_int(call, "limit", 1, READER_ROWS_MAX, &limit))
        return false;
    list->limit = (size_t)limit;
    return !job || call_job_id(call, job, &list->filter.job);
}

static bool accepts(const struct call *call, const char *type)
{
    const char *accept = http_header(call->request, "Accept");

    return accept && strstr(accept, type);
}

bool events_wants_sse(const struct call *call)
{
    return accepts(call, "text/event-stream");
}

void on_events(struct call *call)
{
    bool is_sse = events_wants_sse(call);
    struct list *list = NEW0(struct list);

    call->state = list;
    call->free_state = list_free;
    if (!read_filter(call, list) ||
        !events_read_from(call, is_sse, &list->has_from, &list->after)) {
        call_end(call);
        return;
    }
    if ((is_sse || accepts(call, "application/x-ndjson")) &&
        http_method(call->request) != HTTP_HEAD) {
        struct event_filter filter = list->filter;

        list->filter.types = NULL;
        event_stream_begin(call, &filter, is_sse,
                           list->has_from ? list->after : watch_revision(call->server->watch));
        return;
    }
    call_read(call, list_read, NULL);
}
