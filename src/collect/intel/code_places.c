/* SPDX-License-Identifier: MIT
 *
 * collect/intel/code_places.c - kernels by where they lie in GPUs' address spaces, and by whose they are
 *
 * Runs in:  the recorder
 * Gets:     places   Gives: what lies there
 * Owns:     its own entry of each kernel
 * Fails:    -ENOMEM
 * Why:      a program may bind and unbind data 10,000 times a second, and each time all that lies in the range has
 *           ended. To go through a million kernels for each would be 10^10 steps a second; a tree needs 20.
 */
#include "collect/intel/code_places.h"

#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

#define HASH_ODD UINT64_C(0x9e3779b97f4a7c15)

/* A range of addresses; of a kernel it has one, and of what is looked for process and device may be 0: all. */
struct span {
	uint64_t vm, begin, last;
	uint32_t process, device;
};

struct placed_code {
	struct span span; /* the first: the tree knows no more of it */
	uint32_t id;
	struct placed_code *before, *next; /* of the same process */
};

/* Which of two comes first; 0: they overlap. So a range finds any that lies in it. */
static int compare(const void *left, const void *right)
{
	const struct span *one = left, *other = right;

	if (one->vm != other->vm)
		return one->vm < other->vm ? -1 : 1;
	if (one->last < other->begin)
		return -1;
	if (one->begin > other->last)
		return 1;
	if (!one->process || !other->process)
		return 0;
	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return one->device == other->device ? 0 : one->device < other->device ? -1 : 1;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * HASH_ODD;
	return hash ^ hash >> 29;
}

static uint64_t key_of(const struct span *span)
{
	return mix(mix(span->vm, span->begin), (uint64_t)span->process << 32 | span->device);
}

static struct span span_of(const struct code_place *place)
{
	return (struct span){place->vm, place->address, place->address, place->process,
			     place->device};
}

void code_places_init(struct code_places *places)
{
	*places = (struct code_places){0};
	hash_map_init(&places->by_key);
	hash_map_init(&places->by_user);
}

void code_places_fini(struct code_places *places)
{
	if (!places)
		return;
	tdestroy(places->tree, free);
	hash_map_fini(&places->by_key);
	hash_map_fini(&places->by_user);
	*places = (struct code_places){0};
}

/* NULL: nothing lies there. Two keys may be the same number: the tree knows better. */
static struct placed_code *find(const struct code_places *places, const struct span *span)
{
	struct placed_code *found = hash_map_find_pointer(&places->by_key, key_of(span));
	void *node;

	if (found && compare(&found->span, span) == 0)
		return found;
	node = tfind(span, &places->tree, compare);
	return node ? *(struct placed_code **)node : NULL;
}

uint32_t code_places_find(const struct code_places *places, const struct code_place *place)
{
	const struct span span = span_of(place);
	const struct placed_code *found = find(places, &span);

	return found ? found->id : 0;
}

/* ---- of a process ------------------------------------------------------------------------------ */

static int link_user(struct code_places *places, struct placed_code *code)
{
	struct placed_code *first = hash_map_find_pointer(&places->by_user, code->span.process);

	if (hash_map_put_pointer(&places->by_user, code->span.process, code))
		return -ENOMEM;
	code->next = first;
	if (first)
		first->before = code;
	return 0;
}

static void unlink_user(struct code_places *places, struct placed_code *code)
{
	if (code->next)
		code->next->before = code->before;
	if (code->before)
		code->before->next = code->next;
	else if (code->next)
		/* the key is there: nothing is made */
		hash_map_put_pointer(&places->by_user, code->span.process, code->next);
	else
		hash_map_remove(&places->by_user, code->span.process, NULL);
}

uint32_t code_places_next_user(const struct code_places *places, size_t *cursor)
{
	uint64_t process;

	return hash_map_next(&places->by_user, cursor, &process, NULL) ? (uint32_t)process : 0;
}

/* ---- in and out -------------------------------------------------------------------------------- */

int code_places_put(struct code_places *places, const struct code_place *place, uint32_t id)
{
	struct placed_code *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	code->span = span_of(place);
	code->id = id;
	if (link_user(places, code)) {
		free(code);
		return -ENOMEM;
	}
	if (!tsearch(code, &places->tree, compare)) {
		unlink_user(places, code);
		free(code);
		return -ENOMEM;
	}
	if (hash_map_put_pointer(&places->by_key, key_of(&code->span), code)) {
		tdelete(code, &places->tree, compare);
		unlink_user(places, code);
		free(code);
		return -ENOMEM;
	}
	places->count++;
	return 0;
}

static uint32_t take(struct code_places *places, struct placed_code *code)
{
	const uint64_t key = key_of(&code->span);
	const uint32_t id = code->id;

	tdelete(code, &places->tree, compare);
	if (hash_map_find_pointer(&places->by_key, key) == code)
		hash_map_remove(&places->by_key, key, NULL);
	unlink_user(places, code);
	free(code);
	places->count--;
	return id;
}

uint32_t code_places_take(struct code_places *places, uint64_t vm, uint64_t begin, uint64_t end)
{
	const struct span span = {.vm = vm, .begin = begin, .last = end - 1};
	void *node = begin < end ? tfind(&span, &places->tree, compare) : NULL;

	return node ? take(places, *(struct placed_code **)node) : 0;
}

uint32_t code_places_take_of(struct code_places *places, uint32_t process)
{
	struct placed_code *code = hash_map_find_pointer(&places->by_user, process);

	return code ? take(places, code) : 0;
}

uint32_t code_places_take_any(struct code_places *places)
{
	/* a node begins with where its entry is */
	return places->tree ? take(places, *(struct placed_code **)places->tree) : 0;
}
