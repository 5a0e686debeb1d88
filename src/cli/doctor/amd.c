/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/amd.c - check what recordings of ROCm need
 *
 * Runs in:  our own process; the runtime is loaded in a child (cli/doctor/probe.c)
 * Gets:     the machine, or the tree below a root
 * Gives:    checks
 * Owns:     nothing
 * Fails:    never; a missing part is a result
 * Why:      the system's runtime is optional, because frameworks bring their own. Without a GPU the
 *           runtime does not show its API tables, which the guest needs. So the runtime's release
 *           is taken from the name of its file.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/probe.h"
#include "collect/amd/ways.h"

#define RUNTIME     "libhsa-runtime64.so.1"
#define DRIVER      "/dev/kfd"
#define RUNTIME_FIX "apt-get install libhsa-runtime64-1"
#define DRIVER_FIX  "modprobe amdgpu"
#define RIGHTS_FIX  "usermod -aG render,video \"$USER\""

/* Loads the runtime by the loader's search path, otherwise from AMD's folder; with a root, only
 * from below the root. */
static void probe_runtime(const char *root, struct probe_result *ret_result)
{
	static const char *const folders[] = {"/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib64"};
	char path[PATH_MAX];

	memset(ret_result, 0, sizeof(*ret_result));
	snprintf(ret_result->text, sizeof(ret_result->text), "no " RUNTIME);
	if (!*root)
		probe_library(RUNTIME, ret_result);
	for (size_t i = 0; i < ARRAY_COUNT(folders) && !ret_result->ok; i++) {
		snprintf(path, sizeof(path), "%s%s/" RUNTIME, root, folders[i]);
		if (access(path, R_OK) == 0)
			probe_library(path, ret_result);
	}
}

/* The ROCm release in a file name: AMD's file of ROCm 7.2.1 is ….so.1.18.70201. 0: not AMD's file.
 * */
static long release_of(const char *path)
{
	char real[PATH_MAX];
	const char *last = realpath(path, real) ? strrchr(real, '.') : NULL;
	long number = last ? strtol(last + 1, NULL, 10) : 0;

	return number >= 50000 ? number : 0;
}

static void check_runtime(struct doctor_collector *collector, const char *root)
{
	struct probe_result runtime;
	long release;

	probe_runtime(root, &runtime);
	if (!runtime.ok) {
		doctor_add(collector, "runtime", false, false, RUNTIME_FIX,
			   "the system's runtime " RUNTIME " (Debian package libhsa-runtime64-1) "
			   "cannot be loaded: %s; programs may bring their own",
			   runtime.text);
		return;
	}
	release = release_of(runtime.text);
	if (release >= 70000 && release < 70300)
		doctor_add(
			collector, "runtime", false, false, NULL,
			"%s is from ROCm %ld.%ld, which may crash when its queues are intercepted; "
			"record dispatches with --collect amd:force",
			runtime.text, release / 10000, release / 100 % 100);
	else if (release)
		doctor_add(collector, "runtime", true, false, NULL, "%s, ROCm %ld.%ld.%ld",
			   runtime.text, release / 10000, release / 100 % 100, release % 100);
	else
		doctor_add(collector, "runtime", true, false, NULL, "%s", runtime.text);
}

static void check_driver(struct doctor_collector *collector, const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" DRIVER, root);
	if (access(path, F_OK) < 0)
		doctor_add(collector, "driver", false, true, DRIVER_FIX,
			   "no " DRIVER
			   ": the kernel driver amdgpu is not loaded, or this machine has no "
			   "AMD GPU");
	else if (access(path, R_OK | W_OK) < 0)
		doctor_add(collector, "driver", false, true, RIGHTS_FIX,
			   DRIVER " cannot be opened: join the groups render and video and log in "
				  "again");
	else
		doctor_add(collector, "driver", true, true, NULL, DRIVER " can be opened");
}

/* ROCr splits the variable at spaces; it searches a name without '/' like a library. */
static void check_tools(struct doctor_collector *collector, const char *tools)
{
	for (const char *at = tools; *at; at += strspn(at, " ")) {
		const int length = (int)strcspn(at, " ");
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s", length, at);
		if (strchr(path, '/') && access(path, R_OK) < 0)
			doctor_add(collector, "environment", false, false,
				   "name an existing file in HSA_TOOLS_LIB, or unset it",
				   "HSA_TOOLS_LIB names %s, which cannot be read: %s", path,
				   strerror(errno));
		at += length;
	}
	doctor_add(collector, "environment", true, false, NULL,
		   "HSA_TOOLS_LIB=%s is set; duet inserts its own library before it", tools);
}

static void check_environment(struct doctor_collector *collector)
{
	const char *tools = getenv("HSA_TOOLS_LIB"), *mode = getenv("RTL_MODE");

	if (tools && *tools)
		check_tools(collector, tools);
	if (mode && *mode && amd_has_mode(mode))
		doctor_add(collector, "environment", true, false, NULL,
			   "RTL_MODE=%s selects the mode unless --collect does", mode);
	else if (mode && *mode)
		doctor_add(collector, "environment", false, false,
			   "set RTL_MODE to a valid mode, or unset it",
			   "--collect amd fails: RTL_MODE=%s is not a mode; the modes "
			   "are " AMD_MODES_TEXT,
			   mode);
}

void doctor_examine_amd(struct doctor_collector *collector, const char *root)
{
	collector->name = "amd";
	check_driver(collector, root);
	check_runtime(collector, root);
	doctor_check_guest(collector, AMD_GUEST, "; supports ROCm 5.2 to 10");
	check_environment(collector);
}
