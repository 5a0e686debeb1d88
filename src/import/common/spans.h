/* SPDX-License-Identifier: MIT
 *
 * import/common/spans.h - the time span of each file of an import
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct import_notes;

struct import_span {
	uint64_t begin_ns, end_ns;
	size_t file; /* its index */
};

struct import_spans {
	struct import_span *items;
	size_t count, capacity;
};

void import_spans_fini(struct import_spans *spans);

/* Later rows are those of the next file. Errors: -ENOMEM. */
int import_spans_begin_file(struct import_spans *spans);
/* Adds the times of a row. */
void import_spans_add(struct import_spans *spans, uint64_t begin_ns, uint64_t end_ns);

/* Checks that no gap between the files is above a day; sorts the spans. Errors: -ENODATA with a
 * text that names the two files. */
int import_spans_check(struct import_spans *spans, const struct import_notes *notes);
