/*
 * The command line's door: a table of verbs, and what runs one of them.
 *
 * stdout is the answer, stderr is talk. A verb takes its words apart by its grammar, asks the
 * API, and shows the answer; it holds no rule that the API lacks.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct args;
struct cli;
struct grammar;

/* A verb: one row of the program's table. */
struct verb {
    const char *name;                                     /* "run", or noun and verb: "job list" */
    int (*run)(struct cli *cli, const struct args *args); /* Returns the exit code */
    const char *help;                                     /* one line, without full stop */
    const char *usage;       /* what stands behind the name: "[FLAG...] JOB..." */
    const char *more;        /* paragraphs for --help, or NULL */
    const char *examples[2]; /* without "berth " */
    const struct grammar *grammar;
};

extern const struct verb verb_run, verb_submit, verb_plan;
extern const struct verb verb_ps, verb_job_list, verb_job_show, verb_job_timeline, verb_job_set,
    verb_job_hold, verb_job_release, verb_job_requeue, verb_job_suspend, verb_job_resume;
extern const struct verb verb_logs, verb_cancel, verb_wait;
extern const struct verb verb_explain, verb_explain_code;
extern const struct verb verb_node_list, verb_node_show, verb_node_cordon, verb_node_uncordon,
    verb_node_drain, verb_node_label, verb_node_forget;
extern const struct verb verb_queue_list, verb_queue_show, verb_queue_why, verb_queue_create,
    verb_queue_set, verb_queue_delete;
extern const struct verb verb_order_list, verb_order_show, verb_order_place, verb_order_fail,
    verb_order_cancel;
extern const struct verb verb_token_list, verb_token_create, verb_token_delete;
extern const struct verb verb_event_watch;
extern const struct verb verb_sim_check, verb_sim_show;
extern const struct verb verb_version, verb_completion, verb_help;
extern const struct verb verb_server, verb_agent, verb_dev;

/* What `berth server` was asked for; texts are borrowed, NULL where not given. */
struct server_flags {
    const char *listen;        /* HOST:PORT of the API */
    const char *worker_listen; /* HOST:PORT for agents; NULL: the API's */
    const char *data;          /* folder of the server's files */
    const char *store;         /* "sqlite:PATH", "memory:"; NULL: a file in data */
    const char *config;        /* configuration file */
    const char *token_file;    /* the first administrator's token */
    int64_t node_ttl_ms;       /* silence after which a node is lost; 0: the default */
    bool is_restored;          /* begin another life of the ledger, and end */
};

/* What was given as NAME=VALUE; the verb's own, gone when the program returns. */
struct flag_pair {
    const char *name, *value; /* in text */
    char *text;
};

struct agent_flags {
    const char *servers; /* addresses, separated by commas */
    const char *token_file;
    const char *name; /* of the node; NULL: the machine's */
    const char *data;
    const char *config;
    const char *image_prefix; /* paths that jobs may use images from, separated by commas */
    const char *runtime;      /* the default one */
    struct flag_pair *offers; /* counters, checked to be amounts; "2", "500m" */
    size_t n_offers;
    struct flag_pair *labels;
    size_t n_labels;
};

struct dev_flags {
    const char *data;
    const char *listen;
    struct flag_pair *offers; /* as of an agent */
    size_t n_offers;
};

/* The programs behind some verbs, which live in other houses. Each returns the exit code. */
struct cli_programs {
    int (*server)(const struct server_flags *flags);
    int (*agent)(const struct agent_flags *flags);
    int (*dev)(const struct dev_flags *flags);
    int (*sim)(int argc, char **argv); /* argv[0] is "sim" */
};

/**
 * Runs the verb that argv names.
 *
 * @verbs     verbs[n_verbs], in the order of the help
 * @programs  what is behind server, agent, dev and sim; NULL members only where their verb is not
 *            in verbs
 * Returns    the exit code, as docs/cli.md lists them
 */
int cli_main(const struct verb *const *verbs, size_t n_verbs, const struct cli_programs *programs,
             int argc, const char *const *argv);

#endif
