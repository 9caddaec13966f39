/*
 * Task topology: roles of a job that are better on one node, and roles that are better apart.
 *
 * A job says so by labels on any of its tasks: `volcano.sh/task-topology-affinity` and
 * `-anti-affinity` list roles (`ps,worker;chief`), `-task-order` the order among them. Tasks are
 * laid into buckets that should share a node; tasks of a bucket follow each other, the largest
 * bucket first, and a node is the better the more of the bucket is or fits there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/match.h"
#include "engine/plugins.h"

#define LABEL "volcano.sh/task-topology-"

enum { SELF_AFFINE = 2, AFFINE = 3, APART = 1, SELF_APART = 4, MOST_ROLES = 32 };

struct arguments {
    double weight;
};

struct bucket {
    const struct node *node; /* where its placed tasks are, or NULL */
    struct task **tasks;
    size_t n;
    wide asked;     /* thousandths of cpu, MiB, and what else is counted */
    uint32_t *n_of; /* by role: how many of it */
};

/* What a job's labels say, worked out; hangs in a list by job. */
struct layout {
    const struct job *job;
    bool is_valid;
    const char *roles[MOST_ROLES];
    size_t n_roles;
    int affine[MOST_ROLES][MOST_ROLES], apart[MOST_ROLES][MOST_ROLES];
    int order[MOST_ROLES]; /* the user's, smaller first */
    int worth[MOST_ROLES]; /* bigger first */
    struct bucket *buckets;
    size_t n_buckets, largest;
    size_t *bucket_of; /* by task: 1 + its bucket, or 0 */
    struct layout *next;
};

struct state {
    struct layout *first;
    bool any; /* some job says something */
};

static int configure(const struct berth_value *arguments, struct arena *arena, void **out,
                     struct err *err)
{
    static const struct argument known[] = {
        { "task-topology.weight", ARG_DOUBLE, offsetof(struct arguments, weight) },
    };
    struct arguments *a = ARENA_NEW0(arena, struct arguments);

    a->weight = 1;
    *out = a;
    return arguments_read(arguments, known, COUNT_OF(known), NULL, a, err);
}

/* --- What the labels say */

static const char *label_of(const struct job *job, const char *name)
{
    for (size_t i = 0; i < job->n_groups; i++) {
        const char *value = label_value(&job->groups[i].spec->labels, name);
        if (value && *value)
            return value;
    }
    return NULL;
}

static size_t role_at(const struct layout *l, const char *name, size_t length)
{
    for (size_t i = 0; i < l->n_roles; i++)
        if (strlen(l->roles[i]) == length && strncmp(l->roles[i], name, length) == 0)
            return i;
    return l->n_roles;
}

static void open_session(struct session *s, struct plugin_use *use)
{
    struct state *state = ARENA_NEW0(&s->arena, struct state);

    use->state = state;
    JOB_EACH (job, s->model)
        for (size_t g = 0; g < job->n_groups && !state->any; g++)
            for (size_t i = 0; i < job->groups[g].spec->labels.n; i++)
                state->any =
                    state->any || text_begins(job->groups[g].spec->labels.at[i].key, LABEL);
}

static void list_roles(struct layout *l)
{
    for (size_t i = 0; i < l->job->n_groups && l->n_roles < MOST_ROLES; i++) {
        const char *role = l->job->groups[i].spec->role;
        if (role && role_at(l, role, strlen(role)) == l->n_roles)
            l->roles[l->n_roles++] = role;
    }
}

static void raise(int *worth, int to)
{
    if (*worth < to)
        *worth = to;
}

/* One list of roles: each goes with (or apart from) each other; one alone with itself. */
static bool read_set(struct layout *l, const char *text, size_t length, bool apart)
{
    size_t at[MOST_ROLES], n = 0;

    for (size_t i = 0; i < length;) {
        size_t end = i;
        while (end < length && text[end] != ',')
            end++;
        at[n] = role_at(l, text + i, end - i);
        if (at[n] == l->n_roles)
            return false; /* no such role */
        for (size_t k = 0; k < n; k++)
            if (at[k] == at[n])
                return false; /* named twice */
        n++;
        i = end + 1;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            if (i == k && n > 1)
                continue;
            (apart ? l->apart : l->affine)[at[i]][at[k]] = 1;
            raise(&l->worth[at[i]],
                  n == 1 ? (apart ? SELF_APART : SELF_AFFINE) : (apart ? APART : AFFINE));
        }
    return true;
}

static bool read_sets(struct layout *l, const char *name, bool apart)
{
    const char *text = label_of(l->job, name);

    while (text && *text) {
        size_t length = strcspn(text, ";");
        if (length && !read_set(l, text, length, apart))
            return false;
        text += length + (text[length] == ';');
    }
    return true;
}

static bool read_order(struct layout *l)
{
    const char *text = label_of(l->job, LABEL "task-order");
    int place = 0;

    for (size_t i = 0; i < l->n_roles; i++)
        l->order[i] = MOST_ROLES;
    while (text && *text) {
        size_t length = strcspn(text, ","), at = role_at(l, text, length);
        if (at == l->n_roles || l->order[at] < MOST_ROLES)
            return false;
        l->order[at] = place++;
        text += length + (text[length] == ',');
    }
    return true;
}

/* --- Buckets */

static size_t role_of(const struct layout *l, const struct task *task)
{
    const char *role = task->group->spec->role;

    return role ? role_at(l, role, strlen(role)) : l->n_roles;
}

static int by_turn(const void *a, const void *b, void *arg)
{
    const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;
    const struct layout *l = arg;
    size_t p = role_of(l, x), q = role_of(l, y);
    int cmp;

    if (l->order[p] != l->order[q])
        return l->order[p] < l->order[q] ? -1 : 1;
    if (l->worth[p] != l->worth[q])
        return l->worth[p] > l->worth[q] ? -1 : 1;
    cmp = strcmp(x->group->spec->name, y->group->spec->name);
    return cmp ? cmp : (x->index > y->index) - (x->index < y->index);
}

static wide asked_by(const struct task *task)
{
    const struct asks *asks = task_asks(task);
    wide sum = 0;

    for (size_t i = 0; i < asks->n; i++)
        if (asks->at[i].dim != DIM_PODS)
            sum += asks->at[i].dim == DIM_MEMORY ? asks->at[i].value >> 20 : asks->at[i].value;
    return sum;
}

static void bucket_add(struct session *s, struct layout *l, struct bucket *b, struct task *task)
{
    if (!b->tasks) {
        b->tasks = ARENA_NEW0_N(&s->arena, struct task *, l->job->n_tasks + 1);
        b->n_of = ARENA_NEW0_N(&s->arena, uint32_t, MOST_ROLES);
    }
    b->tasks[b->n++] = task;
    b->n_of[role_of(l, task)]++;
    b->asked += asked_by(task);
    l->bucket_of[task - l->job->tasks] = 1 + (size_t)(b - l->buckets);
    if (b->n > l->largest)
        l->largest = b->n;
}

static int64_t pull_of(const struct layout *l, const struct bucket *b, size_t role)
{
    int64_t sum = 0;

    for (size_t i = 0; i < l->n_roles; i++)
        sum += (int64_t)b->n_of[i] * (l->affine[role][i] - l->apart[role][i]);
    return sum;
}

static struct bucket *bucket_for(struct layout *l, const struct task *task)
{
    struct bucket *best = NULL;
    size_t role = role_of(l, task);
    int64_t most = -1;

    for (size_t i = 0; i < l->n_buckets; i++) {
        struct bucket *b = &l->buckets[i];
        int64_t pull = pull_of(l, b, role);
        if (pull > most || (best && pull == most && b->asked < best->asked)) {
            most = pull;
            best = b;
        }
    }
    return best ? best : &l->buckets[l->n_buckets++];
}

static struct bucket *bucket_on(struct layout *l, const struct node *node)
{
    for (size_t i = 0; i < l->n_buckets; i++)
        if (l->buckets[i].node == node)
            return &l->buckets[i];
    l->buckets[l->n_buckets].node = node;
    return &l->buckets[l->n_buckets++];
}

static void fill_buckets(struct session *s, struct layout *l)
{
    struct job *job = (struct job *)l->job;
    struct task **list = ARENA_NEW0_N(&s->arena, struct task *, job->n_tasks + 1);
    size_t n = 0;

    l->buckets = ARENA_NEW0_N(&s->arena, struct bucket, job->n_tasks + 1);
    l->bucket_of = ARENA_NEW0_N(&s->arena, size_t, job->n_tasks + 1);
    for (size_t i = 0; i < job->n_tasks; i++) {
        struct task *task = &job->tasks[i];
        size_t role = role_of(l, task);
        if (role < l->n_roles && l->worth[role] &&
            (task->state == BERTH_TASK_PENDING || (task->node && task->node->at != NOWHERE)))
            list[n++] = task;
    }
    qsort_r(list, n, sizeof(*list), by_turn, l);
    for (size_t i = 0; i < n; i++)
        if (list[i]->node)
            bucket_add(s, l, bucket_on(l, list[i]->node), list[i]);
    for (size_t i = 0; i < n; i++)
        if (!list[i]->node)
            bucket_add(s, l, bucket_for(l, list[i]), list[i]);
}

static struct layout *layout_of(struct session *s, struct plugin_use *use, const struct job *job)
{
    struct state *state = use->state;
    struct layout *l;

    if (!label_of(job, LABEL "affinity") && !label_of(job, LABEL "anti-affinity"))
        return NULL;
    for (l = state->first; l && l->job != job;)
        l = l->next;
    if (!l) {
        l = ARENA_NEW0(&s->arena, struct layout);
        l->job = job;
        l->next = state->first;
        state->first = l;
        list_roles(l);
        l->is_valid = read_sets(l, LABEL "affinity", false) &&
                      read_sets(l, LABEL "anti-affinity", true) && read_order(l);
        if (l->is_valid)
            fill_buckets(s, l);
    }
    return l->is_valid ? l : NULL;
}

static const struct bucket *bucket_with(const struct layout *l, const struct task *task)
{
    size_t at = l->bucket_of[task - l->job->tasks];

    return at ? &l->buckets[at - 1] : NULL;
}

/* --- Hooks */

static int task_order(struct session *s, struct plugin_use *use, const struct task *a,
                      const struct task *b)
{
    const struct layout *l =
        a->group->job == b->group->job ? layout_of(s, use, a->group->job) : NULL;
    const struct bucket *x = l ? bucket_with(l, a) : NULL, *y = l ? bucket_with(l, b) : NULL;

    if (!x || !y)
        return (int)!x - (int)!y;
    if (x != y && x->n != y->n)
        return x->n > y->n ? -1 : 1;
    if (x != y)
        return x < y ? -1 : 1;
    return a == b ? 0 : by_turn(&a, &b, (void *)l);
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    const struct state *state = use->state;

    (void)s, (void)kind;
    return !state->any;
}

/* Whether a task would fit beside what `taken` has of a node already; takes it. */
static bool fits_too(const struct model *model, const struct task *task, const struct node *node,
                     wide *taken)
{
    const struct asks *asks = task_asks(task);

    for (size_t i = 0; i < asks->n; i++) {
        const struct column *c = &model->columns[asks->at[i].dim];
        wide room = (wide)column_idle(c, node->at) + c->releasing[node->at];
        if (taken[asks->at[i].dim] + asks->at[i].value > room)
            return false;
    }
    for (size_t i = 0; i < asks->n; i++)
        taken[asks->at[i].dim] += asks->at[i].value;
    return true;
}

/* What is there of the bucket, what is better apart, and how much more of it would fit. */
static int64_t worth_of(struct session *s, const struct layout *l, const struct bucket *b,
                        const struct task *task, const struct node *node)
{
    wide *taken = ARENA_NEW0_N(s->lists, wide, s->model->dims.n + 1);
    size_t role = role_of(l, task);
    int64_t sum = 0;

    if (!fits_too(s->model, task, node, taken))
        return 0;
    sum++;
    for (size_t i = 0; i < b->n; i++) {
        if (b->tasks[i] == task)
            continue;
        if (b->tasks[i]->node)
            sum += b->tasks[i]->node == node;
        else
            sum += fits_too(s->model, b->tasks[i], node, taken);
    }
    for (size_t i = 0; i < l->n_buckets; i++)
        for (size_t k = 0; &l->buckets[i] != b && k < l->buckets[i].n; k++)
            if (l->buckets[i].tasks[k]->node == node)
                sum -= l->apart[role][role_of(l, l->buckets[i].tasks[k])];
    return sum;
}

static void score_all(struct session *s, struct plugin_use *use, const struct task *task,
                      const struct candidates *candidates)
{
    const struct arguments *a = use->config;
    const struct layout *l = layout_of(s, use, task->group->job);
    const struct bucket *b = l ? bucket_with(l, task) : NULL;

    for (size_t i = 0; b && i < candidates->n; i++)
        candidates->scores[i] += (double)worth_of(s, l, b, task, candidates->nodes[i]) * a->weight *
                                 100 / (double)l->largest;
}

const struct plugin plugin_task_topology = {
    .name = "task-topology",
    .configure = configure,
    .open = open_session,
    .task_order = task_order,
    .is_local = is_local,
    .score_all = score_all,
};
