/* SPDX-License-Identifier: MIT
 *
 * event/absent_call.h - the function of a launch that an importer added to a command without a call
 */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Neither the thread of such a launch nor its times say anything. */
#define ABSENT_CALL  "(not in the file)"
/* A migration of managed memory, which no call launches. Its thread makes most calls of the
 * process. */
#define MANAGED_CALL "(unified memory)"

static inline bool is_call_added(const char *function)
{
	return strcmp(function, ABSENT_CALL) == 0 || strcmp(function, MANAGED_CALL) == 0;
}
