/* SPDX-License-Identifier: MIT
 *
 * page/view/head_counters.h - the part of a view's head that describes the counter tracks
 */
#ifndef PAGE_VIEW_HEAD_COUNTERS_H
#define PAGE_VIEW_HEAD_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct view_track_writer;
struct view_tracks;

/* The series that have a track, sorted by process and device. All zero: none. */
struct view_head_counters {
	const struct view_tracks *tracks;
	size_t *series; /* owned; indices of the tracks' list */
	size_t count;
};

int view_head_counters_init(struct view_head_counters *counters,
			    const struct view_tracks *tracks); /* -ENOMEM */
void view_head_counters_fini(struct view_head_counters *counters);

/* Writes the counter tracks of a process or a device (ids; both 0: the machine) below `parent`. */
void view_head_counters_write(const struct view_head_counters *counters,
			      struct view_track_writer *writer, size_t parent, uint32_t process,
			      uint32_t device);

#endif
