/* SPDX-License-Identifier: MIT
 *
 * export/view_head_counters.h - the part of a view's head that says what was counted, and of what
 */
#ifndef EXPORT_VIEW_HEAD_COUNTERS_H
#define EXPORT_VIEW_HEAD_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct view_track_writer;
struct view_tracks;

/* Series that have a track, by what they are of. All zero: none. */
struct view_head_counters {
	const struct view_tracks *tracks;
	size_t *series; /* owned; indices of the tracks' list */
	size_t count;
};

int view_head_counters_init(struct view_head_counters *counters,
			    const struct view_tracks *tracks); /* -ENOMEM */
void view_head_counters_fini(struct view_head_counters *counters);

/* Tracks below `parent`, of what a process or a device has; both 0: of the machine. Ids. */
void view_head_counters_write(const struct view_head_counters *counters,
			      struct view_track_writer *writer, size_t parent, uint32_t process,
			      uint32_t device);

#endif
