/* SPDX-License-Identifier: MIT
 *
 * net/address.h - the address on which a server listens
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct net_address {
	struct sockaddr_storage storage;
	socklen_t size;
	bool is_loopback;
};

/* Reads "ADDRESS:PORT", "[IPV6]:PORT", "localhost:PORT", ":PORT" or "PORT". Without an address it
 * is 127.0.0.1. Names of hosts are not looked up. Errors: -EINVAL with the error chain. */
int net_address_parse(const char *text, struct net_address *ret_address);

/* Opens a listening socket. Errors: -errno with the error chain. *ret_port: the port, also for port
 * 0, which stands for any free port. */
int net_address_listen(const struct net_address *address, int *ret_fd, uint16_t *ret_port);
