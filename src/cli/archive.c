/* SPDX-License-Identifier: MIT
 *
 * cli/archive.c - the files that a trace's names come from, kept beside it
 *
 * Runs in:  our own process
 * Gets:     a trace   Gives: FILE.symbols/.build-id/xx/rest and rest.debug; files without a build id by their path
 * Owns:     nothing
 * Fails:    with the file that could not be read or written; what was copied before stays
 * Why:      a folder in the layout of /usr/lib/debug, because other tools read it too (gdb, perf), and two
 *           traces of one program can share it by a link
 */
#include "cli/archive.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/output_file.h"
#include "base/regular_file.h"
#include "symbol/symbolizer.h"
#include "trace/reader.h"

char *archive_folder(const char *trace)
{
	size_t size = strlen(trace) + sizeof(".symbols");
	char *folder = malloc(size);

	if (folder)
		snprintf(folder, size, "%s.symbols", trace);
	return folder;
}

/* ---- files ------------------------------------------------------------------------------------- */

/* Who may not read the file may not read its copy. */
static mode_t copy_mode(int in)
{
	struct stat about;

	return fstat(in, &about) == 0 ? 0600 | (about.st_mode & 0044) : 0600;
}

/* Files of one path may be many builds of a program; of one build id they are the same. */
static int copy_to(const char *from, char *to, bool has_build_id, struct archive_result *result)
{
	auto_close int in = -1;
	uint64_t bytes = 0;
	int error;

	if (has_build_id && access(to, F_OK) == 0) {
		result->kept++;
		return 0;
	}
	in = regular_file_open(from);
	if (in < 0)
		return error_set(in, "read '%s': %s", from, strerror(-in));
	if (!has_build_id && copy_is_there(in, to)) {
		result->kept++;
		return 0;
	}
	error = copy_file(in, to, copy_mode(in), UINT64_MAX, &bytes);
	result->bytes += bytes;
	result->copied += !error;
	return error;
}

/* ---- modules ----------------------------------------------------------------------------------- */

static int keep_file(const char *folder, const char *from, const char *build_id,
		     const char *recorded, const char *suffix, struct archive_result *result)
{
	bool has_build_id = strlen(build_id) > 2;
	char to[PATH_MAX];
	int length;

	if (has_build_id)
		length = snprintf(to, sizeof(to), "%s/.build-id/%.2s/%s%s", folder, build_id,
				  build_id + 2, suffix);
	else
		length = snprintf(to, sizeof(to), "%s/%s%s", folder, recorded, suffix);
	if (length < 0 || (size_t)length >= sizeof(to) || strstr(to, "/../"))
		return 0; /* no path that can be kept below the folder */
	return copy_to(from, to, has_build_id, result);
}

struct keeping {
	const struct model *model;
	struct symbolizer *symbolizer;
	const char *folder;
	struct hash_map seen; /* path string << 32 | build id string */
	void (*on_missing)(void *context, const char *path);
	void *context;
	struct archive_result *result;
};

static int keep_module(struct keeping *keeping, const struct event_frame *frame)
{
	const struct symbol_mapping mapping = {
		.path = model_text(keeping->model, frame->module_string, ""),
		.build_id = model_text(keeping->model, frame->build_id_string, ""),
		.file_size_bytes = frame->file_size_bytes,
		.file_modified_ns = frame->file_modified_ns,
	};
	struct symbol_module *module;
	struct symbol_source source;
	int error;

	if (mapping.path[0] == '[')
		return 0; /* the kernel's own, such as [vdso] */
	if (symbolizer_module(keeping->symbolizer, &mapping, &module))
		return -ENOMEM;
	symbolizer_source(keeping->symbolizer, module, &source);
	if (!source.path) {
		keeping->result->missing++;
		keeping->on_missing(keeping->context, mapping.path);
		return 0;
	}
	error = keep_file(keeping->folder, source.path, mapping.build_id, mapping.path, "",
			  keeping->result);
	if (!error && source.debug_path)
		error = keep_file(keeping->folder, source.debug_path, mapping.build_id,
				  mapping.path, ".debug", keeping->result);
	return error;
}

static int keep_modules(struct keeping *keeping)
{
	const struct trace_reader *reader = keeping->model->reader;
	size_t count = trace_reader_frame_count(reader);
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		const struct event_frame *frame = trace_reader_frame_at(reader, i);
		uint64_t key = (uint64_t)frame->module_string << 32 | frame->build_id_string;

		if (frame->type != FRAME_NATIVE || frame->name_string ||
		    hash_map_find(&keeping->seen, key))
			continue;
		if (hash_map_put(&keeping->seen, key, 1))
			return -ENOMEM;
		error = keep_module(keeping, frame);
	}
	return error;
}

int archive_trace(const char *trace, void (*on_missing)(void *context, const char *path),
		  void *context, struct archive_result *ret_result)
{
	auto_free char *folder = archive_folder(trace);
	const struct symbolizer_options options = {
		.archive = folder, .has_lines = true, .may_download = true};
	struct keeping keeping = {.folder = folder,
				  .on_missing = on_missing,
				  .context = context,
				  .result = ret_result};
	struct model *model = NULL;
	int error = folder ? output_folder_check(folder) : -ENOMEM;

	*ret_result = (struct archive_result){0};
	if (!error)
		error = model_open(trace, &model);
	keeping.model = model;
	if (!error)
		error = symbolizer_new(&options, &keeping.symbolizer);
	if (!error)
		error = keep_modules(&keeping);
	if (error && !*error_text())
		error_set(error, "archive '%s': %s", trace, strerror(-error));
	hash_map_fini(&keeping.seen);
	symbolizer_free(keeping.symbolizer);
	model_close(model);
	return error;
}
