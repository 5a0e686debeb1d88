/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v3_strings.h - the names of rocprofv3's JSON: kinds and operations of records,
 * texts of markers, counters
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct json_reader;

/* All zero: empty. */
struct v3_strings {
	struct string_table texts;
	/* ids in texts: by kind << 32 | operation + 1, and operation 0 for the kind itself; by
	 * correlation; by counter */
	struct hash_map operations, markers, counters;
	uint64_t kinds;
	bool is_read;
};

void v3_strings_fini(struct v3_strings *strings);

/* Read the values of the members "strings" and "counters" after their first token. Errors: those of
 * the reader, -ENOMEM. */
int v3_strings_read(struct v3_strings *strings, struct json_reader *reader);
int v3_strings_read_counters(struct v3_strings *strings, struct json_reader *reader);

/* "" if the file has none. */
const char *v3_strings_kind(const struct v3_strings *strings, uint64_t kind);
const char *v3_strings_operation(const struct v3_strings *strings, uint64_t kind,
				 uint64_t operation);
const char *v3_strings_marker(const struct v3_strings *strings, uint64_t correlation);
const char *v3_strings_counter(const struct v3_strings *strings, uint64_t counter);
