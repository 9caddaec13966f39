/*
 * The floor for the API benchmark: libevent's own HTTP server with one fixed answer.
 *
 *     hello      prints its port, serves until it is ended
 */
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

static void answer(struct evhttp_request *request, void *arg)
{
    struct evbuffer *body = evbuffer_new();

    (void)arg;
    evbuffer_add_printf(body, "{\"hello\":\"world\"}\n");
    evhttp_send_reply(request, 201, "Created", body);
    evbuffer_free(body);
}

int main(void)
{
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
    struct sockaddr_in at;
    socklen_t n = sizeof(at);
    int one = 1;

    if (!bound)
        return 1;
    evhttp_set_gencb(http, answer, NULL);
    setsockopt(evhttp_bound_socket_get_fd(bound), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &n);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return event_base_dispatch(base);
}
