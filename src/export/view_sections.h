/* SPDX-License-Identifier: MIT
 *
 * export/view_sections.h - which chunk of which track stands where in the file, and what is left out
 */
#ifndef EXPORT_VIEW_SECTIONS_H
#define EXPORT_VIEW_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "export/view_pyramid.h"
#include "export/view_store.h"

struct view_tracks;

/* Pieces of the store, one behind the other. */
struct view_section {
	size_t first, count; /* in the list of pieces */
	size_t bytes;        /* inflated */
	uint64_t deflated;
};

struct view_sections {
	const struct view_store *store; /* borrowed */
	struct view_section *sections;  /* [0] is s1 */
	size_t count, capacity;
	uint32_t *pieces;
	size_t pieces_count, pieces_capacity;
	bool is_open;         /* the last section may have more */
	uint64_t bytes, most; /* as they will stand in the file */
	size_t cut;           /* tracks that lack levels */
	struct view_bytes buffer;
};

/* most: bytes of base64 that all sections together may have. */
void view_sections_init(struct view_sections *sections, const struct view_store *store,
			uint64_t most);
void view_sections_fini(struct view_sections *sections); /* NULL-safe */

/* Places the chunks of finished tracks, the coarsest levels first. Levels that are too much are dropped. -ENOMEM,
 * errors of the store. */
int view_sections_pack(struct view_sections *sections, struct view_tracks *tracks);

/* An element of the page. -ENOMEM, -EIO. */
int view_sections_write(struct view_sections *sections, size_t index, FILE *file);
/* … of bytes that are not deflated yet. */
int view_sections_write_bytes(struct view_deflater *deflater, const char *id, const void *bytes,
			      size_t size, FILE *file);

#endif
