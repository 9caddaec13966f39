/*
 * Launch: the file by which the monitor is told what to start. KEY=VALUE records, each ended by
 * NUL, so that a value may hold anything that an argument or an environment entry may.
 */
#include <stdio.h>

#include "runtime/inside.h"

void launch_add(struct str *launch, const char *key, const char *value)
{
    str_add(launch, key);
    str_add_char(launch, '=');
    str_add(launch, value);
    str_add_char(launch, '\0');
}

void launch_add_int(struct str *launch, const char *key, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    launch_add(launch, key, text);
}
