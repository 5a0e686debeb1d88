/* SPDX-License-Identifier: MIT
 *
 * live/places.c - the user's function behind the largest cause of a device's idle time
 *
 * Runs in:  our own process, in the viewer of a running recording
 * Gets:     states and paths of an analysis, stacks
 * Gives:    one text per device, such as "load_batch (data.py:31)"
 * Owns:     the names of all stacks that it saw
 * Fails:    -ENOMEM
 * Why names are kept by the content of a stack: ids of stacks are new in each second, and
 *           symbolizing one stack takes milliseconds the first time. A program has few such stacks,
 *           so that after some seconds nothing is symbolized any more
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/string.h"
#include "live/present.h"
#include "live/snapshot_private.h"

/* KEPT: when the table is full, it starts again. NEW: symbolized per snapshot; the others have no
 * name until a later one. */
enum { LOOKED_AT = 8, MAX_KEPT = 4096, MAX_NEW = 8 };

struct place_name {
	char text[LIVE_NAME]; /* "": the stack has no function with a name */
	bool is_own;
};

struct live_places {
	struct hash_map index; /* hash of a stack's content -> index of names */
	struct place_name *names;
	size_t count, capacity;
};

int live_places_new(struct live_places **ret_places)
{
	struct live_places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	*ret_places = places;
	return 0;
}

void live_places_free(struct live_places *places)
{
	if (!places)
		return;
	hash_map_fini(&places->index);
	free(places->names);
	free(places);
}

/* ---- the names of stacks --------------------------------------------------------------------- */

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	return hash;
}

static uint64_t add_text(uint64_t hash, const struct model *model, uint32_t string)
{
	const char *text = model_text(model, string, "");

	return add_bytes(hash, text, strlen(text) + 1);
}

static uint64_t hash_stack(const struct model *model, uint32_t stack)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const struct event_stack *node;

	for (; (node = model_stack(model, stack)); stack = node->caller) {
		const struct event_frame *frame = model_frame(model, node->frame);

		if (!frame)
			continue;
		hash = add_text(hash, model, frame->module_string);
		hash = add_text(hash, model, frame->name_string);
		hash = add_bytes(hash, &frame->offset, sizeof(frame->offset));
		hash = add_bytes(hash, &frame->line, sizeof(frame->line));
	}
	return hash;
}

int snapshot_name_place(struct frames *frames, uint32_t stack, char *ret_text, size_t size,
			bool *ret_is_own)
{
	struct verdict_place place;
	char text[2 * LIVE_NAME];

	if (verdict_find_place(frames, stack, &place))
		return -ENOMEM;
	if (place.function && place.file && place.line)
		snprintf(text, sizeof(text), "%.*s (%s:%" PRIu32 ")", LIVE_NAME / 2, place.function,
			 path_base(place.file), place.line);
	else
		snprintf(text, sizeof(text), "%s", place.function ? place.function : "");
	snapshot_copy_text(text, ret_text, size);
	*ret_is_own = place.is_own;
	return 0;
}

static int add_name(struct live_places *places, struct snapshot_maker *maker, uint32_t stack,
		    uint64_t hash)
{
	struct place_name name;
	struct frames *frames;

	if (maker_frames(maker, &frames) ||
	    snapshot_name_place(frames, stack, name.text, sizeof(name.text), &name.is_own))
		return -ENOMEM;
	if (array_append(places->names, places->capacity, places->count, name))
		return -ENOMEM;
	return hash_map_put(&places->index, hash, places->count - 1);
}

/* *ret_name is NULL if the stack is new and enough were symbolized for one snapshot. */
static int find_name(struct live_places *places, struct snapshot_maker *maker, uint32_t stack,
		     unsigned int *new, const struct place_name **ret_name)
{
	const uint64_t hash = hash_stack(maker->analysis->model, stack);
	const uint64_t *at = hash_map_find(&places->index, hash);

	*ret_name = NULL;
	if (!at && (*new)++ < MAX_NEW) {
		if (add_name(places, maker, stack, hash))
			return -ENOMEM;
		at = hash_map_find(&places->index, hash);
	}
	if (at)
		*ret_name = &places->names[*at];
	return 0;
}

/* ---- the longest stacks of a cause ----------------------------------------------------------- */

struct weighed_stack {
	uint32_t stack;
	uint64_t ns;
};

/* The LOOKED_AT longest, in falling order. */
struct longest {
	struct weighed_stack all[LOOKED_AT];
	size_t count;
};

static void longest_add(struct longest *longest, uint32_t stack, uint64_t ns)
{
	size_t at = longest->count;

	if (!stack || !ns)
		return;
	if (at == LOOKED_AT && longest->all[--at].ns >= ns)
		return;
	longest->count = at + 1;
	for (; at && longest->all[at - 1].ns < ns; at--)
		longest->all[at] = longest->all[at - 1];
	longest->all[at] = (struct weighed_stack){stack, ns};
}

static void find_longest(const struct analysis *analysis, size_t device, enum account_cause cause,
			 struct longest *longest)
{
	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];

		if (state->device == device && state->cause == cause)
			longest_add(longest, state->stack, state->idle_ns);
	}
	for (size_t i = 0; i < analysis->paths_count && !longest->count; i++)
		if (analysis->paths[i].device == device)
			longest_add(longest, analysis->paths[i].stack,
				    analysis->paths[i].causes[cause]);
}

struct candidate {
	const struct place_name *name;
	uint64_t ns;
};

/* As in the report: a function of the program is better than any other. */
static bool is_better(const struct candidate *left, const struct candidate *right)
{
	return left->name->is_own != right->name->is_own ? left->name->is_own
							 : left->ns > right->ns;
}

static void add_candidate(struct candidate *candidates, size_t *count,
			  const struct place_name *name, uint64_t ns)
{
	size_t at = 0;

	while (at < *count && strcmp(candidates[at].name->text, name->text) != 0)
		at++;
	if (at == *count)
		candidates[(*count)++] = (struct candidate){.name = name};
	candidates[at].ns += ns;
}

static int name_cause(struct live_places *places, struct snapshot_maker *maker,
		      struct live_device *device, const struct longest *longest, unsigned int *new)
{
	struct candidate candidates[LOOKED_AT];
	const struct candidate *best = candidates;
	const struct place_name *name;
	size_t count = 0;

	for (size_t i = 0; i < longest->count; i++) {
		if (find_name(places, maker, longest->all[i].stack, new, &name))
			return -ENOMEM;
		if (name && *name->text)
			add_candidate(candidates, &count, name, longest->all[i].ns);
	}
	for (size_t i = 1; i < count; i++)
		if (is_better(&candidates[i], best))
			best = &candidates[i];
	if (count)
		snapshot_copy_text(best->name->text, device->place, sizeof(device->place));
	return 0;
}

/* The names move when one is added, so that there is room for all of a snapshot's new ones first.
 */
static int make_room(struct live_places *places)
{
	if (places->count + MAX_NEW > MAX_KEPT) {
		hash_map_clear(&places->index);
		places->count = 0;
	}
	return array_grow(places->names, places->capacity, places->count + MAX_NEW);
}

/* ---- open gaps ------------------------------------------------------------------------------- */

/* A shorter wait has ended before a reader sees its name. */
#define NAMED_NS UINT64_C(50000000)

static int name_stack(struct live_places *places, struct snapshot_maker *maker, uint32_t stack,
		      unsigned int *new, char *ret_text, size_t size)
{
	const struct place_name *name = NULL;

	if (stack && find_name(places, maker, stack, new, &name))
		return -ENOMEM;
	snprintf(ret_text, size, "%s", name ? name->text : "");
	return 0;
}

/* The stack of a state is in the rows of the look in which the state begins. */
static int name_threads(struct live_places *places, struct snapshot_maker *maker, unsigned int *new)
{
	struct live_present *present = maker->options->present;
	const struct model *model = maker->analysis->model;

	for (size_t i = 0; i < present->threads_count; i++) {
		struct live_thread *thread = &present->threads[i];

		if (thread->is_named || thread->doing == CAUSE_ON_CPU ||
		    thread->since_ns + NAMED_NS > present->to_ns ||
		    (!thread->stack && !thread->wait_string))
			continue;
		if (name_stack(places, maker, thread->stack, new, thread->place,
			       sizeof(thread->place)))
			return -ENOMEM;
		snapshot_copy_text(model_text(model, thread->wait_string, ""), thread->wait,
				   sizeof(thread->wait));
		thread->is_named = true;
	}
	return 0;
}

static int name_gap(struct live_places *places, struct snapshot_maker *maker,
		    const struct live_open_gap *gap, struct live_device *device, unsigned int *new)
{
	const struct live_thread *thread = gap->thread;
	const bool is_present = thread && thread->is_named && thread->doing == device->cause;

	if (is_present)
		snprintf(device->wait, sizeof(device->wait), "%s", thread->wait);
	if (!is_present || !*thread->place)
		return name_stack(places, maker, gap->stack, new, device->place,
				  sizeof(device->place));
	snprintf(device->place, sizeof(device->place), "%s", thread->place);
	return 0;
}

int live_places_find(struct live_places *places, struct snapshot_maker *maker)
{
	struct live_snapshot *snapshot = maker->snapshot;
	unsigned int new = 0;
	int error = make_room(places);

	if (!error && maker->gaps)
		error = name_threads(places, maker, &new);
	for (size_t i = 0; i < snapshot->devices_count && !error; i++) {
		struct live_device *device = &snapshot->devices[i];
		struct longest longest = {.count = 0};

		device->is_so_far = maker->gaps && maker->gaps[i].ns && device->cause_ns &&
				    2 * maker->gaps[i].causes[device->cause] > device->cause_ns;
		if (!device->cause_ns || device->cause == CAUSE_UNKNOWN ||
		    device->cause == CAUSE_NOTHING_TO_DO)
			continue;
		if (device->is_so_far)
			error = name_gap(places, maker, &maker->gaps[i], device, &new);
		if (error || device->is_so_far)
			continue;
		find_longest(maker->analysis, i, device->cause, &longest);
		error = name_cause(places, maker, device, &longest, &new);
	}
	return error;
}
