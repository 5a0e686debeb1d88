/* SPDX-License-Identifier: MIT
 *
 * analyze/filter.h - selects the rows that --from, --to, --pid and --kind ask for
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "event/event.h"

struct model;
struct order;
struct order_item;
struct output_options;

struct filter {
	const struct model *model;            /* borrowed */
	const struct output_options *options; /* borrowed */
	uint64_t begin_ns;                    /* start of the recording, host ns */
	uint64_t from_ns, to_ns;
};

/* `order` provides the start of the recording if the trace has no host row. */
void filter_init(struct filter *filter, const struct model *model,
		 const struct output_options *options, const struct order *order);

/* The same with an order of its own, which gives the same start as in the report. Errors:
 * -ENOMEM. */
int filter_open(struct filter *filter, const struct model *model,
		const struct output_options *options);

/* The filter's window as options of the analysis, and its sources of names as options of the
 * frames. */
struct analysis_options filter_window(const struct output_options *options);
struct frames_options filter_names(const struct output_options *options);

bool filter_has_time(const struct filter *filter, uint64_t time_ns);

/* Whether a process or a thread, named by its id, is selected. */
bool filter_has_process(const struct filter *filter, uint32_t process);
bool filter_has_thread(const struct filter *filter, uint32_t thread);

bool filter_has_kind(const struct filter *filter, enum event_kind kind);

/* Whether a row is selected by its time, kind and process. */
bool filter_has_item(const struct filter *filter, const struct order_item *item);

/* Whether an API row stands for work of duet's guest. Such a row is not a call of the program. */
bool filter_is_section(const struct order_item *item);

/* The stack of a row; 0: none. */
uint32_t filter_stack_of(const struct order_item *item);

/* Converts a host time for output: relative to the start of the recording, or absolute with
 * output_options.is_absolute. */
int64_t filter_time(const struct filter *filter, uint64_t time_ns);

/* The process of a thread; 0: not known. */
uint32_t filter_process_of(const struct filter *filter, uint32_t thread);

/* Whether `kind` or `group` is in the comma-separated list. NULL contains everything. */
bool filter_is_wanted(const char *list, const char *kind, const char *group);
