/*
 * Several things named on one command line: each is done, whatever became of the others.
 */
#include "cli/exit.h"
#include "cli/verb.h"

/* Nobody is there to ask, or whoever asks has had enough: the rest would end the same way. */
static bool ends_all(int exit_code)
{
    return exit_code == EXIT_UNREACHABLE || exit_code == EXIT_CTRL_C;
}

static void tell_rest(const struct cli *cli, const struct args *args, size_t from)
{
    if (cli->is_json)
        return;
    for (size_t i = from; i < args->rest.n; i++)
        fprintf(stderr, "%s%s", i > from ? ", " : "berth: not tried: ", args->rest.at[i]);
    if (from < args->rest.n)
        fputc('\n', stderr);
}

int cli_each(struct cli *cli, const struct args *args, cli_each_fn *fn, void *arg)
{
    int worst = EXIT_DONE;

    for (size_t i = 0; i < args->rest.n; i++) {
        int r;

        cli->about = args->rest.n > 1 ? args->rest.at[i] : NULL;
        r = fn(cli, args, args->rest.at[i], arg);
        cli->about = NULL;
        if (r > worst)
            worst = r;
        if (ends_all(r)) {
            tell_rest(cli, args, i + 1);
            break;
        }
    }
    return worst;
}
