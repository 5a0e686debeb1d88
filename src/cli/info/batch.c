/* SPDX-License-Identifier: MIT
 *
 * cli/info/batch.c - duet info --batch: the kernels that a batch buffer of an Intel GPU runs
 *
 * Runs in:  our own process
 * Gets:     a file of commands for an Intel GPU, as they lie in memory
 * Gives:    text, or JSON "duet.info.batch/1"
 * Owns:     the file's bytes
 * Fails:    status 1 if the file cannot be read or has fewer than 4 bytes, 2 for wrong options; an
 *           incomplete or invalid buffer is described, status 0
 * Why:      during a recording a BPF program parses the buffers inside the kernel, where the result
 *           cannot be inspected. This command runs the same parser on a copy of a buffer
 */
#include "cli/info/info.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "base/json.h"
#include "cli/command.h"
#include "isa/batch.h"
#include "report/table.h"

enum { MAX_SIZE = 1 << 30, MAX_STEPS = 1 << 24, UNKNOWN_SHOWN = 16, ROWS = 256 };

/* How the generation of the buffer was determined: by --gen, by its commands, or by default. */
enum source { SOURCE_OPTION, SOURCE_COMMANDS, SOURCE_ASSUMED };

struct batch_info {
	const struct info_values *values;
	const char *path;
	struct batch_memory memory;
	uint64_t start;
	char *bytes;
	enum batch_generation generation;
	enum source source;
	struct batch_state *state;
	uint64_t rows[ROWS]; /* number of commands per row of the command table; row 0: unknown
				commands */
	uint32_t unknown[UNKNOWN_SHOWN];
	size_t unknown_count;
};

/* ---- options --------------------------------------------------------------------------------- */

/* "0x1f00" or "7936", a multiple of 4. */
static int parse_address(const struct cli_command *command, const char *option, const char *text,
			 uint64_t *ret_address)
{
	const bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = is_hexadecimal ? text + 2 : text;
	char *end;

	errno = 0;
	*ret_address = strtoull(digits, &end, is_hexadecimal ? 16 : 10);
	if (!isxdigit((unsigned char)digits[0]) || *end || errno)
		return usage_error(command, "--%s takes an address such as 0x7f000000, not '%s'",
				   option, text);
	if (*ret_address % 4)
		return usage_error(command, "--%s %s: addresses of commands are multiples of 4",
				   option, text);
	return STATUS_DONE;
}

static int parse_addresses(const struct cli_command *command, struct batch_info *info)
{
	const struct info_values *values = info->values;
	struct batch_memory *memory = &info->memory;
	int status = STATUS_DONE;

	if (values->address)
		status = parse_address(command, "address", values->address, &memory->address);
	info->start = memory->address;
	if (!status && values->start)
		status = parse_address(command, "start", values->start, &info->start);
	return status;
}

static int check_addresses(const struct cli_command *command, const struct batch_info *info)
{
	const struct batch_memory *memory = &info->memory;

	if (memory->size > UINT64_MAX - memory->address)
		return usage_error(command,
				   "--address %s: the file would end beyond the largest address",
				   info->values->address);
	if (info->start - memory->address >= memory->size)
		return usage_error(
			command,
			"--start %s is not in the file, which is at 0x%" PRIx64 " to 0x%" PRIx64,
			info->values->start, memory->address, memory->address + memory->size);
	return STATUS_DONE;
}

static int read_buffer(struct batch_info *info)
{
	const char *path = info->path;
	size_t size;
	int error = read_file(path, MAX_SIZE, &info->bytes, &size);

	if (error == -EFBIG)
		return error_set(error, "'%s': larger than %s, the maximum for a batch buffer",
				 path, format_size(MAX_SIZE).text);
	if (error)
		return error;
	if (size < 4)
		return error_set(
			-ENODATA,
			"'%s' has only %zu bytes, less than one command (4 bytes) of a batch "
			"buffer",
			path, size);
	info->memory.bytes = info->bytes;
	info->memory.size = size & ~(size_t)3;
	return 0;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static void keep_unknown(struct batch_info *info, uint32_t header)
{
	for (size_t i = 0; i < info->unknown_count; i++)
		if (info->unknown[i] >> 16 == header >> 16)
			return;
	if (info->unknown_count < UNKNOWN_SHOWN)
		info->unknown[info->unknown_count++] = header;
}

static void count_command(void *context, uint64_t address, uint32_t row, uint32_t header,
			  uint32_t dwords)
{
	struct batch_info *info = context;

	info->rows[row % ROWS]++;
	if (!row)
		keep_unknown(info, header);
}

static void parse_buffer(struct batch_info *info)
{
	const struct batch_source source = {.memory = &info->memory,
					    .memory_count = 1,
					    .on_command = count_command,
					    .context = info};

	if (!info->values->generation)
		info->source = batch_guess_generation(&source, 0, info->start, MAX_STEPS,
						      &info->generation)
				       ? SOURCE_COMMANDS
				       : SOURCE_ASSUMED;
	info->state->generation = info->generation;
	info->state->max_steps = MAX_STEPS;
	batch_parse(info->state, &source, info->start);
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *const sources[] = {
	[SOURCE_OPTION] = "from --gen",
	[SOURCE_COMMANDS] = "detected from its commands",
	[SOURCE_ASSUMED] =
		"assumed: other generations have the same commands; use --gen NAME to choose",
};
static const char *const source_names[] = {
	[SOURCE_OPTION] = "said", [SOURCE_COMMANDS] = "told", [SOURCE_ASSUMED] = "assumed"};
static const char *const result_names[BATCH_STATUSES] = {
	"going", "complete", "incomplete", "loop", "limit", "garbage",
};

static void print_incomplete(const struct batch_info *info)
{
	const struct batch_state *state = info->state;
	const uint64_t end = info->memory.address + info->memory.size;

	if (!state->missing)
		printf("incomplete: from 0x%" PRIx64
		       " on there are only zeros, as in memory that was not written yet\n",
		       (uint64_t)state->address);
	else if (state->missing == end)
		printf("incomplete: the file ends at 0x%" PRIx64 ", before MI_BATCH_BUFFER_END\n",
		       end);
	else
		printf("incomplete: it continues at 0x%" PRIx64 ", but the file contains 0x%" PRIx64
		       " to 0x%" PRIx64 " (--address sets the address of its first byte)\n",
		       (uint64_t)state->missing, info->memory.address, end);
}

static void print_result(const struct batch_info *info)
{
	const uint64_t address = info->state->address;

	printf("result      ");
	switch (info->state->status) {
	case BATCH_DONE:
		printf("complete: it ends at 0x%" PRIx64 "\n", address);
		break;
	case BATCH_INCOMPLETE:
		print_incomplete(info);
		break;
	case BATCH_LOOP:
		printf("loop: 0x%" PRIx64
		       " jumps back endlessly, like a ring that waits for work\n",
		       address);
		break;
	case BATCH_GARBAGE:
		printf("garbage: not a command at 0x%" PRIx64 "\n", address);
		break;
	default:
		printf("limit: parsed %d commands; more follow at 0x%" PRIx64 "\n", MAX_STEPS,
		       address);
	}
}

static void print_number(const char *what, uint32_t number)
{
	if (number)
		printf("%s %" PRIu32, what, number);
}

static void print_counts(const struct batch_counts *counts)
{
	printf("commands    %" PRIu32, counts->commands);
	print_number("; padding", counts->noops);
	print_number("; chains", counts->chains);
	print_number("; calls", counts->calls);
	printf("\n");
	if (counts->predicated)
		printf(" conditional jumps, followed: %" PRIu32
		       "; conditional jumps back, not followed: %" PRIu32 "\n",
		       counts->predicated, counts->loops);
}

static void print_bases(const struct batch_bases *bases)
{
	if (bases->known & BATCH_KNOWS_INSTRUCTION)
		printf("kernels at  0x%" PRIx64 " (instruction base address)\n",
		       (uint64_t)bases->instruction);
}

static void print_kernel(const struct batch_found *found)
{
	printf("  %-16s %s0x%010" PRIx64 " %10" PRIu32 "  0x%" PRIx64 " %s\n",
	       batch_kind_name(found->kind), found->flags & BATCH_IS_RELATIVE ? "base+" : "     ",
	       (uint64_t)found->address, found->count, (uint64_t)found->command,
	       batch_command_name(found->row));
}

static void print_kernels(const struct batch_state *state)
{
	bool has_relative = false;

	printf("\nkernels %" PRIu32 "\n", state->found_count);
	if (state->found_count)
		printf("  %-16s %17s %10s  %s\n", "kind", "address", "named", "first by");
	for (uint32_t i = 0; i < state->found_count; i++) {
		print_kernel(&state->found[i]);
		has_relative |= state->found[i].flags & BATCH_IS_RELATIVE;
	}
	if (has_relative)
		printf(" base+: relative to the STATE_BASE_ADDRESS of an earlier batch, which is "
		       "not in this "
		       "file\n");
}

static void print_unknown(const struct batch_info *info)
{
	printf(" unknown, skipped by the length in their header: %" PRIu32 " (",
	       info->state->counts.unknown);
	for (size_t i = 0; i < info->unknown_count; i++)
		printf("%s0x%08" PRIx32, i ? ", " : "", info->unknown[i]);
	printf("%s)\n", info->unknown_count == UNKNOWN_SHOWN ? ", …" : "");
}

static void print_strange(const struct batch_info *info)
{
	const struct batch_counts *counts = &info->state->counts;

	if (counts->unknown + counts->mismatched + counts->unresolved + counts->too_deep +
		    counts->left_out ==
	    0)
		return;
	printf("\nnot understood\n");
	if (counts->unknown)
		print_unknown(info);
	if (counts->mismatched)
		printf(" with a kernel, but with a length of another generation: %" PRIu32 "\n",
		       counts->mismatched);
	if (counts->unresolved)
		printf(" kernels in unknown descriptors: %" PRIu32 "\n", counts->unresolved);
	if (counts->too_deep)
		printf("  calls beyond %d levels, not followed: %" PRIu32 "\n", BATCH_LEVELS,
		       counts->too_deep);
	if (counts->left_out)
		printf(" kernels beyond the limit of %d, left out: named %" PRIu32 " times\n",
		       MAX_BATCH_FOUND, counts->left_out);
}

static void print_commands(const struct batch_info *info)
{
	printf("\n%-40s %10s\n", "command", "count");
	for (uint32_t row = 1; row < ROWS; row++)
		if (info->rows[row])
			printf("%-40s %10" PRIu64 "\n", batch_command_name(row), info->rows[row]);
	if (info->rows[0])
		printf("%-40s %10" PRIu64 "\n", "unknown", info->rows[0]);
}

static void print_text(const struct batch_info *info)
{
	printf("file        %s: %zu bytes at 0x%" PRIx64 "\n", format_text(info->path).text,
	       info->memory.size, info->memory.address);
	printf("generation  %s (%s), %s\n", batch_generation_name(info->generation),
	       batch_generation_devices(info->generation), sources[info->source]);
	print_result(info);
	print_counts(&info->state->counts);
	print_bases(&info->state->bases);
	print_kernels(info->state);
	print_strange(info);
	if (info->state->counts.commands)
		print_commands(info);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_kernels(struct json_writer *json, const struct batch_state *state)
{
	json_pair_array(json, "kernels");
	for (uint32_t i = 0; i < state->found_count; i++) {
		const struct batch_found *found = &state->found[i];

		json_line_begin(json);
		json_pair_text(json, "kind", batch_kind_name(found->kind));
		json_pair_u64(json, "address", found->address);
		json_pair_bool(json, "relative", found->flags & BATCH_IS_RELATIVE);
		json_pair_u64(json, "pointer", found->pointer);
		json_pair_u64(json, "count", found->count);
		json_pair_text(json, "command", batch_command_name(found->row));
		json_pair_u64(json, "command_address", found->command);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_commands(struct json_writer *json, const struct batch_info *info)
{
	json_pair_array(json, "commands");
	for (uint32_t row = 0; row < ROWS; row++) {
		if (!info->rows[row])
			continue;
		json_line_begin(json);
		json_pair_text(json, "name", row ? batch_command_name(row) : NULL);
		json_pair_u64(json, "count", info->rows[row]);
		json_object_end(json);
	}
	json_array_end(json);
	json_pair_array(json, "unknown_headers");
	for (size_t i = 0; i < info->unknown_count; i++)
		json_u64(json, info->unknown[i]);
	json_array_end(json);
}

static void json_counts(struct json_writer *json, const struct batch_counts *counts)
{
	json_pair_object(json, "counts");
	json_pair_u64(json, "commands", counts->commands);
	json_pair_u64(json, "noops", counts->noops);
	json_pair_u64(json, "unknown", counts->unknown);
	json_pair_u64(json, "mismatched", counts->mismatched);
	json_pair_u64(json, "unresolved", counts->unresolved);
	json_pair_u64(json, "chains", counts->chains);
	json_pair_u64(json, "calls", counts->calls);
	json_pair_u64(json, "too_deep", counts->too_deep);
	json_pair_u64(json, "predicated", counts->predicated);
	json_pair_u64(json, "loops", counts->loops);
	json_pair_u64(json, "left_out", counts->left_out);
	json_object_end(json);
}

static void json_base(struct json_writer *json, const struct batch_bases *bases)
{
	json_key(json, "instruction_base");
	if (bases->known & BATCH_KNOWS_INSTRUCTION)
		json_u64(json, bases->instruction);
	else
		json_null(json);
}

static void print_json(const struct batch_info *info)
{
	const struct batch_state *state = info->state;
	struct json_writer json;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.info.batch/1");
	json_pair_text(&json, "file", info->path);
	json_pair_u64(&json, "size_bytes", info->memory.size);
	json_pair_u64(&json, "address", info->memory.address);
	json_pair_u64(&json, "start", info->start);
	json_pair_text(&json, "generation", batch_generation_name(info->generation));
	json_pair_text(&json, "generation_source", source_names[info->source]);
	json_pair_text(&json, "result", result_names[state->status]);
	json_pair_u64(&json, "end", state->address);
	json_key(&json, "missing");
	if (state->status == BATCH_INCOMPLETE && state->missing)
		json_u64(&json, state->missing);
	else
		json_null(&json);
	json_base(&json, &state->bases);
	json_kernels(&json, state);
	json_counts(&json, &state->counts);
	json_commands(&json, info);
	json_object_end(&json);
	printf("\n");
}

static int describe(const struct cli_command *command, struct batch_info *info)
{
	int status = parse_addresses(command, info);

	if (status)
		return status;
	if (info->values->generation &&
	    batch_find_generation(info->values->generation, &info->generation)) {
		status = usage_error(command, "--gen: %s", error_text());
		error_clear();
		return status;
	}
	info->state = calloc(1, sizeof(*info->state));
	if (!info->state || read_buffer(info)) {
		print_error(command->name, info->state ? NULL : "out of memory");
		return STATUS_FAILED;
	}
	status = check_addresses(command, info);
	if (status)
		return status;
	parse_buffer(info);
	if (info->values->json)
		print_json(info);
	else
		print_text(info);
	return finish_output(command->name, STATUS_DONE);
}

int info_batch(const struct cli_command *command, const struct info_values *values,
	       const char *path)
{
	struct batch_info info = {.values = values, .path = path};
	int status = describe(command, &info);

	free(info.state);
	free(info.bytes);
	return status;
}
