/* SPDX-License-Identifier: MIT
 *
 * base/error.h - a chain of causes per thread
 *
 * The failing function starts the chain with error_set, and its callers may add outer causes with
 * error_note. The function that handles the failure reads and clears the chain. Only cli/ prints
 * it.
 */
#pragma once

#include <stdbool.h>

/* Starts a new chain and returns code, which is a negative errno:
 *	return error_set(-ENOENT, "open '%s': no such file", path); */
__attribute__((format(printf, 2, 3))) int error_set(int code, const char *format, ...);

/* Adds an outer cause and returns code: "record: open 'x': no such file". */
__attribute__((format(printf, 2, 3))) int error_note(int code, const char *format, ...);

/* The chain, outermost first, joined by ": "; "" if it is empty. Valid until the next call. */
const char *error_text(void);

void error_clear(void);

/* Records that an allocation failed; every function that fails with -ENOMEM calls it. The flag
 * stays until the process ends: code that prints or draws may continue without the missing part,
 * but must not end with success. Returns -ENOMEM. */
int error_no_memory(void);
bool error_had_no_memory(void);
void error_forget_memory(void); /* call it before another verb runs in the same process */
