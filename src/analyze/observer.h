/* SPDX-License-Identifier: MIT
 *
 * analyze/observer.h - callbacks for the rows, commands and time spans that an analysis processes
 *
 * The writers of timelines need the spans from which the account is summed. With callbacks, a trace
 * of 10^8 rows need not be read a second time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"
#include "analyze/order.h"

struct analysis;

/* An execution and its launch, if the launch is known. Times in the row are host ns, see
 * analyze/order.h. */
struct observed_command {
	const struct event_execution *row;
	uint64_t launch; /* number of the launch, as on_row counts them; 0: not known */
	uint32_t path;   /* index into the analysis's paths; valid if is_in_account */
	size_t device, context, queue; /* indices into the analysis */
	uint64_t bytes, work_items;    /* 0: not known */
	bool is_in_account; /* start and end are known in host time, and the execution is not
			       rejected */
	bool is_rejected;   /* it failed on its device, or its times are impossible */
	const char *name; /* only for rejected executions: name of the kernel, otherwise the kind of
			     command */
	uint64_t enter;   /* start of the launching call, host ns; 0: not known */
	uint32_t stack;   /* stack of the launch; 0: none */
};

/* A launch without an end in the trace. */
struct observed_open {
	uint64_t enter, correlation;     /* enter: host ns */
	uint32_t process, device, queue; /* ids; 0: not known */
};

/* The tables of the analysis whose additions are reported one by one, so that an observer can build
 * the table of any part of the window. */
enum observed_table {
	OBSERVED_LAUNCHED, /* row of analysis.launches; by: 1. The same for the next two */
	OBSERVED_MATCHED,
	OBSERVED_REJECTED,
	OBSERVED_SAMPLE,      /* row: id of the stack; by: weight */
	OBSERVED_INSTRUCTION, /* row: analysis_instruction.number; by: weight */
	OBSERVED_AWAY,        /* row of cpu.aways; by: ns */
	OBSERVED_STATE_KNOWN, /* row of cpu.states; by: ns added to known_ns */
	OBSERVED_STATE_SEEN,  /* by: added to seen */
	OBSERVED_STATE_LENGTH /* by: added to lengths[length] */
};

struct observed_part {
	enum observed_table table;
	uint32_t row;
	uint64_t begin, end;    /* host ns, inside the window; equal for a moment */
	uint64_t by;            /* amount added; it is spread evenly from begin to end */
	uint64_t count;         /* OBSERVED_INSTRUCTION: number of samples */
	uint32_t source_string; /* OBSERVED_SAMPLE: name of the perf event */
	unsigned int length;    /* OBSERVED_STATE_LENGTH: the length class */
};

/* Each callback returns 0, or -errno, which ends the analysis. A callback may be NULL, except
 * on_begin and on_span. */
struct analysis_observer {
	void *context;
	/* A sweep starts. The analysis may sweep twice: discard all data of earlier callbacks. The
	 * analysis's paths grow during the sweep; to_ns may be UINT64_MAX (not known yet). */
	int (*on_begin)(void *context, const struct analysis *analysis);
	/* Rows of calls, launches, CPU samples, switches, ranges and counters, in the order of
	 * time. launches: number of launch rows so far, including this one. */
	int (*on_row)(void *context, const struct order_item *item, uint64_t launches);
	int (*on_command)(void *context, const struct observed_command *command);
	/* The number of commands in flight on a device changes by 1 or -1 at time_ns, which may be
	 * later than the sweep's current time. */
	int (*on_flight)(void *context, size_t device, uint64_t time_ns, int by);
	/* One span of a device's time. The spans cover the window without overlap, in the order of
	 * time. A span's tag is the index of a path. */
	int (*on_span)(void *context, size_t device, const struct account_span *span);
	/* At the end: a command that was launched and is not known to have ended. */
	int (*on_open)(void *context, const struct observed_open *open);
	int (*on_part)(void *context, const struct observed_part *part);
};
