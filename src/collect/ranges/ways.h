/* SPDX-License-Identifier: MIT
 *
 * collect/ranges/ways.h - how the ranges guest comes into a program
 */
#ifndef COLLECT_RANGES_WAYS_H
#define COLLECT_RANGES_WAYS_H

#include <stdbool.h>

#include "collect/session.h"

struct ranges_ways {
	/* Loaded by the interface itself, once a program uses it … */
	bool nvtx, itt;
	/* … unless the user has a tool of their own there, which is kept: its path; NULL: none. */
	const char *nvtx_taken, *itt_taken;
	/* For roctx the guest must be there before the program. */
	bool preload;
	const char *why_no_preload; /* NULL: it is, or there is no roctx on this machine */
};

#define RANGES_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define RANGES_ITT_VARIABLE  "INTEL_LIBITTNOTIFY64"

/* Whether this machine has ROCm's library, or a device that it is for. */
bool ranges_has_roctx(void);

/* Of the program of a session. False: none; *ret_why says why. */
bool ranges_ways_find(const struct session_options *session, struct ranges_ways *ret_ways,
		      const char **ret_why);

#endif
