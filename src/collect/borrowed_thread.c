/* SPDX-License-Identifier: MIT
 *
 * collect/borrowed_thread.c - a thread of another process that does something for us and goes on (x86-64)
 *
 * Runs in:  the recorder, in a thread of its own: what that has seized the kernel lets go when it ends
 * Gets:     a thread   Gives: memory in its process, and what is executed there
 * Owns:     the thread while it is stopped; a copy of its vector registers
 * Fails:    with the thread as it was
 * Why:      nobody may be harmed by a recorder that is killed half-way. So what the thread did before is laid down on its
 *           stack first, as the kernel does for a signal's handler, and each function of ours returns through that:
 *           alone, the thread comes back by itself. As long as we are there its registers are written back instead,
 *           because that way leads the kernel to restart a sleep with what is left of it, and a frame on the stack does
 *           not. Our stop is a signal of the thread to itself that is ignored where nobody traces.
 */
#include "collect/borrowed_thread.h"

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
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/host_clocks.h"
#include "symbol/remote_library.h"
#include "symbol/unwind_walk.h"

#if defined(__x86_64__)
#include <cpuid.h>

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f /* Linux 5.13 */
#endif

/* The kernel's own results of system calls that were interrupted; nobody else sees them. */
enum {
	RESTART_SYS = 512,
	RESTART_NO_INTERRUPT = 513,
	RESTART_NO_HANDLER = 514,
	RESTART_BLOCK = 516
};

enum {
	RED_ZONE_BYTES = 128,
	STACK_BYTES = 65536, /* of a stack that are looked at */
	CALL_BYTES = 4096,   /* of it that mmap may take */
	FRAMES_MOST = 128,
	CALL_INSTRUCTION_BYTES = 2, /* syscall */
	CODE_SEGMENT = 0x33,
	STACK_SEGMENT = 0x2b,
	LOOK_NS = 50000000,  /* what takes longer is looked at */
	LOOKS_AT_A_LOCK = 10 /* that many in a row: it has the lock itself */
};
#define STOP_NS \
	UINT64_C(5000000000) /* a thread that can run stops at once, when it has a processor */
#define GRACE_NS   UINT64_C(300000000)   /* when the recording is over */
#define ENDLESS_NS UINT64_C(30000000000) /* given up: in the middle, with whatever it has */

/* ---- the kernel's frame of a signal ------------------------------------------------------------ */

struct frame_context {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, fault, state, reserved[8];
};

/* What mmap returns to: raise(signal), and then the restorer with the kernel's frame. */
struct chain {
	uint64_t align; /* a ret: raise is called with the stack as calls have it */
	uint64_t load, signal;
	uint64_t raise;
};

struct signal_frame {
	uint64_t restorer;
	uint64_t flags, link;
	struct {
		uint64_t sp;
		uint64_t flags, size;
	} alternate;
	struct frame_context context;
	uint64_t mask;
	uint8_t info[128];
};
_Static_assert(sizeof(struct frame_context) == 256, "as the kernel has it");
_Static_assert(offsetof(struct signal_frame, mask) == 304, "as the kernel has it");

/* How large the vector registers are in a frame, and where that is said. */
struct frame_state {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t bytes, padding[7];
};
enum {
	STATE_SAID_AT = 464,
	STATE_FEATURES_AT = 512,
	STATE_LEAST = 576,
	STATE_MAGIC = 0x46505853,
	STATE_END_MAGIC = 0x46505845,
	FRAME_FLAGS = 7,       /* extended state; the stack's segment is kept */
	ALTERNATE_NONE = 0x80, /* no such flag: the alternate stack stays what it is */
	TILES = 18             /* feature: matrices, which a process has to ask for */
};

static uint64_t word_of(const uint8_t *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

/* Up to the end of the last feature; the matrices are left out where they are not in use. */
static size_t measure_state(uint8_t *state, size_t bytes, uint64_t *ret_features)
{
	uint64_t features = word_of(state, STATE_SAID_AT),
		 in_use = word_of(state, STATE_FEATURES_AT);
	size_t end = STATE_LEAST;

	if (!(in_use >> TILES & 1))
		features &= ~(UINT64_C(1) << TILES);
	for (unsigned int i = 2; i < 63; i++) {
		unsigned int size, at, c, d;

		if (!(features >> i & 1) || !__get_cpuid_count(0xd, i, &size, &at, &c, &d))
			continue;
		if (at + size > end)
			end = at + size;
	}
	*ret_features = features;
	return end < bytes ? end : bytes;
}

/* What the kernel would have made of the interrupted call. */
static void copy_registers(const struct user_regs_struct *regs, struct frame_context *context)
{
	*context = (struct frame_context){
		.r8 = regs->r8,
		.r9 = regs->r9,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.r12 = regs->r12,
		.r13 = regs->r13,
		.r14 = regs->r14,
		.r15 = regs->r15,
		.di = regs->rdi,
		.si = regs->rsi,
		.bp = regs->rbp,
		.bx = regs->rbx,
		.dx = regs->rdx,
		.ax = regs->rax,
		.cx = regs->rcx,
		.sp = regs->rsp,
		.ip = regs->rip,
		.flags = regs->eflags,
		.cs = (uint16_t)regs->cs,
		.ss = (uint16_t)regs->ss,
	};
	if ((int64_t)regs->orig_rax < 0)
		return;
	switch (-(int64_t)regs->rax) {
	case RESTART_SYS:
	case RESTART_NO_INTERRUPT:
	case RESTART_NO_HANDLER:
		context->ax = regs->orig_rax;
		context->ip -= CALL_INSTRUCTION_BYTES;
		break;
	case RESTART_BLOCK: /* its deadline is the kernel's, and gone by then */
		context->ax = (uint64_t)-EINTR;
		break;
	default:
		break;
	}
}

static uint64_t frame_bytes(const struct borrowed_thread *borrowed)
{
	return RED_ZONE_BYTES + borrowed->frame_state_bytes + sizeof(struct signal_frame) + 192;
}

/* Below the frame; what is called takes it off the stack. */
static int lay_chain(const struct borrowed_thread *borrowed)
{
	const struct chain chain = {.align = borrowed->target->load_argument + 1,
				    .load = borrowed->target->load_argument,
				    .signal = (uint64_t)borrowed->signal,
				    .raise = borrowed->target->raise};

	return target_identity_write(&borrowed->target->identity, borrowed->frame - sizeof(chain),
				     &chain, sizeof(chain));
}

static int lay_frame(struct borrowed_thread *borrowed)
{
	const struct target_identity *identity = &borrowed->target->identity;
	const uint32_t end = STATE_END_MAGIC;
	struct signal_frame frame = {.restorer = borrowed->target->restorer,
				     .flags = FRAME_FLAGS,
				     .alternate = {.flags = ALTERNATE_NONE},
				     .mask = borrowed->mask};
	struct frame_state said = {.magic = STATE_MAGIC};
	auto_free uint8_t *state = malloc(borrowed->state_bytes);
	uint64_t at;
	size_t size;
	int error;

	if (!state)
		return -ENOMEM;
	memcpy(state, borrowed->state, borrowed->state_bytes);
	size = measure_state(state, borrowed->state_bytes, &said.features);
	said.bytes = (uint32_t)size;
	said.extended_bytes = said.bytes + sizeof(end);
	memcpy(state + STATE_SAID_AT, &said, sizeof(said));
	at = (borrowed->regs.rsp - RED_ZONE_BYTES - size - sizeof(end)) & ~UINT64_C(63);
	copy_registers(&borrowed->regs, &frame.context);
	frame.context.state = at;
	/* where a function that is called finds its return address */
	borrowed->frame = ((at - sizeof(frame)) & ~UINT64_C(15)) - 8;
	error = target_identity_write(identity, at, state, size);
	if (!error)
		error = target_identity_write(identity, at + size, &end, sizeof(end));
	if (!error)
		error = target_identity_write(identity, borrowed->frame, &frame, sizeof(frame));
	return error ? error : lay_chain(borrowed);
}

/* ---- stops ------------------------------------------------------------------------------------- */

static void nap(void)
{
	static const struct timespec time = {0, 20000};

	nanosleep(&time, NULL);
}

static int event_of(int status)
{
	return status >> 16;
}

/* A recording that is over waits only as long as a thread needs that goes on by itself. */
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

/* A thread that is not the first one takes the first one's number when it executes another program, and stops under that.
 * The kernel has given it the number before it stops. */
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

/* The next stop. After an exec the thread is stopped in another image: it is let go of as it is. */
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

/* Of a thread that works for us; SIGSTOP cannot be blocked. */
static bool is_own_signal(struct borrowed_thread *borrowed, int signal)
{
	siginfo_t info = {0};

	borrowed->was_told_to_stop |= signal == SIGSTOP;
	ptrace(PTRACE_GETSIGINFO, borrowed->tid, NULL, &info);
	return signal == borrowed->signal && info.si_code == SI_TKILL;
}

/* Has it stop where it is. 1: it has come to our signal. */
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
		/* one that was on its way is the program's; while it works for us there is none */
		error = let_go_on(borrowed, borrowed->frame ? 0 : signal);
		if (error)
			return error;
	}
	return error;
}

/* Goes on until our signal. */
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
		/* all others wait, blocked; these are ignored */
		error = let_go_on(borrowed, 0);
	}
	return error;
}

/* ---- taking ------------------------------------------------------------------------------------ */

/* Not in a sleep that nothing ends: it would stop when nobody expects it any more. */
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

/* One that the kernel ignores: nobody handles, blocks or waits for it. */
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

/* Those that a stop ends with EINTR, as a handler would, and that have done nothing when they do. */
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

/* The call that the stop has interrupted; -1: it was in none, or that was over. */
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

/* A program that has no handler need not expect EINTR. Where a signal is on its way, it is that one's. A time that such a
 * call waits for at the longest begins anew. */
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
	if (state.iov_len < STATE_LEAST)
		return -ENOTSUP;
	borrowed->state_bytes = state.iov_len;
	borrowed->frame_state_bytes =
		measure_state(borrowed->state, borrowed->state_bytes, &features);
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

/* ---- what it does ------------------------------------------------------------------------------ */

static bool is_guarded(const struct injector_target *target, uint64_t pc)
{
	for (size_t i = 0; i < target->guarded_count; i++)
		if (pc >= target->guarded[i].start && pc < target->guarded[i].end)
			return true;
	return false;
}

static bool is_in_libc(const struct injector_target *target, uint64_t pc)
{
	return pc >= target->libc.start && pc < target->libc.end;
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	const struct injector_target *target = context;

	if (is_in_libc(target, pc))
		return unwind_table_find(target->rules,
					 pc - target->libc.start + target->libc_offset);
	return (union unwind_rule){.type = RULE_UNKNOWN};
}

/* Out of the C library on a way that takes no lock which a new thread needs. */
static bool is_out_of_library(const struct borrowed_thread *borrowed, const uint8_t *stack,
			      size_t bytes)
{
	const struct injector_target *target = borrowed->target;
	const struct unwind_state state = {.ip = borrowed->regs.rip,
					   .sp = borrowed->regs.rsp,
					   .bp = borrowed->regs.rbp,
					   .stack = stack,
					   .stack_bytes = bytes,
					   .has_bp = true};
	struct unwind_walk_frame frames[FRAMES_MOST];
	enum unwind_walk_end end;
	size_t count = unwind_walk(&state, find_rule, NULL, (void *)(uintptr_t)target, frames,
				   FRAMES_MOST, &end);

	for (size_t i = 0; i < count; i++)
		if (is_guarded(target, frames[i].pc - frames[i].is_return))
			return false;
	return count && !is_in_libc(target, frames[count - 1].pc);
}

/* The kernel's frame of a signal has the restorer and segments as no other memory has them. */
static bool is_in_handler(const struct injector_target *target, const uint8_t *stack, size_t bytes)
{
	for (size_t at = 0; at + sizeof(struct signal_frame) <= bytes; at += 8) {
		struct signal_frame frame;

		if (word_of(stack, at) != target->restorer)
			continue;
		memcpy(&frame, stack + at, sizeof(frame));
		if (frame.context.cs == CODE_SEGMENT && frame.context.ss == STACK_SEGMENT)
			return true;
	}
	return false;
}

/* Inside of a sequence that the kernel would have it begin again. */
static bool is_in_sequence(const struct borrowed_thread *borrowed)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, padding;
	} said = {0};
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} sequence;
	const pid_t pid = borrowed->target->pid;
	uint64_t at = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, borrowed->tid, (void *)sizeof(said), &said) < 0 ||
	    !said.address || remote_library_read(pid, said.address + 8, &at, sizeof(at)) || !at)
		return false;
	return remote_library_read(pid, at, &sequence, sizeof(sequence)) ||
	       borrowed->regs.rip - sequence.start < sequence.bytes;
}

/* A thread that the C library made has its own address at the begin of its control block. */
static bool is_of_library(const struct borrowed_thread *borrowed)
{
	uint64_t head[3];

	return borrowed->regs.cs == CODE_SEGMENT && borrowed->regs.ss == STACK_SEGMENT &&
	       borrowed->regs.fs_base &&
	       !remote_library_read(borrowed->target->pid, borrowed->regs.fs_base, head,
				    sizeof(head)) &&
	       head[0] == borrowed->regs.fs_base && head[2] == borrowed->regs.fs_base;
}

/* The stack that the kernel made for the first thread, or one that the C library made for another, which has the thread's own
 * data above it. The first thread's data is anywhere, in one mapping with whatever came to lie beside it. */
static bool is_own_stack(const struct borrowed_thread *borrowed, const struct proc_mapping *mapping)
{
	if (borrowed->tid == borrowed->target->pid)
		return strcmp(mapping->path, "[stack]") == 0;
	return borrowed->regs.rsp < borrowed->regs.fs_base && borrowed->regs.fs_base < mapping->end;
}

/* In bytes that are mapped around the stack pointer; false: none. What is below it is the stack's alone where that is the
 * thread's own: a coroutine's lies in the middle of a program's memory. */
static bool find_stack(const struct borrowed_thread *borrowed, uint64_t *ret_below,
		       uint64_t *ret_above)
{
	const uint64_t sp = borrowed->regs.rsp;
	const struct proc_mapping *mapping = proc_maps_find(&borrowed->target->maps, sp);

	if (!mapping || !mapping->is_writable || !is_own_stack(borrowed, mapping))
		return false;
	*ret_below = sp - mapping->start;
	*ret_above = mapping->end - sp;
	return true;
}

/* In a call that waits for somebody outside: no allocator does that, while it waits for locks and gives memory back. A short
 * sleep may be one that comes to its lock. */
static bool waits_outside(const struct borrowed_thread *borrowed)
{
	static const uint16_t calls[] = {
		SYS_read,          SYS_readv,           SYS_recvfrom,     SYS_recvmsg,
		SYS_recvmmsg,      SYS_accept,          SYS_accept4,      SYS_poll,
		SYS_ppoll,         SYS_select,          SYS_pselect6,     SYS_epoll_wait,
		SYS_epoll_pwait,   SYS_wait4,           SYS_waitid,       SYS_pause,
		SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_io_getevents, 441 /* epoll_pwait2 */,
	};

	for (size_t i = 0; i < ARRAY_COUNT(calls); i++)
		if (calls[i] == borrowed->call)
			return true;
	return false;
}

bool borrowed_thread_is_free(const struct borrowed_thread *borrowed, const char **ret_why)
{
	const struct injector_target *target = borrowed->target;
	auto_free uint8_t *stack = malloc(STACK_BYTES);
	uint64_t below = 0, above = 0;
	size_t bytes;

	*ret_why = NULL;
	if (!stack || !find_stack(borrowed, &below, &above))
		*ret_why = "are on stacks that are not their own, or were not there a moment ago";
	else if (below < frame_bytes(borrowed) + CALL_BYTES)
		*ret_why = "have hardly any stack left";
	else if (!is_of_library(borrowed))
		*ret_why = "were not made by its C library";
	else if (is_in_sequence(borrowed))
		*ret_why = "are in restartable sequences";
	else if (target->has_other_allocator && !waits_outside(borrowed))
		*ret_why = "have an allocator that is not the C library's and may be inside of it, "
			   "and "
			   "none waits for something from outside";
	if (*ret_why)
		return false;
	bytes = above < STACK_BYTES ? (size_t)above : STACK_BYTES;
	if (remote_library_read(target->pid, borrowed->regs.rsp, stack, bytes))
		*ret_why = "have stacks that cannot be read";
	else if (is_in_handler(target, stack, bytes))
		*ret_why = "are in handlers of signals";
	else if (is_guarded(target, borrowed->regs.rip) ||
		 !is_out_of_library(borrowed, stack, bytes))
		*ret_why = "allocate memory, load libraries or begin and end threads";
	return !*ret_why;
}

/* ---- work -------------------------------------------------------------------------------------- */

static int set_registers(struct borrowed_thread *borrowed, struct user_regs_struct *regs)
{
	const uint64_t all = ~(UINT64_C(1) << (borrowed->signal - 1));
	int error = borrowed_thread_check(borrowed);

	if (error)
		return error;
	regs->orig_rax = (unsigned long long)-1; /* nothing is restarted */
	regs->eflags &= ~UINT64_C(0x500);        /* no single steps, strings go up */
	/* In this order: whoever is killed in between leaves a thread with its own mask, or with a frame that has it. */
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

/* Stopped in the middle: whether it will ever come to its end. */
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

/* With these registers, until it stops itself. */
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
	int error = lay_frame(borrowed);

	if (error)
		return error;
	regs.rip = borrowed->target->mmap;
	regs.rsp = borrowed->frame - sizeof(struct chain);
	regs.rdi = address;
	regs.rsi = bytes;
	regs.rdx = (unsigned long long)protection;
	regs.rcx = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	regs.r8 = (unsigned long long)-1;
	regs.r9 = 0;
	error = execute(borrowed, &regs);
	if (!error && !is_in_libc(borrowed->target, regs.rip))
		error = -ENOTSUP;
	return error ? error : is_mapped(borrowed->target->pid, address, bytes) ? 0 : -ENOMEM;
}

int borrowed_thread_unmap(struct borrowed_thread *borrowed, uint64_t address, uint64_t bytes)
{
	struct user_regs_struct regs = borrowed->regs;
	int error = lay_chain(borrowed);

	if (error)
		return error;
	regs.rip = borrowed->target->munmap;
	regs.rsp = borrowed->frame - sizeof(struct chain);
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

/* ---- returning --------------------------------------------------------------------------------- */

static void write_back(struct borrowed_thread *borrowed)
{
	struct iovec state = {borrowed->state, borrowed->state_bytes};

	/* The registers last: until then the frame leads back. */
	ptrace(PTRACE_SETSIGMASK, borrowed->tid, (void *)sizeof(borrowed->mask), &borrowed->mask);
	ptrace(PTRACE_SETREGSET, borrowed->tid, (void *)NT_X86_XSTATE, &state);
	ptrace(PTRACE_SETREGS, borrowed->tid, NULL, &borrowed->regs);
}

/* Into the image that it was borrowed from and no other. */
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
		/* one that came while it worked for us is ours */
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
