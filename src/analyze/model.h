/* SPDX-License-Identifier: MIT
 *
 * analyze/model.h - an open trace with all its times converted to host time; the base of the
 * analysis and of the exporters
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/clocks.h"
#include "analyze/order.h"
#include "analyze/process_choice.h"
#include "event/event.h"

struct kernel_names;
struct short_names;
struct trace_damage;
struct trace_reader;

struct model {
	struct trace_reader *reader;
	struct clocks *clocks;
	struct kernel_names *kernel_names;
	uint32_t boot_clock; /* id of the CLOCK_BOOTTIME domain; 0: process start times are not
				known */
	/* Set by model_choose; NULL: all processes. */
	const struct process_choice *choice; /* borrowed */
	bool (*has_item)(const void *context, const struct order_item *item);
};

/* USER_HZ is 100 on all architectures of Linux: the unit of event_process.start_ticks, in ns. */
#define MODEL_TICK_NS UINT64_C(10000000)

/* Errors: those of trace_reader_open and clocks_new, with a text in the error chain. */
int model_open(const char *path, struct model **ret_model);
/* The same for a trace in memory, which the caller keeps until model_close. */
int model_open_memory(const void *bytes, size_t size, struct model **ret_model);
void model_close(struct model *model); /* NULL-safe */

/* The text of a string id; `otherwise` if it is empty. Valid until model_close. */
const char *model_text(const struct model *model, uint32_t string, const char *otherwise);

/* An importer added this launch to a migration of managed memory: its thread called nothing then.
 */
bool model_is_nobodys(const struct model *model, const struct event_launch *launch);

/* Same as trace_reader_entities and trace_reader_entity: all rows of an entity kind, and one by its
 * id. */
size_t model_entity_list(const struct model *model, enum event_kind kind, const void **ret_rows);
#define model_entities(model, kind, ret_rows) \
	model_entity_list(model, kind, (const void **)(ret_rows))
const void *model_entity(const struct model *model, enum event_kind kind, uint32_t id);

/* Id of a thread's process; 0 if the trace has no row for the thread or the process. */
uint32_t model_process_of(const struct model *model, uint32_t thread);

/* The pid of a process by its id; 0 if the trace has no row for it. */
uint32_t model_pid(const struct model *model, uint32_t process);

/* A frame by its id; NULL if there is none. */
const struct event_frame *model_frame(const struct model *model, uint32_t id);

/* A node of a stack by its id; NULL if there is none. */
const struct event_stack *model_stack(const struct model *model, uint32_t id);

/* The build id of a file, from the frames with this path (a string id); "": not known. */
const char *model_build_id(const struct model *model, uint32_t path_string);

/* A range's name; "[no name]" or "[not seen to begin]" if the row has none. */
const char *model_range_name(const struct model *model, const struct event_range *row);

/* Demangled name of a CODE_KERNEL, with its parameters only if it is overloaded; "": not known. */
const char *model_kernel_name(const struct model *model, uint32_t kernel);
/* The same for a code row. "[kernel 0x1000ffff0040]" if only the address is known; `otherwise` if
 * nothing is known or code is NULL. */
const char *model_code_name(const struct model *model, const struct event_code *code,
			    const char *otherwise);
/* The same for the string id of a symbol; `otherwise` if the string is empty. */
const char *model_kernel_text(const struct model *model, uint32_t symbol_string,
			      const char *otherwise);

/* The short names of all kernels, found by the names above. Freed by the caller; the model must
 * outlive them. Errors: -ENOMEM. */
int model_short_kernels(const struct model *model, struct short_names **ret_short);

/* Name of the source file of a kernel's or binary's program; "": not recorded. */
const char *model_source_file(const struct model *model, const struct event_code *code);

/* Whether the trace has rows of an event kind. */
bool model_has(const struct model *model, enum event_kind kind);

/* Number of rows of an event kind, as the chunk heads give it. */
uint64_t model_rows(const struct model *model, enum event_kind kind);

/* Whether the file is neither cut off nor damaged, and the kind of all lost rows is known. */
bool model_is_whole(const struct model *model, const struct trace_damage *damage);

/* The rows of model_choose, otherwise all rows. */
int model_order(const struct model *model, const struct order_options *options,
		struct order **ret_order);

/* Start and end of the recording in host ns, from the host rows. Without host rows, the start is
 * that of `order`. The end is UINT64_MAX if only a sweep can determine it. */
void model_window(const struct model *model, const struct order *order, uint64_t *ret_begin_ns,
		  uint64_t *ret_end_ns);

/* Length of the first part of the recording that was dropped (--keep, --max-size), in ns; 0:
 * nothing was dropped, or the trace has no host row. */
uint64_t model_dropped_ns(const struct model *model);

/* A file that is a part of a longer recording. */
struct model_part {
	uint32_t segment; /* its number in the spool of duet agent; 0: a file of a trigger */
	bool continues;   /* the recording went on; false: it ended with this file */
};

/* Whether the file is such a part. False also for one without an end, of a killed recorder. */
bool model_find_part(const struct model *model, struct model_part *ret_part);

/* The process that stands for the recording: the one that duet started, otherwise the first one
 * with a queue and without a recorded parent. NULL: the trace has no process. */
const struct event_process *model_main_process(const struct model *model);
/* Start time of a process in host ns, up to one tick (10 ms) too early; 0: not known. NULL-safe. */
uint64_t model_process_started_ns(const struct model *model, const struct event_process *process);
/* Whether a collector of this name was on and not refused. */
bool model_has_recorded(const struct model *model, const char *collector);
/* The command line that duet started; "": none, or the trace is older than 1.4. */
const char *model_started(const struct model *model);
/* model_started, otherwise the command line of the main process; "" without a process. */
const char *model_command(const struct model *model);

/* Origin of an imported trace and what its source file lacks; NULL: duet recorded the trace. */
const char *model_imported_from(const struct model *model);

/* Converts a host time to CLOCK_REALTIME, ns since 1970; false if the trace has no such clock. */
bool model_wall_clock(const struct model *model, uint64_t host_ns, uint64_t *ret_realtime_ns);
