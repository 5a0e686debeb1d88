/* SPDX-License-Identifier: MIT
 *
 * page/view/sections.c - the order of the tracks' chunks in the file, and which chunks are left out
 *
 * Runs in:  our own process
 * Gets:     finished pyramids
 * Gives:    sections: sequences of chunks, deflated, in base64
 * Owns:     the list of sections
 * Fails:    -ENOMEM, errors of the store and of the file
 * Why from coarse to fine: the page draws coarse levels first, so they come first in the file. If
 *           the file would be too large, its end is left out: the finest levels of the largest
 *           tracks. The coarsest levels of all tracks form the first section.
 */
#include "page/view/sections.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "page/view/tracks.h"

#define SECTION_BYTES  ((size_t)1 << 20)
#define OVERVIEW_BYTES ((size_t)4 << 20)  /* max bytes of the overview section */
#define DEFLATE_LEVEL  4                  /* level 1 with 10^7 rows: 31 MB in 0.9 s */
#define BLOCK_BYTES    ((size_t)48 << 10) /* input per base64 call, a multiple of 3 */

/* The chunks of one level of one track. */
struct group {
	struct pyramid *pyramid;
	struct pyramid_level *level;
	size_t track;
	unsigned int index; /* index of the level */
	bool is_overview;
	uint64_t bytes; /* size in the file */
};

void view_sections_init(struct view_sections *sections, const struct view_store *store,
			uint64_t most)
{
	*sections = (struct view_sections){.store = store, .prefix = "", .most = most};
}

void view_sections_fini(struct view_sections *sections)
{
	if (!sections)
		return;
	free(sections->sections);
	free(sections->pieces);
	free(sections->buffer.bytes);
	*sections = (struct view_sections){0};
}

/* ---- base64 ---- */

static uint64_t encoded_size(uint64_t size)
{
	return (size + 2) / 3 * 4;
}

static size_t encode_base64(const uint8_t *bytes, size_t size, char *to)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = to;

	for (size_t i = 0; i < size; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;

		three |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
		three |= i + 2 < size ? bytes[i + 2] : 0;
		*at++ = digits[three >> 18];
		*at++ = digits[three >> 12 & 63];
		*at++ = digits[three >> 6 & 63];
		*at++ = digits[three & 63];
	}
	if (size % 3)
		at[-1] = '=';
	if (size % 3 == 1)
		at[-2] = '=';
	return (size_t)(at - to);
}

static void write_element(const char *id, const uint8_t *bytes, size_t size, FILE *file)
{
	char block[BLOCK_BYTES / 3 * 4];

	fprintf(file, "<script type=\"text/plain\" id=\"%s\">", id);
	for (size_t i = 0; i < size; i += BLOCK_BYTES) {
		size_t part = size - i < BLOCK_BYTES ? size - i : BLOCK_BYTES;

		fwrite(block, 1, encode_base64(bytes + i, part, block), file);
	}
	fputs("</script>\n", file);
}

static int end_stream(struct view_bytes *bytes)
{
	if (array_grow(bytes->bytes, bytes->capacity, bytes->size + sizeof(VIEW_DEFLATE_END)))
		return -ENOMEM;
	memcpy(bytes->bytes + bytes->size, VIEW_DEFLATE_END, sizeof(VIEW_DEFLATE_END));
	bytes->size += sizeof(VIEW_DEFLATE_END);
	return 0;
}

int view_sections_write_bytes(struct view_deflater *deflater, const char *id, const void *bytes,
			      size_t size, FILE *file)
{
	struct view_bytes deflated = {0};
	int error =
		size ? view_deflater_add(deflater, DEFLATE_HINTS - 1, bytes, size, &deflated) : 0;

	if (!error)
		error = end_stream(&deflated);
	if (!error)
		write_element(id, deflated.bytes, deflated.size, file);
	free(deflated.bytes);
	return error ? error_set(error, "compress '%s': %s", id, strerror(-error)) : 0;
}

int view_sections_write(struct view_sections *sections, size_t index, FILE *file)
{
	const struct view_section *section = &sections->sections[index];
	struct view_bytes *buffer = &sections->buffer;
	char id[32];
	int error = 0;

	buffer->size = 0;
	for (size_t i = 0; i < section->count && !error; i++)
		error = view_store_read(sections->store, sections->pieces[section->first + i],
					buffer);
	if (!error)
		error = end_stream(buffer);
	snprintf(id, sizeof(id), "%ss%zu", sections->prefix, index + 1);
	if (!error)
		write_element(id, buffer->bytes, buffer->size, file);
	return error;
}

/* ---- sections ---- */

static int open_section(struct view_sections *sections)
{
	if (array_append(sections->sections, sections->capacity, sections->count,
			 (struct view_section){.first = sections->pieces_count}))
		return -ENOMEM;
	sections->is_open = true;
	return 0;
}

static int place_chunk(struct view_sections *sections, struct view_chunk *chunk, size_t most)
{
	struct view_section *section;
	int error = 0;

	if (sections->is_open &&
	    sections->sections[sections->count - 1].bytes + chunk->bytes > most)
		sections->is_open = false;
	if (!sections->is_open)
		error = open_section(sections);
	if (!error &&
	    array_grow(sections->pieces, sections->pieces_capacity, sections->pieces_count + 1))
		error = -ENOMEM;
	if (error)
		return error;
	section = &sections->sections[sections->count - 1];
	chunk->section = (uint32_t)sections->count;
	chunk->at = (uint32_t)section->bytes;
	section->bytes += chunk->bytes;
	section->count++;
	sections->pieces[sections->pieces_count++] = chunk->piece;
	return 0;
}

/* Leaves out a level. The finer levels of the track are then left out too. */
static void cut_level(struct view_sections *sections, struct group *group)
{
	sections->cut += !group->pyramid->is_cut;
	group->pyramid->is_cut = true;
	group->level->is_dropped = true;
	group->level->chunks_count = 0;
}

static int place_group(struct view_sections *sections, struct group *group)
{
	size_t most = group->is_overview ? OVERVIEW_BYTES : SECTION_BYTES;
	int error = 0;

	if (!group->is_overview &&
	    (group->pyramid->is_cut || sections->bytes + group->bytes > sections->most)) {
		cut_level(sections, group);
		return 0;
	}
	sections->bytes += group->bytes;
	for (size_t i = 0; i < group->level->chunks_count && !error; i++)
		error = place_chunk(sections, &group->level->chunks[i], most);
	return error;
}

/* ---- the order ---- */

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->is_overview != b->is_overview)
		return a->is_overview ? -1 : 1;
	if (!a->is_overview && a->index != b->index)
		return a->index > b->index ? -1 : 1;
	if (!a->is_overview && a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->track > b->track) - (a->track < b->track);
}

static int compare_chunks(const void *left, const void *right)
{
	const struct view_chunk *a = left, *b = right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static struct group *add_groups(struct group *group, struct pyramid *pyramid, size_t track,
				const struct view_store *store)
{
	bool is_first = true;

	for (unsigned int i = PYRAMID_LEVELS; i-- > 0;) {
		struct pyramid_level *level = &pyramid->levels[i];

		if (level->is_dropped || !level->chunks_count)
			continue;
		*group = (struct group){.pyramid = pyramid,
					.level = level,
					.track = track,
					.index = i,
					.is_overview = is_first};
		for (size_t j = 0; j < level->chunks_count; j++)
			group->bytes +=
				encoded_size(view_store_size(store, level->chunks[j].piece));
		qsort(level->chunks, level->chunks_count, sizeof(*level->chunks), compare_chunks);
		is_first = false;
		group++;
	}
	return group;
}

static int pack_groups(struct view_sections *sections, struct group *groups, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (i && groups[i - 1].is_overview && !groups[i].is_overview)
			sections->is_open = false;
		error = place_group(sections, &groups[i]);
	}
	return error;
}

int view_sections_pack(struct view_sections *sections, struct view_tracks *tracks)
{
	auto_free struct group *groups =
		calloc(tracks->count * PYRAMID_LEVELS + 1, sizeof(*groups));
	struct group *end = groups;

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < tracks->count; i++)
		end = add_groups(end, &tracks->all[i]->pyramid, i, sections->store);
	qsort(groups, (size_t)(end - groups), sizeof(*groups), compare_groups);
	return pack_groups(sections, groups, (size_t)(end - groups));
}
