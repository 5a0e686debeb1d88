/* SPDX-License-Identifier: MIT
 *
 * collect/guest/attach.c - the sockets to which guests connect: listen, check the caller's first
 * message (its hello), send it its rings
 *
 * Runs in:  the recorder
 * Gets:     connections of guests
 * Gives:    hellos, each with the pid and uid that the kernel reports for the connection
 * Owns:     the listening sockets, their folder, connections that have not said hello yet
 * Fails:    opening returns -errno; a connection that sends anything but a hello is closed
 * Why:      Each recorder listens on two addresses, a path and an abstract name, because containers
 *           do not share every path, and network namespaces do not share abstract names. The pid
 *           comes from SO_PEERCRED, which the kernel translates into our pid namespace; the guest
 *           knows only the pid of its own namespace. The kernel reuses pids, so the recorder holds
 *           the process by a pidfd that it opens while the connection exists.
 */
#include "collect/guest/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "ring/descriptor.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

#define FOLDER_NAME "duet-"

static int open_at(const char *name, bool listens)
{
	struct sockaddr_un address;
	socklen_t size = session_address(name, strlen(name), &address);
	int fd, error;

	if (!size)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, size) == 0 &&
	    (!listens || listen(fd, ATTACH_BACKLOG) == 0))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int listen_at(const char *name)
{
	return open_at(name, true);
}

/* For the program of another user, root ignores XDG_RUNTIME_DIR and TMPDIR, because they may be set
 * for that user. */
static const char *folder_for_sockets(bool for_other)
{
	const char *folder = for_other ? "/run" : getenv("XDG_RUNTIME_DIR");

	if (!folder || access(folder, W_OK) < 0)
		folder = for_other ? NULL : getenv("TMPDIR");
	return folder && access(folder, W_OK) == 0 && strlen(folder) < 64 ? folder : "/tmp";
}

/* Whether no process listens at the socket of a folder. */
static bool is_deserted(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_refused;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	is_refused = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
		     errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return is_refused;
}

/* Removes the folder of a recorder that was killed. A recorder locks its folder before it binds the
 * socket, so a folder with a socket and without a lock has no recorder. Recorders of older versions
 * do not lock but listen. */
static void remove_deserted(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat about, socket_about;

	if (fd < 0)
		return;
	if (fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
	    fstatat(fd, "socket", &socket_about, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISSOCK(socket_about.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    is_deserted(folder)) {
		unlinkat(fd, "socket", 0);
		rmdir(folder);
	}
	close(fd);
}

/* Removes what earlier recorders of this user left behind. */
static void sweep_folders(const char *parent)
{
	DIR *entries = opendir(parent);
	const struct dirent *entry;
	char folder[96];

	while (entries && (entry = readdir(entries)))
		if (strncmp(entry->d_name, FOLDER_NAME, strlen(FOLDER_NAME)) == 0 &&
		    strlen(entry->d_name) == strlen(FOLDER_NAME "XXXXXX")) {
			snprintf(folder, sizeof(folder), "%.64s/%.12s", parent, entry->d_name);
			remove_deserted(folder);
		}
	if (entries)
		closedir(entries);
}

static int make_folder(struct attach *attach, bool for_other)
{
	const char *parent = folder_for_sockets(for_other);

	sweep_folders(parent);
	snprintf(attach->folder, sizeof(attach->folder), "%s/" FOLDER_NAME "XXXXXX", parent);
	if (!mkdtemp(attach->folder)) {
		attach->folder[0] = '\0';
		return -errno;
	}
	attach->folder_fd = open(attach->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (attach->folder_fd < 0)
		return -errno;
	/* A file system without locks only keeps its folders. */
	flock(attach->folder_fd, LOCK_EX | LOCK_NB);
	return 0;
}

/* Only the owner may connect, whatever the umask is. For another user's program the socket gets
 * that user as its owner. The folder stays ours and may only be passed through, so the user cannot
 * replace the socket by a link. */
static int give_socket(const struct attach *attach, uid_t owner, gid_t group, bool for_other)
{
	if (fchmodat(attach->folder_fd, "socket", 0600, 0) < 0)
		return -errno;
	if (for_other &&
	    (fchownat(attach->folder_fd, "socket", owner, group, AT_SYMLINK_NOFOLLOW) < 0 ||
	     fchmod(attach->folder_fd, 0711) < 0))
		return -errno;
	return 0;
}

static int listen_at_path(struct attach *attach, uid_t owner, gid_t group)
{
	bool for_other = owner != geteuid();
	int fd, error = make_folder(attach, for_other);
	char path[160];

	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/socket", attach->folder);
	fd = listen_at(path);
	error = fd < 0 ? fd : give_socket(attach, owner, group, for_other);
	if (error) {
		if (fd >= 0)
			close(fd);
		return error;
	}
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

/* Returns the process that listens at a name; pid 0: none answers. The kernel reports it to a
 * process that connects. */
static struct ucred holder_of(const char *name)
{
	struct sockaddr_un address;
	socklen_t size = session_address(name, strlen(name), &address), peer_size;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = {0};

	peer_size = sizeof(peer);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) < 0)
		peer.pid = 0;
	if (fd >= 0)
		close(fd);
	return peer;
}

/* Sets the error for a machine-wide name that is in use. */
static int name_taken(const char *name)
{
	const struct ucred peer = holder_of(name);

	if (!peer.pid)
		return error_set(-EADDRINUSE,
				 "the socket name %s of machine-wide recordings is in use by a "
				 "process that does not answer; ss -xlp shows which",
				 name);
	if (peer.uid == geteuid())
		return error_set(-EADDRINUSE,
				 "%d machine-wide recordings are running, the last one in process "
				 "%d (duet record -a or -p, or programs that record themselves). "
				 "Programs of this user look for no more; end one of them first",
				 SESSION_ANY_NAMES, (int)peer.pid);
	return error_set(
		-EADDRINUSE,
		"process %d of user %u uses the socket name %s of machine-wide recordings. It is "
		"not a recorder that programs would trust; end that process",
		(int)peer.pid, (unsigned)peer.uid, name);
}

void attach_init(struct attach *attach)
{
	*attach = (struct attach){
		.listeners = {-1, -1, -1}, .folder_fd = -1, .max_descriptors = INT32_MAX};
}

enum { ANY_NAME_BYTES = 64 };

static const char *any_name(const struct attach *attach, char name[ANY_NAME_BYTES],
			    unsigned int number)
{
	const unsigned int uid = (unsigned int)attach->opener;

	if (number == 1)
		snprintf(name, ANY_NAME_BYTES, SESSION_ANY, uid);
	else
		snprintf(name, ANY_NAME_BYTES, SESSION_ANY_FURTHER, uid, number);
	return name;
}

static void open_any(struct attach *attach, unsigned int number)
{
	char name[ANY_NAME_BYTES];

	attach->listeners[2] = open_at(any_name(attach, name, number), false);
	attach->any_number = attach->listeners[2] < 0 ? 0 : number;
}

void attach_move_up(struct attach *attach)
{
	char name[ANY_NAME_BYTES];

	for (unsigned int number = 1; number < attach->any_number; number++) {
		int fd = open_at(any_name(attach, name, number), true);

		if (fd < 0)
			continue;
		close(attach->listeners[2]);
		attach->listeners[2] = fd;
		attach->any_number = number;
	}
}

int attach_open(struct attach *attach, bool any, uid_t owner, gid_t group)
{
	struct rlimit descriptors;
	char name[ANY_NAME_BYTES];
	unsigned int number;
	struct ucred peer;

	attach_init(attach);
	attach->uid = owner;
	attach->opener = geteuid();
	if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < INT32_MAX)
		attach->max_descriptors = (int)descriptors.rlim_cur;
	attach->listeners[0] = listen_at_path(attach, owner, group);
	attach->listeners[1] = listen_abstract(attach);
	if (attach->listeners[0] < 0 && attach->listeners[1] < 0)
		return error_set(attach->listeners[1], "cannot open a socket for guests: %s",
				 strerror(-attach->listeners[1]));
	if (!any)
		return 0;
	/* Guests go on to the next name only if a recorder that they trust has refused them. */
	for (number = 1; number <= SESSION_ANY_NAMES; number++) {
		open_any(attach, number);
		if (attach->listeners[2] != -EADDRINUSE)
			break;
		peer = holder_of(any_name(attach, name, number));
		/* A recorder that starts at this moment does not answer yet. */
		if (number == SESSION_ANY_NAMES || (peer.pid && peer.uid != attach->opener))
			return name_taken(name);
	}
	if (attach->listeners[2] < 0)
		return error_set(attach->listeners[2], "cannot open the machine-wide socket: %s",
				 strerror(-attach->listeners[2]));
	return 0;
}

void attach_begin(const struct attach *attach)
{
	if (attach->listeners[2] >= 0)
		listen(attach->listeners[2], ATTACH_BACKLOG);
}

void attach_close(struct attach *attach)
{
	for (int i = 0; i < ATTACH_LISTENERS; i++)
		if (attach->listeners[i] >= 0)
			close(attach->listeners[i]);
	for (size_t i = 0; i < attach->pending_count; i++)
		close(attach->pending[i]);
	if (attach->folder_fd >= 0) {
		unlinkat(attach->folder_fd, "socket", 0);
		close(attach->folder_fd);
	}
	if (attach->folder[0])
		rmdir(attach->folder);
	attach_init(attach);
}

size_t attach_poll(const struct attach *attach, struct pollfd *entries)
{
	size_t count = 0;

	for (int i = 0; i < ATTACH_LISTENERS; i++)
		if (attach->listeners[i] >= 0 && !attach->is_resting)
			entries[count++] =
				(struct pollfd){.fd = attach->listeners[i], .events = POLLIN};
	for (size_t i = 0; i < attach->pending_count; i++)
		entries[count++] = (struct pollfd){.fd = attach->pending[i], .events = POLLIN};
	return count;
}

void attach_rest(struct attach *attach)
{
	attach->is_resting = true;
}

void attach_resume(struct attach *attach)
{
	attach->is_resting = false;
}

static bool has_hung_up(int fd)
{
	struct pollfd connection = {.fd = fd, .events = POLLIN | POLLRDHUP};

	return poll(&connection, 1, 0) < 0 || connection.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

/* Opens a pidfd for the peer. -1: this kernel has no pidfds; -2: the process is gone. Without
 * SO_PEERPIDFD the pidfd is opened by number. That is safe while the connection is open, because
 * the peer is then alive and its pid is not reused. */
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
	/* The abstract name is visible to every user. Only root's machine-wide recorder accepts all
	 * users. */
	return peer->uid == attach->uid || peer->uid == attach->opener ||
	       (attach->opener == 0 && attach->listeners[2] >= 0);
}

static bool check_user(struct attach *attach, const struct ucred *peer)
{
	if (is_welcome(attach, peer))
		return true;
	if (!attach->foreign.pid)
		attach->foreign = *peer;
	return false;
}

/* 1: a hello was read; 0: no data yet; -1: close the connection. */
static int read_hello(struct attach *attach, int fd, struct attach_hello *hello)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	ssize_t got = recv(fd, &hello->hello, sizeof(hello->hello), MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got != (ssize_t)sizeof(hello->hello) || hello->hello.magic != SESSION_MAGIC ||
	    hello->hello.version != SESSION_VERSION ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0 ||
	    !check_user(attach, &peer))
		return -1;
	hello->pid_fd = open_process(fd, peer.pid);
	if (hello->pid_fd < -1) {
		attach->late++;
		return -1;
	}
	hello->hello.guest[sizeof(hello->hello.guest) - 1] = '\0';
	hello->fd = fd;
	hello->pid = peer.pid;
	hello->uid = peer.uid;
	return 1;
}

static void forget_pending(struct attach *attach, size_t index)
{
	attach->pending_count--;
	memmove(attach->pending + index, attach->pending + index + 1,
		(attach->pending_count - index) * sizeof(attach->pending[0]));
}

/* Reads from connections that were accepted earlier. True: one of them said hello. */
static bool read_pending(struct attach *attach, struct attach_hello *ret_hello)
{
	struct pollfd entries[ATTACH_PENDING];

	for (size_t i = 0; i < attach->pending_count; i++)
		entries[i] = (struct pollfd){.fd = attach->pending[i], .events = POLLIN};
	if (!attach->pending_count || poll(entries, attach->pending_count, 0) <= 0)
		return false;
	for (size_t i = attach->pending_count; i-- > 0;) {
		int result = entries[i].revents ? read_hello(attach, entries[i].fd, ret_hello) : 0;

		if (result)
			forget_pending(attach, i);
		if (result < 0)
			close(entries[i].fd);
		if (result > 0)
			return true;
	}
	return false;
}

/* Keeps a connection that has not said hello yet. When the table is full, the oldest one is closed,
 * so that idle connections cannot keep guests out. True: the oldest one said hello at the last
 * moment. */
static bool keep_pending(struct attach *attach, int fd, struct attach_hello *ret_hello)
{
	int result = 0, oldest;

	if (attach->pending_count == ATTACH_PENDING) {
		oldest = attach->pending[0];
		result = read_hello(attach, oldest, ret_hello);
		forget_pending(attach, 0);
		if (result <= 0)
			close(oldest);
		attach->evicted += result == 0;
	}
	attach->pending[attach->pending_count++] = fd;
	return result > 0;
}

/* Accepts one connection. True: it said hello. */
static bool take_in(struct attach *attach, int fd, struct attach_hello *ret_hello)
{
	int result;

	/* No room: closing refuses the guest at once, so it does not wait for its timeout. */
	if (fd >= attach->max_descriptors - ATTACH_SPARE) {
		close(fd);
		attach->turned_away++;
		return false;
	}
	/* A guest says hello right after connecting, so the first read usually finds it. */
	result = read_hello(attach, fd, ret_hello);
	if (result == 0)
		return keep_pending(attach, fd, ret_hello);
	if (result < 0)
		close(fd);
	return result > 0;
}

static bool accept_from(struct attach *attach, int listener, struct attach_hello *ret_hello)
{
	int fd;

	/* The number of accepts is limited, because the rings of other guests must be read. */
	for (int i = 0; i < ATTACH_PENDING; i++) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			break;
		if (take_in(attach, fd, ret_hello))
			return true;
		errno = 0;
	}
	/* The connection stays in the backlog. It would wake the recorder again at once, so it
	 * stops polling until attach_resume. */
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		attach->turned_away++;
		attach_rest(attach);
	}
	return false;
}

bool attach_next(struct attach *attach, struct attach_hello *ret_hello)
{
	if (read_pending(attach, ret_hello))
		return true;
	for (int i = 0; i < ATTACH_LISTENERS && !attach->is_resting; i++)
		if (attach->listeners[i] >= 0 &&
		    accept_from(attach, attach->listeners[i], ret_hello))
			return true;
	return false;
}

int attach_answer(int fd, uint32_t ring_count, uint32_t ring_bytes, int region_fd)
{
	const struct session_welcome welcome = {SESSION_MAGIC, SESSION_VERSION, ring_count,
						ring_bytes};

	return descriptor_send(fd, &welcome, sizeof(welcome), region_fd) ? 0 : -errno;
}
