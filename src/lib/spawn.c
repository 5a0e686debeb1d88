/* SPDX-License-Identifier: MIT
 *
 * lib/spawn.c - start a process that is nobody's child
 *
 * Runs in:  the user's program; between clone and exec in two processes that borrow its memory
 * Gets:     a path, arguments, two descriptors   Gives: a pid
 * Owns:     nothing that outlives the call
 * Fails:    -errno, which the two leave in the memory that they borrow
 * Why twice: a recorder that were the program's child would be waited for by a loop of wait() that runs until there are no
 *           children, for as long as the program itself runs, and its end would be a SIGCHLD that the program knows nothing
 *           of. A clone without a signal does not help: exec makes it a SIGCHLD. So a first process, which never calls exec
 *           and sends no signal, starts the second and is gone. Both borrow the memory (as vfork): nothing is
 *           copied of a program of many gigabytes, and no handler of pthread_atfork is called.
 */
#include "lib/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
	STACK_BYTES = 64 << 10,
	SIGNAL_SET_BYTES = 8,
	DESCRIPTORS_MOST = 1 << 20,
	PROCESSORS_MOST = 8192
};

struct spawning {
	const struct spawn *spawn;
	uint8_t *stack; /* of both, one half each */
	pid_t pid;
	int error;
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

static int start_second(void *argument)
{
	struct spawning *spawning = argument;

	spawning->pid =
		clone(become, spawning->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, spawning);
	if (spawning->pid < 0)
		spawning->error = -errno;
	_exit(0);
}

static void start_first(struct spawning *spawning)
{
	pid_t first = clone(start_second, spawning->stack + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK,
			    spawning);

	if (first < 0)
		spawning->error = -errno;
	else
		waitpid(first, NULL, __WCLONE);
}

int spawn_orphan(const struct spawn *spawn, pid_t *ret_pid)
{
	struct spawning spawning = {
		.spawn = spawn,
		.stack = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0),
	};
	uint64_t mask;

	if (spawning.stack == MAP_FAILED)
		return -errno;
	set_mask(~UINT64_C(0), &mask);
	start_first(&spawning);
	set_mask(mask, NULL);
	munmap(spawning.stack, 2 * STACK_BYTES);
	if (spawning.error)
		return spawning.error;
	*ret_pid = spawning.pid;
	return 0;
}
