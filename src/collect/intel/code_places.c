/* SPDX-License-Identifier: MIT
 *
 * collect/intel/code_places.c - index of kernels by process, device and GPU address
 *
 * Runs in:  the recorder
 * Gets:     address ranges
 * Gives:    the kernel at an address
 * Owns:     its own entry of each kernel
 * Fails:    -ENOMEM
 * Why:      a program may bind and unbind data 10,000 times a second, and each unbind removes all
 *           kernels in its range of addresses. Scanning a million kernels at each unbind would take
 *           10^10 steps a second; a tree takes 20 steps per unbind.
 */
#include "collect/intel/code_places.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

/* A range of addresses. In a query, process and device 0 stand for any. */
struct span {
	uint64_t vm, begin, last;
	uint32_t process, device;
};

struct placed_code {
	struct span span; /* first, because the tree's comparison sees only this member */
	uint32_t id;
	struct placed_code *before, *next; /* list of the kernels of one process */
};

/* Orders two ranges; 0: they overlap. So a search for a range finds any entry within it. */
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

static uint64_t key_of(const struct span *span)
{
	return code_places_mix(code_places_mix(span->vm, span->begin),
			       (uint64_t)span->process << 32 | span->device);
}

static struct span span_of(const struct code_place *place)
{
	return (struct span){place->vm, place->address, place->address, place->process,
			     place->device};
}

void code_places_init(struct code_places *places)
{
	*places = (struct code_places){0};
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

/* NULL: no kernel is there. Two places may have the same hash, so the tree's entry is compared. */
static struct placed_code *find_code(const struct code_places *places, const struct span *span)
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
	const struct placed_code *found = find_code(places, &span);

	return found ? found->id : 0;
}

/* ---- lists by process ------------------------------------------------------------------------ */

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
		/* the key exists already, so nothing is allocated */
		hash_map_put_pointer(&places->by_user, code->span.process, code->next);
	else
		hash_map_remove(&places->by_user, code->span.process, NULL);
}

/* ---- add and remove -------------------------------------------------------------------------- */

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

static uint32_t take_code(struct code_places *places, struct placed_code *code)
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

	return node ? take_code(places, *(struct placed_code **)node) : 0;
}

uint32_t code_places_take_of(struct code_places *places, uint32_t process)
{
	struct placed_code *code = hash_map_find_pointer(&places->by_user, process);

	return code ? take_code(places, code) : 0;
}

uint32_t code_places_take_any(struct code_places *places)
{
	/* a node of tsearch(3) begins with the pointer to its entry */
	return places->tree ? take_code(places, *(struct placed_code **)places->tree) : 0;
}
