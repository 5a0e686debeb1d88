/* SPDX-License-Identifier: MIT
 *
 * collect/enter/remote_call.c - makes a thread of another process execute code, then lets it
 * continue (x86-64)
 *
 * Runs in:  the recorder, in a thread of its own: when that ends, the kernel releases the threads
 *           that it has stopped
 * Gets:     pid and tid of a thread
 * Gives:    memory in its process, and execution of code in it
 * Owns:     the stopped thread; a copy of its vector registers
 * Fails:    leaves the thread unchanged
 * Why:      a recorder that is killed half-way must not harm the target. So the thread's registers
 *           are first saved on its stack, in a frame like that of a signal handler, and our code
 *           returns through it: the thread recovers without the recorder. A living recorder does
 *           not use that frame but writes the registers back itself, because only so does the
 *           kernel restart an interrupted sleep with its remaining time. To end the execution, the
 *           thread sends itself a signal that stops it for the recorder, and that is ignored if the
 *           recorder is gone.
 */
#include "collect/enter/remote_call_private.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/host_clocks.h"

#if defined(__x86_64__)

enum {
	LOOK_NS = 50000000, /* after this time the thread is stopped and inspected */
	/* found waiting for a lock this often in a row: it holds the lock itself */
	LOOKS_AT_A_LOCK = 10
};
/* max wait for a stop; a runnable thread stops as soon as it gets a processor */
#define STOP_NS    UINT64_C(5000000000)
#define GRACE_NS   UINT64_C(300000000)   /* max wait after the recording has ended */
#define ENDLESS_NS UINT64_C(30000000000) /* then the call is abandoned unfinished */

/* ---- stops ----------------------------------------------------------------------------------- */

static void nap(void)
{
	static const struct timespec time = {0, 20000};

	nanosleep(&time, NULL);
}

static int event_of(int status)
{
	return status >> 16;
}

/* After the end of the recording, shortens a wait to GRACE_NS: the thread recovers by itself. */
static uint64_t shorten(struct borrowed_thread *borrowed, uint64_t until_ns)
{
	if (!borrowed->give_up_ns && injector_target_is_unwanted(borrowed->target))
		borrowed->give_up_ns = host_clocks_now_ns() + GRACE_NS;
	return borrowed->give_up_ns && borrowed->give_up_ns < until_ns ? borrowed->give_up_ns
								       : until_ns;
}

int borrowed_thread_check(const struct borrowed_thread *borrowed)
{
	return target_identity_check(&borrowed->target->identity, borrowed->tid);
}

/* If a thread other than the first calls exec, the kernel gives it the first thread's tid, and it
 * stops under that tid. Releases it. */
static void release_renamed(const struct borrowed_thread *borrowed, uint64_t until_ns)
{
	const pid_t pid = borrowed->target->pid;
	pid_t got = 0;
	int status;

	while (borrowed->tid != pid && !got && host_clocks_now_ns() < until_ns) {
		got = waitpid(pid, &status, __WALL | __WNOTHREAD | WNOHANG);
		if (got > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, pid, NULL, NULL);
		else if (!got)
			nap();
	}
}

/* Waits for the next stop. -ESTALE: after an exec the thread is stopped in another image, and is
 * released unchanged. */
static int wait_stop(struct borrowed_thread *borrowed, uint64_t until_ns, int *ret_status)
{
	for (;;) {
		pid_t got = waitpid(borrowed->tid, ret_status, __WALL | __WNOTHREAD | WNOHANG);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			release_renamed(borrowed, host_clocks_now_ns() + GRACE_NS);
		if (got < 0 || (got > 0 && !WIFSTOPPED(*ret_status))) {
			borrowed->is_seized = borrowed->is_stopped = false;
			return -ESRCH;
		}
		if (got > 0) {
			borrowed->is_stopped = true;
			borrowed->held_signal = event_of(*ret_status) ? 0 : WSTOPSIG(*ret_status);
			return event_of(*ret_status) == PTRACE_EVENT_EXEC
				       ? -ESTALE
				       : borrowed_thread_check(borrowed);
		}
		if (host_clocks_now_ns() >= shorten(borrowed, until_ns))
			return -ETIMEDOUT;
		nap();
	}
}

static int let_go_on(struct borrowed_thread *borrowed, int signal)
{
	borrowed->is_stopped = false;
	borrowed->held_signal = 0;
	return ptrace(PTRACE_CONT, borrowed->tid, NULL, (void *)(intptr_t)signal) < 0 ? -errno : 0;
}

static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGTRAP;
}

/* Whether a signal is the one that the borrowed thread sends to itself. Notes a SIGSTOP, which
 * cannot be blocked. */
static bool is_own_signal(struct borrowed_thread *borrowed, int signal)
{
	siginfo_t info = {0};

	borrowed->was_told_to_stop |= signal == SIGSTOP;
	ptrace(PTRACE_GETSIGINFO, borrowed->tid, NULL, &info);
	return signal == borrowed->signal && info.si_code == SI_TKILL;
}

/* Stops the thread. 0: stopped where it was; 1: it had already sent its own signal. */
static int stop(struct borrowed_thread *borrowed)
{
	const uint64_t until_ns = host_clocks_now_ns() + STOP_NS;
	int status, error;

	if (ptrace(PTRACE_INTERRUPT, borrowed->tid, NULL, NULL) < 0)
		return -errno;
	while ((error = wait_stop(borrowed, until_ns, &status)) == 0) {
		int signal = WSTOPSIG(status);

		if (event_of(status) == PTRACE_EVENT_STOP)
			return signal == SIGTRAP || borrowed->frame ? 0 : -EAGAIN;
		if (borrowed->frame && is_own_signal(borrowed, signal))
			return 1;
		/* before it is borrowed, a signal belongs to the program; later it is dropped */
		error = let_go_on(borrowed, borrowed->frame ? 0 : signal);
		if (error)
			return error;
	}
	return error;
}

/* Continues the thread. 1: it has sent its own signal; -ETIMEDOUT: not within LOOK_NS. */
static int go(struct borrowed_thread *borrowed)
{
	const uint64_t until_ns = host_clocks_now_ns() + LOOK_NS;
	int error = let_go_on(borrowed, 0), status;

	while (!error && (error = wait_stop(borrowed, until_ns, &status)) == 0) {
		int signal = WSTOPSIG(status);

		if (!event_of(status) && is_fault(signal))
			return -EFAULT;
		if (!event_of(status) && is_own_signal(borrowed, signal))
			return 1;
		/* all other signals are blocked; those that arrive all the same are dropped */
		error = let_go_on(borrowed, 0);
	}
	return error;
}

/* ---- stopping a thread ----------------------------------------------------------------------- */

/* Whether the thread is in state S or R. In an uninterruptible sleep it might stop long after the
 * recorder has ended. */
static bool can_stop(pid_t pid, pid_t tid)
{
	char path[64], *end;
	auto_free char *text = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (read_file(path, 4096, &text, NULL) < 0) {
		error_clear();
		return false;
	}
	end = strrchr(text, ')');
	return end && (end[2] == 'S' || end[2] == 'R');
}

/* A signal that the kernel ignores by default, and that the process does not handle, block or wait
 * for. */
static int choose_signal(pid_t pid, pid_t tid)
{
	static const int preferred[] = {SIGURG, SIGWINCH, SIGCHLD};
	uint64_t caught, blocked, ignored, pending, shared;

	if (injector_status(pid, tid, "SigCgt", 16, &caught) == -1 ||
	    injector_status(pid, tid, "SigBlk", 16, &blocked) == -1 ||
	    injector_status(pid, tid, "SigIgn", 16, &ignored) == -1 ||
	    injector_status(pid, tid, "SigPnd", 16, &pending) == -1 ||
	    injector_status(pid, tid, "ShdPnd", 16, &shared) == -1)
		return 0;
	caught |= blocked | pending | shared;
	for (size_t i = 0; i < ARRAY_COUNT(preferred); i++)
		if (!(caught >> (preferred[i] - 1) & 1))
			return preferred[i];
	ignored &= ~caught;
	for (int i = 1; i < 32; i++)
		if (ignored >> (i - 1) & 1 && !is_fault(i) && i != SIGSTOP && i != SIGTSTP &&
		    i != SIGTTIN && i != SIGTTOU && i != SIGCONT)
			return i;
	return 0;
}

/* System calls that a stop interrupts with EINTR, and that have not done anything when they return
 * it. */
static bool may_begin_again(uint64_t call)
{
	static const uint16_t calls[] = {
		SYS_read,
		SYS_write,
		SYS_readv,
		SYS_writev,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_sendto,
		SYS_sendmsg,
		SYS_accept,
		SYS_accept4,
		SYS_epoll_wait,
		SYS_epoll_pwait,
		SYS_semop,
		SYS_semtimedop,
		SYS_rt_sigtimedwait,
		SYS_io_getevents,
		441 /* epoll_pwait2 */,
	};

	for (size_t i = 0; i < ARRAY_COUNT(calls); i++)
		if (calls[i] == call)
			return true;
	return false;
}

/* The system call that the stop has interrupted; -1: none, or it was complete. */
static int64_t interrupted_call(const struct user_regs_struct *regs)
{
	switch (-(int64_t)regs->rax) {
	case RESTART_SYS:
	case RESTART_NO_INTERRUPT:
	case RESTART_NO_HANDLER:
	case RESTART_BLOCK:
	case EINTR:
		return (int64_t)regs->orig_rax;
	default:
		return -1;
	}
}

static bool is_signalled(const struct borrowed_thread *borrowed)
{
	const pid_t pid = borrowed->target->pid;
	uint64_t own = 0, shared = 0;

	injector_status(pid, borrowed->tid, "SigPnd", 16, &own);
	injector_status(pid, borrowed->tid, "ShdPnd", 16, &shared);
	return (own | shared) != 0;
}

/* A program without a handler need not expect EINTR, so the call is restarted, unless a signal is
 * pending. The timeout of such a call starts again. */
static void undo_interruption(struct borrowed_thread *borrowed)
{
	struct user_regs_struct *regs = &borrowed->regs;

	if ((int64_t)regs->rax != -EINTR || !may_begin_again(regs->orig_rax) ||
	    is_signalled(borrowed))
		return;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long long)-1;
	regs->rip -= CALL_INSTRUCTION_BYTES;
	borrowed->is_mended = true;
}

static int read_thread(struct borrowed_thread *borrowed)
{
	const pid_t pid = borrowed->target->pid;
	struct iovec state = {borrowed->state, BORROWED_STATE_BYTES};
	uint64_t features;

	if (ptrace(PTRACE_GETREGS, borrowed->tid, NULL, &borrowed->regs) < 0 ||
	    ptrace(PTRACE_GETREGSET, borrowed->tid, (void *)NT_X86_XSTATE, &state) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, borrowed->tid, (void *)sizeof(borrowed->mask),
		   &borrowed->mask) < 0)
		return -errno;
	borrowed->call = interrupted_call(&borrowed->regs);
	undo_interruption(borrowed);
	if (state.iov_len < MIN_SIGNAL_FRAME_STATE)
		return -ENOTSUP;
	borrowed->state_bytes = state.iov_len;
	borrowed->frame_state_bytes =
		signal_frame_measure(borrowed->state, borrowed->state_bytes, &features);
	borrowed->ns_pid = (uint32_t)injector_status(pid, pid, "NSpid", 10, NULL);
	borrowed->ns_tid = (uint32_t)injector_status(pid, borrowed->tid, "NSpid", 10, NULL);
	borrowed->signal = choose_signal(pid, borrowed->tid);
	return borrowed->signal ? 0 : -EAGAIN;
}

int borrowed_thread_take(const struct injector_target *target, pid_t tid,
			 struct borrowed_thread *borrowed)
{
	int error;

	*borrowed = (struct borrowed_thread){.target = target, .tid = tid};
	if (injector_target_is_unwanted(target) || !can_stop(target->pid, tid))
		return -EAGAIN;
	borrowed->state = calloc(1, BORROWED_STATE_BYTES);
	if (!borrowed->state)
		return -ENOMEM;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACEEXEC) < 0)
		return -errno;
	borrowed->is_seized = true;
	error = stop(borrowed);
	borrowed->stopped_ns = host_clocks_now_ns();
	return error ? error : read_thread(borrowed);
}

/* ---- executing code -------------------------------------------------------------------------- */

static int set_registers(struct borrowed_thread *borrowed, struct user_regs_struct *regs)
{
	const uint64_t all = ~(UINT64_C(1) << (borrowed->signal - 1));
	int error = borrowed_thread_check(borrowed);

	if (error)
		return error;
	regs->orig_rax = (unsigned long long)-1; /* no system call is restarted */
	regs->eflags &= ~UINT64_C(0x500);        /* clears the trap flag and the direction flag */
	/* In this order: if the recorder is killed in between, the thread has its own signal mask,
	 * or a frame that restores it. */
	if (ptrace(PTRACE_SETREGS, borrowed->tid, NULL, regs) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, borrowed->tid, (void *)sizeof(all), &all) < 0)
		return -errno;
	return 0;
}

/* 1: it waits for a lock; 0: it does not. */
static int look_at_lock(struct borrowed_thread *borrowed)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, borrowed->tid, NULL, &regs) < 0)
		return -errno;
	return regs.orig_rax == SYS_futex && (int64_t)regs.rax < 0;
}

/* Checks a thread that was stopped before its end: -EDEADLK if it waits for its own lock,
 * -ETIMEDOUT after until_ns. */
static int look(struct borrowed_thread *borrowed, uint64_t until_ns, int *looks)
{
	int is_locked = look_at_lock(borrowed);

	if (is_locked < 0)
		return is_locked;
	*looks = is_locked ? *looks + 1 : 0;
	if (*looks == LOOKS_AT_A_LOCK)
		return -EDEADLK;
	return host_clocks_now_ns() > shorten(borrowed, until_ns) ? -ETIMEDOUT : 0;
}

/* Runs the thread with these registers until it stops itself; updates them. */
static int execute(struct borrowed_thread *borrowed, struct user_regs_struct *regs)
{
	const uint64_t until_ns = host_clocks_now_ns() + ENDLESS_NS;
	int result = set_registers(borrowed, regs), looks = 0;

	while (!result) {
		result = go(borrowed);
		if (result == -ETIMEDOUT)
			result = stop(borrowed);
		if (!result)
			result = look(borrowed, until_ns, &looks);
	}
	if (result < 0)
		return result;
	return ptrace(PTRACE_GETREGS, borrowed->tid, NULL, regs) < 0 ? -errno : 0;
}

static bool is_mapped(pid_t pid, uint64_t address, uint64_t bytes)
{
	const struct proc_mapping *mapping;
	struct proc_maps maps;
	bool is_there;

	if (proc_maps_read(pid, &maps)) {
		error_clear();
		return false;
	}
	mapping = proc_maps_find(&maps, address);
	is_there = mapping && mapping->start == address && mapping->end == address + bytes &&
		   mapping->kind == PROC_MAPPING_ANONYMOUS;
	proc_maps_fini(&maps);
	return is_there;
}

int borrowed_thread_map(struct borrowed_thread *borrowed, uint64_t address, uint64_t bytes,
			int protection)
{
	struct user_regs_struct regs = borrowed->regs;
	int error = signal_frame_write(borrowed);

	if (error)
		return error;
	regs.rip = borrowed->target->mmap;
	regs.rsp = borrowed->frame - SIGNAL_FRAME_CHAIN_BYTES;
	regs.rdi = address;
	regs.rsi = bytes;
	regs.rdx = (unsigned long long)protection;
	regs.rcx = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	regs.r8 = (unsigned long long)-1;
	regs.r9 = 0;
	error = execute(borrowed, &regs);
	if (!error && !injector_target_is_in_libc(borrowed->target, regs.rip))
		error = -ENOTSUP;
	return error ? error : is_mapped(borrowed->target->pid, address, bytes) ? 0 : -ENOMEM;
}

int borrowed_thread_unmap(struct borrowed_thread *borrowed, uint64_t address, uint64_t bytes)
{
	struct user_regs_struct regs = borrowed->regs;
	int error = signal_frame_write_chain(borrowed);

	if (error)
		return error;
	regs.rip = borrowed->target->munmap;
	regs.rsp = borrowed->frame - SIGNAL_FRAME_CHAIN_BYTES;
	regs.rdi = address;
	regs.rsi = bytes;
	return execute(borrowed, &regs);
}

int borrowed_thread_run(struct borrowed_thread *borrowed, uint64_t code, uint64_t end, uint64_t rbx,
			uint64_t rsp)
{
	struct user_regs_struct regs = borrowed->regs;
	int error;

	regs.rip = code;
	regs.rbx = rbx;
	regs.rsp = rsp;
	error = execute(borrowed, &regs);
	return error ? error : regs.rip == end ? 0 : -ENOTSUP;
}

/* ---- returning ------------------------------------------------------------------------------- */

static void write_back(struct borrowed_thread *borrowed)
{
	struct iovec state = {borrowed->state, borrowed->state_bytes};

	/* the registers last: until then the signal frame would restore the state */
	ptrace(PTRACE_SETSIGMASK, borrowed->tid, (void *)sizeof(borrowed->mask), &borrowed->mask);
	ptrace(PTRACE_SETREGSET, borrowed->tid, (void *)NT_X86_XSTATE, &state);
	ptrace(PTRACE_SETREGS, borrowed->tid, NULL, &borrowed->regs);
}

/* Restores the state, but only if the process still runs the image from which the thread was
 * borrowed. */
static void restore(struct borrowed_thread *borrowed)
{
	int error = 0;

	if (borrowed->give_up_ns)
		borrowed->give_up_ns = host_clocks_now_ns() + GRACE_NS;
	if (!borrowed->is_stopped && borrowed->frame)
		error = stop(borrowed);
	if (!borrowed->is_stopped || error < 0 || borrowed_thread_check(borrowed))
		return;
	if (borrowed->frame)
		write_back(borrowed);
	else if (borrowed->is_mended)
		ptrace(PTRACE_SETREGS, borrowed->tid, NULL, &borrowed->regs);
}

uint64_t borrowed_thread_return(struct borrowed_thread *borrowed)
{
	uint64_t stopped_ns = 0;

	if (borrowed->is_seized)
		restore(borrowed);
	if (borrowed->is_seized && borrowed->is_stopped) {
		/* a signal that arrived while the thread was borrowed is dropped */
		const int signal = borrowed->frame ? 0 : borrowed->held_signal;

		ptrace(PTRACE_DETACH, borrowed->tid, NULL, (void *)(intptr_t)signal);
		stopped_ns = host_clocks_now_ns() - borrowed->stopped_ns;
	}
	if (borrowed->was_told_to_stop)
		target_identity_signal(&borrowed->target->identity, SIGSTOP);
	free(borrowed->state);
	*borrowed = (struct borrowed_thread){0};
	return stopped_ns;
}

#endif
