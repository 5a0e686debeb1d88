/* SPDX-License-Identifier: MIT
 *
 * inject/ranges.h - what roctx.c, nvtx.c and itt.c tell of the program's ranges
 *
 * Runs in:  the profiled process
 * Manners:  as inject/guest.h; while nobody records a call here is a load and a compare
 */
#ifndef INJECT_RANGES_H
#define INJECT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/record.h"
#include "inject/guest.h"
#include "ring/record_text.h"

#pragma GCC visibility push(hidden)

/* Where a wide text becomes UTF-8: more of it than is kept. */
struct range_wide {
	char text[RECORD_RANGE_TEXT_BYTES + 8];
};

struct record_text record_text_wide(const wchar_t *text, struct range_wide *to); /* NULL: "" */

/* Before the first call of an interface; again for nothing. */
void ranges_prepare(void);

/* A program may do nothing but name ranges for hours and is to be found all the same; the clock that keeps looks for a
 * recorder a second apart is not read in each call. */
extern _Thread_local uint32_t ranges_idle_left __attribute__((tls_model("initial-exec")));

/* Nobody records, and this call need not look for somebody who does. */
static inline bool ranges_are_idle(void)
{
	if (!guest_is_idle() || GUEST_UNLIKELY(!ranges_idle_left))
		return false;
	ranges_idle_left--;
	return true;
}

/* Each takes the time of its call: a begin comes after what else is done for it, an end before. */
void ranges_push(enum record_range_of of, struct record_text domain, struct record_text name);
void ranges_pop(enum record_range_of of, struct record_text domain);
void ranges_start(enum record_range_of of, struct record_text domain, struct record_text name,
		  uint64_t id);
void ranges_stop(enum record_range_of of, struct record_text domain, uint64_t id);
void ranges_mark(enum record_range_of of, struct record_text domain, struct record_text name);

/* Unique in the process, never 0. */
uint64_t ranges_new_id(void);

#pragma GCC visibility pop

#endif
