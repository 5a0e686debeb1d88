/* SPDX-License-Identifier: MIT
 *
 * collect/enter/remote_call.h - makes a thread of another process execute code, then lets it
 * continue (x86-64)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "collect/enter/injector_target.h"

enum { BORROWED_STATE_BYTES = 16384 };

struct borrowed_thread {
	const struct injector_target *target;
	pid_t tid;
	uint32_t ns_pid, ns_tid;      /* ids in the process's pid namespace */
	struct user_regs_struct regs; /* registers before the call */
	uint8_t *state;               /* owned; vector registers (XSAVE) before the call */
	size_t state_bytes;           /* size for PTRACE_SETREGSET … */
	size_t frame_state_bytes;     /* … and in the signal frame on the stack */
	uint64_t mask;                /* blocked signals */
	int64_t call;                 /* the interrupted system call; -1: none */
	int signal;                   /* the signal with which it stops itself */
	/* address of the signal frame on its stack that restores everything; 0: not written */
	uint64_t frame;
	uint64_t stopped_ns; /* when it was stopped */
	/* deadline after the recording has ended; 0: the recording continues */
	uint64_t give_up_ns;
	int held_signal; /* a signal of the program that was stopped before delivery; 0: none */
	bool is_seized, is_stopped;
	bool is_mended;        /* `regs` were changed to restart the interrupted call */
	bool was_told_to_stop; /* another process sent SIGSTOP meanwhile */
};

/* Stops a thread. Errors: -EAGAIN: not possible now; -ESRCH: it has ended; -EPERM; -ESTALE: the
 * process runs another program image, and nothing was written; -ETIMEDOUT: it does not stop, and is
 * released when the calling thread ends. borrowed_thread_return must be called in all cases. */
int borrowed_thread_take(const struct injector_target *target, pid_t tid,
			 struct borrowed_thread *borrowed);

/* Checks that the process still runs the same image. Errors: -ESTALE. */
int borrowed_thread_check(const struct borrowed_thread *borrowed);

/* Whether the thread can be borrowed now. *ret_why: the reason if not, to complete "its threads
 * …". */
bool borrowed_thread_is_free(const struct borrowed_thread *borrowed, const char **ret_why);

/* Makes the thread map memory at an unused address. Writes the signal frame first, so that from
 * then on the thread recovers even if the recorder dies. Errors: -errno; -ENOMEM: mmap failed. */
int borrowed_thread_map(struct borrowed_thread *borrowed, uint64_t address, uint64_t bytes,
			int protection);

/* Makes the thread unmap this memory, which must no longer be in use. */
int borrowed_thread_unmap(struct borrowed_thread *borrowed, uint64_t address, uint64_t bytes);

/* Makes the thread execute `code`, with the given rbx and rsp, until it signals itself before the
 * instruction at `end`. Errors: -errno; -EDEADLK: it waits for a lock that it holds itself. */
int borrowed_thread_run(struct borrowed_thread *borrowed, uint64_t code, uint64_t end, uint64_t rbx,
			uint64_t rsp);

/* Restores the thread's state and releases it. Returns the time for which it was stopped, in ns. */
uint64_t borrowed_thread_return(struct borrowed_thread *borrowed);
