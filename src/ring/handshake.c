/* SPDX-License-Identifier: MIT
 *
 * ring/handshake.c - the program's side of ring/session.h: find a recorder, ask it for rings, map
 * them
 *
 * Runs in:  the profiled process, in the first call of a guest or when libduet starts
 * Gets:     addresses
 * Gives:    a mapped region
 * Owns:     nothing; a descriptor is closed as soon as it has been used
 * Fails:    with -errno, quietly
 * Why:      a mapped file that is smaller than the recorder's message states, or shrinks later,
 *           kills the program: touching memory behind a file's end raises SIGBUS. So a region is
 *           mapped only if its file is sealed and its recorder runs as the program's own user or as
 *           root.
 */
#include "ring/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ring/descriptor.h"

/* ---- whether sockets may be used, and the recorder's address --------------------------------- */

void handshake_read_environment(struct handshake_environment *ret_environment)
{
	handshake_take_environment(getenv(SESSION_VARIABLE), getenv(SESSION_SECCOMP_VARIABLE),
				   ret_environment);
}

void handshake_take_environment(const char *names, const char *filters,
				struct handshake_environment *ret_environment)
{
	*ret_environment = (struct handshake_environment){0};
	if (names && strlen(names) < sizeof(ret_environment->names))
		memcpy(ret_environment->names, names, strlen(names) + 1);
	ret_environment->is_recorder_filtered = filters && filters[0] != '0';
	ret_environment->recorder_filters =
		filters && filters[0] && filters[1] == ':' ? strtol(filters + 2, NULL, 10) : -1;
}

/* Parses the number behind a name in a status file, if the name is in this piece of it. */
static void take_number(const char *status, const char *name, long *number)
{
	const char *line = strstr(status, name);

	if (line)
		*number = strtol(line + strlen(name), NULL, 10);
}

struct filters {
	long mode, count; /* -1: not in the file */
};

/* Reads a file instead of calling prctl: a filter may kill for prctl, but every driver reads files.
 */
static bool read_filters(struct filters *ret_filters)
{
	int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	char status[2048];
	size_t kept = 0;
	ssize_t got;

	if (fd < 0)
		return false;
	*ret_filters = (struct filters){-1, -1};
	/* Reads in pieces; an incomplete last line is prepended to the next piece. The file lists
	 * all groups of the user. */
	while ((got = read(fd, status + kept, sizeof(status) - 1 - kept)) > 0) {
		const char *line;

		kept += (size_t)got;
		status[kept] = '\0';
		take_number(status, "\nSeccomp:", &ret_filters->mode);
		take_number(status, "\nSeccomp_filters:", &ret_filters->count);
		line = strrchr(status, '\n');
		kept = line ? strlen(line) : kept;
		if (kept > sizeof(status) / 2)
			kept = 0; /* an overlong line contains nothing of interest */
		else if (line)
			memmove(status, line, kept);
	}
	close(fd);
	return true;
}

void handshake_take_own_filters(struct handshake_environment *environment)
{
	struct filters filters = {-1, -1};

	read_filters(&filters);
	environment->is_recorder_filtered = filters.mode > 0;
	environment->recorder_filters = filters.count;
}

/* A filter that the program installed may kill for a socket. An inherited filter is a container's
 * and answers with an error; the recorder has it too. */
bool handshake_may_use_sockets(const struct handshake_environment *environment)
{
	struct filters filters;

	if (!read_filters(&filters))
		return environment->is_recorder_filtered && environment->recorder_filters < 0;
	if (filters.mode <= 0 || filters.count < 0 || environment->recorder_filters < 0)
		return filters.mode == 0 || environment->is_recorder_filtered;
	return filters.count <= environment->recorder_filters;
}

bool handshake_may_read_counter(void)
{
#if defined(__x86_64__)
	int how = PR_TSC_ENABLE;

	return prctl(PR_GET_TSC, &how, 0, 0, 0) < 0 || how != PR_TSC_SIGSEGV;
#else
	return true;
#endif
}

/* ---- the socket ------------------------------------------------------------------------------ */

static int connect_to(const char *name, size_t length)
{
	struct sockaddr_un address;
	socklen_t size = session_address(name, length, &address);
	int fd;

	if (!size)
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, size) == 0) {
		struct ucred peer;
		socklen_t peer_size = sizeof(peer);

		/* Any user can take an abstract name: only our own user or root may read along. */
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 &&
		    (peer.uid == geteuid() || peer.uid == 0))
			return fd;
	}
	close(fd);
	return -1;
}

int handshake_connect(const char *names)
{
	while (*names) {
		size_t length = strcspn(names, ",");
		int fd = connect_to(names, length);

		if (fd >= 0)
			return fd;
		names += length + (names[length] == ',');
	}
	return -1;
}

/* Place 0 and the next ones are the names of our own user, the rest those of root. */
static int connect_place(uid_t uid, uint32_t place)
{
	const unsigned int number = place % SESSION_ANY_NAMES + 1;
	char name[64];
	int length = number == 1 ? snprintf(name, sizeof(name), SESSION_ANY, (unsigned)uid)
				 : snprintf(name, sizeof(name), SESSION_ANY_FURTHER, (unsigned)uid,
					    number);

	return connect_to(name, (size_t)length);
}

/* Names are taken in their order, so the first one without a listener ends a user's. */
int handshake_connect_any(uint32_t *inout_place)
{
	const uid_t uid = geteuid();
	const uint32_t own_places = uid ? SESSION_ANY_NAMES : 0;
	const uint32_t places = own_places + SESSION_ANY_NAMES;

	while (*inout_place < places) {
		const uint32_t place = (*inout_place)++;
		int fd = connect_place(place < own_places ? uid : 0, place);

		if (fd >= 0)
			return fd;
		*inout_place = place < own_places ? own_places : places;
	}
	return -1;
}

bool handshake_wait(int fd, uint32_t wait_ms)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	uint64_t begin_ms = ring_now_ms(), spent_ms = 0;
	int ready;

	do {
		ready = poll(&waiting, 1, (int)(wait_ms - spent_ms));
		spent_ms = ring_now_ms() - begin_ms;
	} while (ready < 0 && errno == EINTR && spent_ms < wait_ms);
	return ready == 1;
}

/* Returns the region's descriptor; -errno. */
static int receive_welcome(int fd, uint32_t wait_ms, struct session_welcome *welcome)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {welcome, sizeof(*welcome)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space,
				 .msg_controllen = sizeof(space)};
	ssize_t got;
	int region_fd;

	if (!handshake_wait(fd, wait_ms))
		return -ETIMEDOUT;
	got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	region_fd = got < 0 ? -1 : descriptor_take(&message);
	if (got == (ssize_t)sizeof(*welcome))
		return region_fd < 0 ? -ENODATA : region_fd;
	if (region_fd >= 0)
		close(region_fd);
	return got > 0 ? -EPROTO : -ECONNREFUSED;
}

/* ---- the mapping ----------------------------------------------------------------------------- */

static bool is_usable(const struct session_welcome *welcome)
{
	return welcome->magic == SESSION_MAGIC && welcome->version == SESSION_VERSION &&
	       welcome->ring_count >= 1 && welcome->ring_count <= 65536 &&
	       welcome->ring_bytes >= 65536 && welcome->ring_bytes <= 1u << 30 &&
	       (welcome->ring_bytes & (welcome->ring_bytes - 1)) == 0;
}

/* Touching memory behind a file's end, or memory that the file's owner has cut off, kills the
 * program. */
static bool is_large_enough(int fd, const struct session_welcome *welcome)
{
	struct stat about;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &about) == 0 &&
	       (uint64_t)about.st_size >=
		       ring_region_bytes(welcome->ring_count, welcome->ring_bytes);
}

/* A program with a limit on its address space keeps most of it. */
static uint32_t affordable_rings(const struct session_welcome *welcome)
{
	uint32_t count = welcome->ring_count;
	struct rlimit space;

	if (getrlimit(RLIMIT_AS, &space) < 0 || space.rlim_cur == RLIM_INFINITY)
		return count;
	while (count > 1 && ring_region_bytes(count, welcome->ring_bytes) > space.rlim_cur / 8)
		count = count / 4 ? count / 4 : 1;
	return count;
}

/* Mapped without access first: otherwise a program under mlockall(MCL_FUTURE) would have a gigabyte
 * of empty rings filled and locked. */
static void *map_unlocked(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
	int error;

	if (memory == MAP_FAILED)
		return memory;
	munlock(memory, bytes);
	if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0)
		return memory;
	error = errno;
	munmap(memory, bytes);
	errno = error;
	return MAP_FAILED;
}

/* Maps as many rings as the program's own limits (ulimit -v) leave room for. */
static int map_rings(int fd, const struct session_welcome *welcome, struct handshake_rings *rings,
		     struct session_attached *attached)
{
	uint32_t count = affordable_rings(welcome);
	void *region = MAP_FAILED;

	if (count < welcome->ring_count)
		attached->error = ENOMEM;
	for (; count > 0; count /= 4) {
		region = map_unlocked(fd, ring_region_bytes(count, welcome->ring_bytes));
		if (region != MAP_FAILED)
			break;
		attached->error = errno;
	}
	if (region == MAP_FAILED)
		return -attached->error;
	*rings = (struct handshake_rings){region, count, welcome->ring_bytes};
	if (rings->region->magic != RING_MAGIC) {
		handshake_rings_close(rings);
		return -EPROTO;
	}
	if (!handshake_may_read_counter()) {
		handshake_rings_close(rings);
		attached->error = EOPNOTSUPP;
		return -EOPNOTSUPP;
	}
	/* A child must not keep half a gigabyte of its parent's rings alive. */
	madvise(region, ring_region_bytes(count, welcome->ring_bytes), MADV_DONTFORK);
	madvise(region, ring_region_bytes(count, welcome->ring_bytes), MADV_DONTDUMP);
	attached->ring_count = count;
	return 0;
}

void handshake_rings_close(struct handshake_rings *rings)
{
	if (rings->region)
		munmap(rings->region, ring_region_bytes(rings->ring_count, rings->ring_bytes));
	*rings = (struct handshake_rings){0};
}

int handshake_say_hello(int fd, const char *guest)
{
	struct session_hello hello = {
		.magic = SESSION_MAGIC,
		.version = SESSION_VERSION,
		.pid = (uint32_t)getpid(),
	};

	memcpy(hello.guest, guest, strnlen(guest, sizeof(hello.guest) - 1));
	return send(fd, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) ==
			       (ssize_t)sizeof(hello)
		       ? 0
		       : -ECONNREFUSED;
}

int handshake_rings_open(int fd, uint32_t wait_ms, struct handshake_rings *ret_rings)
{
	struct session_attached attached = {.magic = SESSION_MAGIC};
	struct session_welcome welcome;
	int region_fd, error = -EPROTO;

	region_fd = receive_welcome(fd, wait_ms, &welcome);
	if (region_fd < 0)
		return region_fd;
	if (is_usable(&welcome) && is_large_enough(region_fd, &welcome))
		error = map_rings(region_fd, &welcome, ret_rings, &attached);
	send(fd, &attached, sizeof(attached), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(region_fd);
	return error;
}
