/* SPDX-License-Identifier: MIT
 *
 * import/rocprof_code.c - import the table of instructions of rocprof-compute's viewer (code.json)
 *
 * Runs in:  our own process
 * Gets:     JSON: "header" with the names of the columns, "code" with a row for each instruction
 * Gives:    instruction samples: PC samples with stall reasons, or the cycles of a thread trace
 * Owns:     the columns and the row that is read
 * Fails:    -EBADMSG with the position, the expected and the found value
 * Why the header may come after the rows: the program that writes the file sorts the keys. The file
 *           is then read twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/string.h"
#include "import/formats.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"

enum { MAX_COLUMNS = 32, MAX_REASONS = 16 };
#define MAX_COUNT ((uint64_t)INT64_MAX / MAX_REASONS)

enum column {
	COLUMN_OTHER,
	COLUMN_TEXT,
	COLUMN_SOURCE,
	COLUMN_OBJECT,
	COLUMN_ADDRESS,
	COLUMN_LATENCY,
	COLUMN_STALL,
	COLUMN_ISSUED,
	COLUMN_STALLED,
	COLUMN_REASONS,
	COLUMNS_COUNT
};

static const char *const column_names[COLUMNS_COUNT] = {
	[COLUMN_TEXT] = "ISA",
	[COLUMN_SOURCE] = "Source",
	[COLUMN_OBJECT] = "Codeobj",
	[COLUMN_ADDRESS] = "Vaddr",
	[COLUMN_LATENCY] = "Latency",
	[COLUMN_STALL] = "Stall",
	[COLUMN_ISSUED] = "PC_Issued",
	[COLUMN_STALLED] = "PC_Stalled",
	[COLUMN_REASONS] = "Stall_Reasons",
};

/* rocprofiler_pc_sampling_instruction_not_issued_reason_t; 0: none. */
static const char *const reasons[] = {
	NULL,
#define PC_STALL(number, name) [number] = (name),
#include "event/pc_sampling.h"
#undef PC_STALL
};

/* An instruction, or the head of a kernel. */
struct row {
	struct string_builder text, source;
	uint64_t numbers[COLUMNS_COUNT];
	uint64_t stalls[MAX_REASONS];
};

struct rocprof_code {
	struct import_source *source;
	struct import_target *target;
	struct json_reader *reader;
	enum column columns[MAX_COLUMNS];
	size_t columns_count;
	bool has_rows;
	struct row row;
	uint32_t process, device, kernel, samples_string, cycles_string;
	uint64_t samples;
};

/* ---- the header ------------------------------------------------------------------------------ */

static enum column column_of(const char *name, size_t length)
{
	for (size_t i = 1; i < COLUMNS_COUNT; i++)
		if (strncmp(column_names[i], name, length) == 0 && !column_names[i][length])
			return (enum column)i;
	return COLUMN_OTHER;
}

static int add_column(struct rocprof_code *code, const char *name, size_t length)
{
	if (code->columns_count == MAX_COLUMNS)
		return json_reader_fail(code->reader, "at most 32 columns", "more");
	code->columns[code->columns_count++] = column_of(name, length);
	return 0;
}

/* "ISA, _, LineNumber": files of thread traces may have the names in one text. */
static int split_header(struct rocprof_code *code, const char *text)
{
	int error = 0;

	while (*text && !error) {
		const size_t length = strcspn(text, ",");

		error = add_column(code, text, length);
		text += length;
		text += strspn(text, ", ");
	}
	return error;
}

static int read_header(struct rocprof_code *code)
{
	int error = 0, token = json_reader_next(code->reader);

	if (token == JSON_STRING)
		return split_header(code, json_reader_text(code->reader, NULL));
	if (token != JSON_ARRAY_BEGIN)
		return token < 0
			       ? token
			       : json_reader_fail(code->reader, "an array", json_token_name(token));
	while (!error && (token = json_reader_next(code->reader)) == JSON_STRING) {
		const char *name = json_reader_text(code->reader, NULL);

		error = add_column(code, name, strlen(name));
	}
	if (error)
		return error;
	if (token < 0)
		return token;
	return token == JSON_ARRAY_END ? 0
				       : json_reader_fail(code->reader, "the name of a column",
							  json_token_name(token));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int parse_count(struct rocprof_code *code, uint64_t *ret_count)
{
	const char *text = json_reader_text(code->reader, NULL);
	char *end;
	uint64_t count;

	errno = 0;
	count = strtoull(text, &end, 10);
	if (*text == '-' || *end || errno || count > MAX_COUNT)
		return json_reader_fail(code->reader, "a whole number from 0 to 2^59", text);
	*ret_count = count;
	return 0;
}

static int read_reasons(struct rocprof_code *code)
{
	int error = 0, token;

	for (size_t i = 0; !error && (token = json_reader_next(code->reader)) != JSON_ARRAY_END;
	     i++) {
		uint64_t count;

		if (token < 0)
			return token;
		if (token != JSON_NUMBER)
			return json_reader_fail(code->reader, "the number of samples",
						json_token_name(token));
		error = parse_count(code, &count);
		if (!error && i < MAX_REASONS)
			code->row.stalls[i] = count;
	}
	return error;
}

static int read_cell(struct rocprof_code *code, enum column column, int token)
{
	struct string_builder *text = column == COLUMN_TEXT ? &code->row.text : &code->row.source;

	switch (column) {
	case COLUMN_OTHER:
		return json_reader_skip(code->reader, token);
	case COLUMN_TEXT:
	case COLUMN_SOURCE:
		if (token != JSON_STRING)
			return json_reader_fail(code->reader, "a text", json_token_name(token));
		string_builder_append(text, json_reader_text(code->reader, NULL));
		return text->error;
	case COLUMN_REASONS:
		if (token != JSON_ARRAY_BEGIN)
			return json_reader_fail(code->reader, "an array of numbers",
						json_token_name(token));
		return read_reasons(code);
	default:
		if (token != JSON_NUMBER)
			return json_reader_fail(code->reader, "a number", json_token_name(token));
		return parse_count(code, &code->row.numbers[column]);
	}
}

static void clear_row(struct row *row)
{
	string_builder_clear(&row->text);
	string_builder_clear(&row->source);
	memset(row->numbers, 0, sizeof(row->numbers));
	memset(row->stalls, 0, sizeof(row->stalls));
}

static int read_row(struct rocprof_code *code)
{
	int error = 0, token;

	clear_row(&code->row);
	for (size_t i = 0; !error && (token = json_reader_next(code->reader)) != JSON_ARRAY_END;
	     i++) {
		if (token < 0)
			return token;
		error = read_cell(code, i < code->columns_count ? code->columns[i] : COLUMN_OTHER,
				  token);
	}
	return error;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A row "; _Z4stepPfi" begins a kernel. */
static int begin_kernel(struct rocprof_code *code, const char *text)
{
	text += strspn(text, "; \t");
	return import_target_kernel(code->target, code->process, "", text, &code->kernel);
}

static int write_samples(struct rocprof_code *code, uint64_t count, const char *stall,
			 uint32_t unit_string)
{
	struct event_instruction_sample row = {.end = 1,
					       .offset = code->row.numbers[COLUMN_ADDRESS],
					       .count = count,
					       .period = 1,
					       .process = code->process,
					       .device = code->device,
					       .code = code->kernel,
					       .period_unit_string = unit_string};
	int error;

	if (!count)
		return 0;
	error = import_target_text(code->target, stall, &row.stall_string);
	if (!error)
		error = import_target_text(code->target, string_builder_text(&code->row.text),
					   &row.text_string);
	code->samples += !error;
	return error ? error : import_target_instruction(code->target, &row);
}

static int write_reasons(struct rocprof_code *code)
{
	uint64_t known = 0;
	int error = 0;

	for (size_t i = 1; i < MAX_REASONS && !error; i++) {
		const char *name = array_text(reasons, ARRAY_COUNT(reasons), i, "other");

		known += code->row.stalls[i];
		error = write_samples(code, code->row.stalls[i], name, code->samples_string);
	}
	if (!error && code->row.numbers[COLUMN_STALLED] > known)
		error = write_samples(code, code->row.numbers[COLUMN_STALLED] - known, "other",
				      code->samples_string);
	return error;
}

/* Cycles of a thread trace: those in which the instruction waited, and the rest. */
static int write_cycles(struct rocprof_code *code)
{
	const uint64_t all = code->row.numbers[COLUMN_LATENCY];
	const uint64_t stalled =
		code->row.numbers[COLUMN_STALL] < all ? code->row.numbers[COLUMN_STALL] : all;
	int error = write_samples(code, all - stalled, "", code->cycles_string);

	return error ? error : write_samples(code, stalled, "stall", code->cycles_string);
}

static int write_row(struct rocprof_code *code)
{
	const char *text = string_builder_text(&code->row.text);
	int error;

	if (*text == ';')
		return begin_kernel(code, text);
	error = write_samples(code, code->row.numbers[COLUMN_ISSUED], "issued",
			      code->samples_string);
	if (!error)
		error = write_reasons(code);
	return error ? error : write_cycles(code);
}

static int read_rows(struct rocprof_code *code)
{
	int error = json_reader_expect(code->reader, JSON_ARRAY_BEGIN), token;

	while (!error && (token = json_reader_next(code->reader)) != JSON_ARRAY_END) {
		if (token < 0)
			return token;
		if (token != JSON_ARRAY_BEGIN)
			return json_reader_fail(code->reader, "a row: an array",
						json_token_name(token));
		error = read_row(code);
		if (!error)
			error = write_row(code);
	}
	return error;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_key(struct rocprof_code *code, bool reads_rows)
{
	const char *key = json_reader_text(code->reader, NULL);
	int token;

	if (strcmp(key, "header") == 0 && !reads_rows)
		return read_header(code);
	if (strcmp(key, "code") == 0) {
		code->has_rows = true;
		if (reads_rows)
			return read_rows(code);
	}
	token = json_reader_next(code->reader);
	return token < 0 ? token : json_reader_skip(code->reader, token);
}

static int read_document(struct rocprof_code *code, bool reads_rows)
{
	int error = json_reader_new(import_source_read, code->source, &code->reader), token = 0;

	if (!error)
		error = json_reader_expect(code->reader, JSON_OBJECT_BEGIN);
	while (!error && (token = json_reader_next(code->reader)) == JSON_KEY)
		error = read_key(code, reads_rows);
	if (!error && token < 0)
		error = token;
	json_reader_free(code->reader);
	return error;
}

static int check_columns(const struct rocprof_code *code)
{
	bool has[COLUMNS_COUNT] = {false};

	for (size_t i = 0; i < code->columns_count; i++)
		has[code->columns[i]] = true;
	if (code->has_rows && has[COLUMN_TEXT] && has[COLUMN_ADDRESS] &&
	    (has[COLUMN_ISSUED] || has[COLUMN_LATENCY]))
		return 0;
	return error_set(-EBADMSG, "expected the keys 'code' and 'header', with the columns ISA, "
				   "Vaddr, and PC_Issued or Latency");
}

static int describe(struct rocprof_code *code)
{
	int error = import_target_process(code->target, "", 0, "[imported]", &code->process);

	if (!error)
		error = import_target_device(code->target, "rocprof-code", "AMD GPU", DEVICE_GPU,
					     &code->device);
	if (!error)
		error = import_target_text(code->target, "samples", &code->samples_string);
	return error ? error : import_target_text(code->target, "cycles", &code->cycles_string);
}

static int read_rocprof_code(struct import_source *source, struct import_target *target)
{
	struct rocprof_code code = {.source = source, .target = target};
	int error = read_document(&code, false);

	if (!error)
		error = check_columns(&code);
	if (!error)
		error = describe(&code);
	if (!error)
		error = import_source_rewind(source);
	if (!error)
		error = read_document(&code, true);
	string_builder_fini(&code.row.text);
	string_builder_fini(&code.row.source);
	if (error)
		return error;
	import_target_note(target, "no times: the file has sums over the whole recording");
	if (!code.samples)
		import_target_note(target, "no sample: every count is 0");
	return 0;
}

/* The file begins with the rows or, before them, with the names of the columns. */
static bool recognize_rocprof_code(const struct import_probe *probe)
{
	return *probe->text == '{' && !import_probe_contains(probe, "\"traceEvents\"") &&
	       (import_probe_contains(probe, "\"code\": [") ||
		import_probe_contains(probe, "\"code\":[") ||
		import_probe_contains(probe, "\"Vaddr\""));
}

const struct importer import_rocprof_code = {
	.name = "rocprof-code",
	.help = "code.json of rocprof-compute's viewer: PC samples and thread traces by "
		"instruction",
	.read = read_rocprof_code,
	.recognize = recognize_rocprof_code,
};
