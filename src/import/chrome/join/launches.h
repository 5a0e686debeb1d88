/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/launches.h - the call of each command of a Chrome trace, by its correlation id
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct chrome_launches;
struct chrome_slice;

/* The call that launched a command. */
struct chrome_call {
	int64_t begin_ns, end_ns;
	uint32_t row, name, stack;
	uint32_t collective; /* id + 1 of the collective around it; 0: none */
	int32_t result;
	uint8_t type;    /* enum event_api_type */
	bool is_further; /* the call's row is another command's */
};

int chrome_launches_new(struct chrome_launches **ret_launches);
void chrome_launches_free(struct chrome_launches *launches); /* NULL-safe */

/* In any order. number: the event's. owner: the pid of the process, 0: not known. Errors: as for
 * record_sort_add. */
int chrome_launches_add_call(struct chrome_launches *launches, const struct chrome_slice *slice,
			     int64_t owner, uint32_t stack, uint32_t collective);
int chrome_launches_add_command(struct chrome_launches *launches, int64_t owner,
				int64_t correlation, int64_t begin_ns, uint32_t number);

/* After the last add. */
int chrome_launches_finish(struct chrome_launches *launches);

/* To be called for rising numbers. *ret_has: whether the command has a call. */
int chrome_launches_find_call(struct chrome_launches *launches, uint32_t number,
			      struct chrome_call *ret_call, bool *ret_has);
/* Whether the call has a command. */
int chrome_launches_has_command(struct chrome_launches *launches, uint32_t number, bool *ret_has);
