/* SPDX-License-Identifier: MIT
 *
 * cli/compare/pair.h - read both sides of a comparison, and choose runs or iterations
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/compare/sides.h"

enum compare_unit {
	COMPARE_PER_BEST, /* runs, or iterations if the sides did not do equally much work */
	COMPARE_PER_RUN,
	COMPARE_PER_ITERATION
};

struct compare_pair {
	struct compare_sides base, changed;
	bool is_per_iteration;
};

/* Reads both sides; request->range is replaced if iterations are compared. Returns a status, as
 * compare_sides_read. */
int compare_pair_read(const struct cli_command *command, const struct compare_files *files,
		      const struct sides_request *request, enum compare_unit unit,
		      struct compare_pair *ret_pair);
void compare_pair_fini(struct compare_pair *pair); /* NULL-safe */
