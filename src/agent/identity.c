/* Identity: see identity.h. */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/wire.h"
#include "base/file.h"

enum { IDENTITY_MAX_BYTES = 4096 };

int identity_read(const char *data_dir, struct identity *out, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/agent.json", data_dir);
    CLEANUP(str_fini) struct str text = { 0 };
    struct err why = { 0 };
    const char *incarnation;
    json_t *object;
    int r = file_read(AT_FDCWD, path, IDENTITY_MAX_BYTES, &text, &why);

    *out = (struct identity){ 0 };
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return err_set(err, r, "%s", why.text);
    object = json_loadb(str_text(&text), text.len, 0, NULL);
    incarnation = json_string_value(json_object_get(object, "incarnation"));
    if (incarnation && strlen(incarnation) < sizeof(out->incarnation)) {
        snprintf(out->incarnation, sizeof(out->incarnation), "%s", incarnation);
        out->revision = json_integer_value(json_object_get(object, "revision"));
    }
    json_decref(object);
    return incarnation ? 0 : err_set(err, -EINVAL, "%s is not what an agent wrote", path);
}

int identity_write(const char *data_dir, const struct identity *identity, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s/agent.json", data_dir);
    CLEANUP(str_fini) struct str text = { 0 };

    str_add(&text, "{\"incarnation\":");
    wire_text(&text, identity->incarnation);
    str_addf(&text, ",\"revision\":%" PRId64 "}\n", identity->revision);
    return file_write(AT_FDCWD, path, str_text(&text), text.len, 0600, false, err);
}
