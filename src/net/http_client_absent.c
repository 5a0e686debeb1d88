/* SPDX-License-Identifier: MIT
 *
 * net/http_client_absent.c - the client of a duet that was built without libcurl
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
#include "net/http_client.h"

int http_client_new(struct http_client **ret_client)
{
	(void)ret_client;
	return error_set(-ENOSYS, "push: this duet was built without libcurl; install its headers "
				  "(on Debian: apt install libcurl4-openssl-dev) and build duet "
				  "again");
}

void http_client_free(struct http_client *client)
{
	(void)client;
}

int http_client_post(struct http_client *client, const struct http_post *post,
		     struct http_answer *ret_answer)
{
	(void)client;
	(void)post;
	(void)ret_answer;
	return -ENOSYS;
}

void http_client_stop(struct http_client *client)
{
	(void)client;
}
