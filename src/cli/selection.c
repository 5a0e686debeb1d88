/* SPDX-License-Identifier: MIT
 *
 * cli/selection.c - open the trace, and check the window, processes and device that the command
 * line selects
 *
 * Runs in:  our own process
 * Gets:     the values of the options
 * Gives:    an open model, a device, or a message and a status
 * Owns:     nothing
 * Fails:    with the statuses of the other verbs
 * Why one place for all commands: `flame -o X X` once overwrote its trace, because only `duet
 *           export` checked whether the output is the trace
 */
#include "cli/selection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/error.h"
#include "report/table.h"

enum { MAX_PROCESSES = 16 }; /* in a message */

int selection_explain(const char *path, int error)
{
	if (error != -ENOENT || strcmp(path, SELECTION_FILE) != 0)
		return error;
	return error_set(error,
			 "%s does not exist: record first (duet record -- PROGRAM), or name a "
			 "trace",
			 SELECTION_FILE);
}

int selection_open(const char *path, struct model **ret_model)
{
	int error = model_open(path, ret_model);

	return error ? selection_explain(path, error) : 0;
}

int selection_check_output(const char *output, const char *trace)
{
	struct stat first, second;

	if (!output || stat(output, &first) != 0 || stat(trace, &second) != 0 ||
	    first.st_dev != second.st_dev || first.st_ino != second.st_ino)
		return 0;
	return error_set(-EINVAL, "'%s' is the trace itself: write to another file", output);
}

int selection_check_window(const struct cli_command *command, uint64_t from_ns, uint64_t length_ns)
{
	char text[128];

	if (!from_ns || from_ns < length_ns)
		return STATUS_DONE;
	snprintf(text, sizeof(text), "--from %s is not inside the recording, which is %s long",
		 format_duration(from_ns).text, format_duration(length_ns).text);
	print_error(command->name, text);
	return STATUS_FAILED;
}

void selection_print_processes(const struct model *model)
{
	const struct event_process *processes;
	size_t count = model_entities(model, EVENT_PROCESS, &processes);

	fprintf(stderr, "Processes:%s\n", count ? "" : " none");
	for (size_t i = 0; i < count && i < MAX_PROCESSES; i++) {
		char rank[48];

		analysis_rank_text(&processes[i], rank, sizeof(rank));
		fprintf(stderr, "  %" PRIu32 "  %s%s%s\n", processes[i].pid,
			format_text(
				model_text(model, processes[i].name_string, "[unknown process]"))
				.text,
			*rank ? ", " : "", rank);
	}
	if (count > MAX_PROCESSES)
		fprintf(stderr, "  … %zu more (duet info lists them)\n", count - MAX_PROCESSES);
}

int selection_choose_processes(const struct cli_command *command, struct model *model,
			       const char *pids, const char *ranks, const char *path,
			       struct process_choice **ret_choice)
{
	int error = model_choose(model, pids, ranks, ret_choice), status;

	if (error != -EINVAL && error != -ENOENT) {
		if (error)
			print_error(command->name, "out of memory");
		return error ? STATUS_FAILED : STATUS_DONE;
	}
	if (error == -EINVAL)
		return usage_error(command, "%s", error_text());
	status = usage_error(command, "%s in %s", error_text(), path);
	selection_print_processes(model);
	return status;
}

static bool is_device(const struct analysis_device *device, size_t index, const char *wanted)
{
	char *end;
	unsigned long long number;

	if (strcmp(device->key, wanted) == 0 || strcasecmp(device->name, wanted) == 0)
		return true;
	number = strtoull(wanted, &end, 10);
	return *wanted >= '0' && *wanted <= '9' && !*end && number == index;
}

int selection_find_device(const struct cli_command *command, const struct analysis *analysis,
			  const char *wanted, const char *path, size_t *ret_device)
{
	size_t shown = analysis_devices_shown(analysis);
	int status;

	*ret_device = SELECTION_ALL_DEVICES;
	if (!wanted)
		return STATUS_DONE;
	for (size_t i = 0; i < shown; i++) {
		if (is_device(&analysis->devices[i], i, wanted)) {
			*ret_device = i;
			return STATUS_DONE;
		}
	}
	status = usage_error(command, "no device '%s' in %s", wanted, path);
	fprintf(stderr, "Devices:%s\n", shown ? "" : " none");
	for (size_t i = 0; i < shown; i++)
		fprintf(stderr, "  %zu  %s  %s\n", i, format_text(analysis->devices[i].name).text,
			format_text(analysis->devices[i].key).text);
	return status;
}
