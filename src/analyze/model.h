/* SPDX-License-Identifier: MIT
 *
 * analyze/model.h - an open trace whose clocks are solved: what analysis and exporters start from
 */
#ifndef ANALYZE_MODEL_H
#define ANALYZE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/clocks.h"
#include "analyze/order.h"
#include "event/event.h"

struct kernel_names;
struct trace_damage;
struct trace_reader;

struct model {
	struct trace_reader *reader;
	struct clocks *clocks;
	struct kernel_names *kernel_names;
};

/* Errors: those of trace_reader_open and clocks_new, with a text in the error chain. */
int model_open(const char *path, struct model **ret_model);
void model_close(struct model *model); /* NULL-safe */

/* Text of a string id, `otherwise` where it is empty. Valid until close. */
const char *model_text(const struct model *model, uint32_t string, const char *otherwise);

/* As trace_reader_things and trace_reader_thing. */
size_t model_things(const struct model *model, enum event_kind kind, const void **ret_rows);
const void *model_thing(const struct model *model, enum event_kind kind, uint32_t id);

/* The process of a thread, by ids; 0 where it is not described. */
uint32_t model_process_of(const struct model *model, uint32_t thread);

/* A frame by its id; NULL where there is none. */
const struct event_frame *model_frame(const struct model *model, uint32_t id);

/* A node of a stack; NULL where there is none. */
const struct event_stack *model_stack(const struct model *model, uint32_t id);

/* The build id that frames of a file have, by the string id of its path; "": not known. */
const char *model_build_id(const struct model *model, uint32_t path_string);

/* Never "". */
const char *model_range_name(const struct model *model, const struct event_range *row);

/* Name of a CODE_KERNEL as its programmer wrote it, with its parameters where it is overloaded; "" where it is not
 * known. */
const char *model_kernel_name(const struct model *model, uint32_t kernel);
/* The same; of one of which only the address is known "[kernel 0x1000ffff0040]", `otherwise` where nothing is. code NULL:
 * none. */
const char *model_code_name(const struct model *model, const struct event_code *code,
			    const char *otherwise);
/* … and by the string id of its symbol, `otherwise` where that is empty. */
const char *model_kernel_text(const struct model *model, uint32_t symbol_string,
			      const char *otherwise);

/* The file that a kernel's or binary's program is of, where whoever recorded it knew one; "": nobody did. */
const char *model_source_file(const struct model *model, const struct event_code *code);

/* Whether rows of a kind of happening are in it. */
bool model_has(const struct model *model, enum event_kind kind);

/* How many there are of them, as far as the file's chunks say. */
uint64_t model_rows(const struct model *model, enum event_kind kind);

/* Nothing of the file is cut off or damaged, and no rows are lost of which nobody knows what they were. */
bool model_is_whole(const struct model *model, const struct trace_damage *damage);

int model_order(const struct model *model, const struct order_options *options,
		struct order **ret_order);

/* The recording in host ns: from the host rows, else begin of `order`; end UINT64_MAX where only a
 * sweep can tell. */
void model_window(const struct model *model, const struct order *order, uint64_t *ret_begin_ns,
		  uint64_t *ret_end_ns);

/* How much of the recording's begin was dropped as asked (--keep, --max-size); 0: nothing, or no
 * host row tells when it began. */
uint64_t model_dropped_ns(const struct model *model);

/* What was recorded: the process that duet started; else the first with a queue and without a recorded parent. NULL: there is
 * none, or what was started used no OpenCL itself. */
const struct event_process *model_main_process(const struct model *model);
/* A collector of this name was on and not refused. */
bool model_has_recorded(const struct model *model, const char *collector);
/* The command that duet started; "": none, or a trace before 1.4. */
const char *model_started(const struct model *model);
/* It, else that of the main process, "" without one. */
const char *model_command(const struct model *model);

/* Where an imported trace is from and what the foreign file lacks; NULL: it was recorded. */
const char *model_imported_from(const struct model *model);

/* What CLOCK_REALTIME showed at a host time, ns since 1970; false where the trace does not say. */
bool model_wall_clock(const struct model *model, uint64_t host_ns, uint64_t *ret_realtime_ns);

#endif
