/* SPDX-License-Identifier: MIT
 *
 * page/view/store.h - compressed pieces of the output, in a temporary file until their places in
 * the output are known
 *
 * 	view_store_begin(store, &bytes);
 * 	… fill bytes …
 * 	view_store_end(store, hint, &id);
 * 	view_store_finish(store);
 * 	view_store_read(store, id, &bytes);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "page/view/deflate.h"

struct view_store;

/* Creates the temporary file in the folder of `beside`, the output; NULL: in $TMPDIR. Errors:
 * -ENOMEM, -errno with a text. */
int view_store_new(const char *beside, struct view_store **ret_store);
void view_store_free(struct view_store *store); /* NULL-safe */

/* Forgets all pieces. */
int view_store_clear(struct view_store *store);

/* Returns an empty buffer for the next piece. */
struct view_bytes *view_store_begin(struct view_store *store);
/* Passes the filled buffer to the store. hint: see page/view/deflate.h; ids count from 0. Errors:
 * those of this or an earlier piece, -errno with a text ("no space left"). */
int view_store_end(struct view_store *store, unsigned int hint, uint32_t *ret_id);

/* Waits until all pieces are compressed and written. Until the next piece they can be read. */
int view_store_finish(struct view_store *store);
/* Compressed size of a piece. */
uint32_t view_store_size(const struct view_store *store, uint32_t id);
/* Appends a piece, which is part of a deflate stream. */
int view_store_read(const struct view_store *store, uint32_t id, struct view_bytes *to);
