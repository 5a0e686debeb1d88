/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_watch.h - what the kernel knows of a switch beyond what perf tells: who came, who woke, what for
 *
 * Loaded in a thread of its own beside the program's start; until it is ready, and of whom is lost, nothing is known.
 */
#ifndef COLLECT_KERNEL_WATCH_H
#define COLLECT_KERNEL_WATCH_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/kernel_object.h"
#include "event/kernel_record.h"

struct kernel_watch;

/* From the start to the begin of the load: a program that is over by then has nothing to pay for it. */
enum { KERNEL_WATCH_DELAY_NS = 20000000 };

enum kernel_watch_state { KERNEL_WATCH_LOADS, KERNEL_WATCH_READY, KERNEL_WATCH_REFUSED };

struct kernel_watch_options {
	bool interrupts; /* sums them up, too */
	/* All threads of the machine but this process's own, each record as it comes: nothing is kept for who asks later. NULL:
	 * those of processes that are added. */
	void (*on_record)(void *context, const struct kernel_head *head);
	void *context;
};

/* Errors: -ENOMEM, -EAGAIN with the error chain. */
int kernel_watch_start(const struct kernel_watch_options *options, struct kernel_watch **ret_watch);
/* … at once, and waits for it: as a trial, which has no processes. Errors: the same. */
int kernel_watch_try(struct kernel_watch **ret_watch);
/* A load that goes on is left to its thread, with all that it has. */
void kernel_watch_stop(struct kernel_watch *watch); /* NULL-safe */

/* Turns ready once. *ret_reason: of REFUSED, why; else "". */
enum kernel_watch_state kernel_watch_state(const struct kernel_watch *watch,
					   const char **ret_reason);
/* Of a READY one: how long the load took. */
uint64_t kernel_watch_load_ns(const struct kernel_watch *watch);
const struct kernel_program_report *kernel_watch_reports(const struct kernel_watch *watch,
							 size_t *ret_count);

/* Of a READY one: whether this kernel asks for cap_bpf each time that a map is looked at, as those before 5.19 do where
 * kernel.unprivileged_bpf_disabled is set. */
bool kernel_watch_needs_right(const struct kernel_watch *watch);

/* Of a READY one, for the rest. A process of which, and of whose children from now on, is to be told. */
void kernel_watch_add(struct kernel_watch *watch, uint32_t pid);
void kernel_watch_remove(struct kernel_watch *watch, uint32_t pid);

/* Takes what the kernel has written so far. */
void kernel_watch_drain(struct kernel_watch *watch);

/* What is known of a switch that perf tells of at time_ns; forgets all of the thread before it. NULL: nothing. Valid
 * until the next call of any of these functions. */
const struct kernel_out *kernel_watch_out(struct kernel_watch *watch, uint32_t tid,
					  uint64_t time_ns);
const struct kernel_in *kernel_watch_in(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns);

/* The user's stack that a switch names, once: who asks keeps what it makes of it. NULL: it was told before, or is not
 * known. The caller frees it. */
struct kernel_stack *kernel_watch_take_user_stack(struct kernel_watch *watch, uint64_t user_stack);
/* So many may be told until this is called again. */
void kernel_watch_allow_stacks(struct kernel_watch *watch, uint32_t count);

/* The kernel's frames, innermost first; returns how many, at most `most`. */
size_t kernel_watch_stack(struct kernel_watch *watch, int32_t stack, uint64_t *ret_addresses,
			  size_t most);

/* Each process and handler, with its sum since the last call; returns how many handlings had no room for theirs. */
uint64_t kernel_watch_interrupts(struct kernel_watch *watch,
				 void (*each)(void *context, const struct kernel_interrupt_key *key,
					      const struct kernel_interrupt *interrupt),
				 void *context);

/* Records that were lost, inside the kernel and for lack of room here; forgets what is older than before_ns, as nobody
 * will ask for it. */
uint64_t kernel_watch_sweep(struct kernel_watch *watch, uint64_t before_ns);

/* Processes that were not followed, from their begin on or at all, as so many are at the same time already. */
uint64_t kernel_watch_lost_processes(const struct kernel_watch *watch);

/* What a record that is there lacks, as there was no room for it inside the kernel, or it could not be taken. */
struct kernel_losses {
	uint64_t wakings, kernel_stacks, user_stacks;
};
void kernel_watch_losses(const struct kernel_watch *watch, struct kernel_losses *ret_losses);

#endif
