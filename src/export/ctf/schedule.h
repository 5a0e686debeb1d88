/* SPDX-License-Identifier: MIT
 *
 * export/ctf/schedule.h - the streams of processors: switches as the kernel's tracers write them
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "export/common/processors.h"

struct ctf_stream;
struct event_switch;
struct filter;
struct output_folder;

struct ctf_schedule {
	const struct filter *filter;  /* borrowed */
	struct output_folder *folder; /* borrowed */
	const uint8_t *uuid;          /* borrowed */
	struct processors processors;
	struct ctf_stream *streams; /* by processor; without a file: no event yet */
	size_t count, capacity;
	uint64_t rows;
};

/* Errors: -ENOMEM, -errno with a text. */
int ctf_schedule_switch(struct ctf_schedule *schedule, const struct event_switch *row);

/* Writes the last packets and frees the streams. Errors: -errno with a text, also of earlier
 * writes. */
int ctf_schedule_close(struct ctf_schedule *schedule);
