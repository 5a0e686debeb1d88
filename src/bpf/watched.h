/* SPDX-License-Identifier: MIT
 *
 * bpf/watched.h - part of sched.bpf.c: the watched processes, and losses
 */
#pragma once

#include "bpf/kernel_types.h"
#include "bpf/maps.h"
#include "event/kernel_record.h"

/* Watched processes: tgid -> 1. They are removed as they end; the recorder removes one that it
 * gives up, or that had ended before it was added. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u8);
} watched SEC(".maps");

/* Written by the recorder when everything is in place. */
__u32 watches_all;
__u32 watches_not; /* except this process: the recorder itself */

COUNTS(KERNEL_COUNTS)

static __always_inline bool is_watched(__u32 tgid)
{
	if (watches_all)
		return tgid && tgid != watches_not;
	return tgid && bpf_map_lookup_elem(&watched, &tgid);
}
