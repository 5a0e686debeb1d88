/* SPDX-License-Identifier: MIT
 *
 * collect/attach.c - listen for guests, check who they are, hand out their rings
 *
 * Runs in:  the recorder
 * Gets:     connections   Gives: hellos with the kernel's word on pid and uid
 * Owns:     the listening sockets, connections until their hello, the socket's folder
 * Fails:    opening with -errno; a connection that says nothing sensible is closed
 * Why:      two addresses, because a path is not shared by every container and an abstract name not by
 *           every network namespace. The pid comes from SO_PEERCRED, translated by the kernel; the guest's
 *           own number is its namespace's. A number is reused, so the process is held by a pidfd that was
 *           opened while its connection was.
 */
#include "collect/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static int listen_at(const char *name)
{
	struct sockaddr_un address;
	socklen_t size = session_address(name, strlen(name), &address);
	int fd, error;

	if (!size)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 128) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static const char *folder_for_sockets(void)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");

	if (!folder || access(folder, W_OK) < 0)
		folder = getenv("TMPDIR");
	return folder && access(folder, W_OK) == 0 && strlen(folder) < 64 ? folder : "/tmp";
}

/* A private folder keeps the socket out of others' reach whatever the umask. */
static int listen_at_path(struct attach *attach, uid_t owner, gid_t group)
{
	char path[160];
	int fd;

	snprintf(attach->folder, sizeof(attach->folder), "%s/duet-XXXXXX", folder_for_sockets());
	if (!mkdtemp(attach->folder)) {
		attach->folder[0] = '\0';
		return -errno;
	}
	snprintf(path, sizeof(path), "%s/socket", attach->folder);
	fd = listen_at(path);
	if (fd < 0 || chmod(path, 0600) < 0 ||
	    (owner != geteuid() &&
	     (chown(path, owner, group) < 0 || chown(attach->folder, owner, group) < 0)))
		return fd;
	snprintf(attach->addresses, sizeof(attach->addresses), "%s", path);
	return fd;
}

static int listen_abstract(struct attach *attach)
{
	size_t used = strlen(attach->addresses);
	char name[64];
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uintptr_t)attach;
	snprintf(name, sizeof(name), "@duet-%d-%016llx", (int)getpid(), (unsigned long long)random);
	snprintf(attach->addresses + used, sizeof(attach->addresses) - used, "%s%s",
		 used ? "," : "", name);
	return listen_at(name);
}

int attach_open(struct attach *attach, bool any, uid_t owner, gid_t group)
{
	struct rlimit descriptors;
	char name[64];

	*attach = (struct attach){
		.listeners = {-1, -1, -1}, .uid = owner, .most_descriptors = INT32_MAX};
	if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < INT32_MAX)
		attach->most_descriptors = (int)descriptors.rlim_cur;
	for (int i = 0; i < ATTACH_PENDING; i++)
		attach->pending[i] = -1;
	attach->listeners[0] = listen_at_path(attach, owner, group);
	attach->listeners[1] = listen_abstract(attach);
	if (attach->listeners[0] < 0 && attach->listeners[1] < 0)
		return error_set(attach->listeners[1], "no socket for guests: %s",
				 strerror(-attach->listeners[1]));
	if (!any)
		return 0;
	snprintf(name, sizeof(name), SESSION_ANY, (unsigned)geteuid());
	attach->listeners[2] = listen_at(name);
	if (attach->listeners[2] == -EADDRINUSE)
		return error_set(-EADDRINUSE,
				 "another machine-wide recording of this user is running "
				 "(duet record -a); end it first");
	if (attach->listeners[2] < 0)
		return error_set(attach->listeners[2], "no machine-wide socket: %s",
				 strerror(-attach->listeners[2]));
	return 0;
}

void attach_close(struct attach *attach)
{
	char path[160];

	for (int i = 0; i < ATTACH_LISTENERS; i++)
		if (attach->listeners[i] >= 0)
			close(attach->listeners[i]);
	for (int i = 0; i < ATTACH_PENDING; i++)
		if (attach->pending[i] >= 0)
			close(attach->pending[i]);
	if (!attach->folder[0])
		return;
	snprintf(path, sizeof(path), "%s/socket", attach->folder);
	unlink(path);
	rmdir(attach->folder);
}

size_t attach_poll(const struct attach *attach, struct pollfd *entries)
{
	size_t count = 0;

	for (int i = 0; i < ATTACH_LISTENERS; i++)
		if (attach->listeners[i] >= 0 && !attach->is_resting)
			entries[count++] =
				(struct pollfd){.fd = attach->listeners[i], .events = POLLIN};
	for (int i = 0; i < ATTACH_PENDING; i++)
		if (attach->pending[i] >= 0)
			entries[count++] =
				(struct pollfd){.fd = attach->pending[i], .events = POLLIN};
	return count;
}

/* A connection that says nothing gives its place up to a new one: nobody can keep guests out by
 * connecting and waiting. */
static void keep_pending(struct attach *attach, int fd)
{
	for (int i = 0; i < ATTACH_PENDING; i++) {
		if (attach->pending[i] < 0) {
			attach->pending[i] = fd;
			return;
		}
	}
	close(attach->pending[0]);
	memmove(attach->pending, attach->pending + 1,
		(ATTACH_PENDING - 1) * sizeof(attach->pending[0]));
	attach->pending[ATTACH_PENDING - 1] = fd;
}

void attach_rest(struct attach *attach)
{
	attach->is_resting = true;
}

void attach_resume(struct attach *attach)
{
	attach->is_resting = false;
}

/* A guest that cannot be taken in learns it now and not after its 250 ms of waiting. */
static void take_in(struct attach *attach, int fd)
{
	if (fd < attach->most_descriptors - ATTACH_SPARE)
		return keep_pending(attach, fd);
	close(fd);
	attach->turned_away++;
}

static void accept_from(struct attach *attach, int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		take_in(attach, fd);
	/* The connection stays where it is and would wake us up at once, again and again. */
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		attach->turned_away++;
		attach_rest(attach);
	}
}

static void accept_all(struct attach *attach)
{
	for (int i = 0; i < ATTACH_LISTENERS && !attach->is_resting; i++)
		if (attach->listeners[i] >= 0)
			accept_from(attach, attach->listeners[i]);
}

static bool has_hung_up(int fd)
{
	struct pollfd connection = {.fd = fd, .events = POLLIN | POLLRDHUP};

	return poll(&connection, 1, 0) < 0 || connection.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

/* -1: the kernel has no such descriptors; -2: the process is gone. Where the kernel does not say whose
 * the connection is, a process that still holds it has not given its number to another. */
static int open_process(int fd, pid_t pid)
{
	int pid_fd = -1;
	socklen_t size = sizeof(pid_fd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pid_fd, &size) < 0)
		pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid_fd < 0 && errno == ESRCH)
		return -2;
	if (!has_hung_up(fd))
		return pid_fd;
	if (pid_fd >= 0)
		close(pid_fd);
	return -2;
}

static bool is_welcome(const struct attach *attach, const struct ucred *peer)
{
	/* Only root's machine-wide recorder takes everybody: the abstract name is there for all to see. */
	return peer->uid == attach->uid || peer->uid == geteuid() ||
	       (geteuid() == 0 && attach->listeners[2] >= 0);
}

/* 1: a hello; 0: not yet; -1: nothing to talk to. */
static int read_hello(const struct attach *attach, int fd, struct attach_hello *hello)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	ssize_t got = recv(fd, &hello->hello, sizeof(hello->hello), MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got != (ssize_t)sizeof(hello->hello) || hello->hello.magic != SESSION_MAGIC ||
	    hello->hello.version != SESSION_VERSION ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0 ||
	    !is_welcome(attach, &peer))
		return -1;
	hello->pid_fd = open_process(fd, peer.pid);
	if (hello->pid_fd < -1)
		return -1;
	hello->hello.guest[sizeof(hello->hello.guest) - 1] = '\0';
	hello->fd = fd;
	hello->pid = peer.pid;
	hello->uid = peer.uid;
	return 1;
}

bool attach_next(struct attach *attach, struct attach_hello *ret_hello)
{
	accept_all(attach);
	for (int i = 0; i < ATTACH_PENDING; i++) {
		int fd = attach->pending[i], result;

		if (fd < 0)
			continue;
		result = read_hello(attach, fd, ret_hello);
		if (result)
			attach->pending[i] = -1;
		if (result < 0)
			close(fd);
		if (result > 0)
			return true;
	}
	return false;
}

int attach_answer(int fd, uint32_t ring_count, uint32_t ring_bytes, int region_fd)
{
	struct session_welcome welcome = {SESSION_MAGIC, SESSION_VERSION, ring_count, ring_bytes};
	char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&welcome, sizeof(welcome)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (region_fd >= 0) {
		struct cmsghdr *head;

		message.msg_control = space;
		message.msg_controllen = sizeof(space);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &region_fd, sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(welcome)
		       ? 0
		       : -errno;
}
