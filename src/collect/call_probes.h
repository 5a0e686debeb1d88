/* SPDX-License-Identifier: MIT
 *
 * collect/call_probes.h - calls of a library's functions, seen from outside of the processes that call
 *
 * By probes of the kernel at the functions (uprobes), in the processes that are watched and in no other. Nothing is loaded
 * before the first one is.
 */
#ifndef COLLECT_CALL_PROBES_H
#define COLLECT_CALL_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/call_record.h"

struct call_probes;

enum { CALL_PROBES_TEXT_BYTES = 512 };

struct call_probes_options {
	const char *const *functions; /* borrowed; a call_record's function is a place in them */
	size_t functions_count;
	bool has_stacks; /* otherwise a call_record has none */
	/* A struct call_record, or a struct kernel_stack. */
	void (*on_record)(void *context, const void *record, size_t size);
	void *context;
};

/* With the rights that the calling thread has now. Errors: -EPERM: it has none for this; -ENOMEM, -EAGAIN; -ENOSYS where duet
 * was built without libbpf; with the error chain. */
int call_probes_start(const struct call_probes_options *options, struct call_probes **ret_probes);
/* What goes on inside the kernel is left to its thread. */
void call_probes_stop(struct call_probes *probes); /* NULL-safe */

/* Watches a process. file_fd: of its library, becomes the probes' own. Errors: -ENOSPC: there are too many at this time. */
int call_probes_watch(struct call_probes *probes, uint32_t pid, int file_fd);
/* … has ended: its probes are taken away, and its number may be another's. */
void call_probes_forget(struct call_probes *probes, uint32_t pid);

/* Each process that was to be watched, once: how many functions are probed for it; ret_text: why none of them is, or some
 * are not; "": all that its library has are. False: nothing is new. */
bool call_probes_next(struct call_probes *probes, uint32_t *ret_pid, uint32_t *ret_functions,
		      char ret_text[CALL_PROBES_TEXT_BYTES]);

/* The stack of this number is told again the next time. */
void call_probes_forget_stack(struct call_probes *probes, uint64_t user_stack); /* NULL-safe */

/* Takes what the kernel has written so far. */
void call_probes_drain(struct call_probes *probes);
/* … and what it had no room for so far. */
uint64_t call_probes_lost(const struct call_probes *probes, enum call_count which);

#endif
