#include "server/serving.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "berth/engine.h"

static const char job[] = "{\"name\":\"a\",\"image\":\"oci:/i\",\"resources\":{\"cpu\":1}}";

TEST(a_server_starts_answers_and_leaves_nothing)
{
    size_t n_fds = test_count_fds();
    struct serving s;

    serving_start(&s);
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /healthz", "", NULL);
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /readyz", "", NULL);
    SERVING_EXPECT_AS(&s, NULL, 200, "GET /v1/version", "", NULL);
    CHECK_TEXT(serving_get(&s, "api.0"), "v1");
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "", job);
    CHECK_TEXT(serving_get(&s, "state"), "pending");
    serving_stop(&s);
    CHECK_EQ(test_count_fds(), n_fds);
}

TEST(a_ledger_on_disk_is_there_again)
{
    struct err err = { 0 };
    struct serving s, again;
    char id[64], token[80], incarnation[80];
    CLEANUP(freep) char *store = NULL, *show = NULL;
    char dir[] = "/tmp/berth-server-XXXXXX";

    CHECK(mkdtemp(dir) != NULL);
    store = text_format("sqlite:%s/ledger.db", dir);
    serving_start_with(&s, (struct server_options){ .store = store });
    SERVING_EXPECT(&s, 201, "POST /v1/jobs", "", job);
    snprintf(id, sizeof(id), "%s", serving_get(&s, "id"));
    snprintf(token, sizeof(token), "%s", s.token);
    SERVING_EXPECT(&s, 200, "GET /v1/version", "", NULL);
    snprintf(incarnation, sizeof(incarnation), "%s", serving_get(&s, "incarnation"));
    serving_stop(&s);

    /* The ledger knows an admin, so that no other token is made: it has no file here. */
    serving_restart(&again, (struct server_options){ .store = store });
    show = text_format("GET /v1/jobs/%s", id);
    /* 503 until the tokens are read. */
    while (serving_ask_as(&again, token, show, "", NULL) == 503)
        ;
    SERVING_EXPECT_AS(&again, token, 200, show, "", NULL);
    CHECK_TEXT(serving_get(&again, "name"), "a");
    SERVING_EXPECT_AS(&again, NULL, 200, "GET /v1/version", "", NULL);
    CHECK_TEXT(serving_get(&again, "incarnation"), incarnation);
    serving_stop(&again);
    CHECK_OK(file_remove_tree(AT_FDCWD, dir, &err), &err);
}

/* The point of its ledger that a server's last answer names. */
static char *point_of(const struct serving *s)
{
    char incarnation[256], opening[256], revision[256];

    CHECK(test_header(&s->answer, "Berth-Incarnation", incarnation));
    CHECK(test_header(&s->answer, "Berth-Opening", opening));
    CHECK(test_header(&s->answer, "Berth-Revision", revision));
    return text_format("Berth-Seen: %s %s\r\nBerth-Incarnation: %s\r\n", opening, revision,
                       incarnation);
}

/* A copy is as good as a backup: the server that wrote it has stopped. */
static void copy_file(const char *from, const char *to)
{
    CLEANUP(str_fini) struct str bytes = { 0 };
    struct err err = { 0 };

    CHECK_OK(file_read(AT_FDCWD, from, 64 << 20, &bytes, &err), &err);
    CHECK_OK(file_write(AT_FDCWD, to, bytes.data, bytes.len, 0600, false, &err), &err);
}

static const struct {
    const char *name;
    bool is_restored; /* with the flag, or just put back */
} backups[] = { { "put back", false }, { "another life", true } };

TEST(who_follows_a_ledger_is_never_answered_by_what_was_put_back_in_its_place)
{
    ROW_EACH (c, backups) {
        char dir[] = "/tmp/berth-server-XXXXXX", until[256], value[256];
        CLEANUP(freep) char *path = NULL, *backup = NULL, *store = NULL;
        CLEANUP(freep) char *kept = NULL, *lost = NULL;
        struct server_options options = { 0 };
        struct err err = { 0 };
        struct serving s;
        char token[80];

        CHECK(mkdtemp(dir) != NULL);
        path = text_format("%s/ledger.db", dir);
        backup = text_format("%s/backup.db", dir);
        options.store = store = text_format("sqlite:%s", path);
        serving_start_with(&s, options);
        snprintf(token, sizeof(token), "%s", s.token);
        SERVING_EXPECT(&s, 201, "POST /v1/jobs", "", job);
        kept = point_of(&s);
        serving_stop(&s);
        copy_file(path, backup);
        serving_restart(&s, options);
        while (serving_ask_as(&s, token, "GET /v1/jobs", kept, NULL) == 503)
            ;
        CHECK_EQ(s.answer.status, 200);
        CHECK(test_header(&s.answer, "Berth-Revision", until));
        SERVING_EXPECT_AS(&s, token, 201, "POST /v1/jobs", "", job);
        lost = point_of(&s);
        SERVING_EXPECT_AS(&s, token, 200, "GET /v1/jobs", lost, NULL);
        serving_stop(&s);

        copy_file(backup, path);
        if (c->is_restored)
            CHECK_OK(server_restored(&options, &err), &err);
        serving_restart(&s, options);
        while (serving_ask_as(&s, token, "GET /v1/jobs", kept, NULL) == 503)
            ;
        CHECK_EQ(s.answer.status, 200);
        SERVING_EXPECT_AS(&s, token, 409, "GET /v1/events", lost, NULL);
        CHECK_TEXT(serving_get(&s, "code"), "LEDGER_FORKED");
        /* What is to be changed there is not what was seen. */
        SERVING_EXPECT_AS(&s, token, 409, "POST /v1/jobs", lost, job);
        CHECK_EQ(test_header(&s.answer, "Berth-Revision", value), c->is_restored);
        if (c->is_restored) /* else its opening is not known there: it began after the copy */
            CHECK(strtol(value, NULL, 10) > 0 && strtol(value, NULL, 10) < strtol(until, NULL, 10));
        SERVING_EXPECT_AS(&s, token, 400, "GET /v1/jobs", "Berth-Seen: x\r\n", NULL);
        SERVING_EXPECT_AS(&s, token, 200, "GET /v1/jobs", "", NULL);
        serving_stop(&s);
        CHECK_OK(file_remove_tree(AT_FDCWD, dir, &err), &err);
    }
}

/* Serves from a store that fails at its n-th call, submits, and ends; whether it took the job. */
static bool serve_faulty(int n)
{
    CLEANUP(freep) char *store = text_format("faulty:%d:memory:", n), *token_path = NULL;
    char dir[] = "/tmp/berth-server-XXXXXX", value[256];
    struct server_options options = { .data = dir, .listen = "127.0.0.1:0", .store = store };
    struct serving s = { .fd = -1 };
    struct err err = { 0 }, ignored = { 0 };
    bool is_taken = false;

    CHECK(mkdtemp(dir) != NULL);
    if (server_open(&options, &s.server, &err) == 0) {
        token_path = text_copy(server_token_path(s.server));
        serving_read_token(token_path, s.token);
        CHECK_EQ(pthread_create(&s.thread, NULL, serving_run, s.server), 0);
        s.fd = test_dial((uint16_t)strtoul(strrchr(server_address(s.server), ':') + 1, NULL, 10));
        is_taken = serving_ask(&s, "POST /v1/jobs", "", job) == 201;
        if (!is_taken) {
            CHECK_EQ(s.answer.status, 503);
            CHECK(test_header(&s.answer, "Retry-After", value));
            CHECK_TEXT(serving_get(&s, "code"), "STORE_UNAVAILABLE");
        }
        server_stop(s.server);
        pthread_join(s.thread, NULL);
        server_close(s.server);
        close(s.fd);
        test_answer_fini(&s.answer);
    } else {
        CHECK(err.text[0] != '\0');
    }
    CHECK_OK(file_remove_tree(AT_FDCWD, dir, &ignored), &ignored);
    return is_taken;
}

TEST(a_store_that_fails_is_told_and_nothing_is_left)
{
    size_t n_fds = test_count_fds();
    int n_taken = 0;

    for (int n = 1; n < 200 && n_taken < 5; n++)
        n_taken = serve_faulty(n) ? n_taken + 1 : 0;
    CHECK_EQ(n_taken, 5); /* it fails later than anything here comes to */
    CHECK_EQ(test_count_fds(), n_fds);
}

TEST(what_cannot_be_opened_says_why)
{
    char dir[] = "/tmp/berth-server-XXXXXX";
    CLEANUP(freep) char *data = NULL;
    struct server_options options = { .store = "memory:" };
    struct server *server;
    struct serving s;
    struct err err = { 0 }, ignored = { 0 };

    CHECK(mkdtemp(dir) != NULL);
    options.data = data = text_format("%s/data", dir);
    serving_start(&s);
    options.listen = server_address(s.server);
    CHECK_EQ(server_open(&options, &server, &err), -EADDRINUSE);
    CHECK(strstr(err.text, options.listen) != NULL);
    CHECK(access(data, F_OK) < 0); /* nothing is left of it */
    options.listen = "nowhere";
    err = (struct err){ 0 };
    CHECK_EQ(server_open(&options, &server, &err), -EINVAL);
    options = (struct server_options){ .listen = "127.0.0.1:0" };
    err = (struct err){ 0 };
    CHECK_EQ(server_open(&options, &server, &err), -EINVAL);
    CHECK(strstr(err.text, "data") != NULL);
    serving_stop(&s);
    CHECK_OK(file_remove_tree(AT_FDCWD, dir, &ignored), &ignored);
}
