/*
 * Models: the names of GPU models. Vendors, drivers and people write one model in many ways;
 * what is compared is the name that a writing resolves to.
 */
#ifndef ENGINE_MODELS_H
#define ENGINE_MODELS_H

#include <stdbool.h>

struct gpu_model {
    char name[48]; /* as in the catalogue; in capitals without separators if it is not in it */
    int place;     /* in the catalogue, or -1 */
};

/** What a writing resolves to: "NVIDIA A100-SXM4-80GB" is A100-80, "a10g" is A10G. */
struct gpu_model gpu_model_of(const char *text);
/**
 * Whether a device serves who wants the model: it is that, or a memory size of it where no size
 * is wanted (A100-80 serves A100, not the other way round).
 */
bool gpu_model_serves(const struct gpu_model *wanted, const struct gpu_model *has);
/** Whether two writings mean the very same model. */
bool gpu_model_same(const char *a, const char *b);

#endif
