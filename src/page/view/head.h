/* SPDX-License-Identifier: MIT
 *
 * page/view/head.h - the head of a view: the data that the page needs to draw anything
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_writer;
struct string_builder;
struct view_about;
struct view_sections;
struct view_track;
struct view_tracks;

/* Elements with the stacks of a device's time, by its index (size_t). */
#define VIEW_GRAPH_ID "graph%zu"
#define VIEW_CELLS_ID "cells%zu"

struct view_head {
	const struct view_about *about;
	struct view_tracks *tracks;
	const struct view_sections *sections;
	bool has_texts;  /* texts of frames and stacks are in a section of their own */
	bool has_stalls; /* there is a section of device instruction samples */
};

/* Writes the JSON document. Errors: -ENOMEM, errors of the report. */
int view_head_write(const struct view_head *head, struct string_builder *text);

/* ---- page/view/head_track.c: one track ---- */

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

/* ---- page/view/head_counters.c: the counter tracks ---- */

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
