/*
 * A plugin for Berth: prefers nodes that carry a label.
 *
 * Arguments: `label`, needed; `value`, which the label must have (any); `weight`, what is added to
 * the score of such a node (100).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "berth/plugin.h"

struct config {
    char *label, *value;
    double weight;
};

static void destroy(void *config)
{
    struct config *c = config;

    free(c->label);
    free(c->value);
    free(c);
}

static int configure(const struct berth_view *view, const struct berth_plugin_arguments *arguments,
                     void **config, char *why, size_t n)
{
    const char *label = view->argument_text(arguments, "label");
    const char *value = view->argument_text(arguments, "value");
    struct config *c;

    if (!label || !label[0]) {
        snprintf(why, n, "label is needed, a text");
        return -1;
    }
    c = calloc(1, sizeof(*c));
    if (!c)
        abort();
    c->label = strdup(label);
    c->value = value ? strdup(value) : NULL;
    c->weight = 100;
    view->argument_number(arguments, "weight", &c->weight);
    *config = c;
    return 0;
}

static double score(const struct berth_plugin_call *call, const struct berth_plugin_class *class_,
                    const struct berth_plugin_node *node)
{
    const struct config *c = call->config;
    const char *value = call->view->node_label(node, c->label);

    (void)class_;
    return value && (!c->value || strcmp(value, c->value) == 0) ? c->weight : 0;
}

static const char *const arguments[] = { "label", "value", "weight", NULL };

const struct berth_plugin berth_plugin_v1 = {
    .abi = BERTH_PLUGIN_ABI,
    .size = sizeof(struct berth_plugin),
    .name = "prefer-label",
    .version = "1.0",
    .arguments = arguments,
    .is_local = true,
    .configure = configure,
    .destroy = destroy,
    .score = score,
};
