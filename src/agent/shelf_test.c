#include "agent/shelf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/test.h"

struct scene {
    char dir[64];
    struct pool *pool;
    struct shelf *shelf;
};

static void put_folder(struct scene *scene, const char *name)
{
    CLEANUP(freep) char *folder = text_format("%s/%s", scene->dir, name);
    CLEANUP(freep) char *file = text_format("%s/log.0", folder);
    static const char bytes[10000];
    struct err err = { 0 };

    CHECK_OK(file_make_dirs(folder, 0700, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, file, bytes, sizeof(bytes), 0600, false, &err), &err);
}

static bool is_there(struct scene *scene, const char *name)
{
    CLEANUP(freep) char *folder = text_format("%s/%s", scene->dir, name);

    return access(folder, F_OK) == 0;
}

static void scene_begin(struct scene *scene)
{
    struct err err = { 0 };

    snprintf(scene->dir, sizeof(scene->dir), "/tmp/berth-shelf-XXXXXX");
    CHECK(mkdtemp(scene->dir));
    CHECK_OK(pool_open("test", 1, &scene->pool, &err), &err);
}

static void open_shelf(struct scene *scene, int64_t keep_ms, int64_t keep_bytes)
{
    struct err err = { 0 };

    CHECK_OK(shelf_open(scene->dir, keep_ms, keep_bytes, scene->pool, &scene->shelf, &err), &err);
}

/* Waits for the removals, then ends. */
static void scene_end(struct scene *scene)
{
    struct err err = { 0 };

    shelf_close(scene->shelf);
    CHECK_OK(file_remove_tree(AT_FDCWD, scene->dir, &err), &err);
}

TEST(shelf_removes_the_oldest_when_there_is_too_much)
{
    struct scene scene;

    scene_begin(&scene);
    open_shelf(&scene, 1000000, 45000);
    for (int i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof(name), "a%d", i);
        put_folder(&scene, name);
        shelf_keep(scene.shelf, name, 1000 + i, 15000);
    }
    CHECK_EQ(shelf_bytes(scene.shelf), 45000);
    pool_close(scene.pool);
    CHECK(!is_there(&scene, "a0") && !is_there(&scene, "a1"));
    CHECK(is_there(&scene, "a2") && is_there(&scene, "a3") && is_there(&scene, "a4"));
    scene_end(&scene);
}

TEST(shelf_removes_what_is_too_old)
{
    struct scene scene;

    scene_begin(&scene);
    open_shelf(&scene, 1000, 1 << 30);
    put_folder(&scene, "old");
    put_folder(&scene, "new");
    shelf_keep(scene.shelf, "old", 1000, 15000);
    shelf_keep(scene.shelf, "new", 1900, 15000);
    shelf_trim(scene.shelf, 2001);
    pool_close(scene.pool);
    CHECK(!is_there(&scene, "old") && is_there(&scene, "new"));
    scene_end(&scene);
}

TEST(shelf_knows_what_was_there_before)
{
    struct scene scene;
    struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    scene_begin(&scene);
    put_folder(&scene, "young");
    put_folder(&scene, "old");
    CLEANUP(freep) char *old = text_format("%s/old", scene.dir);
    CHECK_EQ(utimensat(AT_FDCWD, old, times, 0), 0);
    open_shelf(&scene, 1000, 1 << 30);
    CHECK(shelf_bytes(scene.shelf) >= 20000);
    shelf_trim(scene.shelf, 1002000);
    pool_close(scene.pool);
    CHECK(!is_there(&scene, "old") && is_there(&scene, "young"));
    scene_end(&scene);
}

TEST(shelf_knows_who_wrote_nothing)
{
    struct scene scene;

    scene_begin(&scene);
    open_shelf(&scene, 1000, 1 << 30);
    shelf_keep_silent(scene.shelf, "old", 1000, "");
    shelf_keep_silent(scene.shelf, "new", 1900, "COMPLETED - 3");
    CHECK(shelf_is_silent(scene.shelf, "old") && shelf_is_silent(scene.shelf, "new"));
    CHECK(!shelf_is_silent(scene.shelf, "other"));
    shelf_trim(scene.shelf, 2001);
    CHECK(!shelf_is_silent(scene.shelf, "old") && shelf_is_silent(scene.shelf, "new"));
    shelf_close(scene.shelf);
    open_shelf(&scene, 1000, 1 << 30); /* after a restart */
    CHECK_TEXT(shelf_silent_end(scene.shelf, "new"), "COMPLETED - 3");
    CHECK(!shelf_silent_end(scene.shelf, "other"));
    shelf_trim(scene.shelf, 3000);
    CHECK_EQ(shelf_bytes(scene.shelf), 0);
    pool_close(scene.pool);
    scene_end(&scene);
}

static const struct {
    const char *name, *file;
    bool is_spare;
} contents[] = {
    { "nothing", NULL, true },         { "a spec", "spec", true },
    { "a record", "exit", true },      { "a log", "log.0", false },
    { "a later log", "log.9", false }, { "what was left behind", "bundle", false },
};

/* What another life of the ledger wrote under a name is nobody's log any more. */
TEST(shelf_forgets_a_name)
{
    struct scene scene = { 0 };
    int64_t bytes;

    scene_begin(&scene);
    put_folder(&scene, "a");
    put_folder(&scene, "b");
    open_shelf(&scene, 1000000, 1000000);
    bytes = shelf_bytes(scene.shelf);
    shelf_forget(scene.shelf, "nobody");
    shelf_forget(scene.shelf, "a");
    CHECK(!is_there(&scene, "a") && is_there(&scene, "b"));
    CHECK_EQ(shelf_bytes(scene.shelf), bytes / 2);
    shelf_keep_silent(scene.shelf, "c", 1, "COMPLETED");
    shelf_keep_silent(scene.shelf, "d", 1, "COMPLETED");
    shelf_forget(scene.shelf, "c");
    shelf_close(scene.shelf);
    open_shelf(&scene, 1000000, 1000000);
    CHECK(!shelf_is_silent(scene.shelf, "c") && shelf_is_silent(scene.shelf, "d"));
    pool_close(scene.pool);
    scene_end(&scene);
}

TEST(shelf_sees_what_is_worth_keeping)
{
    ROW_EACH (c, contents) {
        char dir[] = "/tmp/berth-shelf-XXXXXX";
        struct err err = { 0 };
        CHECK(mkdtemp(dir));
        if (c->file) {
            CLEANUP(freep) char *path = text_format("%s/%s", dir, c->file);
            CHECK_OK(file_write(AT_FDCWD, path, "x", 1, 0600, false, &err), &err);
        }
        CHECK_EQ(shelf_look(dir).is_spare, c->is_spare);
        CHECK(shelf_look(dir).bytes >= (c->is_spare ? 4096 : 8192));
        CHECK_OK(file_remove_tree(AT_FDCWD, dir, &err), &err);
    }
}
