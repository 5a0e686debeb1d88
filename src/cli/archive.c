/* SPDX-License-Identifier: MIT
 *
 * cli/archive.c - copy the symbol files of a trace into a folder beside it
 *
 * Runs in:  our own process
 * Gets:     a trace
 * Gives:    FILE.symbols/.build-id/xx/rest and rest.debug (xx and rest: the first two and the other
 *           digits of a build id); files without a build id by their path
 * Owns:     nothing
 * Fails:    with -errno and the name of the file that could not be read or written; files copied
 *           before that stay. A path that would leave the folder or is too long is left out
 * Why:      the folder has the layout of /usr/lib/debug, so other tools (gdb, perf) can read it
 *           too, and two traces of one program can share it through a symbolic link
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
#include "base/error.h"
#include "base/file/copy.h"
#include "base/file/output_file.h"
#include "base/file/regular_file.h"
#include "base/hash.h"
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

/* ---- files ----------------------------------------------------------------------------------- */

struct frames_options archive_names(const char *archive)
{
	return (struct frames_options){.has_lines = true,
				       .may_download = getenv("DEBUGINFOD_URLS") != NULL,
				       .archive = archive};
}

/* The copy gets the read permissions of the file. */
static mode_t copy_mode(int in)
{
	struct stat about;

	return fstat(in, &about) == 0 ? 0600 | (about.st_mode & 0044) : 0600;
}

/* A file of the same path may be another build of the program; a file of the same build id is
 * identical. */
static int copy_to(const char *from, struct output_folder *folder, const char *to,
		   bool has_build_id, struct archive_result *result)
{
	auto_close int in = -1;
	struct stat about;
	uint64_t bytes = 0;
	int error;

	if (has_build_id && output_folder_find(folder, to, &about)) {
		result->kept++;
		return 0;
	}
	in = regular_file_open(from);
	if (in < 0)
		return error_set(in, "read '%s': %s", from, strerror(-in));
	if (!has_build_id && copy_is_there(in, folder, to)) {
		result->kept++;
		return 0;
	}
	error = copy_file(in, folder, to, copy_mode(in), UINT64_MAX, &bytes);
	result->bytes += bytes;
	result->copied += !error;
	return error;
}

/* ---- modules --------------------------------------------------------------------------------- */

static int keep_file(struct output_folder *folder, const char *from, const char *build_id,
		     const char *recorded, const char *suffix, struct archive_result *result)
{
	bool has_build_id = strlen(build_id) > 2;
	char to[PATH_MAX];
	int length;

	if (has_build_id)
		length = snprintf(to, sizeof(to), ".build-id/%.2s/%s%s", build_id, build_id + 2,
				  suffix);
	else
		length = snprintf(to, sizeof(to), "%s%s", recorded, suffix);
	if (length < 0 || (size_t)length >= sizeof(to) || strstr(to, "/../"))
		return 0; /* such a path cannot be kept below the folder */
	return copy_to(from, folder, to, has_build_id, result);
}

struct keeping {
	const struct model *model;
	struct symbolizer *symbolizer;
	struct output_folder folder;
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
		return 0; /* not a file: the kernel's own mappings, such as [vdso] */
	if (symbolizer_module(keeping->symbolizer, &mapping, &module))
		return -ENOMEM;
	symbolizer_source(keeping->symbolizer, module, &source);
	if (!source.path) {
		keeping->result->missing++;
		keeping->on_missing(keeping->context, mapping.path);
		return 0;
	}
	error = keep_file(&keeping->folder, source.path, mapping.build_id, mapping.path, "",
			  keeping->result);
	if (!error && source.debug_path)
		error = keep_file(&keeping->folder, source.debug_path, mapping.build_id,
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

/* Opened even if there is nothing to copy, so that a folder which root must not write into is
 * always an error. */
static int open_archive(struct output_folder *folder, const char *path)
{
	int error = output_folder_init(folder, path);

	if (!error)
		error = output_folder_open(folder, false);
	return error == -ENOENT ? 0 : error;
}

int archive_trace(const char *trace, void (*on_missing)(void *context, const char *path),
		  void *context, struct archive_result *ret_result)
{
	auto_free char *folder = archive_folder(trace);
	const struct symbolizer_options options = {
		.archive = folder, .has_lines = true, .may_download = true};
	struct keeping keeping = {.folder = {.above = -1, .fd = -1},
				  .on_missing = on_missing,
				  .context = context,
				  .result = ret_result};
	struct model *model = NULL;
	int error = folder ? open_archive(&keeping.folder, folder) : -ENOMEM;

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
	output_folder_fini(&keeping.folder);
	model_close(model);
	return error;
}
