/* SPDX-License-Identifier: MIT
 *
 * cli/view/pair.h - duet view --diff: one page with two runs
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cli_command;

/* Bytes of events: the page with its heads and names stays below 256 MiB. */
#define VIEW_MAX_BYTES ((uint64_t)240 << 20)

struct view_pair_request {
	const char *base, *changed; /* traces */
	const char *output;         /* NULL: stdout */
	const char *title, *map;    /* NULL: not given */
	bool full_names, is_forced;
};

/* Returns a status; messages are printed. */
int view_pair_show(const struct cli_command *command, const struct view_pair_request *request);
