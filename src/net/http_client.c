/* SPDX-License-Identifier: MIT
 *
 * net/http_client.c - send bytes to an HTTP server, by libcurl
 *
 * Runs in:  our own process, in the caller's thread
 * Gets:     a URL, headers, a body
 * Gives:    status, Retry-After and the first bytes of the answer
 * Owns:     the loaded library, one connection
 * Fails:    -EIO without an answer, -ECANCELED after http_client_stop; -ENOENT without the library
 * Why not linked: libcurl loads about thirty libraries, which every start of duet would pay for.
 */
#include "net/http_client.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LIBRARY "libcurl.so.4"

/* The two are macros in curl's headers that check types. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define CURL_FUNCTIONS(X) \
	X(easy_init)      \
	X(easy_setopt)    \
	X(easy_perform)   \
	X(easy_getinfo)   \
	X(easy_cleanup)   \
	X(easy_strerror)  \
	X(global_init)    \
	X(slist_append)   \
	X(slist_free_all)

enum { CONNECT_TIMEOUT_MS = 5000, NS_PER_S = 1000000000, RETRY_AFTER_MAX_S = 86400 };

struct curl_library {
	void *handle;
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

struct http_client {
	struct curl_library library;
	CURL *handle;
	atomic_bool is_stopped;
	struct http_answer *answer; /* belongs to the present request */
};

static int load_library(struct curl_library *library)
{
	CURLcode code;

	library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return error_set(-ENOENT, "%s: install it (on Debian: apt install libcurl4)",
				 dlerror());
#define CURL_LOAD(name)                                                                   \
	library->name = (__typeof__(library->name))dlsym(library->handle, "curl_" #name); \
	if (!library->name)                                                               \
		return error_set(-ENOENT, LIBRARY " is too old: it has no curl_" #name);
	CURL_FUNCTIONS(CURL_LOAD)
#undef CURL_LOAD
	code = library->global_init(CURL_GLOBAL_DEFAULT); /* counts its calls */
	return code ? error_set(-EIO, LIBRARY ": %s", library->easy_strerror(code)) : 0;
}

int http_client_new(struct http_client **ret_client)
{
	struct http_client *client = calloc(1, sizeof(*client));
	int error;

	if (!client)
		return error_no_memory();
	error = load_library(&client->library);
	if (!error) {
		client->handle = client->library.easy_init();
		error = client->handle ? 0 : error_no_memory();
	}
	if (error) {
		http_client_free(client);
		return error;
	}
	*ret_client = client;
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	if (client->handle)
		client->library.easy_cleanup(client->handle);
	/* The library stays loaded: some of its dependencies leak memory when they are unloaded. */
	free(client);
}

void http_client_stop(struct http_client *client)
{
	atomic_store(&client->is_stopped, true);
}

/* ---- callbacks of libcurl ---- */

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct http_answer *answer = ((struct http_client *)context)->answer;
	size_t got = size * count, room = sizeof(answer->body) - answer->size;

	memcpy(answer->body + answer->size, bytes, got < room ? got : room);
	answer->size += got < room ? got : room;
	/* A server may send without an end: after the first bytes the answer is complete for us. */
	return room ? got : 0;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return atomic_load(&((struct http_client *)context)->is_stopped);
}

/* ---- one request ---- */

static struct curl_slist *headers_of(const struct curl_library *library,
				     const struct http_post *post)
{
	struct curl_slist *list = NULL;
	char text[256];

	snprintf(text, sizeof(text), "Content-Type: %s", post->content_type);
	list = library->slist_append(list, text);
	/* Without it, curl waits a second for "100 Continue" before it sends a body. */
	list = library->slist_append(list, "Expect:");
	if (post->content_encoding) {
		snprintf(text, sizeof(text), "Content-Encoding: %s", post->content_encoding);
		list = library->slist_append(list, text);
	}
	for (const char *const *at = post->headers; at && *at; at++)
		list = library->slist_append(list, *at);
	return list;
}

static void set_options(struct http_client *client, const struct http_post *post,
			struct curl_slist *headers, char problem[CURL_ERROR_SIZE])
{
	__typeof__(client->library.easy_setopt) set = client->library.easy_setopt;
	CURL *handle = client->handle;

	set(handle, CURLOPT_URL, post->url);
	set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
	set(handle, CURLOPT_POST, 1L);
	set(handle, CURLOPT_POSTFIELDS, post->body);
	set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->size);
	set(handle, CURLOPT_HTTPHEADER, headers);
	set(handle, CURLOPT_USERAGENT, "duet");
	set(handle, CURLOPT_NOSIGNAL, 1L); /* no SIGALRM: other threads run */
	set(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	set(handle, CURLOPT_TIMEOUT_MS, (long)post->timeout_ms);
	set(handle, CURLOPT_WRITEFUNCTION, on_body);
	set(handle, CURLOPT_WRITEDATA, client);
	set(handle, CURLOPT_NOPROGRESS, 0L);
	set(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
	set(handle, CURLOPT_XFERINFODATA, client);
	set(handle, CURLOPT_ERRORBUFFER, problem);
}

static void read_head(const struct http_client *client, struct http_answer *answer)
{
	curl_off_t seconds = 0;
	long status = 0;

	client->library.easy_getinfo(client->handle, CURLINFO_RESPONSE_CODE, &status);
	client->library.easy_getinfo(client->handle, CURLINFO_RETRY_AFTER, &seconds);
	answer->status = (unsigned int)status;
	if (seconds > 0)
		answer->retry_after_ns =
			(uint64_t)(seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds) *
			NS_PER_S;
}

int http_client_post(struct http_client *client, const struct http_post *post,
		     struct http_answer *ret_answer)
{
	struct curl_slist *headers = headers_of(&client->library, post);
	char problem[CURL_ERROR_SIZE] = "";
	CURLcode code;

	*ret_answer = (struct http_answer){.status = 0};
	client->answer = ret_answer;
	set_options(client, post, headers, problem);
	code = client->library.easy_perform(client->handle);
	client->library.slist_free_all(headers);
	client->library.easy_setopt(client->handle, CURLOPT_ERRORBUFFER, NULL);
	client->answer = NULL;
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return -ECANCELED;
	if (code == CURLE_OK || code == CURLE_WRITE_ERROR)
		read_head(client, ret_answer);
	if (ret_answer->status)
		return 0;
	snprintf(ret_answer->problem, sizeof(ret_answer->problem), "%s",
		 *problem ? problem : client->library.easy_strerror(code));
	return -EIO;
}
