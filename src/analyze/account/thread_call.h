/* SPDX-License-Identifier: MIT
 *
 * analyze/account/thread_call.h - the calls and functions of a thread that an open idle gap may
 * need
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call of a thread, or several merged calls from one place. */
struct thread_call {
	uint64_t begin, end;
	uint64_t inside_ns;       /* time in the calls; less than end - begin if merged */
	uint32_t function, stack; /* stack 0: not known */
	uint32_t device;          /* index + 1 of the device that it waits for; 0: not known */
	bool is_own; /* the guest recorded the stack with the call; otherwise a sample or a switch
			inside of the call has it */
	bool is_earlier; /* inside of an earlier call of the function by this thread */
	bool is_wait, is_launch;
	uint32_t capture; /* as in struct analysis_state */
	bool is_full;
	bool is_dropped; /* functions that were not kept */
	/* A part of a function or an operator: when that began and ended. */
	uint64_t from_ns, until_ns;
};

/* The calls of a thread that an open idle gap may still need, in the order of their begin. */
struct thread_called {
	struct thread_call *calls;
	size_t count, capacity, limit;
	uint64_t last_end;
};
