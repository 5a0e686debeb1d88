/* SPDX-License-Identifier: MIT
 *
 * base/error.h - a chain of causes per thread
 *
 * The failing place starts the chain with error_set, layers above may add a line with error_note,
 * and whoever handles the failure reads and clears it. Only cli/ prints.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

/* Starts a new chain and returns code, which is a negative errno:
 *	return error_set(-ENOENT, "open '%s': no such file", path); */
__attribute__((format(printf, 2, 3))) int error_set(int code, const char *format, ...);

/* Adds an outer cause and returns code: "record: open 'x': no such file". */
__attribute__((format(printf, 2, 3))) int error_note(int code, const char *format, ...);

/* The chain, outermost first, joined by ": "; "" where there is none. Valid until the next call. */
const char *error_text(void);

void error_clear(void);

/* The containers of base/ and whoever fails with -ENOMEM say here that an allocation failed. It is kept until the process
 * ends: code that prints or draws may go on without what was missing, and must not end as if nothing were. Returns -ENOMEM. */
int error_no_memory(void);
bool error_had_no_memory(void);
void error_forget_memory(void); /* before another verb runs in the process */

#endif
