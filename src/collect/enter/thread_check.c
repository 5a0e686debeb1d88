/* SPDX-License-Identifier: MIT
 *
 * collect/enter/thread_check.c - whether a stopped thread can be borrowed to load a library
 * (x86-64)
 *
 * Runs in:  the recorder, in the injecting thread
 * Gets:     a stopped thread, its registers and its stack
 * Gives:    yes, or what the thread is doing
 * Owns:     nothing
 * Fails:    with "no" if anything cannot be read
 * Why:      the borrowed thread calls mmap and pthread_create of the C library. If it already holds
 *           a lock that these need, it would wait for itself. Its stack is therefore walked up to
 *           the first frame outside of the C library.
 */
#include "collect/enter/remote_call_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/elf/unwind_walk.h"
#include "symbol/remote/library.h"

#if defined(__x86_64__)

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f /* Linux 5.13 */
#endif

enum {
	STACK_BYTES = 65536, /* max size of the inspected part of a stack */
	CALL_BYTES = 4096,   /* stack space for the call of mmap */
	MAX_FRAMES = 128
};

static bool is_guarded(const struct injector_target *target, uint64_t pc)
{
	for (size_t i = 0; i < target->guarded_count; i++)
		if (pc >= target->guarded[i].start && pc < target->guarded[i].end)
			return true;
	return false;
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	const struct injector_target *target = context;

	if (injector_target_is_in_libc(target, pc))
		return unwind_table_find(target->rules,
					 pc - target->libc.start + target->libc_offset);
	return (union unwind_rule){.type = RULE_UNKNOWN};
}

/* Whether the stack leads out of the C library without a guarded function, which may hold a lock
 * that a new thread needs. */
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
	struct unwind_walk_frame frames[MAX_FRAMES];
	enum unwind_walk_end end;
	size_t count = unwind_walk(&state, find_rule, NULL, (void *)(uintptr_t)target, frames,
				   MAX_FRAMES, &end);

	for (size_t i = 0; i < count; i++)
		if (is_guarded(target, frames[i].pc - frames[i].is_return))
			return false;
	return count && !injector_target_is_in_libc(target, frames[count - 1].pc);
}

/* Whether the thread is in a restartable sequence (rseq), which the kernel would abort. */
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

/* Whether the C library created the thread: its thread control block then starts with its own
 * address. */
static bool is_of_library(const struct borrowed_thread *borrowed)
{
	uint64_t head[3];

	return borrowed->regs.cs == CODE_SEGMENT && borrowed->regs.ss == STACK_SEGMENT &&
	       borrowed->regs.fs_base &&
	       !remote_library_read(borrowed->target->pid, borrowed->regs.fs_base, head,
				    sizeof(head)) &&
	       head[0] == borrowed->regs.fs_base && head[2] == borrowed->regs.fs_base;
}

/* Whether the mapping is the thread's own stack: "[stack]" for the first thread; for others the
 * mapping by the C library, which has the thread control block above the stack. The first thread's
 * control block may be in any mapping, so it is not used there. */
static bool is_own_stack(const struct borrowed_thread *borrowed, const struct proc_mapping *mapping)
{
	if (borrowed->tid == borrowed->target->pid)
		return strcmp(mapping->path, "[stack]") == 0;
	return borrowed->regs.rsp < borrowed->regs.fs_base && borrowed->regs.fs_base < mapping->end;
}

/* Finds the number of mapped bytes below and above the stack pointer. False: the thread is not on
 * its own stack. Only there is the memory below free; a coroutine's stack may be in the middle of
 * other data. */
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

/* Whether the thread is in a system call that waits for something outside the process. An allocator
 * never does that; it only waits for locks or returns memory. Short sleeps do not count, because a
 * spinning lock may sleep. */
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
		*ret_why = "are on stacks that are not their own, or have just started";
	else if (below < signal_frame_bytes(borrowed) + CALL_BYTES)
		*ret_why = "have hardly any stack left";
	else if (!is_of_library(borrowed))
		*ret_why = "were not created by its C library";
	else if (is_in_sequence(borrowed))
		*ret_why = "are in restartable sequences";
	else if (target->has_other_allocator && !waits_outside(borrowed))
		*ret_why = "may be inside an allocator that is not the C library's, and none waits "
			   "for something from outside";
	if (*ret_why)
		return false;
	bytes = above < STACK_BYTES ? (size_t)above : STACK_BYTES;
	if (remote_library_read(target->pid, borrowed->regs.rsp, stack, bytes))
		*ret_why = "have stacks that cannot be read";
	else if (signal_frame_is_on(target, stack, bytes))
		*ret_why = "are in signal handlers";
	else if (is_guarded(target, borrowed->regs.rip) ||
		 !is_out_of_library(borrowed, stack, bytes))
		*ret_why = "allocate memory, load libraries or start or end threads";
	return !*ret_why;
}

#endif
