/* SPDX-License-Identifier: MIT
 *
 * import/common/collectives.c - names of collective operations, and their numbers in communicators
 *
 * Runs in:  our own process
 * Gets:     rows of collectives in any order
 * Gives:    the rows with their sequence; names
 * Owns:     a sorter
 * Fails:    -ENOMEM, -errno of a temporary file or a write
 * Why counted: all ranks of a communicator issue their operations in one order, so the nth
 * operation of each rank is the same one. PyTorch writes the number since 2.4 only.
 */
#include "import/common/collectives.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/order/record_sort.h"
#include "import/target.h"

struct import_sequences {
	struct record_sort *rows;
	struct hash_map breaks; /* process -> begin of its first row of an unknown communicator */
};

static int compare_rows(const void *left, const void *right)
{
	const struct event_collective *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->communicator_string != b->communicator_string)
		return a->communicator_string < b->communicator_string ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

int import_sequences_new(struct import_sequences **ret_sequences)
{
	struct import_sequences *sequences = calloc(1, sizeof(*sequences));

	if (!sequences)
		return -ENOMEM;
	if (record_sort_new(sizeof(struct event_collective), compare_rows, &sequences->rows)) {
		import_sequences_free(sequences);
		return -ENOMEM;
	}
	*ret_sequences = sequences;
	return 0;
}

void import_sequences_free(struct import_sequences *sequences)
{
	if (!sequences)
		return;
	record_sort_free(sequences->rows);
	hash_map_fini(&sequences->breaks);
	free(sequences);
}

int import_sequences_add(struct import_sequences *sequences, const struct event_collective *row)
{
	return record_sort_add(sequences->rows, row);
}

int import_sequences_break(struct import_sequences *sequences, const struct event_collective *row)
{
	const uint64_t first = hash_map_get(&sequences->breaks, row->process, UINT64_MAX);

	return row->begin < first ? hash_map_put(&sequences->breaks, row->process, row->begin) : 0;
}

int import_sequences_write(struct import_sequences *sequences, struct import_target *target)
{
	struct event_collective last = {0};
	const void *record;
	int error = record_sort_finish(sequences->rows);

	while (!error && !(error = record_sort_next(sequences->rows, &record)) && record) {
		struct event_collective row = *(const struct event_collective *)record;

		if (row.process != last.process ||
		    row.communicator_string != last.communicator_string)
			last = (struct event_collective){.process = row.process,
							 .communicator_string =
								 row.communicator_string};
		if (!row.sequence &&
		    row.begin < hash_map_get(&sequences->breaks, row.process, UINT64_MAX)) {
			row.sequence = ++last.sequence;
			row.flags |= COLLECTIVE_COUNTED;
		}
		error = import_target_collective(target, &row);
	}
	return error;
}

/* ---- names ---- */

const char *import_collective_of_kernel(const char *kernel, size_t *ret_length)
{
	static const char *const prefixes[] = {"ncclKernel_", "ncclDevKernel_",
					       "ncclSymkDevKernel_", "rcclKernel_",
					       "ncclSymDevKernel_"};

	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
		const char *at = strncmp(kernel, prefixes[i], strlen(prefixes[i])) == 0
					 ? kernel + strlen(prefixes[i])
					 : NULL;

		if (!at)
			continue;
		*ret_length = 0;
		while (isalpha((unsigned char)at[*ret_length]))
			++*ret_length;
		if (strncmp(at, "Generic", *ret_length) == 0)
			*ret_length = 0;
		return at;
	}
	return NULL;
}

int import_collective_name(struct import_target *target, const char *name, size_t length,
			   uint32_t *ret_string)
{
	char text[64];
	size_t used = 0;

	for (size_t i = 0; i < length && used < sizeof(text); i++)
		if (name[i] != '_')
			text[used++] = (char)tolower((unsigned char)name[i]);
	return import_target_bytes(target, text, used, ret_string);
}

int import_collective_of_all(struct import_target *target, const char *kernel, uint32_t *ret_string)
{
	return import_target_bytes(target, kernel, strcspn(kernel, "(<"), ret_string);
}
