/* Names of GPU models. */
#include "engine/models.h"

#include "base/mem.h"
#include "base/test.h"

TEST(models_resolve_vendors_names_to_the_catalogue)
{
    static const struct {
        const char *text, *name;
        int place;
    } rows[] = {
        { "A10", "A10", 0 },
        { "a10g", "A10G", 1 },
        { "NVIDIA A10G", "A10G", 1 },
        { "A100", "A100", 2 },
        { "NVIDIA A100-SXM4-40GB", "A100-40", 3 },
        { "NVIDIA A100-SXM4-80GB", "A100-80", 4 },
        { "a100-80g", "A100-80", 4 },
        { "A100-80", "A100-80", 4 },
        { "NVIDIA A100 80GB PCIe", "A100-80", 4 },
        { "Tesla T4", "T4", 12 },
        { "NVIDIA H100 80GB HBM3", "H100", 15 },
        { "NVIDIA RTX A6000", "A6000", 19 },
        { "NVIDIA RTX 4000 Ada Generation", "RTX4000Ada", 20 },
        { "4090", "RTX4090", 21 },
        { "NVIDIA GeForce RTX 5090", "RTX5090", 22 },
        { "NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPro6000", 25 },
        { "NVIDIA L40S", "L40S", 26 },
        { "Tesla V100-SXM2-16GB", "V100", 27 },
        { "Tesla V100-SXM2-32GB", "V100-32", 28 },
        { "home made 3", "HOMEMADE3", -1 },
        { "", "", -1 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gpu_model model = gpu_model_of(rows[i].text);
        CHECK_TEXT(model.name, rows[i].name);
        CHECK_EQ(model.place, rows[i].place);
    }
}

TEST(models_without_a_memory_size_are_served_by_any_size)
{
    struct gpu_model plain = gpu_model_of("A100"), large = gpu_model_of("A100-80"),
                     other = gpu_model_of("A10");

    CHECK(gpu_model_serves(&plain, &plain));
    CHECK(gpu_model_serves(&plain, &large));
    CHECK(!gpu_model_serves(&large, &plain));
    CHECK(!gpu_model_serves(&other, &plain));
    CHECK(gpu_model_same("rtx-4090", "GeForce RTX 4090"));
    CHECK(!gpu_model_same("L40", "L40S"));
}

TEST(models_with_endless_names_are_cut)
{
    struct gpu_model model =
        gpu_model_of("x-y-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                     "-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb-z");

    CHECK_EQ(model.place, -1);
    CHECK_TEXT(model.name, "XYZ");
}
