/* SPDX-License-Identifier: MIT
 *
 * collect/enter/call_probes.h - uprobes on a library's functions in chosen processes
 *
 * Only watched processes are probed. The BPF programs are loaded when the first process is added.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/call_record.h"

struct call_probes;

enum { CALL_PROBES_TEXT_BYTES = 512 };

struct call_probes_options {
	const char *const *functions; /* borrowed; call_record.function is an index into it */
	size_t functions_count;
	bool has_stacks; /* records contain stacks */
	/* Called with a struct call_record or a struct kernel_stack. */
	void (*on_record)(void *context, const void *record, size_t size);
	void *context;
};

/* Starts a thread with the present rights of the calling thread. Errors, with the error chain:
 * -EPERM: the rights are missing; -ENOTSUP: other pid namespace; -ENOMEM, -EAGAIN; -ENOSYS: duet
 * was built without libbpf. */
int call_probes_start(const struct call_probes_options *options, struct call_probes **ret_probes);
/* A kernel operation in progress is left to its thread. */
void call_probes_stop(struct call_probes *probes); /* NULL-safe */

/* Watches a process. Takes ownership of file_fd, the file of its library. Errors: -ENOSPC: too many
 * processes are watched. */
int call_probes_watch(struct call_probes *probes, uint32_t pid, int file_fd);
/* The process has ended: removes its probes, because its pid may be reused. */
void call_probes_forget(struct call_probes *probes, uint32_t pid);

/* Returns the result for each watched process, once: the number of probed functions. ret_text:
 * why functions could not be probed; "": all functions of the library are probed. False: no new
 * result. */
bool call_probes_next(struct call_probes *probes, uint32_t *ret_pid, uint32_t *ret_functions,
		      char ret_text[CALL_PROBES_TEXT_BYTES]);

/* Reports the stack with this id again the next time. */
void call_probes_forget_stack(struct call_probes *probes, uint64_t user_stack); /* NULL-safe */

/* Takes the records that BPF has written so far. */
void call_probes_drain(struct call_probes *probes);
/* Number of records so far that found no room. */
uint64_t call_probes_lost(const struct call_probes *probes, enum call_count which);
