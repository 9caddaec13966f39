/*
 * The words of a job's fields, for reading and writing.
 */
#ifndef API_JOB_WORDS_H
#define API_JOB_WORDS_H

static const char *const on_failure_words[] = { "stop", "continue" };
static const char *const on_disconnect_words[] = { "stop", "keep" };
static const char *const network_words[] = { "host", "none" };
static const char *const topology_words[] = { "soft", "hard" };                 /* behind none */
static const char *const budget_words[] = { "minAvailable", "maxUnavailable" }; /* behind none */
static const char *const runtime_words[] = { "crun", "runc", "process" };
static const char *const effect_words[] = { "NoSchedule", "PreferNoSchedule", "NoExecute" };
enum { OPERATOR_EQUAL, OPERATOR_EXISTS };
static const char *const operator_words[] = { "Equal", "Exists" };

#endif
