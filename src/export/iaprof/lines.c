/* SPDX-License-Identifier: MIT
 *
 * export/iaprof/lines.c - write the lines of the four forms of iaprof's profiles
 *
 * Runs in:  our own process
 * Gets:     places (stacks, kernels, instructions) as ids of the texts written before
 * Gives:    lines
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why `tiber` is the default (the form that iaprof writes at its git tag of that name): it can
 *           contain more data than the other three forms
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "export/iaprof/lines.h"
#include "flame/escape.h"

static const char *text_of(const struct iaprof *iaprof, enum iaprof_names names, uint32_t number)
{
	const struct string_table *table = &iaprof->names[iaprof->form->words[names] ? names : 0];

	return string_table_text(table, number, NULL);
}

int iaprof_define(struct iaprof *iaprof, enum iaprof_names names, const char *text,
		  uint32_t *ret_number)
{
	struct string_table *table = &iaprof->names[iaprof->form->words[names] ? names : 0];
	const char *word = iaprof->form->words[iaprof->form->words[names] ? names : 0];
	uint32_t before = table->count;

	*ret_number = string_table_add(table, text, strlen(text));
	if (!*ret_number && *text)
		return -ENOMEM;
	if (table->count > before && !iaprof->form->by_kernel)
		fprintf(iaprof->file, "%s%c%" PRIu32 "%c%s\n", word, iaprof->form->separator,
			*ret_number, iaprof->form->separator, text);
	return 0;
}

/* The program writes "unknown" for a reason without a name. */
static int define_stall(struct iaprof *iaprof, const struct iaprof_place *place,
			uint32_t *ret_number)
{
	return iaprof_define(iaprof, IAPROF_STRING, *place->stall ? place->stall : "unknown",
			     ret_number);
}

/* ---- article --------------------------------------------------------------------------------- */

static int put_process(struct iaprof *iaprof, const struct iaprof_place *place)
{
	uint64_t key = (uint64_t)place->comm << 32 | place->pid;

	if (hash_map_find(&iaprof->processes, key))
		return 0;
	fprintf(iaprof->file, "PROC_NAME;%" PRIu32 ";%" PRIu32 "\n", place->comm, place->pid);
	return hash_map_put(&iaprof->processes, key, 1);
}

/* Number of a stall reason, from 1 on; 0 if the form has none for it. */
static unsigned int reason_of(struct iaprof *iaprof, const char *stall, uint64_t count)
{
	static const char *const reasons[] = {"active", "control", "pipestall",  "send", "dist_acc",
					      "sbid",   "sync",    "inst_fetch", "tdr"};

	for (unsigned int i = 0; i < ARRAY_COUNT(reasons); i++)
		if (strcmp(stall, reasons[i]) == 0)
			return i + 1;
	if (*stall)
		iaprof->without_stall = add_saturated(iaprof->without_stall, count);
	return 0;
}

static int put_described(struct iaprof *iaprof, const struct iaprof_place *place, uint64_t count)
{
	int error = put_process(iaprof, place);

	fprintf(iaprof->file,
		"EUSTALL;%" PRIu32 ";%" PRIu32 ";%" PRIu32 ";%" PRIu32 ";%" PRIu32 ";%" PRIu32
		";%" PRIu32 ";%u;0x%" PRIx64 ";%" PRIu64 "\n",
		place->comm, place->pid, place->ustack, place->kstack, place->file, place->symbol,
		place->text, reason_of(iaprof, place->stall, count), place->offset, count);
	iaprof->rows++;
	return error;
}

/* ---- v0.5.0 ---------------------------------------------------------------------------------- */

static int put_whole(struct iaprof *iaprof, const struct iaprof_place *place, uint64_t count)
{
	uint32_t stall;
	int error = define_stall(iaprof, place, &stall);

	fprintf(iaprof->file,
		"eustall\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%d\t%d\t%" PRIu32
		"\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t0x%" PRIx64 "\t%" PRIu64 "\n",
		place->comm, place->pid, place->ustack, place->kstack, place->type == 3,
		place->type == 2, place->file, place->symbol, place->text, stall, place->offset,
		count);
	iaprof->rows++;
	return error;
}

/* ---- tiber ----------------------------------------------------------------------------------- */

static void put_state(struct iaprof *iaprof, const char *word, uint32_t value, uint32_t *now)
{
	if (value != *now)
		fprintf(iaprof->file, "%s\t%" PRIu32 "\n", word, value);
	*now = value;
}

static void append_device(struct iaprof *iaprof, enum iaprof_names names, uint32_t number,
			  const char *suffix)
{
	string_builder_append(&iaprof->whole, text_of(iaprof, names, number));
	string_builder_append(&iaprof->whole, suffix);
}

/* Defines the text of the whole stack, in folded form, which the form requires. */
static int define_whole(struct iaprof *iaprof, const struct iaprof_place *place, uint32_t stall,
			uint32_t *ret_number)
{
	struct string_builder *whole = &iaprof->whole;

	string_builder_clear(whole);
	string_builder_appendf(whole, "%s;%" PRIu32 ";%s%s-;",
			       place->comm ? text_of(iaprof, IAPROF_STRING, place->comm)
					   : "<missing string>",
			       place->pid, text_of(iaprof, IAPROF_USTACK, place->ustack),
			       text_of(iaprof, IAPROF_KSTACK, place->kstack));
	append_device(iaprof, IAPROF_FILE, place->file, "_[G];");
	append_device(iaprof, IAPROF_SYMBOL, place->symbol, "_[G];");
	append_device(iaprof, IAPROF_TEXT, place->text, "_[g];");
	append_device(iaprof, IAPROF_STRING, stall, "_[g];");
	string_builder_appendf(whole, "0x%" PRIx64 "_[g]", place->offset);
	if (whole->error)
		return whole->error;
	return iaprof_define(iaprof, IAPROF_STRING, string_builder_text(whole), ret_number);
}

static int put_held(struct iaprof *iaprof, const struct iaprof_place *place, uint64_t count)
{
	struct iaprof_place *now = &iaprof->now;
	uint32_t stall, whole;
	int error = define_stall(iaprof, place, &stall);

	if (!error)
		error = define_whole(iaprof, place, stall, &whole);
	if (error)
		return error;
	put_state(iaprof, "proc_name", place->comm, &now->comm);
	put_state(iaprof, "pid", place->pid, &now->pid);
	put_state(iaprof, "ustack", place->ustack, &now->ustack);
	put_state(iaprof, "kstack", place->kstack, &now->kstack);
	put_state(iaprof, "shader_type", place->type, &now->type);
	put_state(iaprof, "gpu_file", place->file, &now->file);
	put_state(iaprof, "gpu_symbol", place->symbol, &now->symbol);
	put_state(iaprof, "insn_text", place->text, &now->text);
	fprintf(iaprof->file, "e\t%" PRIu32 "\t%" PRIu32 "\t%" PRIx64 "\t%" PRIu64 "\n", whole,
		stall, place->offset, count);
	iaprof->rows++;
	return 0;
}

/* ---- head ------------------------------------------------------------------------------------ */

static const char *const columns[] = {"active", "control", "pipestall",  "send",  "dist_acc",
				      "sbid",   "sync",    "inst_fetch", "other", "tdr"};
enum { OTHER = 8 };

/* The column of a reason; "other" if it has none. */
static size_t column_of(struct iaprof *iaprof, const char *stall, uint64_t count)
{
	for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
		if (strcmp(stall, columns[i]) == 0)
			return i;
	iaprof->without_stall = add_saturated(iaprof->without_stall, count);
	return OTHER;
}

/* Returns the number of a text in the file; writes its line first if it is new. */
static int write_text(struct iaprof *iaprof, uint32_t number, uint32_t *ret_written)
{
	uint32_t *written;

	if (array_grow(iaprof->written, iaprof->written_capacity, number + (size_t)1))
		return -ENOMEM;
	written = &iaprof->written[number];
	if (number && !*written) {
		*written = ++iaprof->written_count;
		fprintf(iaprof->file, "string\t%" PRIu32 "\t%s\n", *written,
			text_of(iaprof, IAPROF_STRING, number));
	}
	*ret_written = *written;
	return 0;
}

/* Writes the line of a kernel. Its address is 0: the trace does not contain it. */
static int put_kernel(struct iaprof *iaprof, const struct iaprof_place *place)
{
	uint32_t comm, ustack, file, symbol;
	int error = write_text(iaprof, place->comm, &comm);

	if (!error)
		error = write_text(iaprof, place->ustack, &ustack);
	if (!error)
		error = write_text(iaprof, place->file, &file);
	if (!error)
		error = write_text(iaprof, place->symbol, &symbol);
	if (!error)
		fprintf(iaprof->file,
			"kernel\t0x0\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32
			"\n",
			comm, place->pid, ustack, file, symbol);
	return error;
}

static int put_counts(struct iaprof *iaprof, const struct iaprof_place *place,
		      const uint64_t *counts)
{
	uint32_t text;
	int error = write_text(iaprof, place->text, &text);

	fprintf(iaprof->file, "eustall\t0x%" PRIx64 "\t%" PRIu32, place->offset, text);
	for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
		fprintf(iaprof->file, "\t%" PRIu64, counts[i]);
	putc('\n', iaprof->file);
	iaprof->rows++;
	return error;
}

int iaprof_put_kernels(struct iaprof *iaprof)
{
	const struct iaprof_place *last = NULL;
	int error = 0;

	for (uint32_t i = 0; i < iaprof->seen_count && !error;) {
		const struct iaprof_place *place = &iaprof->places[iaprof->seen[i]];
		uint64_t counts[ARRAY_COUNT(columns)] = {0};
		uint32_t first = place->first, rank = place->rank;

		if (!last || last->first != first)
			error = put_kernel(iaprof, place);
		last = place;
		for (; i < iaprof->seen_count; i++) {
			const struct iaprof_place *one = &iaprof->places[iaprof->seen[i]];
			uint64_t count = iaprof->counts[iaprof->seen[i]];
			size_t column;

			if (one->first != first || one->rank != rank)
				break;
			column = column_of(iaprof, one->stall, count);
			counts[column] = add_saturated(counts[column], count);
		}
		if (!error)
			error = put_counts(iaprof, place, counts);
	}
	return error;
}

/* ---- the forms ------------------------------------------------------------------------------- */

static const char *const no_strings[] = {NULL};
static const char *const usual_strings[] = {"[unknown file]",
					    "System Routine (Exceptions)",
					    "[failed decode]",
					    "active",
					    "control",
					    "pipestall",
					    "send",
					    "dist_acc",
					    "sbid",
					    "sync",
					    "inst_fetch",
					    "other",
					    "unknown",
					    NULL};

static const struct iaprof_form forms[] = {
	{.name = "tiber",
	 .separator = '\t',
	 .words = {"string"},
	 .first = usual_strings,
	 .begin = "interval_start",
	 .end = "interval_end",
	 .no_file = "[unknown file]",
	 .no_symbol = "[unknown code]",
	 .no_text = "[failed decode]",
	 .has_kernel = true,
	 .has_metrics = true,
	 .put = put_held},
	{.name = "head",
	 .separator = '\t',
	 .words = {"string"},
	 .first = no_strings,
	 .begin = "interval",
	 .no_file = "",
	 .no_symbol = "",
	 .no_text = "[failed decode]",
	 .joins = true,
	 .has_metrics = true,
	 .by_kernel = true},
	{.name = "v0.5.0",
	 .separator = '\t',
	 .words = {"string"},
	 .first = usual_strings,
	 .begin = "interval_start",
	 .end = "interval_end",
	 .no_file = "[unknown file]",
	 .no_symbol = "[unknown code]",
	 .no_text = "[failed decode]",
	 .has_kernel = true,
	 .put = put_whole},
	{.name = "article",
	 .separator = ';',
	 .words = {"STRING", "USTACK", "KSTACK", "GPU_FILE", "GPU_SYMBOL", "INSN_TEXT"},
	 .first = no_strings,
	 .no_file = "",
	 .no_symbol = "",
	 .no_text = "",
	 .joins = true,
	 .has_kernel = true,
	 .put = put_described},
};

const struct iaprof_form *iaprof_find_form(const char *name)
{
	if (!name)
		return &forms[0];
	for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	return NULL;
}
