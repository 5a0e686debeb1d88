/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_level_zero.c - what recordings of Level Zero need of this machine
 *
 * Runs in:  our own process; the loader is loaded in a child (cli/probe.c)
 * Gets:     the machine, or the tree below a root   Gives: checks
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why:      loader and driver are not needed: programs may bring their own. A driver is loaded, as its package is looked
 *           for, and not started, since one that starts would open the device.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/doctor.h"
#include "cli/guest_path.h"
#include "cli/probe.h"
#include "collect/level_zero/ways.h"

#define LOADER     "libze_loader.so.1"
#define LOADER_FIX "apt-get install libze1"
#define DRIVERS    "ZE_ENABLE_ALT_DRIVERS" /* names drivers, of which the loader takes no others */
#define DRIVER_FIX "apt-get install libze-intel-gpu1"

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

/* Below a root where Debian has it. */
static void look_for(const char *root, const char *library, struct probe_result *ret_result)
{
	char path[PATH_MAX];

	*ret_result = (struct probe_result){.ok = false};
	snprintf(ret_result->text, sizeof(ret_result->text), "no %s", library);
	snprintf(path, sizeof(path), "%s/usr/lib/x86_64-linux-gnu/%s", root, library);
	if (!*root)
		probe_library(library, ret_result);
	else if (access(path, R_OK) == 0)
		probe_library(path, ret_result);
}

static void check_loader(struct doctor_collector *collector, const char *root)
{
	struct probe_result loader;

	look_for(root, LOADER, &loader);
	if (loader.ok)
		doctor_add(collector, "loader", true, false, NULL, "%s", loader.text);
	else
		doctor_add(collector, "loader", false, false, LOADER_FIX,
			   "the loader " LOADER " (Debian package libze1) cannot be loaded: %s; "
			   "programs may bring their own",
			   loader.text);
}

/* Of all GPUs, and of those before Xe that newer releases keep apart. */
static void check_driver(struct doctor_collector *collector, const char *root)
{
	static const char *const drivers[] = {"libze_intel_gpu.so.1",
					      "libze_intel_gpu_legacy1.so.1"};
	const char *named = getenv(DRIVERS);
	struct probe_result driver, first;

	if (named && *named) {
		doctor_add(collector, "driver", true, false, NULL,
			   DRIVERS "=%s chooses the loader's drivers", named);
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(drivers); i++) {
		look_for(root, drivers[i], &driver);
		if (driver.ok) {
			doctor_add(collector, "driver", true, false, NULL, "%s", driver.text);
			return;
		}
		if (!i)
			first = driver;
	}
	doctor_add(collector, "driver", false, false, DRIVER_FIX,
		   "the driver %s (package libze-intel-gpu1, a newer Debian's or Intel's own) "
		   "cannot be loaded: %s; programs may bring their own",
		   drivers[0], first.text);
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
	check_driver(collector, root);
	doctor_check_guest(collector, GUEST_NAME_LEVEL_ZERO,
			   "; knows loaders of Level Zero 1.0 to 1.17; not run on hardware");
	check_environment(collector);
}
