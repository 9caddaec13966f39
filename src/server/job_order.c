/* Orders of jobs: see job_order.h. */
#include "server/job_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/list.h"

enum field {
    BY_ID,
    BY_NAME,
    BY_NAMESPACE,
    BY_USER,
    BY_QUEUE,
    BY_PRIORITY,
    BY_STATE,
    BY_TASKS,
    BY_WAITING,
    BY_RUNNING,
    BY_AGE,
    BY_SUBMITTED,
    BY_STARTED,
    BY_ENDED,
    BY_CODE,
    FIELD_COUNT
};
static const char *const words[FIELD_COUNT] = {
    [BY_ID] = "id",
    [BY_NAME] = "name",
    [BY_NAMESPACE] = "namespace",
    [BY_USER] = "user",
    [BY_QUEUE] = "queue",
    [BY_PRIORITY] = "priority",
    [BY_STATE] = "state",
    [BY_TASKS] = "tasks",
    [BY_WAITING] = "waiting",
    [BY_RUNNING] = "running",
    [BY_AGE] = "age",
    [BY_SUBMITTED] = "submittedAt",
    [BY_STARTED] = "startedAt",
    [BY_ENDED] = "endedAt",
    [BY_CODE] = "code",
};

bool job_order_read(struct call *call, struct job_order *out)
{
    const char *word = call_query(call, "sort");

    *out = (struct job_order){ .field = -1 };
    if (!word || !*word)
        return true;
    out->is_down = word[0] == '-';
    out->field = states_find(word + out->is_down, words, FIELD_COUNT);
    return out->field >= 0 || list_refuse_sort(call, words, FIELD_COUNT);
}

/* ---- keys ---- */

static void set_text(struct job_key *key, const char *text)
{
    key->has_value = true;
    snprintf(key->text, sizeof(key->text), "%s", text);
}

static void set_number(struct job_key *key, bool has_value, int64_t number)
{
    key->has_value = has_value;
    key->number = has_value ? number : 0;
}

/* How long something has gone on: the later it began, the less. */
static void set_since(struct job_key *key, bool goes_on, int64_t begun, int64_t begun_first)
{
    set_number(key, goes_on, -(begun ? begun : begun_first));
}

struct job_key job_order_key(const struct job_order *order, const struct row_job *row)
{
    bool is_live = row->state == JOB_RUNNING || row->state == JOB_STOPPING;
    struct job_key key = { .id = row->id };

    switch ((enum field)order->field) {
    case BY_NAME:
        set_text(&key, row->name);
        break;
    case BY_NAMESPACE:
        set_text(&key, row->ns);
        break;
    case BY_USER:
        set_text(&key, row->user);
        break;
    case BY_QUEUE:
        set_text(&key, row->queue);
        break;
    case BY_PRIORITY:
        set_number(&key, true, row->priority);
        break;
    case BY_STATE:
        set_text(&key, job_state_words[row->state]);
        break;
    case BY_TASKS:
        set_number(&key, true, row->n_tasks);
        break;
    case BY_WAITING:
        set_since(&key, row->state == JOB_PENDING, row->pending_at, row->submitted_at);
        break;
    case BY_RUNNING:
        set_since(&key, is_live && row->started_at, row->running_at, row->started_at);
        break;
    case BY_AGE:
        set_since(&key, true, row->submitted_at, 0);
        break;
    case BY_SUBMITTED:
        set_number(&key, true, row->submitted_at);
        break;
    case BY_STARTED:
        set_number(&key, row->started_at != 0, row->started_at);
        break;
    case BY_ENDED:
        set_number(&key, row->ended_at != 0, row->ended_at);
        break;
    case BY_CODE:
        set_number(&key, job_is_over((enum job_state)row->state), row->code);
        break;
    case BY_ID:
        set_number(&key, true, (int64_t)row->id);
        break;
    case FIELD_COUNT:
        break;
    }
    return key;
}

int job_order_compare(const struct job_order *order, const struct job_key *a,
                      const struct job_key *b)
{
    int compared = strcmp(a->text, b->text);

    if (a->has_value != b->has_value)
        return a->has_value ? -1 : 1;
    if (!compared)
        compared = (a->number > b->number) - (a->number < b->number);
    if (compared)
        return order->is_down ? -compared : compared;
    return (a->id < b->id) - (a->id > b->id); /* of equals the newest */
}

void job_order_write(const struct job_key *key, char out[sizeof(((struct cursor *)0)->key)])
{
    snprintf(out, sizeof(((struct cursor *)0)->key), "%" PRIu64 ":%d:%" PRId64 ":%s", key->id,
             key->has_value, key->number, key->text);
}

bool job_order_parse(const char *text, struct job_key *out)
{
    char *end;

    *out = (struct job_key){ 0 };
    out->id = strtoull(text, &end, 10);
    if (!out->id || *end != ':')
        return false;
    out->has_value = end[1] == '1';
    if (!end[1] || end[2] != ':')
        return false;
    out->number = strtoll(end + 3, &end, 10);
    if (*end != ':')
        return false;
    snprintf(out->text, sizeof(out->text), "%s", end + 1);
    return true;
}

/* ---- pages ---- */

void job_page_init(struct job_page *page, const struct job_order *order, size_t most)
{
    *page = (struct job_page){ .order = *order, .most = most };
    page->rows = NEW0_N(struct job_row, most);
}

void job_page_fini(struct job_page *page)
{
    for (size_t i = 0; i < page->n; i++)
        row_free(ROW_JOB, page->rows[i].row);
    mem_free(page->rows);
    *page = (struct job_page){ 0 };
}

/* How many of the page come before a key. */
static size_t count_before(const struct job_page *page, const struct job_key *key)
{
    size_t low = 0, high = page->n;

    while (low < high) {
        size_t at = low + (high - low) / 2;

        if (job_order_compare(&page->order, &page->rows[at].key, key) < 0)
            low = at + 1;
        else
            high = at;
    }
    return low;
}

void job_page_take(struct job_page *page, const struct row_job *row)
{
    struct job_key key = job_order_key(&page->order, row);
    size_t at;

    if (page->after.id && job_order_compare(&page->order, &key, &page->after) <= 0)
        return;
    at = count_before(page, &key);
    if (at == page->most)
        return;
    if (page->n == page->most)
        row_free(ROW_JOB, page->rows[--page->n].row);
    memmove(&page->rows[at + 1], &page->rows[at], (page->n - at) * sizeof(*page->rows));
    page->rows[at] = (struct job_row){ key, row_ref(row) };
    page->n++;
}
