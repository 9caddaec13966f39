/*
 * Tests: tables on cmocka. A row is data with a member `name`, the sentence that a failure prints.
 *
 * TEST(name) registers itself; test.c has the main. A program given a word runs only the
 * tests whose names contain it.
 */
#ifndef BASE_TEST_H
#define BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

void test_register(const char *name, void (*run)(void));
void test_row(const char *name);
void test_check_int(long long a, long long b, const char *a_text, const char *b_text,
                    const char *file, int line);
void test_check_text(const char *a, const char *b, const char *a_text, const char *b_text,
                     const char *file, int line);
void test_check(bool holds, const char *text, const char *file, int line);
/** Leaves the test as skipped, with the reason. */
void test_skip(const char *why) __attribute__((noreturn));
/** The seed of a random test: BERTH_TEST_SEED or a fresh one, printed once. */
uint64_t test_seed(void);
/** The next number of a repeatable sequence. */
uint64_t test_random(uint64_t *state);
/** How many descriptors this process holds. */
size_t test_count_fds(void);

#define TEST(test)                                                                                 \
    static void test(void);                                                                        \
    __attribute__((constructor)) static void register_##test(void)                                 \
    {                                                                                              \
        test_register(#test, test);                                                                \
    }                                                                                              \
    static void test(void)

/** Walks a table; c points at each row in turn. */
#define ROW_EACH(c, rows)                                                                          \
    for (__typeof__(&(rows)[0]) c = (rows); c < (rows) + COUNT_OF(rows) && (test_row(c->name), 1); \
         c++)

#define CHECK(holds)     test_check((holds), #holds, __FILE__, __LINE__)
#define CHECK_EQ(a, b)   test_check_int((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_TEXT(a, b) test_check_text((a), (b), #a, #b, __FILE__, __LINE__)
/** A call that must succeed; prints its reason otherwise. */
#define CHECK_OK(call, err)                                                                        \
    do {                                                                                           \
        int r_ = (call);                                                                           \
        if (r_ < 0)                                                                                \
            print_error("%s\n", (err)->text);                                                      \
        CHECK_EQ(r_, 0);                                                                           \
    } while (0)

#endif
