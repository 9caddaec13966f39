/*
 * What verbs share inside the house: the run at hand, ways to fail, calls of the API.
 */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/flag.h"
#include "cli/output.h"
#include "client/client.h"

enum { CLI_GIVE_UP_MS = 10000 };

/* One run of the program. */
struct cli {
    const struct verb *const *verbs;
    size_t n_verbs;
    const struct cli_programs *programs;
    const struct verb *verb; /* at hand; NULL before one was found */
    bool is_json;            /* errors are JSON on stderr too */
    const char *about;       /* which of several things is at hand: errors begin with it; NULL */
    struct client_settings settings;
    bool has_settings;
    int64_t give_up_ms;    /* of each call, repetitions included */
    struct client *client; /* that blocks; NULL until the first call */
    struct making *making; /* of a job that is sent: where its faults stand; NULL */
};

/* ---- failing: each prints and returns the exit code ---- */

int cli_fail(const struct cli *cli, int exit, const char *fmt, ...) FORMAT(3, 4);
/** Wrong usage: exit 2, with a hint at the verb's --help. */
int cli_fail_usage(const struct cli *cli, const char *fmt, ...) FORMAT(2, 3);
/** An error; its exit code by exit_of_error. */
int cli_fail_err(const struct cli *cli, const struct err *err);
/** A refusal by the server, or of a file before it was sent (status 0). */
int cli_fail_problem(const struct cli *cli, const struct problem *problem, int status);

/* ---- several things ---- */

/** Does one of the things named. Returns the exit code, after printing why it is not 0. */
typedef int cli_each_fn(struct cli *cli, const struct args *args, const char *word, void *arg);
/**
 * Does each thing named: one that fails keeps nobody from the others. Errors name the thing where
 * there are several. Only where no server is reached, or at Ctrl-C, the rest is not tried, and told.
 *
 * Returns  the largest exit code: which is the worst
 */
MUST_CHECK int cli_each(struct cli *cli, const struct args *args, cli_each_fn *fn, void *arg);

/* ---- settings and calls ---- */

/* Flags of every verb that asks a server: --addr, --token-file, ... */
extern const struct flag_set client_flags;
/* -n of verbs about jobs. */
extern const struct flag_set namespace_flags;

/** Finds the settings, once. Returns 0, or an exit code after printing why. */
MUST_CHECK int cli_need_settings(struct cli *cli, const struct args *args);
/** The client that blocks, made at the first call. Returns 0, or an exit code after printing. */
MUST_CHECK int cli_need_client(struct cli *cli, const struct args *args);

/** Likewise, and the form of the answer by flags and settings. */
MUST_CHECK int cli_need_output(struct cli *cli, const struct args *args, struct output *out);

/**
 * Asks the API; refusals are printed.
 *
 * @answer  { 0 }; filled with a 2xx answer
 * Returns  0, or an exit code after printing why
 */
MUST_CHECK int cli_call_answer(struct cli *cli, const struct client_request *request,
                               struct client_answer *answer);
/** The JSON of an answer, yours; NULL if it has no body. */
MUST_CHECK int cli_read_json(struct cli *cli, const struct client_answer *answer, json_t **out);

/**
 * Asks the API and reads the answer's JSON.
 *
 * @body    borrowed; NULL none
 * @out     yours; NULL where the answer has no body. May be NULL if the answer is of no interest
 * Returns  0, or an exit code after printing why
 */
MUST_CHECK int cli_call(struct cli *cli, const struct client_request *request, const json_t *body,
                        json_t **out);
/** Likewise; where the answer is that problem *out is NULL, without a word. */
MUST_CHECK int cli_call_if(struct cli *cli, const struct client_request *request,
                           const json_t *body, enum problem_code but, json_t **out);
MUST_CHECK int cli_get(struct cli *cli, const char *path, json_t **out);
/** Likewise; what is not there is NULL, without a word. */
MUST_CHECK int cli_find(struct cli *cli, const char *path, json_t **out);

/* --sort, --limit, --watch and --quiet of verbs that list. */
extern const struct flag_set list_flags;

/* The verbs that are nothing but a path and columns. Each returns the exit code. */

/** Lists, or watches, as list_flags say; --state and --label too where the verb has them.
 * @types  of events after which the list may be another: "node.*,attempt.*" */
int cli_list(struct cli *cli, const struct args *args, const char *path, const char *types,
             const struct listing *listing);
/** Refuses what narrows a list and is empty, as an unset variable is: it would narrow nothing. */
MUST_CHECK int cli_check_filters(struct cli *cli, const struct args *args);
/** Shows each thing named behind the verb. */
int cli_show(struct cli *cli, const struct args *args, const char *prefix,
             const struct listing *listing);
/**
 * The items of a list, page by page, as one answer.
 *
 * @limit  how many at most; 0: all
 * @out    yours; `next` is there where there are more
 */
MUST_CHECK int cli_get_pages(struct cli *cli, const char *path, int64_t limit, json_t **out);
/** Adds "?KEY=VALUE" or "&KEY=VALUE", encoded, to a path, or "&KEY=VALUE" to what is to follow one.
 * A value that is NULL or empty adds nothing. */
void cli_add_query(struct str *path, const char *key, const char *value);
/** Sets `graceSeconds` of a body by --grace. Returns 0, or an exit code after printing why. */
MUST_CHECK int cli_put_grace(struct cli *cli, const struct args *args, json_t *body);
/** Deletes what is at a path; what is not there counts as deleted. */
MUST_CHECK int cli_delete(struct cli *cli, const char *path);
/** Deletes each, and says so with `word`: "gpu-a1  forgotten". Exit 3 where one is not there. */
int cli_delete_each(struct cli *cli, const struct args *args, const char *prefix, const char *word);
/** Asks an action of each, at PREFIX/NAME/actions, and prints what became of it. */
int cli_act_each(struct cli *cli, const struct args *args, const char *prefix, const json_t *body,
                 const struct listing *listing);
/** Sends a change of one thing and prints what became of it: "NAME  STATE", or as -o says. */
int cli_change(struct cli *cli, const struct args *args, const struct client_request *request,
               const json_t *body, const struct listing *listing);
/** The path of a thing of that name, which is encoded, and what follows; yours. */
char *cli_path(const char *prefix, const char *name, const char *more);
/** Puts a label into an object of changes: "KEY=VALUE" sets it, "KEY-" (null) takes it away. */
MUST_CHECK int cli_put_label(json_t *labels, const char *word, struct err *err);
/**
 * Asks whether to do what cannot be undone, on a terminal; elsewhere --yes must have been given.
 *
 * Returns  0 go on; else the exit code, after saying why
 */
MUST_CHECK int cli_confirm(struct cli *cli, const struct args *args, const char *what);

/** Whether `is_json` by the words of a command line, before they are taken apart. */
bool cli_wants_json(int argc, const char *const *argv);

/** Prints --help of a verb, or of all (help.c). */
void help_print_verb(const struct verb *verb, FILE *to);
void help_print_noun(const struct cli *cli, const char *noun, FILE *to);
void help_print_all(const struct cli *cli, FILE *to);

/** Prints the version in one line. */
void version_print(void);

/** The verb of two words or of one; *n_words says how many it took. NULL if there is none. */
const struct verb *cli_find_verb(const struct cli *cli, int argc, const char *const *argv,
                                 int *n_words);
/** Whether any verb begins with this noun. */
bool cli_is_noun(const struct cli *cli, const char *word);
/** Says that a verb is unknown, with the nearest. Returns EXIT_USAGE. */
int cli_fail_unknown(const struct cli *cli, int argc, const char *const *argv);

#endif
