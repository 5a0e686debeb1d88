/* SPDX-License-Identifier: MIT
 *
 * analyze/collectors.h - what the notes of one collector say together
 */
#ifndef ANALYZE_COLLECTORS_H
#define ANALYZE_COLLECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* Of the collector that rows[index] is a note of: COLLECTOR_REFUSED where nothing of it was recorded, COLLECTOR_PARTIAL
 * where something was and something was not. rows: all of the trace, in the order in which they were written. */
enum event_collector_state collectors_state(const struct event_collector *rows, size_t count,
					    size_t index);

/* "available", "partial", "refused"; NULL: none that this duet knows. */
const char *collectors_state_name(uint32_t state);

#endif
