/* SPDX-License-Identifier: MIT
 *
 * import/registry.c - the list of importers, and the function that runs one
 *
 * Runs in:  our own process
 * Gets:     a name, a foreign file
 * Gives:    an importer, a trace file
 * Owns:     nothing
 * Fails:    importer_find returns NULL for an unknown name; an import's error starts with the path
 * Why a temporary file: an import that fails leaves an existing trace unchanged
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/formats.h"
#include "import/part.h"
#include "import/source.h"
#include "import/target.h"

/* clang-format off */
const struct importer *const importers[] = {
	&import_folded,
	&import_perf_script,
	&import_chrome,
	&import_rocpd,
	&import_rpd,
	&import_rocm_trace_lite,
	&import_rocprofv3_json,
	&import_rocprofv3_csv,
	&import_rocprof_json,
	&import_iaprof,
	&import_rocprof_code,
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

static int read_into(const struct importer *importer, const char *path, const char *output,
		     struct import_result *result)
{
	struct import_source *source = NULL;
	struct import_target *target = NULL;
	int error = import_source_open(path, &source);

	if (error)
		return error_note(error, "'%s'", path);
	error = import_target_open(output, &target);
	if (!error) {
		error = importer->read(source, target);
		if (error) {
			import_target_abandon(target);
			if (!*error_text())
				error_set(error, "%s", strerror(-error));
			error_note(error, "'%s'", path);
		} else {
			error = import_target_finish(target, importer->name, path, result);
		}
	}
	import_source_close(source);
	return error;
}

int import_file(const struct importer *importer, const char *path, const char *output,
		struct import_result *ret_result)
{
	struct import_result result = {0};
	struct import_part part;
	int error = import_part_open(&part, output);

	if (error)
		return error;
	error = import_part_close(&part, read_into(importer, path, part.path, &result));
	if (error) {
		free(result.notes);
		free(result.faults);
	} else {
		*ret_result = result;
	}
	return error;
}
