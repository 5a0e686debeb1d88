/* SPDX-License-Identifier: MIT
 *
 * cli/guest_path.c - find a guest relative to the program
 *
 * Runs in:  our own process
 * Gets:     a guest's name
 * Gives:    a path
 * Owns:     nothing
 * Fails:    NULL
 * Why:      guests are searched relative to the running program, so that a moved or copied
 *           installation works
 */
#include "cli/guest_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

const char *guest_path(const char *name, char path[PATH_MAX])
{
	static const char *const places[] = {"", "../lib/duet/"};
	char folder[PATH_MAX / 2], candidate[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	folder[length > 0 ? length : 0] = '\0';
	slash = strrchr(folder, '/');
	slash = slash ? slash + 1 : folder;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		snprintf(candidate, sizeof(candidate), "%s%s%s", folder, places[i], name);
		if (realpath(candidate, path))
			return path;
	}
	return NULL;
}
