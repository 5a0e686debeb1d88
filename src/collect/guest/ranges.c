/* SPDX-License-Identifier: MIT
 *
 * collect/guest/ranges.c - joins the starts and ends of a program's ranges
 *
 * Runs in:  the recorder
 * Gets:     records of a guest: starts, ends, marks
 * Gives:    a row per range, written when it has ended
 * Owns:     open ranges: those pushed, per ring, and those started, per process
 * Fails:    a range without room is counted as lost
 * Why the recorder joins starts and ends, and not the guest: the recorder still knows the ranges
 *           that were open when the program was killed, and a guest that stores no ranges costs the
 *           program nothing. Each push and pop carries the depth of its thread's stack of ranges.
 *           By this depth, later records find their partners even after lost ones.
 */
#include "collect/guest/ranges.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/guest/injected.h"
#include "collect/guest/record_texts.h"

/* Limits for a program that makes up names without end. No working program has more ranges open. */
enum { MAX_OPEN = 4096, MAX_STOPPED = 1024 };

static const char no_name[] = "[more names than are kept]";

static uint32_t string_of(struct injected *injected, const char *text)
{
	struct recording *recording = injected->recording;
	const uint64_t kept_bytes = recording->kept_bytes, bytes = strlen(text) + TEXT_BYTES;
	struct guest_budget *budget = &injected->budget;
	uint32_t id = trace_writer_find_string(recording->writer, text, strlen(text));

	if (id || !text[0])
		return id;
	if (!quota_has(&budget->names, bytes) || !quota_has(budget->user, bytes))
		return recording_string(recording, no_name);
	id = recording_string(recording, text);
	quota_charge(&budget->names, recording->kept_bytes - kept_bytes);
	return id;
}

static void put_range(struct injected *injected, const struct range_half *begin, uint64_t end,
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
		.category_string = begin->category_string,
		.colour = begin->colour,
		.payload_string = begin->payload_string,
	};

	if (!flags && row.name_string && row.name_string == injected->process->yardstick_string)
		injected->process->yardsticks++;
	trace_writer_row(injected->recording->writer, EVENT_RANGE, &source, &row);
}

/* Writes a range whose start was not seen. */
static void put_end(struct injected *injected, const struct range_half *end,
		    enum event_range_type type)
{
	put_range(injected, end, end->time, type, RANGE_UNBEGUN);
}

static bool append(struct injected *injected, struct range_list *list,
		   const struct range_half *half)
{
	if (list->count >= MAX_OPEN ||
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

/* ---- pushed and popped ----------------------------------------------------------------------- */

static void put_open(struct injected *injected, const struct range_half *begin, uint64_t time)
{
	if (!begin->is_missing)
		put_range(injected, begin, time, RANGE_PUSH, RANGE_OPEN);
}

/* Brings the stack to the reported depth after lost records. Surplus ranges were popped; missing
 * ones were pushed. */
static void match_depth(struct injected *injected, struct range_list *pushed, uint64_t depth,
			const struct range_half *now)
{
	const struct range_half missing = {.time = now->time, .is_missing = true};

	while (pushed->count > depth)
		put_open(injected, &pushed->items[--pushed->count], now->time);
	while (pushed->count < depth && append(injected, pushed, &missing))
		;
}

static void push_range(struct injected *injected, struct range_list *pushed,
		       const struct range_half *begin)
{
	if (begin->id > MAX_OPEN) {
		injected->ranges.lost++;
		return;
	}
	if (begin->id)
		match_depth(injected, pushed, begin->id - 1, begin);
	append(injected, pushed, begin);
}

/* Ranges of different domains need not nest, so the last one of the same domain is popped. */
static void pop_range(struct injected *injected, struct range_list *pushed,
		      const struct range_half *end)
{
	struct range_half begin;
	size_t i;

	if (end->id > MAX_OPEN)
		return; /* The push counted the loss. */
	if (end->id)
		match_depth(injected, pushed, end->id, end);
	for (i = pushed->count; i > 0; i--)
		if (pushed->items[i - 1].is_missing ||
		    pushed->items[i - 1].domain_string == end->domain_string)
			break;
	begin = i ? take_out(pushed, i - 1) : (struct range_half){.is_missing = true};
	if (begin.is_missing)
		put_end(injected, end, RANGE_PUSH);
	else
		put_range(injected, &begin, end->time, RANGE_PUSH, 0);
}

/* ---- started and stopped --------------------------------------------------------------------- */

/* Returns the index of the half with the same id; list->count: none. Halves before `after` belong
 * to an earlier range with that id. */
static size_t find_half(const struct range_list *list, const struct range_half *half,
			uint64_t after)
{
	for (size_t i = list->count; i > 0; i--)
		if (list->items[i - 1].id == half->id && list->items[i - 1].of == half->of &&
		    list->items[i - 1].time >= after)
			return i - 1;
	return list->count;
}

/* Another thread may have stopped the range, in a ring that was read earlier. */
static void start_range(struct injected *injected, const struct range_half *begin)
{
	struct ranges *ranges = &injected->ranges;
	size_t index = find_half(&ranges->stopped, begin, begin->time);

	if (index == ranges->stopped.count)
		append(injected, &ranges->started, begin);
	else
		put_range(injected, begin, take_out(&ranges->stopped, index).time, RANGE_START, 0);
}

static void stop_range(struct injected *injected, const struct range_half *end)
{
	struct ranges *ranges = &injected->ranges;
	size_t index = find_half(&ranges->started, end, 0);
	struct range_half half;

	if (index < ranges->started.count) {
		half = take_out(&ranges->started, index);
		put_range(injected, &half, end->time, RANGE_START, 0);
		return;
	}
	if (ranges->stopped.count == MAX_STOPPED) {
		half = take_out(&ranges->stopped, 0);
		put_end(injected, &half, RANGE_START);
	}
	append(injected, &ranges->stopped, end);
}

/* ---- records --------------------------------------------------------------------------------- */

static const char hex_digits[] = "0123456789abcdef";

static bool parse_hex(const char *text, size_t digits, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits; i++) {
		const char *digit = text[i] ? strchr(hex_digits, text[i]) : NULL;

		if (!digit)
			return false;
		value = value << 4 | (uint64_t)(digit - hex_digits);
	}
	*ret_value = value;
	return true;
}

static void format_payload(enum record_payload type, uint64_t bits, char text[40])
{
	double number;
	float small;

	memcpy(&number, &bits, sizeof(number));
	memcpy(&small, &bits, sizeof(small)); /* the first bytes of a union */
	switch (type) {
	case RECORD_PAYLOAD_U64:
	case RECORD_PAYLOAD_U32:
		snprintf(text, 40, "%" PRIu64, type == RECORD_PAYLOAD_U64 ? bits : (uint32_t)bits);
		break;
	case RECORD_PAYLOAD_I64:
	case RECORD_PAYLOAD_I32:
		snprintf(text, 40, "%" PRId64,
			 type == RECORD_PAYLOAD_I64 ? (int64_t)bits : (int32_t)bits);
		break;
	case RECORD_PAYLOAD_DOUBLE:
		snprintf(text, 40, "%.15g", number);
		break;
	case RECORD_PAYLOAD_FLOAT:
		snprintf(text, 40, "%.7g", (double)small);
		break;
	default:
		*text = '\0';
	}
}

/* A running number has a text of its own in each range. So payloads take at most a quarter of the
 * budget of names; beyond it they are left out. */
static uint32_t payload_string_of(struct injected *injected, const char *text)
{
	const struct quota *names = &injected->budget.names;

	if (names->used > names->limit / 4 &&
	    !trace_writer_find_string(injected->recording->writer, text, strlen(text)))
		return 0;
	return string_of(injected, text);
}

/* Reads the third text of a record. False: it makes no sense. */
static bool take_attributes(struct injected *injected, const char *text, struct range_half *half)
{
	uint64_t colour, type, bits;
	char payload[40];

	if (!parse_hex(text, 8, &colour) || !parse_hex(text + 8, 1, &type) ||
	    !parse_hex(text + 9, 16, &bits))
		return false;
	format_payload((enum record_payload)type, bits, payload);
	half->colour = (uint32_t)colour;
	half->payload_string = payload_string_of(injected, payload);
	half->category_string = string_of(injected, text + RECORD_ATTRIBUTES_BYTES);
	return true;
}

/* CUPTI's records come from threads of its own, and name the thread that they are about. */
static uint32_t thread_of_cupti(const struct injected *injected, uint64_t id)
{
	const uint32_t tid = (uint32_t)(id >> 32);

	for (uint32_t i = 0; tid && i < injected->region.ring_count; i++)
		if (injected->rings[i].thread.ns_tid == tid)
			return injected->rings[i].thread.id;
	return 0;
}

bool ranges_take(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_range *record = (const struct record_range *)head;
	const enum event_range_type type =
		head->detail & 0xff & ~(uint32_t)(RECORD_RANGE_END | RECORD_RANGE_ATTRIBUTES);
	const bool is_end = head->detail & RECORD_RANGE_END;
	const bool has_attributes = head->detail & RECORD_RANGE_ATTRIBUTES;
	const char *texts[3]; /* domain, name, attributes */
	struct range_half half;

	if (!record_texts(head, offsetof(struct record_range, texts), 0, texts,
			  has_attributes ? 3 : 2) ||
	    type >= RANGE_TYPE_COUNT)
		return false;
	half = (struct range_half){.time = record->time,
				   .id = record->id,
				   .of = head->detail >> 8,
				   .thread = ring->thread.id,
				   .domain_string = string_of(injected, texts[0]),
				   .name_string = string_of(injected, texts[1])};
	if (half.of == RANGE_OF_CUPTI)
		half.thread = thread_of_cupti(injected, record->id);
	if (has_attributes && !take_attributes(injected, texts[2], &half))
		return false;
	if (type == RANGE_MARK)
		put_range(injected, &half, half.time, RANGE_MARK, 0);
	else if (type == RANGE_PUSH)
		(is_end ? pop_range : push_range)(injected, &ring->pushed, &half);
	else
		(is_end ? stop_range : start_range)(injected, &half);
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
		put_range(injected, &ranges->started.items[i], now, RANGE_START, RANGE_OPEN);
	for (size_t i = 0; i < ranges->stopped.count; i++)
		put_end(injected, &ranges->stopped.items[i], RANGE_START);
	free_list(&ranges->started);
	free_list(&ranges->stopped);
}
