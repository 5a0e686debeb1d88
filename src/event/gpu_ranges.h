/* SPDX-License-Identifier: MIT
 *
 * event/gpu_ranges.h - which part of a GPU's address space is which object, as binds and unbinds leave it
 *
 * Runs in:  our programs inside the kernel, at each bind, and our own process, in tests; freestanding
 * Gets:     binds and unbinds in their order   Gives: at most one range for an address
 * Fails:    a range that finds no room is forgotten and counted: its addresses are not known, and never another's
 * Why:      the kernel's programs have hash tables and no trees. A range lies in the buckets of the level whose buckets
 *           are at least as large as it, in two of them at most, cut at their border. What is bound or unbound is cut
 *           out of all levels at once, so that whatever is found is what was bound there last.
 *
 * A bucket is changed under its own lock; who reads looks whether it changed meanwhile.
 *
 * Include with these macros defined:
 *
 *	GPU_RANGES_FUNCTION	storage of functions that are called
 */
#ifndef EVENT_GPU_RANGES_H
#define EVENT_GPU_RANGES_H

#include <linux/types.h>

enum { GPU_RANGES_A_BUCKET = 64, GPU_RANGE_LEVELS = 4 };

struct gpu_range {
	__u64 begin, end; /* end 0: a free place */
	__u64 object;     /* whose */
	__u64 offset;     /* in it, of begin */
	__u64 number;     /* when it was bound: grows */
};

struct gpu_bucket_key {
	__u64 vm, number;
	__u32 level, reserved;
};

struct gpu_bucket {
	__u32 lock, version; /* odd while it changes */
	__u32 lost;          /* ranges, or parts of them, without room */
	__u32 reserved;
	__u64 owner; /* what it goes with */
	struct gpu_range ranges[GPU_RANGES_A_BUCKET];
};

#define GPU_RANGES_INLINE static inline __attribute__((always_inline))

/* Of a level's buckets: 2 MiB, 64 MiB, 2 GiB, 64 GiB. */
GPU_RANGES_INLINE __u32 gpu_range_shift(__u32 level)
{
	return 21 + 5 * (level & (GPU_RANGE_LEVELS - 1));
}

/* Where a range of so many bytes lies; GPU_RANGE_LEVELS: nowhere, it is too large. */
GPU_RANGES_INLINE __u32 gpu_range_level(__u64 bytes)
{
	__u32 level = 0;

	while (level < GPU_RANGE_LEVELS && bytes > 1ULL << gpu_range_shift(level))
		level++;
	return level;
}

/* Buckets of a level that a part of [begin, end) may lie in. */
GPU_RANGES_INLINE __u64 gpu_range_buckets(__u64 begin, __u64 end, __u32 level)
{
	return ((end - 1) >> gpu_range_shift(level)) - (begin >> gpu_range_shift(level)) + 1;
}

/* … and the part of it in the bucket. */
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

/* Into a free place. False: there is none. */
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

/* Takes [begin, end) out of one range; what is left behind it needs a place of its own. False: it has no part of it. */
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

/* Whether there was any of it. */
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

/* Takes out what lies in a place, if it is of an object. False: it is not. */
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

/* The range that an address lies in. False: nothing is known to be there. */
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

#endif
