/* SPDX-License-Identifier: MIT
 *
 * import/faults.c - invalid parts of a foreign file: left out, counted and reported
 *
 * Runs in:  our own process
 * Gets:     errors with a message
 * Gives:    notes about the parts left out
 * Owns:     nothing
 * Fails:    -EBADMSG for a file without any readable part
 * Why neither an error nor silence: one broken line of 10^6 must not discard the other lines, and
 *           the user must learn of it
 */
#include "import/faults.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "import/source.h"
#include "import/target.h"

#define SHOWN_MAX 10

int import_faults_add(struct import_faults *faults, int error)
{
	if (error != -EBADMSG)
		return error;
	if (!faults->count)
		snprintf(faults->first, sizeof(faults->first), "%s", error_text());
	if (faults->count++ < SHOWN_MAX)
		import_target_fault(faults->target, "left out %s", error_text());
	error_clear();
	return 0;
}

int import_faults_add_unread(struct import_faults *faults, struct import_source *source, int error)
{
	auto_free char *text = strdup(error_text());
	int status = import_source_skip(source);

	if (status < 0)
		return status;
	if (text)
		error_set(error, "%s", text);
	return status ? import_faults_add(faults, error) : error;
}

int import_faults_end(struct import_faults *faults, uint64_t usable, const char *what)
{
	const uint64_t more = faults->count > SHOWN_MAX ? faults->count - SHOWN_MAX : 0;

	if (faults->count && !usable)
		return error_set(
			-EBADMSG,
			"the file has no valid %s: %" PRIu64 " %s %s invalid; the first: %s", what,
			faults->count, format_noun(faults->count, faults->unit, faults->units),
			faults->count == 1 ? "is" : "are", faults->first);
	if (more)
		import_target_fault(faults->target, "%" PRIu64 " more %s left out", more,
				    format_noun(more, faults->unit, faults->units));
	return 0;
}
