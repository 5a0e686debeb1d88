/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/kernels.c - instruction samples of OpenCL kernels that run on the CPU (PoCL)
 *
 * Runs in:  the recorder
 * Gets:     CPU samples whose stack was just walked
 * Gives:    rows of instruction samples, and of the code objects that contain the instructions
 * Owns:     nothing
 * Fails:    never; a sample outside of all kernels gets no row, and neither does one of an event
 *           that does not measure time
 * Why:      PoCL runs a kernel in threads of its own, so no stack leads from the program's call to
 *           it. The library at the sampled address identifies the kernel. The report finds the
 *           command by the sample's time.
 */
#include "collect/cpu/cpu_private.h"

#include "base/hash.h"
#include "collect/stack/memory_map.h"
#include "event/time_sources.h"

static uint32_t describe(struct cpu *cpu, struct process *process, const struct code_file *file)
{
	struct recording *recording = cpu->recording;
	struct event_code row = {.process = process->row.id,
				 .type = CODE_BINARY,
				 .name_string = recording_string(recording, file->kernel),
				 .hash_low = file->kernel_hash_low,
				 .hash_high = file->kernel_hash_high,
				 .size_bytes = file->kernel_bytes,
				 .begin_ns = process->row.begin_ns};

	row.id = ++recording->last_code;
	recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_CODE, &row);
	return row.id;
}

static uint32_t code_of(struct cpu *cpu, struct process *process, const struct code_file *file)
{
	uint64_t key = (uint64_t)process->row.id << 32 | file->number;
	uint32_t code = (uint32_t)hash_map_get(&cpu->kernels, key, 0);

	if (code)
		return code;
	code = describe(cpu, process, file);
	hash_map_put(&cpu->kernels, key, code);
	return code;
}

static void put_instruction(struct cpu *cpu, struct process *process,
			    const struct event_cpu_sample *sample, const struct code_file *file,
			    uint64_t offset, const char *unit)
{
	const struct trace_source source = {.source = sample->thread, .clock = CLOCK_ID_MONOTONIC};
	const struct event_instruction_sample row = {.begin = sample->time,
						     .end = sample->time,
						     .offset = offset,
						     .count = 1,
						     .period = sample->weight,
						     .period_unit_string =
							     recording_string(cpu->recording, unit),
						     .process = process->row.id,
						     .code = code_of(cpu, process, file),
						     .thread = sample->thread};

	trace_writer_row(cpu->recording->writer, EVENT_INSTRUCTION_SAMPLE, &source, &row);
}

/* A sample in a function that a kernel calls (such as one of libm) counts for the calling
 * instruction. Only events that measure time give instruction samples; cache misses, for example,
 * do not. */
void cpu_put_instruction(struct cpu *cpu, struct process *process,
			 const struct event_cpu_sample *sample)
{
	const char *unit = process->memory ? time_source_unit(cpu->state.source.name) : NULL;

	for (size_t i = 0; unit && i < cpu->frames_count; i++) {
		const struct unwind_walk_frame *frame = &cpu->walker->frames[i];
		uint64_t pc = frame->pc - frame->is_return;
		const struct memory_piece *piece = memory_map_find(process->memory, pc);

		if (!piece || !piece->file || !piece->file->kernel)
			continue;
		put_instruction(cpu, process, sample, piece->file,
				pc - piece->start + piece->file_offset, unit);
		return;
	}
}
