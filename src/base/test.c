/* The main of every test program: see test.h. */
#include "base/test.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TESTS = 512 };

static struct {
    const char *name;
    void (*run)(void);
} registered[MOST_TESTS];
static size_t n_registered;
static const char *row;

void test_register(const char *name, void (*run)(void))
{
    if (n_registered == MOST_TESTS)
        abort();
    registered[n_registered].name = name;
    registered[n_registered++].run = run;
}

void test_row(const char *name)
{
    row = name;
}

static void print_row(void)
{
    if (row)
        print_error("row: %s\n", row);
}

void test_check_int(long long a, long long b, const char *a_text, const char *b_text,
                    const char *file, int line)
{
    if (a == b)
        return;
    print_row();
    print_error("%s is %lld, %s is %lld\n", a_text, a, b_text, b);
    _fail(file, line);
}

void test_check_text(const char *a, const char *b, const char *a_text, const char *b_text,
                     const char *file, int line)
{
    if (a == b || (a && b && strcmp(a, b) == 0))
        return;
    print_row();
    print_error("%s is \"%s\", %s is \"%s\"\n", a_text, a ? a : "(null)", b_text, b ? b : "(null)");
    _fail(file, line);
}

void test_check(bool holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    print_row();
    print_error("does not hold: %s\n", text);
    _fail(file, line);
}

void test_skip(const char *why)
{
    print_message("skipped: %s\n", why);
    skip();
    abort();
}

uint64_t test_seed(void)
{
    const char *given = getenv("BERTH_TEST_SEED");
    struct timespec now;
    uint64_t seed;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 20;
    print_message("BERTH_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}

/* SplitMix64. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * 2014. */
uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t test_count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 3; /* ".", ".." and the folder itself */
}

static void run_one(void **state)
{
    void (*run)(void) = *(void (**)(void)) * state;

    row = NULL;
    run();
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[MOST_TESTS] = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < n_registered; i++)
        if (argc < 2 || strstr(registered[i].name, argv[1]))
            tests[n++] = (struct CMUnitTest){ .name = registered[i].name,
                                              .test_func = run_one,
                                              .initial_state = &registered[i].run };
    return _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
}
