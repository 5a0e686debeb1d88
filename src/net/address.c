/* SPDX-License-Identifier: MIT
 *
 * net/address.c - the address on which a server listens
 *
 * Runs in:  our own process
 * Gets:     a text such as "127.0.0.1:9464"
 * Gives:    a listening socket
 * Owns:     nothing; the caller closes the socket
 * Fails:    -EINVAL for another text; -errno of the system calls
 * Why names are refused: a name could resolve to another address tomorrow, and the server has no
 * password. Only a written address opens it to the network.
 */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { HOST_SIZE = 64, BACKLOG = 16 };

static int refuse_address(const char *text)
{
	return error_set(-EINVAL,
			 "listen '%s': not an address; write ADDRESS:PORT, such as 127.0.0.1:9464 "
			 "or [::1]:9464",
			 text);
}

static bool parse_port(const char *text, uint16_t *ret_port)
{
	unsigned long port = 0;

	if (!*text || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text))
		return false;
	port = strtoul(text, NULL, 10);
	*ret_port = (uint16_t)port;
	return port <= UINT16_MAX;
}

/* Splits at the last colon; brackets around an IPv6 address are removed. */
static bool split_text(const char *text, char host[HOST_SIZE], uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':'), *begin = text;
	size_t length = colon ? (size_t)(colon - text) : 0;

	if (length && *text == '[') {
		if (text[length - 1] != ']')
			return false;
		begin++;
		length -= 2;
	} else if (length && memchr(text, ':', length)) {
		return false; /* IPv6 without brackets: the end of the address is not known */
	}
	if (length >= HOST_SIZE)
		return false;
	snprintf(host, HOST_SIZE, "%.*s", (int)length, begin);
	return parse_port(colon ? colon + 1 : text, ret_port);
}

static bool fill_v4(const char *host, uint16_t port, struct net_address *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address->storage;

	if (inet_pton(AF_INET, host, &v4->sin_addr) != 1)
		return false;
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	address->size = sizeof(*v4);
	address->is_loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return true;
}

static bool fill_v6(const char *host, uint16_t port, struct net_address *address)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->storage;

	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return false;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	address->size = sizeof(*v6);
	address->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return true;
}

int net_address_parse(const char *text, struct net_address *ret_address)
{
	struct net_address address = {.size = 0};
	char host[HOST_SIZE];
	uint16_t port;

	if (!split_text(text, host, &port))
		return refuse_address(text);
	if (!*host || strcmp(host, "localhost") == 0)
		snprintf(host, sizeof(host), "127.0.0.1");
	if (!fill_v4(host, port, &address) && !fill_v6(host, port, &address))
		return refuse_address(text);
	*ret_address = address;
	return 0;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
	socklen_t size = sizeof(storage);

	if (getsockname(fd, (struct sockaddr *)&storage, &size))
		return 0;
	return storage.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&storage)->sin6_port)
					     : ntohs(((struct sockaddr_in *)&storage)->sin_port);
}

static int refuse_listen(const struct net_address *address)
{
	int error = errno;
	char host[INET6_ADDRSTRLEN] = "?";
	const void *bytes =
		address->storage.ss_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)&address->storage)->sin6_addr
			: &((const struct sockaddr_in *)&address->storage)->sin_addr;

	inet_ntop(address->storage.ss_family, bytes, host, sizeof(host));
	return error_set(-error, "listen on %s: %s; choose another address or port", host,
			 strerror(error));
}

int net_address_listen(const struct net_address *address, int *ret_fd, uint16_t *ret_port)
{
	auto_close int fd =
		socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int one = 1;

	if (fd < 0)
		return refuse_listen(address);
	/* A restarted agent listens again at once, while old connections are still closing. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address->storage.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&address->storage, address->size) ||
	    listen(fd, BACKLOG))
		return refuse_listen(address);
	*ret_port = port_of(fd);
	*ret_fd = take_fd(&fd);
	return 0;
}
