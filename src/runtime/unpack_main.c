/*
 * berth-unpack: puts the layers of an image together in one folder.
 *
 *     berth-unpack FOLDER PATH:SHA256...      layers in order; nothing is written to stdout
 *
 * Layers come from strangers. So the files are opened first; then the process shuts itself into the
 * folder (chroot), gives up the network, new privileges and all rights but those over files, and
 * only then reads the first byte. Each layer is held against its digest before it is unpacked. Exit
 * 1 and one line on stderr if anything is not as it should be.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <locale.h>
#include <openssl/evp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK_BYTES = 65536, MOST_LAYERS = 512 };

#define WHITEOUT ".wh."
#define OPAQUE   ".wh..wh..opq"

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return -1;
}

/* ---- digest ---- */

static int check_digest(int fd, const char *expected)
{
    static unsigned char buf[BLOCK_BYTES];
    unsigned char sum[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned n_sum = 0;
    ssize_t n;

    EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
    while ((n = read(fd, buf, sizeof(buf))) > 0)
        EVP_DigestUpdate(ctx, buf, (size_t)n);
    EVP_DigestFinal_ex(ctx, sum, &n_sum);
    EVP_MD_CTX_free(ctx);
    for (unsigned i = 0; i < n_sum; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", sum[i]);
    if (n < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return fail(expected, strerror(errno));
    return strcmp(hex, expected) ? fail(expected, "the layer is not what its digest says") : 0;
}

/* ---- rights ---- */

/* Rights over files of the folder, and nothing else. */
static int drop_rights(void)
{
    static const unsigned kept = 1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER |
                                 1u << CAP_FSETID | 1u << CAP_SETFCAP;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { { .effective = kept, .permitted = kept } };

    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &header, data) < 0)
        return fail("give up rights", strerror(errno));
    return 0;
}

static int shut_in(const char *folder)
{
    if (unshare(CLONE_NEWNET) < 0 && errno != EINVAL)
        return fail("give up the network", strerror(errno));
    if (chdir(folder) < 0 || chroot(".") < 0)
        return fail(folder, strerror(errno));
    return drop_rights();
}

/* ---- whiteouts ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static int remove_path(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return 0;
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static int remove_below(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return ftw->level == 0 ? 0 : remove_one(path, st, type, ftw);
}

/* The last part of a path without the ends of "./" and "/" that archives vary in. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* What an entry of a higher layer takes away from those below. */
static int apply_whiteout(const char *path)
{
    const char *base = base_of(path);
    char target[4096];
    int n = (int)(base - path);

    if (!strcmp(base, OPAQUE)) {
        snprintf(target, sizeof(target), "%.*s", n, path);
        return nftw(n ? target : ".", remove_below, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 &&
                       errno != ENOENT
                   ? fail(path, strerror(errno))
                   : 0;
    }
    snprintf(target, sizeof(target), "%.*s%s", n, path, base + strlen(WHITEOUT));
    if (!strcmp(base_of(target), "") || !strcmp(base_of(target), ".") ||
        !strcmp(base_of(target), ".."))
        return fail(path, "not a whiteout of anything");
    return remove_path(target) < 0 ? fail(path, strerror(errno)) : 0;
}

static bool is_whiteout(const char *path)
{
    return !strncmp(base_of(path), WHITEOUT, strlen(WHITEOUT));
}

/* A path relative to the folder, or NULL where it leads out of it. */
static const char *clean_path(const char *path)
{
    while (path && (*path == '/' || !strncmp(path, "./", 2)))
        path += *path == '/' ? 1 : 2;
    if (!path || !strcmp(path, ".."))
        return NULL;
    for (const char *at = path; *at; at = strchrnul(at, '/') + (*strchrnul(at, '/') == '/')) {
        if (!strncmp(at, "../", 3) || !strcmp(at, ".."))
            return NULL;
    }
    return *path ? path : ".";
}

/* ---- layers ---- */

static struct archive *open_layer(int fd)
{
    struct archive *in = archive_read_new();

    archive_read_support_filter_gzip(in);
    archive_read_support_filter_zstd(in);
    archive_read_support_format_tar(in);
    if (lseek(fd, 0, SEEK_SET) < 0 || archive_read_open_fd(in, fd, BLOCK_BYTES) != ARCHIVE_OK) {
        fail("layer", archive_error_string(in) ? archive_error_string(in) : strerror(errno));
        archive_read_free(in);
        return NULL;
    }
    return in;
}

/* First what the layer takes away from those below it: its own files are not there yet. */
static int take_away(int fd)
{
    struct archive *in = open_layer(fd);
    struct archive_entry *entry;
    int r = 0, got = ARCHIVE_OK;

    while (in && r == 0 && (got = archive_read_next_header(in, &entry)) == ARCHIVE_OK) {
        const char *path = clean_path(archive_entry_pathname(entry));
        if (!path)
            r = fail(archive_entry_pathname(entry), "leads out of the image");
        else if (is_whiteout(path))
            r = apply_whiteout(path);
    }
    if (in && r == 0 && got != ARCHIVE_EOF)
        r = fail("layer", archive_error_string(in));
    if (in)
        archive_read_free(in);
    return in ? r : -1;
}

static int copy_data(struct archive *in, struct archive *out)
{
    const void *block;
    size_t n;
    la_int64_t offset;
    int r;

    while ((r = archive_read_data_block(in, &block, &n, &offset)) == ARCHIVE_OK) {
        if (archive_write_data_block(out, block, n, offset) < ARCHIVE_WARN)
            return -1;
    }
    return r == ARCHIVE_EOF ? 0 : -1;
}

/* Whether an entry is of a kind that a root has: no devices, for the runtime makes what is
 * allowed. */
static bool is_wanted(struct archive_entry *entry)
{
    mode_t type = archive_entry_filetype(entry);

    return type != AE_IFCHR && type != AE_IFBLK;
}

static int put_entry(struct archive *in, struct archive *out, struct archive_entry *entry)
{
    const char *path = clean_path(archive_entry_pathname(entry));
    const char *link = archive_entry_hardlink(entry);
    struct stat st;

    if (!path || (link && !clean_path(link)))
        return fail(archive_entry_pathname(entry), "leads out of the image");
    if (is_whiteout(path) || !is_wanted(entry))
        return 0;
    if (link)
        archive_entry_set_hardlink(entry, clean_path(link));
    archive_entry_set_pathname(entry, path);
    /* A folder stays what it is; anything else gives way to what the layer has in its place. */
    if (strcmp(path, ".") != 0 && lstat(path, &st) == 0 &&
        !(S_ISDIR(st.st_mode) && archive_entry_filetype(entry) == AE_IFDIR && !link) &&
        remove_path(path) < 0)
        return fail(path, strerror(errno));
    if (archive_write_header(out, entry) < ARCHIVE_WARN ||
        (archive_entry_size(entry) > 0 && !link && copy_data(in, out) < 0) ||
        archive_write_finish_entry(out) < ARCHIVE_WARN)
        return fail(path, archive_error_string(out)  ? archive_error_string(out)
                          : archive_error_string(in) ? archive_error_string(in)
                                                     : "cannot be unpacked");
    return 0;
}

static int put_layer(int fd)
{
    struct archive *in = open_layer(fd), *out;
    struct archive_entry *entry;
    int r = 0, got = ARCHIVE_OK;

    if (!in)
        return -1;
    out = archive_write_disk_new();
    /* Links are followed as the image's programs would follow them: they end in the folder, which
     * is the root of this process. */
    archive_write_disk_set_options(out, ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM |
                                            ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_XATTR |
                                            ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                            ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
    while (r == 0 && (got = archive_read_next_header(in, &entry)) == ARCHIVE_OK)
        r = put_entry(in, out, entry);
    if (r == 0 && got != ARCHIVE_EOF)
        r = fail("layer", archive_error_string(in));
    if (r == 0 && archive_write_close(out) != ARCHIVE_OK)
        r = fail("layer", archive_error_string(out));
    archive_write_free(out);
    archive_read_free(in);
    return r;
}

static int open_layers(char **args, int n, int *fds)
{
    for (int i = 0; i < n; i++) {
        char *colon = strrchr(args[i], ':');
        if (!colon)
            return fail(args[i], "not PATH:SHA256");
        *colon = '\0';
        fds[i] = open(args[i], O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            return fail(args[i], strerror(errno));
        *colon = ':';
    }
    return 0;
}

static int unpack(const char *folder, char **layers, int n)
{
    static int fds[MOST_LAYERS];

    setlocale(LC_ALL, "C.UTF-8"); /* names are bytes; libarchive thinks of characters */
    umask(0);
    if (open_layers(layers, n, fds) < 0 || shut_in(folder) < 0)
        return 1;
    for (int i = 0; i < n; i++) {
        const char *digest = strrchr(layers[i], ':') + 1;
        if (check_digest(fds[i], digest) < 0 || (i > 0 && take_away(fds[i]) < 0) ||
            put_layer(fds[i]) < 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc - 2 > MOST_LAYERS) {
        fprintf(stderr, "usage: berth-unpack FOLDER PATH:SHA256...\n");
        return 2;
    }
    /* At once: what libraries would look at while they end is not in the folder. */
    _exit(unpack(argv[1], argv + 2, argc - 2));
}
