/* Output: see output.h. Tables are drawn by table.c, YAML by yaml.c. */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "cli/age.h"
#include "cli/table.h"
#include "cli/template.h"

static const struct cli_flag flags[] = {
    { "output", 'o', "FORMAT",
      "table, wide, json, jsonl, yaml, csv, name, id, cols=A,B or template=TEXT",
      "table|wide|json|jsonl|yaml|name|id|csv|cols=|template=", false },
    { "no-header", 0, NULL, "leave out the heads of tables", NULL, false },
    { "color", 0, "WHEN", "auto, always or never (also: NO_COLOR)", "auto|always|never", false },
};
static const struct cli_flag of_time[] = {
    { "time", 0, "FORM", "times as age or as rfc3339", "age|rfc3339", false },
};
const struct flag_set time_flags = { NULL, of_time, COUNT_OF(of_time) };
const struct flag_set output_flags = { "Flags of the output", flags, COUNT_OF(flags) };

static const char *const format_words[OUTPUT_FORMAT_COUNT] = {
    [OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide",
    [OUTPUT_JSON] = "json",   [OUTPUT_JSONL] = "jsonl",
    [OUTPUT_YAML] = "yaml",   [OUTPUT_NAME] = "name",
    [OUTPUT_ID] = "id",       [OUTPUT_CSV] = "csv",
    [OUTPUT_COLS] = "cols=",  [OUTPUT_TEMPLATE] = "template=",
};

static int find_format(const char *word, struct output *out, struct err *err)
{
    const char *meant;

    for (int i = 0; i < OUTPUT_FORMAT_COUNT; i++) {
        size_t n = strlen(format_words[i]);
        bool takes_more = format_words[i][n - 1] == '=';

        if (takes_more ? !text_begins(word, format_words[i]) : !text_eq(word, format_words[i]))
            continue;
        out->format = (enum output_format)i;
        out->cols = word + n;
        if (out->format == OUTPUT_CSV)
            out->is_absolute = true; /* ages are for people */
        return out->format == OUTPUT_TEMPLATE ? template_check(out->cols, err) : 0;
    }
    meant = nearest(word, format_words, OUTPUT_FORMAT_COUNT);
    if (meant)
        return err_set(err, -EINVAL, "unknown word '%s'; did you mean '%s'?", word, meant);
    return err_set(err, -EINVAL, "unknown word '%s', not one of %s", word, flags[0].words);
}

/* The width of a terminal on fd; 0 if it is none. */
static int terminal_width(int fd)
{
    struct winsize size;

    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int output_from_args(const struct args *args, const char *chosen, struct output *out,
                     struct err *err)
{
    const char *format = args_get(args, "output");
    const char *color = args_maybe(args, "color");
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");

    *out = (struct output){
        .has_head = !args_maybe(args, "no-header"),
        .is_absolute = text_eq(args_maybe(args, "time"), "rfc3339"),
        .width = terminal_width(STDOUT_FILENO),
        .now_ms = clock_wall_ms(&clock_system),
        .to = stdout,
    };
    if (color && !text_eq(color, "auto"))
        out->has_color = text_eq(color, "always");
    else
        out->has_color = out->width > 0 && !(no_color && no_color[0]) && !text_eq(term, "dumb");
    if (format)
        return find_format(format, out, err) < 0 ? err_wrap(err, "--output") : 0;
    return chosen ? find_format(chosen, out, err) : 0;
}

bool output_is_table(const struct output *output)
{
    return output->format == OUTPUT_TABLE || output->format == OUTPUT_WIDE ||
           output->format == OUTPUT_COLS;
}

bool output_has_columns(const struct output *output)
{
    return output_is_table(output) || output->format == OUTPUT_CSV;
}

bool output_has_rows(const struct output *output)
{
    return output->format == OUTPUT_COLS || output->format == OUTPUT_CSV;
}

bool output_has_names(const struct output *output)
{
    return output->format == OUTPUT_NAME || output->format == OUTPUT_ID;
}

json_t *output_at(const json_t *item, const char *path)
{
    CLEANUP(freep) char *text = text_copy(path);
    char *rest = NULL;

    for (char *part = strtok_r(text, "/", &rest); part && item; part = strtok_r(NULL, "/", &rest)) {
        if (json_is_array(item))
            item = json_array_get(item, strtoul(part, NULL, 10));
        else
            item = json_object_get(item, part);
    }
    return (json_t *)item;
}

static void add_text(const json_t *value, struct str *out)
{
    CLEANUP(freep) char *text = NULL;

    if (json_is_string(value)) {
        str_add_bytes(out, json_string_value(value), json_string_length(value));
    } else if (value && !json_is_null(value)) {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        str_add(out, text ? text : "");
    }
}

void output_text(const json_t *item, const char *path, struct str *out)
{
    add_text(output_at(item, path), out);
}

void output_age(const json_t *item, const char *path, const struct output *output, struct str *out)
{
    const char *text = json_string_value(output_at(item, path));
    int64_t at_ms;

    if (!text || !text[0])
        return;
    if (output->is_absolute || clock_parse_wall(text, &at_ms) < 0)
        str_add(out, text);
    else
        age_format(output->now_ms - at_ms, out);
}

static void print_json(const struct output *output, const json_t *value, size_t layout)
{
    json_dumpf(value, output->to, layout | JSON_ENCODE_ANY);
    fputc('\n', output->to);
}

static void print_yaml(const struct output *output, const json_t *value)
{
    CLEANUP(str_fini) struct str text = { 0 };

    yaml_format(value, &text);
    fputs(str_text(&text), output->to);
}

static void print_path(const struct output *output, const json_t *item, const char *path)
{
    CLEANUP(str_fini) struct str text = { 0 };

    output_text(item, path, &text);
    fprintf(output->to, "%s\n", str_text(&text));
}

static void print_template(const struct output *output, const json_t *item)
{
    CLEANUP(str_fini) struct str text = { 0 };

    template_fill(output->cols, item, &text);
    if (!text.len || text.data[text.len - 1] != '\n')
        str_add_char(&text, '\n');
    fwrite(text.data, 1, text.len, output->to);
}

/* One item in the forms that treat each by itself. */
static void print_each(const struct output *output, const struct listing *listing,
                       const json_t *item)
{
    if (output->format == OUTPUT_JSONL)
        print_json(output, item, JSON_COMPACT);
    else if (output->format == OUTPUT_TEMPLATE)
        print_template(output, item);
    else
        print_path(output, item, output->format == OUTPUT_ID ? listing->id : listing->name);
}

int output_list(const struct output *output, const struct listing *listing, const json_t *list,
                struct err *err)
{
    const json_t *items = json_is_array(list) ? list : json_object_get(list, "items");
    size_t i;
    json_t *item;

    if (output_has_columns(output))
        return table_print(output, listing, items, err);
    if (output->format == OUTPUT_JSON)
        print_json(output, list, JSON_INDENT(2));
    else if (output->format == OUTPUT_YAML)
        print_yaml(output, list);
    else
        json_array_foreach(items, i, item) print_each(output, listing, item);
    return 0;
}

int output_item(const struct output *output, const struct listing *listing, const json_t *item,
                struct err *err)
{
    if (output_has_columns(output))
        return table_print_item(output, listing, item, err);
    if (output->format == OUTPUT_JSON)
        print_json(output, item, JSON_INDENT(2));
    else if (output->format == OUTPUT_YAML)
        print_yaml(output, item);
    else
        print_each(output, listing, item);
    return 0;
}
