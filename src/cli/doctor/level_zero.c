/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/level_zero.c - check what recordings of Level Zero need
 *
 * Runs in:  our own process; loader and driver are loaded in a child (cli/doctor/probe.c)
 * Gets:     the machine, or another system's files below a root folder (DUET_DOCTOR_ROOT); the
 *           environment variables of the loader
 * Gives:    checks
 * Owns:     nothing
 * Fails:    never; a missing part is a result
 * Why:      loader and driver are optional, because programs may bring their own. The driver's
 *           library is loaded but not initialised, because initialising would open the device.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/probe.h"
#include "collect/level_zero/ways.h"

#define LOADER     "libze_loader.so.1"
#define LOADER_FIX "apt-get install libze1"
#define DRIVERS    "ZE_ENABLE_ALT_DRIVERS" /* list of drivers; if set, the loader uses only these */
#define DRIVER_FIX "apt-get install libze-intel-gpu1"

static void check_device(struct doctor_collector *collector, const char *root)
{
	if (level_zero_has_device(root))
		doctor_add(collector, "device", true, true, NULL,
			   "the kernel has an Intel GPU (/dev/dri)");
	else
		doctor_add(collector, "device", false, true, NULL,
			   "no Intel GPU: the kernel's drivers i915 and xe have none in "
			   "/dev/dri");
}

/* With a root: in the folders that Debian uses. */
static void find_library(const char *root, const char *library, struct probe_result *ret_result)
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

	find_library(root, LOADER, &loader);
	if (loader.ok)
		doctor_add(collector, "loader", true, false, NULL, "%s", loader.text);
	else
		doctor_add(collector, "loader", false, false, LOADER_FIX,
			   "the loader " LOADER " (Debian package libze1) cannot be loaded: %s; "
			   "programs may bring their own",
			   loader.text);
}

/* The driver of all GPUs, and the separate one for GPUs before Xe in newer releases. */
static void check_driver(struct doctor_collector *collector, const char *root)
{
	static const char *const drivers[] = {"libze_intel_gpu.so.1",
					      "libze_intel_gpu_legacy1.so.1"};
	const char *named = getenv(DRIVERS);
	struct probe_result driver, first;

	if (named && *named) {
		doctor_add(collector, "driver", true, false, NULL,
			   DRIVERS "=%s selects the loader's drivers", named);
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(drivers); i++) {
		find_library(root, drivers[i], &driver);
		if (driver.ok) {
			doctor_add(collector, "driver", true, false, NULL, "%s", driver.text);
			return;
		}
		if (!i)
			first = driver;
	}
	doctor_add(collector, "driver", false, false, DRIVER_FIX,
		   "the driver %s (package libze-intel-gpu1 of a newer Debian or of Intel) "
		   "cannot be loaded: %s; programs may bring their own",
		   drivers[0], first.text);
}

/* The guest uses the place of one of the loader's layers; it never replaces a layer that is
 * enabled. */
static void check_environment(struct doctor_collector *collector)
{
	bool has_validation = level_zero_is_taken(LEVEL_ZERO_VALIDATION);
	bool has_tracing = level_zero_is_taken(LEVEL_ZERO_TRACING);

	if (has_validation && has_tracing)
		doctor_add(collector, "environment", false, false,
			   "unset " LEVEL_ZERO_VALIDATION " or " LEVEL_ZERO_TRACING,
			   LEVEL_ZERO_VALIDATION " and " LEVEL_ZERO_TRACING
						 " are both set: no layer is left for the "
						 "guest");
	else if (has_validation)
		doctor_add(collector, "environment", true, false, NULL,
			   LEVEL_ZERO_VALIDATION " is set and kept: the guest uses the tracing "
						 "layer");
}

void doctor_examine_level_zero(struct doctor_collector *collector, const char *root)
{
	collector->name = "level_zero";
	check_device(collector, root);
	check_loader(collector, root);
	check_driver(collector, root);
	doctor_check_guest(collector, LEVEL_ZERO_GUEST,
			   "; supports Level Zero loaders 1.0 to 1.17; untested on hardware");
	check_environment(collector);
}
