/* SPDX-License-Identifier: MIT
 *
 * export/view_store.h - pieces of a file that are written before it is known where they stand in it: compressed, in a
 * file without a name
 *
 *	view_store_begin(store, &bytes);
 *	… fill bytes …
 *	view_store_end(store, hint, &id);
 *	view_store_finish(store);
 *	view_store_read(store, id, &bytes);
 */
#ifndef EXPORT_VIEW_STORE_H
#define EXPORT_VIEW_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "export/view_deflate.h"

struct view_store;

/* In the folder of `beside`, where the output has room too; NULL: in $TMPDIR. Errors: -ENOMEM, -errno with a text. */
int view_store_new(const char *beside, struct view_store **ret_store);
void view_store_free(struct view_store *store); /* NULL-safe */

/* Forgets all pieces. */
int view_store_clear(struct view_store *store);

/* An empty buffer for the next piece. */
struct view_bytes *view_store_begin(struct view_store *store);
/* It is full: the store's from now on. hint: see export/view_deflate.h; ids count from 0. Errors: of this piece or an
 * earlier one, -errno with a text ("no space left"). */
int view_store_end(struct view_store *store, unsigned int hint, uint32_t *ret_id);

/* All pieces are compressed and written; then, until the next one, they can be asked for. */
int view_store_finish(struct view_store *store);
/* Bytes of a piece, compressed. */
uint32_t view_store_size(const struct view_store *store, uint32_t id);
/* Appends a piece to bytes: of a deflate stream. */
int view_store_read(const struct view_store *store, uint32_t id, struct view_bytes *to);

#endif
