/* SPDX-License-Identifier: MIT
 *
 * base/order/record_sort.h - sort records of one size, more than fit into memory
 */
#pragma once

#include <stddef.h>

struct record_sort;

typedef int record_compare(const void *left, const void *right); /* as for qsort */

/* Errors: -ENOMEM. */
int record_sort_new(size_t record_bytes, record_compare *compare, struct record_sort **ret_sort);
void record_sort_free(struct record_sort *sort); /* NULL-safe */

/* Copies a record. Errors: -ENOMEM, -errno of the temporary file with a text. */
int record_sort_add(struct record_sort *sort, const void *record);

/* Ends the input. To be called before the first next; the same errors. */
int record_sort_finish(struct record_sort *sort);

/* The next record in order, valid until the next call; NULL after the last. Records that compare
 * equal come in the order in which they were added. Errors: as for add. */
int record_sort_next(struct record_sort *sort, const void **ret_record);
