/* berth explain: why a job waits, node by node. */
#include <string.h>

#include "base/code.h"
#include "base/states.h"
#include "cli/explain.h"
#include "cli/job.h"

enum { NODES_SHOWN = 8 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* ---- one node, as a table of checks ---- */

static void column_result(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    if (text_of(item, "code")[0])
        str_addf(out, "FAIL  %s", text_of(item, "code"));
    else
        str_add(out, "ok");
}

/* Who holds the rest: each attempt (or job) with its amount. */
static void add_holders(const json_t *node, struct str *out)
{
    const json_t *holders = json_object_get(node, "heldBy");
    const json_t *more = json_object_get(node, "heldByMore");
    json_t *holder;
    size_t i;

    json_array_foreach(holders, i, holder)
    {
        str_add(out, i ? ", " : "");
        if (json_object_get(holder, "amount")) {
            output_text(holder, "amount", out);
            str_add(out, " by ");
        }
        if (text_of(holder, "attempt")[0])
            str_add(out, text_of(holder, "attempt"));
        else if (text_of(holder, "task")[0])
            str_add(out, text_of(holder, "task"));
        else
            str_add(out, json_is_true(json_object_get(holder, "own")) ? "itself" : "another");
        if (json_is_true(json_object_get(holder, "stopping")))
            str_add(out, " (stopping)");
        if (json_is_true(json_object_get(holder, "held")))
            str_add(out, " (held for it)");
    }
    if (more)
        str_addf(out, " and %" JSON_INTEGER_FORMAT " more", json_integer_value(more));
}

static void column_held_by(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    add_holders(item, out);
}

/* An amount that was asked, or words. */
static void column_asked(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    if (text_of(item, "asked")[0])
        job_add_asked(item, out);
    else
        str_add(out, text_of(item, "wants"));
}

static void column_free(const json_t *item, const struct output *output, struct str *out)
{
    (void)output;
    str_add(out, text_of(item, text_of(item, "asked")[0] ? "free" : "has"));
}

static const struct column check_columns[] = {
    { "NODE", "name", NULL, 0 },
    { "CHECK", "check", NULL, 0 },
    { "ASKED", NULL, column_asked, COLUMN_RIGHT },
    { "FREE", NULL, column_free, COLUMN_RIGHT },
    { "RESULT", NULL, column_result, 0 },
    { "HELD_BY", NULL, column_held_by, 0 },
};
static const struct listing check_listing = { check_columns, COUNT_OF(check_columns), "name",
                                              "name" };
/* The whole of it, which has no columns, is known by its job. */
static const struct listing whole_listing = { NULL, 0, "job", "job" };

/* The checks of one node as rows. */
static json_t *list_checks(const json_t *explain, const char *node)
{
    json_t *rows = json_array(), *check;
    size_t i;

    json_array_foreach(json_object_get(explain, "checks"), i, check)
    {
        json_t *row = json_copy(check);

        json_object_set_new(row, "name", json_string(node));
        json_array_append_new(rows, row);
    }
    return rows;
}

/* What waits for something that no node has to do with, as the only row. */
static json_t *list_reason(const json_t *explain)
{
    json_t *row = json_object();

    json_object_update(row, json_object_get(explain, "reason"));
    json_object_set(row, "code", json_object_get(explain, "code"));
    if (json_object_get(row, "resource"))
        json_object_set(row, "check", json_object_get(row, "resource"));
    return json_pack("[o]", row);
}

/* All nodes of an explanation as rows: those that fit, then those that fail, with what they
 * fail. */
static json_t *list_nodes(const json_t *explain)
{
    const json_t *nodes = json_object_get(explain, "nodes");
    json_t *rows, *failed, *node;
    size_t i, j;

    if (json_integer_value(json_object_get(nodes, "total")) == 0 && text_of(explain, "code")[0])
        return list_reason(explain);
    rows = json_array();
    json_array_foreach(json_object_get(nodes, "fits"), i, node)
        json_array_append_new(rows, json_pack("{s:O}", "name", node));
    json_array_foreach(json_object_get(nodes, "failed"), i, failed)
    {
        json_array_foreach(json_object_get(failed, "nodes"), j, node)
        {
            json_t *row = json_copy(node);

            json_object_set(row, "code", json_object_get(failed, "code"));
            if (json_object_get(failed, "resource"))
                json_object_set(row, "check", json_object_get(failed, "resource"));
            json_array_append_new(rows, row);
        }
    }
    return rows;
}

/* ---- the whole, as text ---- */

static void print_head(const json_t *job, const json_t *explain, const struct output *output)
{
    CLEANUP(str_fini) struct str text = { 0 };
    const json_t *queue = json_object_get(explain, "queue");

    str_addf(&text, "%s  %s  %s  priority ", text_of(job, "id"), text_of(job, "name"),
             text_of(job, "queue"));
    output_text(job, "priority", &text);
    if (text_eq(text_of(job, "state"), job_state_words[JOB_PENDING])) {
        str_add(&text, "  waiting ");
        output_age(job, json_object_get(job, "pendingSince") ? "pendingSince" : "submittedAt",
                   output, &text);
    }
    if (json_object_get(queue, "place")) {
        str_add(&text, "  place ");
        output_text(queue, "place", &text);
        str_add(&text, " of ");
        output_text(queue, "of", &text);
        str_addf(&text, " in %s", text_of(queue, "name"));
    }
    printf("%s\n", text.data);
}

static void add_part(const json_t *reason, const char *key, const char *before, struct str *out)
{
    if (!json_object_get(reason, key))
        return;
    str_add(out, before);
    output_text(reason, key, out);
}

/* What was asked of a node in words, and what it has, or is, instead. */
static void add_words(const json_t *reason, const char *code, const char *before, struct str *out)
{
    const char *wants = text_of(reason, "wants"), *has = text_of(reason, "has");
    bool is_state = text_eq(code, wait_codes[WAIT_NODE_CORDONED].word) ||
                    states_find(has, node_state_words, NODE_STATE_COUNT) >= 0;
    bool is_of_cluster = text_eq(code, wait_codes[WAIT_TOPOLOGY].word);

    if (!wants[0] && !has[0])
        return;
    str_add(out, before);
    if (wants[0])
        str_addf(out, "wants %s%s", wants, has[0] ? ", " : "");
    if (has[0])
        str_addf(out, "%s %s", is_state ? "is" : is_of_cluster ? "the cluster has" : "has", has);
    if (text_eq(has, "cordoned"))
        str_add(out, ", or disabled by its agent"); /* the engine tells these two not apart */
}

/* A machine on its way has no agent to look at yet, and what no action places no cycle will. */
static const char *next_of(const json_t *reason, const struct code_text *known)
{
    if (known == &wait_codes[WAIT_NOT_YET_CONSIDERED] && text_of(reason, "wants")[0])
        return "Name it among the actions of the server's configuration, or ask for something.";
    return text_eq(text_of(reason, "has"), node_state_words[NODE_COMING])
               ? "A machine that was ordered is on its way: see berth order list."
               : known->next;
}

static void print_state(const json_t *explain)
{
    CLEANUP(str_fini) struct str text = { 0 };
    const char *code = text_of(explain, "code");
    const struct code_text *known = code_find(code);
    const json_t *reason = json_object_get(explain, "reason");

    for (const char *at = text_of(explain, "state"); *at; at++)
        str_add_char(&text, (char)(*at >= 'a' && *at <= 'z' ? *at - 32 : *at));
    if (code[0])
        str_addf(&text, "  %s", code);
    if (json_object_get(reason, "asked")) {
        str_addf(&text, ": %s asked ", text_of(reason, "resource"));
        job_add_asked(reason, &text);
        add_part(reason, "free", ", free ", &text);
        add_part(reason, "limit", " of ", &text);
    } else if (json_object_get(reason, "wants") || json_object_get(reason, "has")) {
        add_part(reason, "node", ": ", &text);
        add_words(reason, code, json_object_get(reason, "node") ? " " : ": ", &text);
    } else if (known) {
        str_addf(&text, ": %s", known->sentence);
    }
    job_add_blocker(reason, &text);
    add_part(reason, "until", "  until ", &text);
    printf("%s\n", text.data);
    if (known)
        printf("          %s\n", next_of(reason, known));
}

/* Who must end first where room is being freed for it. */
static void print_stopping(const json_t *explain)
{
    const json_t *list = json_object_get(explain, "stopping");
    json_t *stopping;
    size_t i;

    json_array_foreach(list, i, stopping)
        printf("%s%s on %s", i ? ", " : "waits for the end of ",
               text_of(stopping, "attempt")[0] ? text_of(stopping, "attempt") : "another",
               text_of(stopping, "node"));
    if (i)
        printf("\n");
}

static void print_gang(const json_t *explain)
{
    const json_t *gang = json_object_get(explain, "gang");
    CLEANUP(str_fini) struct str text = { 0 };
    const json_t *groups = json_object_get(explain, "groups");
    json_t *group;
    size_t i;

    if (gang) {
        str_add(&text, "gang of ");
        output_text(gang, "minAvailable", &text);
        add_part(gang, "placeable", ", placeable ", &text);
        add_part(gang, "blocking", ", blocking ", &text);
        printf("%s\n", text.data);
    }
    if (json_is_true(json_object_get(explain, "aboveMinimum")))
        printf("its minimum runs: nobody is evicted for what waits above that\n");
    json_array_foreach(groups, i, group)
    {
        if (json_array_size(groups) < 2)
            break;
        str_clear(&text);
        output_text(group, "tasks", &text);
        printf("group %s  %s tasks  %s\n", text_of(group, "group"), text.data,
               text_of(group, "code"));
    }
}

/* Its queue has what is fair, so nothing is taken back from others for it. */
static void print_share(const json_t *explain, const char *queue)
{
    const json_t *share = json_object_get(explain, "share");
    CLEANUP(str_fini) struct str text = { 0 };

    if (!share)
        return;
    output_text(share, "allocated", &text);
    add_part(share, "fair", " of its fair share of ", &text);
    add_part(share, "resource", " ", &text);
    printf("queue %s holds %s: with this job it would hold more, so it takes nothing back from "
           "others\n",
           queue, text.data);
}

/* Its queue may take room back, and another gives none. */
static void print_keeper(const json_t *explain)
{
    const json_t *keeper = json_object_get(explain, "notReclaimable");
    CLEANUP(str_fini) struct str text = { 0 };

    if (!keeper)
        return;
    output_text(keeper, "allocated", &text);
    add_part(keeper, "resource", " ", &text);
    printf("queue %s holds %s, and gives nothing back (reclaimable: no)\n",
           text_of(keeper, "queue"), text.data);
}

/* For whom it had to go, the last time. */
static void print_evicted(const json_t *explain, const struct output *output)
{
    const json_t *evicted = json_object_get(explain, "evicted");
    CLEANUP(str_fini) struct str age = { 0 };

    if (!evicted)
        return;
    output_age(evicted, "at", output, &age);
    printf("%s was evicted for %s", text_of(evicted, "attempt"),
           text_of(evicted, "evictedFor")[0] ? text_of(evicted, "evictedFor")
                                             : text_of(evicted, "for"));
    if (age.len)
        printf(", %s%s%s", output->is_absolute ? "at " : "", age.data,
               output->is_absolute ? "" : " ago");
    printf("\n");
}

/* Room that was held for it and went to another, who could have preempted it. */
static void print_lost(const json_t *explain, const struct output *output)
{
    const json_t *lost = json_object_get(explain, "lost");
    CLEANUP(str_fini) struct str age = { 0 };

    if (!lost)
        return;
    output_age(lost, "at", output, &age);
    printf("what was held for it went to %s, %s%s%s\n",
           text_of(lost, "takenBy")[0] ? text_of(lost, "takenBy") : "another job",
           output->is_absolute ? "at " : "", str_text(&age), output->is_absolute ? "" : " ago");
}

static void print_origin(const json_t *explain)
{
    CLEANUP(str_fini) struct str text = { 0 };

    add_part(explain, "decision", "decision ", &text);
    add_part(explain, "revision", text.len ? "  revision " : "revision ", &text);
    if (text.len)
        printf("%s\n", text.data);
}

static void print_failed_node(const json_t *node, const char *code, const char *head, int width)
{
    CLEANUP(str_fini) struct str text = { 0 };

    str_addf(&text, "%s", text_of(node, "name"));
    add_part(node, "resource", "  ", &text);
    if (json_object_get(node, "asked")) {
        str_add(&text, " needs ");
        job_add_asked(node, &text);
    }
    add_part(node, "free", ", free ", &text);
    add_words(node, code, "  ", &text);
    if (json_object_get(node, "heldBy")) {
        str_add(&text, ": ");
        add_holders(node, &text);
    }
    printf("          %-*s  %s\n", width, head, text.data);
}

static void print_failed(const json_t *failed, int width)
{
    CLEANUP(str_fini) struct str head = { 0 };
    const json_t *nodes = json_object_get(failed, "nodes");
    json_int_t count = json_integer_value(json_object_get(failed, "count"));
    json_t *node;
    size_t i;

    str_addf(&head, "%s %" JSON_INTEGER_FORMAT, text_of(failed, "code"), count);
    json_array_foreach(nodes, i, node)
    {
        if (i == NODES_SHOWN)
            break;
        print_failed_node(node, text_of(failed, "code"), i ? "" : head.data, width);
    }
    if (json_array_size(nodes) == 0)
        printf("          %s\n", head.data);
    else if (count > (json_int_t)i)
        printf("          %-*s  and %" JSON_INTEGER_FORMAT " more\n", width, "",
               count - (json_int_t)i);
}

/* How wide the longest "CODE COUNT" is. */
static int width_of_heads(const json_t *failed)
{
    size_t widest = 0, i;
    json_t *each;

    json_array_foreach(failed, i, each)
    {
        CLEANUP(str_fini) struct str head = { 0 };

        str_addf(&head, "%s ", text_of(each, "code"));
        output_text(each, "count", &head);
        if (head.len > widest)
            widest = head.len;
    }
    return (int)widest;
}

static void print_fits(const json_t *fits)
{
    json_t *node;
    size_t i;

    json_array_foreach(fits, i, node)
    {
        if (i == NODES_SHOWN) {
            printf(" and %zu more", json_array_size(fits) - i);
            break;
        }
        printf("%s%s", i ? " " : "   ",
               json_is_string(node) ? json_string_value(node) : text_of(node, "name"));
    }
    printf("\n");
}

static void print_nodes(const json_t *nodes)
{
    const json_t *fits = json_object_get(nodes, "fits");
    const json_t *failed = json_object_get(nodes, "failed");
    int width = width_of_heads(failed);
    json_t *each;
    size_t i;

    if (!nodes)
        return;
    printf("\nNODES %" JSON_INTEGER_FORMAT "   fits %zu",
           json_integer_value(json_object_get(nodes, "total")), json_array_size(fits));
    print_fits(fits);
    json_array_foreach(failed, i, each) print_failed(each, width);
}

/* ---- what would help ---- */

static void add_change(const json_t *change, struct str *out)
{
    add_part(change, "what", "", out);
    add_part(change, "pointer", out->len ? " " : "", out);
    add_part(change, "from", " ", out);
    add_part(change, "to", json_object_get(change, "from") ? " -> " : " add ", out);
    if (json_object_get(change, "from") && !json_object_get(change, "to"))
        str_add(out, " -> nothing");
    add_part(change, "by", "  by ", out);
    if (json_object_get(change, "evicts"))
        str_addf(out, "  evicting %" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(change, "evicts")));
}

static void print_changes(const json_t *explain)
{
    const json_t *changes = json_object_get(explain, "changes");
    const json_t *start = json_object_get(explain, "start");
    json_t *change;
    size_t i;

    if (json_array_size(changes))
        printf("\nWOULD START NOW IF (each checked)\n");
    else if (changes)
        printf("\nNo single change that was tried would start it now.\n");
    json_array_foreach(changes, i, change)
    {
        CLEANUP(str_fini) struct str text = { 0 };

        add_change(change, &text);
        printf("  %zu  %s\n", i + 1, str_text(&text));
    }
    if (start && text_of(start, "ground")[0])
        printf("START  latest %s (%s)\n", text_of(start, "latest"), text_of(start, "ground"));
    else if (start)
        printf("START  latest %s\n", text_of(start, "latest"));
}

void explain_print(const json_t *explain, const struct output *output)
{
    print_state(explain);
    print_stopping(explain);
    print_share(explain, text_of(json_object_get(explain, "queue"), "name"));
    print_keeper(explain);
    print_evicted(explain, output);
    job_print_kept(explain, output->to);
    print_lost(explain, output);
    print_gang(explain);
    print_origin(explain);
    print_nodes(json_object_get(explain, "nodes"));
    print_changes(explain);
}

/* ---- the verb ---- */

static char *explain_path(const struct args *args, const struct job_name *name)
{
    CLEANUP(str_fini) struct str more = { 0 };
    const char *task = args_has(args, "task") ? args_get(args, "task") : name->task;

    str_add(&more, "/explain");
    cli_add_query(&more, "node", args_get(args, "node"));
    cli_add_query(&more, "task", task);
    cli_add_query(&more, "changes", args_get(args, "changes"));
    return job_path(name->job, more.data);
}

static int print_explain(struct cli *cli, const struct args *args, const struct output *output,
                         const struct job_name *name, const json_t *explain)
{
    CLEANUP(json_decrefp) json_t *rows = NULL;
    CLEANUP(json_decrefp) json_t *job = NULL;
    CLEANUP(freep) char *path = job_path(name->job, "");
    struct err err = { 0 };
    int r = 0;

    if (!output_has_columns(output)) {
        if (output_item(output, &whole_listing, explain, &err) < 0)
            return cli_fail_usage(cli, "%s", err.text);
        return EXIT_DONE;
    }
    if (output_has_rows(output) || args_has(args, "node")) {
        rows = args_has(args, "node") ? list_checks(explain, args_get(args, "node"))
                                      : list_nodes(explain);
        if (!text_of(explain, "code")[0])
            fprintf(stderr, "berth: nothing of %s waits: it is %s\n", name->job,
                    text_of(explain, "state"));
        if (output_list(output, &check_listing, rows, &err) < 0)
            return cli_fail_usage(cli, "%s", err.text);
        return EXIT_DONE;
    }
    r = cli_get(cli, path, &job);
    if (r != 0)
        return r;
    print_head(job, explain, output);
    explain_print(explain, output);
    return EXIT_DONE;
}

static int run_explain(struct cli *cli, const struct args *args)
{
    CLEANUP(json_decrefp) json_t *explain = NULL;
    CLEANUP(freep) char *path = NULL;
    struct job_name name;
    struct output output;
    int r = cli_need_output(cli, args, &output);

    if (r != 0)
        return r;
    r = job_name_find(cli, args, args->rest.at[0], &name);
    if (r != 0)
        return r;
    path = explain_path(args, &name);
    r = cli_get(cli, path, &explain);
    return r != 0 ? r : print_explain(cli, args, &output, &name, explain);
}

static const struct cli_flag own[] = {
    { "node", 0, "NAME", "only this node, check by check", "@node", false },
    { "changes", 0, "N", "name so many changes that would start it, 0 to 10; default 3", NULL,
      false },
    { "task", 0, "TASK", "another task than the first that waits: worker.3", NULL, false },
};
static const struct flag_set own_flags = { NULL, own, COUNT_OF(own) };
static const struct grammar grammar = {
    .sets = { &own_flags, &namespace_flags, &output_flags, &time_flags, &client_flags },
    .rest = "JOB",
    .rest_words = "@job",
    .n_rest_min = 1,
    .n_rest_max = 1,
};
const struct verb verb_explain = {
    .name = "explain",
    .run = run_explain,
    .help = "Say why a job waits",
    .usage = "[FLAG...] JOB",
    .more =
        "Names the code, the place in the queue, and for every node why the job does not fit "
        "there\n"
        "and who holds the rest; the counts add up to the number of nodes. Then the smallest "
        "changes,\n"
        "of one field of the job, of the budget of another or one event in sight, each of which "
        "would\n"
        "start it now: the scheduler tried them. The latest start holds if nothing new comes and "
        "all that\n"
        "runs uses its limit up. `berth explain code CODE` says what a code means.",
    .examples = { "explain j-12", "explain j-12 --node gpu-h1 -o cols=CHECK,ASKED,FREE,RESULT" },
    .grammar = &grammar,
};
