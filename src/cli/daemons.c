/*
 * berth server, agent, dev: their flags; what they do lives in other houses.
 */
#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "base/quantity.h"
#include "cli/verb.h"

/* ---- server ---- */

static int run_server(struct cli *cli, const struct args *args)
{
    struct server_flags flags = {
        .listen = args_get(args, "listen"),
        .worker_listen = args_get(args, "worker-listen"),
        .data = args_get(args, "data"),
        .store = args_get(args, "store"),
        .config = args_get(args, "config"),
        .token_file = args_get(args, "token-file"),
        .is_restored = args_has(args, "restored"),
    };
    const char *ttl = args_get(args, "node-ttl");
    struct err err = { 0 };

    if (ttl && duration_parse(ttl, &flags.node_ttl_ms, &err) < 0)
        return cli_fail_usage(cli, "--node-ttl: %s", err.text);
    if (ttl && !flags.node_ttl_ms) /* to the server that is a flag that was not given */
        return cli_fail_usage(cli, "--node-ttl: must be more than 0s; leave it out for 5m");
    return cli->programs->server(&flags);
}

static const struct cli_flag of_server[] = {
    { "listen", 0, "HOST:PORT", "where the API is served (default 127.0.0.1:7070)", NULL, false },
    { "worker-listen", 0, "HOST:PORT", "where agents are served (default: with the API)", NULL,
      false },
    { "data", 0, "DIR",
      "the folder of its files (default: /var/lib/berth/server as root, else "
      "~/.local/share/berth/server)",
      NULL, false },
    { "store", 0, "STORE", "sqlite:PATH or memory: (default: a file in the folder)", NULL, false },
    { "config", 0, "FILE", "the scheduler's configuration", NULL, false },
    { "token-file", 0, "FILE", "where the first administrator's token is written", NULL, false },
    { "node-ttl", 0, "TIME", "how long a node may be silent (default 5m)", NULL, false },
    { "restored", 0, NULL, "begin another life of a ledger that was put back, and end", NULL,
      false },
};
static const struct flag_set server_set = { NULL, of_server, COUNT_OF(of_server) };
static const struct grammar server_grammar = { .sets = { &server_set } };
const struct verb verb_server = {
    .name = "server",
    .run = run_server,
    .help = "Run a server: the API, the ledger and the scheduler",
    .usage = "[FLAG...]",
    .more =
        "Its first start writes a token for an administrator and one for agents into the folder.\n"
        "\n"
        "Agents refuse a server whose ledger lacks what they saw. Where a backup was put back, run "
        "it\n"
        "once with --restored: that changes the ledger and ends; then start it as usual.\n"
        "\n"
        "Signals:\n"
        "  TERM, INT                    end: nothing new is taken; containers go on, and so does "
        "all\n"
        "                               that was answered when a server is back on the folder\n"
        "  KILL                         the same without a word: nothing that was answered is lost",
    .examples = { "server --data /var/lib/berth",
                  "server --listen 0.0.0.0:7070 --config berth.yaml" },
    .grammar = &server_grammar,
};

/* ---- agent ---- */

/* NAME=VALUE of each flag of that name. The texts are cut in copies that pairs own. */
static int read_pairs(const struct args *args, const char *flag, struct flag_pair **out,
                      size_t *n_out, struct err *err)
{
    VEC_OF(struct flag_pair) pairs = { 0 };

    for (size_t i = 0; i < args->flags.n; i++) {
        const char *value = args->flags.at[i].value, *equals = strchr(value, '=');
        struct flag_pair *pair;

        if (!text_eq(args->flags.at[i].flag->name, flag))
            continue;
        pair = VEC_ADD(&pairs);
        pair->text = text_copy(value);
        *out = pairs.at;
        *n_out = pairs.n;
        if (!equals || equals == value)
            return err_set(err, -EINVAL, "--%s: '%s' is not %s", flag, value,
                           args->flags.at[i].flag->value);
        pair->text[equals - value] = '\0';
        pair->name = pair->text;
        pair->value = pair->text + (equals - value) + 1;
        if (!name_is_valid_label(pair->name))
            return err_set(err, -EINVAL, "--%s: '%s' cannot be a name", flag, pair->name);
    }
    return 0;
}

/* The counters of --offer, of which each must be an amount. */
static int read_offers(const struct args *args, struct flag_pair **out, size_t *n_out,
                       struct err *err)
{
    int r = read_pairs(args, "offer", out, n_out, err);
    int64_t amount;

    for (size_t i = 0; r == 0 && i < *n_out; i++) {
        const struct flag_pair *pair = &(*out)[i];
        if (quantity_parse(pair->value, quantity_unit_of(pair->name), &amount, err) < 0)
            r = err_wrap(err, "--offer %s", pair->name);
    }
    return r;
}

static int read_agent(const struct args *args, struct agent_flags *flags, struct err *err)
{
    int r;

    *flags = (struct agent_flags){
        .servers = args_get(args, "server"),
        .token_file = args_get(args, "token-file"),
        .name = args_get(args, "name"),
        .data = args_get(args, "data"),
        .config = args_get(args, "config"),
        .image_prefix = args_get(args, "image-prefix"),
        .runtime = args_get(args, "runtime"),
    };
    if (flags->name && !name_is_valid_node(flags->name))
        return err_set(err, -EINVAL, "--name: '%s' cannot be a node's name", flags->name);
    r = read_offers(args, &flags->offers, &flags->n_offers, err);
    return r < 0 ? r : read_pairs(args, "label", &flags->labels, &flags->n_labels, err);
}

static void free_pairs(struct flag_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem_free(pairs[i].text);
    mem_free(pairs);
}

static int run_agent(struct cli *cli, const struct args *args)
{
    struct agent_flags flags;
    struct err err = { 0 };
    int exit_code;

    if (read_agent(args, &flags, &err) < 0)
        exit_code = cli_fail_usage(cli, "%s", err.text);
    else
        exit_code = cli->programs->agent(&flags);
    free_pairs(flags.offers, flags.n_offers);
    free_pairs(flags.labels, flags.n_labels);
    return exit_code;
}

static const struct cli_flag of_agent[] = {
    { "server", 0, "URL", "the servers, separated by commas (also: BERTH_ADDR)", NULL, false },
    { "token-file", 0, "FILE", "a file with an agent's token", NULL, false },
    { "name", 0, "NAME", "the node's name (default: the machine's)", NULL, false },
    { "data", 0, "DIR",
      "the folder of its files (default: /var/lib/berth/agent as root, else "
      "~/.local/share/berth/agent)",
      NULL, false },
    { "offer", 0, "NAME=N", "a counter that jobs can ask for, or another cpu or memory", NULL,
      true },
    { "label", 0, "KEY=VALUE", "a label of the node", NULL, true },
    { "image-prefix", 0, "PATHS", "where jobs may take images from, separated by commas", NULL,
      false },
    { "runtime", 0, "NAME", "the default runtime: crun, runc or process", "crun|runc|process",
      false },
    { "config", 0, "FILE", "its configuration", NULL, false },
};
static const struct flag_set agent_set = { NULL, of_agent, COUNT_OF(of_agent) };
static const struct grammar agent_grammar = { .sets = { &agent_set } };
const struct verb verb_agent = {
    .name = "agent",
    .run = run_agent,
    .help = "Run an agent: this machine becomes a node",
    .usage = "[FLAG...]",
    .more = "Signals:\n"
            "  TERM, INT                    stop for good: the node leaves; what runs has 7 s to "
            "end by\n"
            "                               itself, then gets TERM, its grace (15 s at most) and "
            "KILL,\n"
            "                               and runs elsewhere; a second one ends the waiting\n"
            "  USR1                         end at once and leave the containers running, for an "
            "upgrade:\n"
            "                               the next agent on the folder adopts them\n"
            "  KILL                         the same as USR1",
    .examples = { "agent --server http://10.0.0.1:7070 --token-file agent.token",
                  "agent --name gpu-a1 --offer licence=4 --label disk=nvme "
                  "--image-prefix /srv/images" },
    .grammar = &agent_grammar,
};

/* ---- dev ---- */

static int run_dev(struct cli *cli, const struct args *args)
{
    struct dev_flags flags = {
        .data = args_get(args, "data"),
        .listen = args_get(args, "listen"),
    };
    struct err err = { 0 };
    int exit_code;

    if (read_offers(args, &flags.offers, &flags.n_offers, &err) < 0)
        exit_code = cli_fail_usage(cli, "%s", err.text);
    else
        exit_code = cli->programs->dev(&flags);
    free_pairs(flags.offers, flags.n_offers);
    return exit_code;
}

static const struct cli_flag of_dev[] = {
    { "data", 0, "DIR",
      "the folder of its files (default: /var/lib/berth/dev as root, else "
      "~/.local/share/berth/dev)",
      NULL, false },
    { "listen", 0, "HOST:PORT", "where the API is served (default 127.0.0.1:7070)", NULL, false },
    { "offer", 0, "NAME=N", "a counter that jobs can ask for, or another cpu or memory", NULL,
      true },
};
static const struct flag_set dev_set = { NULL, of_dev, COUNT_OF(of_dev) };
static const struct grammar dev_grammar = { .sets = { &dev_set } };
const struct verb verb_dev = {
    .name = "dev",
    .run = run_dev,
    .help = "Run a server and an agent on this machine",
    .usage = "[FLAG...]",
    .more = "The other verbs find it by themselves while it runs. TERM, INT and USR1 do what they "
            "do to an\n"
            "agent, and the server ends with it.",
    .examples = { "dev", "dev --data /tmp/berth --listen 127.0.0.1:0" },
    .grammar = &dev_grammar,
};
