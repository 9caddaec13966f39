/*
 * What the history checker says of a ledger's file; beside a server, too.
 *
 *     ledger-check FILE
 *
 * Prints how much there was to check, and each finding. Exit 1 if there is one, 2 if the file cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "ledger/ledger.h"

int main(int argc, char **argv)
{
    static struct ledger_report report;
    CLEANUP(freep) char *store = NULL;
    struct err err = { 0 };

    if (argc != 2) {
        fprintf(stderr, "usage: ledger-check FILE\n");
        return 2;
    }
    store = text_format("sqlite:%s", argv[1]);
    if (ledger_check(store, &report, &err) < 0) {
        fprintf(stderr, "ledger-check: %s\n", err.text);
        return 2;
    }
    printf("revision %" PRIu64 ": %zu events, %zu jobs, %zu attempts, %zu findings\n",
           report.revision, report.n_events, report.n_jobs, report.n_attempts, report.n_findings);
    for (size_t i = 0; i < report.n_findings && i < LEDGER_FINDINGS_MAX; i++)
        puts(report.findings[i]);
    return report.n_findings != 0;
}
