/* SPDX-License-Identifier: MIT
 *
 * analyze/collectors.h - the overall state of a collector, from all its notes
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* The state of the collector to which the note rows[index] belongs. COLLECTOR_REFUSED: it recorded
 * nothing. COLLECTOR_PARTIAL: some of its parts recorded and some did not. rows: all notes of the
 * trace, in the order in which they were written. */
enum event_collector_state collectors_state(const struct event_collector *rows, size_t count,
					    size_t index);

/* Whether rows[index] is the first note of its collector. */
bool collectors_is_first(const struct event_collector *rows, size_t index);

/* "available", "partial" or "refused"; "unknown" for any other number. */
const char *collectors_state_name(uint32_t state);
