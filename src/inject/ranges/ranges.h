/* SPDX-License-Identifier: MIT
 *
 * inject/ranges/ranges.h - the interface of roctx.c, nvtx.c and itt.c to the ranges guest
 *
 * Runs in:  the profiled process
 * Manners:  as inject/guest.h; without a recorder a call of these functions is a load and a compare
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/record.h"
#include "inject/guest.h"
#include "ring/record_text.h"

#pragma GCC visibility push(hidden)

/* A buffer to convert a wide text to UTF-8: longer than the part that is kept. */
struct range_wide {
	char text[RECORD_RANGE_TEXT_BYTES + 8];
};

struct record_text record_text_wide(const wchar_t *text, struct range_wide *to); /* NULL gives "" */

/* Called before the first call of an interface; repeated calls do nothing. */
void ranges_prepare(void);

/* A program may only name ranges for hours and must still find a recorder. This counter keeps the
 * search rare without reading the clock in each call. */
extern _Thread_local uint32_t ranges_idle_left __attribute__((tls_model("initial-exec")));

/* True if there is no recorder and this call need not look for one. */
static inline bool ranges_are_idle(void)
{
	if (!guest_is_idle() || GUEST_UNLIKELY(!ranges_idle_left))
		return false;
	ranges_idle_left--;
	return true;
}

/* Each takes the time of its call: a start is taken after all other work of the call, an end before
 * it. attributes: as struct record_range describes them; NULL: none. */
void ranges_push(enum record_range_of of, struct record_text domain, struct record_text name,
		 const struct record_text *attributes);
void ranges_pop(enum record_range_of of, struct record_text domain);
void ranges_start(enum record_range_of of, struct record_text domain, struct record_text name,
		  const struct record_text *attributes, uint64_t id);
void ranges_stop(enum record_range_of of, struct record_text domain, uint64_t id);
void ranges_mark(enum record_range_of of, struct record_text domain, struct record_text name,
		 const struct record_text *attributes);

/* Returns an id that is unique in the process and never 0. */
uint64_t ranges_new_id(void);

#pragma GCC visibility pop
