/* Claims: see claims.h. */
#include "engine/claims.h"

#include "base/str.h"

void claims_fini(struct claims *claims)
{
    VEC_FINI(&claims->list);
}

static bool has(const struct claims *claims, const struct berth_claim *claim)
{
    VEC_EACH (each, &claims->list)
        if (*each == claim)
            return true;
    return false;
}

void claims_add(struct session *s, struct claims *claims, const struct kind *kind)
{
    const struct shelf *shelf = &s->model->shelves[BERTH_CLAIM];

    for (size_t i = 0; i < kind->spec->claims.n; i++) {
        const char *name = kind->spec->claims.at[i];
        const struct berth_claim *found = NULL;
        VEC_EACH (item, &shelf->items) {
            const struct berth_claim *claim = (*item)->kept;
            if (text_eq(claim->name, name) && text_eq(claim->namespace_, kind->namespace_))
                found = claim;
        }
        if (!found)
            claims->has_unknown = true;
        else if (!has(claims, found))
            VEC_PUSH(&claims->list, found);
    }
}

int64_t claims_count(const struct claims *claims, const char *device_class)
{
    int64_t n = 0;

    VEC_EACH (claim, &claims->list)
        if (text_eq((*claim)->device_class, device_class))
            n += (*claim)->count;
    return n;
}
