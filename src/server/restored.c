/* Restored: `berth server --restored`. See server.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "ledger/ledger.h"
#include "server/server.h"

/* A new ledger is no restored one: to make it would hide that the folder is a wrong one. */
static int check_there(const char *store, struct err *err)
{
    if (!text_begins(store, "sqlite:"))
        return err_set(err, -EINVAL,
                       "the store %s is gone with its server: only one of sqlite:PATH is restored",
                       store);
    if (access(store + strlen("sqlite:"), F_OK) < 0)
        return err_sys(err, -errno, "there is no ledger: %s", store + strlen("sqlite:"));
    return 0;
}

int server_restored(const struct server_options *options, struct err *err)
{
    const char *data = options->data ? options->data : options->data_else;
    CLEANUP(freep)
    char *store = options->store ? text_copy(options->store)
                                 : text_format("sqlite:%s/ledger.db", data ? data : ".");
    struct ledger *ledger = NULL;
    int r = check_there(store, err);

    if (r == 0)
        r = ledger_open(&(struct ledger_options){ .store = store, .is_restored = true }, &ledger,
                        err);
    if (r < 0)
        return r;
    log_info("the ledger begins another life: agents go on with what it knows of what they run, "
             "keep the rest as orphans, and take new work; now start the server",
             "store", store, "incarnation", ledger_incarnation(ledger), NULL);
    ledger_close(ledger);
    return 0;
}
