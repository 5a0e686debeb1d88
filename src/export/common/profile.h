/* SPDX-License-Identifier: MIT
 *
 * export/common/profile.h - stacks with their costs, for formats that are profiles
 *
 * A row is one of three: all launches of one command from one thread and stack into one queue; all
 * CPU samples of one thread in one stack; all samples of one device instruction. Device time is
 * that of the account: commands that overlap share the time, so all rows of a device add up to its
 * busy time.
 */
#pragma once

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
	PROFILE_KERNEL,      /* the operating system's kernel */
	PROFILE_PLACEHOLDER, /* replaces unknown frames */
	PROFILE_DEVICE,      /* a command, or a line of a device's code */
	PROFILE_DEVICE_INSTRUCTION,
	PROFILE_FRAME_KIND_COUNT
};

struct profile_frame {
	enum profile_frame_kind kind;
	const char *function; /* never NULL */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* 0: not known */
	uint32_t first_line;  /* first line of the function; 0: not known */
	const char *module;   /* file of the code, or name of the code object; NULL: none */
	const char *build_id; /* "": not known */
	uint64_t address;     /* offset in the module's file */
	uint32_t trace_frame; /* 0: none. Equal for neighbours that inlining put at one address */
	bool is_unnamed;      /* function is only module and offset */
};

struct profile_row {
	enum profile_kind kind;
	uint32_t process, thread, queue;      /* ids; 0: not known */
	const struct analysis_device *device; /* NULL: a CPU sample */
	const char *command;                  /* kernel name or kind of command; "": not known */
	const char *stall;         /* stall reason of instruction samples; "": none known */
	const char *source, *unit; /* CPU samples; instruction samples: unit only */
	uint64_t count;            /* executions or samples */
	uint64_t duration_ns;      /* executions: sum of their durations */
	/* executions: device time in ns (account); samples: weight */
	uint64_t value;
	bool is_time; /* CPU samples: the source samples in proportion to time */
	const struct profile_frame *frames; /* root first, at least one; valid until the next row */
	size_t frames_count;
};

struct profile {
	const struct model *model;
	const struct output_options *options;
	struct analysis *analysis;
	struct frames *frames;
	struct device_code *code;
	struct profile_frame *stack;
	size_t capacity, count;
};

/* Errors: -ENOMEM, errors of the reader. */
int profile_open(struct profile *profile, const struct model *model,
		 const struct output_options *options);
/* Opens without an analysis; for profile_frames only. Errors: -ENOMEM. */
int profile_open_names(struct profile *profile, const struct model *model,
		       const struct output_options *options);
void profile_close(struct profile *profile); /* half-built-safe */

/* Calls on_row for each selected row: executions, CPU samples, instructions. Stops at a result of
 * on_row that is not 0, and returns it. */
int profile_each(struct profile *profile,
		 int (*on_row)(void *context, const struct profile_row *row), void *context);

/* The frames of a stack and the function that its innermost frame called ("": none). Root first, at
 * least one frame, valid until the next call. Errors: -ENOMEM. */
int profile_frames(struct profile *profile, uint32_t stack, const char *function,
		   const struct profile_frame **ret_frames, size_t *ret_count);

/* The number of frames, from the first on, at one address: a function and those inlined there. */
size_t profile_inlined(const struct profile_frame *frames, size_t count);

/* Ids and names of a row's process and thread; 0 or "" if unknown. */
uint32_t profile_pid(const struct profile *profile, const struct profile_row *row);
uint32_t profile_tid(const struct profile *profile, const struct profile_row *row);
const char *profile_comm(const struct profile *profile, const struct profile_row *row);
const char *profile_thread_name(const struct profile *profile, const struct profile_row *row);

/* Calls on_line with lines about the recording: the command, the ledger, losses, clocks with
 * contradictions. */
void profile_describe(const struct profile *profile,
		      void (*on_line)(void *context, const char *line), void *context);
