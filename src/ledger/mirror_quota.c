/*
 * Mirror, namespaces: what the live attempts of each one's jobs use, and the quotas that this is
 * held against. It follows from set_task, as a node's use does, and from the quotas' rows.
 */
#include "ledger/mirror_inside.h"

#include <jansson.h>
#include <string.h>

const struct mirror_account *mirror_namespace(const struct mirror *mirror, const char *name)
{
    return map_get(&mirror->namespaces, name);
}

void namespace_use(struct mirror *mirror, const char *name, const struct mirror_group *group,
                   int sign)
{
    account_use(account_of(&mirror->namespaces, name), group, sign);
}

/* Of several quotas the least holds. */
static void lower_caps(struct mirror_account *account, const struct row_quota *row)
{
    json_t *hard = *row->hard ? json_loads(row->hard, 0, NULL) : NULL, *value;
    const char *resource;

    json_object_foreach(hard, resource, value)
    {
        struct mirror_share *share = account_share(account, resource);
        if (json_integer_value(value) < share->cap)
            share->cap = json_integer_value(value);
    }
    json_decref(hard);
}

void quotas_changed(struct mirror *mirror, const char *ns)
{
    struct mirror_account *account = account_of(&mirror->namespaces, ns);

    VEC_EACH (share, &account->shares)
        share->cap = MIRROR_NO_CAP;
    MAP_EACH (entry, &mirror->cells[ROW_QUOTA]) {
        const struct row_quota *row = ((const struct mirror_cell *)entry->value)->row;
        if (strcmp(row->ns, ns) == 0)
            lower_caps(account, row);
    }
}
