/*
 * `berth server`: what the flags say, laid over what the configuration file says.
 */
#include "server/server.h"
#include "base/mem_keep.h"
#include "base/str.h"
#include "program/inside.h"
#include "program/program.h"

int program_server(const struct server_flags *flags)
{
    CLEANUP(freep) char *fallback = program_default_data("server");
    struct server_options options = {
        .listen = flags->listen,
        .worker_listen = flags->worker_listen,
        .data = flags->data || flags->config ? flags->data : fallback,
        .store = flags->store,
        .token_file = flags->token_file,
        .node_ttl_ms = flags->node_ttl_ms,
        .node_beat_ms = flags->node_ttl_ms / 3,
        .at_point = program_at_point,
    };
    struct err err = { 0 };

    mem_keep();
    return server_serve(&options, flags->config, &err) < 0 ? program_fail(&err) : 0;
}
