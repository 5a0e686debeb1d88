/* SPDX-License-Identifier: MIT
 *
 * export/exporter.c - find an exporter by name, and check the requested kinds of rows
 *
 * Runs in:  our own process
 * Gets:     names and lists of kinds
 * Gives:    exporters
 * Owns:     nothing
 * Fails:    exporter_find returns NULL for an unknown name; a kind that the format does not have is
 *           -EINVAL with a text
 */
#include "export/exporter.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; exporters[i]; i++) {
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	}
	return NULL;
}

static bool is_kind(const char *kinds, const char *word, size_t length)
{
	static const char between[] = " ,()";

	for (kinds += strspn(kinds, between); *kinds; kinds += strspn(kinds, between)) {
		size_t own = strcspn(kinds, between);

		if (own == length && memcmp(kinds, word, length) == 0)
			return true;
		kinds += own;
	}
	return false;
}

int exporter_check_kinds(const struct exporter *exporter, const char *list)
{
	bool is_end = !list;

	while (!is_end) {
		size_t length = strcspn(list, ",");

		if (!is_kind(exporter->kinds, list, length))
			return error_set(-EINVAL, "format %s has no kind '%.*s'; it has: %s",
					 exporter->name, (int)length, list, exporter->kinds);
		is_end = !list[length];
		list += length + 1;
	}
	return 0;
}
