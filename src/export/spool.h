/* SPDX-License-Identifier: MIT
 *
 * export/spool.h - many streams that grow side by side, to be written one behind the other
 *
 * They lie in one temporary file without a name, so that memory does not grow with what is in them.
 */
#ifndef EXPORT_SPOOL_H
#define EXPORT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct spool;

/* Errors: -errno of the temporary file, with a text; -ENOMEM. */
int spool_new(struct spool **ret_spool);
void spool_free(struct spool *spool); /* NULL-safe */

/* Streams are numbers from 0 on. */
int spool_write(struct spool *spool, size_t stream, const void *bytes, size_t size);

/* Whether nothing was written to it. */
bool spool_is_empty(const struct spool *spool, size_t stream);

/* Everything of a stream, which may be empty or never written to. */
int spool_copy(struct spool *spool, size_t stream, FILE *out);

#endif
