/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/schedule.h - write switches as events of the scheduler, one track per processor
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/common/processors.h"

struct event_switch;
struct model;
struct packets;

struct schedule {
	const struct model *model; /* borrowed, like packets */
	struct packets *packets;
	uint64_t pid;              /* only threads of this process; 0: all */
	uint64_t host_ns, boot_ns; /* one moment in CLOCK_MONOTONIC and in CLOCK_BOOTTIME */
	bool has_begun;
	struct processors processors;
};

void schedule_init(struct schedule *schedule, const struct model *model, struct packets *packets,
		   uint64_t pid);
void schedule_fini(struct schedule *schedule); /* NULL-safe */

/* To be called in the order of time. Errors: -ENOMEM, errors of writing. */
int schedule_switch(struct schedule *schedule, const struct event_switch *row);
