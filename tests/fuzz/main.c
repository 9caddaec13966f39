/* Runs a fuzz target over the files of a corpus, as a plain test. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int run_file(const char *dir, const char *name)
{
    CLEANUP(freep) char *path = text_format("%s/%s", dir, name), *copy = NULL;
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };

    if (file_read(AT_FDCWD, path, 64u << 20, &text, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%s\n", path);
    fflush(stdout); /* so that the last line names the file that failed */
    /* Exactly the bytes, so that a sanitizer sees a read behind them. */
    copy = mem_resize(NULL, text.len + !text.len, 1);
    memcpy(copy, str_text(&text), text.len);
    LLVMFuzzerTestOneInput((const uint8_t *)copy, text.len);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    const struct dirent *entry;
    int n = 0, failed = 0;

    if (!dir) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        failed |= run_file(argv[1], entry->d_name);
        n++;
    }
    closedir(dir);
    printf("%d files\n", n);
    return failed || n == 0;
}
