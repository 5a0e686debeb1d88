/* SPDX-License-Identifier: MIT
 *
 * cli/compare/sides.c - reads the recordings that diff and gate compare
 *
 * Runs in:  our own process
 * Gets:     the words of the command line
 * Gives:    a summary of each recording
 * Owns:     the summaries
 * Fails:    with status 2 for a file that cannot be read: a broken file must not look like a
 *           regression, which is status 1
 * Why one after the other: one analysis at a time bounds the memory, whatever the number of runs
 */
#include "cli/compare/sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/compare/batches.h"
#include "analyze/compare/part.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/text/short_names.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/archive.h"
#include "cli/command.h"
#include "cli/selection.h"

/* ---- files ----------------------------------------------------------------------------------- */

int compare_files_split(struct compare_files *files, int argc, char **argv)
{
	int kept = 0;
	bool is_new = false;

	files->base = calloc((size_t)argc + 1, sizeof(*files->base));
	files->changed = calloc((size_t)argc + 1, sizeof(*files->changed));
	if (!files->base || !files->changed)
		return -ENOMEM;
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--new") == 0) {
			is_new = true;
		} else if (strncmp(argv[i], "--new=", 6) == 0) {
			files->changed[files->changed_count++] = argv[i] + 6;
		} else if (is_new && argv[i][0] != '-') {
			files->changed[files->changed_count++] = argv[i];
		} else {
			is_new = false;
			argv[kept++] = argv[i];
		}
	}
	argv[kept] = NULL;
	return kept;
}

int compare_files_take(const struct cli_command *command, struct compare_files *files, int argc,
		       char **argv, int first)
{
	for (int i = first; i < argc; i++)
		files->base[files->base_count++] = argv[i];
	if (!files->changed_count && files->base_count == 2)
		files->changed[files->changed_count++] = files->base[--files->base_count];
	if (!files->base_count)
		return usage_error(command, "no recording to compare with: %s %s", command->name,
				   command->arguments);
	if (!files->changed_count)
		return usage_error(command, "no new recording: name it after --new");
	return STATUS_DONE;
}

void compare_files_fini(struct compare_files *files)
{
	free(files->base);
	free(files->changed);
}

/* ---- one recording --------------------------------------------------------------------------- */

struct side_reader {
	const struct cli_command *command;
	const struct sides_request *request;
	const char *path;
	struct model *model;
	struct batches *batches;
	struct analysis *analysis;
	struct frames *frames;
	struct short_names *short_names;
};

static int analyze_window(struct side_reader *reader)
{
	struct analysis_options options = {.finds_iterations = true,
					   .observer = batches_observer(reader->batches)};
	int error = 0;

	if (reader->request->range) {
		error = compare_part_find(reader->model, reader->request->range, &options.from_ns,
					  &options.to_ns);
		options.has_from = options.has_to = true;
	}
	return error ? error : analysis_new(reader->model, &options, &reader->analysis);
}

static int read_side(struct side_reader *reader, struct compare_side **ret_side)
{
	auto_free char *archive = archive_folder(reader->path);
	const struct frames_options names = archive_names(archive);
	struct side_options options = {.tables = reader->request->tables,
				       .device = SIDE_ALL_DEVICES};
	int error;

	reader->batches = batches_new();
	error = reader->batches ? analyze_window(reader) : -ENOMEM;
	if (!error)
		error = frames_new(reader->model, &names, &reader->frames);
	if (!error)
		error = model_short_kernels(reader->model, &reader->short_names);
	if (error)
		return error;
	options.short_names = reader->short_names;
	options.batches = reader->batches;
	if (selection_find_device(reader->command, reader->analysis, reader->request->device,
				  reader->path, &options.device) != STATUS_DONE)
		return -EINVAL;
	return side_new(reader->path, reader->analysis, reader->frames, &options, ret_side);
}

static int read_file(const struct cli_command *command, const char *path,
		     const struct sides_request *request, struct compare_side **ret_side)
{
	struct side_reader reader = {.command = command, .request = request, .path = path};
	int error = model_open(path, &reader.model);

	if (!error)
		error = read_side(&reader, ret_side);
	if (error && error != -EINVAL) {
		if (!*error_text())
			error_set(error, "read '%s': %s", path, strerror(-error));
		else if (!strstr(error_text(), path))
			error_note(error, "%s", path);
		print_error(command->name, NULL);
	}
	short_names_free(reader.short_names);
	frames_free(reader.frames);
	analysis_free(reader.analysis);
	batches_free(reader.batches);
	model_close(reader.model);
	if (error == -ENOMEM)
		return STATUS_FAILED;
	return error ? STATUS_USAGE : STATUS_DONE;
}

/* ---- all recordings -------------------------------------------------------------------------- */

/* Runs of one boot have comparable host times; others are compared by date. */
static int compare_starts(const void *left, const void *right)
{
	const struct side_facts *a = &(*(struct compare_side *const *)left)->facts;
	const struct side_facts *b = &(*(struct compare_side *const *)right)->facts;
	const bool is_one = *a->boot_id && strcmp(a->boot_id, b->boot_id) == 0;
	const uint64_t first = is_one ? a->begin_ns : a->started_realtime_ns;
	const uint64_t second = is_one ? b->begin_ns : b->started_realtime_ns;

	return (first > second) - (first < second);
}

int compare_sides_read(const struct cli_command *command, const char *const *paths, size_t count,
		       const struct sides_request *request, struct compare_sides *ret_sides)
{
	int status = STATUS_DONE;

	*ret_sides = (struct compare_sides){.runs = calloc(count + 1, sizeof(*ret_sides->runs))};
	if (!ret_sides->runs) {
		print_error(command->name, "out of memory");
		return STATUS_FAILED;
	}
	while (ret_sides->count < count && status == STATUS_DONE) {
		status = read_file(command, paths[ret_sides->count], request,
				   &ret_sides->runs[ret_sides->count]);
		ret_sides->count += status == STATUS_DONE;
	}
	if (status == STATUS_DONE)
		qsort(ret_sides->runs, ret_sides->count, sizeof(*ret_sides->runs), compare_starts);
	return status;
}

void compare_sides_fini(struct compare_sides *sides)
{
	if (!sides)
		return;
	for (size_t i = 0; i < sides->count; i++)
		side_free(sides->runs[i]);
	free(sides->runs);
}

double compare_sides_iterations(const struct compare_sides *sides)
{
	double sum = 0;

	for (size_t i = 0; i < sides->count; i++) {
		if (sides->runs[i]->iterations.count < BATCHES_MIN)
			return 0;
		sum += (double)sides->runs[i]->iterations.count;
	}
	return sum / (double)sides->count;
}

int compare_confidence_parse(const struct cli_command *command, const char *text,
			     double *inout_confidence)
{
	char *end;
	double percent;

	if (!text)
		return STATUS_DONE;
	percent = strtod(text, &end);
	if (end == text || *end || !(percent >= 50 && percent < 100))
		return usage_error(command, "--confidence takes percent from 50 to 99.99, not '%s'",
				   text);
	*inout_confidence = percent / 100;
	return STATUS_DONE;
}
