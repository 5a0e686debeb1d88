/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/watch.h - records of the scheduler's BPF programs: the next thread, the waker, the
 * cause of a switch
 *
 * The BPF object is loaded in a thread of its own, while the profiled program starts. Switches
 * before the object is ready, and switches whose record is lost, have no such data.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/kernel/object.h"
#include "event/kernel_record.h"

struct kernel_watch;

/* Delay of the load after the start. A program that ends before costs nothing. */
enum { KERNEL_WATCH_DELAY_NS = 20000000 };

enum kernel_watch_state { KERNEL_WATCH_LOADS, KERNEL_WATCH_READY, KERNEL_WATCH_REFUSED };

struct kernel_watch_options {
	bool interrupts; /* sum up the time of interrupts */
	/* Called for each record at once, for all threads of the machine but those of this process;
	 * nothing is stored. NULL: only processes that were added are watched, and their records
	 * are stored. */
	void (*on_record)(void *context, const struct kernel_head *head);
	/* Called for the Python frames of each sample. NULL: they are not used. */
	void (*on_python)(void *context, const struct kernel_python_stack *copied);
	void *context;
};

/* Errors: -ENOMEM, -EAGAIN, with the error chain. */
int kernel_watch_start(const struct kernel_watch_options *options, struct kernel_watch **ret_watch);
/* A trial: loads at once, waits for the load, and watches no process. Errors: as
 * kernel_watch_start. */
int kernel_watch_try(struct kernel_watch **ret_watch);
/* If the load is still running, its thread and memory are left alone. */
void kernel_watch_stop(struct kernel_watch *watch); /* NULL-safe */

/* Changes to READY or REFUSED once. *ret_reason: the reason of REFUSED; otherwise "". */
enum kernel_watch_state kernel_watch_state(const struct kernel_watch *watch,
					   const char **ret_reason);
/* Duration of the load. Needs the state READY. */
uint64_t kernel_watch_load_ns(const struct kernel_watch *watch);
const struct kernel_program_report *kernel_watch_reports(const struct kernel_watch *watch,
							 size_t *ret_count);

/* Whether this kernel requires cap_bpf for each look into a map, as those before 5.19 do if
 * kernel.unprivileged_bpf_disabled is set. Needs the state READY. */
bool kernel_watch_needs_right(const struct kernel_watch *watch);

/* Adds or removes a process to watch. Its later children are watched too. This and all functions
 * below need the state READY. */
void kernel_watch_add(struct kernel_watch *watch, uint32_t pid);
void kernel_watch_remove(struct kernel_watch *watch, uint32_t pid);

/* Reads Python frames of a process that is watched; only if this kernel can. */
void kernel_watch_add_python(struct kernel_watch *watch, uint32_t pid,
			     const struct kernel_python *places);
/* Program that reads the Python frames of samples, for PERF_EVENT_IOC_SET_BPF; -1: none. */
int kernel_watch_sample_program(struct kernel_watch *watch);

/* Reads the records so far. True: there are more, and the ring of stacks was not read. */
bool kernel_watch_drain(struct kernel_watch *watch);

/* Returns the BPF data of a switch that perf recorded at time_ns, and drops the thread's earlier
 * records. NULL: none. Valid until the next call of any of these functions. */
const struct kernel_out *kernel_watch_out(struct kernel_watch *watch, uint32_t tid,
					  uint64_t time_ns);
const struct kernel_in *kernel_watch_in(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns);

/* Returns the user's stack that a switch names, with its Python frames; NULL: none. Each stack is
 * delivered once, so the caller keeps its result. NULL: delivered before, or not known. The caller
 * frees both. */
struct kernel_stack *kernel_watch_take_user_stack(struct kernel_watch *watch, uint64_t user_stack,
						  struct kernel_python_stack **ret_python);
/* Allows the kernel to send `count` more stacks until the next call. */
void kernel_watch_allow_stacks(struct kernel_watch *watch, uint32_t count);

/* Reads the kernel's frames, innermost first. Returns their number, at most `most`. */
size_t kernel_watch_stack(struct kernel_watch *watch, int32_t stack, uint64_t *ret_addresses,
			  size_t most);

/* Calls `each` with the sum per process and handler since the last call. Returns the number of
 * interrupts without room. */
uint64_t kernel_watch_interrupts(struct kernel_watch *watch,
				 void (*each)(void *context, const struct kernel_interrupt_key *key,
					      const struct kernel_interrupt *interrupt),
				 void *context);

/* Returns the number of records that were lost since the last call, in the kernel or here. Drops
 * records older than before_ns, which will not be asked for. */
uint64_t kernel_watch_sweep(struct kernel_watch *watch, uint64_t before_ns);

/* Number of processes that could not be watched, or not from their start, because the map was
 * full. */
uint64_t kernel_watch_lost_processes(const struct kernel_watch *watch);

/* Number of records that lack one of these parts, because the kernel had no room for it or could
 * not read it. */
struct kernel_losses {
	uint64_t wakings, kernel_stacks, user_stacks, python_samples;
};
void kernel_watch_losses(const struct kernel_watch *watch, struct kernel_losses *ret_losses);
