/* SPDX-License-Identifier: MIT
 *
 * import/common/shift.c - move the times of a row
 *
 * Runs in:  our own process
 * Gets:     a row
 * Gives:    the row in another clock
 * Owns:     constants
 * Fails:    not
 * Why the table of all fields: a row with a new time is moved without a change here
 */
#include "import/common/shift.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"

/* The times of a kind begin at its offset in `times` and end with NO_TIME. */
#define NO_TIME UINT16_MAX

#define VALUE_NUMBER(place)
#define VALUE_TEXT(place)
#define VALUE_TIME(place) (uint16_t)(place),
#define VALUE_STACK(place)
#define VALUE_NEXT(place)
#define VALUE_NAME(function)    VALUE_NUMBER
#define VALUE_TEXT_OF(function) VALUE_NUMBER
#define VALUE_ID(kind)          VALUE_NUMBER

#define ENTITY(event, ...)    static const uint16_t event##_times[] = {
#define HAPPENING(event, ...) static const uint16_t event##_times[] = {
#define FIELD(event, number, name, member, type, value, ...) \
	VALUE_##value(offsetof(struct event_##event, member))
#define EVENT_END(event) \
	NO_TIME          \
	}                \
	;
#include "event/fields.def"

static const struct {
	const uint16_t *times;
	size_t size;
	bool is_entity;
} rows[] = {
#define ENTITY(event, KIND, ...) \
	[EVENT_##KIND] = {event##_times, sizeof(struct event_##event), true},
#define HAPPENING(event, KIND, ...) \
	[EVENT_##KIND] = {event##_times, sizeof(struct event_##event), false},
#include "event/fields.def"
};

static void move_time(void *row, size_t offset, int64_t ns)
{
	uint64_t time;

	memcpy(&time, (char *)row + offset, sizeof(time));
	time += (uint64_t)ns;
	memcpy((char *)row + offset, &time, sizeof(time));
}

static void clear_unknown(struct event_execution *row)
{
	row->queued = row->valid & EXECUTION_QUEUED ? row->queued : 0;
	row->submitted = row->valid & EXECUTION_SUBMITTED ? row->submitted : 0;
	row->started = row->valid & EXECUTION_STARTED ? row->started : 0;
	row->ended = row->valid & EXECUTION_ENDED ? row->ended : 0;
}

void import_shift_row(enum event_kind kind, const void *row, int64_t ns, union import_row *ret_row)
{
	memcpy(ret_row, row, rows[kind].size);
	for (const uint16_t *time = rows[kind].times; ns && *time != NO_TIME; time++) {
		uint64_t before;

		memcpy(&before, (const char *)row + *time, sizeof(before));
		if (before || !rows[kind].is_entity)
			move_time(ret_row, *time, ns);
	}
	if (kind == EVENT_EXECUTION && ns)
		clear_unknown(&ret_row->as_execution);
}
