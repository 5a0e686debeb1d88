/* SPDX-License-Identifier: MIT
 *
 * cli/compare/pair.c - reads both sides of a comparison
 *
 * Runs in:  our own process
 * Gets:     the files of both sides
 * Gives:    their summaries, of whole runs or of their iterations
 * Owns:     the summaries
 * Fails:    with the statuses of compare_sides_read
 * Why it may read twice: the number of iterations is known after the analysis. Recordings of a time
 *           window have more iterations if these are faster, and whole runs then show the opposite
 *           of the truth.
 */
#include "cli/compare/pair.h"

#include <math.h>

#include "cli/command.h"

enum { OTHER_WORK = 5 /* percent */ };

/* Whether the numbers of iterations differ by more than OTHER_WORK percent. */
static bool did_other_work(const struct compare_pair *pair)
{
	const double before = compare_sides_iterations(&pair->base),
		     after = compare_sides_iterations(&pair->changed);

	return before > 0 && after > 0 &&
	       fabs(after - before) * 100 > OTHER_WORK * fmin(before, after);
}

static int read_both(const struct cli_command *command, const struct compare_files *files,
		     struct sides_request request, struct compare_pair *pair)
{
	int status;

	if (pair->is_per_iteration)
		request.range = "iteration";
	status = compare_sides_read(command, files->base, files->base_count, &request, &pair->base);
	if (status == STATUS_DONE)
		status = compare_sides_read(command, files->changed, files->changed_count, &request,
					    &pair->changed);
	return status;
}

int compare_pair_read(const struct cli_command *command, const struct compare_files *files,
		      const struct sides_request *request, enum compare_unit unit,
		      struct compare_pair *ret_pair)
{
	int status;

	*ret_pair = (struct compare_pair){.is_per_iteration = unit == COMPARE_PER_ITERATION};
	status = read_both(command, files, *request, ret_pair);
	if (status != STATUS_DONE || unit != COMPARE_PER_BEST || request->range ||
	    !did_other_work(ret_pair))
		return status;
	compare_pair_fini(ret_pair);
	*ret_pair = (struct compare_pair){.is_per_iteration = true};
	return read_both(command, files, *request, ret_pair);
}

void compare_pair_fini(struct compare_pair *pair)
{
	if (!pair)
		return;
	compare_sides_fini(&pair->base);
	compare_sides_fini(&pair->changed);
}
