/* SPDX-License-Identifier: MIT
 *
 * analyze/code_index.c - which code lies at an address of a device, and when
 *
 * Runs in:  the readers
 * Gets:     the kernels of a trace   Gives: those at an address
 * Owns:     a sorted list of places; where kernels begin in their files, as far as somebody asked
 * Fails:    -ENOMEM
 * Why a list and the farthest end so far: places of different processes and times lie over each other, so that no single
 *           one is the answer. From the last begin below the address backwards, the farthest end says when to stop; whoever asks
 *           keeps the answer, as 10^6 samples are of few thousand addresses.
 */
#include "analyze/code_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/hash.h"
#include "event/event.h"
#include "symbol/zebin.h"
#include "trace/reader.h"

/* How far a kernel may go whose size nobody told. */
#define SIZE_MOST (1u << 20)

struct code_index {
	const struct model *model; /* borrowed */
	struct code_range *ranges; /* owned; by start */
	uint64_t *farthest;        /* owned; end of any of the ranges up to here */
	size_t count;
	const struct event_code *codes; /* the trace's */
	size_t codes_count;
	struct hash_map offsets; /* code -> where it begins in its file, + 1; 0: it has no file */
};

static bool is_placed(const struct event_code *row)
{
	return row->type == CODE_KERNEL && row->address;
}

static uint64_t end_of_life(const struct event_code *row)
{
	return row->end_ns ? row->end_ns : UINT64_MAX;
}

/* A runtime may have described a part of a GPU, "0000:03:00.0/1"; its sampler knows the whole one. */
static uint32_t whole_device(const struct code_index *index, uint32_t device)
{
	const struct event_device *row = model_thing(index->model, EVENT_DEVICE, device), *rows;
	const char *key = row ? model_text(index->model, row->key_string, "") : "";
	const char *part = strchr(key, '/');
	const void *things = NULL;
	size_t count = part ? model_things(index->model, EVENT_DEVICE, &things) : 0;

	rows = things;
	for (size_t i = 0; i < count; i++) {
		const char *other = model_text(index->model, rows[i].key_string, "");

		if (strlen(other) == (size_t)(part - key) &&
		    strncmp(other, key, (size_t)(part - key)) == 0)
			return rows[i].id;
	}
	return device;
}

static struct code_range range_of(const struct code_index *index, size_t code)
{
	const struct event_code *row = &index->codes[code];

	return (struct code_range){
		.code = (uint32_t)code,
		.device = whole_device(index, row->device),
		.process = row->process,
		.start = (uint32_t)row->address,
		.size = row->size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)row->size_bytes,
		.address = row->address,
		.begin_ns = row->begin_ns,
		.end_ns = end_of_life(row),
		.known = (uint8_t)((row->name_string ? 2 : 0) | (row->size_bytes ? 1 : 0))};
}

static int compare_starts(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->code > b->code) - (a->code < b->code);
}

static bool is_beside(const struct code_range *a, const struct code_range *b)
{
	return a->process == b->process && (a->device == b->device || !a->device || !b->device) &&
	       a->begin_ns < b->end_ns && b->begin_ns < a->end_ns;
}

/* One that is known by its address goes to where the next one of its process begins. */
static uint32_t guess_size(const struct code_index *index, size_t at)
{
	const struct code_range *own = &index->ranges[at];

	for (size_t i = at + 1; i < index->count; i++) {
		const struct code_range *next = &index->ranges[i];

		if (next->start - own->start >= SIZE_MOST)
			break;
		if (next->start != own->start && is_beside(own, next))
			return next->start - own->start;
	}
	return SIZE_MOST;
}

static int list_ranges(struct code_index *index)
{
	uint64_t farthest = 0;
	size_t placed = 0;

	for (size_t i = 0; i < index->codes_count; i++)
		placed += is_placed(&index->codes[i]);
	index->ranges = calloc(placed + 1, sizeof(*index->ranges));
	index->farthest = calloc(placed + 1, sizeof(*index->farthest));
	if (!index->ranges || !index->farthest)
		return -ENOMEM;
	for (size_t i = 0; i < index->codes_count; i++)
		if (is_placed(&index->codes[i]))
			index->ranges[index->count++] = range_of(index, i);
	if (index->count)
		qsort(index->ranges, index->count, sizeof(*index->ranges), compare_starts);
	for (size_t i = 0; i < index->count; i++) {
		struct code_range *range = &index->ranges[i];

		if (!(range->known & 1))
			range->size = guess_size(index, i);
		if ((uint64_t)range->start + range->size > farthest)
			farthest = (uint64_t)range->start + range->size;
		index->farthest[i] = farthest;
	}
	return 0;
}

int code_index_new(const struct model *model, struct code_index **ret_index)
{
	struct code_index *index = calloc(1, sizeof(*index));
	const void *things = NULL;

	if (!index)
		return -ENOMEM;
	index->model = model;
	index->codes_count = model_things(model, EVENT_CODE, &things);
	index->codes = things;
	hash_map_init(&index->offsets);
	if (list_ranges(index)) {
		code_index_free(index);
		return -ENOMEM;
	}
	*ret_index = index;
	return 0;
}

void code_index_free(struct code_index *index)
{
	if (!index)
		return;
	hash_map_fini(&index->offsets);
	free(index->ranges);
	free(index->farthest);
	free(index);
}

bool code_index_is_empty(const struct code_index *index)
{
	return !index->count;
}

bool code_index_has(const struct code_index *index, size_t code)
{
	return code < index->codes_count && is_placed(&index->codes[code]);
}

/* ---- looking ----------------------------------------------------------------------------------- */

/* How many begin at the address or below. */
static size_t count_up_to(const struct code_index *index, uint32_t start)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->ranges[middle].start <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool holds(const struct code_range *range, uint32_t device, uint64_t address)
{
	if (range->device && range->device != device)
		return false;
	if (address > UINT32_MAX)
		return address >= range->address && address - range->address < range->size;
	return (uint32_t)address - range->start < range->size;
}

/* Kept in the order of begin. */
static void insert(const struct code_range **ranges, size_t count, const struct code_range *range)
{
	size_t i = count;

	while (i && (range->begin_ns < ranges[i - 1]->begin_ns ||
		     (range->begin_ns == ranges[i - 1]->begin_ns &&
		      range->code < ranges[i - 1]->code))) {
		ranges[i] = ranges[i - 1];
		i--;
	}
	ranges[i] = range;
}

size_t code_index_find(const struct code_index *index, uint32_t device, uint64_t address,
		       const struct code_range **ret_ranges, size_t most)
{
	size_t count = 0;

	for (size_t i = count_up_to(index, (uint32_t)address); i-- > 0 && count < most;) {
		if (index->farthest[i] <= (uint32_t)address)
			break;
		if (holds(&index->ranges[i], device, address))
			insert(ret_ranges, count++, &index->ranges[i]);
	}
	return count;
}

/* ---- offsets ----------------------------------------------------------------------------------- */

static uint64_t find_in(const struct zebin *zebin, const char *name)
{
	const struct zebin_kernel *kernels;
	size_t count = zebin_kernels(zebin, &kernels);

	for (size_t i = 0; i < count; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return kernels[i].offset + 1;
	return 0;
}

/* A file that makes no sense is none. */
static int find_begin(const struct code_index *index, const struct event_code *row,
		      uint64_t *ret_begin)
{
	const struct event_code *binary =
		row->parent ? model_thing(index->model, EVENT_CODE, row->parent) : row;
	struct zebin *zebin = NULL;
	const void *bytes;
	size_t size;
	int error;

	*ret_begin = 0;
	if (!binary || !row->name_string || !(binary->hash_low || binary->hash_high))
		return 0;
	bytes = trace_reader_content(index->model->reader, binary->hash_low, binary->hash_high,
				     &size);
	if (!bytes || !zebin_is(bytes, size))
		return 0;
	error = zebin_open(bytes, size, &zebin);
	if (error)
		return error == -ENOMEM ? error : 0;
	*ret_begin = find_in(zebin, model_text(index->model, row->name_string, ""));
	zebin_close(zebin);
	return 0;
}

int code_index_offset(struct code_index *index, const struct code_range *range, uint64_t address,
		      uint64_t *ret_offset)
{
	const uint64_t *known = hash_map_find(&index->offsets, range->code);
	uint64_t begin = known ? *known : 0;
	int error = 0;

	if (!known)
		error = find_begin(index, &index->codes[range->code], &begin);
	if (!error && !known)
		error = hash_map_put(&index->offsets, range->code, begin);
	if (!error)
		*ret_offset = (begin ? begin - 1 : 0) + ((uint32_t)address - range->start);
	return error;
}
