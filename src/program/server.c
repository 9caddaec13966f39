/*
 * `berth server`: what the flags say, laid over what the configuration file says, which is the
 * machine's where none is named.
 */
#include "server/server.h"
#include "base/mem_keep.h"
#include "base/node_lease.h"
#include "base/str.h"
#include "program/inside.h"
#include "program/program.h"

int program_server(const struct server_flags *flags)
{
    CLEANUP(freep) char *fallback = program_default_data("server");
    CLEANUP(freep) char *system = flags->config ? NULL : program_system_config("server.yaml");
    const char *config = flags->config ? flags->config : system;
    struct server_options options = {
        .listen = flags->listen,
        .worker_listen = flags->worker_listen,
        .data = flags->data,
        .data_else = fallback,
        .store = flags->store,
        .token_file = flags->token_file,
        .node_ttl_ms = flags->node_ttl_ms,
        .is_restored = flags->is_restored,
        .node_beat_ms = node_lease_beat_ms(flags->node_ttl_ms),
        .at_point = program_at_point,
    };
    CLEANUP(str_fini) struct str faults = { 0 };
    struct err err = { 0 };

    mem_keep();
    if (server_serve(&options, config, &faults, &err) < 0)
        return program_fail_all(&err, &faults);
    return 0;
}
