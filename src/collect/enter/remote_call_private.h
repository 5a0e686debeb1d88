/* SPDX-License-Identifier: MIT
 *
 * collect/enter/remote_call_private.h - shared by remote_call.c, signal_frame.c and thread_check.c
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collect/enter/remote_call.h"

/* Kernel-internal results of interrupted system calls; programs never see them. */
enum {
	RESTART_SYS = 512,
	RESTART_NO_INTERRUPT = 513,
	RESTART_NO_HANDLER = 514,
	RESTART_BLOCK = 516
};

enum {
	CALL_INSTRUCTION_BYTES = 2, /* syscall */
	CODE_SEGMENT = 0x33,
	STACK_SEGMENT = 0x2b,
	SIGNAL_FRAME_CHAIN_BYTES = 32, /* return addresses below the signal frame */
	MIN_SIGNAL_FRAME_STATE = 576   /* min size of the vector registers (XSAVE) */
};

/* Max number of bytes that a signal frame takes below the thread's stack pointer. */
uint64_t signal_frame_bytes(const struct borrowed_thread *borrowed);
/* Size of the vector registers up to the end of the last feature in use; *ret_features: these
 * features. */
size_t signal_frame_measure(uint8_t *state, size_t bytes, uint64_t *ret_features);
/* Writes a signal frame that restores the thread's registers onto its stack, with a chain; sets
 * borrowed->frame. Errors: -errno. */
int signal_frame_write(struct borrowed_thread *borrowed);
/* Writes the chain below the frame again: return addresses that lead to raise(signal) and then to
 * the frame. The called functions pop it. Errors: -errno. */
int signal_frame_write_chain(const struct borrowed_thread *borrowed);
/* Whether a signal handler is running: searches a stack for a signal frame, by the address of the
 * restorer and the segment registers. */
bool signal_frame_is_on(const struct injector_target *target, const uint8_t *stack, size_t bytes);
