/* SPDX-License-Identifier: MIT
 *
 * base/order/spill_sort.h - sort any number of rows in a fixed amount of memory
 *
 *	spill_sort_add(sort, &row);	for each row
 *	while ((status = spill_sort_next(sort, &row)) > 0)
 *		...
 */
#pragma once

#include <stddef.h>

#include "base/order/key_sort.h"

struct spill_sort;

/* Sets the words of a row's key. */
typedef void spill_sort_key(const void *row, struct sort_key *ret_key);

/* memory_bytes: limit of the rows in memory; further rows go to a temporary file. Errors: -ENOMEM.
 */
int spill_sort_new(size_t row_bytes, size_t memory_bytes, spill_sort_key *key,
		   struct spill_sort **ret_sort);
void spill_sort_free(struct spill_sort *sort); /* NULL-safe */

/* Errors: -ENOMEM, -errno of the temporary file with a text. */
int spill_sort_add(struct spill_sort *sort, const void *row);

/* Copies the next row in the order of the keys; rows with equal keys come in the order of their
 * spill_sort_add. No row may be added after the first call. Returns 1 for a row, 0 at the end,
 * -errno as above. */
int spill_sort_next(struct spill_sort *sort, void *ret_row);
