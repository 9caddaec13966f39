/* A token as the API shows it, never the token itself: docs/api.md, "Tokens". */
#include "server/show.h"

#include <stdio.h>

json_t *show_token(const struct row_token *row)
{
    json_t *object = json_object();
    char id[17];

    snprintf(id, sizeof(id), "%s", row->hash);
    show_text(object, "id", id);
    show_text(object, "name", row->name);
    show_text(object, "user", row->user);
    show_text(object, "namespace", row->ns);
    show_text(object, "rights", row->rights);
    show_time(object, "until", row->until);
    show_number(object, "revision", (int64_t)row->rev);
    return object;
}

json_t *show_who(const struct who *who)
{
    json_t *object = json_object();

    show_text(object, "name", who->name);
    show_text(object, "user", who->user);
    show_text(object, "namespace", who->ns);
    show_text(object, "rights", right_words[who->right]);
    show_time(object, "until", who->until);
    return object;
}
