/* Missing: see missing.h. All names are read only once one is missed. */
#include "server/missing.h"

#include "base/nearest.h"
#include "base/vec.h"

struct names {
    VEC_OF(char *) at;
};

static int take_node(const void *row, void *arg)
{
    struct names *names = arg;

    VEC_PUSH(&names->at, text_copy(((const struct row_node *)row)->name));
    return 0;
}

static int take_queue(const void *row, void *arg)
{
    struct names *names = arg;

    VEC_PUSH(&names->at, text_copy(((const struct row_queue *)row)->name));
    return 0;
}

/* Ends the names too. */
static void refuse(struct call *call, const char *what, const char *name, struct names *names)
{
    const char *meant = nearest(name, (const char *const *)names->at.at, names->at.n);

    if (meant)
        problem_set(&call->problem, PROBLEM_NOT_FOUND, "there is no %s %s; did you mean %s?", what,
                    name, meant);
    else
        call_not_found(call, what, name);
    VEC_EACH (each, &names->at)
        mem_free(*each);
    VEC_FINI(&names->at);
}

int missing_node(struct call *call, struct reader *reader, const char *name, struct err *err)
{
    struct names names = { 0 };
    int r = reader_nodes(reader, take_node, &names, err);

    refuse(call, "node", name, &names);
    return r < 0 ? r : 0;
}

int missing_queue(struct call *call, struct reader *reader, const char *name, struct err *err)
{
    struct names names = { 0 };
    int r = reader_queues(reader, take_queue, &names, err);

    refuse(call, "queue", name, &names);
    return r < 0 ? r : 0;
}
