/* SPDX-License-Identifier: MIT
 *
 * import/files.c - import the files of one job into one trace
 *
 * Runs in:  our own process
 * Gets:     foreign files
 * Gives:    a trace file
 * Owns:     nothing
 * Fails:    an error starts with the path of the file; -EBADMSG with a remedy if no importer
 *           recognizes it
 * Why a temporary file: an import that fails leaves an existing trace unchanged
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "import/importer.h"
#include "import/common/known.h"
#include "import/part.h"
#include "import/common/probe.h"
#include "import/common/twins.h"
#include "import/source.h"
#include "import/target.h"

static int fail_unknown(const struct import_probe *probe)
{
	struct string_builder names = {0};
	int error;

	if (!probe->size)
		return error_set(-EBADMSG, "the file is empty");
	if (probe->is_damaged)
		return error_set(-EBADMSG, "this is a damaged SQLite file, or only a part of one; "
					   "copy or export it again");
	for (size_t i = 0; importers[i]; i++)
		string_builder_appendf(&names, "%s%s", i ? ", " : "", importers[i]->name);
	error = error_set(-EBADMSG,
			  "the format was not recognized; if it is one of these, name it with "
			  "--format: %s",
			  string_builder_text(&names));
	string_builder_fini(&names);
	return error;
}

static int find_importer(const struct import_probe *probe, const struct importer **ret_importer)
{
	char advice[4096 + 256]; /* with the path */

	for (size_t i = 0; importers[i]; i++) {
		if (importers[i]->recognize && importers[i]->recognize(probe)) {
			*ret_importer = importers[i];
			return 0;
		}
	}
	if (import_known_advise(probe, advice, sizeof(advice)))
		return error_set(-EBADMSG, "%s", advice);
	return fail_unknown(probe);
}

static int recognize(struct import_source *source, const char *path,
		     const struct importer **ret_importer)
{
	struct import_probe probe;
	int error = import_probe_open(source, path, &probe);

	if (error)
		return error;
	error = find_importer(&probe, ret_importer);
	import_probe_close(&probe);
	return error;
}

static int read_file(const struct importer *importer, const char *path, size_t count,
		     struct import_target *target)
{
	struct import_source *source = NULL;
	int error = import_source_open(path, &source);

	if (!error)
		error = import_source_unpack(source);
	if (!error && !importer)
		error = recognize(source, path, &importer);
	if (!error)
		error = import_target_begin_file(target, importer->name, path, count);
	if (!error)
		error = importer->read(source, target);
	import_source_close(source);
	if (error && !*error_text())
		error_set(error, "%s", strerror(-error));
	return error ? error_note(error, "'%s'", path) : 0;
}

static int read_into(const struct importer *importer, char *const *paths, size_t count,
		     const char *output, struct import_result *result)
{
	struct import_target *target = NULL;
	int error = import_target_open(output, &target);

	if (error)
		return error;
	for (size_t i = 0; i < count && !error; i++)
		error = read_file(importer, paths[i], count, target);
	if (!error)
		return import_target_finish(target, result);
	import_target_abandon(target);
	return error;
}

int import_files(const struct importer *importer, char *const *paths, size_t count,
		 const char *output, struct import_result *ret_result)
{
	struct import_result result = {0};
	struct import_part part;
	int error = import_twins_check(paths, count);

	if (!error)
		error = import_part_open(&part, output);
	if (error)
		return error;
	error = import_part_close(&part, read_into(importer, paths, count, part.path, &result));
	if (error) {
		free(result.notes);
		free(result.faults);
	} else {
		*ret_result = result;
	}
	return error;
}

int import_file(const struct importer *importer, const char *path, const char *output,
		struct import_result *ret_result)
{
	char *const paths[] = {(char *)path};

	return import_files(importer, paths, 1, output, ret_result);
}
