/* SPDX-License-Identifier: MIT
 *
 * lib/spawn.c - start a process that does not become a child of this program
 *
 * Runs in:  the user's program; between clone and exec in two processes that borrow its memory
 * Gets:     a path, arguments, two descriptors
 * Gives:    a running process
 * Owns:     only the keeper, if one is needed, outlives the call
 * Fails:    -errno, which the two processes leave in the memory that they borrow
 * Why two processes: if the recorder were the program's child, a loop of wait() that runs until
 *           there are no children would wait for the recorder, which waits for the program; and the
 *           recorder's end would send the program an unexpected SIGCHLD. A clone without a signal
 *           does not help, because exec changes it to SIGCHLD. So a first process, which never
 *           calls exec and sends no signal, starts the second and ends. Both borrow the memory (as
 *           vfork does): no page of a program of many gigabytes is copied, and no pthread_atfork
 *           handler runs.
 * Why a keeper: orphans become children of the nearest subreaper, or of process 1, with a SIGCHLD.
 *           If that is the program itself (a container's first process), the first of the two
 *           processes stays as the keeper: the parent of the second, and a child of the program
 *           that only wait() with __WCLONE sees. The keeper shares the program's memory and does
 *           nothing but wait.
 */
#include "lib/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	STACK_BYTES = 64 << 10,
	MEMORY_BYTES = 2 * STACK_BYTES,
	KEEPER_LOOK_MS = 100,
	KEEPER_WAIT_MS = 1000,
	SIGNAL_SET_BYTES = 8,
	MAX_DESCRIPTORS = 1 << 20,
	MAX_PROCESSORS = 8192
};

/* At the low end of the memory that holds the stacks of the two processes. */
struct spawning {
	const struct spawn *spawn;
	pid_t pid;
	int error;
	_Atomic uint32_t is_done; /* set by a keeper, which continues without the caller */
};

/* The C library keeps two signals out of sigprocmask's reach. Their handlers must not run in
 * borrowed memory either. */
static void set_mask(uint64_t mask, uint64_t *ret_old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, ret_old, (size_t)SIGNAL_SET_BYTES);
}

/* Also resets signals that the program ignores: a recorder that ignored SIGTERM could not be ended
 * by hand. */
static void reset_signals(void)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &usual, NULL);
}

/* The calling thread may be bound to one processor, where the two would take turns, or be a
 * real-time thread. */
static void reset_scheduling(void)
{
	const struct sched_param usual = {0};
	uint64_t all[MAX_PROCESSORS / 64];

	memset(all, 0xff, sizeof(all));
	sched_setscheduler(0, SCHED_OTHER, &usual);
	syscall(SYS_sched_setaffinity, 0, sizeof(all), all);
}

/* The program's pipes and sockets must not stay open because it is recorded. */
static void close_from(unsigned int first)
{
	struct rlimit limit = {.rlim_cur = MAX_DESCRIPTORS};

#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
#endif
	getrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned int i = first; i < limit.rlim_cur && i < MAX_DESCRIPTORS; i++)
		close((int)i);
}

/* The program may have closed its own 0, 1 and 2: the descriptors to keep move out of their way
 * first. */
static bool set_descriptors(const struct spawn *spawn)
{
	int control = fcntl(spawn->control_fd, F_DUPFD, 16);
	int text = fcntl(spawn->text_fd, F_DUPFD, 16);
	int nothing = open("/dev/null", O_RDWR);
	bool is_set = control >= 0 && text >= 0 && nothing >= 0 && dup2(nothing, 0) >= 0 &&
		      dup2(nothing, 1) >= 0 && dup2(text, 2) >= 0 &&
		      dup2(control, SPAWN_CONTROL_FD) >= 0;

	if (is_set)
		close_from(SPAWN_CONTROL_FD + 1);
	return is_set;
}

static int become(void *argument)
{
	struct spawning *spawning = argument;

	reset_signals();
	reset_scheduling();
	setsid();
	if (set_descriptors(spawning->spawn)) {
		set_mask(0, NULL);
		execve(spawning->spawn->path, spawning->spawn->arguments, environ);
	}
	spawning->error = -errno;
	_exit(127);
}

static void start_second(struct spawning *spawning)
{
	spawning->pid =
		clone(become, (uint8_t *)spawning + STACK_BYTES, CLONE_VM | CLONE_VFORK, spawning);
	if (spawning->pid < 0)
		spawning->error = -errno;
}

static int start_and_go(void *argument)
{
	start_second(argument);
	_exit(0);
}

/* After is_done, the thread whose errno this process shares runs on, or ends. Use only calls that
 * cannot fail and do not access the thread. All signals are blocked. */
static int start_and_keep(void *argument)
{
	struct spawning *spawning = argument;
	siginfo_t info;

	setsid();
	start_second(spawning);
	close_from(0);
	atomic_store(&spawning->is_done, 1);
	syscall(SYS_futex, &spawning->is_done, FUTEX_WAKE, 1, NULL, NULL, 0);
	if (spawning->pid > 0)
		syscall(SYS_waitid, P_PID, spawning->pid, &info, WEXITED | __WALL, NULL);
	return (int)syscall(SYS_exit_group, 0);
}

static int start_first(struct spawning *spawning, int (*first)(void *), int flags)
{
	pid_t pid = clone(first, (uint8_t *)spawning + MEMORY_BYTES, CLONE_VM | flags, spawning);

	if (pid < 0)
		spawning->error = -errno;
	return pid;
}

static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, __WCLONE | WNOHANG) != 0;
}

/* Until the second process has been started, or the keeper was killed. */
static void wait_done(struct spawning *spawning, pid_t keeper)
{
	const struct timespec look = {.tv_nsec = KEEPER_LOOK_MS * 1000000};

	while (!atomic_load(&spawning->is_done) && !spawning->error) {
		syscall(SYS_futex, &spawning->is_done, FUTEX_WAIT, 0, &look, NULL, 0);
		if (!atomic_load(&spawning->is_done) && has_ended(keeper))
			spawning->error = -ECHILD;
	}
}

static bool is_reaper(void)
{
	int is_subreaper = 0;

	return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper);
}

static void start_both(struct spawning *spawning, struct spawn_keeper *keeper)
{
	pid_t pid;

	if (!is_reaper()) {
		pid = start_first(spawning, start_and_go, CLONE_VFORK);
		if (pid > 0)
			waitpid(pid, NULL, __WCLONE);
		return;
	}
	pid = start_first(spawning, start_and_keep, 0);
	wait_done(spawning, pid);
	if (pid > 0)
		*keeper = (struct spawn_keeper){pid, spawning};
}

int spawn_orphan(const struct spawn *spawn, struct spawn_keeper *ret_keeper)
{
	struct spawning *spawning = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	struct spawn_keeper keeper = {0};
	uint64_t mask;
	int error;

	if (spawning == MAP_FAILED)
		return -errno;
	spawning->spawn = spawn;
	set_mask(~UINT64_C(0), &mask);
	start_both(spawning, &keeper);
	set_mask(mask, NULL);
	error = spawning->error;
	if (!keeper.pid)
		munmap(spawning, MEMORY_BYTES);
	else if (error)
		spawn_end(&keeper);
	if (!error)
		*ret_keeper = keeper;
	return error;
}

/* A keeper that does not end, because the recorder is stopped, keeps its stack and ends with the
 * program. */
void spawn_end(struct spawn_keeper *keeper)
{
	int waited_ms = 0;

	if (!keeper->pid)
		return;
	while (!has_ended(keeper->pid) && waited_ms < KEEPER_WAIT_MS)
		waited_ms += poll(NULL, 0, 1) <= 0;
	if (waited_ms < KEEPER_WAIT_MS)
		munmap(keeper->memory, MEMORY_BYTES);
	*keeper = (struct spawn_keeper){0};
}
