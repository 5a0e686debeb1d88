/* SPDX-License-Identifier: MIT
 *
 * bpf/gpu_ranges.bpf.h - map GPU addresses to objects, updated by binds and unbinds
 *
 * Runs in:  our programs inside the kernel, at each bind, and our own process, in tests;
 *           freestanding
 * Gets:     binds and unbinds in their order
 * Gives:    at most one range for an address
 * Fails:    a range that finds no room is dropped and counted: its addresses become unknown, and
 *           never resolve to another object
 * Why:      the kernel's programs have hash tables but no trees. A range is stored in the buckets
 *           of the level whose buckets are at least as large as the range, so in at most two
 *           buckets, and is cut at their border. A bind or unbind cuts its range out of all levels,
 *           so that a lookup finds the last bind of an address.
 *
 * A bucket is changed under its own lock; a reader checks whether the bucket changed while it was
 * read.
 *
 * Include with these macros defined:
 *
 *	GPU_RANGES_FUNCTION	storage class of functions that are called
 */
#pragma once

#include <linux/types.h>

enum { GPU_RANGES_A_BUCKET = 64, GPU_RANGE_LEVELS = 4 };

struct gpu_range {
	__u64 begin, end; /* end 0: a free place */
	__u64 object;     /* the object that is bound there */
	__u64 offset;     /* offset of `begin` in the object */
	__u64 number;     /* number of the bind; only grows */
};

struct gpu_bucket_key {
	__u64 vm, number;
	__u32 level, reserved;
};

struct gpu_bucket {
	__u32 lock, version; /* odd while it changes */
	__u32 lost;          /* ranges, or parts of them, without room */
	__u32 reserved;
	__u64 owner; /* owner of the file that it is removed with */
	struct gpu_range ranges[GPU_RANGES_A_BUCKET];
};

#define GPU_RANGES_INLINE static inline __attribute__((always_inline))

/* log2 of the bucket size of a level: 2 MiB, 64 MiB, 2 GiB, 64 GiB. */
GPU_RANGES_INLINE __u32 gpu_range_shift(__u32 level)
{
	return 21 + 5 * (level & (GPU_RANGE_LEVELS - 1));
}

/* The level of a range of this size; GPU_RANGE_LEVELS: none, it is too large. */
GPU_RANGES_INLINE __u32 gpu_range_level(__u64 bytes)
{
	__u32 level = 0;

	while (level < GPU_RANGE_LEVELS && bytes > 1ULL << gpu_range_shift(level))
		level++;
	return level;
}

/* Number of buckets of a level that a part of [begin, end) may be in. */
GPU_RANGES_INLINE __u64 gpu_range_buckets(__u64 begin, __u64 end, __u32 level)
{
	return ((end - 1) >> gpu_range_shift(level)) - (begin >> gpu_range_shift(level)) + 1;
}

/* Cuts a range to its part in the bucket. */
GPU_RANGES_INLINE void gpu_range_clip(struct gpu_range *range, __u64 bucket, __u32 level)
{
	const __u64 first = bucket << gpu_range_shift(level);
	const __u64 last = (bucket + 1) << gpu_range_shift(level);

	if (range->begin < first) {
		range->offset += first - range->begin;
		range->begin = first;
	}
	if (range->end > last)
		range->end = last;
}

/* Stores a range in a free place. False: the bucket is full. */
GPU_RANGES_FUNCTION int gpu_bucket_put(struct gpu_bucket *bucket, const struct gpu_range *range)
{
	if (!bucket || !range)
		return 0;
	for (int i = 0; i < GPU_RANGES_A_BUCKET; i++) {
		if (bucket->ranges[i].end)
			continue;
		bucket->ranges[i] = *range;
		return 1;
	}
	bucket->lost++;
	return 0;
}

/* Cuts [begin, end) out of one range; a remainder after it needs a place of its own. False: they do
 * not overlap. */
GPU_RANGES_INLINE int gpu_range_cut(struct gpu_bucket *bucket, struct gpu_range *range, __u64 begin,
				    __u64 end)
{
	const __u64 from = range->begin, until = range->end;
	struct gpu_range rest;

	if (from >= end || until <= begin)
		return 0;
	rest.begin = end;
	rest.end = until;
	rest.object = range->object;
	rest.offset = range->offset + (end - from);
	rest.number = range->number;
	if (from < begin) {
		range->end = begin;
		if (until > end)
			gpu_bucket_put(bucket, &rest);
	} else if (until > end) {
		*range = rest;
	} else {
		range->end = 0;
	}
	return 1;
}

/* True if a range of the bucket overlapped. */
GPU_RANGES_FUNCTION int gpu_bucket_cut(struct gpu_bucket *bucket, __u64 begin, __u64 end)
{
	int has_cut = 0;

	if (!bucket)
		return 0;
	for (int i = 0; i < GPU_RANGES_A_BUCKET; i++)
		if (bucket->ranges[i].end)
			has_cut |= gpu_range_cut(bucket, &bucket->ranges[i], begin, end);
	return has_cut;
}

/* Removes the range at a place if it belongs to the object. False: it does not. */
GPU_RANGES_FUNCTION int gpu_bucket_take(struct gpu_bucket *bucket, __u32 place, __u64 object,
					struct gpu_range *ret_range)
{
	struct gpu_range *range;

	if (!bucket || !ret_range)
		return 0;
	range = &bucket->ranges[place & (GPU_RANGES_A_BUCKET - 1)];
	if (!range->end || range->object != object)
		return 0;
	*ret_range = *range;
	range->end = 0;
	return 1;
}

/* Finds the range that contains an address. False: unknown. */
GPU_RANGES_FUNCTION int gpu_bucket_find(const struct gpu_bucket *bucket, __u64 address,
					struct gpu_range *ret_range)
{
	if (!bucket || !ret_range)
		return 0;
	for (int i = 0; i < GPU_RANGES_A_BUCKET; i++) {
		const struct gpu_range *range = &bucket->ranges[i];

		if (address >= range->end || address < range->begin)
			continue;
		*ret_range = *range;
		return 1;
	}
	return 0;
}
