/* SPDX-License-Identifier: MIT
 *
 * net/http_server_absent.c - the server of a duet that was built without libmicrohttpd
 *
 * Runs in:  our own process
 * Gets:     nothing
 * Gives:    nothing
 * Owns:     nothing
 * Fails:    always: -ENOSYS
 * Why:      all other parts of duet work without the library
 */
#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "net/http_server.h"

int http_server_new(const struct http_server_options *options, struct http_server **ret_server)
{
	(void)ret_server;
	return error_set(-ENOSYS,
			 "listen '%s': this duet was built without libmicrohttpd; install its "
			 "headers (on Debian: apt install libmicrohttpd-dev) and build duet again",
			 options->listen);
}

void http_server_free(struct http_server *server)
{
	(void)server;
}

uint16_t http_server_port(const struct http_server *server)
{
	(void)server;
	return 0;
}

void http_server_look(struct http_server *server)
{
	(void)server;
}
