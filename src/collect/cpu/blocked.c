/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/blocked.c - where a thread that is blocked waits
 *
 * Runs in:  the recorder
 * Gets:     a thread   Gives: its place and a copy of its stack
 * Owns:     files of /proc that the caller lets it keep open
 * Fails:    with false
 * Why:      an event of the kernel for each switch could give the stack too, but only to root, and at 16 KiB for
 *           each of 10^5 switches a second. A stack does not change while its thread is blocked: one look at
 *           whoever is found waiting tells the long waits exactly and the short ones in proportion.
 */
#include "collect/cpu/blocked.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/cpu/perf_rights.h"

enum { PAGE_BYTES = 4096, PAGES = BLOCKED_STACK_BYTES / PAGE_BYTES + 1 };

/* Calls in which threads wait, by this machine's numbers. */
static const struct {
	int32_t number;
	const char *name;
} calls[] = {
	{SYS_accept, "accept"},
	{SYS_accept4, "accept4"},
	{SYS_clock_nanosleep, "clock_nanosleep"},
	{SYS_connect, "connect"},
	{SYS_copy_file_range, "copy_file_range"},
	{SYS_epoll_pwait, "epoll_pwait"},
	{SYS_fallocate, "fallocate"},
	{SYS_fcntl, "fcntl"},
	{SYS_fdatasync, "fdatasync"},
	{SYS_flock, "flock"},
	{SYS_fsync, "fsync"},
	{SYS_ftruncate, "ftruncate"},
	{SYS_futex, "futex"},
	{SYS_io_getevents, "io_getevents"},
	{SYS_io_uring_enter, "io_uring_enter"},
	{SYS_ioctl, "ioctl"},
	{SYS_madvise, "madvise"},
	{SYS_mmap, "mmap"},
	{SYS_mprotect, "mprotect"},
	{SYS_mremap, "mremap"},
	{SYS_msgrcv, "msgrcv"},
	{SYS_msgsnd, "msgsnd"},
	{SYS_msync, "msync"},
	{SYS_munmap, "munmap"},
	{SYS_nanosleep, "nanosleep"},
	{SYS_openat, "openat"},
	{SYS_ppoll, "ppoll"},
	{SYS_pread64, "pread64"},
	{SYS_preadv, "preadv"},
	{SYS_pselect6, "pselect6"},
	{SYS_pwrite64, "pwrite64"},
	{SYS_pwritev, "pwritev"},
	{SYS_read, "read"},
	{SYS_readv, "readv"},
	{SYS_recvfrom, "recvfrom"},
	{SYS_recvmmsg, "recvmmsg"},
	{SYS_recvmsg, "recvmsg"},
	{SYS_restart_syscall, "restart_syscall"},
	{SYS_rt_sigsuspend, "rt_sigsuspend"},
	{SYS_rt_sigtimedwait, "rt_sigtimedwait"},
	{SYS_sched_yield, "sched_yield"},
	{SYS_semop, "semop"},
	{SYS_semtimedop, "semtimedop"},
	{SYS_sendfile, "sendfile"},
	{SYS_sendmmsg, "sendmmsg"},
	{SYS_sendmsg, "sendmsg"},
	{SYS_sendto, "sendto"},
	{SYS_splice, "splice"},
	{SYS_sync, "sync"},
	{SYS_unlinkat, "unlinkat"},
	{SYS_wait4, "wait4"},
	{SYS_waitid, "waitid"},
	{SYS_write, "write"},
	{SYS_writev, "writev"},
/* older ones, which newer machines do without */
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, "epoll_wait"},
#endif
#ifdef SYS_open
	{SYS_open, "open"},
#endif
#ifdef SYS_pause
	{SYS_pause, "pause"},
#endif
#ifdef SYS_poll
	{SYS_poll, "poll"},
#endif
#ifdef SYS_select
	{SYS_select, "select"},
#endif
#ifdef SYS_vfork
	{SYS_vfork, "vfork"},
#endif
};

const char *blocked_call_name(const struct blocked_place *place)
{
	for (size_t i = 0; i < ARRAY_COUNT(calls); i++)
		if (calls[i].number == place->call)
			return calls[i].name;
	return NULL;
}

bool blocked_is_futex(const struct blocked_place *place)
{
	return place->call == SYS_futex;
}

/* ---- files ------------------------------------------------------------------------------------- */

static int open_file(uint32_t pid, uint32_t tid)
{
	char path[64];

	if (tid)
		snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	else
		snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void close_file(struct blocked_file *file)
{
	if (file->pid)
		close(file->fd);
	*file = (struct blocked_file){0};
}

void blocked_files_fini(struct blocked_files *files)
{
	for (size_t i = 0; i < BLOCKED_FILES; i++)
		close_file(&files->files[i]);
}

static struct blocked_file *slot_of(struct blocked_files *files, uint32_t pid, uint32_t tid)
{
	return &files->files[(tid ? tid : pid * 31 + 7) % BLOCKED_FILES];
}

void blocked_files_remove(struct blocked_files *files, uint32_t pid, uint32_t tid)
{
	struct blocked_file *slot = slot_of(files, pid, tid);

	if (slot->pid == pid && slot->tid == tid)
		close_file(slot);
}

/* Reads from one that is open, or is opened now. is_good: whether what was read can be of the thread, or image, that is
 * there now: a file stays its first one's. */
static ssize_t read_at(struct blocked_files *files, uint32_t pid, uint32_t tid, void *ret_bytes,
		       size_t size, off_t offset,
		       bool (*is_good)(const void *bytes, ssize_t length))
{
	struct blocked_file *slot = slot_of(files, pid, tid);
	ssize_t length;

	if (slot->pid == pid && slot->tid == tid) {
		length = pread(slot->fd, ret_bytes, size, offset);
		if (length > 0 && is_good(ret_bytes, length))
			return length;
	}
	close_file(slot);
	*slot = (struct blocked_file){pid, tid, open_file(pid, tid)};
	if (slot->fd < 0) {
		slot->pid = 0;
		return -1;
	}
	return pread(slot->fd, ret_bytes, size, offset);
}

static ssize_t read_file_of(struct blocked_files *files, uint32_t pid, uint32_t tid,
			    void *ret_bytes, size_t size, off_t offset,
			    bool (*is_good)(const void *bytes, ssize_t length))
{
	auto_close int fd = -1;

	if (files)
		return read_at(files, pid, tid, ret_bytes, size, offset, is_good);
	fd = open_file(pid, tid);
	return fd < 0 ? -1 : pread(fd, ret_bytes, size, offset);
}

/* ---- where a thread waits ---------------------------------------------------------------------- */

static bool is_refusal(void)
{
	return errno == EACCES || errno == EPERM;
}

static bool is_text(const void *bytes, ssize_t length)
{
	return true;
}

/* "NUMBER ARGUMENTS SP PC", "-1 SP PC" outside of a system call, "running". */
enum thread_place blocked_find(struct blocked_files *files, uint32_t pid, uint32_t tid,
			       struct blocked_place *ret_place)
{
	struct blocked_place place = {0};
	char text[256], *sp, *ip;
	ssize_t length = read_file_of(files, pid, tid, text, sizeof(text) - 1, 0, is_text);

	if (length <= 0)
		return length < 0 && is_refusal() ? THREAD_REFUSED : THREAD_GONE;
	text[length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	ip = strrchr(text, ' ');
	if (!ip)
		return THREAD_RUNS;
	*ip++ = '\0';
	sp = strrchr(text, ' ');
	if (!sp || sscanf(text, "%" SCNd32 " %" SCNx64, &place.call, &place.argument) != 2 ||
	    sscanf(sp + 1, "%" SCNx64, &place.sp) != 1 || sscanf(ip, "%" SCNx64, &place.ip) != 1)
		return THREAD_GONE;
	*ret_place = place;
	return THREAD_WAITS;
}

#define PRESENT (UINT64_C(1) << 63)

/* An exec leaves an image without pages. */
static bool has_page(const void *bytes, ssize_t length)
{
	uint64_t entry = 0;

	if (length >= (ssize_t)sizeof(entry))
		memcpy(&entry, bytes, sizeof(entry));
	return entry & PRESENT;
}

/* How many bytes from an address on lie in pages that are there. */
static size_t present_bytes(struct blocked_files *files, uint32_t pid, uint64_t address,
			    size_t size)
{
	uint64_t first = address / PAGE_BYTES, entries[PAGES];
	size_t pages = (size_t)((address + size - 1) / PAGE_BYTES - first) + 1, there = 0;
	ssize_t got;

	if (pages > PAGES)
		pages = PAGES;
	got = read_file_of(files, pid, 0, entries, pages * sizeof(*entries),
			   (off_t)(first * sizeof(*entries)), has_page);
	while (got >= (ssize_t)((there + 1) * sizeof(*entries)) && (entries[there] & PRESENT))
		there++;
	if (!there)
		return 0;
	there = (size_t)((first + there) * PAGE_BYTES - address);
	return there < size ? there : size;
}

size_t blocked_read(struct blocked_files *files, uint32_t pid, uint64_t address, void *ret_bytes,
		    size_t size)
{
	size_t there = present_bytes(files, pid, address, size);
	struct iovec here = {ret_bytes, there}, remote = {(void *)(uintptr_t)address, there};
	ssize_t got = there ? process_vm_readv((pid_t)pid, &here, 1, &remote, 1, 0) : 0;

	return got > 0 ? (size_t)got : 0;
}

enum thread_place blocked_look(struct blocked_files *files, uint32_t pid, uint32_t tid,
			       struct blocked_look *ret_look)
{
	enum thread_place place = blocked_find(files, pid, tid, &ret_look->place);

	if (place != THREAD_WAITS)
		return place;
	errno = 0;
	ret_look->stack_bytes = blocked_read(files, pid, ret_look->place.sp, ret_look->stack,
					     sizeof(ret_look->stack));
	if (ret_look->stack_bytes)
		return THREAD_WAITS;
	return is_refusal() ? THREAD_REFUSED : THREAD_GONE;
}

/* ---- whether it works here --------------------------------------------------------------------- */

/* A child that nobody is sent a signal of, and that may be looked at as a program is: one that has just been given
 * a capability by its file may not. */
static pid_t start_sleeper(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1);
	for (;;)
		pause();
}

/* A child needs some 200 us to its first sleep. */
enum { TRIES_MAX = 20000, FIRST_TRIES = 400 };
static const struct timespec between_tries = {.tv_nsec = 50000};

/* Until it sleeps, at most a second. */
static int try_place(uint32_t pid, struct blocked_place *ret_place)
{
	enum thread_place place = THREAD_RUNS;

	for (int i = 0; i < TRIES_MAX; i++) {
		errno = 0;
		place = blocked_find(NULL, pid, pid, ret_place);
		if (place == THREAD_WAITS)
			return 0;
		/* before the child says that it may be looked at, it may not */
		if ((place == THREAD_REFUSED || place == THREAD_GONE) && errno && i > FIRST_TRIES)
			return -errno;
		nanosleep(&between_tries, NULL);
	}
	return -ETIMEDOUT;
}

static int try_child(uint32_t pid)
{
	struct blocked_place place;
	uint64_t word;
	struct iovec here = {&word, sizeof(word)}, remote = {NULL, sizeof(word)};
	int error = try_place(pid, &place);

	if (error)
		return error;
	remote.iov_base = (void *)(uintptr_t)place.sp;
	return process_vm_readv((pid_t)pid, &here, 1, &remote, 1, 0) < 0 ? -errno : 0;
}

static int refused(int error)
{
	char text[PATH_MAX + 300];

	ptrace_rights_text(ptrace_scope(), true, error, text, sizeof(text));
	return error_set(error, "%s", text);
}

int blocked_try(void)
{
	pid_t pid = start_sleeper();
	int error;

	if (pid < 0)
		return error_set(-errno, "no process can be started: %s", strerror(errno));
	error = try_child((uint32_t)pid);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return error ? refused(error) : 0;
}
