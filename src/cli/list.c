/*
 * Lists and shows that are nothing but a path and columns. See verb.h.
 */
#include "cli/verb.h"

int cli_list(struct cli *cli, const struct args *args, const char *path,
             const struct listing *listing)
{
    CLEANUP(json_decrefp) json_t *all = NULL;
    CLEANUP(freep) char *cursor = text_copy("");
    struct output output;
    struct err err = { 0 };
    int r = cli_need_client(cli, args);

    if (r != 0)
        return r;
    if (output_from_args(args, cli->settings.values[SETTING_OUTPUT], &output, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    while (cursor) {
        CLEANUP(json_decrefp) json_t *page = NULL;
        CLEANUP(str_fini) struct str paged = { 0 };

        str_add(&paged, path);
        if (cursor[0]) {
            str_add(&paged, "?cursor=");
            client_escape(cursor, &paged);
        }
        r = cli_get(cli, paged.data, &page);
        if (r != 0)
            return r;
        mem_free(cursor);
        cursor = text_copy(json_string_value(json_object_get(page, "next")));
        if (!all)
            all = json_incref(page);
        else
            json_array_extend(json_object_get(all, "items"), json_object_get(page, "items"));
    }
    if (output_list(&output, listing, all, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    return EXIT_DONE;
}

int cli_show(struct cli *cli, const struct args *args, const char *prefix,
             const struct listing *listing)
{
    struct output output;
    struct err err = { 0 };
    int r = cli_need_client(cli, args);

    if (r != 0)
        return r;
    if (output_from_args(args, cli->settings.values[SETTING_OUTPUT], &output, &err) < 0)
        return cli_fail_usage(cli, "%s", err.text);
    if (output.format == OUTPUT_TABLE)
        output.format = OUTPUT_WIDE; /* one thing has the room */
    for (size_t i = 0; i < args->rest.n; i++) {
        CLEANUP(json_decrefp) json_t *item = NULL;
        CLEANUP(str_fini) struct str path = { 0 };

        str_add(&path, prefix);
        client_escape(args->rest.at[i], &path);
        r = cli_get(cli, path.data, &item);
        if (r != 0)
            return r;
        if (i && output_is_table(&output))
            fputc('\n', output.to);
        if (output_item(&output, listing, item, &err) < 0)
            return cli_fail_usage(cli, "%s", err.text);
    }
    return EXIT_DONE;
}

int cli_delete_each(struct cli *cli, const struct args *args, const char *prefix)
{
    int r = cli_need_client(cli, args);

    for (size_t i = 0; r == 0 && i < args->rest.n; i++) {
        CLEANUP(str_fini) struct str path = { 0 };

        str_add(&path, prefix);
        client_escape(args->rest.at[i], &path);
        r = cli_call(cli, &(struct client_request){ .method = "DELETE", .path = path.data }, NULL,
                     NULL);
        if (r == 0)
            printf("%s  deleted\n", args->rest.at[i]);
    }
    return r;
}
