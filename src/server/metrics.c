/* Metrics: see metrics.h. Each is described in docs/metrics.md, which a test holds against this. */
#include "server/metrics.h"

#include <inttypes.h>

#include "base/clock.h"
#include "server/call.h"
#include "server/routes.h"
#include "server/version.h"

static void describe(struct str *out, const char *name, const char *type, const char *help)
{
    str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void counter(struct str *out, const char *name, const char *help, uint64_t value)
{
    describe(out, name, "counter", help);
    str_addf(out, "%s %" PRIu64 "\n", name, value);
}

static void gauge(struct str *out, const char *name, const char *help, uint64_t value)
{
    describe(out, name, "gauge", help);
    str_addf(out, "%s %" PRIu64 "\n", name, value);
}

/* A histogram from counts in microseconds; the last bucket has no upper end. */
static void histogram(struct str *out, const char *name, const int64_t *ends,
                      const uint64_t *counts, size_t n, uint64_t sum_us)
{
    uint64_t so_far = 0;

    for (size_t i = 0; i < n; i++) {
        so_far += counts[i];
        if (i + 1 < n)
            str_addf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, (double)ends[i] / 1e6,
                     so_far);
        else
            str_addf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, so_far);
    }
    str_addf(out, "%s_sum %g\n%s_count %" PRIu64 "\n", name, (double)sum_us / 1e6, name, so_far);
}

static void write_requests(struct server *server, struct str *out)
{
    uint64_t counts[SERVER_DURATION_BUCKETS];

    describe(out, "berth_http_requests_total", "counter",
             "Requests answered, by the first digit of the status.");
    for (int i = 2; i < 6; i++)
        str_addf(out, "berth_http_requests_total{status=\"%dxx\"} %" PRIu64 "\n", i,
                 (uint64_t)server->counts.requests[i]);
    describe(out, "berth_http_request_duration_seconds", "histogram",
             "From a whole request to its answer (of a stream: to its begin).");
    for (size_t i = 0; i < SERVER_DURATION_BUCKETS; i++)
        counts[i] = server->counts.durations[i];
    histogram(out, "berth_http_request_duration_seconds", server_duration_us, counts,
              SERVER_DURATION_BUCKETS, server->counts.duration_us_sum);
    gauge(out, "berth_http_connections", "Open connections of the API's port.",
          http_server_n_connections(server->http));
    counter(out, "berth_jobs_submitted_total", "Jobs accepted, replays aside.",
            server->counts.submitted);
}

static void write_nodes(struct server *server, struct str *out)
{
    struct nodes_metrics m = { 0 };

    nodes_metrics(server->nodes, &m);
    gauge(out, "berth_nodes_connected", "Agents with a stream open.", m.n_streams);
    gauge(out, "berth_attempts_live", "Attempts that hold room.", m.n_live);
    gauge(out, "berth_logs_open", "Logs that are being read.", m.n_logs);
    counter(out, "berth_node_registers_total", "Registrations of agents.", m.registers);
    counter(out, "berth_node_beats_total", "Beats of agents.", m.beats);
    counter(out, "berth_starts_sent_total", "Starts sent to agents.", m.starts_sent);
    counter(out, "berth_stops_sent_total", "Stops sent to agents.", m.stops_sent);
    counter(out, "berth_drops_sent_total", "Drops sent to agents.", m.drops_sent);
    describe(out, "berth_acks_total", "counter", "Starts that agents asked for, by outcome.");
    str_addf(out, "berth_acks_total{outcome=\"ok\"} %" PRIu64 "\n", m.acks_ok);
    str_addf(out, "berth_acks_total{outcome=\"refused\"} %" PRIu64 "\n", m.acks_refused);
    describe(out, "berth_reports_total", "counter", "Reports of agents, by outcome.");
    str_addf(out, "berth_reports_total{outcome=\"ok\"} %" PRIu64 "\n", m.reports_ok);
    str_addf(out, "berth_reports_total{outcome=\"refused\"} %" PRIu64 "\n", m.reports_refused);
    counter(out, "berth_log_bytes_total", "Bytes of logs that came from agents.", m.log_bytes);
}

static void write_cycle(struct server *server, struct str *out)
{
    struct cycle_metrics m = { 0 };

    cycle_metrics(server->cycle, &m);
    gauge(out, "berth_tasks_waiting", "Tasks that waited at the last cycle.", m.tasks_waiting);
    gauge(out, "berth_cycle_revision", "The revision that the engine has applied.", m.revision);
    counter(out, "berth_cycles_limited_total", "Cycles that a limit ended.", m.limited);
    counter(out, "berth_tasks_placed_total", "Tasks bound.", m.placed);
    counter(out, "berth_tasks_evicted_total", "Tasks evicted.", m.evicted);
    counter(out, "berth_tasks_failed_total", "Jobs and tasks that the engine gave up.", m.failed);
    counter(out, "berth_decisions_refused_total", "Decisions that the ledger refused.", m.refused);
    describe(out, "berth_cycle_duration_seconds", "histogram", "How long cycles took.");
    histogram(out, "berth_cycle_duration_seconds", cycle_bucket_us, m.buckets, CYCLE_BUCKETS,
              m.duration_us_sum);
    gauge(out, "berth_view_following", "1 while questions keep a second engine fed.",
          view_is_following(server->view));
}

void metrics_write(struct server *server, struct str *out)
{
    char why[240];

    describe(out, "berth_info", "gauge", "Always 1; the label says the version.");
    str_addf(out, "berth_info{version=\"%s\"} 1\n", server_version);
    describe(out, "berth_start_time_seconds", "gauge", "When the server started, since 1970.");
    str_addf(out, "berth_start_time_seconds %" PRId64 "\n", server->begun_at / 1000);
    gauge(out, "berth_revision", "The ledger's revision.", watch_revision(server->watch));
    gauge(out, "berth_ledger_writable", "1 while the ledger can be written.",
          ledger_is_writable(server->ledger, why));
    gauge(out, "berth_steward", "1 while this server decides.",
          steward_fence(server->steward) != 0);
    write_requests(server, out);
    write_nodes(server, out);
    write_cycle(server, out);
}

void on_metrics(struct call *call)
{
    CLEANUP(str_fini) struct str out = { 0 };

    metrics_write(call->server, &out);
    call_end_bytes(call, 200, "text/plain; version=0.0.4; charset=utf-8", out.data, out.len);
}
