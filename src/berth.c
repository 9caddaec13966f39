/*
 * berth: the program. One table of verbs; each is a file of src/cli.
 */
#include "base/mem.h"
#include "cli/cli.h"

static const struct verb *const verbs[] = {
    &verb_explain_code,
    &verb_completion,
    &verb_version,
    &verb_help,
};

static const struct cli_programs programs = { 0 };

int main(int argc, char **argv)
{
    return cli_main(verbs, COUNT_OF(verbs), &programs, argc, (const char *const *)argv);
}
