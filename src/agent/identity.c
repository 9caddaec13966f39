/* Identity: see identity.h. */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "agent/wire.h"
#include "base/digest.h"
#include "base/file.h"

enum { IDENTITY_MAX_BYTES = 4096 };

static void read_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (text && strlen(text) < size)
        memcpy(out, text, strlen(text) + 1);
}

/* None yet, as after a crash of the machine before it was written, is an empty one. */
static int read_file(const char *data_dir, struct identity *out, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/agent.json", data_dir);
    CLEANUP(str_fini) struct str text = { 0 };
    struct err why = { 0 };
    json_t *object;
    int r = file_read(AT_FDCWD, path, IDENTITY_MAX_BYTES, &text, &why);

    *out = (struct identity){ 0 };
    if (r == -ENOENT || (r == 0 && text.len == 0))
        return 0;
    if (r < 0)
        return err_set(err, r, "%s", why.text);
    object = json_loadb(str_text(&text), text.len, 0, NULL);
    if (!json_is_string(json_object_get(object, "incarnation"))) {
        json_decref(object);
        return err_set(err, -EINVAL, "%s is not what an agent wrote", path);
    }
    read_text(object, "identity", out->own, sizeof(out->own));
    read_text(object, "incarnation", out->incarnation, sizeof(out->incarnation));
    read_text(object, "opening", out->opening, sizeof(out->opening));
    out->revision = json_integer_value(json_object_get(object, "revision"));
    json_decref(object);
    return 0;
}

static int write_file(const char *data_dir, const struct identity *identity, bool is_durable,
                      struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/agent.json", data_dir);
    CLEANUP(str_fini) struct str text = { 0 };

    str_add(&text, "{\"identity\":");
    wire_text(&text, identity->own);
    str_add(&text, ",\"incarnation\":");
    wire_text(&text, identity->incarnation);
    str_add(&text, ",\"opening\":");
    wire_text(&text, identity->opening);
    str_addf(&text, ",\"revision\":%" PRId64 "}\n", identity->revision);
    return file_write(AT_FDCWD, path, str_text(&text), text.len, 0600, is_durable, err);
}

int identity_open(const char *data_dir, struct identity *out, struct err *err)
{
    char random[DIGEST_HEX_SIZE];
    int r = read_file(data_dir, out, err);

    if (r < 0 || out->own[0])
        return r;
    r = digest_random_hex(random, err);
    if (r < 0)
        return r;
    memcpy(out->own, random, sizeof(out->own) - 1);
    return write_file(data_dir, out, true, err);
}

int identity_write(const char *data_dir, const struct identity *identity, struct err *err)
{
    return write_file(data_dir, identity, false, err);
}
