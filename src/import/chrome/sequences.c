/* SPDX-License-Identifier: MIT
 *
 * import/chrome/sequences.c - the numbers of collective operations in their communicators
 *
 * Runs in:  our own process
 * Gets:     rows of collectives in any order
 * Gives:    the rows with their sequence
 * Owns:     a sorter
 * Fails:    -ENOMEM, -errno of a temporary file or a write
 * Why counted: all ranks of a communicator issue their operations in one order, so the nth
 * operation of each rank is the same one. PyTorch writes the number since 2.4 only.
 */
#include "import/chrome/sequences.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order/record_sort.h"
#include "import/target.h"

struct chrome_sequences {
	struct record_sort *rows;
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

int chrome_sequences_new(struct chrome_sequences **ret_sequences)
{
	struct chrome_sequences *sequences = calloc(1, sizeof(*sequences));

	if (!sequences)
		return -ENOMEM;
	if (record_sort_new(sizeof(struct event_collective), compare_rows, &sequences->rows)) {
		chrome_sequences_free(sequences);
		return -ENOMEM;
	}
	*ret_sequences = sequences;
	return 0;
}

void chrome_sequences_free(struct chrome_sequences *sequences)
{
	if (!sequences)
		return;
	record_sort_free(sequences->rows);
	free(sequences);
}

int chrome_sequences_add(struct chrome_sequences *sequences, const struct event_collective *row)
{
	return record_sort_add(sequences->rows, row);
}

int chrome_sequences_write(struct chrome_sequences *sequences, struct import_target *target)
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
		if (!row.sequence) {
			row.sequence = ++last.sequence;
			row.flags |= COLLECTIVE_COUNTED;
		}
		error = import_target_collective(target, &row);
	}
	return error;
}
