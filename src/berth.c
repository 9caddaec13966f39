/*
 * berth: the program. One table of verbs; each is a file of src/cli.
 */
#include "base/mem.h"
#include "cli/cli.h"
#include "program/program.h"
#include "sim/sim.h"

static const struct verb *const verbs[] = {
    &verb_run,          &verb_submit,        &verb_plan,         &verb_ps,
    &verb_explain,      &verb_explain_code,  &verb_logs,         &verb_cancel,
    &verb_wait,         &verb_job_list,      &verb_job_show,     &verb_job_timeline,
    &verb_job_set,      &verb_job_hold,      &verb_job_release,  &verb_job_requeue,
    &verb_job_suspend,  &verb_job_resume,    &verb_node_list,    &verb_node_show,
    &verb_node_cordon,  &verb_node_uncordon, &verb_node_drain,   &verb_node_label,
    &verb_node_forget,  &verb_queue_list,    &verb_queue_show,   &verb_queue_why,
    &verb_queue_create, &verb_queue_set,     &verb_queue_delete, &verb_order_list,
    &verb_order_show,   &verb_order_place,   &verb_order_fail,   &verb_order_cancel,
    &verb_token_list,   &verb_token_create,  &verb_token_delete, &verb_event_watch,
    &verb_sim_check,    &verb_sim_show,      &verb_server,       &verb_agent,
    &verb_dev,          &verb_completion,    &verb_version,      &verb_help,
};

static const struct cli_programs programs = {
    .server = program_server,
    .agent = program_agent,
    .dev = program_dev,
    .sim = sim_main,
};

int main(int argc, char **argv)
{
    return cli_main(verbs, COUNT_OF(verbs), &programs, argc, (const char *const *)argv);
}
