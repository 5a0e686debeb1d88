/* SPDX-License-Identifier: MIT
 *
 * inject/guest.c - attach to a recorder, give each thread a ring, survive fork and exit
 *
 * Runs in:  the profiled process, in the first call of a process or thread; never on the hot path
 * Gets:     DUET_SESSION as it was at the first call, or the machine-wide recorder's name
 * Gives:    guest_enter's answer
 * Owns:     the mapping of the region, the array of guest_threads, one pthread key
 * Fails:    by going idle; what the recorder should know is counted in the region or sent in the farewell
 * Why:      no thread and no lock of ours in the program: one idle second thread made a blocking 4-byte
 *           read twice as slow. The mode lives on a page that the kernel wipes on fork (raw clone
 *           included), so a child never writes into its parent's rings and pays nothing until it has
 *           something to say: 5000 short forks attach nothing.
 */
#include "inject/guest.h"
#include "inject/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "ring/session.h"

enum {
	WELCOME_WAIT_MS = 250, /* a stopped recorder delays the program's first call by this much */
	LOOK_INTERVAL_MS = 1000, /* between two looks for a recorder */
	STALLS_MOST = 6,
	STALL_INTERVAL_MS =
		16000, /* … after it did not answer, and twice as long each further time */
	CALLS_BETWEEN_CLAIMS = 1000,
	LOCK_PATIENCE_MS = 1000 /* then the record of what the lock guards is lost, and counted */
};

struct guest_page guest_page;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t guest_patience __attribute__((tls_model("initial-exec")));

/* Never changed once it is made: a thread that works with the one before it does so to the end. */
struct attachment {
	struct attachment *older;
	struct ring_region
		*region; /* owned; stays mapped until the process ends: threads may be inside */
	struct guest_thread *threads;
	uint32_t ring_count, ring_bytes;
	uint32_t mode;
};

static struct guest {
	struct guest_lock lock;
	struct attachment *_Atomic attachment;
	uint32_t attachments; /* so far, those of parents before a fork included */
	uint32_t stalls;      /* recorders in a row that did not answer */
	_Atomic uint64_t next_look_ms;
	bool is_started; /* in this process or a parent of it */
	pthread_key_t key;
	bool key_made, is_wiped;
	_Atomic bool exit_hooked;
	struct guest_backend backend;
	/* From the environment, once: the program may change it while another thread looks. */
	char names[256];       /* "": not set */
	long recorder_filters; /* seccomp filters that the recorder has too; -1: not known */
	bool is_recorder_filtered;
	bool talks; /* DUET_DEBUG */
} guest;

void guest_init(const struct guest_backend *backend)
{
	const char *names = getenv(SESSION_VARIABLE), *mode = getenv(SESSION_SECCOMP_VARIABLE);

	guest.backend = *backend;
	if (names && strlen(names) < sizeof(guest.names))
		memcpy(guest.names, names, strlen(names) + 1);
	guest.is_recorder_filtered = mode && mode[0] != '0';
	guest.recorder_filters =
		mode && mode[0] && mode[1] == ':' ? strtol(mode + 2, NULL, 10) : -1;
	guest.talks = getenv("DUET_DEBUG") != NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* A holder that was preempted comes back when the scheduler lets it: a yield is not enough for that where
 * many threads run (5 of 38 commands were lost with 8 threads on 2 busy cores), so the others sleep. One
 * that a signal handler on this very thread interrupted never comes back: the lock says whose it is. */
bool guest_lock(struct guest_lock *lock)
{
	static const struct timespec nap = {0, 50000};
	const int saved = errno;
	const uint32_t self = (uint32_t)((uintptr_t)&guest_patience >> 2) | 1;
	uint64_t end_ms = 0;

	for (uint32_t tries = 1;; tries++) {
		uint32_t holder = 0;

		if (atomic_compare_exchange_weak_explicit(&lock->taken, &holder, self,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
		if (holder == self)
			return false;
		if (tries % 50 != 0)
			continue;
		if (tries <= 200) {
			sched_yield();
			continue;
		}
		if (!end_ms)
			end_ms = now_ms() + LOCK_PATIENCE_MS;
		else if (now_ms() >= end_ms)
			return false;
		/* Not the library's, in which a thread may be cancelled. */
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
		errno = saved;
	}
}

void *guest_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Only where DUET_DEBUG asks for it: a guest has no voice of its own. */
static void debug(const char *what)
{
	char line[128];
	int length;

	if (!guest.talks)
		return;
	length = snprintf(line, sizeof(line), "duet guest %d: %s\n", (int)getpid(), what);
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

static bool is_recording(void)
{
	return atomic_load_explicit(&guest_page.mode, memory_order_acquire) >= GUEST_RECORDING;
}

static void set_mode(uint32_t mode)
{
	atomic_store_explicit(&guest_page.mode, mode, memory_order_release);
}

void guest_trouble(enum ring_trouble trouble)
{
	struct attachment *attachment = atomic_load(&guest.attachment);

	/* In a child the region is not mapped. */
	if (is_recording() && attachment)
		atomic_fetch_add_explicit(&attachment->region->trouble[trouble], 1,
					  memory_order_relaxed);
}

void guest_python_unknown(const char *version)
{
	struct attachment *attachment = atomic_load(&guest.attachment);

	if (is_recording() && attachment)
		memcpy(attachment->region->python_unknown, version,
		       strnlen(version, RING_PYTHON_BYTES - 1));
	guest_trouble(RING_TROUBLE_PYTHON_UNKNOWN);
}

void guest_missed(enum ring_trouble trouble)
{
	guest_trouble(trouble);
}

bool guest_still_recording(void)
{
	uint32_t mode = atomic_load_explicit(&guest_page.mode, memory_order_acquire);
	struct attachment *attachment = atomic_load(&guest.attachment);
	uint64_t beat_ms;

	if (mode < GUEST_RECORDING || !attachment)
		return false;
	if (attachment->mode != mode)
		return true; /* another thread attaches just now */
	beat_ms =
		atomic_load_explicit(&attachment->region->beat_ns, memory_order_relaxed) / 1000000u;
	if (atomic_load_explicit(&attachment->region->enabled, memory_order_relaxed) &&
	    now_ms() < beat_ms + RING_SILENT_MS)
		return true;
	/* Unless another thread has found a new recorder meanwhile. */
	atomic_compare_exchange_strong(&guest_page.mode, &mode, GUEST_IDLE);
	return false;
}

/* ---- the socket -------------------------------------------------------------------------------- */

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

		/* An abstract name is anybody's to take: only our own user or root may read along. */
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 &&
		    (peer.uid == geteuid() || peer.uid == 0))
			return fd;
	}
	close(fd);
	return -1;
}

static int connect_named(const char *names)
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

static int connect_any(void)
{
	uid_t uids[2] = {geteuid(), 0};

	for (int i = 0; i < (uids[0] == 0 ? 1 : 2); i++) {
		char name[64];
		int length = snprintf(name, sizeof(name), SESSION_ANY, (unsigned)uids[i]);
		int fd = connect_to(name, (size_t)length);

		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* The program's own signals (a profiler's SIGPROF, a timer) may interrupt the wait, not end it. */
static bool wait_readable(int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	uint64_t begin_ms = now_ms(), spent_ms = 0;
	int ready;

	do {
		ready = poll(&waiting, 1, (int)(WELCOME_WAIT_MS - spent_ms));
		spent_ms = now_ms() - begin_ms;
	} while (ready < 0 && errno == EINTR && spent_ms < WELCOME_WAIT_MS);
	return ready == 1;
}

/* The descriptor that came along. A message may carry more than was asked for: none stays open. */
static int take_descriptor(struct msghdr *message)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(message);
	int taken = -1;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return -1;
	for (size_t at = CMSG_LEN(0); at + sizeof(int) <= head->cmsg_len; at += sizeof(int)) {
		int fd;

		memcpy(&fd, (char *)head + at, sizeof(fd));
		if (taken < 0)
			taken = fd;
		else
			close(fd);
	}
	return taken;
}

static int receive_welcome(int fd, struct session_welcome *welcome)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {welcome, sizeof(*welcome)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space,
				 .msg_controllen = sizeof(space)};
	ssize_t got;
	int region_fd;

	if (!wait_readable(fd))
		return -1;
	got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	region_fd = got < 0 ? -1 : take_descriptor(&message);
	if (got != (ssize_t)sizeof(*welcome) && region_fd >= 0) {
		close(region_fd);
		return -1;
	}
	return region_fd;
}

/* ---- the mapping ------------------------------------------------------------------------------- */

static bool is_usable(const struct session_welcome *welcome)
{
	return welcome->magic == SESSION_MAGIC && welcome->version == SESSION_VERSION &&
	       welcome->ring_count >= 1 && welcome->ring_count <= 65536 &&
	       welcome->ring_bytes >= 65536 && welcome->ring_bytes <= 1u << 30 &&
	       (welcome->ring_bytes & (welcome->ring_bytes - 1)) == 0;
}

/* Touching what lies behind a file's end, or what its owner has cut off since, would kill the program. */
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

/* Mapped without access first: a program under mlockall(MCL_FUTURE) would else have a gigabyte of empty
 * rings filled and locked. */
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
static int map_rings(int fd, const struct session_welcome *welcome,
		     struct session_attached *attached)
{
	uint32_t count = affordable_rings(welcome);
	struct guest_thread *threads = NULL;
	struct attachment *attachment;
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
		return -1;
	/* In one piece with the threads. */
	attachment = guest_memory(sizeof(*attachment) + count * sizeof(*threads));
	if (!attachment || ((struct ring_region *)region)->magic != RING_MAGIC) {
		munmap(region, ring_region_bytes(count, welcome->ring_bytes));
		if (attachment)
			munmap(attachment, sizeof(*attachment) + count * sizeof(*threads));
		return -1;
	}
	threads = (struct guest_thread *)(attachment + 1);
	/* A child must not keep half a gigabyte of somebody's rings alive. */
	madvise(region, ring_region_bytes(count, welcome->ring_bytes), MADV_DONTFORK);
	madvise(region, ring_region_bytes(count, welcome->ring_bytes), MADV_DONTDUMP);
	*attachment = (struct attachment){
		.older = atomic_load(&guest.attachment),
		.region = region,
		.threads = threads,
		.ring_count = count,
		.ring_bytes = welcome->ring_bytes,
		.mode = GUEST_RECORDING + ++guest.attachments,
	};
	atomic_store(&guest.attachment, attachment);
	attached->ring_count = count;
	return 0;
}

static bool shake_hands(int fd)
{
	struct session_hello hello = {
		.magic = SESSION_MAGIC,
		.version = SESSION_VERSION,
		.pid = (uint32_t)getpid(),
	};
	struct session_attached attached = {.magic = SESSION_MAGIC};
	struct session_welcome welcome;
	int region_fd = -1;
	uint64_t begin_ms;

	memcpy(hello.guest, guest.backend.name, sizeof(hello.guest));
	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(hello))
		return false;
	begin_ms = now_ms();
	region_fd = receive_welcome(fd, &welcome);
	/* One that says no, or hangs up, costs nothing. */
	if (region_fd >= 0 || now_ms() - begin_ms < WELCOME_WAIT_MS / 2)
		guest.stalls = 0;
	else if (guest.stalls < STALLS_MOST)
		guest.stalls++;
	if (region_fd < 0)
		return false;
	if (is_usable(&welcome) && is_large_enough(region_fd, &welcome))
		map_rings(region_fd, &welcome, &attached);
	send(fd, &attached, sizeof(attached), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(region_fd);
	return attached.ring_count > 0;
}

static bool read_small(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* The number behind a name in a status file; -1: there is none. */
static long number_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtol(line + strlen(name), NULL, 10) : -1;
}

/* A filter that the program put on itself may kill for a socket. One it was born with is a container's, and
 * answers with an error; the recorder has it too. */
static bool may_use_sockets(void)
{
	char status[4096];
	long mode, filters;

	/* Read, not asked for with prctl, which a filter may kill for: files are read by every driver. */
	if (!read_small("/proc/thread-self/status", status, sizeof(status)))
		return guest.is_recorder_filtered && guest.recorder_filters < 0;
	mode = number_of(status, "\nSeccomp:");
	filters = number_of(status, "\nSeccomp_filters:");
	if (mode <= 0 || filters < 0 || guest.recorder_filters < 0)
		return mode == 0 || guest.is_recorder_filtered;
	return filters <= guest.recorder_filters;
}

/* ---- process and thread lifetime --------------------------------------------------------------- */

static void on_thread_exit(void *value)
{
	struct guest_thread *thread = value;

	guest_self = NULL;
	/* After a fork the ring is the parent's and no longer mapped here. */
	if (thread->mode == atomic_load_explicit(&guest_page.mode, memory_order_acquire))
		ring_close(&thread->writer);
}

static void on_exit_of_process(void)
{
	if (is_recording() && guest.backend.at_exit)
		guest.backend.at_exit();
}

void guest_hook_exit(void)
{
	if (!atomic_exchange(&guest.exit_hooked, true))
		atexit(on_exit_of_process);
}

static void start_fresh(void)
{
	atomic_store(&guest_page.locks, GUEST_LOCKS_COPIED);
	set_mode(GUEST_FRESH);
}

/* A handler that interrupts us and forks returns, in the child, into the writing of a record. The rings are not
 * there: memory of the child's own takes the rest of it. */
static void after_fork_in_child(void)
{
	const struct attachment *attachment = atomic_load(&guest.attachment);

	libraries_after_fork_in_child();
	for (; attachment; attachment = attachment->older)
		mmap(attachment->region,
		     ring_region_bytes(attachment->ring_count, attachment->ring_bytes),
		     PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (!guest.is_wiped)
		start_fresh();
}

static void prepare_process(void)
{
	/* Kernels before 4.14 cannot wipe; there a child made by fork() is still told, one made by a raw
	 * clone is not. */
	libraries_prepare();
	guest.is_wiped = madvise(&guest_page, sizeof(guest_page), MADV_WIPEONFORK) == 0;
	if (guest.key_made)
		return;
	pthread_atfork(libraries_before_fork, libraries_after_fork, after_fork_in_child);
	guest.key_made = pthread_key_create(&guest.key, on_thread_exit) == 0;
}

static bool attach(void)
{
	bool attached;
	int fd;

	if (getauxval(AT_SECURE)) {
		debug("off: this program runs with another user's rights");
		set_mode(GUEST_OFF);
		return false;
	}
	if (!may_use_sockets()) {
		debug("idle: the program has a seccomp filter of its own");
		return false;
	}
	fd = connect_named(guest.names);
	if (fd < 0)
		fd = connect_any();
	if (fd < 0) {
		debug("idle: no recorder");
		return false;
	}
	attached = shake_hands(fd);
	close(fd);
	debug(attached ? "attached" : "idle: the recorder gave no rings");
	return attached;
}

/* A recorder that is stopped costs each look the time of waiting for it. */
static uint64_t look_interval_ms(void)
{
	return guest.stalls ? (uint64_t)STALL_INTERVAL_MS << (guest.stalls - 1) : LOOK_INTERVAL_MS;
}

/* Under the lock. After a fork everything but the page is a copy of the parent's state. */
static void try_to_attach(void)
{
	bool attached;

	prepare_process();
	guest_self = NULL;
	guest_patience = 0;
	attached = attach();
	guest.next_look_ms = now_ms() + look_interval_ms();
	if (attached)
		set_mode(atomic_load(&guest.attachment)->mode);
	else if (atomic_load(&guest_page.mode) != GUEST_OFF)
		set_mode(GUEST_IDLE);
}

static void renew_thread(struct guest_thread *thread, const struct attachment *attachment,
			 const struct ring_writer *writer, size_t index)
{
	thread->writer = *writer;
	thread->mode = attachment->mode;
	thread->clock = attachment->region->clock;
	thread->options = attachment->region->options;
	thread->correlation |= (uint64_t)index << 40; /* kept from the ring's earlier thread */
	thread->stack_hash = 0;
	thread->unwind.low = thread->unwind.high = 0;
	thread->unwind.count = 0;
	thread->unwind.busy = false;
}

static struct guest_thread *claim_ring(void)
{
	const struct attachment *attachment = atomic_load(&guest.attachment);
	struct ring_writer writer;
	struct guest_thread *thread;
	size_t index;

	/* Looking through all rings costs a microsecond: not in every call of a thread that found none. */
	if (guest_patience) {
		guest_patience--;
		return NULL;
	}
	if (!attachment ||
	    !atomic_load_explicit(&attachment->region->enabled, memory_order_relaxed) ||
	    !ring_claim(attachment->region, attachment->ring_count, attachment->ring_bytes,
			(uint32_t)syscall(SYS_gettid), &writer)) {
		guest_patience = CALLS_BETWEEN_CLAIMS;
		return NULL;
	}
	index = ((uint8_t *)writer.control - (uint8_t *)attachment->region) /
		ring_slot_bytes(attachment->ring_bytes);
	thread = &attachment->threads[index];
	renew_thread(thread, attachment, &writer, index);
	if (guest.key_made)
		pthread_setspecific(guest.key, thread);
	guest_self = thread;
	return thread;
}

/* False while another thread resets the locks. */
static bool reset_after_fork(void)
{
	uint32_t copied = GUEST_LOCKS_COPIED;

	if (atomic_load(&guest_page.locks) == GUEST_LOCKS_OWN)
		return true;
	if (!atomic_compare_exchange_strong(&guest_page.locks, &copied, GUEST_LOCKS_IN_RESET))
		return false;
	/* In the first process of all, other threads may hold locks by right. */
	if (guest.is_started) {
		atomic_store(&guest.lock.taken, 0);
		atomic_store(&guest.attachment, NULL);
		if (guest.backend.on_fork)
			guest.backend.on_fork();
	}
	guest.is_started = true;
	atomic_store(&guest_page.locks, GUEST_LOCKS_OWN);
	return true;
}

struct guest_thread *guest_enter_slow(void)
{
	int saved = errno, cancel;
	struct guest_thread *thread = NULL;

	/* A thread that is cancelled inside would take the lock with it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (atomic_load_explicit(&guest_page.mode, memory_order_acquire) == GUEST_FRESH &&
	    reset_after_fork() && guest_lock(&guest.lock)) {
		if (atomic_load(&guest_page.mode) == GUEST_FRESH)
			try_to_attach();
		guest_unlock(&guest.lock);
	}
	if (is_recording() && guest_still_recording())
		thread = claim_ring();
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return thread;
}

void guest_look_for_recorder(void)
{
	int saved = errno, cancel;

	guest_still_recording();
	if (atomic_load_explicit(&guest_page.mode, memory_order_relaxed) != GUEST_IDLE ||
	    now_ms() < atomic_load(&guest.next_look_ms))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (guest_lock(&guest.lock)) {
		if (atomic_load(&guest_page.mode) == GUEST_IDLE && now_ms() >= guest.next_look_ms)
			try_to_attach();
		guest_unlock(&guest.lock);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}
