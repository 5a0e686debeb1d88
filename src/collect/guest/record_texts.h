/* SPDX-License-Identifier: MIT
 *
 * collect/guest/record_texts.h - texts in a guest's record, whose bytes may be anything
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "event/record.h"

/* Finds the texts between a record's fixed part and its last bytes. Each of the `count` texts must
 * end with NUL there. */
static inline bool record_texts(const struct record *record, size_t fixed, size_t last,
				const char **ret, size_t count)
{
	const char *at = (const char *)record + fixed;
	const char *end = (const char *)record + record->size - last;

	for (size_t i = 0; i < count; i++) {
		const char *stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

		if (!stop)
			return false;
		ret[i] = at;
		at = stop + 1;
	}
	return true;
}
