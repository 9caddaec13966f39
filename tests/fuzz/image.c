/*
 * Image metadata: index, manifest and configuration of an OCI layout. Any layout is found and becomes a
 * container's configuration, or is refused with a reason.
 *
 * The input is the three texts, each but the last ended by a byte of 255. In the index "@" stands for the
 * manifest's digest, in the manifest for the configuration's: so the texts may be anything and still
 * lead to each other. Layers are not unpacked here.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/test_folder.h"
#include "runtime/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void make(const char *name)
{
    CLEANUP(freep) char *path = text_format("%s/%s", test_folder(), name);
    struct err err = { 0 };

    if (file_make_dirs(path, 0700, &err) < 0)
        abort();
}

static void enter(void)
{
    static bool is_there;

    if (is_there)
        return;
    is_there = true;
    make("layout/blobs/sha256");
    make("data/images");
    make("folder/bundle");
}

static void put(const char *name, const struct str *text)
{
    CLEANUP(freep) char *path = text_format("%s/%s", test_folder(), name);
    struct err err = { 0 };

    if (file_write(AT_FDCWD, path, str_text(text), text->len, 0600, false, &err) < 0)
        abort();
}

/* The next text of the input, its marks replaced. */
static void next(const uint8_t **at, const uint8_t *end, const char *digest, struct str *out)
{
    for (; *at < end && **at != 255; ++*at) {
        if (**at == '@')
            str_addf(out, "sha256:%s", digest);
        else
            str_add_char(out, (char)**at);
    }
    *at += *at < end;
}

/* Puts a text where its digest says. */
static char *put_blob(const struct str *text, char digest[DIGEST_HEX_SIZE])
{
    char *name;

    digest_hex(text->data ? text->data : "", text->len, digest);
    name = text_format("layout/blobs/sha256/%s", digest);
    put(name, text);
    return name;
}

static void clear(const char *name)
{
    CLEANUP(freep) char *path = text_format("%s/%s", test_folder(), name);
    struct err err = { 0 };

    if (file_remove_tree(AT_FDCWD, path, &err) < 0)
        abort();
}

/* What is done with an image that was found. */
static void use(const struct runtime *rt, const struct image *image)
{
    CLEANUP(freep) char *folder = text_format("%s/folder", test_folder());
    struct container c = {
        .runtime = RUNTIME_CRUN, .id = "j-1.t.0.1", .folder = folder, .network = NETWORK_HOST
    };
    enum detail detail = DETAIL_RUNTIME_FAILED;
    struct err err = { 0 };

    assert(image->root && image->entrypoint && image->cmd && image->env && image->work_dir);
    if (config_write(rt, &c, image, &detail, &err) < 0)
        assert(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *at = data, *end = data + n, *begin[3];
    CLEANUP(str_fini) struct str index = { 0 }, manifest = { 0 }, config = { 0 };
    CLEANUP(freep) char *manifest_at = NULL, *config_at = NULL, *reference = NULL;
    char digest[DIGEST_HEX_SIZE] = "";
    static struct runtime rt = { .unpack_path = (char *)"/bin/true" };
    struct image image = { 0 };
    enum detail detail = DETAIL_NONE;
    struct err err = { 0 };

    enter();
    for (size_t i = 0; i < 3; i++) {
        const uint8_t *mark = at < end ? memchr(at, 255, (size_t)(end - at)) : NULL;
        begin[i] = at;
        at = mark ? mark + 1 : end;
    }
    next(&begin[2], end, "", &config);
    config_at = put_blob(&config, digest);
    next(&begin[1], end, digest, &manifest);
    manifest_at = put_blob(&manifest, digest);
    next(&begin[0], end, digest, &index);
    put("layout/index.json", &index);
    if (!rt.data_dir) {
        rt.data_dir = text_format("%s/data", test_folder());
        pthread_mutex_init(&rt.unpacking, NULL);
    }
    reference = text_format("oci:%s/layout", test_folder());
    if (image_get(&rt, reference, NULL, &image, &detail, &err) < 0)
        assert(err.text[0] && detail != DETAIL_NONE);
    else
        use(&rt, &image);
    image_fini(&image);
    clear(config_at);
    if (strcmp(config_at, manifest_at) != 0)
        clear(manifest_at);
    clear("data/images");
    make("data/images");
    return 0;
}
