/* SPDX-License-Identifier: MIT
 *
 * cli/compare/series.c - duet diff --series: the history of a program over many recordings
 *
 * Runs in:  our own process
 * Gets:     files and folders
 * Gives:    text or JSON on stdout, and a page
 * Owns:     the list of files, one summary at a time
 * Fails:    status 2 if no file can be read; the other files are reported and skipped
 * Why dates are read before the recordings: kernels are matched in the order of time, and only one
 *           recording is in memory
 */
#include "cli/compare/series.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "analyze/compare/match/map.h"
#include "analyze/compare/history/history.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/compare/html.h"
#include "cli/compare/sides.h"
#include "cli/selection.h"
#include "report/series/series.h"
#include "report/terminal.h"

struct series_file {
	char *path;                     /* owned */
	uint64_t realtime_ns, order_ns; /* the date; the date of the file if there is none */
};

struct series_job {
	const struct cli_command *command;
	const struct series_request *request;
	struct series_file *files;
	size_t count, capacity;
	const char **skipped; /* borrowed from files */
	size_t skipped_count, skipped_capacity;
	struct match_map *map;
	struct history *history;
};

static int print_no_memory(const struct series_job *job)
{
	print_error(job->command->name, "out of memory");
	return STATUS_FAILED;
}

/* ---- the list of files ----------------------------------------------------------------------- */

static int add_file(struct series_job *job, const char *folder, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
		return -ENOMEM;
	if (array_append(job->files, job->capacity, job->count,
			 (struct series_file){.path = path})) {
		free(path);
		return -ENOMEM;
	}
	return 0;
}

static bool is_recording(const char *name)
{
	const size_t length = strlen(name);

	return length > 5 && strcmp(name + length - 5, ".duet") == 0;
}

static int add_folder(struct series_job *job, const char *folder)
{
	const size_t before = job->count;
	DIR *stream = opendir(folder);
	int error = 0;

	if (!stream)
		return error_set(-errno, "open '%s': %s", folder, strerror(errno));
	for (const struct dirent *entry; !error && (entry = readdir(stream));)
		if (is_recording(entry->d_name))
			error = add_file(job, folder, entry->d_name);
	closedir(stream);
	if (!error && job->count == before)
		return error_set(-ENOENT, "'%s' has no recordings: their names end with .duet",
				 folder);
	return error;
}

static int add_operand(struct series_job *job, const char *operand)
{
	struct stat about;

	if (stat(operand, &about) == 0 && S_ISDIR(about.st_mode))
		return add_folder(job, operand);
	return add_file(job, NULL, operand);
}

/* ---- dates ----------------------------------------------------------------------------------- */

static uint64_t date_of(const struct model *model)
{
	const struct event_host *hosts;
	const size_t count = model_entities(model, EVENT_HOST, &hosts);
	uint64_t begin_ns = UINT64_MAX, realtime_ns;

	for (size_t i = 0; i < count; i++)
		if (hosts[i].begin_ns < begin_ns)
			begin_ns = hosts[i].begin_ns;
	if (!count || !model_wall_clock(model, begin_ns, &realtime_ns))
		return 0;
	return realtime_ns;
}

static int skip_file(struct series_job *job, const struct series_file *file)
{
	return array_append(job->skipped, job->skipped_capacity, job->skipped_count, file->path);
}

/* A file that cannot be opened is reported here and has no place in the order. */
static int read_date(struct series_job *job, struct series_file *file)
{
	struct model *model = NULL;
	struct stat about;
	const int error = model_open(file->path, &model);

	if (error) {
		if (!*error_text())
			error_set(error, "read '%s': %s", file->path, strerror(-error));
		print_error(job->command->name, NULL);
		return skip_file(job, file);
	}
	file->realtime_ns = file->order_ns = date_of(model);
	if (!file->order_ns && stat(file->path, &about) == 0 && about.st_mtim.tv_sec > 0)
		file->order_ns = (uint64_t)about.st_mtim.tv_sec * UINT64_C(1000000000) +
				 (uint64_t)about.st_mtim.tv_nsec;
	model_close(model);
	return 0;
}

static int compare_files(const void *left, const void *right)
{
	const struct series_file *a = left, *b = right;

	if (a->order_ns != b->order_ns)
		return a->order_ns < b->order_ns ? -1 : 1;
	return strverscmp(a->path, b->path);
}

static int read_dates(struct series_job *job)
{
	int error = 0;

	for (size_t i = 0; i < job->count && !error; i++)
		error = read_date(job, &job->files[i]);
	if (!error && job->count)
		qsort(job->files, job->count, sizeof(*job->files), compare_files);
	return error;
}

/* ---- recordings ------------------------------------------------------------------------------ */

static bool is_skipped(const struct series_job *job, const struct series_file *file)
{
	for (size_t i = 0; i < job->skipped_count; i++)
		if (job->skipped[i] == file->path)
			return true;
	return false;
}

static int add_recording(struct series_job *job, const struct series_file *file)
{
	const struct series_request *request = job->request;
	const struct sides_request wanted = {.device = request->device,
					     .range = request->is_per_iteration ? "iteration"
										: request->range};
	const char *path = file->path;
	struct compare_sides sides;
	int error, status;

	status = compare_sides_read(job->command, &path, 1, &wanted, &sides);
	error = status == STATUS_DONE ? history_add(job->history, sides.runs[0], file->realtime_ns)
				      : skip_file(job, file);
	compare_sides_fini(&sides);
	return error;
}

static int read_recordings(struct series_job *job)
{
	const struct history_options options = {.map = job->map,
						.alpha = job->request->alpha,
						.is_per_iteration = job->request->is_per_iteration};
	int error = history_new(&options, &job->history);

	for (size_t i = 0; i < job->count && !error; i++)
		if (!is_skipped(job, &job->files[i]))
			error = add_recording(job, &job->files[i]);
	return error ? error : history_finish(job->history);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The locale by its environment variables, as setlocale reads them. */
static bool is_utf8_locale(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

static int print_series(const struct series_job *job)
{
	const struct series_report report = {.history = job->history,
					     .skipped = job->skipped,
					     .skipped_count = job->skipped_count,
					     .range = job->request->range,
					     .top = job->request->top,
					     .columns = terminal_columns(),
					     .is_ascii = !is_utf8_locale()};
	struct json_writer json;
	int status = STATUS_DONE;

	progress_stop();
	if (job->request->html)
		status = series_html_write(job->command, &report, job->request->html);
	if (status != STATUS_DONE)
		return status;
	if (!job->request->is_json) {
		series_print_text(&report);
		return STATUS_DONE;
	}
	json_init_file(&json, stdout);
	series_write_json(&report, &json);
	putchar('\n');
	return json_error(&json) == -ENOMEM ? print_no_memory(job) : STATUS_DONE;
}

/* The page must not replace a recording. */
static int check_page(const struct series_job *job)
{
	int error = 0;

	for (size_t i = 0; i < job->count && !error; i++)
		error = selection_check_output(job->request->html, job->files[i].path);
	return error ? print_failure(job->command) : STATUS_DONE;
}

static int run_job(struct series_job *job, const char *const *operands, int count)
{
	int status;

	if (job->request->map && match_map_read(job->request->map, &job->map)) {
		print_error(job->command->name, NULL);
		return STATUS_USAGE;
	}
	for (int i = 0; i < count; i++)
		if (add_operand(job, operands[i])) {
			print_error(job->command->name, NULL);
			return STATUS_USAGE;
		}
	status = check_page(job);
	if (status != STATUS_DONE)
		return status;
	if (read_dates(job) || read_recordings(job))
		return print_no_memory(job);
	if (!job->history->count) {
		print_error(job->command->name, "no recording can be read");
		return STATUS_USAGE;
	}
	return print_series(job);
}

int series_run(const struct cli_command *command, const struct series_request *request,
	       const char *const *operands, int count)
{
	struct series_job job = {.command = command, .request = request};
	int status;

	if (!count)
		return usage_error(command, "--series needs a folder or files");
	status = run_job(&job, operands, count);
	history_free(job.history);
	match_map_free(job.map);
	for (size_t i = 0; i < job.count; i++)
		free(job.files[i].path);
	free(job.files);
	free(job.skipped);
	return status;
}
