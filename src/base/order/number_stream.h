/* SPDX-License-Identifier: MIT
 *
 * base/order/number_stream.h - sorted records that belong to some of the events of a file
 *
 * The first member of a record is the number of its event, uint32_t.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct record_sort;

struct number_stream {
	struct record_sort *sort; /* owned by the user of the stream */
	const void *next;         /* valid once has_begun; NULL: the end */
	bool has_begun;
};

int number_stream_compare(const void *left, const void *right);

/* *ret_record: the record with this number, valid until the next call; NULL: there is none. To be
 * called for rising numbers. Errors: as for record_sort_next. */
int number_stream_find(struct number_stream *stream, uint32_t number, const void **ret_record);
