/*
 * Images: layouts found, verified, unpacked once; layers put together; hostile ones refused.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/test.h"
#include "runtime/rig.h"

/* An entry of a layer: a folder ends in '/', a link has a target, all else is a file with its
 * content. */
struct entry {
    const char *path, *content, *link, *hardlink;
    bool is_device;
};

enum { MOST_ENTRIES = 8, MOST_LAYERS = 3 };

static size_t pack_layer(const struct entry *entries, char *out, size_t size)
{
    struct archive *a = archive_write_new();
    size_t used = 0;

    archive_write_set_format_pax_restricted(a);
    archive_write_add_filter_gzip(a);
    archive_write_set_options(a, "gzip:!timestamp");
    CHECK_EQ(archive_write_open_memory(a, out, size, &used), ARCHIVE_OK);
    for (const struct entry *e = entries; e < entries + MOST_ENTRIES && e->path; e++) {
        struct archive_entry *entry = archive_entry_new();
        size_t n = e->content ? strlen(e->content) : 0;
        archive_entry_set_pathname(entry, e->path);
        archive_entry_set_perm(entry, 0755);
        archive_entry_set_filetype(entry, e->is_device                          ? AE_IFCHR
                                          : e->path[strlen(e->path) - 1] == '/' ? AE_IFDIR
                                          : e->link                             ? AE_IFLNK
                                                                                : AE_IFREG);
        if (e->link)
            archive_entry_set_symlink(entry, e->link);
        if (e->hardlink)
            archive_entry_set_hardlink(entry, e->hardlink);
        archive_entry_set_size(entry, (la_int64_t)n);
        CHECK_EQ(archive_write_header(a, entry), ARCHIVE_OK);
        if (n)
            CHECK_EQ(archive_write_data(a, e->content, n), (long long)n);
        archive_entry_free(entry);
    }
    archive_write_close(a);
    archive_write_free(a);
    return used;
}

/* Puts data among the blobs; its digest. */
static void put_blob(const char *layout, const void *data, size_t n, char hex[DIGEST_HEX_SIZE])
{
    CLEANUP(freep) char *path = NULL;
    struct err err = { 0 };

    digest_hex(data, n, hex);
    path = text_format("%s/blobs/sha256/%s", layout, hex);
    CHECK_OK(file_write(AT_FDCWD, path, data, n, 0644, false, &err), &err);
}

/* A layout of these layers. */
static char *make_layout(struct rig *rig, const char *name,
                         const struct entry layers[MOST_LAYERS][MOST_ENTRIES])
{
    char *layout = text_format("%s/%s", rig->dir, name), hex[DIGEST_HEX_SIZE];
    CLEANUP(freep) char *blobs = text_format("%s/blobs/sha256", layout);
    CLEANUP(freep) char *index_path = text_format("%s/index.json", layout);
    CLEANUP(freep) char *index = NULL;
    CLEANUP(str_fini) struct str manifest = { 0 };
    static const char config[] = "{\"config\":{\"Entrypoint\":[\"/bin/e\"],\"Cmd\":[\"c\"],"
                                 "\"Env\":[\"A=image\",\"B=image\"],\"User\":\"7:8\"}}";
    static char buf[65536];
    struct err err = { 0 };

    CHECK_OK(file_make_dirs(blobs, 0755, &err), &err);
    put_blob(layout, config, strlen(config), hex);
    str_addf(&manifest, "{\"config\":{\"digest\":\"sha256:%s\"},\"layers\":[", hex);
    for (int i = 0; i < MOST_LAYERS && layers[i][0].path; i++) {
        put_blob(layout, buf, pack_layer(layers[i], buf, sizeof(buf)), hex);
        str_addf(&manifest, "%s{\"digest\":\"sha256:%s\",\"size\":1}", i ? "," : "", hex);
    }
    str_add(&manifest, "]}");
    put_blob(layout, manifest.data, manifest.len, hex);
    index = text_format("{\"manifests\":[{\"digest\":\"sha256:%s\"}]}", hex);
    CHECK_OK(file_write(AT_FDCWD, index_path, index, strlen(index), 0644, false, &err), &err);
    return layout;
}

/* Where the image that a layout names was unpacked; yours. */
static char *find_root(struct rig *rig, const char *layout)
{
    CLEANUP(freep) char *index = text_format("%s/index.json", layout);
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };
    const char *hex;

    CHECK_OK(file_read(AT_FDCWD, index, 65536, &text, &err), &err);
    hex = strstr(str_text(&text), "sha256:");
    CHECK(hex != NULL);
    return text_format("%s/images/%.64s/root", rig->dir, hex + strlen("sha256:"));
}

static int prepare(struct rig *rig, const char *image, enum detail *detail, struct err *err,
                   struct attempt *a)
{
    enum runtime_kind kind =
        rig->machine.runtimes[RUNTIME_CRUN].is_usable ? RUNTIME_CRUN : RUNTIME_RUNC;

    rig_needs(rig, kind);
    rig_attempt(rig, a, kind, NULL);
    a->container.image = image;
    *detail = DETAIL_NONE;
    return runtime_prepare(rig->runtime, &a->container, NULL, detail, err);
}

static void check_content(const char *root, const char *path, const char *content)
{
    CLEANUP(freep) char *full = text_format("%s/%s", root, path);
    CLEANUP(str_fini) struct str text = { 0 };
    struct err err = { 0 };

    if (!content) {
        CHECK(access(full, F_OK) < 0);
        return;
    }
    CHECK_OK(file_read(AT_FDCWD, full, 65536, &text, &err), &err);
    CHECK_TEXT(str_text(&text), content);
}

#define PROGRAM                                                                                    \
    {                                                                                              \
        "bin/e", "#!/bin/x\n", NULL, NULL, false                                                   \
    }

TEST(unpack_puts_layers_together)
{
    const struct entry layers[MOST_LAYERS][MOST_ENTRIES] = {
        { PROGRAM,
          { .path = "a/one", .content = "1" },
          { .path = "a/two", .content = "2" },
          { .path = "b/old", .content = "old" },
          { .path = "gone/deep/file", .content = "x" },
          { .path = "becomes/", .content = NULL },
          { .path = "link", .link = "/a" } },
        { { .path = "a/.wh.one" },
          { .path = "b/new", .content = "new" },
          { .path = "b/.wh..wh..opq" }, /* behind an entry of its own layer, which stays */
          { .path = "./.wh.gone" },
          { .path = "becomes", .content = "a file" },
          { .path = "hard", .hardlink = "a/two" },
          { .path = "link/three", .content = "3" } }, /* through a link of the layer below */
    };
    struct rig rig;
    struct attempt a;
    enum detail detail;
    struct err err = { 0 };

    rig_open(&rig);
    {
        CLEANUP(freep) char *layout = make_layout(&rig, "img", layers);
        CLEANUP(freep) char *image = text_format("oci:%s", layout);
        CLEANUP(freep) char *root = find_root(&rig, layout);
        CHECK_OK(prepare(&rig, image, &detail, &err, &a), &err);
        check_content(root, "a/one", NULL);
        check_content(root, "a/two", "2");
        check_content(root, "a/three", "3");
        check_content(root, "b/old", NULL);
        check_content(root, "b/new", "new");
        check_content(root, "gone", NULL);
        check_content(root, "becomes", "a file");
        check_content(root, "hard", "2");
        check_content(root, "b/.wh..wh..opq", NULL);
        rig_clean(&rig, &a);
    }
    rig_close(&rig);
}

TEST(unpack_refuses_what_is_hostile)
{
    static const struct {
        const char *name;
        struct entry layers[MOST_LAYERS][MOST_ENTRIES];
        const char *outside; /* what must not be there afterwards, below the test's folder */
        bool is_refused;
    } rows[] = {
        { "a path with ..",
          { { { .path = "a/../../escaped", .content = "x" } } },
          "escaped",
          true },
        { "a hard link to the outside",
          { { { .path = "h", .hardlink = "../../../../etc/passwd" } } },
          "h",
          true },
        { "a whiteout of the parent",
          { { { .path = "x", .content = "x" } }, { { .path = "a/.wh..." } } },
          NULL,
          true },
        { "a link to the outside, and a file through it: it lands inside",
          { { PROGRAM, { .path = "out", .link = "/../../.." } },
            { { .path = "out/escaped", .content = "x" } } },
          "escaped",
          false },
        { "a device is left out",
          { { PROGRAM, { .path = "dev/disk", .is_device = true } } },
          "dev/disk",
          false },
    };
    struct rig rig;
    int i = 0;

    rig_open(&rig);
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *name = text_format("img-%d", i++);
        CLEANUP(freep) char *layout = make_layout(&rig, name, c->layers);
        CLEANUP(freep) char *image = text_format("oci:%s", layout);
        CLEANUP(freep) char *root = find_root(&rig, layout);
        struct attempt a;
        enum detail detail;
        struct err err = { 0 };
        int r = prepare(&rig, image, &detail, &err, &a);
        CHECK_EQ(r < 0, c->is_refused);
        CHECK_EQ(detail, c->is_refused ? DETAIL_IMAGE_PULL : DETAIL_NONE);
        if (c->outside) {
            check_content(rig.dir, c->outside, NULL);
            check_content("/", c->outside, NULL);
        }
        if (c->is_refused)
            CHECK(access(root, F_OK) < 0); /* nor is half of it in the store */
        rig_clean(&rig, &a);
    }
    rig_close(&rig);
}

static void spoil(const char *layout, const char *hex_from)
{
    CLEANUP(freep) char *path = text_format("%s/blobs/sha256/%.64s", layout, hex_from);
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_APPEND);

    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "x", 1), 1);
}

TEST(unpack_holds_all_against_their_digests)
{
    static const struct {
        const char *name, *before; /* the digest behind this text, in the manifest; NULL: its own */
    } rows[] = {
        { "the manifest", NULL },
        { "the configuration", "\"config\":{\"digest\":\"sha256:" },
        { "a layer", "\"layers\":[{\"digest\":\"sha256:" },
    };
    const struct entry layers[MOST_LAYERS][MOST_ENTRIES] = { { PROGRAM } };
    struct rig rig;

    rig_open(&rig);
    ROW_EACH (c, rows) {
        CLEANUP(freep) char *layout = make_layout(&rig, "img", layers);
        CLEANUP(freep) char *image = text_format("oci:%s", layout);
        CLEANUP(freep) char *root = find_root(&rig, layout);
        CLEANUP(str_fini) struct str manifest = { 0 };
        CLEANUP(freep) char *path = NULL;
        const char *own = strstr(root, "/images/") + strlen("/images/");
        struct attempt a;
        enum detail detail;
        struct err err = { 0 };
        path = text_format("%s/blobs/sha256/%.64s", layout, own);
        CHECK_OK(file_read(AT_FDCWD, path, 65536, &manifest, &err), &err);
        spoil(layout, c->before ? strstr(manifest.data, c->before) + strlen(c->before) : own);
        CHECK(prepare(&rig, image, &detail, &err, &a) < 0);
        CHECK_EQ(detail, DETAIL_IMAGE_PULL);
        CHECK(access(root, F_OK) < 0);
        rig_clean(&rig, &a);
        {
            struct err gone = { 0 };
            CHECK_OK(file_remove_tree(AT_FDCWD, layout, &gone), &gone);
        }
    }
    rig_close(&rig);
}

TEST(image_that_is_absent)
{
    static const struct {
        const char *name, *image;
    } rows[] = {
        { "no such layout", "oci:/nonexistent" },
        { "no such folder", "dir:/nonexistent" },
        { "neither", "docker.io/busybox" },
        { "relative", "oci:img" },
        { "empty", "" },
    };
    struct rig rig;

    rig_open(&rig);
    ROW_EACH (c, rows) {
        struct attempt a;
        enum detail detail;
        struct err err = { 0 };
        CHECK(prepare(&rig, c->image, &detail, &err, &a) < 0);
        CHECK(detail == DETAIL_IMAGE_ABSENT || detail == DETAIL_IMAGE_PULL);
        CHECK(err.text[0]);
        rig_clean(&rig, &a);
    }
    rig_close(&rig);
}

struct seen {
    bool is_hit;
    int64_t bytes;
};

static int see_image(void *ctx, const struct phase_report *report)
{
    struct seen *seen = ctx;

    if (report->phase == PHASE_IMAGE)
        *seen = (struct seen){ report->is_cache_hit, report->bytes };
    return 0;
}

TEST(image_made_by_the_script_runs_and_is_unpacked_once)
{
    struct rig rig;
    struct seen seen = { 0 };
    struct prepare_hooks hooks = { .ctx = &seen, .end = see_image };

    rig_open(&rig);
    rig_busybox(&rig); /* skips without busybox */
    for (int round = 0; round < 2; round++) {
        CLEANUP(freep) char *image = text_format("oci:%s/image:latest", rig.dir);
        CLEANUP(freep)
        char *make = text_format(BERTH_SOURCE_DIR "/scripts/make-busybox-image %s/image", rig.dir);
        CLEANUP(freep) char *out = NULL;
        struct attempt a;
        enum detail detail;
        struct err err = { 0 };
        if (round == 0)
            CHECK_EQ(system(make), 0);
        rig_needs(&rig, RUNTIME_CRUN);
        rig_attempt(&rig, &a, RUNTIME_CRUN, NULL);
        a.container.image = image;
        a.container.args = COMMAND("sh", "-c", "echo $PATH; cat /etc/group");
        CHECK_OK(runtime_prepare(rig.runtime, &a.container, &hooks, &detail, &err), &err);
        CHECK_EQ(seen.is_hit, round == 1);
        CHECK_EQ(seen.bytes > 0, round == 0);
        CHECK_OK(runtime_start(rig.runtime, &a.container, &a.watch, &err), &err);
        rig_started(&a);
        rig_ended(&a);
        out = rig_output(&a, 0, NULL);
        CHECK_TEXT(out, "/bin\nroot:x:0:\n");
        rig_clean(&rig, &a);
    }
    rig_close(&rig);
}

TEST(image_prefixes_hold_for_real_paths)
{
    const struct entry layers[MOST_LAYERS][MOST_ENTRIES] = { { PROGRAM } };
    struct rig rig;
    struct runtime *strict = NULL;
    struct err err = { 0 };

    rig_open(&rig);
    {
        CLEANUP(freep) char *inside = make_layout(&rig, "allowed/img", layers);
        CLEANUP(freep) char *outside = make_layout(&rig, "allowed-not/img", layers);
        CLEANUP(freep) char *prefix = text_format("%s/allowed", rig.dir);
        CLEANUP(freep) char *link = text_format("%s/link", prefix);
        const char *const prefixes[] = { prefix, NULL };
        const char *const paths[] = { inside, outside, link };
        struct runtime_config config = { rig.dir, rig.node, BERTH_BUILD_DIR "/berth-monitor",
                                         &rig.machine, prefixes };
        struct runtime *loose = rig.runtime;
        CHECK_EQ(symlink(outside, link), 0);
        CHECK_OK(runtime_open(&config, &strict, &err), &err);
        rig.runtime = strict;
        for (size_t i = 0; i < COUNT_OF(paths); i++) {
            CLEANUP(freep) char *image = text_format("oci:%s", paths[i]);
            struct attempt a;
            enum detail detail;
            struct err refused = { 0 };
            int r = prepare(&rig, image, &detail, &refused, &a);
            CHECK_EQ(r, i == 0 ? 0 : -EPERM);
            rig_clean(&rig, &a);
        }
        rig.runtime = loose;
        runtime_close(strict);
    }
    rig_close(&rig);
}
