/* SPDX-License-Identifier: MIT
 *
 * bpf/maps.h - declares maps, which the kernel creates when an object is loaded
 *
 * Runs in:  the kernel
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* A map with a limit of entries; kind: BPF_MAP_TYPE_... */
#define MAP(name, kind, entries, key_type, value_type) \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_##kind);     \
		__uint(max_entries, entries);          \
		__type(key, key_type);                 \
		__type(value, value_type);             \
	} name SEC(".maps")

/* A buffer of records for the recorder. */
#define RING(name, bytes)                           \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, bytes);         \
	} name SEC(".maps")

/* Counters for the recorder in the map `counts`, and count(), which adds 1 to one of them. */
#define COUNTS(entries)                                              \
	MAP(counts, PERCPU_ARRAY, entries, __u32, __u64);            \
	static __always_inline void count(__u32 which)               \
	{                                                            \
		__u64 *value = bpf_map_lookup_elem(&counts, &which); \
                                                                     \
		if (value)                                           \
			++*value;                                    \
	}

/* A hash of words, for keys. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}
