/* SPDX-License-Identifier: MIT
 *
 * import/common/spans.c - the time span of each file of an import
 *
 * Runs in:  our own process
 * Gets:     times of rows
 * Gives:    an error if the files lie far apart
 * Owns:     a span for each file
 * Fails:    -ENOMEM, -ENODATA
 * Why a day: files of one job overlap. Clocks of hosts that are not synchronized differ by seconds
 *           to hours, and files of two jobs usually by more
 */
#include "import/common/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "import/common/notes.h"

#define GAP_MAX_NS UINT64_C(86400000000000)

void import_spans_fini(struct import_spans *spans)
{
	free(spans->items);
	*spans = (struct import_spans){0};
}

int import_spans_begin_file(struct import_spans *spans)
{
	const struct import_span span = {UINT64_MAX, 0, spans->count};

	return array_append(spans->items, spans->capacity, spans->count, span);
}

void import_spans_add(struct import_spans *spans, uint64_t begin_ns, uint64_t end_ns)
{
	struct import_span *span = spans->count ? &spans->items[spans->count - 1] : NULL;

	if (!span)
		return;
	span->begin_ns = begin_ns < span->begin_ns ? begin_ns : span->begin_ns;
	span->end_ns = end_ns > span->end_ns ? end_ns : span->end_ns;
}

static int compare_spans(const void *left, const void *right)
{
	const struct import_span *a = left, *b = right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int fail_apart(const struct import_notes *notes, const struct import_span *before,
		      const struct import_span *after)
{
	return error_set(-ENODATA,
			 "'%s' begins %.1f days after the end of '%s', so the files are not those "
			 "of one job; import them one by one",
			 import_notes_path(notes, after->file),
			 (double)(after->begin_ns - before->end_ns) / (double)GAP_MAX_NS,
			 import_notes_path(notes, before->file));
}

int import_spans_check(struct import_spans *spans, const struct import_notes *notes)
{
	const struct import_span *latest = spans->items;

	if (spans->count < 2)
		return 0;
	qsort(spans->items, spans->count, sizeof(*spans->items), compare_spans);
	for (size_t i = 1; i < spans->count; i++) {
		const struct import_span *span = &spans->items[i];

		if (span->begin_ns == UINT64_MAX) /* no rows */
			break;
		if (span->begin_ns > latest->end_ns && span->begin_ns - latest->end_ns > GAP_MAX_NS)
			return fail_apart(notes, latest, span);
		latest = span->end_ns > latest->end_ns ? span : latest;
	}
	return 0;
}
