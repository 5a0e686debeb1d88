/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/side_idle.c - the idle time of each device by cause and function
 *
 * Runs in:  our own process
 * Gets:     the causes that the verdict finds in the whole window
 * Gives:    rows whose values add up to the idle time of their device
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why the names have no line, thread or holder: a line that moved and a thread with another number
 *           are the same cause in the next build. Labels have them.
 */
#include "analyze/compare/side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/compare/batches.h"
#include "analyze/frames.h"
#include "analyze/text/name_pattern.h"
#include "analyze/verdict/verdict.h"
#include "base/number.h"
#include "base/string.h"

/* "file_read" -> "file read" */
static void append_words(struct string_builder *text, const char *name)
{
	for (; *name; name++)
		string_builder_append_char(text, *name == '_' ? ' ' : *name);
}

static void append_place(struct string_builder *text, const char *word,
			 const struct verdict_place *place, bool has_line)
{
	if (!place->function)
		return;
	string_builder_appendf(text, "%s%s%.300s", text->length && *word != ';' ? " " : "", word,
			       place->function);
	if (has_line && place->file && place->line)
		string_builder_appendf(text, " (%.200s:%u)", path_base(place->file), place->line);
}

/* A wait for a lock whose holder is not known is a wait for a lock too. Outside of the commands, a
 * state without a place and an object is not known to be blocked. */
static enum verdict_kind event_of(const struct verdict_cause *cause)
{
	if (cause->kind == VERDICT_THREAD_WAIT && cause->own_kind == VERDICT_LOCK)
		return VERDICT_LOCK;
	if (cause->kind == VERDICT_BLOCKED && cause->cause == CAUSE_NOTHING_TO_DO &&
	    !cause->place.function && !*cause->what)
		return VERDICT_UNKNOWN;
	return cause->kind;
}

/* Whether the object of a wait is part of the event, as a file is. */
static bool has_object(const struct verdict_cause *cause, enum verdict_kind event)
{
	return cause->cause == CAUSE_BLOCKED && event != VERDICT_SLEEP && event != VERDICT_LOCK &&
	       event != VERDICT_PYTHON_GIL && event != VERDICT_THREAD_WAIT;
}

/* The event in a name: "clFinish", "preempted by stress", "lock". The file or disk of a wait is in
 * the label only: it is not known for each wait. */
static void append_event(struct string_builder *text, const struct verdict_cause *cause,
			 bool is_label)
{
	const enum verdict_kind event = event_of(cause);
	char what[NAME_PATTERN_BYTES];

	name_pattern(cause->what, what);
	if (verdict_is_call(event) && *cause->what) {
		string_builder_appendf(text, "%.200s", cause->what);
		if (event == VERDICT_COMMAND_BUFFER_FULL)
			string_builder_append(text, ", command buffer full,");
		return;
	}
	append_words(text, verdict_kind_name(event));
	if (event == VERDICT_PREEMPTED && *what)
		string_builder_appendf(text, " by %s", what);
	else if (*what && has_object(cause, event) && (is_label || event == VERDICT_BLOCKED))
		string_builder_appendf(text, ", %s,", what);
}

/* Before the first command and after the last one, a program is in a hundred places once each. They
 * are rows by event, so that the loop's rows are not tests among hundreds. */
static void append_name(struct string_builder *text, const struct verdict_cause *cause,
			bool is_label)
{
	const bool is_outside = cause->cause == CAUSE_NOTHING_TO_DO;

	append_event(text, cause, is_label);
	if (is_outside)
		string_builder_append(text, cause->is_after ? " after the last command"
							    : " before the first command");
	if (is_label || !is_outside)
		append_place(text,
			     is_outside                     ? "; most of it in "
			     : verdict_is_call(cause->kind) ? "called from "
							    : "in ",
			     &cause->place, is_label);
	if (is_label && cause->other.function && event_of(cause) == VERDICT_LOCK)
		append_place(text, "held in ", &cause->other, true);
	else if (is_label && cause->other.function)
		append_place(text, "for ", &cause->other, true);
}

static int add_row(struct side_maker *maker, size_t device, enum account_cause cause,
		   const char *name, const char *label, uint64_t ns)
{
	const struct side_row key = {
		.name = name, .device = maker->devices[device], .scope = cause};
	struct side_row *row;
	int error = side_find_row(maker->side, COMPARE_IDLE, &key, &row);

	if (error)
		return error;
	if (!row->label) /* causes come with the longest first */
		row->label = side_text(maker->side, label);
	row->group = account_cause_text(cause);
	row->value += ns;
	return row->label ? 0 : -ENOMEM;
}

static int add_cause(struct side_maker *maker, size_t device, const struct verdict_cause *cause)
{
	struct string_builder name = {0}, label = {0};
	int error;

	append_name(&name, cause, false);
	append_name(&label, cause, true);
	error = name.error || label.error
			? -ENOMEM
			: add_row(maker, device, cause->cause, string_builder_text(&name),
				  string_builder_text(&label), cause->ns);
	string_builder_fini(&name);
	string_builder_fini(&label);
	return error;
}

/* The time of a cause that no thread and no command explains. */
static int add_rest(struct side_maker *maker, size_t device, const uint64_t known[CAUSE_COUNT])
{
	const struct account *account = &maker->analysis->devices[device].account;
	int error = 0;

	for (unsigned int cause = 0; cause < CAUSE_COUNT && !error; cause++)
		if (account->causes[cause] > known[cause])
			error = add_row(maker, device, (enum account_cause)cause,
					account_cause_text((enum account_cause)cause),
					account_cause_text((enum account_cause)cause),
					account->causes[cause] - known[cause]);
	return error;
}

static int add_device(struct side_maker *maker, size_t device)
{
	uint64_t known[CAUSE_COUNT] = {0};
	struct verdict verdict;
	int error = verdict_make(maker->analysis, maker->frames, device, VERDICT_WHOLE, &verdict);

	if (error)
		return error;
	for (size_t i = 0; i < verdict.count && !error; i++) {
		known[verdict.causes[i].cause] += verdict.causes[i].ns;
		error = add_cause(maker, device, &verdict.causes[i]);
	}
	verdict_fini(&verdict);
	return error ? error : add_rest(maker, device, known);
}

/* Batches are known per cause, so only the single row of a cause has them. Time before the first
 * command and after the last one is in no iteration. */
static int add_batches(struct side_maker *maker, size_t device, struct side_row *row)
{
	const struct batches *batches = maker->options->batches;
	const uint64_t all_ns = maker->analysis->devices[device].account.causes[row->scope];

	if (row->value != all_ns || !row->value || row->scope == CAUSE_NOTHING_TO_DO)
		return 0;
	row->batches = calloc(batches_count(batches), sizeof(*row->batches));
	if (!row->batches)
		return -ENOMEM;
	batches_add_idle(batches, device, (enum account_cause)row->scope, row->batches);
	for (size_t i = 0; i < batches_count(batches); i++)
		row->batched_ns += row->batches[i] * (double)batches_size(batches, i);
	return 0;
}

static int add_all_batches(struct side_maker *maker, size_t device)
{
	struct side_table *table = &maker->side->tables[COMPARE_IDLE];
	int error = 0;

	if (!maker->options->batches || !batches_count(maker->options->batches))
		return 0;
	for (size_t i = 0; i < table->count && !error; i++)
		if (table->rows[i].device == maker->devices[device])
			error = add_batches(maker, device, &table->rows[i]);
	return error;
}

int side_add_idle(struct side_maker *maker)
{
	const size_t count = analysis_devices_shown(maker->analysis);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (maker->devices[i] == SIDE_NO_DEVICE)
			continue;
		error = add_device(maker, i);
		if (!error)
			error = add_all_batches(maker, i);
	}
	return error;
}
