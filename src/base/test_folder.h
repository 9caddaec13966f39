/*
 * A folder for the files of a test program, or of a fuzz target: made when it is first asked for,
 * removed with all in it when the program ends.
 */
#ifndef BASE_TEST_FOLDER_H
#define BASE_TEST_FOLDER_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

static char test_folder_path[256];

static void test_folder_remove(void)
{
    struct err err = { 0 };

    if (file_remove_tree(AT_FDCWD, test_folder_path, &err) < 0)
        fprintf(stderr, "%s\n", err.text);
}

/** Its path, below $TMPDIR or /tmp. */
static inline const char *test_folder(void)
{
    const char *in = getenv("TMPDIR");

    if (test_folder_path[0])
        return test_folder_path;
    snprintf(test_folder_path, sizeof(test_folder_path), "%s/berth-test-XXXXXX",
             in && *in == '/' ? in : "/tmp");
    if (!mkdtemp(test_folder_path)) {
        perror(test_folder_path);
        abort();
    }
    atexit(test_folder_remove);
    return test_folder_path;
}

#endif
