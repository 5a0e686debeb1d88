/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/rows.h - the events of a rocpd export
 */
#pragma once

#include <stdint.h>

#include "event/event.h"

struct command;
struct rocpd;

/* An event that regions, dispatches, copies and samples refer to. extdata: JSON of rocpd->extdata,
 * "{}" if that is empty. Errors of all: those of the writer, -ENOMEM. */
struct rocpd_event {
	const char *category;
	uint64_t stack, parent_stack; /* regions with these numbers caused it, and are around it */
	uint32_t call_stack;          /* id of a stack; 0: none */
};
int rocpd_event(struct rocpd *rocpd, const struct rocpd_event *event, uint64_t *ret_id);

/* To be called in the order of time, all of them. *ret_region: number of the call's region. */
int rocpd_launch(struct rocpd *rocpd, const struct event_launch *row, uint64_t *ret_region);
int rocpd_call(struct rocpd *rocpd, const struct event_api *row);
int rocpd_range(struct rocpd *rocpd, const struct event_range *row);

/* A command with its times; its tag is what rocpd_launch gave. */
int rocpd_command(struct rocpd *rocpd, const struct command *command);

int rocpd_cpu_sample(struct rocpd *rocpd, const struct event_cpu_sample *row);
/* All readings, when all commands are written. */
int rocpd_counters(struct rocpd *rocpd);
