/* SPDX-License-Identifier: MIT
 *
 * import/chrome/sequences.h - the numbers of collective operations in their communicators
 */
#pragma once

#include "event/event.h"

struct chrome_sequences;
struct import_target;

int chrome_sequences_new(struct chrome_sequences **ret_sequences);
void chrome_sequences_free(struct chrome_sequences *sequences); /* NULL-safe */

/* A row; its sequence is 0 if the file has none. Errors: as for record_sort_add. */
int chrome_sequences_add(struct chrome_sequences *sequences, const struct event_collective *row);

/* Writes all rows. A row without a sequence gets its number in the order of time among the rows of
 * its process and communicator, and the flag that says so. */
int chrome_sequences_write(struct chrome_sequences *sequences, struct import_target *target);
