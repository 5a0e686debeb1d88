/* SPDX-License-Identifier: MIT
 *
 * net/http_client.h - send bytes to an HTTP server
 *
 * A client keeps its connection open between requests. Only one thread may use it, but every thread
 * may call http_client_stop.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HTTP_ANSWER_SIZE = 4096 };

struct http_client;

struct http_post {
	const char *url; /* http or https; redirections are not followed */
	const char *content_type;
	const char *content_encoding; /* NULL: none */
	const char *const *headers;   /* "Name: value", further ones; ends with NULL */
	const void *body;
	size_t size;
	uint32_t timeout_ms;
};

struct http_answer {
	unsigned int status;     /* 0: no answer */
	uint64_t retry_after_ns; /* header Retry-After; 0: none */
	char problem[256];       /* without an answer: the cause */
	size_t size;             /* number of bytes in body */
	char body[HTTP_ANSWER_SIZE];
};

/* Call it in the first thread only: libcurl sets up its global state here. Errors: -ENOENT with the
 * error chain: the library is missing; -ENOSYS: duet was built without
 * it; -ENOMEM. */
int http_client_new(struct http_client **ret_client);
void http_client_free(struct http_client *client); /* NULL-safe */

/* Waits for the answer. Errors: -EIO: no answer, see answer->problem; -ECANCELED: stopped. */
int http_client_post(struct http_client *client, const struct http_post *post,
		     struct http_answer *ret_answer);

/* Ends the present request, and all later ones at once. */
void http_client_stop(struct http_client *client);
