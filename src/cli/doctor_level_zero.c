/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_level_zero.c - what recordings of Level Zero need of this machine
 *
 * Runs in:  our own process; the loader is loaded in a child (cli/probe.c)
 * Gets:     the machine, or the tree below a root   Gives: checks
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why:      the loader is not needed: programs may bring their own. Its drivers are looked for by the device alone, since
 *           one that starts would open it.
 */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/guest_path.h"
#include "cli/probe.h"
#include "collect/level_zero/ways.h"

#define LOADER     "libze_loader.so.1"
#define LOADER_FIX "apt-get install libze1"

static void check_device(struct doctor_collector *collector, const char *root)
{
	if (level_zero_has_device(root))
		doctor_add(collector, "device", true, true, NULL,
			   "the kernel has a GPU of Intel (/dev/dri)");
	else
		doctor_add(collector, "device", false, true, NULL,
			   "no GPU of Intel: the kernel's drivers i915 and xe have none in "
			   "/dev/dri");
}

static void check_loader(struct doctor_collector *collector, const char *root)
{
	struct probe_result loader = {.ok = false, .text = "no " LOADER};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/usr/lib/x86_64-linux-gnu/" LOADER, root);
	if (!*root)
		probe_library(LOADER, &loader);
	else if (access(path, R_OK) == 0)
		probe_library(path, &loader);
	if (loader.ok)
		doctor_add(collector, "loader", true, false, NULL, "%s", loader.text);
	else
		doctor_add(collector, "loader", false, false, LOADER_FIX,
			   "the loader " LOADER " (Debian package libze1) cannot be loaded: %s; "
			   "programs may bring their own",
			   loader.text);
}

/* The guest stands where one of the loader's layers does, and takes none away. */
static void check_environment(struct doctor_collector *collector)
{
	bool has_validation = level_zero_is_taken(LEVEL_ZERO_VALIDATION);
	bool has_tracing = level_zero_is_taken(LEVEL_ZERO_TRACING);

	if (has_validation && has_tracing)
		doctor_add(collector, "environment", false, false,
			   "unset " LEVEL_ZERO_VALIDATION " or " LEVEL_ZERO_TRACING,
			   LEVEL_ZERO_VALIDATION " and " LEVEL_ZERO_TRACING
						 " are both set: there is no layer left for the "
						 "guest to be");
	else if (has_validation)
		doctor_add(collector, "environment", true, false, NULL,
			   LEVEL_ZERO_VALIDATION " is set and kept: the guest is the tracing "
						 "layer");
}

void doctor_examine_level_zero(struct doctor_collector *collector, const char *root)
{
	collector->name = "level_zero";
	check_device(collector, root);
	check_loader(collector, root);
	doctor_check_guest(collector, GUEST_NAME_LEVEL_ZERO,
			   "; knows loaders of Level Zero 1.0 to 1.17; not run on hardware");
	check_environment(collector);
}
