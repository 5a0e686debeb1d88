/* SPDX-License-Identifier: MIT
 *
 * import/iaprof/iaprof.c - import profiles of Intel's iaprof: samples of device instructions, by
 * stall reason, with the stacks that launched them
 *
 * Runs in:  our own process
 * Gets:     lines in any of the four forms of the format (docs/design/iaprof.md)
 * Gives:    an instruction sample for each line or for each of its counts; counters of metrics
 * Owns:     the texts that lines define, and their numbers
 * Fails:    if no line is valid, or if bad lines leave no sample; a single bad line is reported
 *           with its number and left out
 * Why the form is detected per line: no form has a header, and no two forms have the same sample
 *           line. So two recordings in one file, even in two forms, are read as two recordings.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/iaprof/line.h"
#include "import/iaprof/private.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"

/* ---- form head: a kernel, then its instructions with a count per reason ---------------------- */

static int take_counts(struct iaprof_import *iaprof, char **fields)
{
	static const char *const columns[] = {"active",   "control", "pipestall", "send",
					      "dist_acc", "sbid",    "sync",      "inst_fetch",
					      "other",    "tdr"};
	struct iaprof_origin place = iaprof->now;
	uint64_t offset, counts[ARRAY_COUNT(columns)], sum = 0;
	uint32_t stall;
	int error = iaprof_line_offset(iaprof->source, fields[1], &offset);

	if (!iaprof->has_kernel || (iaprof->unknown & IAPROF_STATE_KERNEL))
		return import_source_fail(iaprof->source, "a valid line 'kernel' before it", NULL);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[2],
						&place.text);
	for (size_t i = 0; i < ARRAY_COUNT(columns) && !error; i++) {
		error = iaprof_import_parse_count(iaprof, fields[3 + i], &counts[i]);
		if (!error && counts[i] > IAPROF_MAX_COUNT - sum)
			error = iaprof_import_parse_count(iaprof, "the sum of the counts",
							  &counts[i]);
		sum += error ? 0 : counts[i];
	}
	if (!error && sum > IAPROF_MAX_COUNT - iaprof->samples)
		return iaprof_import_add_row(iaprof, &place, 0, offset,
					     sum); /* it sets the error */
	for (size_t i = 0; i < ARRAY_COUNT(columns) && !error; i++) {
		error = import_target_text(iaprof->target, columns[i], &stall);
		if (!error)
			error = iaprof_import_add_row(iaprof, &place, stall, offset, counts[i]);
	}
	return error;
}

static int take_eustall(struct iaprof_import *iaprof, char **fields)
{
	bool is_offset = strncmp(fields[1], "0x", 2) == 0;

	return is_offset ? take_counts(iaprof, fields) : iaprof_import_take_whole(iaprof, fields);
}

/* Names a kernel without a symbol by its address, as form tiber does. */
static int name_kernel(struct iaprof_import *iaprof, uint64_t address, struct iaprof_origin *place)
{
	char name[24];

	if (*string_table_text(&iaprof->texts, place->symbol, NULL))
		return 0;
	snprintf(name, sizeof(name), "0x%" PRIx64, address);
	place->symbol = address ? string_table_add(&iaprof->texts, name, strlen(name)) : 0;
	return place->symbol || !address ? 0 : -ENOMEM;
}

static int take_kernel(struct iaprof_import *iaprof, char **fields)
{
	struct iaprof_origin place = {0};
	uint64_t address;
	int error = iaprof_line_offset(iaprof->source, fields[1], &address);

	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[2],
						&place.comm);
	if (!error)
		error = iaprof_import_parse_pid(iaprof, fields[3], &place.pid);
	if (!error)
		error = iaprof_import_find_text(iaprof, IAPROF_NUMBERS_STRING, fields[4],
						&place.ustack);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[5],
						&place.file);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[6],
						&place.symbol);
	if (!error)
		error = name_kernel(iaprof, address, &place);
	if (error)
		return error;
	iaprof->now = place;
	iaprof->has_kernel = true;
	return 0;
}

/* ---- intervals and metrics ------------------------------------------------------------------- */

static int add_clock(struct iaprof_import *iaprof, uint64_t mhz)
{
	struct event_counter row = {
		.begin = iaprof->begin_ns, .end = iaprof->end_ns, .value = (int64_t)mhz * 1000000};
	int error = import_target_series(iaprof->target, "gpu.clock", "Hz", SERIES_LEVEL,
					 iaprof->device, &row.series);

	return error ? error : import_target_counter(iaprof->target, &row);
}

/* Adds busy time as a part of the interval, or of 100 if the file has no times. */
static int add_busy(struct iaprof_import *iaprof, uint64_t percent)
{
	uint64_t all = iaprof->end_ns - iaprof->begin_ns;
	struct event_counter row = {
		.begin = iaprof->begin_ns, .end = iaprof->end_ns, .of = all ? all : 100};
	int error = import_target_series(iaprof->target, "gpu.busy", "ns", SERIES_RATIO,
					 iaprof->device, &row.series);

	row.value = (int64_t)((unsigned __int128)row.of * percent / 100);
	return error ? error : import_target_counter(iaprof->target, &row);
}

static int take_metric(struct iaprof_import *iaprof, char **fields)
{
	bool is_clock = strcmp(fields[1], "frequency-MHz") == 0;
	uint64_t value;
	int error = iaprof_line_number(iaprof->source, "the value of a metric", fields[2], 1000000,
				       &value);

	if (error)
		return error;
	if (!is_clock && strcmp(fields[1], "busy-percent") != 0)
		return import_source_fail(iaprof->source, "frequency-MHz or busy-percent",
					  fields[1]);
	error = iaprof_import_find_device(iaprof);
	if (error)
		return error;
	iaprof->counted++;
	return is_clock ? add_clock(iaprof, value) : add_busy(iaprof, value);
}

static int take_frame(struct iaprof_import *iaprof, char **fields)
{
	iaprof->frames++;
	return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct iaprof_line_form forms[] = {
	{"string", '\t', 3, true, 0, iaprof_import_take_string},
	{"eustall", '\t', 13, false, 0, take_eustall},
	{"kernel", '\t', 7, false, IAPROF_STATE_KERNEL, take_kernel},
	{"interval", '\t', 3, false, 0, iaprof_import_take_interval},
	{"metric", '\t', 3, false, 0, take_metric},
	{"frame", '\t', 1, false, 0, take_frame},
	{.word = NULL},
};

static const struct iaprof_line_form *const form_lists[] = {forms, iaprof_old_forms};

static const struct iaprof_line_form *find_form(const char *line)
{
	for (size_t list = 0; list < ARRAY_COUNT(form_lists); list++) {
		for (const struct iaprof_line_form *form = form_lists[list]; form->word; form++) {
			size_t length = strlen(form->word);

			if (strncmp(line, form->word, length) == 0 &&
			    (line[length] == form->separator || !line[length]))
				return form;
		}
	}
	return NULL;
}

/* Whether an invalid line is one whose tabs an editor or a terminal has replaced by blanks. */
static bool has_blanks(const char *line)
{
	for (size_t list = 0; list < ARRAY_COUNT(form_lists); list++) {
		for (const struct iaprof_line_form *form = form_lists[list]; form->word; form++) {
			size_t length = strlen(form->word);

			if (form->separator == '\t' && strncmp(line, form->word, length) == 0 &&
			    line[length] == ' ')
				return true;
		}
	}
	return false;
}

static int take_line(struct iaprof_import *iaprof, char *line, size_t length)
{
	const struct iaprof_line_form *form = find_form(line);
	char *fields[MAX_IAPROF_FIELDS], expected[64];
	size_t count;
	int error;

	if (form) /* cleared once the line is valid */
		iaprof->unknown |= form->says;
	if (strlen(line) != length)
		return import_source_fail(iaprof->source, "text", "a byte of 0");
	if (!form && has_blanks(line))
		return import_source_fail(
			iaprof->source,
			"a tab between fields (were the file's tabs replaced by blanks?)", line);
	if (!form)
		return import_source_fail(iaprof->source,
					  "a line of iaprof, such as 'string' or 'eustall'", line);
	count = iaprof_line_cut(line, form->separator, form->fields + !form->has_text, fields);
	if (count != form->fields) {
		snprintf(expected, sizeof(expected), "%zu fields in a line '%s'", form->fields,
			 form->word);
		return import_source_fail(iaprof->source, expected,
					  count < form->fields ? "fewer" : "more");
	}
	error = form->take(iaprof, fields);
	if (!error)
		iaprof->unknown &= ~form->says;
	iaprof->lines += !error;
	return error;
}

/* Fails for a file without a valid line, and for one without a readable sample. */
static int check_lines(struct iaprof_import *iaprof)
{
	if (iaprof->lines)
		return import_faults_end(&iaprof->faults, iaprof->counted, "sample");
	return error_set(-EBADMSG, "the file has no line of an iaprof profile%s%s",
			 *iaprof->faults.first ? ": " : " (the file is empty)",
			 iaprof->faults.first);
}

static int read_lines(struct iaprof_import *iaprof)
{
	size_t length;
	char *line;
	int status, error = 0;

	while (!error && (status = import_source_line(iaprof->source, &line, &length)) != 0) {
		if (status < 0) {
			error = import_faults_add_unread(&iaprof->faults, iaprof->source, status);
			continue;
		}
		error = length ? take_line(iaprof, line, length) : 0;
		if (error)
			error = import_faults_add(&iaprof->faults, error);
	}
	return error ? error : check_lines(iaprof);
}

static void add_notes(struct iaprof_import *iaprof)
{
	struct import_target *target = iaprof->target;

	import_target_note_count(target, iaprof->again, "number", "numbers",
				 "redefined by a later line, which is valid from there on");
	import_target_note_count(target, iaprof->cut_stacks, "stack", "stacks",
				 "with more than 512 frames; the middle frames are left out");
	import_target_note_count(target, iaprof->routines, "line", "lines",
				 "for system routines or debug areas, recognized only by name");
	import_target_note_count(
		target, iaprof->anew, "time", "times",
		"before that of the previous interval: another recording starts there");
	import_target_note_count(target, iaprof->frames, "line", "lines", "'frame' left out");
	import_target_note(
		target,
		"no device commands, no times of commands, no threads, no sampling period%s",
		iaprof->has_times
			? "; a sample lies in the interval that ends at its timestamp; the "
			  "first interval is assumed to be 10 ms"
			: "; no times");
}

static int read_iaprof(struct import_source *source, struct import_target *target)
{
	struct iaprof_import iaprof = {
		.source = source, .target = target, .faults = {target, "line", "lines"}};
	int error;

	for (size_t i = 0; i < IAPROF_NUMBERS_COUNT; i++)
		hash_map_init(&iaprof.ids[i]);
	error = read_lines(&iaprof);
	if (!error)
		add_notes(&iaprof);
	for (size_t i = 0; i < IAPROF_NUMBERS_COUNT; i++)
		hash_map_fini(&iaprof.ids[i]);
	hash_map_fini(&iaprof.stacks);
	string_table_fini(&iaprof.texts);
	return error;
}

static bool recognize_iaprof(const struct import_probe *probe)
{
	return find_form(probe->text) != NULL;
}

const struct importer import_iaprof = {
	.name = "iaprof",
	.help = "profiles of Intel's profiler iaprof, any version: samples of GPU instructions "
		"with stacks",
	.read = read_iaprof,
	.recognize = recognize_iaprof,
};
