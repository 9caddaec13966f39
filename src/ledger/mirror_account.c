/*
 * Mirror, accounts: what live attempts use of each resource, and the cap that this is held
 * against. A queue has one, and a namespace.
 */
#include "ledger/mirror_inside.h"

#include <assert.h>
#include <string.h>

struct mirror_account *account_of(struct map *accounts, const char *name)
{
    struct mirror_account *account = map_get(accounts, name);

    if (account)
        return account;
    account = NEW0(struct mirror_account);
    account->name = text_copy(name);
    map_put(accounts, account->name, account);
    return account;
}

struct mirror_share *account_share(struct mirror_account *account, const char *resource)
{
    struct mirror_share *share;

    VEC_EACH (each, &account->shares)
        if (strcmp(each->resource, resource) == 0)
            return each;
    share = VEC_ADD(&account->shares);
    *share = (struct mirror_share){ .resource = text_copy(resource), .cap = MIRROR_NO_CAP };
    return share;
}

void account_add(struct mirror_account *account, const char *resource, int64_t value)
{
    struct mirror_share *share = account_share(account, resource);

    share->used += value;
    assert(share->used >= 0);
}

void account_use(struct mirror_account *account, const struct mirror_group *group, int sign)
{
    for (size_t i = 0; i < group->n_asks; i++)
        if (group->asks[i].value)
            account_add(account, group->asks[i].resource, sign * group->asks[i].value);
    account_add(account, "pods", sign * POD);
}

static void account_free(struct mirror_account *account)
{
    VEC_EACH (share, &account->shares)
        mem_free(share->resource);
    VEC_FINI(&account->shares);
    mem_free(account->name);
    mem_free(account);
}

void accounts_fini(struct map *accounts)
{
    MAP_EACH (entry, accounts)
        account_free(entry->value);
    map_fini(accounts);
}

/* ---- comparing ---- */

static struct mirror_share share_in(const struct mirror_account *at, const char *resource)
{
    for (size_t i = 0; at && i < at->shares.n; i++)
        if (strcmp(at->shares.at[i].resource, resource) == 0)
            return at->shares.at[i];
    return (struct mirror_share){ .cap = MIRROR_NO_CAP };
}

const char *accounts_differ(const struct map *a, const struct map *b)
{
    MAP_EACH (entry, a) {
        const struct mirror_account *account = entry->value, *other = map_get(b, account->name);
        if (account->max_limit_ms != (other ? other->max_limit_ms : 0))
            return account->name;
        for (size_t i = 0; i < account->shares.n; i++) {
            const struct mirror_share *x = &account->shares.at[i];
            struct mirror_share y = share_in(other, x->resource);
            if (x->used != y.used || x->cap != y.cap)
                return account->name;
        }
    }
    return NULL;
}
