#include "base/test.h"

#include <string.h>

#include "base/http_head.h"

/* What the parser makes of some bytes, cut in two at `cut` (0: byte by byte), as a text. */
static void trace(const char *bytes, size_t n, size_t cut, struct str *out)
{
    struct http_head head;
    bool was_data = false;
    size_t at = 0;

    http_head_init(&head, 512, 64);
    while (at < n) {
        size_t end = cut == 0 ? at + 1 : at < cut ? cut : n, used, n_data;
        const char *data;
        enum http_step step;

        end = end < n ? end : n;
        do {
            /* A copy of its own size, so that the sanitizer sees each byte read too far. */
            CLEANUP(freep) char *piece = malloc(end - at ? end - at : 1);
            memcpy(piece, bytes + at, end - at);
            step = http_head_read(&head, piece, end - at, &used, &data, &n_data);
            at += used;
            if (step == HTTP_STEP_DATA)
                str_add(out, was_data ? "" : " data:");
            str_add_bytes(out, data, n_data);
            was_data |= step == HTTP_STEP_DATA;
            if (step == HTTP_STEP_HEAD) {
                str_addf(out, "%s %s", head.text.data + head.method, head.text.data + head.target);
                for (size_t i = 0; i < head.fields.n; i++)
                    str_addf(out, " %s=%s", head.text.data + head.fields.at[i].name,
                             head.text.data + head.fields.at[i].value);
                str_add(out, head.is_keep_alive ? "" : " last");
            }
            if (step == HTTP_STEP_DONE) {
                str_add(out, ".\n");
                http_head_again(&head);
                was_data = false;
            }
            if (step == HTTP_STEP_REFUSED) {
                str_addf(out, " %d", head.status);
                at = n;
            }
        } while (step != HTTP_STEP_MORE && step != HTTP_STEP_REFUSED);
    }
    http_head_fini(&head);
}

#define H "Host: a\r\n"
static const struct {
    const char *name, *bytes, *result;
    size_t n; /* of bytes, where they hold a NUL */
} rows[] = {
    { "a plain request", "GET /v1/jobs?a=b HTTP/1.1\r\n" H "\r\n", "GET /v1/jobs?a=b Host=a.\n",
      0 },
    { "two in a row", "GET /a HTTP/1.1\r\n" H "\r\nGET /b HTTP/1.1\r\n" H "\r\n",
      "GET /a Host=a.\nGET /b Host=a.\n", 0 },
    { "a body by length", "POST /a HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello",
      "POST /a Host=a Content-Length=5 data:hello.\n", 0 },
    { "a body and one behind it",
      "POST /a HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\n" H "\r\n",
      "POST /a Host=a Content-Length=2 data:hi.\nGET /b Host=a.\n", 0 },
    { "an empty body", "POST /a HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n",
      "POST /a Host=a Content-Length=0.\n", 0 },
    { "chunks",
      "POST /a HTTP/1.1\r\n" H
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n",
      "POST /a Host=a Transfer-Encoding=chunked data:abc0123456789.\n", 0 },
    { "chunks and one behind them",
      "POST /a HTTP/1.1\r\n" H
      "Transfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" H "\r\n",
      "POST /a Host=a Transfer-Encoding=Chunked data:x.\nGET /b Host=a.\n", 0 },
    { "blanks around a value", "GET / HTTP/1.1\r\nHost: \t a \t\r\nX:\r\n\r\n",
      "GET / Host=a X=.\n", 0 },
    { "1.0 closes", "GET / HTTP/1.0\r\n\r\n", "GET / last.\n", 0 },
    { "1.0 kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      "GET / Connection=keep-alive.\n", 0 },
    { "1.1 closed among others", "GET / HTTP/1.1\r\n" H "Connection: x, Close\r\n\r\n",
      "GET / Host=a Connection=x, Close last.\n", 0 },

    /* Each of these hides or bends a request. */
    { "length beside encoding",
      "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", " 400",
      0 },
    { "encoding beside length",
      "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", " 400",
      0 },
    { "length twice, different",
      "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", " 400", 0 },
    { "length twice, alike",
      "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\ncontent-length: 3\r\n\r\n", " 400", 0 },
    { "length as a list", "POST / HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\n", " 400", 0 },
    { "length with a sign", "POST / HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\n", " 400", 0 },
    { "length in hexadecimal", "POST / HTTP/1.1\r\n" H "Content-Length: 0x3\r\n\r\n", " 400", 0 },
    { "length below 0", "POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", " 400", 0 },
    { "length empty", "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", " 400", 0 },
    { "length that overflows",
      "POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551621\r\n\r\n", " 413", 0 },
    { "length above the limit", "POST / HTTP/1.1\r\n" H "Content-Length: 65\r\n\r\n", " 413", 0 },
    { "encoding twice",
      "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      " 400", 0 },
    { "encoding unknown", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", " 501",
      0 },
    { "encoding in a list", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n",
      " 501", 0 },
    { "encoding with a tail", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked;q=1\r\n\r\n",
      " 501", 0 },
    { "encoding behind a vertical tab",
      "POST / HTTP/1.1\r\n" H "Transfer-Encoding: \vchunked\r\n\r\n", " 400", 0 },
    { "encoding in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", " 400", 0 },
    { "a blank before the colon", "POST / HTTP/1.1\r\n" H "Content-Length : 3\r\n\r\n", " 400", 0 },
    { "a tab before the colon", "POST / HTTP/1.1\r\n" H "Transfer-Encoding\t: chunked\r\n\r\n",
      " 400", 0 },
    { "a folded line", "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", " 400", 0 },
    { "a folded first header", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", " 400", 0 },
    { "no colon", "GET / HTTP/1.1\r\n" H "nonsense\r\n\r\n", " 400", 0 },
    { "no name", "GET / HTTP/1.1\r\n" H ": x\r\n\r\n", " 400", 0 },
    { "a bare LF", "GET / HTTP/1.1\n" H "\r\n", " 400", 0 },
    { "a bare LF in the middle", "GET / HTTP/1.1\r\n" H "X: a\nContent-Length: 3\r\n\r\n", " 400",
      0 },
    { "a bare CR", "GET / HTTP/1.1\r\n" H "X: a\rContent-Length: 3\r\n\r\n", " 400", 0 },
    { "CR CR LF", "GET / HTTP/1.1\r\r\n" H "\r\n", " 400", 0 },
    { "a NUL in a value", "GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n", " 400", 34 },
    { "a NUL in the path", "GET /a\0b HTTP/1.1\r\n" H "\r\n", " 400", 30 },
    { "no Host", "GET / HTTP/1.1\r\n\r\n", " 400", 0 },
    { "Host twice", "GET / HTTP/1.1\r\n" H H "\r\n", " 400", 0 },
    { "two hosts in one", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", " 400", 0 },
    { "an empty first line", "\r\nGET / HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "two blanks", "GET  / HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a blank in the path", "GET /a b HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a tab for a blank", "GET\t/ HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a blank behind the version", "GET / HTTP/1.1 \r\n" H "\r\n", " 400", 0 },
    { "no version", "GET /\r\n" H "\r\n", " 400", 0 },
    { "a version in small letters", "GET / http/1.1\r\n" H "\r\n", " 400", 0 },
    { "version 2", "GET / HTTP/2.0\r\n" H "\r\n", " 505", 0 },
    { "version 1.2", "GET / HTTP/1.2\r\n" H "\r\n", " 505", 0 },
    { "the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", " 400", 0 },
    { "a whole URL", "GET http://a/ HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a star", "OPTIONS * HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a fragment", "GET /a#b HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a byte beyond ASCII in the path", "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a method that is no word", "G(T / HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "a method without end", "GETGETGETGETGETGET / HTTP/1.1\r\n" H "\r\n", " 400", 0 },
    { "another Expect", "POST / HTTP/1.1\r\n" H "Expect: wonders\r\n\r\n", " 400", 0 },
#define CHUNKED      "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_HEAD "POST / Host=a Transfer-Encoding=chunked"
    { "a chunk without size", CHUNKED "\r\nabc", CHUNKED_HEAD " 400", 0 },
    { "a chunk's size with a blank", CHUNKED "3 \r\nabc\r\n", CHUNKED_HEAD " 400", 0 },
    { "a chunk's size with a sign", CHUNKED "+3\r\nabc\r\n", CHUNKED_HEAD " 400", 0 },
    { "a chunk's size with 0x", CHUNKED "0x3\r\nabc\r\n", CHUNKED_HEAD " 400", 0 },
    { "a chunk with an extension", CHUNKED "3;a=b\r\nabc\r\n", CHUNKED_HEAD " 400", 0 },
    { "a chunk's size without CR", CHUNKED "3\nabc\r\n", CHUNKED_HEAD " 400", 0 },
    { "a chunk longer than said", CHUNKED "2\r\nabc\r\n", CHUNKED_HEAD " data:ab 400", 0 },
    { "a chunk that ends in LF", CHUNKED "3\r\nabc\n", CHUNKED_HEAD " data:abc 400", 0 },
    { "a chunk's size that overflows", CHUNKED "10000000000000003\r\nabc", CHUNKED_HEAD " 413", 0 },
    { "chunks above the limit", CHUNKED "41\r\n", CHUNKED_HEAD " 413", 0 },
    { "a trailer", CHUNKED "0\r\nX: y\r\n\r\n", CHUNKED_HEAD " 400", 0 },
    { "a last chunk that ends in LF", CHUNKED "0\r\n\n", CHUNKED_HEAD " 400", 0 },
};

TEST(requests_are_read_alike_however_they_are_cut)
{
    ROW_EACH (c, rows) {
        size_t n = c->n ? c->n : strlen(c->bytes);

        for (size_t cut = 0; cut <= n; cut++) {
            CLEANUP(str_fini) struct str out = { 0 };
            trace(c->bytes, n, cut, &out);
            CHECK_TEXT(str_text(&out), c->result);
        }
    }
}

static int status_of(const char *bytes, size_t n)
{
    struct http_head head;
    const char *data;
    size_t used, n_data;
    int status;

    http_head_init(&head, 512, 64);
    CHECK_EQ(http_head_read(&head, bytes, n, &used, &data, &n_data), HTTP_STEP_REFUSED);
    status = head.status;
    http_head_fini(&head);
    return status;
}

TEST(a_head_has_limits)
{
    CLEANUP(str_fini) struct str long_line = { 0 }, many = { 0 };

    str_add(&long_line, "GET /");
    while (long_line.len < 600)
        str_add_char(&long_line, 'a');
    CHECK_EQ(status_of(long_line.data, long_line.len), 431);
    str_add(&many, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 200; i++)
        str_add(&many, "a:\r\n");
    CHECK_EQ(http_head_is_begun(&(struct http_head){ 0 }), false);
    /* Each step ends at a line, so the limit is found when the lines are read on. */
    struct http_head head;
    size_t at = 0, used, n_data;
    const char *data;
    http_head_init(&head, 16 << 10, 0);
    while (at < many.len && http_head_read(&head, many.data + at, many.len - at, &used, &data,
                                           &n_data) != HTTP_STEP_REFUSED)
        at += used;
    CHECK_EQ(head.status, 431);
    CHECK(http_head_is_begun(&head));
    http_head_fini(&head);
}
