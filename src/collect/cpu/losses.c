/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/losses.c - counts and notes the data that the CPU collector could not record
 *
 * Runs in:  the recorder, once a second and at the end
 * Gets:     the counters of struct cpu
 * Gives:    loss rows; notes for the report; once a second it also starts the other regular work of
 *           the collector, such as naming JIT code
 * Owns:     nothing
 * Fails:    never
 * Why:      a full ring reports its losses only when it has room again, which may never happen
 *           before the end. So the last losses are read from the counters of the perf events.
 */
#include "collect/cpu/cpu_private.h"

#include <stdio.h>

#include "base/number.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"

static void put_loss(struct cpu *cpu, uint32_t kind, uint32_t reason, uint64_t count,
		     uint64_t now_ns)
{
	if (count)
		recording_lose(cpu->recording, kind, reason, cpu->losses.since_ns, now_ns, count);
}

static void end_if_gone(struct cpu *cpu, struct process *process)
{
	if (process->is_unwatched && !process->has_ended && !proc_is_alive(-1, process->row.pid))
		processes_end(cpu->processes, process->row.pid, host_clocks_now_ns());
}

/* The number of stacks that were refused since the last call. */
static uint64_t take_refused_stacks(struct cpu *cpu)
{
	const uint64_t refused = cpu->second_stacks.refused + cpu->all_stacks.refused;

	cpu->second_stacks.refused = cpu->all_stacks.refused = 0;
	return refused;
}

void cpu_lose_switches(struct cpu *cpu, uint64_t begin_ns, uint64_t end_ns, uint64_t count)
{
	struct cpu_losses *losses = &cpu->losses;

	if (!count)
		return;
	losses->begin_ns = losses->others ? smaller(losses->begin_ns, begin_ns) : begin_ns;
	losses->end_ns = larger(losses->end_ns, end_ns);
	losses->is_unbounded |= !begin_ns;
	losses->others += count;
}

/* Lost records that are not samples are counted as switches: the kernel does not report their
 * kind. Their interval is that of the rings, because a record may be read long after its time. */
static void put_lost_switches(struct cpu *cpu, uint64_t now_ns)
{
	struct cpu_losses *losses = &cpu->losses;
	const struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	const struct event_loss row = {.begin = losses->begin_ns,
				       .end = losses->end_ns,
				       .kind = EVENT_SWITCH,
				       .reason = LOSS_RING_FULL,
				       .count = losses->others,
				       .bounded = 1};

	if (losses->is_unbounded)
		put_loss(cpu, EVENT_SWITCH, LOSS_RING_FULL, losses->others, now_ns);
	else if (losses->others)
		trace_writer_row(cpu->recording->writer, EVENT_LOSS, &source, &row);
	losses->all_others += losses->others;
	losses->others = losses->end_ns = 0;
	losses->is_unbounded = false;
}

void cpu_count_losses(void *state, uint64_t now_ns)
{
	struct cpu *cpu = state;
	const uint64_t lost = switch_causes_each_second(cpu, now_ns);

	cpu_lose_switches(cpu, cpu->losses.since_ns, host_clocks_now_ns(), lost);
	put_loss(cpu, EVENT_CPU_SAMPLE, LOSS_RING_FULL, cpu->losses.samples, now_ns);
	put_lost_switches(cpu, now_ns);
	put_loss(cpu, LOSS_KIND_STACK, LOSS_TRACKING, take_refused_stacks(cpu), now_ns);
	cpu_machine_put_losses(cpu, cpu->losses.since_ns, now_ns);
	cpu->losses.all_samples += cpu->losses.samples;
	cpu->losses.samples = 0;
	cpu->second_stacks.used = 0;
	cpu->losses.since_ns = now_ns;
	cpu_interrupts_read(cpu);
	kernel_frames_look(&cpu->walker->kernel_frames);
	cpu_for_each_process(cpu, cpu_name_code);
	cpu_for_each_process(cpu, end_if_gone);
}

/* A full ring gets a PERF_RECORD_LOST only when it has room again, so the last losses may have
 * none. The events' own counters include them. Reading those takes one system call for each thread
 * and processor, so this is done only at the end. */
void cpu_count_last_losses(struct cpu *cpu)
{
	uint64_t samples = 0, others = 0, since_ns = 0, known;

	if (cpu->rings && cpu->state.counts_lost)
		perf_rings_lost(cpu->rings, &samples, &others, &since_ns);
	if (samples > cpu->losses.all_samples + cpu->losses.samples)
		cpu->losses.samples = samples - cpu->losses.all_samples;
	known = cpu->losses.all_others + cpu->losses.others;
	if (others > known)
		cpu_lose_switches(cpu, since_ns, host_clocks_now_ns(), others - known);
	cpu_count_losses(cpu, host_clocks_now_ns());
}

static void note_throttled(struct cpu *cpu)
{
	char text[200];

	if (!cpu->throttled)
		return;
	snprintf(text, sizeof(text),
		 "the kernel throttled sampling %llu times because samples cost too much (sysctl "
		 "kernel.perf_cpu_time_max_percent): lower the frequency with -F",
		 (unsigned long long)cpu->throttled);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

/* Up to one nameless address in this many samples does not make the recording partial. */
enum { NAMELESS_SHARE = 1000 };

static void note_nameless(struct cpu *cpu)
{
	const bool is_one = cpu->nameless == 1;
	char text[200];

	if (!cpu->nameless)
		return;
	snprintf(text, sizeof(text),
		 "%llu %s outside of all files (JIT code, for example) %s no name: no perf map "
		 "and no jitdump contains one",
		 (unsigned long long)cpu->nameless, is_one ? "place" : "places",
		 is_one ? "has" : "have");
	recording_note(cpu->recording, "cpu",
		       cpu->nameless * NAMELESS_SHARE < cpu->samples ? COLLECTOR_AVAILABLE
								     : COLLECTOR_PARTIAL,
		       0, text);
}

/* "'sudo', 'ping' (7 processes) and perhaps others". The names are chosen by the programs. */
static void name_unwatched(const struct unwatched *unwatched, char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < unwatched->names_count && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? ", " : "",
					 unwatched->names[i].name);
		if (unwatched->names[i].count > 1 && used < size)
			used += (size_t)snprintf(text + used, size - used, " (%llu processes)",
						 (unsigned long long)unwatched->names[i].count);
	}
	if (unwatched->names_count == CPU_UNWATCHED_NAMES && used < size)
		snprintf(text + used, size - used, " and perhaps others");
}

static void note_unwatched(struct cpu *cpu)
{
	char names[480] = "", text[800];

	if (!cpu->unwatched.count)
		return;
	name_unwatched(&cpu->unwatched, names, sizeof(names));
	snprintf(text, sizeof(text),
		 "not recorded: %s, with their child processes; the kernel hides programs that "
		 "run with other rights than their parent's (setuid, file capabilities), that "
		 "exclude debuggers, or whose file may not be read",
		 names);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

static void note_crowded(struct cpu *cpu)
{
	uint64_t count = cpu->walker->left_out + cpu->walker->files.refused;
	char text[160];

	if (!count)
		return;
	snprintf(text, sizeof(text),
		 "%llu mappings of code are not kept: there are too many at once, or of too many "
		 "files; frames in them have no names",
		 (unsigned long long)count);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

void cpu_note_losses(struct cpu *cpu)
{
	note_nameless(cpu);
	note_throttled(cpu);
	note_unwatched(cpu);
	cpu_note_all_closed(cpu);
	note_crowded(cpu);
}
