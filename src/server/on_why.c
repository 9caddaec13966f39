/* A queue's arithmetic of one resource, and who holds it. */
#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "server/call.h"
#include "server/guarantees.h"
#include "server/missing.h"
#include "server/routes.h"
#include "server/show.h"

static int64_t amount_of(const struct berth_amounts *amounts, const char *resource, bool *has)
{
    for (size_t i = 0; i < amounts->n; i++) {
        if (!text_eq(amounts->at[i].name, resource))
            continue;
        *has = true;
        return amounts->at[i].value;
    }
    *has = false;
    return 0;
}

static json_t *show_holders(const struct call *call, const struct view_answer *answer,
                            const char *resource)
{
    json_t *list = json_array();

    for (size_t i = 0; i < answer->holders.n; i++) {
        const struct berth_holder *holder = &answer->holders.at[i];
        json_t *object = json_object();

        if (call_sees(call, holder->namespace_ ? holder->namespace_ : ""))
            show_text(object, "job", holder->job);
        show_amount(object, "amount", resource, holder->amount);
        if (holder->is_leaving)
            show_set(object, "stopping", json_true());
        if (holder->is_promised)
            show_set(object, "held", json_true());
        json_array_append_new(list, object);
    }
    return list;
}

static void show_why(struct call *call, const struct view_answer *answer, const char *resource)
{
    const struct berth_queue_view *view = &answer->queue;
    bool has_deserved, has_fair, has_cap, has;
    int64_t deserved = amount_of(&view->deserved, resource, &has_deserved);
    int64_t fair = amount_of(&view->fair_share, resource, &has_fair);
    int64_t allocated = amount_of(&view->allocated, resource, &has);
    int64_t cap = amount_of(&view->cap, resource, &has_cap);
    int64_t stopping = amount_of(&view->stopping, resource, &has);
    int64_t held = amount_of(&view->held, resource, &has);

    call->answer = json_object();
    show_text(call->answer, "queue", call->args[0]);
    show_text(call->answer, "resource", resource);
    show_amount(call->answer, "deserved", resource, deserved);
    show_amount(call->answer, "fairShare", resource, fair);
    show_amount(call->answer, "allocated", resource, allocated);
    if (stopping)
        show_amount(call->answer, "stopping", resource, stopping);
    if (held)
        show_amount(call->answer, "held", resource, held);
    show_amount(call->answer, "requested", resource, amount_of(&view->requested, resource, &has));
    show_amount(call->answer, "demand", resource, amount_of(&view->demand, resource, &has));
    if (has_cap)
        show_amount(call->answer, "cap", resource, cap);
    show_amount(call->answer, "borrowed", resource,
                allocated > deserved ? allocated - deserved : 0);
    show_amount(call->answer, "below", resource, allocated < deserved ? deserved - allocated : 0);
    guarantees_show(call->state, resource, call->answer);
    show_set(call->answer, "holders", show_holders(call, answer, resource));
    if (answer->holders.n_more)
        show_number(call->answer, "moreHolders", (int64_t)answer->holders.n_more);
    call->revision = answer->revision;
    show_number(call->answer, "revision", (int64_t)call->revision);
}

static void add_known(json_t *known, const struct berth_amounts *amounts)
{
    for (size_t i = 0; i < amounts->n; i++)
        json_object_set_new(known, amounts->at[i].name, json_null());
}

/* Whether there is such a resource: every cluster has cpu, memory and pods, and what else somebody
 * offers, asks or is bounded by. */
static bool check_resource(struct call *call, const struct view_answer *answer,
                           const char *resource)
{
    static const char *const always[] = { "cpu", "memory", "pods" };
    const struct berth_queue_view *view = &answer->queue;
    json_t *known = ((struct guarantees *)call->state)->known;
    CLEANUP(str_fini) struct str all = { 0 };
    json_t *value;
    const char *name;

    for (size_t i = 0; i < COUNT_OF(always); i++)
        json_object_set_new(known, always[i], json_null());
    add_known(known, &view->allocated);
    add_known(known, &view->requested);
    if (json_object_get(known, resource))
        return true;
    json_object_foreach(known, name, value) str_addf(&all, "%s%s", all.len ? ", " : "", name);
    problem_set(&call->problem, PROBLEM_BAD_REQUEST,
                "resource=%.60s: nothing here has or asks for such a resource; there are %s",
                name_is_valid_label(resource) ? resource : "(no name)", all.data);
    return false;
}

/* On the API loop. */
static void why_came(const struct view_answer *answer, void *arg)
{
    struct call *call = arg;
    const char *asked = call_query(call, "resource"), *resource = asked ? asked : "cpu";

    if (answer->code == -ENOENT)
        call_not_found(call, "queue", call->args[0]);
    else if (answer->code < 0)
        problem_set(&call->problem, PROBLEM_INTERNAL, "%s", answer->err.text);
    else if (check_resource(call, answer, resource))
        show_why(call, answer, resource);
    call_end(call);
}

static void free_state(void *state)
{
    guarantees_fini(state);
    mem_free(state);
}

static int why_read(struct call *call, struct reader *reader, struct err *err)
{
    struct row_queue *row = NULL;
    int r = reader_queue(reader, call->args[0], &row, err);

    row_free(ROW_QUEUE, row);
    if (r == READER_NONE)
        return missing_queue(call, reader, call->args[0], err);
    return r < 0 ? r : guarantees_read(reader, call->state, err);
}

static void why_loaded(struct call *call)
{
    const char *resource = call_query(call, "resource");
    struct view_question question = { .kind = VIEW_QUEUE,
                                      .name = call->args[0],
                                      .resource = resource ? resource : "cpu" };

    if (call->server->is_closing)
        call_end(call);
    else
        view_ask(call->server->view, &question, call->server->loop, why_came, call);
}

void on_queue_why(struct call *call)
{
    call->state = NEW0(struct guarantees);
    call->free_state = free_state;
    call_read(call, why_read, why_loaded);
}
