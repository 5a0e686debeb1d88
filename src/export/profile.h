/* SPDX-License-Identifier: MIT
 *
 * export/profile.h - stacks with what they cost, for formats that are profiles
 *
 * A row is what one thread launched of one command into one queue from one stack; or how often one
 * thread was found in one stack; or how often one instruction of a device was. Device time is the
 * account's: commands that overlap share it, and all rows of a device add up to its busy time.
 */
#ifndef EXPORT_PROFILE_H
#define EXPORT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/exporter.h"

struct analysis;
struct analysis_device;
struct device_code;
struct frames;
struct model;

#define PROFILE_KINDS "execution, cpu_sample, instruction_sample"

enum profile_kind { PROFILE_EXECUTION, PROFILE_CPU_SAMPLE, PROFILE_INSTRUCTION };

enum profile_frame_kind {
	PROFILE_NATIVE,
	PROFILE_INLINED,
	PROFILE_PYTHON,
	PROFILE_JIT,
	PROFILE_KERNEL,      /* of the operating system */
	PROFILE_PLACEHOLDER, /* stands for frames that are not known */
	PROFILE_DEVICE,      /* a command, or a line of a device's code */
	PROFILE_DEVICE_INSTRUCTION,
	PROFILE_FRAME_KIND_COUNT
};

struct profile_frame {
	enum profile_frame_kind kind;
	const char *function; /* never NULL */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* 0: not known */
	uint32_t first_line;  /* of the function; 0: not known */
	const char *module;   /* file of the code, or name of the code object; NULL: none */
	const char *build_id; /* "": not known */
	uint64_t address;     /* in the module: offset in a file of the host */
	uint32_t trace_frame; /* 0: none. Neighbours with the same one are one address, inlined */
	bool is_unnamed;      /* function tells only module and offset */
};

struct profile_row {
	enum profile_kind kind;
	uint32_t process, thread, queue;      /* ids; 0: not known */
	const struct analysis_device *device; /* NULL: a CPU sample */
	const char *command;                  /* kernel or kind of command; "": not known */
	const char *stall;                    /* of instruction samples; "": none is known */
	const char *source, *unit;            /* of a CPU sample; of instruction samples: unit */
	uint64_t count;                       /* executions or samples */
	uint64_t duration_ns;                 /* executions: their whole durations */
	uint64_t
		value; /* executions: ns of the device; CPU samples: weight; instructions: weight */
	bool tells_time; /* CPU samples: the weight is of a source that comes where the time goes */
	const struct profile_frame *frames; /* root first, at least one; until the next row */
	size_t frames_count;
};

struct profile {
	const struct model *model;
	const struct export_options *options;
	struct analysis *analysis;
	struct frames *frames;
	struct device_code *code;
	struct profile_frame *stack;
	size_t capacity, count;
};

/* Errors: -ENOMEM, what the reader fails with. */
int profile_open(struct profile *profile, const struct model *model,
		 const struct export_options *options);
/* Only for profile_frames: makes no analysis. -ENOMEM. */
int profile_open_names(struct profile *profile, const struct model *model,
		       const struct export_options *options);
void profile_close(struct profile *profile); /* half-built-safe */

/* Every row that is asked for: executions, CPU samples, instructions. Ends with what on_row gives where that is not 0. */
int profile_each(struct profile *profile,
		 int (*on_row)(void *context, const struct profile_row *row), void *context);

/* The frames of one stack with a function that was called from it ("": none), root first and at least one; until the next call.
 * -ENOMEM. */
int profile_frames(struct profile *profile, uint32_t stack, const char *function,
		   const struct profile_frame **ret_frames, size_t *ret_count);

/* How many frames from the first on are one address: a function, and what was inlined there. */
size_t profile_inlined(const struct profile_frame *frames, size_t count);

/* Whose: "" or 0 where it is not known. */
uint32_t profile_pid(const struct profile *profile, const struct profile_row *row);
uint32_t profile_tid(const struct profile *profile, const struct profile_row *row);
const char *profile_comm(const struct profile *profile, const struct profile_row *row);
const char *profile_thread_name(const struct profile *profile, const struct profile_row *row);

/* What was recorded, and in one line each what a reader must know of it: the ledger, what is lost, clocks that
 * contradict themselves. Calls `on_line` for each. */
void profile_describe(const struct profile *profile,
		      void (*on_line)(void *context, const char *line), void *context);

#endif
