/* SPDX-License-Identifier: MIT
 *
 * export/filter.h - what of a trace is asked for, row by row
 */
#ifndef EXPORT_FILTER_H
#define EXPORT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "event/event.h"
#include "export/exporter.h"

struct model;
struct order;
struct order_item;

struct filter {
	const struct model *model;            /* borrowed */
	const struct export_options *options; /* borrowed */
	uint64_t begin_ns;                    /* of the recording */
	uint64_t from_ns, to_ns;
};

/* `order` tells when the recording began where no host row does. */
void filter_init(struct filter *filter, const struct model *model,
		 const struct export_options *options, const struct order *order);

/* The same, with the report's begin. -ENOMEM. */
int filter_open(struct filter *filter, const struct model *model,
		const struct export_options *options);

/* The same window and the same sources of names, for those who ask the analysis and the frames. */
struct analysis_options filter_window(const struct export_options *options);
struct frames_options filter_names(const struct export_options *options);

bool filter_has_time(const struct filter *filter, uint64_t time_ns);

/* By the ids of things. */
bool filter_has_process(const struct filter *filter, uint32_t process);
bool filter_has_thread(const struct filter *filter, uint32_t thread);

bool filter_has_kind(const struct filter *filter, enum event_kind kind);

/* A row, by its time, kind and process. */
bool filter_has_item(const struct filter *filter, const struct order_item *item);

/* The stack of a row; 0: none. */
uint32_t filter_stack_of(const struct order_item *item);

/* A host time as it is written: from the begin of the recording, or absolute. */
int64_t filter_time(const struct filter *filter, uint64_t time_ns);

/* The process of a thread; 0: not known. */
uint32_t filter_process_of(const struct filter *filter, uint32_t thread);

#endif
