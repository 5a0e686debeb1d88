/* SPDX-License-Identifier: MIT
 *
 * export/common/multi_stream.h - build many streams at the same time in one temporary file, to be
 * written one after the other
 *
 * The streams are in one unnamed temporary file, so memory does not grow with their content.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct spool;

/* Errors: -errno of the temporary file, with a text; -ENOMEM. */
int spool_new(struct spool **ret_spool);
void spool_free(struct spool *spool); /* NULL-safe */

/* Streams are identified by numbers from 0 on. */
int spool_write(struct spool *spool, size_t stream, const void *bytes, size_t size);

/* Whether the stream has no bytes. */
bool spool_is_empty(const struct spool *spool, size_t stream);

/* Copies a whole stream to out; the stream may be empty. */
int spool_copy(struct spool *spool, size_t stream, FILE *out);
