/* SPDX-License-Identifier: MIT
 *
 * page/view/head_track.h - write one track in the head of a view
 */
#ifndef PAGE_VIEW_HEAD_TRACK_H
#define PAGE_VIEW_HEAD_TRACK_H

#include <stddef.h>
#include <stdint.h>

struct json_writer;
struct view_track;

#define VIEW_TRACK_NONE SIZE_MAX /* no parent */

/* Writes an array of tracks; the id of the next one is `written`. */
struct view_track_writer {
	struct json_writer *json; /* borrowed */
	size_t written;
};

/* The caller writes the keys of the track's kind between begin and end. track NULL: it has no
 * items. */
void view_track_begin(struct view_track_writer *writer, const char *kind, size_t parent,
		      const char *name);
void view_track_end(struct view_track_writer *writer, const struct view_track *track);

#endif
