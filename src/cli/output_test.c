#include "cli/output.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

static void color_of(const json_t *item, const struct output *output, struct str *out)
{
    output_text(item, "color", out);
    if (output->is_absolute)
        str_add(out, "!");
}

static void since(const json_t *item, const struct output *output, struct str *out)
{
    output_age(item, "since", output, out);
}

static const struct column columns[] = {
    { "NAME", "name", NULL, 0 },
    { "SIZE", "box/size", NULL, COLUMN_RIGHT },
    { "COLOR", NULL, color_of, COLUMN_WIDE },
    { "STATE", "state", NULL, COLUMN_STATE },
    { "AGE", NULL, since, 0 },
};
static const struct listing listing = { columns, COUNT_OF(columns), "id", "name" };

static const char items[] =
    "{\"items\":["
    "{\"id\":\"x-1\",\"name\":\"a\",\"box\":{\"size\":5},\"color\":\"red\",\"state\":\"ready\","
    "\"since\":\"2026-09-14T10:00:00.000Z\"},"
    "{\"id\":\"x-2\",\"name\":\"m\xc3\xbcller\",\"box\":{\"size\":1200},\"state\":\"gone\\nby\"}],"
    "\"revision\":7}";

static const struct {
    const char *name;
    struct output output;
    const char *text;
} rows[] = {
    { "a table",
      { .format = OUTPUT_TABLE, .has_head = true },
      "NAME    SIZE  STATE    AGE\n"
      "a          5  ready    14m02s\n"
      "m\xc3\xbcller  1200  gone by  -\n" },
    { "without heads",
      { .format = OUTPUT_TABLE },
      "a          5  ready    14m02s\n"
      "m\xc3\xbcller  1200  gone by  -\n" },
    { "wide has more behind",
      { .format = OUTPUT_WIDE, .has_head = true },
      "NAME    SIZE  STATE    AGE     COLOR\n"
      "a          5  ready    14m02s  red\n"
      "m\xc3\xbcller  1200  gone by  -       -\n" },
    { "columns by name",
      { .format = OUTPUT_COLS, .cols = "state,Name", .has_head = true },
      "STATE    NAME\n"
      "ready    a\n"
      "gone by  m\xc3\xbcller\n" },
    { "times as they are",
      { .format = OUTPUT_COLS, .cols = "AGE,COLOR", .is_absolute = true },
      "2026-09-14T10:00:00.000Z  red!\n"
      "-                         !\n" },
    { "cut on a terminal",
      { .format = OUTPUT_COLS, .cols = "SIZE,AGE", .is_absolute = true, .width = 16 },
      "   5  2026-09-1\xe2\x80\xa6\n"
      "1200  -\n" },
    { "ids", { .format = OUTPUT_ID }, "x-1\nx-2\n" },
    { "names", { .format = OUTPUT_NAME }, "a\nm\xc3\xbcller\n" },
    { "an object a line",
      { .format = OUTPUT_JSONL },
      "{\"id\":\"x-1\",\"name\":\"a\",\"box\":{\"size\":5},\"color\":\"red\",\"state\":\"ready\","
      "\"since\":\"2026-09-14T10:00:00.000Z\"}\n"
      "{\"id\":\"x-2\",\"name\":\"m\xc3\xbcller\",\"box\":{\"size\":1200},\"state\":\"gone\\nby\"}"
      "\n" },
};

/* What a list prints; *error takes the reason of a failure. Yours. */
static char *print(const struct output *form, const char *document, int *r, struct err *err)
{
    struct output output = *form;
    json_t *list = json_loads(document, 0, NULL);
    char *text = NULL;
    size_t n;

    output.to = open_memstream(&text, &n);
    output.now_ms = 1789380842000; /* 2026-09-14T10:14:02Z */
    *r = output_list(&output, &listing, list, err);
    fclose(output.to);
    json_decref(list);
    return text;
}

TEST(output_list_in_every_form)
{
    ROW_EACH (c, rows) {
        struct err err = { 0 };
        int r;
        CLEANUP(freep) char *text = print(&c->output, items, &r, &err);

        CHECK_TEXT(err.text, "");
        CHECK_TEXT(text, c->text);
    }
}

TEST(output_json_is_what_the_api_said)
{
    struct output output = { .format = OUTPUT_JSON };
    struct err err = { 0 };
    int r;
    CLEANUP(freep) char *text = print(&output, items, &r, &err);
    json_t *printed = json_loads(text, 0, NULL), *list = json_loads(items, 0, NULL);

    CHECK(json_equal(printed, list));
    json_decref(printed);
    json_decref(list);
}

TEST(output_without_rows_has_heads)
{
    struct output output = { .format = OUTPUT_TABLE, .has_head = true };
    struct err err = { 0 };
    int r;
    CLEANUP(freep) char *text = print(&output, "{\"items\":[]}", &r, &err);

    CHECK_TEXT(text, "NAME  SIZE  STATE  AGE\n");
}

static const struct {
    const char *name, *template, *text;
} templates[] = {
    { "its line ends by itself", "{name} {id}", "a x-1\nm\xc3\xbcller x-2\n" },
    { "or by the template", "{id}\\n", "x-1\nx-2\n" },
    { "a line of its own between", "{id}\\n\\n", "x-1\n\nx-2\n\n" },
    { "nothing is a line too", "{gone}", "\n\n" },
};

TEST(output_of_a_template_ends_each_item_s_line_once)
{
    ROW_EACH (c, templates) {
        struct output output = { .format = OUTPUT_TEMPLATE, .cols = c->template };
        struct err err = { 0 };
        int r;
        CLEANUP(freep) char *text = print(&output, items, &r, &err);

        CHECK_EQ(r, 0);
        CHECK_TEXT(text, c->text);
    }
}

TEST(output_of_an_unknown_column_names_the_nearest_or_all)
{
    struct output output = { .format = OUTPUT_COLS, .cols = "NAME,STAT" };
    struct err err = { 0 };
    int r;
    CLEANUP(freep) char *text = print(&output, items, &r, &err);
    CLEANUP(freep) char *far = NULL;

    CHECK_EQ(r, -EINVAL);
    CHECK_TEXT(err.text, "no column 'STAT'; did you mean STATE?");
    CHECK_TEXT(text, "");
    err = (struct err){ 0 };
    output.cols = "ZZZZZZ";
    far = print(&output, items, &r, &err);
    CHECK_EQ(r, -EINVAL);
    CHECK_TEXT(err.text, "no column 'ZZZZZZ'; there are NAME SIZE COLOR STATE AGE");
}

TEST(output_colours_only_when_told)
{
    struct output output = { .format = OUTPUT_TABLE, .has_color = true };
    struct err err = { 0 };
    int r;
    CLEANUP(freep) char *with = print(&output, items, &r, &err);
    CLEANUP(freep)
    char *without = print(&(struct output){ .format = OUTPUT_TABLE }, items, &r, &err);

    CHECK(strstr(with, "\x1b[") != NULL);
    CHECK(strstr(without, "\x1b[") == NULL);
}

TEST(output_csv_has_columns_and_is_no_table_for_people)
{
    static const struct {
        const char *name;
        enum output_format format;
        bool is_table, has_columns, has_rows;
    } forms[] = {
        { "table", OUTPUT_TABLE, true, true, false }, { "wide", OUTPUT_WIDE, true, true, false },
        { "cols", OUTPUT_COLS, true, true, true },    { "csv", OUTPUT_CSV, false, true, true },
        { "json", OUTPUT_JSON, false, false, false }, { "id", OUTPUT_ID, false, false, false },
    };

    ROW_EACH (c, forms) {
        struct output output = { .format = c->format };

        CHECK_EQ(output_is_table(&output), c->is_table);
        CHECK_EQ(output_has_columns(&output), c->has_columns);
        CHECK_EQ(output_has_rows(&output), c->has_rows);
    }
}

TEST(output_item_leaves_out_what_is_not_there)
{
    struct output output = { .format = OUTPUT_WIDE };
    struct err err = { 0 };
    json_t *item = json_pack("{s:s,s:{s:i}}", "name", "a", "box", "size", 5);
    char *text = NULL;
    size_t n;

    output.to = open_memstream(&text, &n);
    CHECK_OK(output_item(&output, &listing, item, &err), &err);
    fclose(output.to);
    CHECK_TEXT(text, "NAME   a\nSIZE   5\n");
    json_decref(item);
    free(text);
}
