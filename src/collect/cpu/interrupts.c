/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/interrupts.c - time that interrupt handlers took while a process's threads ran
 *
 * Runs in:  the recorder
 * Gets:     sums per process and handler from duet's BPF programs
 * Gives:    a counter series for each process and handler
 * Owns:     the ids of the series
 * Fails:    never; without BPF programs it writes no rows. Handlers beyond the limits are counted
 *           and noted
 * Why:      a thread computes slowly if a network card interrupts it 10^5 times a second. Its
 *           samples do not show that, because their stacks are those of the computation.
 */
#include "collect/cpu/cpu_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "collect/host_clocks.h"

enum { MAX_SERIES = 4096 };

/* In the kernel's order (enum in <linux/interrupt.h>). */
static const char *const soft_names[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					 "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

void cpu_interrupt_name(const struct kernel_interrupt_key *key,
			const struct kernel_interrupt *interrupt, char *ret_text, size_t size)
{
	const uint32_t number = key->number & ~KERNEL_SOFT_INTERRUPT;

	if (!(key->number & KERNEL_SOFT_INTERRUPT))
		snprintf(ret_text, size, "%.*s (irq %" PRIu32 ")", KERNEL_INTERRUPT_NAME_BYTES,
			 interrupt->name[0] ? interrupt->name : "?", number);
	else if (number < ARRAY_COUNT(soft_names))
		snprintf(ret_text, size, "softirq %s", soft_names[number]);
	else
		snprintf(ret_text, size, "softirq %" PRIu32, number);
}

static uint32_t describe(struct cpu *cpu, const struct process *process,
			 const struct kernel_interrupt_key *key,
			 const struct kernel_interrupt *interrupt)
{
	struct recording *recording = cpu->recording;
	char name[KERNEL_INTERRUPT_NAME_BYTES + 24];
	struct event_series row = {.id = ++recording->last_series,
				   .metric_string =
					   recording_string(recording, "process.interrupts"),
				   .unit_string = recording_string(recording, "ns"),
				   .source_string = recording_string(recording, "cpu:irq"),
				   .type = SERIES_AMOUNT,
				   .host = recording->host,
				   .process = process->row.id,
				   .interval_ns = 1000000000,
				   .begin_ns = cpu->interrupts.since_ns};

	cpu_interrupt_name(key, interrupt, name, sizeof(name));
	row.instance_string = recording_string(recording, name);
	trace_writer_entity(recording->writer, EVENT_SERIES, &row);
	return row.id;
}

/* Writes the time of one handler in one process since the previous reading. */
static void put_sum(void *context, const struct kernel_interrupt_key *key,
		    const struct kernel_interrupt *interrupt)
{
	struct cpu *cpu = context;
	struct cpu_interrupts *interrupts = &cpu->interrupts;
	struct process *process = processes_find(cpu->processes, key->tgid);
	const struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	struct event_counter row = {.begin = interrupts->since_ns,
				    .end = interrupts->now_ns,
				    .value = (int64_t)interrupt->spent_ns};
	uint64_t series_key;

	if (!process)
		return;
	series_key = (uint64_t)process->row.id << 32 | key->number;
	row.series = (uint32_t)hash_map_get(&interrupts->series, series_key, 0);
	if (!row.series && interrupts->series.count >= MAX_SERIES) {
		interrupts->refused++;
		return;
	}
	if (!row.series) {
		row.series = describe(cpu, process, key, interrupt);
		hash_map_put(&interrupts->series, series_key, row.series);
	}
	trace_writer_row(cpu->recording->writer, EVENT_COUNTER, &source, &row);
}

void cpu_interrupts_open(struct cpu *cpu)
{
	hash_map_init(&cpu->interrupts.series);
}

void cpu_interrupts_read(struct cpu *cpu)
{
	struct cpu_interrupts *interrupts = &cpu->interrupts;

	if (!interrupts->is_wanted || !cpu->who.is_ready)
		return;
	interrupts->now_ns = host_clocks_now_ns();
	if (!interrupts->since_ns)
		interrupts->since_ns = interrupts->now_ns - 1;
	interrupts->refused += kernel_watch_interrupts(cpu->who.watch, put_sum, cpu);
	interrupts->since_ns = interrupts->now_ns;
}

void cpu_interrupts_close(struct cpu *cpu)
{
	struct cpu_interrupts *interrupts = &cpu->interrupts;
	char text[160];

	cpu_interrupts_read(cpu);
	if (interrupts->refused) {
		snprintf(text, sizeof(text),
			 "the time of some interrupts is missing: %" PRIu64
			 " sums of processes and handlers were beyond the limit",
			 interrupts->refused);
		recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	}
	hash_map_fini(&interrupts->series);
}
