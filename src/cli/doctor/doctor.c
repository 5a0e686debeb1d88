/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/doctor.c - add checks to a collector in the output of `duet doctor`
 *
 * Runs in:  our own process
 * Gets:     results of checks
 * Gives:    rows of a collector
 * Owns:     nothing
 * Fails:    never; checks above MAX_DOCTOR_CHECKS are left out
 */
#include "cli/doctor/doctor.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/guest_path.h"

#define REBUILD_FIX "make"

void doctor_add(struct doctor_collector *collector, const char *name, bool ok, bool needed,
		const char *fix, const char *format, ...)
{
	struct doctor_check *check;
	va_list arguments;

	if (collector->check_count == MAX_DOCTOR_CHECKS)
		return;
	check = &collector->checks[collector->check_count++];
	check->name = name;
	check->ok = ok;
	check->needed = needed;
	check->fix = ok ? NULL : fix;
	va_start(arguments, format);
	vsnprintf(check->text, sizeof(check->text), format, arguments);
	va_end(arguments);
}

void doctor_check_guest(struct doctor_collector *collector, const char *name, const char *knows)
{
	char path[PATH_MAX];

	if (guest_path(name, path))
		doctor_add(collector, "guest", true, true, NULL, "%s%s", path, knows);
	else
		doctor_add(
			collector, "guest", false, true, REBUILD_FIX,
			"%s is missing beside duet and in ../lib/duet; build it in duet's source "
			"tree",
			name);
}
