#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

TEST(file_written_is_read_and_removed_with_its_tree)
{
    char dir[] = "/tmp/berth-file-XXXXXX";
    size_t n_fds = test_count_fds();
    struct err err = { 0 };
    CLEANUP(str_fini) struct str text = { 0 };

    CHECK(mkdtemp(dir) != NULL);
    CLEANUP(freep) char *deep = text_format("%s/a/b/c", dir);
    CLEANUP(freep) char *path = text_format("%s/x", deep);
    CLEANUP(freep) char *link = text_format("%s/link", dir);
    CHECK_OK(file_make_dirs(deep, 0755, &err), &err);
    CHECK_OK(file_make_dirs(deep, 0755, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, path, "one", 3, 0600, true, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, path, "second", 6, 0600, false, &err), &err);
    CHECK_OK(file_read(AT_FDCWD, path, 100, &text, &err), &err);
    CHECK_TEXT(str_text(&text), "second");
    CHECK_EQ(file_read(AT_FDCWD, path, 5, &text, &err), -E2BIG);
    CHECK_EQ(symlink("/etc", link), 0);
    err = (struct err){ 0 };
    CHECK_OK(file_remove_tree(AT_FDCWD, dir, &err), &err);
    CHECK_EQ(access(dir, F_OK), -1);
    CHECK_EQ(access("/etc/passwd", F_OK), 0);
    CHECK_OK(file_remove_tree(AT_FDCWD, dir, &err), &err);
    CHECK_EQ(test_count_fds(), n_fds);
}

TEST(file_write_that_fails_leaves_the_old_file)
{
    struct err err = { 0 };

    CHECK_EQ(file_write(AT_FDCWD, "/nonexistent-folder/x", "a", 1, 0600, true, &err), -ENOENT);
    CHECK(err.text[0] != '\0');
}

static const struct {
    const char *name, *before, *text;
} overwritten[] = {
    { "a file that was empty", "", "new" },
    { "a longer one", "much older", "new" },
    { "a shorter one", "o", "new" },
    { "one of the same length", "old", "new" },
};

TEST(file_overwrite_leaves_nothing_of_what_was_there)
{
    char dir[] = "/tmp/berth-file-XXXXXX";
    CLEANUP(freep) char *path = NULL;
    struct err err = { 0 };

    CHECK(mkdtemp(dir));
    path = text_format("%s/f", dir);
    ROW_EACH (c, overwritten) {
        CLEANUP(str_fini) struct str text = { 0 };
        CLEANUP(closep) int fd = -1;
        CHECK_OK(file_write(AT_FDCWD, path, c->before, strlen(c->before), 0600, false, &err), &err);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        CHECK_EQ(file_overwrite(fd, c->text, strlen(c->text)), 0);
        CHECK_OK(file_read(AT_FDCWD, path, 100, &text, &err), &err);
        CHECK_TEXT(str_text(&text), c->text);
    }
    CHECK_OK(file_remove_tree(AT_FDCWD, dir, &err), &err);
}
