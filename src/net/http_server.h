/* SPDX-License-Identifier: MIT
 *
 * net/http_server.h - answer GET requests with texts
 *
 * The server has one thread of its own, which calls `answer`. It reads no bodies. It keeps at most
 * HTTP_CONNECTIONS_MAX - HTTP_CONNECTIONS_SPARE connections; a further one ends the oldest one that
 * has not sent a complete request. The spare ones are those that are closing. It closes a silent
 * one after HTTP_SILENT_S, and one whose request and answer take longer than HTTP_REQUEST_S.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_CONNECTIONS_MAX = 192,
	HTTP_CONNECTIONS_SPARE = 64,
	HTTP_SILENT_S = 10,
	HTTP_REQUEST_S = 15
};

struct http_server;

struct http_request {
	const char *path;
	const char *accept; /* header Accept; "": none */
};

struct http_reply {
	unsigned int status;
	const char *content_type; /* constant */
	char *body;               /* from malloc; the server frees it */
	size_t size;
};

struct http_server_options {
	const char *listen; /* as in net_address_parse */
	/* Fills a reply, which is 404 without a body before; runs in the server's thread. */
	void (*answer)(void *context, const struct http_request *request, struct http_reply *reply);
	void *context;
};

/* Errors: -errno with the error chain; -ENOENT: the library is missing; -ENOSYS: duet was built
 * without it. */
int http_server_new(const struct http_server_options *options, struct http_server **ret_server);
void http_server_free(struct http_server *server); /* NULL-safe; waits for its thread */

/* Closes connections that have taken too long. Call it about once per second. NULL-safe. */
void http_server_look(struct http_server *server);

uint16_t http_server_port(const struct http_server *server);
