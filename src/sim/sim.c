/* The simulator: see sim.h. */
#include "sim/sim.h"

#include <string.h>

#include "sim/inside.h"

static const char usage[] =
    "usage: berth sim check [-o json] FILE...   run scenario documents, compare with what they "
    "expect\n"
    "       berth sim show FILE                 a document and what comes of it, as tables\n"
    "A folder stands for all documents in it. See docs/scenario-format.md.\n";

static int wrong_usage(const char *why, const char *what)
{
    fprintf(stderr, "berth: %s%s\n%s", why, what, usage);
    return 2;
}

static int check(int argc, char **argv)
{
    bool as_json = false;
    int at = 2;

    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        const char *value = NULL;
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (strcmp(argv[at], "-o") == 0 && at + 1 < argc)
            value = argv[++at];
        else if (strncmp(argv[at], "-o", 2) == 0)
            value = argv[at] + 2;
        if (!value)
            return wrong_usage("unknown flag ", argv[at]);
        if (strcmp(value, "json") != 0 && strcmp(value, "table") != 0)
            return wrong_usage("-o is json or table, not ", value);
        as_json = strcmp(value, "json") == 0;
    }
    if (at == argc)
        return wrong_usage("check needs a file", "");
    return sim_check(argv + at, (size_t)(argc - at), as_json);
}

int sim_main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "check") == 0)
        return check(argc, argv);
    if (strcmp(verb, "show") == 0)
        return argc == 3 ? sim_show(argv[2]) : wrong_usage("show needs one file", "");
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    return wrong_usage(verb[0] ? "unknown verb " : "a verb is needed", verb);
}
