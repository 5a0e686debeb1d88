/* SPDX-License-Identifier: MIT
 *
 * collect/borrowed_thread.h - a thread of another process that does something for us and goes on (x86-64)
 */
#ifndef COLLECT_BORROWED_THREAD_H
#define COLLECT_BORROWED_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "collect/injector_target.h"

enum { BORROWED_STATE_BYTES = 16384 };

struct borrowed_thread {
	const struct injector_target *target;
	pid_t tid;
	uint32_t ns_pid, ns_tid;      /* as the process counts */
	struct user_regs_struct regs; /* as it was */
	uint8_t *state;               /* owned; of its vector registers, as it was */
	size_t state_bytes;           /* of which the kernel takes this much back … */
	size_t frame_state_bytes;     /* … and a frame on its stack has this much */
	uint64_t mask;                /* its blocked signals */
	int64_t call;                 /* the system call that it waited in; -1: none */
	int signal;                   /* by which it stops for us */
	uint64_t frame;               /* on its stack: all that was, as for a signal's handler */
	uint64_t stopped_ns;          /* since when */
	uint64_t give_up_ns;          /* the recording is over: no wait is longer; 0: it goes on */
	int held_signal; /* it is stopped on its way to this signal of the program's; 0: none */
	bool is_seized, is_stopped;
	bool is_mended;        /* regs are those of a call that begins again */
	bool was_told_to_stop; /* by somebody's SIGSTOP, meanwhile */
};

/* Stops a thread. Errors: -EAGAIN: not this one now; -ESRCH: it is gone; -EPERM; -ESTALE: it is no longer in the image that
 * the target was opened on, and nothing is written into it; -ETIMEDOUT: it does not stop, and is
 * let go of when the calling thread ends. Whatever is returned, borrowed_thread_return is to be called. */
int borrowed_thread_take(const struct injector_target *target, pid_t tid,
			 struct borrowed_thread *borrowed);

/* Whether the process has not become another one since. Errors: -ESTALE. */
int borrowed_thread_check(const struct borrowed_thread *borrowed);

/* Whether it can do something else just now. *ret_why: what it does else, as the end of "its threads …". */
bool borrowed_thread_is_free(const struct borrowed_thread *borrowed, const char **ret_why);

/* Has it map memory at an address where nothing is. From then on it goes on by itself, whatever becomes of us. Errors:
 * -errno; -ENOMEM: it could not. */
int borrowed_thread_map(struct borrowed_thread *borrowed, uint64_t address, uint64_t bytes,
			int protection);

/* Has it give back what it has mapped, of which nobody makes use any more. */
int borrowed_thread_unmap(struct borrowed_thread *borrowed, uint64_t address, uint64_t bytes);

/* Has it execute `code`, with rbx and rsp as told, until it signals itself before the instruction at `end`. Errors:
 * -errno; -EDEADLK: it waits for something that it has itself. */
int borrowed_thread_run(struct borrowed_thread *borrowed, uint64_t code, uint64_t end, uint64_t rbx,
			uint64_t rsp);

/* As if nothing had been. Returns how long it was stopped, in ns. */
uint64_t borrowed_thread_return(struct borrowed_thread *borrowed);

#endif
