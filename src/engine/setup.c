/* Setup: see setup.h. */
#include "engine/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/str.h"
#include "engine/faults.h"
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
/* The name that is nearest to a word; NULL if none is near. */
static const char *near_name(const char *word, const char *(*at)(size_t i))
{
    const char *known[64];
    size_t n = 0;

    while (n < COUNT_OF(known) && at(n)) {
        known[n] = at(n);
        n++;
    }
    return nearest(word, known, n);
}

static void suggest(const char *word, const char *(*at)(size_t i), char out[80])
{
    const char *near = near_name(word, at);

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

/* ---- actions ---- */

static void setup_actions(struct setup *setup, const struct berth_words *names,
                          const struct berth_value *arguments, struct faults *faults)
{
    const struct action **list = ARENA_NEW0_N(&setup->arena, const struct action *, names->n + 1);
    const struct berth_value **given =
        ARENA_NEW0_N(&setup->arena, const struct berth_value *, names->n + 1);

    for (size_t i = 0; i < names->n; i++) {
        const struct action *action = action_find(names->at[i]);
        struct err err = { 0 };
        char near[80];
        if (action) {
            given[setup->n_actions] = berth_value_get(arguments, names->at[i]);
            list[setup->n_actions++] = action;
            continue;
        }
        suggest(names->at[i], berth_action_at, near);
        err_set(&err, -EINVAL, "/actions/%zu: no action %s%s", i, names->at[i], near);
        faults_tell(faults, "", &err);
    }
    setup->actions = list;
    setup->action_arguments = given;
}

/* What takes no arguments was given some. */
static int refuse_arguments(const struct berth_value *object, const char *whose, const char *name,
                            struct err *err)
{
    char step[POINTER_STEP_SIZE];

    if (!object || !object->n_members)
        return 0;
    return err_set(err, -EINVAL, "%s: no such argument; %s %s has none",
                   pointer_step(object->members[0].key, step), whose, name);
}

static int read_action(const struct berth_value *object, void *arg, struct err *err)
{
    const struct action *action = arg;

    return action->check ? action->check(object, err)
                         : refuse_arguments(object, "action", action->name, err);
}

static void setup_action_arguments(struct setup *setup, const struct berth_value *arguments,
                                   struct faults *faults)
{
    for (size_t i = 0; arguments && i < arguments->n_members; i++) {
        const struct berth_value *one = &arguments->members[i];
        const struct action *action = action_find(one->key);
        struct err err = { 0 };
        char step[POINTER_STEP_SIZE];
        CLEANUP(freep)
        char *above = text_format("/actionArguments%s", pointer_step(one->key, step));
        if (action && one->kind == BERTH_VALUE_OBJECT) {
            faults_read(faults, above, one, read_action, (void *)action, &setup->arena);
            continue;
        }
        err_set(&err, -EINVAL, action ? "must be an object" : "no such action");
        faults_tell(faults, above, &err);
    }
}

/* ---- plugins ---- */

/* Weights, levels, factors: below 0 none of them means anything. */
static int refuse_negative(const struct berth_value *object, struct err *err)
{
    for (size_t i = 0; object && i < object->n_members; i++) {
        const struct berth_value *value = &object->members[i];
        char step[POINTER_STEP_SIZE];
        double number;
        if (value->kind == BERTH_VALUE_OBJECT && refuse_negative(value, err) < 0)
            return err_under(err, pointer_step(value->key, step));
        if (value->kind != BERTH_VALUE_OBJECT && value_number(value, &number) && number < 0)
            return err_set(err, -EINVAL, "%s: a number of 0 or more, not %g",
                           pointer_step(value->key, step), number);
    }
    return 0;
}

/* A plugin whose arguments are read. */
struct to_configure {
    struct setup *setup;
    struct plugin_use *use;
};

static int read_plugin(const struct berth_value *object, void *arg, struct err *err)
{
    struct to_configure *to = arg;
    struct plugin_use *use = to->use;
    const struct outside *outside = outside_of(use);
    int r;

    if (outside)
        return outside_configure(outside, object, &use->config, err);
    r = use->plugin->configure
            ? use->plugin->configure(object, &to->setup->arena, &use->config, err)
            : refuse_arguments(object, "plugin", use->plugin->name, err);
    if (r < 0 || to->setup->is_reference)
        return r;
    r = refuse_negative(object, err);
    return r == 0 && use->plugin->check ? use->plugin->check(object, err) : r;
}

static void setup_plugin(struct setup *setup, const struct berth_plugin_use *from, size_t tier,
                         const char *above, struct faults *faults)
{
    struct plugin_use *use = &setup->uses[setup->n_uses];
    struct to_configure to = { setup, use };
    CLEANUP(freep) char *arguments = text_format("%s/arguments", above);
    struct err err = { 0 };
    char near[80];

    *use = (struct plugin_use){ .plugin = plugin_find(setup->others, from->name),
                                .enabled = from->has_enabled ? from->enabled : BERTH_HOOKS_DEFAULT,
                                .tier = tier };
    if (!use->plugin && setup->others && setup->others->are_some_unread)
        return;
    if (!use->plugin) {
        suggest(from->name ? from->name : "", berth_plugin_at, near);
        err_set(&err, -EINVAL, "/name: no plugin %s%s", from->name ? from->name : "", near);
        faults_tell(faults, above, &err);
        return;
    }
    for (const struct plugin_use *other = setup->uses; other < use && !err.code; other++)
        if (other->plugin == use->plugin) /* what it votes and adds it would twice */
            err_set(&err, -EINVAL, "/name: %s stands in tier %zu already", use->plugin->name,
                    other->tier);
    if (err.code)
        faults_tell(faults, above, &err);
    if (faults_read(faults, arguments, from->arguments, read_plugin, &to, &setup->arena))
        setup->n_uses++;
}

static void setup_tiers(struct setup *setup, const struct berth_tier *tiers, size_t n,
                        struct faults *faults)
{
    size_t n_uses = 0;

    for (size_t i = 0; i < n; i++)
        n_uses += tiers[i].n;
    setup->uses = ARENA_NEW0_N(&setup->arena, struct plugin_use, n_uses + 1);
    setup->n_tiers = n;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < tiers[i].n; k++) {
            CLEANUP(freep) char *above = text_format("/tiers/%zu/plugins/%zu", i, k);
            setup_plugin(setup, &tiers[i].plugins[k], i, above, faults);
        }
    }
    if (!faults->n)
        framework_hook(setup->uses, setup->n_uses, &setup->arena, setup->hooked);
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

static int read_policy(const struct berth_value *object, void *arg, struct err *err)
{
    return policy_read(object, arg, err);
}

static void setup_all(struct setup *setup, const struct berth_config *profile,
                      const struct berth_config *config, struct faults *faults)
{
    bool own_actions = config && config->has_actions, own_tiers = config && config->has_tiers;
    const struct berth_value *arguments = config ? config->action_arguments : NULL;
    struct err err = { 0 };

    faults_read(faults, "/policy", profile->policy, read_policy, &setup->policy, &setup->arena);
    if (config)
        faults_read(faults, "/policy", config->policy, read_policy, &setup->policy, &setup->arena);
    setup->is_beam = setup->policy.mode == MODE_SERVERLESS;
    setup->is_reference = setup->policy.mode == MODE_REFERENCE;
    setup_actions(setup, own_actions ? &config->actions : &profile->actions, arguments, faults);
    setup_action_arguments(setup, arguments, faults);
    setup_tiers(setup, own_tiers ? config->tiers : profile->tiers,
                own_tiers ? config->n_tiers : profile->n_tiers, faults);
    setup->admits = setup_has_action(setup, "enqueue");
    setup->takes_back =
        !setup->is_reference && !setup->is_beam &&
        (setup_has_action(setup, "reclaim") || setup_has_action(setup, "gangreclaim"));
    if (check_deciders(setup, &err) < 0)
        faults_tell(faults, "", &err);
    setup->shard_mode = config ? config->shard_mode : BERTH_SHARD_NONE;
}

int setup_new_told(const struct berth_config *given, const struct outsiders *others,
                   struct setup **out, struct faults *faults)
{
    struct setup *setup = NEW0(struct setup);
    const struct berth_config *profile;
    const char *name = given && given->profile ? given->profile : "berth";

    setup->others = others;
    if (given)
        setup->kept = shape_copy(shape_of[BERTH_CONFIG], given);
    profile = berth_profile_find(name);
    if (!profile) {
        struct err err = { 0 };
        const char *meant = near_name(name, berth_profile_at);
        char near[80];
        suggest(name, berth_profile_at, near);
        err_set(&err, -EINVAL, "/profile: no profile %s%s", name, near);
        faults_tell(faults, "", &err);
        profile = berth_profile_find(meant ? meant : "berth");
    }
    setup->profile = profile->profile;
    setup_all(setup, profile, setup->kept, faults);
    if (!faults->n) {
        *out = setup;
        return 0;
    }
    setup_free(setup);
    return -EINVAL;
}

int setup_new(const struct berth_config *config, const struct outsiders *others, struct setup **out,
              struct err *err)
{
    struct faults faults = { 0 };
    int r = setup_new_told(config, others, out, &faults);

    return r < 0 ? err_set(err, r, "%s", faults.first.text) : 0;
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

size_t berth_config_faults(const struct berth_config *config, const struct berth_plugin_file *files,
                           size_t n, bool are_all, berth_fault_fn *tell, void *arg)
{
    struct faults faults = { .tell = tell, .arg = arg };
    struct outsiders others = { .are_some_unread = !are_all };
    struct setup *setup = NULL;
    struct err err = { 0 };

    for (size_t i = 0; i < n; i++)
        if (outsiders_add(&others, &files[i], &err) < 0) {
            faults_tell(&faults, "", &err);
            others.are_some_unread = true;
            err = (struct err){ 0 };
        }
    if (setup_new_told(config, &others, &setup, &faults) < 0)
        setup = NULL;
    setup_free(setup);
    outsiders_fini(&others);
    return faults.n;
}

int berth_config_check(const struct berth_config *config, struct err *err)
{
    return berth_config_check_with(config, NULL, 0, err);
}
