/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cupti.c - loads CUDA's driver and libcupti in the recorder, for counters of whole
 * GPUs
 *
 * Runs in:  the recorder's main thread; sampling threads copy the result
 * Gets:     DUET_CUPTI, CUDA_HOME, the loader's search path
 * Gives:    functions, messages for their errors
 * Owns:     nothing; both libraries stay loaded, because they have threads of their own
 * Fails:    -ENOENT, -ENODEV with a remedy
 * Why:      secure_getenv is used, because a recorder with file capabilities must not load a
 *           library that the user's environment names
 */
#include "collect/nvidia/cupti.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/nvidia/cuda.h"

#define DRIVER    "libcuda.so"
#define INJECTION "CUDA_INJECTION64_PATH"

enum { PATH_BYTES = 4096, DRIVER_MAJOR = 1 };

/* ---- the driver ------------------------------------------------------------------------------ */

/* Initializes the driver without CUDA_INJECTION64_PATH. The driver loads the library in that
 * variable into each process that calls cuInit. It is meant for programs, not for the recorder. */
static CUresult initialize(struct cupti *cupti)
{
	const char *named = getenv(INJECTION);
	char *kept = named ? strdup(named) : NULL;
	CUresult result;

	unsetenv(INJECTION);
	result = cupti->driver.cuInit(0);
	if (kept)
		setenv(INJECTION, kept, 1);
	free(kept);
	return result;
}

static int refuse_driver(CUresult result)
{
	if (result == CUDA_ERROR_NO_DEVICE)
		return error_set(-ENODEV, "CUDA finds no GPU; check that nvidia-smi lists one and "
					  "that CUDA_VISIBLE_DEVICES does not exclude it");
	if (result == CUDA_ERROR_STUB_LIBRARY)
		return error_set(-ENOENT, DRIVER " is the toolkit's stub, not a driver; remove "
						 "cuda/lib64/stubs from LD_LIBRARY_PATH");
	return error_set(-ENODEV,
			 "the CUDA driver does not start (cuInit returned %u); check that "
			 "nvidia-smi works, and start a container with the GPUs (--gpus all)",
			 (unsigned int)result);
}

int cupti_open_driver(struct cupti *cupti)
{
	struct cuda_functions *driver = &cupti->driver;
	char name[sizeof(DRIVER) + 4];
	CUresult result;

	/* The name is assembled at run time, because a program whose file contains it is taken for
	 * a user of CUDA (cuda.c). */
	snprintf(name, sizeof(name), "%s.%d", DRIVER, DRIVER_MAJOR);
	cupti->driver_handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	if (!cupti->driver_handle)
		return error_set(-ENOENT, "no CUDA driver (" DRIVER
					  "); install NVIDIA's driver, or start the container with "
					  "the GPUs (--gpus all)");
#define TAKE(name, parameters) *(void **)&driver->name = dlsym(cupti->driver_handle, #name);
	CUDA_FUNCTIONS(TAKE)
#undef TAKE
	if (!driver->cuInit || !driver->cuDeviceGetCount || !driver->cuDeviceGet ||
	    !driver->cuDeviceGetUuid_v2 || !driver->cuDeviceGetAttribute)
		return error_set(-ENOENT, "the CUDA driver is older than CUDA 11.4; update it to "
					  "12.6 or newer, which PM sampling needs");
	result = initialize(cupti);
	if (result)
		return refuse_driver(result);
	if (driver->cuDriverGetVersion)
		driver->cuDriverGetVersion(&cupti->driver_version);
	return 0;
}

/* ---- the library ----------------------------------------------------------------------------- */

/* A libcupti newer than the driver does not work; an older one does. */
static const char *const names_13[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
static const char *const names_12[] = {"libcupti.so.12", "libcupti.so.13", "libcupti.so"};

static const char *const folders[] = {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib",
				      "lib"};

static void open_in(struct cupti *cupti, const char *folder)
{
	bool is_12 = cupti->driver_version && cupti->driver_version < 13000;
	const char *const *names = is_12 ? names_12 : names_13;
	char path[PATH_BYTES];

	for (size_t i = 0; i < ARRAY_COUNT(names_13) && !cupti->handle; i++)
		if ((size_t)snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "",
				     names[i]) < sizeof(path))
			cupti->handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

static void open_below(struct cupti *cupti, const char *root)
{
	char folder[PATH_BYTES];

	for (size_t i = 0; i < ARRAY_COUNT(folders) && !cupti->handle; i++)
		if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", root, folders[i]) <
		    sizeof(folder))
			open_in(cupti, folder);
}

static void open_any(struct cupti *cupti)
{
	const char *named = secure_getenv("DUET_CUPTI"), *home = secure_getenv("CUDA_HOME");

	if (named && *named) {
		cupti->handle = dlopen(named, RTLD_LAZY | RTLD_LOCAL);
		return;
	}
	open_in(cupti, "");
	if (!cupti->handle && home && *home)
		open_below(cupti, home);
	if (!cupti->handle)
		open_below(cupti, "/usr/local/cuda");
}

int cupti_open_library(struct cupti *cupti, uint32_t needs)
{
	open_any(cupti);
	if (!cupti->handle)
		return error_set(-ENOENT, "no libcupti was found; install CUDA's toolkit (12.6 or "
					  "newer), or name the file in DUET_CUPTI");
#define TAKE(need, name, parameters) *(void **)&cupti->call.name = dlsym(cupti->handle, #name);
	CUPTI_FUNCTIONS(TAKE)
#undef TAKE
	if (!cupti->call.cuptiGetVersion || cupti->call.cuptiGetVersion(&cupti->version))
		return error_set(
			-ENOENT,
			"libcupti does not report its version; name another one in DUET_CUPTI");
	if (cupti->version < needs || !cupti->call.cuptiPmSamplingEnable)
		return error_set(-ENOENT,
				 "this libcupti (of CUDA %u, version %u) has no PM sampling; use "
				 "that of CUDA 12.6 or newer (DUET_CUPTI)",
				 cupti_major(cupti->version), cupti->version);
	return 0;
}

uint32_t cupti_major(uint32_t version)
{
	return version >= 100000 ? version / 10000 : version >= 18 ? 12 : 11;
}

/* ---- failures -------------------------------------------------------------------------------- */

bool cupti_has_worked(struct cupti *cupti, const char *function, cupti_result result)
{
	if (!result)
		return true;
	cupti->why = function;
	cupti->result = result;
	return false;
}

void cupti_format_failure(const struct cupti *cupti, char *ret_text, size_t size)
{
	const char *name = NULL, *text = cuda_result_advice(cupti->result, &name);

	snprintf(ret_text, size, "%s returned %d (%s)%s%s", cupti->why ? cupti->why : "CUPTI",
		 (int)cupti->result, name ? name : "unknown error", text ? ": " : "",
		 text ? text : "");
}
