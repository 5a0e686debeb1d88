/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/code_index.c - finds the kernels that were loaded at a device address, with their
 * times
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the code rows of a trace
 * Gives:    the kernels at an address
 * Owns:     a sorted list of address ranges; a cache of the kernels' offsets in their files
 * Fails:    -ENOMEM
 * Why a list and a tree of ends: ranges of different processes and times overlap, and a file may
 *           have 10^6 of them at one address. The tree stores the largest end of each half of the
 *           list, so that a search visits only ranges that match. All addresses between two
 *           neighbouring range limits have the same result, so the caller can keep it.
 */
#include "analyze/sample/code_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/number.h"
#include "event/event.h"
#include "symbol/device/zebin.h"
#include "trace/reader.h"

/* Upper limit of the size of a kernel whose size is not known, in bytes. */
#define MAX_SIZE (1u << 20)
/* Max number of following ranges that are compared when a size is guessed. */
enum { MAX_LOOKS = 4096 };

struct code_index {
	const struct model *model; /* borrowed */
	struct code_range *ranges; /* owned; by start */
	size_t count;
	/* owned; binary tree of the largest ends: item i has the children 2 i and 2 i + 1, leaf
	 * `leaves + n` is the end of range n */
	uint64_t *ends;
	size_t leaves;    /* a power of two */
	uint64_t *bounds; /* owned; sorted starts and ends of all ranges without duplicates; the
			     first is 0 */
	size_t bounds_count;
	const struct event_code *codes; /* the trace's */
	size_t codes_count;
	struct hash_map offsets; /* code -> offset in its file + 1; 0: it has no file */
};

static bool is_placed(const struct event_code *row)
{
	return row->type == CODE_KERNEL && row->address;
}

static uint64_t end_of_life(const struct event_code *row, const struct event_process *process)
{
	const uint64_t end = row->end_ns ? row->end_ns : UINT64_MAX;

	/* a source that reports the end of a process may not report the end of its code */
	return process && process->end_ns > row->begin_ns && process->end_ns < end ? process->end_ns
										   : end;
}

/* A runtime may describe a part of a GPU, "0000:03:00.0/1", but the sampler of that GPU reports the
 * whole one. Returns the whole device. */
static uint32_t whole_device(const struct code_index *index, uint32_t device)
{
	const struct event_device *row = model_entity(index->model, EVENT_DEVICE, device), *rows;
	const char *key = row ? model_text(index->model, row->key_string, "") : "";
	const char *part = strchr(key, '/');
	size_t count = part ? model_entities(index->model, EVENT_DEVICE, &rows) : 0;

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
	const struct event_process *process =
		model_entity(index->model, EVENT_PROCESS, row->process);

	return (struct code_range){
		.code = (uint32_t)code,
		.device = whole_device(index, row->device),
		.process = row->process,
		.start = (uint32_t)row->address,
		.size = row->size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)row->size_bytes,
		.address = row->address,
		.begin_ns = row->begin_ns,
		.end_ns = end_of_life(row, process),
		.started_ns = model_process_started_ns(index->model, process),
		.known = (uint8_t)((row->name_string ? 2 : 0) | (row->size_bytes ? 1 : 0))};
}

static int compare_starts(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->code > b->code) - (a->code < b->code);
}

/* ---- unknown sizes --------------------------------------------------------------------------- */

/* By process, then by the order of the ranges. */
static int compare_processes(const void *left, const void *right, void *context)
{
	const struct code_range *ranges = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (ranges[a].process != ranges[b].process)
		return ranges[a].process < ranges[b].process ? -1 : 1;
	return (a > b) - (a < b);
}

static bool is_beside(const struct code_range *a, const struct code_range *b)
{
	return (a->device == b->device || !a->device || !b->device) && a->begin_ns < b->end_ns &&
	       b->begin_ns < a->end_ns;
}

/* Guesses that a kernel of unknown size ends where the next one of its process begins. first: index
 * into `order` of the first range with a different start. After MAX_LOOKS ranges that existed at
 * other times, the last of those is used. */
static uint32_t guess_size(const struct code_index *index, const uint32_t *order, size_t first,
			   const struct code_range *own)
{
	uint32_t looks = 0, size = MAX_SIZE;

	for (size_t i = first; i < index->count; i++) {
		const struct code_range *next = &index->ranges[order[i]];

		if (next->process != own->process || next->start - own->start >= MAX_SIZE)
			break;
		size = next->start - own->start;
		if (is_beside(own, next) || ++looks == MAX_LOOKS)
			return size;
		size = MAX_SIZE;
	}
	return size;
}

static int guess_sizes(struct code_index *index)
{
	auto_free uint32_t *order = calloc(index->count + 1, sizeof(*order));
	size_t next = index->count;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		order[i] = (uint32_t)i;
	if (index->count)
		qsort_r(order, index->count, sizeof(*order), compare_processes, index->ranges);
	for (size_t i = index->count; i-- > 0;) {
		struct code_range *own = &index->ranges[order[i]];

		if (i + 1 < index->count && (index->ranges[order[i + 1]].process != own->process ||
					     index->ranges[order[i + 1]].start != own->start))
			next = i + 1;
		if (!(own->known & 1))
			own->size = guess_size(index, order, next, own);
	}
	return 0;
}

/* ---- the lists ------------------------------------------------------------------------------- */

static uint64_t end_of(const struct code_range *range)
{
	return (uint64_t)range->start + range->size;
}

static int list_bounds(struct code_index *index)
{
	size_t kept = 1;

	index->bounds = calloc(2 * index->count + 1, sizeof(*index->bounds));
	if (!index->bounds)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++) {
		index->bounds[2 * i + 1] = index->ranges[i].start;
		index->bounds[2 * i + 2] = end_of(&index->ranges[i]);
	}
	qsort(index->bounds, 2 * index->count + 1, sizeof(*index->bounds), compare_u64);
	for (size_t i = 1; i < 2 * index->count + 1; i++)
		if (index->bounds[i] != index->bounds[kept - 1])
			index->bounds[kept++] = index->bounds[i];
	index->bounds_count = kept;
	return 0;
}

static int plant_ends(struct code_index *index)
{
	for (index->leaves = 1; index->leaves < index->count; index->leaves *= 2)
		;
	index->ends = calloc(2 * index->leaves, sizeof(*index->ends));
	if (!index->ends)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		index->ends[index->leaves + i] = end_of(&index->ranges[i]);
	for (size_t i = index->leaves; i-- > 1;)
		index->ends[i] = index->ends[2 * i] > index->ends[2 * i + 1]
					 ? index->ends[2 * i]
					 : index->ends[2 * i + 1];
	return 0;
}

static int list_ranges(struct code_index *index)
{
	size_t placed = 0;
	int error;

	for (size_t i = 0; i < index->codes_count; i++)
		placed += is_placed(&index->codes[i]);
	index->ranges = calloc(placed + 1, sizeof(*index->ranges));
	if (!index->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < index->codes_count; i++)
		if (is_placed(&index->codes[i]))
			index->ranges[index->count++] = range_of(index, i);
	if (index->count)
		qsort(index->ranges, index->count, sizeof(*index->ranges), compare_starts);
	error = guess_sizes(index);
	if (!error)
		error = list_bounds(index);
	return error ? error : plant_ends(index);
}

int code_index_new(const struct model *model, struct code_index **ret_index)
{
	struct code_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->model = model;
	index->codes_count = model_entities(model, EVENT_CODE, &index->codes);
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
	free(index->ends);
	free(index->bounds);
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

/* ---- looking --------------------------------------------------------------------------------- */

/* Number of ranges that start at or below the address. */
static size_t count_up_to(const struct code_index *index, uint32_t start)
{
	return LOWER_BOUND(index->count, i, index->ranges[i].start <= start);
}

static bool holds(const struct code_range *range, uint32_t device, uint64_t address)
{
	if (range->device && range->device != device)
		return false;
	if (address > UINT32_MAX)
		return address >= range->address && address - range->address < range->size;
	return (uint32_t)address - range->start < range->size;
}

void code_index_stretch(const struct code_index *index, uint64_t address,
			struct code_stretch *ret_stretch)
{
	size_t low =
		LOWER_BOUND(index->bounds_count - 1, i, index->bounds[i + 1] <= (uint32_t)address);

	ret_stretch->first = index->bounds[low];
	ret_stretch->end = low + 1 < index->bounds_count ? index->bounds[low + 1] : UINT64_MAX;
	ret_stretch->number = (uint32_t)low;
}

void code_found_fini(struct code_found *found)
{
	free(found->ranges);
	*found = (struct code_found){0};
}

/* State of one search in the tree of ends. */
struct search {
	const struct code_index *index;
	uint64_t address;
	uint32_t device;
	size_t below; /* number of ranges that start at or below the address */
	size_t left;  /* max number of ranges still to be visited */
	struct code_found *found;
};

static int append_range(struct search *search, const struct code_range *range)
{
	struct code_found *found = search->found;

	if (!search->left--)
		return -E2BIG;
	if (!holds(range, search->device, search->address))
		return 0;
	return array_append(found->ranges, found->capacity, found->count, range);
}

/* Visits the node that covers `width` leaves from `first` on. The recursion depth is log2 of the
 * number of ranges. */
static int search_node(struct search *search, size_t node, size_t first, size_t width)
{
	int error;

	if (first >= search->below || search->index->ends[node] <= (uint32_t)search->address)
		return 0;
	if (width == 1)
		return append_range(search, &search->index->ranges[first]);
	error = search_node(search, 2 * node, first, width / 2);
	return error ? error : search_node(search, 2 * node + 1, first + width / 2, width / 2);
}

static int compare_begins(const void *left, const void *right)
{
	const struct code_range *a = *(const struct code_range *const *)left,
				*b = *(const struct code_range *const *)right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->code > b->code) - (a->code < b->code);
}

int code_index_find(const struct code_index *index, uint32_t device, uint64_t address, size_t most,
		    struct code_found *found)
{
	struct search search = {.index = index,
				.address = address,
				.device = device,
				.below = count_up_to(index, (uint32_t)address),
				.left = most,
				.found = found};
	int error;

	found->count = 0;
	error = search_node(&search, 1, 0, index->leaves);
	if (!error && found->count > 1)
		qsort(found->ranges, found->count, sizeof(*found->ranges), compare_begins);
	return error;
}

/* ---- offsets --------------------------------------------------------------------------------- */

static uint64_t find_in(const struct zebin *zebin, const char *name)
{
	const struct zebin_kernel *kernels;
	size_t count = zebin_kernels(zebin, &kernels);

	for (size_t i = 0; i < count; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return kernels[i].offset + 1;
	return 0;
}

/* Finds the kernel's offset in its zebin, + 1. An invalid file counts as no file. */
static int find_begin(const struct code_index *index, const struct event_code *row,
		      uint64_t *ret_begin)
{
	const struct event_code *binary =
		row->parent ? model_entity(index->model, EVENT_CODE, row->parent) : row;
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
