/*
 * Outside: see outside.h. What a loaded plugin is asked, and what it may ask.
 *
 * Handles are the engine's own objects under names that hide them.
 */
#include "engine/outside.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "base/str.h"
#include "engine/session.h"

/* --- What a plugin may ask */

#define SEES(name, hidden, type)                                                                   \
    static const struct type *see_##name(const struct hidden *handle)                              \
    {                                                                                              \
        return (const struct type *)(const void *)handle;                                          \
    }                                                                                              \
    static const struct hidden *hide_##name(const struct type *object)                             \
    {                                                                                              \
        return (const struct hidden *)(const void *)object;                                        \
    }
SEES(session, berth_plugin_session, session)
SEES(node, berth_plugin_node, node)
SEES(class, berth_plugin_class, kind)
SEES(task, berth_plugin_task, task)
SEES(job, berth_plugin_job, job)
SEES(queue, berth_plugin_queue, queue)
SEES(arguments, berth_plugin_arguments, berth_value)

static const char *argument_text(const struct berth_plugin_arguments *a, const char *name)
{
    const struct berth_value *value = berth_value_get(see_arguments(a), name);

    return value && value->kind == BERTH_VALUE_TEXT ? value->text : NULL;
}

static bool argument_number(const struct berth_plugin_arguments *a, const char *name, double *out)
{
    const struct berth_value *value = berth_value_get(see_arguments(a), name);

    return value && value_number(value, out);
}

static bool argument_bool(const struct berth_plugin_arguments *a, const char *name, bool *out)
{
    const struct berth_value *value = berth_value_get(see_arguments(a), name);

    if (!value || value->kind != BERTH_VALUE_BOOL)
        return false;
    *out = value->truth;
    return true;
}

static int64_t now_ms(const struct berth_plugin_session *s)
{
    return see_session(s)->in.now_ms;
}

static uint64_t seed(const struct berth_plugin_session *s)
{
    return see_session(s)->in.seed;
}

static const struct berth_plugin_node *node_at(const struct berth_plugin_session *s, size_t i)
{
    const struct model *model = see_session(s)->model;

    return i < model->nodes.n ? hide_node(model->nodes.at[i]) : NULL;
}

static const char *label_of(const struct berth_labels *labels, const char *key)
{
    for (size_t i = 0; i < labels->n; i++)
        if (text_eq(labels->at[i].key, key))
            return labels->at[i].value ? labels->at[i].value : "";
    return NULL;
}

static const char *node_id(const struct berth_plugin_node *n)
{
    return see_node(n)->id;
}

static const char *node_label(const struct berth_plugin_node *n, const char *key)
{
    return see_node(n)->kept ? label_of(&see_node(n)->kept->labels, key) : NULL;
}

static const char *node_pool(const struct berth_plugin_node *n)
{
    return see_node(n)->kept ? see_node(n)->kept->pool : NULL;
}

static const char *node_gpu_model(const struct berth_plugin_node *n)
{
    return see_node(n)->kept ? see_node(n)->kept->gpu_model : NULL;
}

static int64_t node_weight(const struct berth_plugin_node *n)
{
    return see_node(n)->kept ? see_node(n)->kept->weight : 0;
}

/* The node's column of a resource; NULL where nobody ever named it. */
static const struct column *column_of(const struct berth_plugin_session *s,
                                      const struct berth_plugin_node *n, const char *resource)
{
    const struct model *model = see_session(s)->model;
    uint32_t dim = dim_find(model, resource);

    return dim == NOWHERE || see_node(n)->at == NOWHERE ? NULL : &model->columns[dim];
}

static int64_t node_offers(const struct berth_plugin_session *s, const struct berth_plugin_node *n,
                           const char *resource)
{
    const struct column *c = column_of(s, n, resource);

    return c ? c->offers[see_node(n)->at] : 0;
}

static int64_t node_free(const struct berth_plugin_session *s, const struct berth_plugin_node *n,
                         const char *resource)
{
    const struct column *c = column_of(s, n, resource);

    return c ? column_idle(c, see_node(n)->at) : 0;
}

static const struct berth_plugin_task *node_task_at(const struct berth_plugin_node *n, size_t i)
{
    return i < see_node(n)->tasks.n ? hide_task(see_node(n)->tasks.at[i]) : NULL;
}

static const char *class_namespace(const struct berth_plugin_class *c)
{
    return see_class(c)->namespace_;
}

static const char *class_queue(const struct berth_plugin_class *c)
{
    return see_class(c)->queue;
}

static const char *class_label(const struct berth_plugin_class *c, const char *key)
{
    return label_of(&see_class(c)->spec->labels, key);
}

static const char *class_capability(const struct berth_plugin_class *c)
{
    return see_class(c)->spec->capability;
}

static int64_t class_asks(const struct berth_plugin_session *s, const struct berth_plugin_class *c,
                          const char *resource)
{
    uint32_t dim = dim_find(see_session(s)->model, resource);

    return dim == NOWHERE ? 0 : asks_of(&see_class(c)->asks, dim);
}

static const struct berth_plugin_job *task_job(const struct berth_plugin_task *t)
{
    return hide_job(see_task(t)->group->job);
}

static const struct berth_plugin_class *task_class(const struct berth_plugin_task *t)
{
    return hide_class(see_task(t)->group->kind);
}

static const char *task_group(const struct berth_plugin_task *t)
{
    return see_task(t)->group->spec->name;
}

static uint32_t task_index(const struct berth_plugin_task *t)
{
    return see_task(t)->index;
}

static int64_t task_started_at_ms(const struct berth_plugin_task *t)
{
    return see_task(t)->started_at_ms;
}

static const struct berth_plugin_node *task_node(const struct berth_plugin_task *t)
{
    return see_task(t)->node ? hide_node(see_task(t)->node) : NULL;
}

static const char *job_id(const struct berth_plugin_job *j)
{
    return see_job(j)->id;
}

static const char *job_namespace(const struct berth_plugin_job *j)
{
    return see_job(j)->kept->namespace_;
}

static int64_t job_priority(const struct berth_plugin_job *j)
{
    return see_job(j)->priority;
}

static int64_t job_created_at_ms(const struct berth_plugin_job *j)
{
    return see_job(j)->kept->created_at_ms;
}

static uint32_t job_min_available(const struct berth_plugin_job *j)
{
    return see_job(j)->min_available;
}

static uint32_t job_n_tasks(const struct berth_plugin_job *j)
{
    return (uint32_t)see_job(j)->n_tasks;
}

static uint32_t job_n_ready_of(const struct berth_plugin_job *j)
{
    return job_n_ready(see_job(j));
}

static const struct berth_plugin_queue *job_queue(const struct berth_plugin_job *j)
{
    return see_job(j)->queue ? hide_queue(see_job(j)->queue) : NULL;
}

static const char *queue_name(const struct berth_plugin_queue *q)
{
    return see_queue(q)->name;
}

static int64_t queue_weight(const struct berth_plugin_queue *q)
{
    const struct berth_queue *kept = see_queue(q)->kept;

    return kept && kept->weight ? kept->weight : 1;
}

static int64_t queue_priority(const struct berth_plugin_queue *q)
{
    return see_queue(q)->kept ? see_queue(q)->kept->priority : 0;
}

static int64_t queue_allocated(const struct berth_plugin_session *s,
                               const struct berth_plugin_queue *q, const char *resource)
{
    uint32_t dim = dim_find(see_session(s)->model, resource);

    return dim == NOWHERE || dim >= see_queue(q)->n_sums ? 0
                                                         : wide_clamp(see_queue(q)->allocated[dim]);
}

static const struct berth_view view = {
    .size = sizeof(struct berth_view),
    .argument_text = argument_text,
    .argument_number = argument_number,
    .argument_bool = argument_bool,
    .now_ms = now_ms,
    .seed = seed,
    .node_at = node_at,
    .node_id = node_id,
    .node_label = node_label,
    .node_pool = node_pool,
    .node_gpu_model = node_gpu_model,
    .node_weight = node_weight,
    .node_offers = node_offers,
    .node_free = node_free,
    .node_task_at = node_task_at,
    .class_namespace = class_namespace,
    .class_queue = class_queue,
    .class_label = class_label,
    .class_capability = class_capability,
    .class_asks = class_asks,
    .task_job = task_job,
    .task_class = task_class,
    .task_group = task_group,
    .task_index = task_index,
    .task_started_at_ms = task_started_at_ms,
    .task_node = task_node,
    .job_id = job_id,
    .job_namespace = job_namespace,
    .job_priority = job_priority,
    .job_created_at_ms = job_created_at_ms,
    .job_min_available = job_min_available,
    .job_n_tasks = job_n_tasks,
    .job_n_ready = job_n_ready_of,
    .job_queue = job_queue,
    .queue_name = queue_name,
    .queue_weight = queue_weight,
    .queue_priority = queue_priority,
    .queue_allocated = queue_allocated,
};

/* --- What it is asked */

static const struct berth_plugin *given_of(const struct plugin_use *use)
{
    return &((const struct outside *)(const void *)use->plugin)->given;
}

static struct berth_plugin_call call_of(struct session *s, const struct plugin_use *use)
{
    return (struct berth_plugin_call){ &view, hide_session(s), use->config, use->state };
}

static void open(struct session *s, struct plugin_use *use)
{
    struct berth_plugin_call call = call_of(s, use);

    if (given_of(use)->open)
        use->state = given_of(use)->open(&call);
}

static bool is_local(struct session *s, struct plugin_use *use, const struct kind *kind)
{
    (void)s;
    (void)kind;
    return given_of(use)->is_local;
}

static enum wait_code predicate(struct session *s, struct plugin_use *use, const struct kind *kind,
                                const struct node *node)
{
    struct berth_plugin_call call = call_of(s, use);

    return given_of(use)->filter(&call, hide_class(kind), hide_node(node)) ? WAIT_NONE
                                                                           : WAIT_PLUGIN;
}

static double score(struct session *s, struct plugin_use *use, const struct kind *kind,
                    const struct node *node)
{
    struct berth_plugin_call call = call_of(s, use);
    double score = given_of(use)->score(&call, hide_class(kind), hide_node(node));

    return score >= -1e9 && score <= 1e9 ? score : 0; /* no number is neither */
}

static int job_order(struct session *s, struct plugin_use *use, const struct job *a,
                     const struct job *b)
{
    struct berth_plugin_call call = call_of(s, use);

    return given_of(use)->compare_jobs(&call, hide_job(a), hide_job(b));
}

static int queue_order(struct session *s, struct plugin_use *use, const struct queue *a,
                       const struct queue *b)
{
    struct berth_plugin_call call = call_of(s, use);

    return given_of(use)->compare_queues(&call, hide_queue(a), hide_queue(b));
}

static enum vote job_enqueueable(struct session *s, struct plugin_use *use, const struct job *job,
                                 struct why *why)
{
    struct berth_plugin_call call = call_of(s, use);

    if (given_of(use)->admit(&call, hide_job(job)))
        return VOTE_ABSTAIN;
    *why = (struct why){ .code = WAIT_PLUGIN, .dim = NOWHERE };
    return VOTE_REJECT;
}

static enum vote leave_spared(struct session *s, struct plugin_use *use, const struct task *task,
                              const struct victims *from, struct victims *to, bool is_reclaim)
{
    struct berth_plugin_call call = call_of(s, use);

    for (size_t i = 0; i < from->n; i++)
        if (!given_of(use)->spare(&call, hide_task(task), hide_task(from->at[i]), is_reclaim))
            to->at[to->n++] = from->at[i];
    return VOTE_PERMIT;
}

static enum vote preemptable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    return leave_spared(s, use, task, from, to, false);
}

static enum vote reclaimable(struct session *s, struct plugin_use *use, const struct task *task,
                             const struct victims *from, struct victims *to)
{
    return leave_spared(s, use, task, from, to, true);
}

static void on_allocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    struct berth_plugin_call call = call_of(s, use);

    if (given_of(use)->on_allocate(&call, hide_task(task)) < 0)
        s->is_refusing = true;
}

static void on_deallocate(struct session *s, struct plugin_use *use, const struct task *task)
{
    struct berth_plugin_call call = call_of(s, use);

    given_of(use)->on_deallocate(&call, hide_task(task));
}

/* --- Taking in */

static struct plugin plugin_from(const struct berth_plugin *given)
{
    return (struct plugin){
        .name = given->name,
        .open = open,
        .is_local = (given->filter || given->score) && !given->is_local ? is_local : NULL,
        .predicate = given->filter ? predicate : NULL,
        .score = given->score ? score : NULL,
        .job_order = given->compare_jobs ? job_order : NULL,
        .queue_order = given->compare_queues ? queue_order : NULL,
        .job_enqueueable = given->admit ? job_enqueueable : NULL,
        .preemptable = given->spare ? preemptable : NULL,
        .reclaimable = given->spare ? reclaimable : NULL,
        .on_allocate = given->on_allocate ? on_allocate : NULL,
        .on_deallocate = given->on_deallocate ? on_deallocate : NULL,
    };
}

static int check_given(const struct outsiders *all, const struct berth_plugin *given,
                       struct err *err)
{
    if (given->abi != BERTH_PLUGIN_ABI)
        return err_set(err, -EINVAL, "the plugin is built for ABI version %u, this is version %d",
                       given->abi, BERTH_PLUGIN_ABI);
    if (given->size < sizeof(*given))
        return err_set(err, -EINVAL, "the plugin says that it has %u bytes, ABI version %d has %zu",
                       given->size, BERTH_PLUGIN_ABI, sizeof(*given));
    if (!given->name || !given->name[0] || !given->version || !given->version[0])
        return err_set(err, -EINVAL, "the plugin has no name or no version");
    for (size_t i = 0; i < n_plugins; i++)
        if (text_eq(plugins[i]->name, given->name))
            return err_set(err, -EINVAL, "plugin %s: the engine has one of that name", given->name);
    if (outsiders_find(all, given->name))
        return err_set(err, -EINVAL, "plugin %s: two have that name", given->name);
    return 0;
}

int outsiders_add(struct outsiders *all, const struct berth_plugin_file *file, struct err *err)
{
    struct outside *outside;
    int r = check_given(all, file->plugin, err);

    if (r < 0)
        return r;
    outside = NEW0(struct outside);
    outside->given = *file->plugin;
    outside->plugin = plugin_from(&outside->given);
    outside->hash = text_copy(file->hash ? file->hash : "");
    VEC_PUSH(all, outside);
    return 0;
}

void outsiders_fini(struct outsiders *all)
{
    VEC_EACH (outside, all) {
        free((*outside)->hash);
        free(*outside);
    }
    VEC_FINI(all);
}

const struct plugin *outsiders_find(const struct outsiders *all, const char *name)
{
    VEC_EACH (outside, all)
        if (text_eq((*outside)->plugin.name, name))
            return &(*outside)->plugin;
    return NULL;
}

const struct outside *outside_of(const struct plugin_use *use)
{
    return use->plugin->open == open ? (const struct outside *)(const void *)use->plugin : NULL;
}

/* Refuses what the plugin does not list. */
static int check_arguments(const struct berth_plugin *given, const struct berth_value *arguments,
                           struct err *err)
{
    size_t n = 0;

    while (given->arguments && given->arguments[n])
        n++;
    for (size_t i = 0; arguments && i < arguments->n_members; i++) {
        const char *key = arguments->members[i].key, *near;
        char step[POINTER_STEP_SIZE];
        size_t k = 0;
        while (k < n && !text_eq(given->arguments[k], key))
            k++;
        if (k < n)
            continue;
        near = n ? nearest(key, given->arguments, n) : NULL;
        return err_set(err, -EINVAL, "%s: no such argument%s%s%s", pointer_step(key, step),
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    return 0;
}

int outside_configure(const struct outside *outside, const struct berth_value *arguments,
                      void **out, struct err *err)
{
    const struct berth_plugin *given = &outside->given;
    char why[160] = "";
    int r = check_arguments(given, arguments, err);

    if (r < 0 || !given->configure)
        return r;
    if (given->configure(&view, hide_arguments(arguments), out, why, sizeof(why)) >= 0)
        return 0;
    why[sizeof(why) - 1] = '\0';
    return err_set(err, -EINVAL, "%s", why[0] ? why : "the plugin refuses them");
}

void outside_destroy(const struct outside *outside, void *config)
{
    if (outside->given.destroy)
        outside->given.destroy(config);
}

void outside_close(struct session *s, struct plugin_use *use)
{
    const struct outside *outside = outside_of(use);
    struct berth_plugin_call call = call_of(s, use);

    if (outside && outside->given.close)
        outside->given.close(&call);
}
