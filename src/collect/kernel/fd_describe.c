/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/fd_describe.c - text for the object that a system call waits for
 *
 * Runs in:  the recorder
 * Gets:     the BPF program's record of the call's file, or a descriptor
 * Gives:    text for reports
 * Owns:     nothing
 * Fails:    returns false
 */
#include "collect/kernel/fd_describe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/major.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
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

/* A file without a place in a file system, such as an eventfd. */
static bool is_anonymous(const struct kernel_out *out)
{
	return !waits_for_disk(out) && (out->file_mode & S_IFMT) != S_IFSOCK && out->file_name[0];
}

/* The service is the side whose port was not assigned for this connection. */
static bool is_service_ours(const struct kernel_out *out)
{
	return out->peer_port >= EPHEMERAL_FIRST && out->own_port &&
	       out->own_port < EPHEMERAL_FIRST;
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

uint64_t file_words_key(const struct kernel_out *out)
{
	const uint32_t type = type_of(out);
	const bool is_ours = is_service_ours(out);
	const uint32_t socket =
		(uint32_t)out->family << 24 |
		(uint32_t)((out->socket_type & (OWN_PORT - 1)) | (is_ours ? OWN_PORT : 0)) << 16 |
		(is_ours ? out->own_port : out->peer_port);

	const uint64_t object = (uint64_t)type << 32 | (type == S_IFSOCK ? socket : device_of(out));
	uint64_t peer[2] = {0};

	if (is_anonymous(out) || (type == S_IFSOCK && !is_ours))
		memcpy(peer, out->peer, sizeof(peer));
	return mixed(mixed(mixed(mixed((uint64_t)out->call, object), peer[0]), peer[1]), 0);
}

/* "10.0.0.5"; "the peer" if the address is not known. */
static const char *peer_text(const struct kernel_out *out, char *ret_text, size_t size)
{
	static const uint8_t none[sizeof(out->peer)];

	if (memcmp(out->peer, none, sizeof(none)) == 0 ||
	    !inet_ntop(out->family, out->peer, ret_text, (socklen_t)size))
		return "the peer";
	return ret_text;
}

static void name_connection(const struct kernel_out *out, char *ret_text, size_t size)
{
	const char *protocol = out->socket_type == SOCK_STREAM ? "TCP" : "UDP";
	char peer[INET6_ADDRSTRLEN];

	if (is_service_ours(out))
		snprintf(ret_text, size, "%s, own port %u", protocol, out->own_port);
	else
		snprintf(ret_text, size, "%s, port %u of %s", protocol, out->peer_port,
			 peer_text(out, peer, sizeof(peer)));
}

static void name_socket(const struct kernel_out *out, char *ret_text, size_t size)
{
	const bool is_stream = out->socket_type == SOCK_STREAM;

	switch (out->family) {
	case AF_INET:
	case AF_INET6:
		if (out->peer_port && (is_stream || out->socket_type == SOCK_DGRAM))
			name_connection(out, ret_text, size);
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

/* "eventfd" of "[eventfd]". */
static void name_anonymous(const char *name, char *ret_text, size_t size)
{
	name += *name == '[';
	snprintf(ret_text, size, "%.*s", (int)strcspn(name, "]"), name);
}

/* /dev/pts has no entries in /sys. */
static bool is_terminal(uint32_t device)
{
	const uint32_t number = device >> MINOR_BITS;

	return number == TTY_MAJOR || number == TTYAUX_MAJOR ||
	       (number >= UNIX98_PTY_MASTER_MAJOR &&
		number < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT);
}

static bool name_character(uint32_t device, char *ret_text, size_t size)
{
	if (is_terminal(device)) {
		snprintf(ret_text, size, "terminal");
		return true;
	}
	return device && device_name_character(device >> MINOR_BITS,
					       device & ((1U << MINOR_BITS) - 1), ret_text, size);
}

/* The inode of an open descriptor, which the kernel shows since Linux 5.14; 0: not known. */
static uint64_t inode_of(uint32_t pid, uint32_t tid, uint32_t descriptor)
{
	char path[64], text[256]; /* the file's locks, of which there may be many, come later */
	const char *at;
	ssize_t size;
	int file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/fdinfo/%u", pid, tid, descriptor);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	size = read(file, text, sizeof(text) - 1);
	close(file);
	text[size > 0 ? size : 0] = '\0';
	at = strstr(text, "\nino:");
	return at ? strtoull(at + strlen("\nino:"), NULL, 10) : 0;
}

bool file_path(uint32_t pid, const struct kernel_out *out, char *ret_text, size_t size)
{
	const uint32_t descriptor = (uint32_t)out->arguments[0];
	char path[64];
	ssize_t length;

	if (!S_ISREG(out->file_mode) || !out->file_inode)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/fd/%u", pid, out->head.tid, descriptor);
	length = readlink(path, ret_text, size - 1);
	if (length <= 0 || (size_t)length == size - 1 || *ret_text != '/')
		return false;
	ret_text[length] = '\0';
	return inode_of(pid, out->head.tid, descriptor) == out->file_inode;
}

bool file_words(uint32_t pid, const struct kernel_out *out, char *ret_text, size_t size)
{
	const uint32_t device = device_of(out), minor = device & ((1U << MINOR_BITS) - 1);

	if (is_anonymous(out)) {
		name_anonymous(out->file_name, ret_text, size);
		return true;
	}
	switch (type_of(out)) {
	case S_IFIFO:
		snprintf(ret_text, size, "pipe");
		return true;
	case S_IFSOCK:
		name_socket(out, ret_text, size);
		return true;
	case S_IFCHR:
		return name_character(device, ret_text, size);
	default:
		return device && device_name(pid, device >> MINOR_BITS, minor, ret_text, size);
	}
}

/* ---- without BPF ----------------------------------------------------------------------------- */

/* The OS kernel's function in which a thread sleeps; "": not known. */
static void read_place(uint32_t pid, uint32_t tid, char *ret_text, size_t size)
{
	char path[64];
	ssize_t length;
	int file;

	ret_text[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/task/%u/wchan", pid, tid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	length = read(file, ret_text, size - 1);
	close(file);
	ret_text[length > 0 ? length : 0] = '\0';
}

/* A pipe may have a path. stat(2) would reveal it too, but file systems may not answer. */
static bool is_in_pipe(uint32_t pid, uint32_t tid)
{
	char place[128];

	read_place(pid, tid, place, sizeof(place));
	return strncmp(place, "pipe_", 5) == 0 || strncmp(place, "anon_pipe_", 10) == 0 ||
	       strncmp(place, "fifo_", 5) == 0;
}

/* A path below /dev: a terminal, another device, or a file in memory. */
static void name_in_dev(const char *path, char *ret_text, size_t size)
{
	static const char *const terminals[] = {"pts/", "tty", "ptmx", "console"};
	static const char *const files[] = {"shm/", "mqueue/", "hugepages/"};
	const char *name = path + strlen("/dev/");

	for (size_t i = 0; i < ARRAY_COUNT(files); i++)
		if (strncmp(name, files[i], strlen(files[i])) == 0) {
			snprintf(ret_text, size, "%s", path);
			return;
		}
	for (size_t i = 0; i < ARRAY_COUNT(terminals); i++)
		if (strncmp(name, terminals[i], strlen(terminals[i])) == 0) {
			snprintf(ret_text, size, "terminal");
			return;
		}
	snprintf(ret_text, size, "device %s", name);
}

bool descriptor_words(uint32_t pid, uint32_t tid, uint32_t descriptor, char *ret_text, size_t size)
{
	static const char anonymous[] = "anon_inode:";
	char path[64], target[512];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/fd/%u", pid, tid, descriptor);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0 || (size_t)length == sizeof(target) - 1)
		return false;
	target[length] = '\0';
	if (strncmp(target, anonymous, strlen(anonymous)) == 0)
		name_anonymous(target + strlen(anonymous), ret_text, size);
	else if (strncmp(target, "socket:", 7) == 0)
		snprintf(ret_text, size, "socket");
	else if (strncmp(target, "pipe:", 5) == 0)
		snprintf(ret_text, size, "pipe");
	else if (strncmp(target, "/dev/", 5) == 0)
		name_in_dev(target, ret_text, size);
	else if (*target == '/')
		snprintf(ret_text, size, "%s", is_in_pipe(pid, tid) ? "pipe" : target);
	else
		return false;
	return true;
}
