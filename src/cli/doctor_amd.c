/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_amd.c - what recordings of ROCm need of this machine
 *
 * Runs in:  our own process; the runtime is loaded in a child (cli/probe.c)
 * Gets:     the machine, or the tree below a root   Gives: checks
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why:      the runtime is not needed: frameworks bring their own. Its tables, by which the guest finds its way, are shown
 *           to nobody without a GPU: what is known of a release is told by the name of its file.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/doctor.h"
#include "cli/guest_path.h"
#include "cli/probe.h"
#include "collect/amd/ways.h"

#define RUNTIME     "libhsa-runtime64.so.1"
#define DRIVER      "/dev/kfd"
#define RUNTIME_FIX "apt-get install libhsa-runtime64-1"
#define DRIVER_FIX  "modprobe amdgpu"
#define RIGHTS_FIX  "usermod -aG render,video \"$USER\""

/* For dlopen: the loader's own search first, then where AMD puts it; with a root below that only. */
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

/* AMD names the file of ROCm 7.2.1 ….so.1.18.70201; 0: it is another's. */
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
			   "the runtime " RUNTIME " of the system (Debian package "
			   "libhsa-runtime64-1) cannot be loaded: %s; programs may bring their own",
			   runtime.text);
		return;
	}
	release = release_of(runtime.text);
	if (release >= 70000 && release < 70300)
		doctor_add(collector, "runtime", false, false, NULL,
			   "%s is of ROCm %ld.%ld, which may crash when its queues are followed: "
			   "dispatches are recorded with --collect amd:force only",
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
			   "no " DRIVER ": the kernel driver amdgpu is not loaded, or there is no "
			   "GPU of AMD");
	else if (access(path, R_OK | W_OK) < 0)
		doctor_add(collector, "driver", false, true, RIGHTS_FIX,
			   DRIVER " may not be opened: it takes the groups render and video, and "
				  "a new login");
	else
		doctor_add(collector, "driver", true, true, NULL, DRIVER " can be opened");
}

/* ROCr splits it at spaces; a name without '/' is looked for where libraries are. */
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
		   "HSA_TOOLS_LIB=%s is set; duet puts its own before it", tools);
}

static void check_environment(struct doctor_collector *collector)
{
	const char *tools = getenv("HSA_TOOLS_LIB"), *mode = getenv("RTL_MODE");

	if (tools && *tools)
		check_tools(collector, tools);
	if (mode && *mode && amd_has_mode(mode))
		doctor_add(collector, "environment", true, false, NULL,
			   "RTL_MODE=%s chooses the mode where --collect does not", mode);
	else if (mode && *mode)
		doctor_add(collector, "environment", false, false,
			   "set RTL_MODE to one of the modes, or unset it",
			   "RTL_MODE=%s is no mode, and --collect amd refuses it: there "
			   "are " AMD_MODES_TEXT,
			   mode);
}

void doctor_examine_amd(struct doctor_collector *collector, const char *root)
{
	collector->name = "amd";
	check_driver(collector, root);
	check_runtime(collector, root);
	doctor_check_guest(collector, GUEST_NAME_ROCM, "; knows ROCm 5.2 to 10");
	check_environment(collector);
}
