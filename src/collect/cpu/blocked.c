/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/blocked.c - system call and stack of a blocked thread
 *
 * Runs in:  the recorder
 * Gets:     pid and tid
 * Gives:    the thread's registers, its system call and a copy of its stack
 * Owns:     nothing
 * Fails:    with THREAD_GONE or THREAD_REFUSED
 * Why not from perf: a perf event on each switch could copy the stack too, but only for root, and
 *           it would copy 16 KiB for each of 10^5 switches a second. The stack of a blocked thread
 *           does not change. One inspection per wait therefore suffices. It gets the stacks of all
 *           long waits, and of short waits in proportion to their length.
 */
#include "collect/cpu/blocked.h"

#include <errno.h>
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
#include "base/error.h"
#include "collect/cpu/perf_rights.h"

/* System calls in which threads wait, with this architecture's numbers. */
static const struct {
	int32_t number;
	const char *name;
	bool is_of_file; /* the first argument is the descriptor for which they may wait */
} calls[] = {
	{SYS_accept, "accept", true},
	{SYS_accept4, "accept4", true},
	{SYS_clock_nanosleep, "clock_nanosleep", false},
	{SYS_connect, "connect", true},
	{SYS_copy_file_range, "copy_file_range", true},
	{SYS_epoll_pwait, "epoll_pwait", false},
	{SYS_execve, "execve", false},
	{SYS_execveat, "execveat", false},
	{SYS_exit_group, "exit_group", false},
	{SYS_faccessat, "faccessat", false},
	{SYS_fadvise64, "fadvise64", true},
	{SYS_fallocate, "fallocate", true},
	{SYS_fcntl, "fcntl", true},
	{SYS_fdatasync, "fdatasync", true},
	{SYS_flock, "flock", true},
	{SYS_fsync, "fsync", true},
	{SYS_ftruncate, "ftruncate", true},
	{SYS_futex, "futex", false},
	{SYS_getdents64, "getdents64", true},
	{SYS_io_getevents, "io_getevents", false},
	{SYS_io_pgetevents, "io_pgetevents", false},
	{SYS_io_uring_enter, "io_uring_enter", false},
	{SYS_ioctl, "ioctl", true},
	{SYS_keyctl, "keyctl", false},
	{SYS_linkat, "linkat", false},
	{SYS_madvise, "madvise", false},
	{SYS_mkdirat, "mkdirat", false},
	{SYS_mlock, "mlock", false},
	{SYS_mmap, "mmap", false},
	{SYS_mprotect, "mprotect", false},
	{SYS_mq_timedreceive, "mq_timedreceive", true},
	{SYS_mq_timedsend, "mq_timedsend", true},
	{SYS_mremap, "mremap", false},
	{SYS_msgrcv, "msgrcv", false},
	{SYS_msgsnd, "msgsnd", false},
	{SYS_msync, "msync", false},
	{SYS_munmap, "munmap", false},
	{SYS_nanosleep, "nanosleep", false},
	{SYS_newfstatat, "newfstatat", false},
	{SYS_openat, "openat", false},
	{SYS_ppoll, "ppoll", false},
	{SYS_pread64, "pread64", true},
	{SYS_preadv, "preadv", true},
	{SYS_preadv2, "preadv2", true},
	{SYS_pselect6, "pselect6", false},
	{SYS_pwrite64, "pwrite64", true},
	{SYS_pwritev, "pwritev", true},
	{SYS_pwritev2, "pwritev2", true},
	{SYS_read, "read", true},
	{SYS_readv, "readv", true},
	{SYS_recvfrom, "recvfrom", true},
	{SYS_recvmmsg, "recvmmsg", true},
	{SYS_recvmsg, "recvmsg", true},
	{SYS_renameat2, "renameat2", false},
	{SYS_request_key, "request_key", false},
	{SYS_restart_syscall, "restart_syscall", false},
	{SYS_rt_sigsuspend, "rt_sigsuspend", false},
	{SYS_rt_sigtimedwait, "rt_sigtimedwait", false},
	{SYS_sched_yield, "sched_yield", false},
	{SYS_semop, "semop", false},
	{SYS_semtimedop, "semtimedop", false},
	{SYS_sendfile, "sendfile", true},
	{SYS_sendmmsg, "sendmmsg", true},
	{SYS_sendmsg, "sendmsg", true},
	{SYS_sendto, "sendto", true},
	{SYS_splice, "splice", true},
	{SYS_statx, "statx", false},
	{SYS_sync, "sync", false},
	{SYS_sync_file_range, "sync_file_range", true},
	{SYS_syncfs, "syncfs", true},
	{SYS_tee, "tee", true},
	{SYS_unlinkat, "unlinkat", false},
	{SYS_vmsplice, "vmsplice", true},
	{SYS_wait4, "wait4", false},
	{SYS_waitid, "waitid", false},
	{SYS_write, "write", true},
	{SYS_writev, "writev", true},
/* older calls that newer architectures lack, and calls that older headers lack */
#ifdef SYS_access
	{SYS_access, "access", false},
#endif
#ifdef SYS_epoll_pwait2
	{SYS_epoll_pwait2, "epoll_pwait2", false},
#endif
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, "epoll_wait", false},
#endif
#ifdef SYS_faccessat2
	{SYS_faccessat2, "faccessat2", false},
#endif
#ifdef SYS_futex_wait
	{SYS_futex_wait, "futex_wait", false},
#endif
#ifdef SYS_futex_waitv
	{SYS_futex_waitv, "futex_waitv", false},
#endif
#ifdef SYS_lstat
	{SYS_lstat, "lstat", false},
#endif
#ifdef SYS_mkdir
	{SYS_mkdir, "mkdir", false},
#endif
#ifdef SYS_open
	{SYS_open, "open", false},
#endif
#ifdef SYS_openat2
	{SYS_openat2, "openat2", false},
#endif
#ifdef SYS_pause
	{SYS_pause, "pause", false},
#endif
#ifdef SYS_poll
	{SYS_poll, "poll", false},
#endif
#ifdef SYS_process_madvise
	{SYS_process_madvise, "process_madvise", false},
#endif
#ifdef SYS_rename
	{SYS_rename, "rename", false},
#endif
#ifdef SYS_renameat
	{SYS_renameat, "renameat", false},
#endif
#ifdef SYS_rmdir
	{SYS_rmdir, "rmdir", false},
#endif
#ifdef SYS_select
	{SYS_select, "select", false},
#endif
#ifdef SYS_stat
	{SYS_stat, "stat", false},
#endif
#ifdef SYS_unlink
	{SYS_unlink, "unlink", false},
#endif
#ifdef SYS_vfork
	{SYS_vfork, "vfork", false},
#endif
};

static size_t find_call(const struct blocked_place *place)
{
	size_t i = 0;

	while (i < ARRAY_COUNT(calls) && calls[i].number != place->call)
		i++;
	return i;
}

const char *blocked_call_name(const struct blocked_place *place)
{
	const size_t call = find_call(place);

	return call < ARRAY_COUNT(calls) ? calls[call].name : NULL;
}

bool blocked_has_descriptor(const struct blocked_place *place)
{
	const size_t call = find_call(place);

	return call < ARRAY_COUNT(calls) && calls[call].is_of_file;
}

bool blocked_is_futex(const struct blocked_place *place)
{
	return place->call == SYS_futex;
}

/* ---- reading the state of a thread ----------------------------------------------------------- */

static bool is_refusal(void)
{
	return errno == EACCES || errno == EPERM;
}

/* Parses /proc/PID/task/TID/syscall: "NUMBER ARGUMENTS SP PC"; "-1 SP PC" outside of a system call;
 * "running". */
enum thread_place blocked_find(struct process_reader *reader, uint32_t pid, uint32_t tid,
			       struct blocked_place *ret_place)
{
	struct blocked_place place = {0};
	char text[256], *sp, *ip;
	ssize_t length = process_reader_call(reader, pid, tid, text, sizeof(text) - 1);

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

enum thread_place blocked_look(struct process_reader *reader, uint32_t pid, uint32_t tid,
			       struct blocked_look *ret_look)
{
	enum thread_place place = blocked_find(reader, pid, tid, &ret_look->place);

	if (place != THREAD_WAITS)
		return place;
	errno = 0;
	ret_look->stack_bytes = process_reader_memory(reader, pid, ret_look->place.sp,
						      ret_look->stack, sizeof(ret_look->stack));
	if (ret_look->stack_bytes)
		return THREAD_WAITS;
	return is_refusal() ? THREAD_REFUSED : THREAD_GONE;
}

/* ---- trying it on a child of our own --------------------------------------------------------- */

/* Starts a child that sleeps. Its end sends no signal to the parent. It is made dumpable, as
 * ordinary programs are, because a process that has capabilities from its file may not be
 * inspected. */
static pid_t start_sleeper(void)
{
	const pid_t parent = getpid();
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have been killed before this call. */
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_DUMPABLE, 1);
	for (;;)
		pause();
}

/* A child needs some 200 us until it first sleeps. */
enum { TRIES_MAX = 20000, FIRST_TRIES = 400 };
static const struct timespec between_tries = {.tv_nsec = 50000};

/* Waits until the child sleeps, at most 1 s. */
static int try_place(uint32_t pid, struct blocked_place *ret_place)
{
	enum thread_place place = THREAD_RUNS;

	for (int i = 0; i < TRIES_MAX; i++) {
		errno = 0;
		place = blocked_find(NULL, pid, pid, ret_place);
		if (place == THREAD_WAITS)
			return 0;
		/* until the child has called PR_SET_DUMPABLE, looks may be refused */
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
