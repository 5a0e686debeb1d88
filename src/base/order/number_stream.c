/* SPDX-License-Identifier: MIT
 *
 * base/order/number_stream.c - sorted records that belong to some of the events of a file
 *
 * Runs in:  our own process
 * Gets:     a finished sort
 * Gives:    the record of an event
 * Owns:     nothing
 * Fails:    as record_sort_next
 */
#include "base/order/number_stream.h"

#include <stddef.h>

#include "base/order/record_sort.h"

int number_stream_compare(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool is_behind(const struct number_stream *stream, uint32_t number)
{
	return !stream->has_begun || (stream->next && *(const uint32_t *)stream->next < number);
}

int number_stream_find(struct number_stream *stream, uint32_t number, const void **ret_record)
{
	int error = 0;

	*ret_record = NULL;
	while (!error && is_behind(stream, number)) {
		stream->has_begun = true;
		error = record_sort_next(stream->sort, &stream->next);
	}
	if (!error && stream->next && *(const uint32_t *)stream->next == number)
		*ret_record = stream->next;
	return error;
}
