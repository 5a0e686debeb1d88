/* SPDX-License-Identifier: MIT
 *
 * net/http_server.c - answer GET requests with texts, by libmicrohttpd
 *
 * Runs in:  our own process; `answer` in the library's thread
 * Gets:     requests of GET and HEAD
 * Gives:    the replies of `answer`; 405 for other methods; a request with a body is cut off
 * Owns:     the loaded library, its daemon, the socket, a list of connections
 * Fails:    -ENOENT if the library is missing; -errno of the socket; -EIO if it cannot start
 *
 * Why not linked: libmicrohttpd loads GnuTLS, and with it nine libraries, which every start of duet
 *           would pay for. Only an agent with a configured endpoint needs them.
 * Why a deadline of our own: the library's timeout begins anew with each byte, so a client that
 *           sends one byte every few seconds would hold a connection for ever.
 * Why connections are cut for new ones: a limit of the library refuses the newest connection, so
 *           200 idle clients would lock the scraper out for 10 s.
 */
#include "net/http_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "net/address.h"

#define LIBRARY "libmicrohttpd.so.12"

#define MICROHTTPD_FUNCTIONS(X)        \
	X(start_daemon)                \
	X(stop_daemon)                 \
	X(get_connection_info)         \
	X(lookup_connection_value)     \
	X(create_response_from_buffer) \
	X(add_response_header)         \
	X(queue_response)              \
	X(destroy_response)

struct microhttpd {
	void *handle;
#define MICROHTTPD_MEMBER(name) __typeof__(MHD_##name) *name;
	MICROHTTPD_FUNCTIONS(MICROHTTPD_MEMBER)
#undef MICROHTTPD_MEMBER
};

#define REQUEST_NS (HTTP_REQUEST_S * UINT64_C(1000000000))

/* A connection, with the start of its present request: when the connection began, or when the
 * request before it ended. */
struct http_place {
	const struct MHD_Connection *connection; /* NULL: the place is free */
	int fd;                                  /* borrowed; open while the place is taken */
	uint64_t since_ns;                       /* UINT64_MAX: it is being closed */
	bool is_answered;                        /* the present request is complete */
};

struct http_server {
	struct http_server_options options;
	struct microhttpd library;
	struct MHD_Daemon *daemon;
	int fd; /* owned until the daemon has it */
	uint16_t port;
	pthread_mutex_t lock; /* guards places */
	struct http_place places[HTTP_CONNECTIONS_MAX];
};

static int load_library(struct microhttpd *library)
{
	library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return error_set(-ENOENT, "%s: install it (on Debian: apt install libmicrohttpd12)",
				 dlerror());
#define MICROHTTPD_LOAD(name)                                                            \
	library->name = (__typeof__(library->name))dlsym(library->handle, "MHD_" #name); \
	if (!library->name)                                                              \
		return error_set(-ENOENT, LIBRARY " is too old: it has no MHD_" #name);
	MICROHTTPD_FUNCTIONS(MICROHTTPD_LOAD)
#undef MICROHTTPD_LOAD
	return 0;
}

/* ---- deadlines ---- */

static struct http_place *find_place(struct http_server *server,
				     const struct MHD_Connection *connection)
{
	for (size_t i = 0; i < ARRAY_COUNT(server->places); i++)
		if (server->places[i].connection == connection)
			return &server->places[i];
	return NULL;
}

/* The library's thread sees the end and closes the connection. */
static void cut_off(struct http_place *place)
{
	shutdown(place->fd, SHUT_RDWR);
	place->since_ns = UINT64_MAX;
}

/* Whether `one` is worth less than `other`: a client without a complete request comes first, then
 * the one that waits longest. */
static bool gives_way_before(const struct http_place *one, const struct http_place *other)
{
	return one->is_answered != other->is_answered ? other->is_answered
						      : one->since_ns < other->since_ns;
}

/* Cuts one connection off when the new one leaves few places, and none if enough are closing. */
static void make_way(struct http_server *server, const struct http_place *new_place)
{
	struct http_place *victim = NULL;
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_COUNT(server->places); i++) {
		struct http_place *place = &server->places[i];

		if (!place->connection || place->since_ns == UINT64_MAX)
			continue;
		used++;
		if (place != new_place && (!victim || gives_way_before(place, victim)))
			victim = place;
	}
	if (victim && used > HTTP_CONNECTIONS_MAX - HTTP_CONNECTIONS_SPARE)
		cut_off(victim);
}

/* The library calls it before it closes the descriptor. */
static void on_connection(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = context;
	const union MHD_ConnectionInfo *info =
		server->library.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	const bool is_new = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct http_place *place;

	(void)state;
	pthread_mutex_lock(&server->lock);
	place = find_place(server, is_new ? NULL : connection);
	if (place && is_new && info) {
		*place = (struct http_place){.connection = connection,
					     .fd = info->connect_fd,
					     .since_ns = clock_ns(CLOCK_MONOTONIC)};
		make_way(server, place);
	} else if (place && !is_new) {
		*place = (struct http_place){.connection = NULL};
	}
	pthread_mutex_unlock(&server->lock);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct http_server *server = context;
	struct http_place *place;

	(void)state;
	(void)code;
	pthread_mutex_lock(&server->lock);
	place = find_place(server, connection);
	/* One that was cut off is closing. */
	if (place && place->since_ns != UINT64_MAX) {
		place->since_ns = clock_ns(CLOCK_MONOTONIC);
		place->is_answered = false;
	}
	pthread_mutex_unlock(&server->lock);
}

static void note_answer(struct http_server *server, const struct MHD_Connection *connection)
{
	struct http_place *place;

	pthread_mutex_lock(&server->lock);
	place = find_place(server, connection);
	if (place)
		place->is_answered = true;
	pthread_mutex_unlock(&server->lock);
}

void http_server_look(struct http_server *server)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!server)
		return;
	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < ARRAY_COUNT(server->places); i++) {
		struct http_place *place = &server->places[i];

		if (place->connection && now_ns > place->since_ns &&
		    now_ns - place->since_ns > REQUEST_NS)
			cut_off(place);
	}
	pthread_mutex_unlock(&server->lock);
}

/* ---- requests ---- */

static enum MHD_Result send_reply(const struct http_server *server,
				  struct MHD_Connection *connection, struct http_reply *reply)
{
	const struct microhttpd *library = &server->library;
	struct MHD_Response *response = library->create_response_from_buffer(
		reply->body ? reply->size : 0, reply->body ? reply->body : "",
		reply->body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response) {
		free(reply->body);
		return MHD_NO;
	}
	if (reply->content_type)
		library->add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					     reply->content_type);
	if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		library->add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = library->queue_response(connection, reply->status, response);
	library->destroy_response(response);
	return result;
}

/* The library calls it once for the head of a request, for each part of a body, and at the end. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct http_server *server = context;
	struct http_request request = {.path = url, .accept = NULL};
	struct http_reply reply = {.status = MHD_HTTP_NOT_FOUND};

	(void)version;
	(void)upload;
	(void)upload_size;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		reply.status = MHD_HTTP_METHOD_NOT_ALLOWED;
		return send_reply(server, connection, &reply);
	}
	if (!*state) {
		*state = server; /* any pointer: the head was seen */
		return MHD_YES;
	}
	/* A body could last for hours; MHD_NO closes the connection. */
	if (*upload_size)
		return MHD_NO;
	note_answer(server, connection);
	request.accept = server->library.lookup_connection_value(connection, MHD_HEADER_KIND,
								 MHD_HTTP_HEADER_ACCEPT);
	if (!request.accept)
		request.accept = "";
	server->options.answer(server->options.context, &request, &reply);
	return send_reply(server, connection, &reply);
}

static int start_daemon(struct http_server *server)
{
	sigset_t all, before;

	/* The library's thread takes the mask of this one: signals stay with the first thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	server->daemon = server->library.start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL, on_request, server,
		MHD_OPTION_LISTEN_SOCKET, server->fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)HTTP_SILENT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, server, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!server->daemon)
		return error_set(-EIO, "libmicrohttpd: cannot start a server; try another port");
	server->fd = -1;
	return 0;
}

int http_server_new(const struct http_server_options *options, struct http_server **ret_server)
{
	struct http_server *server = calloc(1, sizeof(*server));
	struct net_address address;
	int error;

	if (!server)
		return error_no_memory();
	*server = (struct http_server){.options = *options, .fd = -1};
	pthread_mutex_init(&server->lock, NULL);
	error = net_address_parse(options->listen, &address);
	if (!error)
		error = load_library(&server->library);
	if (!error)
		error = net_address_listen(&address, &server->fd, &server->port);
	if (!error)
		error = start_daemon(server);
	if (error) {
		http_server_free(server);
		return error;
	}
	*ret_server = server;
	return 0;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	if (server->daemon)
		server->library.stop_daemon(server->daemon);
	if (server->fd >= 0)
		close(server->fd);
	pthread_mutex_destroy(&server->lock);
	/* The library stays loaded: GnuTLS does not give back all of its memory. */
	free(server);
}

uint16_t http_server_port(const struct http_server *server)
{
	return server->port;
}
