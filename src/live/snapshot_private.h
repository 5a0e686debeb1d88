/* SPDX-License-Identifier: MIT
 *
 * live/snapshot_private.h - the parts of a snapshot's making; private to live/snapshot*.c and
 * live/places.c
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "live/snapshot.h"

struct frames;
struct live_open_gap;

/* A snapshot while it is filled. */
struct snapshot_maker {
	const struct analysis *analysis;
	const struct live_snapshot_options *options;
	struct live_snapshot *snapshot;
	struct hash_map
		processes;       /* id of a process in the trace -> index of snapshot->processes */
	struct hash_map devices; /* the same for devices */
	struct frames *frames;   /* NULL: not needed so far */
	struct live_open_gap *gaps; /* owned; one per device; NULL: not wanted */
};

/* The snapshot's index of a process or device of the trace; LIVE_NO_INDEX: not in it. */
uint32_t maker_process(const struct snapshot_maker *maker, uint32_t id);
uint32_t maker_device(const struct snapshot_maker *maker, size_t index);
/* Without lines of native code, whose tables take longer to read than a snapshot may take. -ENOMEM.
 */
int maker_frames(struct snapshot_maker *maker, struct frames **ret_frames);

/* Copies a text of the program, safe for a terminal; it is cut if it does not fit. */
void snapshot_copy_text(const char *text, char *ret_text, size_t size);
/* The same in memory of its own. NULL: out of memory. */
char *snapshot_keep_text(const char *text);

int snapshot_add_kernels(struct snapshot_maker *maker); /* -ENOMEM */
int snapshot_add_stacks(struct snapshot_maker *maker);  /* -ENOMEM */

/* "load_batch (data.py:31)"; "": the stack has no function with a name. -ENOMEM. */
int snapshot_name_place(struct frames *frames, uint32_t stack, char *ret_text, size_t size,
			bool *ret_is_own);

/* Names the place of each device's largest cause. -ENOMEM. */
int live_places_find(struct live_places *places, struct snapshot_maker *maker);
