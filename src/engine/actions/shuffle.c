/*
 * Shuffle: evicts what plugins say must go for no other's sake, such as tasks on nodes that were
 * lent and are wanted back. The first tier that names any decides.
 */
#include "engine/actions.h"
#include "engine/victims.h"

static void run(struct session *s, const struct berth_value *arguments)
{
    const struct hooked *hooked = &s->setup->hooked[HOOKED_VICTIMS];
    struct victims set = { 0 };
    size_t n = 0;

    (void)arguments;
    JOB_EACH (job, s->model)
        n += job->n_tasks;
    set.at = ARENA_NEW0_N(&s->arena, struct task *, n * (hooked->n + 1) + 1);
    for (size_t i = 0; i < hooked->n; i++) {
        if (i && set.n && hooked->at[i]->tier != hooked->at[i - 1]->tier)
            break;
        hooked->at[i]->plugin->victims(s, hooked->at[i], &set);
    }
    for (size_t i = 0; i < set.n; i++) {
        struct statement stmt = statement_open(s);
        if (set.at[i]->state != BERTH_TASK_RUNNING)
            continue; /* named twice */
        if (!s->setup->is_reference && job_may_lose(set.at[i]->group->job) <= 0)
            continue; /* its budget is used up */
        statement_evict(&stmt, set.at[i], "shuffle");
        statement_commit(&stmt, NULL);
    }
}

const struct action action_shuffle = { .name = "shuffle", .sees_lines = sees_lines, .run = run };
