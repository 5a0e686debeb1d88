/* SPDX-License-Identifier: MIT
 *
 * page/view/sections.h - the order of the tracks' chunks in the file, and which chunks are left out
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "page/view/pyramid.h"
#include "page/view/store.h"

struct view_tracks;

/* A sequence of pieces of the store. */
struct view_section {
	size_t first, count; /* in the list of pieces */
	size_t bytes;        /* inflated */
	uint64_t deflated;
};

struct view_sections {
	const struct view_store *store; /* borrowed */
	const char *prefix;             /* for the elements' ids; borrowed */
	struct view_section *sections;  /* [0] is s1 */
	size_t count, capacity;
	uint32_t *pieces;
	size_t pieces_count, pieces_capacity;
	bool is_open;         /* the last section may get more pieces */
	uint64_t bytes, most; /* size in the file and its limit */
	size_t cut;           /* number of tracks with left-out levels */
	struct view_bytes buffer;
};

/* most: max bytes of base64 of all sections together. */
void view_sections_init(struct view_sections *sections, const struct view_store *store,
			uint64_t most);
void view_sections_fini(struct view_sections *sections); /* NULL-safe */

/* Places the chunks of finished tracks, the coarsest levels first. Drops levels that exceed the
 * limit. Errors: -ENOMEM, errors of the store. */
int view_sections_pack(struct view_sections *sections, struct view_tracks *tracks);

/* Writes a section as an element of the page. Errors: -ENOMEM, -EIO. */
int view_sections_write(struct view_sections *sections, size_t index, FILE *file);
/* Writes an element with bytes that are not deflated yet. */
int view_sections_write_bytes(struct view_deflater *deflater, const char *id, const void *bytes,
			      size_t size, FILE *file);
