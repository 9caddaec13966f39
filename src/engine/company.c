/* Company: see company.h. */
#include "engine/company.h"

#include "engine/terms.h"

/* Which tasks a term is about: whom it means, of the class that has it, or whom all that the class requires mean. */
enum whom { MEANT, OWN, REQUIRED };

/* A head count: of tasks, and of those of them whom nobody evicts in this session. */
struct head {
    uint64_t n, n_stay;
};

/* Where the tasks stand that one term is about. */
struct stand {
    enum whom whom;
    bool counts_leaving, counts_promised;
    uint64_t epoch, read; /* touches before number `read` are in it */
    uint32_t *part_of;    /* by node->at; NOWHERE: of none; NULL: nobody asked yet */
    struct head *on;      /* likewise: on the node */
    struct head *in;      /* by part */
    struct head all;      /* in all parts */
};

/* What terms of a class are about. */
enum bond { NEAR, AWAY, LIKES, DISLIKES, N_BONDS };

/* A term of others, or itself, that means a class. */
struct foreign {
    struct kind *kind;
    enum bond bond;
    size_t term;
};

struct company {
    struct stand
        *meant[N_BONDS];        /* by term: the tasks that it means; NEAR: that all of them mean */
    struct stand *own[N_BONDS]; /* likewise: tasks of the class itself */
    struct stand *there
        [2]; /* NEAR: of those whom it means, who are more than promised; with those who leave */
    struct foreign *keepers; /* AWAY */
    struct foreign *fans;    /* LIKES and DISLIKES */
    size_t n_keepers, n_fans;
};

/* --- Terms */

static const struct berth_pod_term *terms_of(const struct kind *kind, enum bond bond, size_t *n)
{
    const struct berth_affinity *a = kind->spec->affinity;

    *n = 0;
    if (!a)
        return NULL;
    switch (bond) {
    case NEAR:
        *n = a->n_pod_required;
        return a->pod_required;
    case AWAY:
        *n = a->n_anti_required;
        return a->anti_required;
    case LIKES:
        *n = a->n_pod_preferred;
        return a->pod_preferred;
    case DISLIKES:
        *n = a->n_anti_preferred;
        return a->anti_preferred;
    case N_BONDS:
        break;
    }
    return NULL;
}

/* Whether a class is such as another requires: all its terms mean it, as in Kubernetes. */
static bool is_required(const struct kind *owner, const struct kind *kind)
{
    size_t n;
    const struct berth_pod_term *terms = terms_of(owner, NEAR, &n);

    for (size_t i = 0; i < n; i++)
        if (!term_means(&terms[i], owner, kind))
            return false;
    return n > 0;
}

/* --- Where they stand */

static void divide(struct session *s, const struct berth_pod_term *term, struct stand *stand)
{
    size_t n = s->model->nodes.n;

    stand->part_of = ARENA_NEW0_N(&s->arena, uint32_t, n + 1);
    stand->on = ARENA_NEW0_N(&s->arena, struct head, n + 1);
    stand->in =
        ARENA_NEW0_N(&s->arena, struct head, term_divide(s, term, NULL, stand->part_of) + 1);
}

/* Whether a task is one of those that are counted. */
static bool counts(const struct stand *stand, const struct berth_pod_term *term,
                   const struct kind *owner, const struct task *task)
{
    const struct kind *kind = task->group->kind;

    if (task->state == BERTH_TASK_RELEASING && task->evicted && !stand->counts_leaving)
        return false;
    if (task->state == BERTH_TASK_PIPELINED && !stand->counts_promised)
        return false;
    switch (stand->whom) {
    case MEANT:
        return term_means(term, owner, kind);
    case OWN:
        return kind == owner;
    case REQUIRED:
        return is_required(owner, kind);
    }
    return false;
}

/* Who is promised room in this session is nobody's victim in it. */
static bool stays(const struct session *s, const struct task *task)
{
    return task->state == BERTH_TASK_PIPELINED && !task_room(s, task);
}

static void head_change(struct head *head, const struct head *was, const struct head *is)
{
    head->n += is->n - was->n;
    head->n_stay += is->n_stay - was->n_stay;
}

static void recount(const struct session *s, struct stand *stand, const struct berth_pod_term *term,
                    const struct kind *owner, const struct node *node)
{
    uint32_t part = stand->part_of[node->at];
    struct head head = { 0 };

    VEC_EACH (task, &node->tasks)
        if (counts(stand, term, owner, *task)) {
            head.n++;
            head.n_stay += stays(s, *task);
        }
    if (part != NOWHERE) {
        head_change(&stand->all, &stand->on[node->at], &head);
        head_change(&stand->in[part], &stand->on[node->at], &head);
    }
    stand->on[node->at] = head;
}

/* Brings a count up to date. */
static void look(struct session *s, struct stand *stand, const struct berth_pod_term *term,
                 const struct kind *owner, bool counts_leaving)
{
    struct model *model = s->model;
    uint64_t now = model->touched_base + model->touched.n;
    bool anew = !stand->part_of || stand->epoch != model->epoch ||
                stand->counts_leaving != counts_leaving || now - stand->read > model->nodes.n ||
                s->in.is_cold;

    if (!stand->part_of)
        divide(s, term, stand);
    stand->counts_leaving = counts_leaving;
    for (; !anew && stand->read < now; stand->read++)
        recount(s, stand, term, owner,
                model->nodes.at[model->touched.at[stand->read - model->touched_base]]);
    if (!anew)
        return;
    NODE_EACH (node, model)
        recount(s, stand, term, owner, node);
    stand->epoch = model->epoch;
    stand->read = now;
}

/* --- Classes */

typedef VEC_OF(struct foreign) foreign_vec;

/* Terms of another class that mean this one. */
static void add_foreign(foreign_vec *found, struct kind *other, enum bond bond,
                        const struct kind *kind)
{
    size_t n;
    const struct berth_pod_term *terms = terms_of(other, bond, &n);

    for (size_t i = 0; i < n; i++)
        if (term_means(&terms[i], other, kind))
            VEC_PUSH(found, ((struct foreign){ other, bond, i }));
}

static struct foreign *keep_list(struct session *s, foreign_vec *found, size_t *n)
{
    struct foreign *list =
        found->n ? arena_copy(&s->arena, found->at, found->n * sizeof(*found->at)) : NULL;

    *n = found->n;
    VEC_FINI(found);
    return list;
}

static struct stand *stands_new(struct session *s, size_t n, enum whom whom, bool counts_promised)
{
    struct stand *stands = ARENA_NEW0_N(&s->arena, struct stand, n + 1);

    for (size_t i = 0; i < n; i++)
        stands[i] = (struct stand){ .whom = whom, .counts_promised = counts_promised };
    return stands;
}

static struct company *company_of(struct session *s, struct kind *kind)
{
    foreign_vec keepers = { 0 }, fans = { 0 };
    struct company *c = kind->company;
    size_t n;

    if (c && kind->company_of == s->number)
        return c;
    c = kind->company = ARENA_NEW0(&s->arena, struct company);
    kind->company_of = s->number;
    for (int bond = 0; bond < N_BONDS; bond++) {
        terms_of(kind, (enum bond)bond, &n);
        c->meant[bond] = stands_new(s, n, bond == NEAR ? REQUIRED : MEANT, true);
        c->own[bond] = stands_new(s, n, OWN, true);
    }
    terms_of(kind, NEAR, &n);
    c->there[false] = stands_new(s, n, REQUIRED, false);
    c->there[true] = stands_new(s, n, REQUIRED, false);
    VEC_EACH (other, &s->model->anti_kinds)
        add_foreign(&keepers, *other, AWAY, kind);
    VEC_EACH (other, &s->model->choosy_kinds) {
        add_foreign(&fans, *other, LIKES, kind);
        add_foreign(&fans, *other, DISLIKES, kind);
    }
    c->keepers = keep_list(s, &keepers, &c->n_keepers);
    c->fans = keep_list(s, &fans, &c->n_fans);
    return c;
}

bool company_matters(struct session *s, struct kind *kind)
{
    size_t n_near, n_away;

    terms_of(kind, NEAR, &n_near);
    terms_of(kind, AWAY, &n_away);
    return n_near || n_away || company_of(s, kind)->n_keepers;
}

/* Where the tasks stand whom a term of the class means. */
static struct stand *look_at_meant(struct session *s, struct kind *kind, enum bond bond, size_t i,
                                   bool counts_leaving)
{
    struct stand *stand = &company_of(s, kind)->meant[bond][i];
    size_t n;

    look(s, stand, &terms_of(kind, bond, &n)[i], kind, counts_leaving);
    return stand;
}

/* Where those stand who have a term. */
static struct stand *look_at_owners(struct session *s, const struct foreign *foreign,
                                    bool counts_leaving)
{
    struct stand *stand = &company_of(s, foreign->kind)->own[foreign->bond][foreign->term];
    size_t n;

    look(s, stand, &terms_of(foreign->kind, foreign->bond, &n)[foreign->term], foreign->kind,
         counts_leaving);
    return stand;
}

/* How many stand in the node's part. */
static int64_t n_beside(const struct stand *stand, const struct node *node)
{
    uint32_t part = node->at == NOWHERE ? NOWHERE : stand->part_of[node->at];

    return part == NOWHERE ? 0 : (int64_t)stand->in[part].n;
}

/* Whether those stand beside a node whom a class requires: by each term's parts. */
static bool has_required(struct session *s, struct kind *kind, const struct node *node,
                         bool counts_leaving)
{
    const struct berth_pod_term *terms;
    bool are_beside = true, are_anywhere = false;
    size_t n;

    terms = terms_of(kind, NEAR, &n);
    for (size_t i = 0; i < n; i++) {
        const struct stand *stand = look_at_meant(s, kind, NEAR, i, counts_leaving);
        if (!term_value(&terms[i], node))
            return false;
        are_beside = are_beside && n_beside(stand, node);
        are_anywhere = are_anywhere || stand->all.n;
    }
    /* The first of its sort may start the company. */
    return are_beside || (!are_anywhere && is_required(kind, kind));
}

bool company_holds(struct session *s, struct kind *kind, const struct node *node,
                   bool counts_leaving)
{
    const struct company *c = company_of(s, kind);
    size_t n;

    if (!has_required(s, kind, node, counts_leaving))
        return false;
    terms_of(kind, AWAY, &n);
    for (size_t i = 0; i < n; i++)
        if (n_beside(look_at_meant(s, kind, AWAY, i, counts_leaving), node))
            return false;
    for (size_t i = 0; i < c->n_keepers; i++)
        if (n_beside(look_at_owners(s, &c->keepers[i], counts_leaving), node))
            return false;
    return true;
}

/* What may be told of a head count, whoever is evicted: those who stay are somebody, in any case. */
static uint64_t outlook(const struct head *head)
{
    return head->n_stay ? UINT64_MAX : head->n;
}

static uint64_t add_outlook(uint64_t stamp, const struct stand *stand, const struct node *node)
{
    uint32_t part = stand->part_of[node->at];

    return stamp * 0x9e3779b97f4a7c15 + (part == NOWHERE ? 0 : outlook(&stand->in[part]));
}

uint64_t company_stamp(struct session *s, struct kind *kind, const struct node *node)
{
    const struct company *c = company_of(s, kind);
    uint64_t stamp = 0;

    for (int bond = NEAR; bond <= AWAY; bond++) {
        size_t n;
        terms_of(kind, (enum bond)bond, &n);
        for (size_t i = 0; i < n; i++) {
            const struct stand *stand = look_at_meant(s, kind, (enum bond)bond, i, false);
            stamp = add_outlook(stamp, stand, node);
            if (bond == NEAR) /* who is the first of its sort may begin anywhere */
                stamp = stamp * 0x9e3779b97f4a7c15 + outlook(&stand->all);
        }
    }
    for (size_t i = 0; i < c->n_keepers; i++)
        stamp = add_outlook(stamp, look_at_owners(s, &c->keepers[i], false), node);
    return stamp;
}

void company_rewind(struct session *s, struct kind *kind, uint64_t read)
{
    const struct company *c = company_of(s, kind);

    for (int bond = NEAR; bond <= AWAY; bond++) {
        size_t n;
        terms_of(kind, (enum bond)bond, &n);
        for (size_t i = 0; i < n; i++)
            look_at_meant(s, kind, (enum bond)bond, i, false)->read = read;
    }
    for (size_t i = 0; i < c->n_keepers; i++)
        look_at_owners(s, &c->keepers[i], false)->read = read;
}

/* Whether its own job is promised such a task in the same part, itself perhaps: they come together. */
static bool brings_its_own(const struct task *task, const struct berth_pod_term *term)
{
    const struct job *job = task->group->job;

    for (size_t i = 0; i < job->n_tasks; i++) {
        const struct task *other = &job->tasks[i];
        if (other->state == BERTH_TASK_PIPELINED &&
            is_required(task->group->kind, other->group->kind) &&
            term_joins(term, task->node, other->node))
            return true;
    }
    return false;
}

bool company_is_there(struct session *s, const struct task *task, bool counts_leaving)
{
    struct kind *kind = task->group->kind;
    const struct berth_pod_term *terms;
    size_t n;

    terms = terms_of(kind, NEAR, &n);
    for (size_t i = 0; i < n; i++) {
        struct stand *stand = &company_of(s, kind)->there[counts_leaving][i];
        look(s, stand, &terms[i], kind, counts_leaving);
        if (!n_beside(stand, task->node) && !brings_its_own(task, &terms[i]))
            return false;
    }
    return true;
}

int64_t company_weighs(struct session *s, struct kind *kind, const struct node *node)
{
    const struct company *c = company_of(s, kind);
    int64_t sum = 0;

    for (int bond = LIKES; bond <= DISLIKES; bond++) {
        size_t n;
        const struct berth_pod_term *terms = terms_of(kind, (enum bond)bond, &n);
        for (size_t i = 0; i < n; i++)
            sum += (bond == LIKES ? 1 : -1) * terms[i].weight *
                   n_beside(look_at_meant(s, kind, (enum bond)bond, i, true), node);
    }
    for (size_t i = 0; i < c->n_fans; i++) {
        const struct foreign *fan = &c->fans[i];
        size_t n;
        sum += (fan->bond == LIKES ? 1 : -1) *
               terms_of(fan->kind, fan->bond, &n)[fan->term].weight *
               n_beside(look_at_owners(s, fan, true), node);
    }
    return sum;
}
