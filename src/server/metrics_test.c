#include "server/serving.h"

#include <sys/wait.h>

/* The page of docs/metrics.md, found from this file. */
static void read_page(struct str *out)
{
    CLEANUP(freep) char *path = text_copy(__FILE__);
    CLEANUP(freep) char *page = NULL;
    struct err err = { 0 };

    *strstr(path, "src/server/") = '\0';
    page = text_format("%sdocs/metrics.md", path);
    CHECK_OK(file_read(AT_FDCWD, page, 1 << 20, out, &err), &err);
}

static void ask(struct serving *s)
{
    serving_start(s);
    SERVING_EXPECT(s, 404, "GET /v1/jobs/j-999", "", NULL);
    SERVING_EXPECT_AS(s, NULL, 200, "GET /metrics", "", NULL);
}

/* The next line of a text, cut at its end; NULL behind the last. */
static char *next_line(char **at)
{
    char *line = *at, *end = line ? strchr(line, '\n') : NULL;

    if (!line || !*line)
        return NULL;
    if (end)
        *end = '\0';
    *at = end ? end + 1 : NULL;
    return line;
}

TEST(each_metric_is_described_in_the_page_and_the_other_way_round)
{
    CLEANUP(str_fini) struct str page = { 0 }, wanted = { 0 }, found = { 0 };
    struct serving s;
    char *at, *line;

    read_page(&page);
    ask(&s);
    at = s.answer.body.data;
    while ((line = next_line(&at))) {
        char name[100] = "", type[20] = "";

        if (sscanf(line, "# TYPE %99s %19s", name, type) == 2)
            str_addf(&wanted, "| `%s` | %s |\n", name, type);
    }
    /* The page's rows in its order, without what they say for people. */
    at = page.data;
    while ((line = next_line(&at))) {
        char name[100] = "", type[20] = "";

        if (sscanf(line, "| `%99[a-z_]` | %19[a-z] |", name, type) == 2)
            str_addf(&found, "| `%s` | %s |\n", name, type);
    }
    CHECK_TEXT(str_text(&found), str_text(&wanted));
    serving_stop(&s);
}

TEST(requests_are_counted_by_status)
{
    struct serving s;

    ask(&s);
    CHECK(strstr(s.answer.body.data, "berth_http_requests_total{status=\"4xx\"} 1\n"));
    CHECK(strstr(s.answer.body.data, "berth_http_request_duration_seconds_count 1\n"));
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /metrics", "", NULL);
    CHECK(strstr(s.answer.body.data, "berth_http_requests_total{status=\"2xx\"} 1\n"));
    serving_stop(&s);
}

TEST(prometheus_own_checker_likes_it)
{
    struct serving s;
    CLEANUP(freep) char *path = NULL;
    CLEANUP(freep) char *command = NULL;
    struct err err = { 0 };
    int status;

    if (system("command -v promtool >/dev/null 2>&1") != 0)
        test_skip("promtool is not installed");
    ask(&s);
    path = text_format("%s/metrics", s.dir);
    CHECK_OK(file_write(AT_FDCWD, path, s.answer.body.data, s.answer.body.len, 0600, false, &err),
             &err);
    command = text_format("promtool check metrics < %s", path);
    status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    serving_stop(&s);
}
