/* SPDX-License-Identifier: MIT
 *
 * report/instructions.c - sampled device instructions, as a table and as JSON
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    a row for each instruction of each kernel, summed over all launching stacks
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why rows are merged in the report and not in the analysis: the offset recorded for a caller lies
 *           inside of its call instruction, the offset of a sample at the start of an instruction.
 *           Only analyze/sample/device_code.c, which decodes the instructions and so has their
 *           lengths, can map both to one place.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sample/device_code.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/number.h"
#include "base/order/key_sort.h"
#include "base/string.h"
#include "report/table.h"

/* Widths in columns. Names longer than MIN_NAME make the table wider, up to MAX_NAME. Above that
 * the kernel's name is cut, so that the place keeps up to MAX_PLACE columns, because only the
 * place differs among rows of one kernel. */
enum {
	MIN_NAME = 54,
	MAX_NAME = 80,
	MAX_PLACE = 40,
	SOURCE_WIDTH = 40,
	SHARE_WIDTH = 8,
	TEXT_BYTES = 1024
};

struct row {
	const struct analysis_instruction *instruction; /* the first of the merged ones */
	struct device_place place;
	size_t device; /* ALL_DEVICES: not known */
	uint64_t samples, estimated;
	uint64_t of_kernel; /* samples of its kernel on this device */
	size_t first_stall, stalls;
};

struct rows {
	struct row *rows;
	size_t count, capacity;
	/* One for each row and stall, in the order of the rows. */
	struct stall {
		const char *name;
		uint64_t samples;
	} * stalls;
	size_t stalls_count, stalls_capacity;
	struct device_code *code; /* owned */
};

static void rows_fini(struct rows *rows)
{
	free(rows->rows);
	free(rows->stalls);
	device_code_free(rows->code);
}

static int order_kernels(const struct row *a, const struct row *b)
{
	int order = strcmp(a->instruction->kernel, b->instruction->kernel);

	return order ? order : (a->device > b->device) - (a->device < b->device);
}

static int add_stall(struct rows *rows, struct row *row, const struct analysis_instruction *from)
{
	if (row->stalls && strcmp(rows->stalls[rows->stalls_count - 1].name, from->stall) == 0) {
		rows->stalls[rows->stalls_count - 1].samples += from->samples;
		return 0;
	}
	if (array_append(rows->stalls, rows->stalls_capacity, rows->stalls_count,
			 (struct stall){from->stall, from->samples}))
		return -ENOMEM;
	row->stalls++;
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The names that occur in rows, each with its number in alphabetical order. */
struct names {
	const char **texts; /* owned */
	size_t count, capacity;
	struct hash_map by_address; /* address of the text -> its rank */
};

static void names_fini(struct names *names)
{
	free(names->texts);
	hash_map_fini(&names->by_address);
}

static int add_name(struct names *names, const char *text)
{
	const uintptr_t address = (uintptr_t)text;

	if (hash_map_find(&names->by_address, address))
		return 0;
	if (array_append(names->texts, names->capacity, names->count, text))
		return -ENOMEM;
	return hash_map_put(&names->by_address, address, 0);
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Ranks the texts: "" is 0, and equal texts have one rank even at different addresses. */
static void rank_names(struct names *names)
{
	uint64_t place = 0;

	if (names->count)
		qsort(names->texts, names->count, sizeof(*names->texts), compare_names);
	for (size_t i = 0; i < names->count; i++) {
		place += strcmp(names->texts[i], i ? names->texts[i - 1] : "") != 0;
		*hash_map_find(&names->by_address, (uintptr_t)names->texts[i]) = place;
	}
}

static uint64_t place_among(const struct names *names, const char *text)
{
	return hash_map_get(&names->by_address, (uintptr_t)text, 0);
}

/* ---- one row for each place ------------------------------------------------------------------ */

static size_t device_of(const struct report *report, const struct analysis_instruction *instruction)
{
	size_t device = analysis_instruction_device(report->analysis, instruction);

	return device == ANALYSIS_NO_DEVICE ? ALL_DEVICES : device;
}

bool report_shows_instruction(const struct report *report,
			      const struct analysis_instruction *instruction)
{
	const size_t device = device_of(report, instruction);

	return device == ALL_DEVICES ? report->device == ALL_DEVICES
				     : report_shows_device(report, device);
}

/* State while the rows of all paths are merged to one for each place. */
struct merging {
	const struct report *report;
	struct rows *rows;
	struct names names;
	struct sort_key *keys; /* owned */
	size_t count;
};

static int find_place(const struct merging *merging, const struct analysis_instruction *instruction,
		      struct device_place *ret_place)
{
	return device_code_find(merging->rows->code, instruction->code, instruction->offset,
				ret_place);
}

static int name_rows(struct merging *merging)
{
	const struct analysis *analysis = merging->report->analysis;
	struct device_place place;
	int error = 0;

	for (size_t i = 0; i < analysis->instructions_count && !error; i++) {
		const struct analysis_instruction *instruction = &analysis->instructions[i];

		error = find_place(merging, instruction, &place);
		if (!error)
			error = add_name(&merging->names, instruction->kernel);
		if (!error)
			error = add_name(&merging->names, place.name);
	}
	if (!error)
		rank_names(&merging->names);
	return error;
}

static int fill_keys(struct merging *merging)
{
	const struct analysis *analysis = merging->report->analysis;
	struct device_place place;
	int error = 0;

	for (size_t i = 0; i < analysis->instructions_count && !error; i++) {
		const struct analysis_instruction *instruction = &analysis->instructions[i];
		/* the number of devices fits */
		const uint32_t device = (uint32_t)device_of(merging->report, instruction);
		uint64_t name;

		if (!report_shows_instruction(merging->report, instruction))
			continue;
		error = find_place(merging, instruction, &place);
		if (error)
			break;
		name = place_among(&merging->names, place.name);
		merging->keys[merging->count++] = (struct sort_key){
			{place.offset, name << 32 | (name ? 0 : instruction->code),
			 place_among(&merging->names, instruction->kernel) << 32 | device},
			(uint32_t)i};
	}
	return error;
}

static int compare_stalls(const void *context, uint32_t left, uint32_t right)
{
	const struct analysis_instruction *instructions = context;

	return strcmp(instructions[left].stall, instructions[right].stall);
}

static int add_row(const struct merging *merging, const struct analysis_instruction *instruction)
{
	struct rows *rows = merging->rows;
	struct row row = {.instruction = instruction,
			  .device = device_of(merging->report, instruction),
			  .first_stall = rows->stalls_count};
	int error = find_place(merging, instruction, &row.place);

	if (error)
		return error;
	if (!*row.place.text)
		row.place.text = instruction->text;
	return array_append(rows->rows, rows->capacity, rows->count, row);
}

static int add_to_place(const struct merging *merging, const struct sort_key *key,
			const struct sort_key *before)
{
	const struct analysis_instruction *from =
		&merging->report->analysis->instructions[key->row];
	const bool is_new = !before || memcmp(key->words, before->words, sizeof(key->words)) != 0;
	int error = is_new ? add_row(merging, from) : 0;
	struct row *row;

	if (error)
		return error;
	row = &merging->rows->rows[merging->rows->count - 1];
	row->samples += from->samples;
	row->estimated += from->estimated;
	return add_stall(merging->rows, row, from);
}

static int merge_rows(struct merging *merging)
{
	const struct analysis *analysis = merging->report->analysis;
	const struct sort_key *sorted;
	int error = name_rows(merging);

	if (!error)
		error = fill_keys(merging);
	if (error)
		return error;
	sorted = key_sort(merging->keys, merging->count, compare_stalls, analysis->instructions);
	for (size_t i = 0; i < merging->count && !error; i++)
		error = add_to_place(merging, &sorted[i], i ? &sorted[i - 1] : NULL);
	return error;
}

/* Sums up the samples of each kernel, whose rows are neighbours. */
static void sum_kernels(struct rows *rows)
{
	for (size_t i = 0, end; i < rows->count; i = end) {
		uint64_t sum = 0;

		for (end = i;
		     end < rows->count && order_kernels(&rows->rows[i], &rows->rows[end]) == 0;
		     end++)
			sum += rows->rows[end].samples;
		for (size_t one = i; one < end; one++)
			rows->rows[one].of_kernel = sum;
	}
}

/* Sorts by samples, the largest first. The sort is stable: equal rows stay in the order of their
 * places. */
static int sort_by_samples(struct rows *rows)
{
	auto_free struct sort_key *keys = malloc((2 * rows->count + 1) * sizeof(*keys));
	auto_free struct row *sorted = malloc((rows->count + 1) * sizeof(*sorted));
	const struct sort_key *order;

	if (!keys || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++)
		keys[i] = (struct sort_key){{~rows->rows[i].samples}, (uint32_t)i};
	order = key_sort(keys, rows->count, NULL, NULL);
	for (size_t i = 0; i < rows->count; i++)
		sorted[i] = rows->rows[order[i].row];
	free(rows->rows);
	rows->rows = take_ptr(sorted);
	return 0;
}

static int find_rows(const struct report *report, struct rows *ret_rows)
{
	const size_t count = report->analysis->instructions_count;
	struct rows rows = {0};
	struct merging merging = {.report = report, .rows = &rows};
	int error = device_code_new(report->model, &rows.code);

	merging.keys = malloc((2 * count + 1) * sizeof(*merging.keys));
	if (!error)
		error = merging.keys ? merge_rows(&merging) : -ENOMEM;
	free(merging.keys);
	names_fini(&merging.names);
	if (error) {
		rows_fini(&rows);
		return error;
	}
	sum_kernels(&rows);
	error = sort_by_samples(&rows);
	if (error)
		rows_fini(&rows);
	else
		*ret_rows = rows;
	return error;
}

static const char *kernel_of(const struct report *report, const struct row *row)
{
	const char *kernel = row->instruction->kernel;

	return *kernel ? report_kernel_name(report, kernel) : "[unknown code]";
}

static void format_place(const struct row *row, char *text, size_t size)
{
	snprintf(text, size, "0x%" PRIx64 "%s%s", row->place.address, *row->place.text ? " " : "",
		 row->place.text);
}

static void format_row(const struct report *report, const struct row *row, char *text, size_t size)
{
	const size_t used = (size_t)snprintf(text, size, "%s ", kernel_of(report, row));

	if (used < size)
		format_place(row, text + used, size - used);
}

/* The most frequent stall reason of an instruction; NULL: the samples have none. */
static const struct stall *commonest_stall(const struct rows *rows, const struct row *row)
{
	const struct stall *best = NULL;

	for (size_t i = 0; i < row->stalls; i++) {
		const struct stall *stall = &rows->stalls[row->first_stall + i];

		if (*stall->name && (!best || stall->samples > best->samples))
			best = stall;
	}
	return best;
}

/* Widths of columns for the rows that are shown. */
struct widths {
	size_t name, stall; /* stall 0: no column, there are no reasons */
	size_t source;      /* 0: no room */
};

/* A narrow terminal leaves out the stall, then the source. */
static void fit_widths(const struct report *report, struct widths *widths)
{
	const size_t columns = report_columns(report), numbers = 2 + 2 * (size_t)TABLE_CELL;
	size_t used;

	widths->source = SOURCE_WIDTH;
	if (columns >= REPORT_COLUMNS)
		return;
	widths->name = smaller(widths->name, columns - numbers);
	used = numbers + widths->name;
	if (widths->stall && used + 2 + widths->stall + SHARE_WIDTH > columns)
		widths->stall = 0;
	used += widths->stall ? 2 + widths->stall + SHARE_WIDTH : 0;
	widths->source = smaller(SOURCE_WIDTH, columns - used);
}

static struct widths find_widths(const struct report *report, const struct rows *rows)
{
	struct widths widths = {.name = report_name_width(report, MIN_NAME)};

	for (size_t i = 0; i < rows->count && !report_is_over_top(report, i); i++) {
		const struct row *row = &rows->rows[i];
		const struct stall *stall = commonest_stall(rows, row);
		char text[TEXT_BYTES];

		format_row(report, row, text, sizeof(text));
		widths.name = larger(widths.name, smaller(table_width(text), MAX_NAME));
		if (stall)
			widths.stall = larger(widths.stall, table_width(stall->name));
	}
	fit_widths(report, &widths);
	return widths;
}

static void put_name(const struct report *report, const struct row *row, size_t width)
{
	const char *kernel = kernel_of(report, row);
	size_t kernel_width = table_width(kernel), place_width;
	char place[TEXT_BYTES];

	format_place(row, place, sizeof(place));
	place_width = table_width(place);
	if (kernel_width + 1 + place_width > width)
		kernel_width = smaller(kernel_width, width - 1 - smaller(place_width, MAX_PLACE));
	fputs("  ", stdout);
	table_put_text(kernel, kernel_width);
	putchar(' ');
	table_put_left(place, width - 1 - kernel_width);
}

static void put_stall(const struct rows *rows, const struct row *row, size_t width)
{
	const struct stall *stall = commonest_stall(rows, row);

	fputs("  ", stdout);
	table_put_left(stall ? stall->name : "-", width);
	table_put_right(stall ? format_percent(stall->samples, row->samples).text : "",
			SHARE_WIDTH);
}

static void put_source(const struct device_place *place, size_t width)
{
	char text[TEXT_BYTES] = "";

	if (place->source)
		snprintf(text, sizeof(text), "  line %" PRIu32 ": %s", place->line, place->source);
	else if (place->file)
		snprintf(text, sizeof(text), "  %s:%" PRIu32, path_base(place->file), place->line);
	table_put_text(text, width);
}

static void put_row(const struct report *report, const struct rows *rows, const struct row *row,
		    const struct widths *widths)
{
	put_name(report, row, widths->name);
	table_put_cell(format_count(row->samples));
	table_put_cell(format_percent(row->samples, row->of_kernel));
	if (widths->stall)
		put_stall(rows, row, widths->stall);
	put_source(&row->place, widths->source);
	putchar('\n');
}

static void put_title(const struct widths *widths)
{
	static const char *const columns[] = {"samples", "of kernel", NULL};

	putchar('\n');
	table_put_left("INSTRUCTIONS", widths->name + 2);
	for (size_t i = 0; columns[i]; i++)
		table_put_right(columns[i], TABLE_CELL);
	fputs(widths->stall ? "  main reason\n" : "\n", stdout);
}

static void put_doubt(uint64_t count, const struct analysis_ledger *ledger, const char *text)
{
	if (count)
		printf("  %s of the samples %s\n", format_percent(count, ledger->instructions).text,
		       text);
}

void report_put_doubts(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;

	put_doubt(ledger->instructions_divided, ledger,
		  "could belong to several commands that ran then: divided among them");
	put_doubt(ledger->instructions_unsized, ledger,
		  "follow the start of a kernel of unknown size: attributed to that kernel "
		  "(estimate)");
	put_doubt(ledger->instructions_early, ledger,
		  "were attributed early because too many samples were pending (estimate)");
	put_doubt(ledger->instructions_unknown - ledger->instructions_unknown_code, ledger,
		  "came while no known command ran their kernel");
	put_doubt(ledger->instructions_unknown_code, ledger,
		  "are at addresses without a known code object: [unknown code]");
	put_doubt(ledger->instructions_late, ledger,
		  "came before their code object was known: attributed to the next one");
	if (report->device != ALL_DEVICES)
		put_doubt(ledger->instructions_no_device, ledger,
			  "have no known device: --device leaves them out");
}

/* On CPU devices the interrupt of a sample comes some cycles late, and duet uses no processor
 * feature that gives the exact instruction. */
static void put_skid(const struct report *report, const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		const size_t index = rows->rows[i].device;
		const struct event_device *device =
			index == ALL_DEVICES ? NULL : report->analysis->devices[index].device;

		if (!device || device->type != DEVICE_CPU)
			continue;
		report_put_hint(report, "a sample often falls one or a few instructions after the "
					"slow one");
		return;
	}
}

/* Whether one of the devices shown is a CPU device (is_cpu) or another one. */
static bool has_device(const struct report *report, bool is_cpu)
{
	const struct analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis_devices_shown(analysis); i++) {
		const struct event_device *device = analysis->devices[i].device;

		if (report_shows_device(report, i) &&
		    (device && device->type == DEVICE_CPU) == is_cpu)
			return true;
	}
	return false;
}

void report_put_no_instructions(const struct report *report)
{
	const struct analysis_ledger *ledger = &report->analysis->ledger;
	const bool has_cpu = has_device(report, true), has_other = has_device(report, false);

	if (ledger->instructions) {
		printf("\nno samples of device instructions in this window\n");
		return;
	}
	printf("\nno device instructions were sampled\n");
	if (model_imported_from(report->model))
		return;
	if (has_other || !has_cpu)
		report_put_hint(report,
				"the collectors intel, amd:pcs and nvidia:pc sample those of GPUs "
				"(duet record --collect …)");
	if (has_cpu && ledger->samples)
		report_put_hint(report,
				"the collector cpu samples those of CPU devices (PoCL), but no "
				"sample hit a kernel");
	else if (has_cpu || !has_other)
		report_put_hint(report,
				"the collector cpu samples those of CPU devices (PoCL) (duet "
				"record --collect opencl,cpu)");
}

int report_put_instructions(const struct report *report)
{
	const char *by = report->values->by;
	bool is_wanted = by && strcmp(by, "instruction") == 0;
	struct widths widths;
	struct rows rows;
	size_t shown = 0;

	if (!report->analysis->instructions_count && !is_wanted)
		return 0;
	if (find_rows(report, &rows))
		return -ENOMEM;
	if (!rows.count && is_wanted)
		report_put_no_instructions(report);
	widths = find_widths(report, &rows);
	for (; shown < rows.count && !report_is_over_top(report, shown); shown++) {
		if (!shown)
			put_title(&widths);
		put_row(report, &rows, &rows.rows[shown], &widths);
	}
	table_put_rest(shown, rows.count, "instruction", "instructions");
	put_skid(report, &rows);
	report_put_doubts(report);
	if (device_code_why(rows.code))
		printf("  %s\n", device_code_why(rows.code));
	rows_fini(&rows);
	return 0;
}

static void write_place(const struct device_place *place, struct json_writer *json)
{
	if (*place->name)
		json_pair_text(json, "code_object", place->name);
	json_pair_u64(json, "offset", place->offset);
	json_pair_u64(json, "address", place->address);
	json_pair_text(json, "text", place->text);
	if (*place->function)
		json_pair_text(json, "function", place->function);
	if (place->file) {
		json_pair_text(json, "file", place->file);
		json_pair_u64(json, "line", place->line);
	}
	if (place->source)
		json_pair_text(json, "source", place->source);
}

static void write_row(const struct report *report, const struct rows *rows, const struct row *row,
		      bool is_by, struct json_writer *json)
{
	char key[4 * TEXT_BYTES];

	json_line_begin(json);
	if (is_by) {
		format_row(report, row, key, sizeof(key));
		json_pair_text(json, "key", key);
		json_pair_u64(json, "count", row->samples);
	}
	json_pair_text(json, "kernel", kernel_of(report, row));
	if (row->device != ALL_DEVICES)
		json_pair_text(json, "device",
			       report_device_key(&report->analysis->devices[row->device]));
	write_place(&row->place, json);
	json_pair_u64(json, "samples", row->samples);
	json_pair_u64(json, "estimated", row->estimated);
	json_pair_object(json, "stalls");
	for (size_t i = 0; i < row->stalls; i++) {
		const struct stall *stall = &rows->stalls[row->first_stall + i];

		if (*stall->name)
			json_pair_u64(json, stall->name, stall->samples);
	}
	json_object_end(json);
	json_object_end(json);
}

static int write_rows(const struct report *report, bool is_by, struct json_writer *json)
{
	struct rows rows;
	int error = find_rows(report, &rows);

	if (error)
		return error;
	for (size_t i = 0; i < rows.count && !report_is_over_top(report, i); i++)
		write_row(report, &rows, &rows.rows[i], is_by, json);
	rows_fini(&rows);
	return 0;
}

int report_write_instructions(const struct report *report, struct json_writer *json)
{
	return write_rows(report, false, json);
}

int report_by_instruction(const struct report *report, struct json_writer *json)
{
	return json ? write_rows(report, true, json) : report_put_instructions(report);
}
