/* SPDX-License-Identifier: MIT
 *
 * export/view_head_track.h - one track in the head of a view
 */
#ifndef EXPORT_VIEW_HEAD_TRACK_H
#define EXPORT_VIEW_HEAD_TRACK_H

#include <stddef.h>
#include <stdint.h>

struct json_writer;
struct view_track;

#define VIEW_TRACK_NONE SIZE_MAX /* no parent */

/* In an array of tracks: the next one's id is `written`. */
struct view_track_writer {
	struct json_writer *json; /* borrowed */
	size_t written;
};

/* What the kind has of its own goes between begin and end. track NULL: it has no items. */
void view_track_begin(struct view_track_writer *writer, const char *kind, size_t parent,
		      const char *name);
void view_track_end(struct view_track_writer *writer, const struct view_track *track);

#endif
