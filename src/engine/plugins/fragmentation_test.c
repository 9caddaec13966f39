#include "engine/testing.h"

static void tell_device(struct world *w, const char *class_name, const char *uuid)
{
    world_tell(w, BERTH_DEVICE,
               &(struct berth_device){
                   .node = "n1", .class_name = class_name, .uuid = uuid, .model = "X" });
}

/* Two nodes, the first with a device of some class, and a task that needs all cpu of a node. */
static const char *chosen_beside(struct world *w, const char *class_name, const char *policy)
{
    static const char mix[] = "u 1 1000 1000 1 -\n";
    struct berth_value choice = { .key = "policy", .kind = BERTH_VALUE_TEXT, .text = policy };
    struct berth_value arguments = { .kind = BERTH_VALUE_OBJECT,
                                     .members = &choice,
                                     .n_members = 1 };
    struct berth_plugin_use uses[] = { { .name = "predicates" },
                                       { .name = "fragmentation", .arguments = &arguments } };
    struct berth_tier tier = { uses, COUNT_OF(uses) };

    world_init(w);
    world_tell(w, BERTH_CONFIG,
               &(struct berth_config){ .has_tiers = true, .tiers = &tier, .n_tiers = 1 });
    world_tell(w, BERTH_MEMO, &(struct berth_memo){ "fragmentation.mix", mix, sizeof(mix) - 1 });
    world_queue(w, "default");
    world_node(w, "n1", 8);
    world_node(w, "n2", 8);
    tell_device(w, class_name, "d");
    world_job(w, "j", 1, 1, 8);
    world_cycle(w);
    return world_groups(w);
}

TEST(fragmentation_is_of_gpus_only)
{
    static const struct {
        const char *name, *class_name, *node;
    } policies[] = { { "fgd", "gpu", "n2" },
                     { "fgd", "fpga", "n1" },
                     { "berth", "gpu", "n2" },
                     { "berth", "fpga", "n1" } };

    ROW_EACH (c, policies) {
        struct world w;
        const char *groups = chosen_beside(&w, c->class_name, c->name);
        CHECK_TEXT(groups, arena_format(&w.arena, "bind j/task.0>%s", c->node));
        world_fini(&w);
    }
}
