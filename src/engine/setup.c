/* Setup: see setup.h. */
#include "engine/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/str.h"
#include "engine/outside.h"
#include "engine/shape.h"

const char *berth_action_at(size_t i)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) none of them is missing */
    return i < n_actions ? actions[i]->name : NULL;
}

const char *berth_plugin_at(size_t i)
{
    return i < n_plugins ? plugins[i]->name : NULL;
}

/* "; did you mean X?" or nothing. */
static void suggest(const char *word, const char *(*at)(size_t i), char out[80])
{
    const char *known[64];
    size_t n = 0;
    const char *near;

    while (n < COUNT_OF(known) && at(n)) {
        known[n] = at(n);
        n++;
    }
    near = nearest(word, known, n);
    out[0] = '\0';
    if (near)
        snprintf(out, 80, "; did you mean %s?", near);
}

static const struct action *action_find(const char *name)
{
    for (size_t i = 0; i < n_actions; i++)
        if (text_eq(actions[i]->name, name))
            return actions[i];
    return NULL;
}

static const struct plugin *plugin_find(const struct outsiders *others, const char *name)
{
    for (size_t i = 0; i < n_plugins; i++)
        if (text_eq(plugins[i]->name, name))
            return plugins[i];
    return outsiders_find(others, name);
}

static int setup_actions(struct setup *setup, const struct berth_words *names,
                         const struct berth_value *arguments, struct err *err)
{
    const struct action **list = ARENA_NEW0_N(&setup->arena, const struct action *, names->n + 1);
    const struct berth_value **given =
        ARENA_NEW0_N(&setup->arena, const struct berth_value *, names->n + 1);

    for (size_t i = 0; i < names->n; i++) {
        char near[80];
        list[i] = action_find(names->at[i]);
        if (!list[i]) {
            suggest(names->at[i], berth_action_at, near);
            return err_set(err, -EINVAL, "/actions/%zu: no action %s%s", i, names->at[i], near);
        }
        given[i] = berth_value_get(arguments, names->at[i]);
    }
    for (size_t i = 0; arguments && i < arguments->n_members; i++) {
        const struct berth_value *one = &arguments->members[i];
        const struct action *action = action_find(one->key);
        int r;
        if (!action)
            r = err_set(err, -EINVAL, "no such action");
        else if (one->kind != BERTH_VALUE_OBJECT)
            r = err_set(err, -EINVAL, "must be an object");
        else
            r = action->check ? action->check(one, err) : 0;
        if (r < 0) {
            char step[POINTER_STEP_SIZE];
            err_under(err, pointer_step(one->key, step));
            return err_under(err, "/actionArguments");
        }
    }
    setup->actions = list;
    setup->action_arguments = given;
    setup->n_actions = names->n;
    return 0;
}

static int setup_plugin(struct setup *setup, const struct berth_plugin_use *from, size_t tier,
                        struct err *err)
{
    struct plugin_use *use = &setup->uses[setup->n_uses];
    const struct outside *outside;
    char near[80];
    int r = 0;

    use->plugin = plugin_find(setup->others, from->name);
    if (!use->plugin) {
        suggest(from->name ? from->name : "", berth_plugin_at, near);
        return err_set(err, -EINVAL, "/name: no plugin %s%s", from->name ? from->name : "", near);
    }
    use->enabled = from->has_enabled ? from->enabled : BERTH_HOOKS_DEFAULT;
    use->tier = tier;
    outside = outside_of(use);
    if (outside)
        r = outside_configure(outside, from->arguments, &use->config, err);
    else if (use->plugin->configure)
        r = use->plugin->configure(from->arguments, &setup->arena, &use->config, err);
    if (r < 0)
        return err_under(err, "/arguments");
    setup->n_uses++;
    return 0;
}

/* What a plugin votes and adds it would twice. */
static int check_twice(const struct setup *setup, struct err *err)
{
    const struct plugin_use *last = &setup->uses[setup->n_uses - 1];

    for (const struct plugin_use *use = setup->uses; use < last; use++)
        if (use->plugin == last->plugin)
            return err_set(err, -EINVAL, "/name: %s stands in tier %zu already", last->plugin->name,
                           use->tier);
    return 0;
}

static int setup_tiers(struct setup *setup, const struct berth_tier *tiers, size_t n,
                       struct err *err)
{
    size_t n_uses = 0;

    for (size_t i = 0; i < n; i++)
        n_uses += tiers[i].n;
    setup->uses = ARENA_NEW0_N(&setup->arena, struct plugin_use, n_uses + 1);
    setup->n_tiers = n;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < tiers[i].n; k++) {
            char step[64];
            int r = setup_plugin(setup, &tiers[i].plugins[k], i, err);
            if (r == 0)
                r = check_twice(setup, err);
            if (r == 0)
                continue;
            snprintf(step, sizeof(step), "/tiers/%zu/plugins/%zu", i, k);
            return err_under(err, step);
        }
    }
    framework_hook(setup->uses, setup->n_uses, &setup->arena, setup->hooked);
    return 0;
}

/* Several deciders look at one job at a time each: nothing that looks at all of them goes with it. */
static int check_deciders(const struct setup *setup, struct err *err)
{
    static const char *const whole[] = { "preempt", "reclaim", "gangpreempt", "gangreclaim",
                                         "shuffle" };

    if (setup->policy.deciders != DECIDERS_MANY)
        return 0;
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        if (setup_has_action(setup, whole[i]))
            return err_set(err, -EINVAL, "/policy/deciders: many cannot run the action %s",
                           whole[i]);
    if (setup->policy.protect_after_ms != BERTH_NEVER)
        return err_set(err, -EINVAL, "/policy/deciders: many cannot keep protectAfter");
    return 0;
}

int setup_new(const struct berth_config *given, const struct outsiders *others, struct setup **out,
              struct err *err)
{
    struct setup *setup = NEW0(struct setup);
    const struct berth_config *profile, *config;
    const char *name = given && given->profile ? given->profile : "berth";
    char near[80];
    int r;

    setup->others = others;
    if (given)
        setup->kept = shape_copy(shape_of[BERTH_CONFIG], given);
    config = setup->kept;
    profile = berth_profile_find(name);
    if (!profile) {
        setup_free(setup);
        suggest(name, berth_profile_at, near);
        return err_set(err, -EINVAL, "/profile: no profile %s%s", name, near);
    }
    setup->profile = profile->profile;
    r = policy_read(profile->policy, &setup->policy, err);
    if (r == 0 && config)
        r = policy_read(config->policy, &setup->policy, err);
    setup->is_beam = setup->policy.mode == MODE_SERVERLESS;
    setup->is_reference = setup->policy.mode == MODE_REFERENCE;
    if (r == 0)
        r = setup_actions(setup,
                          config && config->has_actions ? &config->actions : &profile->actions,
                          config ? config->action_arguments : NULL, err);
    if (r == 0) {
        bool own = config && config->has_tiers;
        r = setup_tiers(setup, own ? config->tiers : profile->tiers,
                        own ? config->n_tiers : profile->n_tiers, err);
    }
    if (r == 0) {
        setup->admits = setup_has_action(setup, "enqueue");
        setup->takes_back =
            !setup->is_reference && !setup->is_beam &&
            (setup_has_action(setup, "reclaim") || setup_has_action(setup, "gangreclaim"));
        r = check_deciders(setup, err);
    }
    if (r < 0) {
        setup_free(setup);
        return r;
    }
    setup->shard_mode = config ? config->shard_mode : BERTH_SHARD_NONE;
    *out = setup;
    return 0;
}

void setup_free(struct setup *setup)
{
    if (!setup)
        return;
    for (size_t i = 0; i < setup->n_uses; i++) {
        const struct outside *outside = outside_of(&setup->uses[i]);
        if (outside)
            outside_destroy(outside, setup->uses[i].config);
    }
    free(setup->kept);
    arena_fini(&setup->arena);
    free(setup);
}

bool setup_has_action(const struct setup *setup, const char *name)
{
    for (size_t i = 0; i < setup->n_actions; i++)
        if (text_eq(setup->actions[i]->name, name))
            return true;
    return false;
}

bool setup_has_plugin(const struct setup *setup, const char *name)
{
    for (size_t i = 0; i < setup->n_uses; i++)
        if (text_eq(setup->uses[i].plugin->name, name))
            return true;
    return false;
}

int berth_config_check_with(const struct berth_config *config,
                            const struct berth_plugin_file *files, size_t n, struct err *err)
{
    struct outsiders others = { 0 };
    struct setup *setup = NULL;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = outsiders_add(&others, &files[i], err);
    if (r == 0)
        r = setup_new(config, &others, &setup, err);
    setup_free(setup);
    outsiders_fini(&others);
    return r;
}

int berth_config_check(const struct berth_config *config, struct err *err)
{
    return berth_config_check_with(config, NULL, 0, err);
}
