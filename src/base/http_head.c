/* HTTP requests, read strictly: see http_head.h. One state a byte; whoever adds leniency here
 * opens a door for smuggling. */
#include "base/http_head.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum state {
    AT_LINE,     /* in a line of the head */
    AT_LINE_END, /* behind its CR */
    AT_BODY,     /* the head is whole: what comes depends on it */
    AT_SIZE,     /* in a chunk's size */
    AT_SIZE_END, /* behind its CR */
    AT_DATA,     /* in a body or chunk of known length */
    AT_DATA_CR,  /* behind a chunk */
    AT_DATA_END,
    AT_LAST_CR, /* behind the chunk of size 0: no trailers */
    AT_LAST_END,
    AT_END,
    AT_REFUSED,
};

enum { CHUNK_DIGITS_MAX = 8, LENGTH_DIGITS_MAX = 15 };

void http_head_init(struct http_head *head, size_t head_max_bytes, size_t body_max_bytes)
{
    *head =
        (struct http_head){ .head_max_bytes = head_max_bytes, .body_max_bytes = body_max_bytes };
}

void http_head_fini(struct http_head *head)
{
    str_fini(&head->text);
    VEC_FINI(&head->fields);
}

void http_head_again(struct http_head *head)
{
    struct http_head was = *head;

    http_head_init(head, was.head_max_bytes, was.body_max_bytes);
    head->text = was.text;
    head->fields.at = was.fields.at;
    head->fields.cap = was.fields.cap;
    str_clear(&head->text);
}

bool http_head_is_begun(const struct http_head *head)
{
    return head->state != AT_LINE || head->text.len > 0;
}

const char *http_head_field(const struct http_head *head, const char *name, size_t *at)
{
    for (; *at < head->fields.n; ++*at) {
        const struct http_field *field = &head->fields.at[*at];

        if (strcasecmp(head->text.data + field->name, name) == 0) {
            ++*at;
            return head->text.data + field->value;
        }
    }
    return NULL;
}

static enum http_step refuse(struct http_head *head, int status, const char *why)
{
    head->state = AT_REFUSED;
    head->status = status;
    head->why = why;
    return HTTP_STEP_REFUSED;
}

/* Letters of a method or a field's name: RFC 9110, 5.6.2. */
static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_all_tokens(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_token(text[i]))
            return false;
    return n > 0;
}

static bool is_target(const char *text)
{
    if (text[0] != '/')
        return false;
    for (; *text; text++)
        if (*text <= ' ' || *text > '~' || *text == '#')
            return false;
    return true;
}

/* METHOD SP TARGET SP VERSION, one blank each. */
static enum http_step read_first_line(struct http_head *head)
{
    char *line = head->text.data + head->line;
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

    if (!version)
        return refuse(head, 400, "the first line is not METHOD PATH HTTP/1.1");
    *target++ = '\0';
    *version++ = '\0';
    head->method = (uint32_t)(line - head->text.data);
    head->target = (uint32_t)(target - head->text.data);
    if (!is_all_tokens(line, strlen(line)) || strlen(line) > HTTP_HEAD_METHOD_MAX)
        return refuse(head, 400, "the method is not a word");
    if (!is_target(target))
        return refuse(head, 400, "the path does not begin with / or has bytes that need escapes");
    if (strlen(version) != 8 || memcmp(version, "HTTP/", 5) != 0 || version[6] != '.')
        return refuse(head, 400, "the first line does not end in HTTP/1.1");
    if (version[5] != '1' || (version[7] != '0' && version[7] != '1'))
        return refuse(head, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    head->minor = version[7] - '0';
    return HTTP_STEP_MORE;
}

static enum http_step read_length(struct http_head *head, const char *value)
{
    if (head->has_length)
        return refuse(head, 400, "Content-Length comes twice");
    head->has_length = true;
    if (!*value || strlen(value) > LENGTH_DIGITS_MAX)
        return refuse(head, *value ? 413 : 400, "Content-Length is empty or too large");
    for (const char *c = value; *c; c++) {
        if (*c < '0' || *c > '9')
            return refuse(head, 400, "Content-Length is not a plain number");
        head->body_bytes = head->body_bytes * 10 + (uint64_t)(*c - '0');
    }
    return HTTP_STEP_MORE;
}

static enum http_step read_encoding(struct http_head *head, const char *value)
{
    if (head->has_encoding)
        return refuse(head, 400, "Transfer-Encoding comes twice");
    head->has_encoding = true;
    if (strcasecmp(value, "chunked") != 0)
        return refuse(head, 501, "the only Transfer-Encoding known is chunked");
    head->is_chunked = true;
    return HTTP_STEP_MORE;
}

/* The words of a Connection field, split at commas. */
static void read_connection(struct http_head *head, const char *value)
{
    while (*value) {
        size_t skip = strspn(value, ", \t"), n = strcspn(value + skip, ", \t");

        value += skip;
        head->has_connection_close |= n == 5 && strncasecmp(value, "close", n) == 0;
        head->has_connection_keep |= n == 10 && strncasecmp(value, "keep-alive", n) == 0;
        value += n;
    }
}

static enum http_step read_meaning(struct http_head *head, const char *name, const char *value)
{
    if (strcasecmp(name, "content-length") == 0)
        return read_length(head, value);
    if (strcasecmp(name, "transfer-encoding") == 0)
        return read_encoding(head, value);
    if (strcasecmp(name, "connection") == 0)
        read_connection(head, value);
    if (strcasecmp(name, "expect") == 0) {
        if (strcasecmp(value, "100-continue") != 0)
            return refuse(head, 400, "the only Expect known is 100-continue");
        head->is_expecting_100 = true;
    }
    if (strcasecmp(name, "host") == 0) {
        if (head->has_host)
            return refuse(head, 400, "Host comes twice");
        head->has_host = true;
        if (strpbrk(value, " \t,/@"))
            return refuse(head, 400, "Host is not a host");
    }
    return HTTP_STEP_MORE;
}

static enum http_step read_field_line(struct http_head *head)
{
    char *name = head->text.data + head->line, *colon, *value, *end;

    if (*name == ' ' || *name == '\t')
        return refuse(head, 400, "a header line is folded");
    colon = strchr(name, ':');
    if (!colon)
        return refuse(head, 400, "a header line has no colon");
    if (!is_all_tokens(name, (size_t)(colon - name)))
        return refuse(head, 400, "a header's name is not a word directly before its colon");
    if (head->fields.n == HTTP_HEAD_FIELDS_MAX)
        return refuse(head, 431, "too many headers");
    *colon = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
    for (end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t');)
        *--end = '\0';
    *VEC_ADD(&head->fields) = (struct http_field){ (uint32_t)(name - head->text.data),
                                                   (uint32_t)(value - head->text.data) };
    return read_meaning(head, name, value);
}

static enum http_step finish_head(struct http_head *head)
{
    if (head->minor == 1 && !head->has_host)
        return refuse(head, 400, "there is no Host");
    if (head->has_encoding && head->has_length)
        return refuse(head, 400, "Content-Length and Transfer-Encoding come together");
    if (head->has_encoding && head->minor == 0)
        return refuse(head, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (head->body_bytes > head->body_max_bytes)
        return refuse(head, 413, "the body is larger than the limit");
    head->is_keep_alive =
        !head->has_connection_close && (head->minor == 1 || head->has_connection_keep);
    head->left = head->body_bytes;
    head->state = AT_BODY;
    return HTTP_STEP_HEAD;
}

/* A line is whole: text holds it from `line`, ended by the NUL added here. */
static enum http_step read_line(struct http_head *head)
{
    bool is_first = head->line == 0, is_empty;
    enum http_step step;

    is_empty = head->text.len == head->line;
    if (is_first && is_empty)
        return refuse(head, 400, "the first line is empty");
    if (is_empty)
        return finish_head(head);
    str_add_char(&head->text, '\0');
    step = is_first ? read_first_line(head) : read_field_line(head);
    head->line = head->text.len;
    return step;
}

/* Takes bytes of the head up to the end of a line at most. */
static enum http_step read_head(struct http_head *head, const char *bytes, size_t n, size_t *used)
{
    size_t i = 0;

    while (i < n && bytes[i] != '\r') {
        unsigned char c = (unsigned char)bytes[i++];

        if (c == '\n')
            return refuse(head, 400, "a line of the head ends in a bare LF");
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return refuse(head, 400, "the head has control bytes");
        if (++head->head_bytes > head->head_max_bytes)
            return refuse(head, 431, "the head is larger than the limit");
    }
    if (i > 0)
        str_add_bytes(&head->text, bytes, i);
    if (i < n) {
        i++;
        head->state = AT_LINE_END;
    }
    *used += i;
    return HTTP_STEP_MORE;
}

static enum http_step end_line(struct http_head *head, char c)
{
    if (c != '\n')
        return refuse(head, 400, "the head has a bare CR");
    head->head_bytes += 2;
    head->state = AT_LINE;
    return read_line(head);
}

static enum http_step read_size(struct http_head *head, char c)
{
    unsigned digit;

    if (c == '\r' && head->n_digits > 0) {
        head->state = AT_SIZE_END;
        return HTTP_STEP_MORE;
    }
    if (c >= '0' && c <= '9')
        digit = (unsigned)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        digit = (unsigned)((c | 0x20) - 'a' + 10);
    else
        return refuse(head, 400, "a chunk's size is not a plain hexadecimal number");
    if (++head->n_digits > CHUNK_DIGITS_MAX)
        return refuse(head, 413, "a chunk's size has too many digits");
    head->left = head->left * 16 + digit;
    return HTTP_STEP_MORE;
}

static enum http_step end_size(struct http_head *head, char c)
{
    if (c != '\n')
        return refuse(head, 400, "a chunk's size does not end in CR LF");
    head->body_bytes += head->left;
    if (head->body_bytes > head->body_max_bytes)
        return refuse(head, 413, "the body is larger than the limit");
    head->n_digits = 0;
    head->state = head->left ? AT_DATA : AT_LAST_CR;
    return HTTP_STEP_MORE;
}

/* One byte that must be this one. */
static enum http_step expect(struct http_head *head, char c, char wanted, enum state next)
{
    if (c != wanted)
        return refuse(head, 400,
                      head->state == AT_LAST_CR ? "trailers behind the last chunk are not taken"
                                                : "a chunk does not end in CR LF");
    head->state = next;
    return HTTP_STEP_MORE;
}

/* A byte of the body's framing. */
static enum http_step read_frame(struct http_head *head, char c)
{
    switch ((enum state)head->state) {
    case AT_LINE_END:
        return end_line(head, c);
    case AT_SIZE:
        return read_size(head, c);
    case AT_SIZE_END:
        return end_size(head, c);
    case AT_DATA_CR:
        return expect(head, c, '\r', AT_DATA_END);
    case AT_DATA_END:
        return expect(head, c, '\n', AT_SIZE);
    case AT_LAST_CR:
        return expect(head, c, '\r', AT_LAST_END);
    case AT_LAST_END:
        return expect(head, c, '\n', AT_END);
    case AT_LINE:
    case AT_BODY:
    case AT_DATA:
    case AT_END:
    case AT_REFUSED:
        break;
    }
    assert(!"a state that takes no single bytes");
    return HTTP_STEP_REFUSED;
}

static enum http_step read_data(struct http_head *head, const char *bytes, size_t n,
                                const char **data, size_t *n_data)
{
    *data = bytes;
    *n_data = n < head->left ? n : (size_t)head->left;
    head->left -= *n_data;
    if (head->left == 0)
        head->state = head->is_chunked ? AT_DATA_CR : AT_END;
    return HTTP_STEP_DATA;
}

enum http_step http_head_read(struct http_head *head, const char *bytes, size_t n, size_t *used,
                              const char **data, size_t *n_data)
{
    enum http_step step = HTTP_STEP_MORE;

    *used = 0;
    *n_data = 0;
    *data = NULL;
    if (head->state == AT_REFUSED)
        return HTTP_STEP_REFUSED;
    if (head->state == AT_BODY)
        head->state = head->is_chunked ? AT_SIZE : head->left ? AT_DATA : AT_END;
    while (step == HTTP_STEP_MORE && head->state != AT_END && *used < n) {
        if (head->state == AT_LINE) {
            step = read_head(head, bytes + *used, n - *used, used);
        } else if (head->state == AT_DATA) {
            step = read_data(head, bytes + *used, n - *used, data, n_data);
            *used += *n_data;
        } else {
            step = read_frame(head, bytes[(*used)++]);
        }
    }
    if (step == HTTP_STEP_MORE && head->state == AT_END)
        return HTTP_STEP_DONE;
    return step;
}
