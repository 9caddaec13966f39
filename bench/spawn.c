/*
 * The floor under a job: its program, spawned and waited for, and nothing else.
 *
 *     spawn COUNT PROGRAM
 *
 * Prints one JSON line: processor time, of parent and children, and time on the clock, milliseconds each.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static double cpu_ms(int who)
{
    struct rusage used;

    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static double clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    int count = argc == 3 ? atoi(argv[1]) : 0;
    char *const env[] = { NULL };
    double began = clock_ms(), cpu = cpu_ms(RUSAGE_SELF);

    if (count < 1) {
        fprintf(stderr, "usage: spawn COUNT PROGRAM\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        pid_t pid;
        int status;
        if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, env) || waitpid(pid, &status, 0) < 0 ||
            status) {
            fprintf(stderr, "spawn: %s did not run or failed\n", argv[2]);
            return 1;
        }
    }
    printf("{\"cpuMs\":%.3f,\"ms\":%.3f}\n",
           (cpu_ms(RUSAGE_SELF) - cpu + cpu_ms(RUSAGE_CHILDREN)) / count,
           (clock_ms() - began) / count);
    return 0;
}
