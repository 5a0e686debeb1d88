/* SPDX-License-Identifier: MIT
 *
 * import/registry.c - the importers there are, and how one is run
 *
 * Runs in:  our own process
 * Gets:     a name, a foreign file   Gives: an importer, a trace file
 * Owns:     nothing
 * Fails:    find gives NULL; what an import fails with has the path in front
 * Why a file of another name first: an import that fails in the middle leaves the trace that was there
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/unfinished.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/target.h"

/* clang-format off */
const struct importer *const importers[] = {
	&import_folded,
	&import_perf_script,
	&import_chrome,
	&import_rocm_trace_lite,
	&import_iaprof,
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

/* A new file beside the output, of a name that nobody has: the input may have any. */
static int make_part(const char *output, char **ret_part)
{
	struct stat status;
	int fd, error;

	if (stat(output, &status) == 0 && !S_ISREG(status.st_mode))
		return error_set(-EINVAL, "'%s' is no regular file: name another for the trace",
				 output);
	error = unfinished_create(output, ret_part, &fd);
	if (error)
		return error_set(error, "write beside '%s': %s", output, strerror(-error));
	close(fd);
	return 0;
}

static int read_into(const struct importer *importer, const char *path, const char *part,
		     struct import_result *result)
{
	struct import_source *source = NULL;
	struct import_target *target = NULL;
	int error = import_source_open(path, &source);

	if (error)
		return error_note(error, "'%s'", path);
	error = import_target_open(part, &target);
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
	auto_free char *part = NULL;
	struct import_result result = {0};
	int renamed, error = make_part(output, &part);

	if (error)
		return error;
	error = read_into(importer, path, part, &result);
	renamed = unfinished_finish(part, error ? NULL : output);
	if (renamed)
		error = error_set(renamed, "write '%s': %s", output, strerror(-renamed));
	if (error) {
		free(result.notes);
		free(result.faults);
	} else {
		*ret_result = result;
	}
	return error;
}
