/* SPDX-License-Identifier: MIT
 *
 * import/iaprof/forms.c - the forms of iaprof profiles that no current program writes
 *
 * Runs in:  our own process
 * Gets:     the fields of a line in form article, v0.5.0 or tiber (docs/design/iaprof.md)
 * Gives:    texts with numbers, instruction samples
 * Owns:     nothing; the state is that of the import
 * Fails:    -EBADMSG with a text, -ENOMEM
 * Why apart from iaprof.c: iaprof was rewritten in 2026 and has written only form head since then.
 *           Old recordings are still readable, but none of these forms was tested with a profile of
 *           real hardware.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "import/iaprof/line.h"
#include "import/iaprof/private.h"
#include "import/source.h"
#include "import/target.h"

/* ---- form article, 'KEY;…' ------------------------------------------------------------------- */

/* Stall reasons by number; 0 is used for any other reason. */
static const char *const reasons[] = {"",         "active", "control", "pipestall",  "send",
				      "dist_acc", "sbid",   "sync",    "inst_fetch", "tdr"};

static int take_ustack(struct iaprof_import *iaprof, char **fields)
{
	return iaprof_import_define(iaprof, IAPROF_NUMBERS_USTACK, fields[1], fields[2]);
}

static int take_kstack(struct iaprof_import *iaprof, char **fields)
{
	return iaprof_import_define(iaprof, IAPROF_NUMBERS_KSTACK, fields[1], fields[2]);
}

static int take_file(struct iaprof_import *iaprof, char **fields)
{
	return iaprof_import_define(iaprof, IAPROF_NUMBERS_FILE, fields[1], fields[2]);
}

static int take_symbol(struct iaprof_import *iaprof, char **fields)
{
	return iaprof_import_define(iaprof, IAPROF_NUMBERS_SYMBOL, fields[1], fields[2]);
}

static int take_text(struct iaprof_import *iaprof, char **fields)
{
	return iaprof_import_define(iaprof, IAPROF_NUMBERS_TEXT, fields[1], fields[2]);
}

/* Only checks the line: the samples repeat its fields. */
static int take_process(struct iaprof_import *iaprof, char **fields)
{
	uint32_t comm, pid;
	int error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[1], &comm);

	return error ? error : iaprof_import_parse_pid(iaprof, fields[2], &pid);
}

static int take_described(struct iaprof_import *iaprof, char **fields)
{
	struct iaprof_origin place = {0};
	uint64_t reason = 0, offset, count;
	uint32_t stall;
	int error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[1], &place.comm);

	if (!error)
		error = iaprof_import_parse_pid(iaprof, fields[2], &place.pid);
	if (!error)
		error = iaprof_import_find_text(iaprof, IAPROF_NUMBERS_USTACK, fields[3],
						&place.ustack);
	if (!error)
		error = iaprof_import_find_text(iaprof, IAPROF_NUMBERS_KSTACK, fields[4],
						&place.kstack);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_FILE, fields[5],
						&place.file);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_SYMBOL, fields[6],
						&place.symbol);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_TEXT, fields[7],
						&place.text);
	if (!error)
		error = iaprof_line_number(iaprof->source, "a stall type", fields[8],
					   ARRAY_COUNT(reasons) - 1, &reason);
	if (!error)
		error = iaprof_line_offset(iaprof->source, fields[9], &offset);
	if (!error)
		error = iaprof_import_parse_count(iaprof, fields[10], &count);
	if (!error)
		error = import_target_text(iaprof->target, reasons[reason], &stall);
	return error ? error : iaprof_import_add_row(iaprof, &place, stall, offset, count);
}

/* ---- form v0.5.0: one line per sample, with all its fields ----------------------------------- */

int iaprof_import_take_whole(struct iaprof_import *iaprof, char **fields)
{
	struct iaprof_origin place = {0};
	uint64_t is_debug = 0, is_system = 0, offset, count;
	uint32_t reason = 0, stall;
	int error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[1], &place.comm);

	if (!error)
		error = iaprof_import_parse_pid(iaprof, fields[2], &place.pid);
	if (!error)
		error = iaprof_import_find_text(iaprof, IAPROF_NUMBERS_STRING, fields[3],
						&place.ustack);
	if (!error)
		error = iaprof_import_find_text(iaprof, IAPROF_NUMBERS_STRING, fields[4],
						&place.kstack);
	if (!error)
		error = iaprof_line_number(iaprof->source, "is_debug", fields[5], 1, &is_debug);
	if (!error)
		error = iaprof_line_number(iaprof->source, "is_sys", fields[6], 1, &is_system);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[7],
						&place.file);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[8],
						&place.symbol);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[9],
						&place.text);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[10], &reason);
	if (!error)
		error = iaprof_line_offset(iaprof->source, fields[11], &offset);
	if (!error)
		error = iaprof_import_parse_count(iaprof, fields[12], &count);
	if (!error)
		error = iaprof_import_intern_name(iaprof, reason, IAPROF_NO_REASON, &stall);
	if (!error)
		error = iaprof_import_add_row(iaprof, &place, stall, offset, count);
	iaprof->routines += !error && (is_debug || is_system);
	return error;
}

/* ---- form tiber: a state line is valid until the next of its kind ---------------------------- */

static int take_state(struct iaprof_import *iaprof, char **fields)
{
	struct iaprof_origin *now = &iaprof->now;
	const char *word = fields[0];
	uint64_t type;

	if (strcmp(word, "proc_name") == 0)
		return iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[1],
					       &now->comm);
	if (strcmp(word, "pid") == 0)
		return iaprof_import_parse_pid(iaprof, fields[1], &now->pid);
	if (strcmp(word, "ustack") == 0)
		return iaprof_import_find_text(iaprof, IAPROF_NUMBERS_STRING, fields[1],
					       &now->ustack);
	if (strcmp(word, "kstack") == 0)
		return iaprof_import_find_text(iaprof, IAPROF_NUMBERS_STRING, fields[1],
					       &now->kstack);
	if (strcmp(word, "gpu_file") == 0)
		return iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[1],
					       &now->file);
	if (strcmp(word, "gpu_symbol") == 0)
		return iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[1],
					       &now->symbol);
	if (strcmp(word, "insn_text") == 0)
		return iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[1],
					       &now->text);
	if (iaprof_line_number(iaprof->source, "a shader type", fields[1], 3, &type))
		return -EBADMSG;
	iaprof->routines += type > 1;
	return 0;
}

static int take_sample(struct iaprof_import *iaprof, char **fields)
{
	uint64_t whole, offset, count;
	uint32_t reason = 0, stall;
	int error = iaprof_line_number(iaprof->source, "the number of a stack", fields[1],
				       UINT64_MAX, &whole);

	if (iaprof->unknown & ~(unsigned int)IAPROF_STATE_KERNEL)
		return import_source_fail(iaprof->source,
					  "valid state lines before it (one was left out)", NULL);
	if (!error)
		error = iaprof_import_find_name(iaprof, IAPROF_NUMBERS_STRING, fields[2], &reason);
	if (!error)
		error = iaprof_line_offset(iaprof->source, fields[3], &offset);
	if (!error)
		error = iaprof_import_parse_count(iaprof, fields[4], &count);
	if (!error)
		error = iaprof_import_intern_name(iaprof, reason, IAPROF_NO_REASON, &stall);
	return error ? error : iaprof_import_add_row(iaprof, &iaprof->now, stall, offset, count);
}

static int take_interval_end(struct iaprof_import *iaprof, char **fields)
{
	uint64_t number;

	return iaprof_line_number(iaprof->source, "the number of an interval", fields[1],
				  UINT64_MAX, &number);
}

/* ---- lines ----------------------------------------------------------------------------------- */

const struct iaprof_line_form iaprof_old_forms[] = {
	{"STRING", ';', 3, true, 0, iaprof_import_take_string},
	{"PROC_NAME", ';', 3, false, 0, take_process},
	{"USTACK", ';', 3, true, 0, take_ustack},
	{"KSTACK", ';', 3, true, 0, take_kstack},
	{"GPU_FILE", ';', 3, true, 0, take_file},
	{"GPU_SYMBOL", ';', 3, true, 0, take_symbol},
	{"INSN_TEXT", ';', 3, true, 0, take_text},
	{"EUSTALL", ';', 11, false, 0, take_described},
	{"e", '\t', 5, false, 0, take_sample},
	{"proc_name", '\t', 2, false, IAPROF_STATE_COMM, take_state},
	{"pid", '\t', 2, false, IAPROF_STATE_PID, take_state},
	{"ustack", '\t', 2, false, IAPROF_STATE_USTACK, take_state},
	{"kstack", '\t', 2, false, IAPROF_STATE_KSTACK, take_state},
	{"shader_type", '\t', 2, false, IAPROF_STATE_SHADER, take_state},
	{"gpu_file", '\t', 2, false, IAPROF_STATE_FILE, take_state},
	{"gpu_symbol", '\t', 2, false, IAPROF_STATE_SYMBOL, take_state},
	{"insn_text", '\t', 2, false, IAPROF_STATE_TEXT, take_state},
	{"interval_start", '\t', 3, false, 0, iaprof_import_take_interval},
	{"interval_end", '\t', 2, false, 0, take_interval_end},
	{.word = NULL},
};
