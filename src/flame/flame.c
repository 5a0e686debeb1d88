/* SPDX-License-Identifier: MIT
 *
 * flame/flame.c - adds up stacks with values in a tree of frames
 *
 * Runs in:  our own process; one flame belongs to one thread at a time
 * Gets:     names, stacks of frame ids, values
 * Gives:    the tree that the writers walk
 * Owns:     names, nodes and the table that finds them, until flame_free
 * Fails:    -EINVAL, -EOVERFLOW, -ENOMEM; the sums do not change
 * Why a node has all frames up to the next branch: in a million stacks of 24 frames, each ends with
 *           about 8 frames of its own. One node per frame took 500 MB instead of 180. Slots are
 *           placed by the hash of the whole path, so all slots of a stack are known in advance and
 *           can be prefetched. Without the hash, a search from node to node would wait for memory
 *           at each step.
 */
#include "flame/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "flame/tree.h"

#define SLOTS_FIRST ((size_t)64)
#define FETCHED     ((size_t)64)                    /* slots prefetched per stack */
#define ROOT_HASH   ((uint64_t)0x9e3779b97f4a7c15u) /* any value */

static uint64_t hash_on(uint64_t hash, uint32_t frame)
{
	hash = (hash + frame) * 0xd6e8feb86659fd93u;
	return hash ^ hash >> 32;
}

void flame_free(struct flame *flame)
{
	if (!flame)
		return;
	string_table_fini(&flame->names);
	hash_map_fini(&flame->frame_ids);
	free(flame->frames);
	for (size_t i = 0; i < flame->notes_count; i++)
		free(flame->notes[i].text);
	free(flame->notes);
	free(flame->pool);
	free(flame->nodes);
	free(flame->slots);
	free(flame->hashes);
	free(flame);
}

uint32_t flame_frame(struct flame *flame, const char *name, enum flame_class frame_class)
{
	uint64_t key, *found;
	uint32_t string;

	if (frame_class == FLAME_SEPARATOR)
		name = "-";
	if (frame_class == FLAME_TRUNCATED)
		name = "[truncated]";
	string = string_table_add(&flame->names, name, strlen(name));
	if (!string && *name)
		return FLAME_NONE;
	key = (uint64_t)string * FLAME_CLASS_COUNT + frame_class;
	found = hash_map_find(&flame->frame_ids, key);
	if (found)
		return (uint32_t)*found;
	if (flame->frames_count == FLAME_NONE ||
	    array_grow(flame->frames, flame->frames_capacity, flame->frames_count + (size_t)1) ||
	    hash_map_put(&flame->frame_ids, key, flame->frames_count))
		return FLAME_NONE;
	flame->frames[flame->frames_count] = (struct flame_name){string, (uint8_t)frame_class};
	return flame->frames_count++;
}

const struct flame_note *flame_find_note(const struct flame *flame, uint32_t frame)
{
	for (size_t i = 0; i < flame->notes_count; i++)
		if (flame->notes[i].frame == frame)
			return &flame->notes[i];
	return NULL;
}

int flame_note(struct flame *flame, uint32_t frame, const char *note)
{
	auto_free char *text = NULL;

	if (flame_find_note(flame, frame))
		return 0;
	text = strdup(note);
	if (!text || array_grow(flame->notes, flame->notes_capacity, flame->notes_count + 1))
		return -ENOMEM;
	flame->notes[flame->notes_count++] = (struct flame_note){frame, take_ptr(text)};
	return 0;
}

/* The child's slot, or the free slot for it; the table is never full. */
static struct flame_slot *find_slot(struct flame_slot *slots, size_t count, uint32_t hash,
				    uint32_t parent, uint32_t frame)
{
	size_t index = hash & (count - 1);

	while (slots[index].node && (slots[index].parent != parent || slots[index].frame != frame))
		index = (index + 1) & (count - 1);
	return &slots[index];
}

static int grow_slots(struct flame *flame)
{
	size_t count = flame->slots_count * 2;
	struct flame_slot *slots = flame_allocate(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0, count * sizeof(*slots));
	for (size_t i = 0; i < flame->slots_count; i++) {
		const struct flame_slot *slot = &flame->slots[i];

		if (slot->node)
			*find_slot(slots, count, flame->nodes[slot->node].hash, slot->parent,
				   slot->frame) = *slot;
	}
	free(flame->slots);
	flame->slots = slots;
	flame->slots_count = count;
	return 0;
}

/* Makes room for one more stack (or the root, in a flame without nodes). A stack adds at most two
 * nodes, one by splitting an old node and one for its own frames, and `count` frames. The table
 * stays at most 2/3 full. */
static int reserve(struct flame *flame, size_t count)
{
	size_t nodes = flame->nodes_count + (size_t)2, pool = flame->pool_count + count;

	if (nodes > UINT32_MAX / 2 || pool > UINT32_MAX)
		return -EOVERFLOW;
	if (nodes > flame->slots_count / 3 * 2 && grow_slots(flame))
		return -ENOMEM;
	if (array_grow(flame->hashes, flame->hashes_capacity, count))
		return -ENOMEM;
	if (nodes > flame->nodes_capacity &&
	    flame_grow((void **)&flame->nodes, &flame->nodes_capacity, nodes,
		       sizeof(*flame->nodes)))
		return -ENOMEM;
	if (pool <= flame->pool_capacity)
		return 0;
	return flame_grow((void **)&flame->pool, &flame->pool_capacity, pool, sizeof(*flame->pool));
}

struct flame *flame_new(void)
{
	struct flame *flame = calloc(1, sizeof(*flame));

	if (!flame)
		return NULL;
	flame->slots = calloc(SLOTS_FIRST, sizeof(*flame->slots));
	flame->slots_count = SLOTS_FIRST;
	if (!flame->slots || reserve(flame, 0)) {
		flame_free(flame);
		return NULL;
	}
	flame->nodes[0] = (struct flame_node){0};
	flame->nodes_count = 1;
	return flame;
}

static uint32_t add_node(struct flame *flame, uint32_t parent, size_t first, size_t length,
			 uint32_t hash)
{
	flame->nodes[flame->nodes_count] =
		(struct flame_node){0, parent, (uint32_t)first, (uint32_t)length, hash};
	return flame->nodes_count++;
}

/* Splits the node of a slot after its first `length` frames; `hash` is that of the path up to
 * there. A new node gets these frames, and the old node with its children becomes its child.
 * Returns the new node. */
static uint32_t split(struct flame *flame, struct flame_slot *slot, uint32_t length, uint64_t hash)
{
	uint32_t old = slot->node, frame;
	struct flame_node *node = &flame->nodes[old];
	uint32_t upper = add_node(flame, node->parent, node->first, length, node->hash);

	slot->node = upper;
	slot->length = length;
	node->parent = upper;
	node->first += length;
	node->length -= length;
	frame = flame->pool[node->first];
	node->hash = (uint32_t)hash_on(hash, frame);
	*find_slot(flame->slots, flame->slots_count, node->hash, upper, frame) =
		(struct flame_slot){upper, frame, old, node->length};
	return upper;
}

/* Finds the child of `parent` that begins with frames[0] and follows it as far as its frames agree
 * with `frames`. Without such a child, adds one with all `count` frames. */
static uint32_t descend(struct flame *flame, uint32_t parent, const uint32_t *frames, size_t count,
			const uint64_t *hashes, size_t *ret_length)
{
	struct flame_slot *slot =
		find_slot(flame->slots, flame->slots_count, (uint32_t)hashes[0], parent, frames[0]);
	const uint32_t *own;
	uint32_t length = 1;

	if (!slot->node) {
		*ret_length = count;
		memcpy(flame->pool + flame->pool_count, frames, count * sizeof(*frames));
		*slot = (struct flame_slot){parent, frames[0], flame->nodes_count, (uint32_t)count};
		flame->pool_count += count;
		return add_node(flame, parent, flame->pool_count - count, count,
				(uint32_t)hashes[0]);
	}
	if (slot->length > 1) {
		own = flame->pool + flame->nodes[slot->node].first;
		while (length < slot->length && length < count && own[length] == frames[length])
			length++;
	}
	*ret_length = length;
	return length < slot->length ? split(flame, slot, length, hashes[length - 1]) : slot->node;
}

static void hash_stack(struct flame *flame, const uint32_t *frames, size_t count)
{
	uint64_t hash = ROOT_HASH;

	for (size_t i = 0; i < count; i++) {
		hash = hash_on(hash, frames[i]);
		flame->hashes[i] = hash;
		if (i < FETCHED)
			__builtin_prefetch(
				&flame->slots[(uint32_t)hash & (flame->slots_count - 1)]);
	}
}

static int check_stack(const struct flame *flame, const uint32_t *frames, size_t count)
{
	if (!count)
		return error_set(-EINVAL, "flame graph: a stack without frames");
	for (size_t i = 0; i < count; i++) {
		if (frames[i] >= flame->frames_count)
			return error_set(-EINVAL, "flame graph: no frame %u", frames[i]);
	}
	return 0;
}

static int insert(struct flame *flame, const uint32_t *frames, size_t count, uint32_t *ret_node)
{
	uint32_t node = 0;
	size_t length;
	int error = reserve(flame, count);

	if (error)
		return error_set(error, "flame graph of %zu frames: %s", flame->pool_count,
				 strerror(-error));
	hash_stack(flame, frames, count);
	for (size_t done = 0; done < count; done += length)
		node = descend(flame, node, frames + done, count - done, flame->hashes + done,
			       &length);
	*ret_node = node;
	return 0;
}

int flame_insert(struct flame *flame, const uint32_t *frames, size_t count, uint32_t *ret_node)
{
	int error = check_stack(flame, frames, count);

	return error ? error : insert(flame, frames, count, ret_node);
}

int flame_add(struct flame *flame, const uint32_t *frames_root_first, size_t count, uint64_t value)
{
	uint64_t sum;
	uint32_t node;
	int error = check_stack(flame, frames_root_first, count);

	if (!error && __builtin_add_overflow(flame->total, value, &sum))
		error = error_set(-EOVERFLOW, "flame graph: the values add up to more than 2^64");
	if (error || !value)
		return error;
	error = insert(flame, frames_root_first, count, &node);
	if (error)
		return error;
	flame->nodes[node].self += value;
	flame->total = sum;
	return 0;
}

uint64_t flame_total(const struct flame *flame)
{
	return flame->total;
}

size_t flame_memory_bytes(const struct flame *flame)
{
	return sizeof(*flame) + flame->names.arena.bytes +
	       flame->names.entries_capacity * sizeof(*flame->names.entries) +
	       flame->names.slots_count * sizeof(*flame->names.slots) +
	       flame->frame_ids.capacity * sizeof(*flame->frame_ids.slots) +
	       flame->frames_capacity * sizeof(*flame->frames) +
	       flame->pool_capacity * sizeof(*flame->pool) +
	       flame->hashes_capacity * sizeof(*flame->hashes) +
	       flame->nodes_capacity * sizeof(*flame->nodes) +
	       flame->slots_count * sizeof(*flame->slots);
}

struct flame_text flame_frame_name(const struct flame *flame, uint32_t frame)
{
	struct flame_text name;

	name.bytes = string_table_text(&flame->names, flame->frames[frame].string, &name.size);
	return name;
}

struct rank_context {
	const struct flame *flame;
	const struct flame_text *texts;
};

static int compare_texts(const struct flame_text *a, const struct flame_text *b)
{
	size_t shorter = a->size < b->size ? a->size : b->size;
	int order = shorter ? memcmp(a->bytes, b->bytes, shorter) : 0;

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_frames(const void *a, const void *b, void *context)
{
	const struct rank_context *rank = context;
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	int order = compare_texts(&rank->texts[first], &rank->texts[second]);

	return order ? order
		     : rank->flame->frames[first].frame_class -
			       rank->flame->frames[second].frame_class;
}

int flame_rank(const struct flame *flame, const struct flame_text *texts, uint32_t **ret_ranks,
	       bool *ret_has_equals)
{
	struct rank_context context = {flame, texts};
	uint32_t count = flame->frames_count;
	auto_free uint32_t *order = malloc((count + (size_t)1) * sizeof(*order));
	auto_free uint32_t *ranks = malloc((count + (size_t)1) * sizeof(*ranks));
	bool has_equals = false;

	if (!order || !ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_frames, &context);
	for (uint32_t i = 0; i < count; i++) {
		ranks[order[i]] = i;
		has_equals |= i && !compare_texts(&texts[order[i - 1]], &texts[order[i]]);
	}
	*ret_ranks = take_ptr(ranks);
	*ret_has_equals = has_equals;
	return 0;
}
