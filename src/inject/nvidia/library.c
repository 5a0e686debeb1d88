/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/library.c - choose the libcupti for a program
 *
 * Runs in:  the profiled process, in its first cuInit
 * Gets:     the loaded libraries, the driver's version, DUET_CUPTI, CUDA_HOME
 * Gives:    libcupti's functions
 * Owns:     nothing: an opened library is never closed
 * Fails:    with the name of the missing library or function
 * Why this order: two libcuptis in one process break each other, so one that is already loaded
 *           comes first, then the one that the user names. A libcupti newer than the driver does
 *           not work with it, an older one does. So libcuptis of the driver's own major version
 *           come before older ones, and newer ones come last. Frameworks ship a libcupti beside
 *           their CUDA runtime.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/libraries.h"
#include "inject/nvidia/cuda.h"

struct cupti_functions cuda_cupti;
uint32_t cuda_version;

/* Version of CUDA 11.0. Records of older versions lack the node id of graphs. */
enum { MIN_VERSION = 13 };
enum { PATH_BYTES = 4096, MAX_MAJOR = 13, MAX_FOLDERS = 8 };

static const char *const names_13[] = {"libcupti.so.13", NULL};
static const char *const names_12[] = {"libcupti.so.12", NULL};
static const char *const names_11[] = {"libcupti.so.11.8", "libcupti.so.11.7",
				       "libcupti.so.11.6", "libcupti.so.11.5",
				       "libcupti.so.11.4", "libcupti.so.11.3",
				       "libcupti.so.11.2", "libcupti.so.11.1",
				       "libcupti.so.11.0", NULL};
static const char *const names_any[] = {"libcupti.so", NULL};

/* Candidates by the driver's major version. */
static const char *const *const of_13[] = {names_13, names_12, names_11, names_any, NULL};
static const char *const *const of_12[] = {names_12, names_11, names_13, names_any, NULL};
static const char *const *const of_11[] = {names_11, names_12, names_13, names_any, NULL};

/* Folders of libcupti below a toolkit's root. */
static const char *const toolkit_folders[] = {"extras/CUPTI/lib64", "lib64",
					      "targets/x86_64-linux/lib"};

void *cuda_driver_function(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, name) : NULL;

	if (library)
		dlclose(library);
	return function;
}

static int driver_major(void)
{
	CUresult (*get_version)(int *) = NULL;
	int version = 0;

	*(void **)&get_version = cuda_driver_function("cuDriverGetVersion");
	return get_version && !get_version(&version) ? version / 1000 : MAX_MAJOR;
}

static const char *const *const *order(void)
{
	int major = driver_major();

	return major >= 13 ? of_13 : major == 12 ? of_12 : of_11;
}

/* ---- places ---------------------------------------------------------------------------------- */

struct places {
	char cupti[PATH_BYTES];                /* a libcupti that is loaded; "": none */
	char folders[MAX_FOLDERS][PATH_BYTES]; /* folders of other CUDA libraries */
	uint32_t count;
};

static void add_folder(struct places *places, const char *path, size_t length, const char *rest)
{
	if (places->count < MAX_FOLDERS &&
	    (size_t)snprintf(places->folders[places->count], PATH_BYTES, "%.*s%s", (int)length,
			     path, rest) < PATH_BYTES)
		places->count++;
}

/* Looks beside the CUDA runtime, and in the layout of Python packages: nvidia/cuda_runtime/lib and
 * nvidia/cuda_cupti/lib. */
static int look_at_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *path = info->dlpi_name ? info->dlpi_name : "", *name = strrchr(path, '/');
	struct places *places = data;
	const char *package;

	if (!name)
		return 0;
	if (strncmp(name, "/libcupti.so", 12) == 0 && strlen(path) < PATH_BYTES)
		memcpy(places->cupti, path, strlen(path) + 1);
	if (strncmp(name, "/libcudart.so", 13) != 0)
		return 0;
	add_folder(places, path, (size_t)(name - path), "");
	package = strstr(path, "/nvidia/cuda_runtime/");
	if (package)
		add_folder(places, path, (size_t)(package - path), "/nvidia/cuda_cupti/lib");
	return 0;
}

static void *open_in(const char *folder, const char *const *const *names)
{
	void *library = NULL;

	for (; *names && !library; names++)
		for (const char *const *name = *names; *name && !library; name++) {
			char path[PATH_BYTES + 32];

			snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", *name);
			library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		}
	return library;
}

static void *open_in_toolkit(const char *root, const char *const *const *names)
{
	void *library = NULL;
	char path[PATH_BYTES];

	for (size_t i = 0; i < 3 && !library; i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, toolkit_folders[i]) <
		    sizeof(path))
			library = open_in(path, names);
	return library;
}

static void *open_any(struct places *places)
{
	const char *const *const *names = order();
	const char *named = getenv("DUET_CUPTI"), *home = getenv("CUDA_HOME");
	void *library = NULL;

	libraries_iterate(look_at_library, places);
	if (places->cupti[0])
		return dlopen(places->cupti, RTLD_LAZY | RTLD_NOLOAD);
	if (named && *named)
		return dlopen(named, RTLD_LAZY | RTLD_LOCAL);
	for (uint32_t i = 0; i < places->count && !library; i++)
		library = open_in(places->folders[i], names);
	if (!library)
		library = open_in("", names);
	if (!library && home && *home)
		library = open_in_toolkit(home, names);
	return library ? library : open_in_toolkit("/usr/local/cuda", names);
}

/* ---- functions ------------------------------------------------------------------------------- */

enum need { REQUIRED, OPTIONAL };

static const struct function {
	const char *name;
	enum need need;
	size_t offset;
} functions[] = {
#define FUNCTION(need, name, parameters) {#name, need, offsetof(struct cupti_functions, name)},
	CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static const char *take_functions(void *library)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function && functions[i].need == REQUIRED)
			return functions[i].name;
		memcpy((char *)&cuda_cupti + functions[i].offset, &function, sizeof(function));
	}
	if (cuda_cupti.cuptiGetVersion(&cuda_version))
		return "cuptiGetVersion";
	return cuda_version < MIN_VERSION ? "libcupti 11.0" : NULL;
}

const char *cuda_library_open(void)
{
	struct places *places = guest_memory(sizeof(*places));
	void *library = places ? open_any(places) : NULL;

	if (places)
		guest_memory_free(places, sizeof(*places));
	return library ? take_functions(library) : "libcupti";
}
