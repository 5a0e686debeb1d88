/* SPDX-License-Identifier: MIT
 *
 * import/chrome/overheads.c - time that the driver and CUPTI took, in a PyTorch trace
 *
 * Runs in:  our own process
 * Gets:     slices of category "overhead", processes that make calls of a runtime
 * Gives:    ranges of domain CUPTI, as a recording of duet has them
 * Owns:     the ranges until the end of the file
 * Fails:    -ENOMEM
 * Why ranges: PyTorch writes these slices for the process -1 and thread 0. As calls they would be
 *           calls of a process that does not exist. They belong to the one process with calls of a
 *           runtime. If there are several, the file does not say which one.
 */
#include "import/chrome/overheads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "import/overhead.h"
#include "import/target.h"

void chrome_overheads_fini(struct chrome_overheads *overheads)
{
	free(overheads->list);
	*overheads = (struct chrome_overheads){0};
}

int chrome_overheads_add(struct chrome_overheads *overheads, struct import_target *target,
			 const char *name, const struct event_range *row)
{
	struct event_range range;
	int error = import_overhead_make(target, name, import_overhead_is_profiler(name),
					 row->begin, row->end, &range);

	range.process = row->process;
	range.thread = row->thread;
	return error ? error
		     : array_append(overheads->list, overheads->capacity, overheads->count, range);
}

void chrome_overheads_add_process(struct chrome_overheads *overheads, uint32_t process)
{
	overheads->has_more |= overheads->process && overheads->process != process;
	overheads->process = process;
}

int chrome_overheads_write(struct chrome_overheads *overheads, struct import_target *target)
{
	int error = 0;

	for (size_t i = 0; i < overheads->count && !error; i++) {
		if (!overheads->list[i].thread)
			overheads->list[i].process = overheads->has_more ? 0 : overheads->process;
		error = import_target_range(target, &overheads->list[i]);
	}
	return error;
}
