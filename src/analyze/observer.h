/* SPDX-License-Identifier: MIT
 *
 * analyze/observer.h - what an analysis meets on its way, told while it sweeps
 *
 * A writer of timelines needs what the account is made of, and no trace of 10^8 rows is read a second time for it.
 */
#ifndef ANALYZE_OBSERVER_H
#define ANALYZE_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account.h"
#include "analyze/order.h"

struct analysis;

/* An execution, with what is known of its launch. Times in the row are host ns, see analyze/order.h. */
struct observed_command {
	const struct event_execution *row;
	uint64_t launch; /* number of its launch: see on_row; 0: not known */
	uint32_t path;   /* index into the analysis's paths; of commands in the account */
	size_t device, context, queue; /* indices into the analysis */
	uint64_t bytes, work_items;    /* 0: not known */
	bool is_in_account;            /* started, ended and placed, not rejected */
	bool is_rejected;              /* it failed on its device, or its times are impossible */
	const char *name; /* of a rejected one: its kernel's, else what kind of command it is */
	uint64_t enter;   /* of its launch, host ns; 0: not known */
	uint32_t stack;   /* of its launch; 0: none */
};

/* What a row of a table of the analysis got, told at once, so that tables can be made of any part of the window. */
enum observed_table {
	OBSERVED_LAUNCHED, /* of launches; by 1, as the next two */
	OBSERVED_MATCHED,
	OBSERVED_REJECTED,
	OBSERVED_SAMPLE,      /* row: the stack; by: weight */
	OBSERVED_INSTRUCTION, /* row: its number; by: weight */
	OBSERVED_AWAY,        /* of aways; by: ns */
	OBSERVED_STATE_KNOWN, /* of states; by: ns of known_ns */
	OBSERVED_STATE_SEEN,  /* by: of seen */
	OBSERVED_STATE_LENGTH /* by: of lengths[length] */
};

struct observed_part {
	enum observed_table table;
	uint32_t row;
	uint64_t begin, end;    /* host ns, in the window; the same: a moment */
	uint64_t by;            /* of something that lasts: evenly from begin to end */
	uint64_t count;         /* samples of an instruction */
	uint32_t source_string; /* of a sample: the event as perf names it */
	unsigned int length;    /* of OBSERVED_STATE_LENGTH */
};

/* Each returns 0 or the -errno that ends the analysis. NULL: nobody asks; on_begin and on_span must be there. */
struct analysis_observer {
	void *context;
	/* A sweep begins: nothing that was told before counts. Its paths grow while it lasts; to_ns may not be known
	 * yet (UINT64_MAX). */
	int (*on_begin)(void *context, const struct analysis *analysis);
	/* Rows of calls, launches, samples, switches, ranges and counters in the order of time. launches: so many launch rows came so
	 * far, with this one. */
	int (*on_row)(void *context, const struct order_item *item, uint64_t launches);
	int (*on_command)(void *context, const struct observed_command *command);
	/* A command came to a device (by 1) or is over there (-1), at that moment, which may be still to come. */
	int (*on_flight)(void *context, size_t device, uint64_t time_ns, int by);
	/* A device's time in the window, each nanosecond once, in the order of time; a span's tag is a path. */
	int (*on_span)(void *context, size_t device, const struct account_span *span);
	int (*on_part)(void *context, const struct observed_part *part);
};

#endif
