/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/fd_describe.c - text for the object that a system call waits for
 *
 * Runs in:  the recorder
 * Gets:     the BPF program's record of the call's file
 * Gives:    text for reports
 * Owns:     nothing
 * Fails:    returns false
 */
#include "collect/kernel/fd_describe.h"

#include <linux/types.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "collect/kernel/device_names.h"

enum {
	MINOR_BITS = 20,         /* bits of a minor number inside the kernel */
	EPHEMERAL_FIRST = 32768, /* first of the ports that Linux assigns itself */
	OWN_PORT = 0x80          /* flag beside a socket's type: the port is our side's */
};

/* The disk of the thread's last request is more exact than the file system. */
static bool waits_for_disk(const struct kernel_out *out)
{
	return (out->head.flags & KERNEL_IO_WAIT) && out->disk;
}

static uint32_t type_of(const struct kernel_out *out)
{
	return waits_for_disk(out) ? S_IFBLK : out->file_mode & S_IFMT;
}

static uint32_t device_of(const struct kernel_out *out)
{
	return waits_for_disk(out) ? out->disk : out->file_device;
}

/* The service is the side whose port was not assigned for this connection. */
static bool is_service_ours(const struct kernel_out *out)
{
	return out->peer_port >= EPHEMERAL_FIRST && out->own_port &&
	       out->own_port < EPHEMERAL_FIRST;
}

uint64_t file_words_key(const struct kernel_out *out)
{
	const uint32_t type = type_of(out);
	const bool is_ours = is_service_ours(out);
	const uint32_t socket =
		(uint32_t)out->family << 24 |
		(uint32_t)((out->socket_type & (OWN_PORT - 1)) | (is_ours ? OWN_PORT : 0)) << 16 |
		(is_ours ? out->own_port : out->peer_port);

	return (uint64_t)type << 32 | (type == S_IFSOCK ? socket : device_of(out));
}

static void name_socket(const struct kernel_out *out, char *ret_text, size_t size)
{
	const bool is_stream = out->socket_type == SOCK_STREAM;

	switch (out->family) {
	case AF_INET:
	case AF_INET6:
		if (out->peer_port && (is_stream || out->socket_type == SOCK_DGRAM))
			snprintf(ret_text, size,
				 is_service_ours(out) ? "%s, own port %u"
						      : "%s, port %u of the peer",
				 is_stream ? "TCP" : "UDP",
				 is_service_ours(out) ? out->own_port : out->peer_port);
		else
			snprintf(ret_text, size, "%s socket",
				 is_stream                        ? "TCP"
				 : out->socket_type == SOCK_DGRAM ? "UDP"
								  : "raw");
		break;
	case AF_UNIX:
		snprintf(ret_text, size, "unix socket");
		break;
	case AF_NETLINK:
		snprintf(ret_text, size, "netlink socket");
		break;
	case AF_VSOCK:
		snprintf(ret_text, size, "vsock socket");
		break;
	default:
		snprintf(ret_text, size, "socket");
	}
}

bool file_words(uint32_t pid, const struct kernel_out *out, char *ret_text, size_t size)
{
	const uint32_t device = device_of(out), minor = device & ((1U << MINOR_BITS) - 1);

	switch (type_of(out)) {
	case S_IFIFO:
		snprintf(ret_text, size, "pipe");
		return true;
	case S_IFSOCK:
		name_socket(out, ret_text, size);
		return true;
	case S_IFCHR:
		return device && device_name_character(device >> MINOR_BITS, minor, ret_text, size);
	default:
		return device && device_name(pid, device >> MINOR_BITS, minor, ret_text, size);
	}
}
