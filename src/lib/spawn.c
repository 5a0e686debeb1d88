/* SPDX-License-Identifier: MIT
 *
 * lib/spawn.c - start a process that is nobody's child
 *
 * Runs in:  the user's program; between clone and exec in two processes that borrow its memory
 * Gets:     a path, arguments, two descriptors   Gives: a process that runs
 * Owns:     nothing that outlives the call but a keeper, where there has to be one
 * Fails:    -errno, which the two leave in the memory that they borrow
 * Why twice: a recorder that were the program's child would be waited for by a loop of wait() that runs until there are no
 *           children, for as long as the program itself runs, and its end would be a SIGCHLD that the program knows nothing
 *           of. A clone without a signal does not help: exec makes it a SIGCHLD. So a first process, which never calls exec
 *           and sends no signal, starts the second and is gone. Both borrow the memory (as vfork): nothing is
 *           copied of a program of many gigabytes, and no handler of pthread_atfork is called.
 * Why a keeper: orphans become children of the nearest subreaper, or of process 1, with a SIGCHLD. Where that is the program
 *           itself (a container's first process) the first of the two stays as the parent of the second, a child that no
 *           wait() without __WCLONE sees. It shares the program's memory too, and does nothing but wait.
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

extern char **environ;

enum {
	STACK_BYTES = 64 << 10,
	MEMORY_BYTES = 2 * STACK_BYTES,
	KEEPER_LOOK_MS = 100,
	KEEPER_WAIT_MS = 1000,
	SIGNAL_SET_BYTES = 8,
	DESCRIPTORS_MOST = 1 << 20,
	PROCESSORS_MOST = 8192
};

/* At the low end of the memory that the two have for their stacks. */
struct spawning {
	const struct spawn *spawn;
	pid_t pid;
	int error;
	_Atomic uint32_t is_done; /* of a keeper: it goes on without the caller */
};

/* The C library keeps two signals out of sigprocmask's reach, whose handlers must not run in borrowed memory either. */
static void set_mask(uint64_t mask, uint64_t *ret_old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, ret_old, (size_t)SIGNAL_SET_BYTES);
}

/* Also what the program ignores: a recorder that ignored SIGTERM could not be ended by hand. */
static void reset_signals(void)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &usual, NULL);
}

/* The thread that starts it may be bound to a processor, where the two would take turns, or be a real-time one. */
static void reset_scheduling(void)
{
	const struct sched_param usual = {0};
	uint64_t all[PROCESSORS_MOST / 64];

	memset(all, 0xff, sizeof(all));
	sched_setscheduler(0, SCHED_OTHER, &usual);
	syscall(SYS_sched_setaffinity, 0, sizeof(all), all);
}

/* Pipes and sockets of the program's are not to stay open because it is recorded. */
static void close_from(unsigned int first)
{
	struct rlimit limit = {.rlim_cur = DESCRIPTORS_MOST};

#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
#endif
	getrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned int i = first; i < limit.rlim_cur && i < DESCRIPTORS_MOST; i++)
		close((int)i);
}

/* The program may have closed its own 0, 1 and 2: what is to be kept goes out of their way first. */
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

/* After is_done the thread whose errno this shares runs on, or ends: only calls that cannot fail, and none that looks at the
 * thread. All signals are blocked. */
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

/* Until the second has been started, or the keeper was killed. */
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

/* One that does not end, because the recorder is stopped, keeps its stack, and is gone with the program. */
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
