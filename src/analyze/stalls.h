/* SPDX-License-Identifier: MIT
 *
 * analyze/stalls.h - why an instruction of a device waits: what each reason means, and what is usually done about it
 */
#ifndef ANALYZE_STALLS_H
#define ANALYZE_STALLS_H

#include <stddef.h>

struct stall_reason {
	const char *name;   /* as instruction samples have it */
	const char *vendor; /* of the devices that tell it: "Intel", "AMD" */
	/* A sentence each, without its full stop. */
	const char *meaning;
	const char *remedy;
};

/* In the order in which they are shown. */
extern const struct stall_reason stall_reasons[];
extern const size_t stall_reasons_count;

/* NULL: nobody knows it. */
const struct stall_reason *stall_reason_find(const char *name);

#endif
