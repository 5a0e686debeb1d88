/* SPDX-License-Identifier: MIT
 *
 * import/folded.c - import folded stacks: one line per stack, frames from the root separated by
 * ';', then a count
 *
 * Runs in:  our own process
 * Gets:     lines
 * Gives:    a CPU sample per line; its weight is the count
 * Owns:     nothing
 * Fails:    a file without a valid line; bad lines among others are left out and reported
 * Why frames of device code become frames of CPU samples and no commands: a line contains neither
 *           the command of a device nor its time
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "import/faults.h"
#include "import/formats.h"
#include "import/frame.h"
#include "import/probe.h"
#include "import/source.h"
#include "import/target.h"

/* Whether `duet flame` wrote this frame for device activity ("_[G]", "_[g]") or as the separator
 * ("-") between host and device. */
static bool is_of_device(const char *frame)
{
	size_t length = strlen(frame);

	return strcmp(frame, "-") == 0 || (length > 4 && (strcmp(frame + length - 4, "_[G]") == 0 ||
							  strcmp(frame + length - 4, "_[g]") == 0));
}

/* Parses the count at the end of the line and cuts it off. */
static int take_count(const struct import_source *source, char *line, size_t length,
		      uint64_t *ret_count)
{
	char *blank = strrchr(line, ' '), *end;

	if (strlen(line) != length)
		return import_source_fail(source, "text", "a byte of 0");
	if (!blank || blank == line)
		return import_source_fail(source, "frames, one blank and a count", line);
	if (!isdigit((unsigned char)blank[1]))
		return import_source_fail(source, "a whole number at the end", blank + 1);
	errno = 0;
	*ret_count = strtoull(blank + 1, &end, 10);
	if (*end || errno)
		return import_source_fail(source, "a whole number at the end", blank + 1);
	*blank = 0;
	return 0;
}

static int read_stack(const struct import_source *source, struct import_target *target, char *line,
		      uint32_t *ret_stack, bool *has_device)
{
	char *rest = line, *frame;
	int error = 0;

	*ret_stack = 0;
	while (!error && (frame = strsep(&rest, ";"))) {
		if (!*frame)
			return import_source_fail(source, "a frame between two ';'", NULL);
		*has_device |= is_of_device(frame);
		error = import_frame_push(target, frame, FRAME_NATIVE, ret_stack);
	}
	return error;
}

static int read_folded(struct import_source *source, struct import_target *target)
{
	struct import_faults faults = {target, "line", "lines"};
	struct event_cpu_sample row = {0};
	bool has_device = false;
	uint64_t samples = 0;
	size_t length;
	uint32_t process;
	char *line;
	int status, error = import_target_process(target, "", 0, "[imported]", &process);

	if (!error)
		error = import_target_thread(target, process, 0, "", &row.thread);
	if (!error)
		error = import_target_text(target, "samples", &row.source_string);
	while (!error && (status = import_source_line(source, &line, &length)) != 0) {
		if (status < 0) {
			error = import_faults_add_unread(&faults, source, status);
			continue;
		}
		if (!length)
			continue;
		error = take_count(source, line, length, &row.weight);
		if (!error)
			error = read_stack(source, target, line, &row.stack, &has_device);
		if (error) {
			error = import_faults_add(&faults, error);
			continue;
		}
		error = import_target_sample(target, &row);
		row.time++;
		samples++;
	}
	if (!error)
		error = import_faults_end(&faults, samples, "line");
	import_target_note(target, "no times (a line is a sample, 1 ns after the previous one), no "
				   "threads, no processes, no unit of the counts");
	if (has_device)
		import_target_note(target,
				   "device activity is imported as frames, not as commands");
	return error;
}

/* Whether a line is "FRAME;FRAME COUNT". */
static bool is_stack(const char *line, size_t length)
{
	size_t digits = 0;

	while (digits < length && isdigit((unsigned char)line[length - digits - 1]))
		digits++;
	return digits && length > digits + 1 && line[length - digits - 1] == ' ';
}

/* Whether the first line and most others are stacks, and one has a caller. */
static bool recognize_folded(const struct import_probe *probe)
{
	size_t stacks = 0, others = 0, callers = 0;

	for (const char *line = probe->text, *end; *line; line = end + (*end != '\0')) {
		size_t length = strcspn(line, "\r\n");
		bool is_cut;

		end = line + strcspn(line, "\n");
		is_cut = !*end && import_probe_is_cut(probe);
		if (!length || is_cut)
			continue;
		if (is_stack(line, length))
			stacks++;
		else
			others++;
		callers += memchr(line, ';', length) != NULL;
		if (!stacks)
			return false;
	}
	return stacks > others && callers;
}

const struct importer import_folded = {
	.name = "folded",
	.help = "folded stacks, lines of FRAME;FRAME COUNT, from stackcollapse scripts or duet "
		"flame",
	.read = read_folded,
	.recognize = recognize_folded,
};
