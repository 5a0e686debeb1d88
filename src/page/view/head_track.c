/* SPDX-License-Identifier: MIT
 *
 * page/view/head_track.c - write one track in the head of a view
 *
 * Runs in:  our own process
 * Gets:     a track whose chunks have a place in the file
 * Gives:    an object of JSON
 * Owns:     nothing
 * Fails:    like the JSON writer
 * Why a track is written in two halves (view_track_begin, view_track_end): each kind of track has
 *           keys of its own, which its writer adds between the halves.
 */
#include "page/view/head.h"

#include "base/json.h"
#include "page/view/tracks.h"

void view_track_begin(struct view_track_writer *writer, const char *kind, size_t parent,
		      const char *name)
{
	struct json_writer *json = writer->json;

	json_line_begin(json);
	json_pair_u64(json, "id", writer->written++);
	if (parent != VIEW_TRACK_NONE)
		json_pair_u64(json, "parent", parent);
	json_pair_text(json, "kind", kind);
	json_pair_text(json, "name", name);
}

static void write_chunk(struct json_writer *json, const struct view_chunk *chunk)
{
	json_array_begin(json);
	json_i64(json, chunk->begin_ns);
	json_i64(json, chunk->end_ns);
	json_u64(json, chunk->section);
	json_u64(json, chunk->at);
	json_u64(json, chunk->bytes);
	json_u64(json, chunk->items);
	json_array_end(json);
}

static void write_level(struct json_writer *json, const struct pyramid_level *level,
			unsigned int index)
{
	json_object_begin(json);
	json_pair_u64(json, "bin_ns", pyramid_bin_ns(index));
	json_pair_array(json, "chunks");
	for (size_t i = 0; i < level->chunks_count; i++)
		write_chunk(json, &level->chunks[i]);
	json_array_end(json);
	json_object_end(json);
}

void view_track_end(struct view_track_writer *writer, const struct view_track *track)
{
	struct json_writer *json = writer->json;

	if (track) {
		json_pair_u64(json, "lanes", track->lanes.count ? track->lanes.count : 1);
		json_pair_u64(json, "items", track->pyramid.items);
		json_pair_array(json, "levels");
		for (unsigned int i = 0; i < PYRAMID_LEVELS; i++) {
			if (track->pyramid.levels[i].chunks_count)
				write_level(json, &track->pyramid.levels[i], i);
		}
		json_array_end(json);
	}
	json_object_end(json);
}
