/* SPDX-License-Identifier: MIT
 *
 * cli/compare/series.h - duet diff --series: the history of a program
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cli_command;

struct series_request {
	const char *device, *range, *map, *html; /* NULL: not given */
	double alpha;
	uint64_t top;
	bool is_per_iteration, is_json;
};

/* operands: recordings and folders of recordings. Returns a status; messages are printed. */
int series_run(const struct cli_command *command, const struct series_request *request,
	       const char *const *operands, int count);
