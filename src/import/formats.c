/* SPDX-License-Identifier: MIT
 *
 * import/formats.c - the list of importers
 *
 * Runs in:  our own process
 * Gets:     a name
 * Gives:    an importer
 * Owns:     constants
 * Fails:    importer_find returns NULL for an unknown name
 * Why: importers call the probe, so a list in the same file as the probe would be a cycle
 */
#include "import/formats.h"

#include <string.h>

/* clang-format off */
const struct importer *const importers[] = {
	&import_perf_script,
	&import_chrome,
	&import_rocm_trace_lite,
	&import_iaprof,
	&import_rocprof_code,
	&import_folded,
	NULL,
};
/* clang-format on */

const struct importer *importer_find(const char *name)
{
	for (size_t i = 0; importers[i]; i++) {
		if (strcmp(importers[i]->name, name) == 0)
			return importers[i];
	}
	return NULL;
}
