/*
 * libcurl, loaded when the first client is made: it brings thirty libraries with it, which would
 * take most of the time of a verb that asks nobody. Its functions are called by their own names.
 */
#ifndef CLIENT_CURL_H
#define CLIENT_CURL_H

#define CURL_DISABLE_TYPECHECK /* its macros would stand in the way of ours */
#include <curl/curl.h>

#include "base/err.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

/* Each function that is used. */
#define CURL_CALLS(X)                                                                              \
    X(curl_global_init)                                                                            \
    X(curl_easy_init)                                                                              \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_getinfo)                                                                           \
    X(curl_easy_reset)                                                                             \
    X(curl_easy_cleanup)                                                                           \
    X(curl_easy_strerror)                                                                          \
    X(curl_multi_init)                                                                             \
    X(curl_multi_setopt)                                                                           \
    X(curl_multi_assign)                                                                           \
    X(curl_multi_add_handle)                                                                       \
    X(curl_multi_remove_handle)                                                                    \
    X(curl_multi_perform)                                                                          \
    X(curl_multi_poll)                                                                             \
    X(curl_multi_socket_action)                                                                    \
    X(curl_multi_info_read)                                                                        \
    X(curl_multi_cleanup)                                                                          \
    X(curl_slist_append)                                                                           \
    X(curl_slist_free_all)                                                                         \
    X(curl_url)                                                                                    \
    X(curl_url_set)                                                                                \
    X(curl_url_get)                                                                                \
    X(curl_url_cleanup)                                                                            \
    X(curl_free)

struct curl_calls {
#define CURL_MEMBER(name) __typeof__(name) *name;
    CURL_CALLS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* Nobody calls before curl_load has succeeded. */
extern struct curl_calls curl_calls;

/**
 * Loads and begins it; the second time does nothing. Any thread.
 *
 * Returns  0; -ELIBACC it is not installed, or lacks a function
 */
MUST_CHECK int curl_load(struct err *err);

#ifndef CURL_HAS_OWN_NAMES
#define curl_easy_init           curl_calls.curl_easy_init
#define curl_easy_setopt         curl_calls.curl_easy_setopt
#define curl_easy_getinfo        curl_calls.curl_easy_getinfo
#define curl_easy_reset          curl_calls.curl_easy_reset
#define curl_easy_cleanup        curl_calls.curl_easy_cleanup
#define curl_easy_strerror       curl_calls.curl_easy_strerror
#define curl_multi_init          curl_calls.curl_multi_init
#define curl_multi_setopt        curl_calls.curl_multi_setopt
#define curl_multi_assign        curl_calls.curl_multi_assign
#define curl_multi_add_handle    curl_calls.curl_multi_add_handle
#define curl_multi_remove_handle curl_calls.curl_multi_remove_handle
#define curl_multi_perform       curl_calls.curl_multi_perform
#define curl_multi_poll          curl_calls.curl_multi_poll
#define curl_multi_socket_action curl_calls.curl_multi_socket_action
#define curl_multi_info_read     curl_calls.curl_multi_info_read
#define curl_multi_cleanup       curl_calls.curl_multi_cleanup
#define curl_slist_append        curl_calls.curl_slist_append
#define curl_slist_free_all      curl_calls.curl_slist_free_all
#define curl_url                 curl_calls.curl_url
#define curl_url_set             curl_calls.curl_url_set
#define curl_url_get             curl_calls.curl_url_get
#define curl_url_cleanup         curl_calls.curl_url_cleanup
#define curl_free                curl_calls.curl_free
#endif

#endif
