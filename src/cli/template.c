/* Templates: see template.h. */
#include "cli/template.h"

#include <errno.h>
#include <string.h>

#include "cli/output.h"

/* One piece of a template. */
enum piece { PIECE_END, PIECE_CHAR, PIECE_NAME, PIECE_WRONG };

/* Reads the next piece: a byte, or the name within braces (*at moves over it). */
static enum piece next(const char **at, char *c, const char **name, size_t *n)
{
    const char *p = *at;

    if (!*p)
        return PIECE_END;
    *c = *p;
    if ((*p == '{' || *p == '}') && p[1] == *p) {
        *at = p + 2;
        return PIECE_CHAR;
    }
    if (*p == '{') {
        *name = p + 1;
        *n = strcspn(*name, "{}");
        *at = *name + *n + 1;
        return *n && (*name)[*n] == '}' ? PIECE_NAME : PIECE_WRONG;
    }
    if (*p == '}')
        return PIECE_WRONG;
    if (*p == '\\' && (p[1] == 'n' || p[1] == 't' || p[1] == '\\')) {
        *c = p[1] == 'n' ? '\n' : p[1] == 't' ? '\t' : '\\';
        p++;
    }
    *at = p + 1;
    return PIECE_CHAR;
}

int template_check(const char *text, struct err *err)
{
    const char *at = text, *name;
    enum piece piece;
    size_t n;
    char c;

    while ((piece = next(&at, &c, &name, &n)) != PIECE_END)
        if (piece == PIECE_WRONG)
            return err_set(err, -EINVAL,
                           "template=%s: want {NAME}, or {{ and }} for braces themselves", text);
    return 0;
}

void template_fill(const char *text, const json_t *item, struct str *out)
{
    const char *name;
    enum piece piece;
    size_t n;
    char c;

    while ((piece = next(&text, &c, &name, &n)) == PIECE_CHAR || piece == PIECE_NAME) {
        CLEANUP(freep) char *path = NULL;

        if (piece == PIECE_CHAR) {
            str_add_char(out, c);
            continue;
        }
        path = mem_copy(name, n);
        for (char *dot = path; (dot = strchr(dot, '.'));)
            *dot = '/';
        output_text(item, path, out);
    }
}
