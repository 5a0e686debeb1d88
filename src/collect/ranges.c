/* SPDX-License-Identifier: MIT
 *
 * collect/ranges.c - begins and ends of a program's ranges, put together
 *
 * Runs in:  the recorder
 * Gets:     records of a guest: begins, ends, marks   Gives: a row for each range, when it has ended
 * Owns:     what is open: of each ring what its thread has pushed, of the process what was started
 * Fails:    a range that there is no room to follow is counted as lost
 * Why here and not in the guest: what was open when the program was killed is known here, and a guest that remembers
 *           nothing costs nothing. A push says how many are open with it: after records were lost the next ones find
 *           their partners again.
 */
#include "collect/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/injected.h"
#include "collect/record_texts.h"

/* No honest program has more open; one that makes up names without end is not to take the recorder's memory. */
enum { OPEN_MOST = 4096, STOPPED_MOST = 1024, NAMES_MOST = 32 << 20 };

static const char no_name[] = "[more names than are kept]";

static uint32_t string_of(struct injected *injected, const char *text)
{
	struct recording *recording = injected->recording;
	const uint64_t kept_bytes = recording->kept_bytes, bytes = strlen(text) + TEXT_BYTES;
	struct ranges *ranges = &injected->ranges;
	uint32_t id = trace_writer_find_string(recording->writer, text, strlen(text));

	if (id || !text[0])
		return id;
	if (ranges->names_bytes + bytes > NAMES_MOST || bytes > injected->room_bytes)
		return recording_string(recording, no_name);
	id = recording_string(recording, text);
	ranges->names_bytes += recording->kept_bytes - kept_bytes;
	return id;
}

static void put(struct injected *injected, const struct range_half *begin, uint64_t end,
		enum event_range_type type, uint32_t flags)
{
	const uint32_t clock = injected->recording->guest_clock;
	const struct trace_source source = {begin->thread, clock, clock};
	const struct event_range row = {
		.begin = begin->time,
		.end = end > begin->time ? end : begin->time,
		.thread = begin->thread,
		.process = injected->process->row.id,
		.domain_string = begin->domain_string,
		.name_string = begin->name_string,
		.type = type,
		.flags = flags,
	};

	trace_writer_row(injected->recording->writer, EVENT_RANGE, &source, &row);
}

/* Of a range that was not seen to begin. */
static void put_end(struct injected *injected, const struct range_half *end,
		    enum event_range_type type)
{
	put(injected, end, end->time, type, RANGE_UNBEGUN);
}

static bool append(struct injected *injected, struct range_list *list,
		   const struct range_half *half)
{
	if (list->count >= OPEN_MOST ||
	    array_grow(list->items, list->capacity, list->count + 1) < 0) {
		injected->ranges.lost++;
		return false;
	}
	list->items[list->count++] = *half;
	return true;
}

static struct range_half take_out(struct range_list *list, size_t index)
{
	const struct range_half half = list->items[index];

	memmove(&list->items[index], &list->items[index + 1],
		(list->count - index - 1) * sizeof(half));
	list->count--;
	return half;
}

/* ---- pushed and popped ------------------------------------------------------------------------- */

static void put_open(struct injected *injected, const struct range_half *begin, uint64_t time)
{
	if (!begin->is_missing)
		put(injected, begin, time, RANGE_PUSH, RANGE_OPEN);
}

/* The thread has so many open: what is more was popped, what is less was pushed, by records that were lost. */
static void agree(struct injected *injected, struct range_list *pushed, uint64_t depth,
		  const struct range_half *now)
{
	const struct range_half missing = {.time = now->time, .is_missing = true};

	while (pushed->count > depth)
		put_open(injected, &pushed->items[--pushed->count], now->time);
	while (pushed->count < depth && append(injected, pushed, &missing))
		;
}

static void push(struct injected *injected, struct range_list *pushed,
		 const struct range_half *begin)
{
	if (begin->id > OPEN_MOST) {
		injected->ranges.lost++;
		return;
	}
	if (begin->id)
		agree(injected, pushed, begin->id - 1, begin);
	append(injected, pushed, begin);
}

/* Domains need not nest in one another. */
static void pop(struct injected *injected, struct range_list *pushed, const struct range_half *end)
{
	struct range_half begin;
	size_t i;

	if (end->id > OPEN_MOST)
		return; /* counted when it was pushed */
	if (end->id)
		agree(injected, pushed, end->id, end);
	for (i = pushed->count; i > 0; i--)
		if (pushed->items[i - 1].is_missing ||
		    pushed->items[i - 1].domain_string == end->domain_string)
			break;
	begin = i ? take_out(pushed, i - 1) : (struct range_half){.is_missing = true};
	if (begin.is_missing)
		put_end(injected, end, RANGE_PUSH);
	else
		put(injected, &begin, end->time, RANGE_PUSH, 0);
}

/* ---- started and stopped ----------------------------------------------------------------------- */

/* list->count: there is none. after: ends before that are another range's of that id. */
static size_t find(const struct range_list *list, const struct range_half *half, uint64_t after)
{
	for (size_t i = list->count; i > 0; i--)
		if (list->items[i - 1].id == half->id && list->items[i - 1].of == half->of &&
		    list->items[i - 1].time >= after)
			return i - 1;
	return list->count;
}

/* Another thread may have stopped it, in a ring that was read before this one. */
static void start(struct injected *injected, const struct range_half *begin)
{
	struct ranges *ranges = &injected->ranges;
	size_t index = find(&ranges->stopped, begin, begin->time);

	if (index == ranges->stopped.count)
		append(injected, &ranges->started, begin);
	else
		put(injected, begin, take_out(&ranges->stopped, index).time, RANGE_START, 0);
}

static void stop(struct injected *injected, const struct range_half *end)
{
	struct ranges *ranges = &injected->ranges;
	size_t index = find(&ranges->started, end, 0);
	struct range_half half;

	if (index < ranges->started.count) {
		half = take_out(&ranges->started, index);
		put(injected, &half, end->time, RANGE_START, 0);
		return;
	}
	if (ranges->stopped.count == STOPPED_MOST) {
		half = take_out(&ranges->stopped, 0);
		put_end(injected, &half, RANGE_START);
	}
	append(injected, &ranges->stopped, end);
}

/* ---- records ----------------------------------------------------------------------------------- */

bool ranges_take(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_range *record = (const struct record_range *)head;
	const enum event_range_type type = head->detail & 0xff & ~(uint32_t)RECORD_RANGE_END;
	const bool is_end = head->detail & RECORD_RANGE_END;
	const char *texts[2]; /* domain, name */
	struct range_half half;

	if (!record_texts(head, offsetof(struct record_range, texts), 0, texts,
			  ARRAY_COUNT(texts)) ||
	    type >= RANGE_TYPE_COUNT)
		return false;
	half = (struct range_half){.time = record->time,
				   .id = record->id,
				   .of = head->detail >> 8,
				   .thread = ring->thread.id,
				   .domain_string = string_of(injected, texts[0]),
				   .name_string = string_of(injected, texts[1])};
	if (type == RANGE_MARK)
		put(injected, &half, half.time, RANGE_MARK, 0);
	else if (type == RANGE_PUSH)
		(is_end ? pop : push)(injected, &ring->pushed, &half);
	else
		(is_end ? stop : start)(injected, &half);
	return true;
}

static void free_list(struct range_list *list)
{
	free(list->items);
	*list = (struct range_list){0};
}

void ranges_end_thread(struct injected *injected, struct injected_ring *ring)
{
	const uint64_t now = recording_now(injected->recording);

	for (size_t i = 0; i < ring->pushed.count; i++)
		put_open(injected, &ring->pushed.items[i], now);
	free_list(&ring->pushed);
}

void ranges_thread_fini(struct injected_ring *ring)
{
	free_list(&ring->pushed);
}

void ranges_end(struct injected *injected)
{
	const uint64_t now = recording_now(injected->recording);
	struct ranges *ranges = &injected->ranges;

	for (size_t i = 0; i < ranges->started.count; i++)
		put(injected, &ranges->started.items[i], now, RANGE_START, RANGE_OPEN);
	for (size_t i = 0; i < ranges->stopped.count; i++)
		put_end(injected, &ranges->stopped.items[i], RANGE_START);
	free_list(&ranges->started);
	free_list(&ranges->stopped);
}
