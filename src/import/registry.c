/* SPDX-License-Identifier: MIT
 *
 * import/registry.c - the list of importers
 *
 * Runs in:  our own process
 * Gets:     a name
 * Gives:    an importer
 * Owns:     nothing
 * Fails:    importer_find returns NULL for an unknown name
 */
#include <string.h>

#include "import/formats.h"

/* clang-format off */
const struct importer *const importers[] = {
	&import_perf_script,
	&import_rocprofv3_json,
	&import_rocprof_json,
	&import_chrome,
	&import_nsys,
	&import_nvvp,
	&import_perfetto,
	&import_rocpd,
	&import_rpd,
	&import_rocm_trace_lite,
	&import_rocprof_db,
	&import_rocprofv3_csv,
	&import_iaprof,
	&import_rocprof_code,
	&import_rocprof_compute,
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
