/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cpu_side.c - records CUDA launches without CUPTI: by uprobes, without device times
 *
 * Runs in:  the recorder
 * Gets:     calls of libcuda's functions, from uprobes (collect/enter/call_probes.h)
 * Gives:    launches, each marked as having no device times
 * Owns:     the probes, stacks, placeholders for unnamed kernels
 * Fails:    with a note; the rest of the recording is unaffected
 * Why:      The code that launches, and how often, is half of what a user looks for. Uprobes
 *           provide it when another tool holds CUPTI's only subscription, when the driver refuses
 *           CUPTI, and in a running program. Only CUPTI has kernel names, so the name of the call
 *           is used instead.
 */
#include "collect/nvidia/cpu_side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "collect/enter/call_probes.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/processes.h"
#include "collect/stack/bpf_stacks.h"
#include "collect/stack/mapped_file.h"
#include "event/event.h"
#include "symbol/proc_maps.h"

/* Base of correlation ids, beside those of guests, jobs and submissions. */
#define CORRELATION_BASE (UINT64_C(0xfd) << 56)

/* Without the dot that follows it in the file name: a program whose file contains the name with the
 * dot is taken for a user of CUDA, and duet contains this string. */
static const char library[] = "/libcuda.so";

/* Functions that put work into a stream, in all versions that the driver has. */
#define EACH(name)  name, name "_ptsz"
#define EACHD(name) name, name "_ptds"
static const char *const functions[] = {
	EACH("cuLaunchKernel"),
	EACH("cuLaunchKernelEx"),
	EACH("cuLaunchCooperativeKernel"),
	"cuLaunchCooperativeKernelMultiDevice",
	"cuLaunchGrid",
	"cuLaunchGridAsync",
	EACH("cuGraphLaunch"),
	EACHD("cuMemcpyHtoD_v2"),
	EACH("cuMemcpyHtoDAsync_v2"),
	EACHD("cuMemcpyDtoH_v2"),
	EACH("cuMemcpyDtoHAsync_v2"),
	EACHD("cuMemcpyDtoD_v2"),
	EACH("cuMemcpyDtoDAsync_v2"),
	EACHD("cuMemcpy"),
	EACH("cuMemcpyAsync"),
	EACHD("cuMemcpyPeer"),
	EACH("cuMemcpyPeerAsync"),
	EACHD("cuMemcpy2D_v2"),
	EACH("cuMemcpy2DAsync_v2"),
	EACHD("cuMemcpy3D_v2"),
	EACH("cuMemcpy3DAsync_v2"),
	EACHD("cuMemsetD8_v2"),
	EACH("cuMemsetD8Async"),
	EACHD("cuMemsetD16_v2"),
	EACH("cuMemsetD16Async"),
	EACHD("cuMemsetD32_v2"),
	EACH("cuMemsetD32Async"),
};

struct cpu_side {
	struct recording *recording; /* borrowed */
	struct call_probes *probes;  /* owned; NULL: see refused */
	char refused[CALL_PROBES_TEXT_BYTES];
	struct bpf_stacks stacks;
	struct hash_map pids; /* processes noted so far -> start time in kernel ticks */
	bool is_on;           /* at least one process was watched */
	/* process << 32 | function -> code object that stands for its kernels. */
	struct hash_map codes;
	uint64_t last_correlation;
	uint64_t lost[CALL_COUNTS], refused_stacks;
	uint64_t counted_ns;
};

/* ---- calls ----------------------------------------------------------------------------------- */

static uint32_t command_of(const char *name)
{
	if (strncmp(name, "cuLaunch", 8) == 0)
		return COMMAND_KERNEL;
	if (strncmp(name, "cuGraph", 7) == 0)
		return COMMAND_GRAPH;
	if (strncmp(name, "cuMemset", 8) == 0)
		return COMMAND_FILL;
	return strstr(name, "HtoD")   ? COMMAND_WRITE
	       : strstr(name, "DtoH") ? COMMAND_READ
				      : COMMAND_COPY;
}

static struct process *process_of(struct cpu_side *side, uint32_t tgid, uint64_t now_ns)
{
	struct process *process = processes_find(side->recording->processes, tgid);

	return process ? process : processes_begin(side->recording->processes, tgid, now_ns);
}

static uint32_t thread_of(struct cpu_side *side, struct process *process,
			  const struct call_record *record)
{
	struct processes *table = side->recording->processes;
	struct process_thread *thread =
		process_thread(table, process, record->head.tid, record->head.time_ns);
	char name[KERNEL_NAME_BYTES + 1];

	if (!thread)
		return 0;
	snprintf(name, sizeof(name), "%.*s", KERNEL_NAME_BYTES, record->thread);
	if (!*thread->name)
		process_thread_rename(table, process, thread, name, record->head.time_ns);
	thread->has_launched = true;
	return process_thread_describe(table, process, thread);
}

static uint32_t code_of(struct cpu_side *side, uint32_t process, uint32_t function, uint64_t now_ns)
{
	const uint64_t key = (uint64_t)process << 32 | function;
	uint32_t id = (uint32_t)hash_map_get(&side->codes, key, 0);
	struct event_code row = {.process = process, .type = CODE_KERNEL, .begin_ns = now_ns};
	char name[64];

	if (id)
		return id;
	snprintf(name, sizeof(name), "[%s]", functions[function]);
	row.id = ++side->recording->last_code;
	row.name_string = recording_string(side->recording, name);
	side->recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(side->recording->writer, EVENT_CODE, &row);
	hash_map_put(&side->codes, key, row.id);
	return row.id;
}

/* Returns the stack without its innermost frame, which is the driver's function itself. */
static uint32_t stack_of(struct cpu_side *side, const struct call_record *record, uint32_t process)
{
	uint32_t stack = bpf_stacks_find(&side->stacks, record->user_stack, process);
	struct event_stack row;

	return stack && trace_writer_find_stack(side->recording->writer, stack, &row) ? row.caller
										      : 0;
}

static void put_rows(struct cpu_side *side, const struct event_launch *launch, uint32_t process)
{
	const struct trace_source source = {.source = launch->thread,
					    .clock = CLOCK_ID_MONOTONIC,
					    .seen_clock = CLOCK_ID_MONOTONIC};
	const struct event_execution execution = {
		.seen = launch->exit, .correlation = launch->correlation, .process = process};

	trace_writer_row(side->recording->writer, EVENT_LAUNCH, &source, launch);
	trace_writer_row(side->recording->writer, EVENT_EXECUTION, &source, &execution);
}

static void take_call(struct cpu_side *side, const struct call_record *record)
{
	const char *name = functions[record->function];
	struct process *process = process_of(side, record->head.tgid, record->head.time_ns);
	struct event_launch launch = {
		.enter = record->head.time_ns,
		.exit = record->head.time_ns,
		.correlation = CORRELATION_BASE | ++side->last_correlation,
		.command = command_of(name),
		.flags = LAUNCH_UNTIMED,
	};

	if (!process)
		return;
	launch.thread = thread_of(side, process, record);
	launch.function_string = recording_string(side->recording, name);
	launch.stack = stack_of(side, record, process->row.id);
	if (launch.command == COMMAND_KERNEL)
		launch.kernel =
			code_of(side, process->row.id, record->function, record->head.time_ns);
	put_rows(side, &launch, process->row.id);
}

static void take_stack(struct cpu_side *side, const struct kernel_stack *stack_row)
{
	struct process *process = process_of(side, stack_row->tgid, host_clocks_now_ns());

	if (!process || stack_row->bytes > KERNEL_STACK_BYTES)
		return;
	process_describe(side->recording->processes, process);
	bpf_stacks_take(&side->stacks, process, stack_row);
}

static void on_record(void *context, const void *data, size_t size)
{
	const struct call_record *record = data;

	if (size >= sizeof(struct kernel_stack))
		take_stack(context, data);
	else if (size >= sizeof(*record) && record->head.kind == CALL_RECORD &&
		 record->function < ARRAY_COUNT(functions))
		take_call(context, record);
}

static void on_forgotten(void *context, uint64_t user_stack)
{
	const struct cpu_side *side = context;

	call_probes_forget_stack(side->probes, user_stack);
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct cpu_side *cpu_side_open(struct recording *recording, bool has_stacks)
{
	struct cpu_side *side = calloc(1, sizeof(*side));
	const struct call_probes_options options = {.functions = functions,
						    .functions_count = ARRAY_COUNT(functions),
						    .has_stacks = has_stacks,
						    .on_record = on_record,
						    .context = side};

	if (!side)
		return NULL;
	side->recording = recording;
	if (bpf_stacks_init(&side->stacks, recording)) {
		free(side);
		return NULL;
	}
	side->stacks.on_forgotten = on_forgotten;
	side->stacks.context = side;
	if (call_probes_start(&options, &side->probes)) {
		snprintf(side->refused, sizeof(side->refused), "%s", error_text());
		error_clear();
	}
	return side;
}

void cpu_side_close(struct cpu_side *side)
{
	if (!side)
		return;
	cpu_side_drain(side);
	call_probes_stop(side->probes);
	bpf_stacks_fini(&side->stacks);
	hash_map_fini(&side->pids);
	hash_map_fini(&side->codes);
	free(side);
}

bool cpu_side_is_on(const struct cpu_side *side)
{
	return side->is_on;
}

static void note_process(const struct cpu_side *side, uint32_t pid, uint32_t count, const char *why)
{
	char text[CALL_PROBES_TEXT_BYTES + 320];

	if (count && *why)
		snprintf(text, sizeof(text),
			 "process %u: CPU side only. Its CUDA calls are seen at %u functions of "
			 "libcuda (uprobes), with their stacks from now on. At others they are not "
			 "seen (%s). Kernels have neither names nor device times",
			 pid, count, why);
	else if (count)
		snprintf(text, sizeof(text),
			 "process %u: CPU side only. Its CUDA calls that launch kernels, copies "
			 "and graphs are seen at %u functions of libcuda (uprobes), with their "
			 "stacks from now on. Kernels have neither names nor device times",
			 pid, count);
	else
		snprintf(text, sizeof(text),
			 "process %u: its CUDA launches are not seen by uprobes either: %s", pid,
			 why);
	recording_note(side->recording, "nvidia", count ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED, 0,
		       text);
	recording_hint(side->recording, text);
}

static bool is_driver(const struct proc_mapping *mapping)
{
	const char *name = strrchr(mapping->path, '/'), *version;

	if (!mapping->is_executable || mapping->kind != PROC_MAPPING_FILE || !name ||
	    strncmp(name, library, sizeof(library) - 1) != 0)
		return false;
	version = name + sizeof(library) - 1;
	return version[0] == '.' && version[1] && !version[strspn(version, ".0123456789")];
}

/* Opens the process's libcuda. -ENOENT: it has none; -errno: it may not be opened. */
static int open_library(uint32_t pid)
{
	struct proc_maps maps = {0};
	int fd = -ENOENT;

	if (proc_maps_read((pid_t)pid, &maps) < 0) {
		error_clear();
		return -EACCES;
	}
	for (size_t i = 0; i < maps.count; i++)
		if (is_driver(&maps.mappings[i])) {
			fd = mapped_file_open((pid_t)pid, &maps.mappings[i]);
			fd = fd == -ENOENT ? -ESTALE : fd;
			break;
		}
	proc_maps_fini(&maps);
	return fd;
}

static void forget(struct cpu_side *side, uint32_t pid)
{
	hash_map_remove(&side->pids, pid, NULL);
	if (side->probes)
		call_probes_forget(side->probes, pid);
}

/* Pids are reused: an entry is valid only for the process with this start time. */
void cpu_side_watch(struct cpu_side *side, uint32_t pid)
{
	const uint64_t *known = hash_map_find(&side->pids, pid);
	const uint64_t start_ticks = proc_start_ticks(pid);
	int fd;

	if (!start_ticks || (known && *known == start_ticks))
		return;
	if (known)
		forget(side, pid);
	fd = open_library(pid);
	if (fd == -ENOENT)
		return;
	hash_map_put(&side->pids, pid, start_ticks);
	side->is_on = true;
	if (fd < 0) {
		note_process(side, pid, 0, "its libcuda cannot be opened");
	} else if (!side->probes) {
		close(fd);
		note_process(side, pid, 0, side->refused);
	} else if (call_probes_watch(side->probes, pid, fd)) {
		note_process(side, pid, 0, "the limit of watched processes is reached");
	}
}

/* Ended processes make room for others. */
static void forget_ended(struct cpu_side *side)
{
	uint64_t pid, start_ticks;
	size_t cursor = 0;

	while (hash_map_next(&side->pids, &cursor, &pid, &start_ticks))
		if (proc_start_ticks((uint32_t)pid) != start_ticks) {
			forget(side, (uint32_t)pid);
			cursor = 0; /* the map has changed */
		}
}

/* ---- each round ------------------------------------------------------------------------------ */

void cpu_side_drain(struct cpu_side *side)
{
	char text[CALL_PROBES_TEXT_BYTES];
	uint32_t pid, count;

	if (!side->probes || !cpu_side_is_on(side))
		return;
	while (call_probes_next(side->probes, &pid, &count, text))
		note_process(side, pid, count, text);
	call_probes_drain(side->probes);
}

void cpu_side_count(struct cpu_side *side, uint64_t now_ns)
{
	static const uint32_t kinds[CALL_COUNTS] = {
		[CALL_COUNT_RECORDS] = EVENT_LAUNCH, [CALL_COUNT_STACKS] = LOSS_KIND_STACK};
	const uint64_t begin_ns = side->counted_ns ? side->counted_ns : now_ns;

	for (int i = 0; i < CALL_COUNTS && side->probes; i++)
		recording_lose_more(side->recording, kinds[i], LOSS_RING_FULL, begin_ns, now_ns,
				    call_probes_lost(side->probes, (enum call_count)i),
				    &side->lost[i]);
	recording_lose_more(side->recording, LOSS_KIND_STACK, LOSS_RING_FULL, begin_ns, now_ns,
			    side->stacks.refused, &side->refused_stacks);
	side->counted_ns = now_ns;
	forget_ended(side);
}
