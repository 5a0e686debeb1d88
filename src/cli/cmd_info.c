/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_info.c - duet info: size, row counts, processes, devices and damage of a trace
 *
 * Runs in:  our own process
 * Gets:     a trace file, or a code object (cli/info/code.h)
 * Gives:    text, or JSON "duet.info/1"
 * Owns:     the reader
 * Fails:    status 1 if the file is not a trace; a damaged trace is described, status 0
 * Why no rows are decoded: the heads of chunks contain the counts, and the checksums show whether
 *           the rest is intact. So it runs at the speed of the disk
 */
#include "cli/command.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/collectors.h"
#include "base/array.h"
#include "base/json.h"
#include "cli/info/info.h"
#include "cli/selection.h"
#include "report/table.h"
#include "trace/reader.h"

static const struct option_row info_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.info/1)",
	 offsetof(struct info_values, json)},
	{"batch", 0, OPTION_FLAG, NULL, "FILE is a batch buffer of an Intel GPU",
	 offsetof(struct info_values, batch)},
	{"gen", 0, OPTION_TEXT, "NAME",
	 "GPU generation of the batch buffer: gen9, gen11, gen12, xe-hpg, xe-hpc, xe2, xe3, xe3p",
	 offsetof(struct info_values, generation)},
	{"address", 0, OPTION_TEXT, "ADDRESS", "GPU address of the first byte (default 0)",
	 offsetof(struct info_values, address)},
	{"start", 0, OPTION_TEXT, "ADDRESS",
	 "GPU address of the first instruction (default: the first byte)",
	 offsetof(struct info_values, start)},
	{NULL},
};

struct kind_count {
	uint64_t chunks, rows;
};

struct info {
	const char *path;
	struct trace_reader *reader;
	struct kind_count kinds[EVENT_KIND_COUNT];
	struct trace_damage damage;
	uint64_t begin_ns, end_ns; /* start and end of the recording, CLOCK_MONOTONIC; 0: unknown */
};

/* False for the unused numbers between the kinds of entities and the kinds of events. */
static bool is_kind(uint32_t kind)
{
	return (kind >= EVENT_HOST && kind <= EVENT_ENTITY_LAST) || kind >= EVENT_API;
}

static const char *const device_types[] = {"other", "cpu", "gpu", "accelerator"};

static const char *text_of(const struct info *info, uint32_t string)
{
	return trace_reader_string(info->reader, string, NULL);
}

static struct shown shown_of(const struct info *info, uint32_t string)
{
	return format_text(text_of(info, string));
}

static void widen(struct info *info, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns && (!info->begin_ns || begin_ns < info->begin_ns))
		info->begin_ns = begin_ns;
	if (end_ns > info->end_ns)
		info->end_ns = end_ns;
}

/* The recording's start and end. A recorder that was killed wrote no end; then the last row with a
 * time in the host's clock counts as the end. */
static void find_times(struct info *info)
{
	const struct event_host *hosts;
	size_t count = trace_reader_entities(info->reader, EVENT_HOST, &hosts);

	for (size_t i = 0; i < count; i++)
		widen(info, hosts[i].begin_ns, hosts[i].end_ns);
	if (info->end_ns)
		return;
	for (size_t i = 0; i < trace_reader_chunk_count(info->reader); i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(info->reader, i);

		if (chunk->clock == CLOCK_ID_MONOTONIC)
			widen(info, chunk->first, chunk->last);
	}
}

static void count_rows(struct info *info)
{
	const void *entities;

	for (int kind = EVENT_HOST; kind <= EVENT_ENTITY_LAST; kind++)
		info->kinds[kind].rows =
			trace_reader_entities(info->reader, (enum event_kind)kind, &entities);
	for (size_t i = 0; i < trace_reader_chunk_count(info->reader); i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(info->reader, i);

		if ((unsigned int)chunk->kind >= EVENT_KIND_COUNT)
			continue;
		info->kinds[chunk->kind].chunks++;
		info->kinds[chunk->kind].rows += chunk->rows;
	}
}

static bool is_damaged(const struct trace_damage *damage)
{
	return damage->chunks || damage->bytes || damage->rows || damage->truncated ||
	       damage->index_missing;
}

static uint64_t duration_ns(const struct info *info)
{
	return info->end_ns > info->begin_ns ? info->end_ns - info->begin_ns : 0;
}

static void print_processes(const struct info *info)
{
	const struct event_process *processes;
	size_t count = trace_reader_entities(info->reader, EVENT_PROCESS, &processes);

	printf("\nprocesses %zu\n", count);
	for (size_t i = 0; i < count; i++)
		printf("  %-8" PRIu32 " %s\n", processes[i].pid,
		       shown_of(info, processes[i].command_string ? processes[i].command_string
								  : processes[i].name_string)
			       .text);
}

/* Stacks that were also unwound by a second method, and how many of them differ: the only measure
 * of how reliable the others are. */
struct checked_stacks {
	uint64_t checked, wrong;
};

static struct checked_stacks count_checked(const struct info *info)
{
	const struct event_process *processes;
	size_t count = trace_reader_entities(info->reader, EVENT_PROCESS, &processes);
	struct checked_stacks stacks = {0};

	for (size_t i = 0; i < count; i++) {
		stacks.checked += processes[i].stacks_checked;
		stacks.wrong += processes[i].stacks_wrong;
	}
	return stacks;
}

static void print_stacks(const struct info *info)
{
	const struct checked_stacks stacks = count_checked(info);

	if (stacks.checked)
		printf("\nstacks    checked by a second unwinder: %" PRIu64
		       "; with different callers: %" PRIu64 "\n",
		       stacks.checked, stacks.wrong);
}

static void print_devices(const struct info *info)
{
	const struct event_device *devices;
	size_t count = trace_reader_entities(info->reader, EVENT_DEVICE, &devices);

	printf("\ndevices   %zu\n", count);
	for (size_t i = 0; i < count; i++)
		printf("  %-8s %s (%s)\n",
		       devices[i].type < ARRAY_COUNT(device_types) ? device_types[devices[i].type]
								   : "?",
		       shown_of(info, devices[i].name_string).text,
		       shown_of(info, devices[i].vendor_string).text);
}

/* All rows of collectors. A collector may have several rows: one if it works, and one for each part
 * that failed. */
struct collector_rows {
	const struct event_collector *rows;
	size_t count;
};

static bool is_same_collector(const struct collector_rows *all, size_t a, size_t b)
{
	return all->rows[a].name_string == all->rows[b].name_string;
}

static size_t count_collectors(const struct collector_rows *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += collectors_is_first(all->rows, i);
	return count;
}

static void print_collector(const struct info *info, const struct collector_rows *all, size_t index)
{
	enum event_collector_state state = collectors_state(all->rows, all->count, index);
	bool has_reason = false;

	printf("  %-8s %s%s", shown_of(info, all->rows[index].name_string).text,
	       collectors_state_name(state),
	       all->rows[index].unverified ? ", unverified on hardware" : "");
	for (size_t i = index; i < all->count; i++) {
		if (!is_same_collector(all, i, index) || !all->rows[i].reason_string)
			continue;
		printf("%s%s", has_reason ? "\n           " : ": ",
		       shown_of(info, all->rows[i].reason_string).text);
		has_reason = true;
	}
	putchar('\n');
}

static void print_collectors(const struct info *info)
{
	struct collector_rows all;

	all.count = trace_reader_entities(info->reader, EVENT_COLLECTOR, &all.rows);
	printf("\ncollectors %zu\n", count_collectors(&all));
	for (size_t i = 0; i < all.count; i++)
		if (collectors_is_first(all.rows, i))
			print_collector(info, &all, i);
}

static void print_damage(const struct trace_damage *damage)
{
	if (damage->is_being_written) {
		printf("\ndamage    the file is still being written; duet top shows it\n");
		return;
	}
	if (!is_damaged(damage)) {
		printf("\ndamage    none\n");
		return;
	}
	printf("\ndamage    lost: chunks %" PRIu64 ", rows %s; skipped: bytes %" PRIu64 "\n",
	       damage->chunks, format_damaged_rows(damage).text, damage->bytes);
	if (damage->truncated)
		printf("          the file ends before its recording was closed\n");
	if (damage->index_missing)
		printf("          no index%s\n", damage->index_rebuilt ? ": it was rebuilt" : "");
}

/* Wall-clock time of the recording's start; "" if the trace does not contain it. */
static struct number date_of(const struct info *info)
{
	const struct event_clock *clocks;
	size_t count = trace_reader_entities(info->reader, EVENT_CLOCK, &clocks);
	const struct event_clock_pair *pairs;

	for (size_t i = 0; i < count; i++) {
		if (clocks[i].type == CLOCK_TYPE_REALTIME &&
		    trace_reader_clock_pairs(info->reader, clocks[i].id, &pairs))
			return format_realtime(info->begin_ns +
					       (pairs->time - pairs->host_lower_ns));
	}
	return (struct number){""};
}

static void print_part(const struct info *info)
{
	const struct event_host *host;

	if (trace_reader_entities(info->reader, EVENT_HOST, &host) != 1)
		return;
	if (host->segment)
		printf("part      segment %" PRIu32 " of an agent\n", host->segment);
	else if (host->continues)
		printf("part      the recording went on after this file\n");
}

static void print_text(const struct info *info)
{
	printf("file      %s\n", format_text(info->path).text);
	printf("schema    %d\n", EVENT_SCHEMA_MAJOR);
	printf("size      %" PRIu64 " bytes; segments %" PRIu32 ", chunks %zu\n",
	       trace_reader_size_bytes(info->reader), trace_reader_segment_count(info->reader),
	       trace_reader_chunk_count(info->reader));
	printf("recorded  %" PRIu64 ".%09" PRIu64 " s (CLOCK_MONOTONIC %" PRIu64 " to %" PRIu64
	       " ns)\n",
	       duration_ns(info) / 1000000000, duration_ns(info) % 1000000000, info->begin_ns,
	       info->end_ns);
	print_part(info);
	if (info->begin_ns && *date_of(info).text)
		printf("date      %s\n", date_of(info).text);
	print_processes(info);
	print_devices(info);
	print_collectors(info);
	print_stacks(info);
	printf("\n%-20s %10s %12s\n", "kind", "chunks", "rows");
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		if (is_kind(kind) && info->kinds[kind].rows)
			printf("%-20s %10" PRIu64 " %12" PRIu64 "\n", analysis_kind_name(kind),
			       info->kinds[kind].chunks, info->kinds[kind].rows);
	}
	print_damage(&info->damage);
}

static void json_processes(struct json_writer *json, const struct info *info)
{
	const struct event_process *processes;
	size_t count = trace_reader_entities(info->reader, EVENT_PROCESS, &processes);

	json_pair_array(json, "processes");
	for (size_t i = 0; i < count; i++) {
		json_line_begin(json);
		json_pair_u64(json, "pid", processes[i].pid);
		json_pair_text(json, "name", text_of(info, processes[i].name_string));
		json_pair_text(json, "exe", text_of(info, processes[i].exe_string));
		json_pair_text(json, "command", text_of(info, processes[i].command_string));
		json_pair_u64(json, "begin_ns", processes[i].begin_ns);
		json_pair_u64(json, "end_ns", processes[i].end_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_devices(struct json_writer *json, const struct info *info)
{
	const struct event_device *devices;
	size_t count = trace_reader_entities(info->reader, EVENT_DEVICE, &devices);

	json_pair_array(json, "devices");
	for (size_t i = 0; i < count; i++) {
		json_line_begin(json);
		json_pair_text(json, "name", text_of(info, devices[i].name_string));
		json_pair_text(json, "vendor", text_of(info, devices[i].vendor_string));
		json_pair_text(json, "key", text_of(info, devices[i].key_string));
		json_pair_text(json, "type",
			       devices[i].type < ARRAY_COUNT(device_types)
				       ? device_types[devices[i].type]
				       : NULL);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_collectors(struct json_writer *json, const struct info *info)
{
	const struct event_collector *collectors;
	size_t count = trace_reader_entities(info->reader, EVENT_COLLECTOR, &collectors);

	json_pair_array(json, "collectors");
	for (size_t i = 0; i < count; i++) {
		json_line_begin(json);
		json_pair_text(json, "name", text_of(info, collectors[i].name_string));
		json_pair_text(json, "state", collectors_state_name(collectors[i].state));
		json_pair_text(json, "reason",
			       collectors[i].reason_string
				       ? text_of(info, collectors[i].reason_string)
				       : NULL);
		if (collectors[i].unverified)
			json_pair_bool(json, "unverified", true);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_kinds(struct json_writer *json, const struct info *info)
{
	json_pair_array(json, "kinds");
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		if (!is_kind(kind))
			continue;
		json_line_begin(json);
		json_pair_text(json, "kind", analysis_kind_name(kind));
		json_pair_u64(json, "chunks", info->kinds[kind].chunks);
		json_pair_u64(json, "rows", info->kinds[kind].rows);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_stacks(struct json_writer *json, const struct info *info)
{
	const struct checked_stacks stacks = count_checked(info);

	json_pair_object(json, "stacks");
	json_pair_u64(json, "checked", stacks.checked);
	json_pair_u64(json, "wrong", stacks.wrong);
	json_object_end(json);
}

static void json_damage(struct json_writer *json, const struct trace_damage *damage)
{
	json_pair_object(json, "damage");
	json_pair_bool(json, "damaged", is_damaged(damage));
	json_pair_u64(json, "chunks", damage->chunks);
	json_pair_u64(json, "rows", damage->rows);
	json_pair_u64(json, "bytes", damage->bytes);
	json_pair_bool(json, "truncated", damage->truncated);
	json_pair_bool(json, "index_missing", damage->index_missing);
	json_pair_bool(json, "index_rebuilt", damage->index_rebuilt);
	json_object_end(json);
}

static void print_json(const struct info *info)
{
	struct json_writer json;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.info/1");
	json_pair_text(&json, "file", info->path);
	json_pair_i64(&json, "trace_schema", EVENT_SCHEMA_MAJOR);
	json_pair_u64(&json, "size_bytes", trace_reader_size_bytes(info->reader));
	json_pair_u64(&json, "segments", trace_reader_segment_count(info->reader));
	json_pair_u64(&json, "chunks", trace_reader_chunk_count(info->reader));
	json_pair_u64(&json, "begin_ns", info->begin_ns);
	json_pair_u64(&json, "end_ns", info->end_ns);
	if (info->begin_ns && *date_of(info).text)
		json_pair_text(&json, "recorded_at", date_of(info).text);
	json_processes(&json, info);
	json_devices(&json, info);
	json_collectors(&json, info);
	json_stacks(&json, info);
	json_kinds(&json, info);
	json_damage(&json, &info->damage);
	json_object_end(&json);
	printf("\n");
}

static int run_info(const struct cli_command *command, int argc, char **argv)
{
	struct info_values values = {0};
	struct info info = {.path = SELECTION_FILE};
	int operand = options_parse(command, argc, argv, false, &values), error;

	if (operand < 0)
		return operand == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - operand > 1)
		return usage_error(command, "one FILE at a time; unexpected '%s'",
				   argv[operand + 1]);
	if (values.batch && operand == argc)
		return usage_error(command, "--batch needs a FILE that contains the buffer");
	if (values.batch)
		return info_batch(command, &values, argv[operand]);
	if (values.generation || values.address || values.start)
		return usage_error(command, "--gen, --address and --start need --batch");
	if (operand < argc)
		info.path = argv[operand];
	if (info_is_code(info.path))
		return finish_output(command->name, info_code(command, info.path, values.json));
	error = trace_reader_open(info.path, &info.reader);
	if (error) {
		selection_explain(info.path, error);
		return print_failure(command);
	}
	count_rows(&info);
	find_times(&info);
	trace_reader_check(info.reader);
	trace_reader_damage(info.reader, &info.damage);
	if (values.json)
		print_json(&info);
	else
		print_text(&info);
	trace_reader_close(info.reader);
	return finish_output(command->name, STATUS_DONE);
}

const struct cli_command command_info = {
	.name = "info",
	.arguments = "[--json] [--batch [--gen NAME] [--address ADDRESS] [--start ADDRESS]] [FILE]",
	.summary = "describe a trace (size, rows, processes, devices, damage) or a GPU code object",
	.run = run_info,
	.options = info_options,
	.remote = &(const struct remote_way){.kind = REMOTE_PRINT},
};
