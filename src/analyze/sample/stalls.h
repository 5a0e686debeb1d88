/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/stalls.h - meaning and usual remedy of each stall reason of a device instruction
 */
#pragma once

#include <stddef.h>

struct stall_reason {
	const char *name;   /* as in instruction samples */
	const char *vendor; /* vendor of the devices that report it: "Intel", "AMD", "NVIDIA" */
	/* One sentence each, without the full stop. */
	const char *meaning;
	const char *remedy;
};

/* In the order of display. */
extern const struct stall_reason stall_reasons[];
extern const size_t stall_reasons_count;

/* The reason with this name; NULL: unknown. */
const struct stall_reason *stall_reason_find(const char *name);
