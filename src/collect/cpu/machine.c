/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/machine.c - context switches of all threads of the machine, from BPF programs alone
 *
 * Runs in:  the recorder
 * Gets:     the BPF programs' records
 * Gives:    rows of switches, processes and threads, including kernel threads
 * Owns:     nothing; the recording owns the processes and drops them after their end
 * Fails:    records that come faster than they are read are lost and counted as switches. A switch
 *           without a record is counted as unseen; its thread is then taken to have run only until
 *           the last time at which it is known to have run
 * Why without perf: perf needs a descriptor for each thread, or a ring for each processor that also
 *           gets all mappings of all processes. The BPF records contain the same data about a
 *           switch. Stacks and samples are recorded only for programs that the user names.
 */
#include "collect/cpu/cpu_private.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

/* A kernel thread has no program file to look up. Its process gets the name that ps(1) shows. */
static void name_kernel_thread(struct cpu *cpu, struct process *process, const char *name)
{
	char text[PROCESS_NAME_BYTES + 2];

	if (process->is_looked_at)
		return;
	process->is_looked_at = true;
	snprintf(text, sizeof(text), "[%s]", name);
	process->row.command_string = recording_string(cpu->recording, text);
}

/* The rows' source is the processor and not the thread: the rows of one processor arrive in the
 * order of time, and there are fewer processors than threads. */
static void put_switch(struct cpu *cpu, const struct event_switch *row)
{
	const struct trace_source source = {.source = row->cpu + 1, .clock = CLOCK_ID_MONOTONIC};

	trace_writer_row(cpu->recording->writer, EVENT_SWITCH, &source, row);
}

static struct cpu_processor *find_processor(struct cpu *cpu, uint32_t number)
{
	struct switch_causes *who = &cpu->who;

	if (number >= ARRAY_COUNT(who->processors))
		return NULL;
	if (number >= who->processor_count)
		who->processor_count = number + 1;
	return &who->processors[number];
}

static void count_unseen(struct cpu *cpu, uint32_t process, uint32_t thread)
{
	const uint64_t before = hash_map_get(&cpu->who.unseen, thread, (uint64_t)process << 32);

	hash_map_put(&cpu->who.unseen, thread, before + 1);
}

/* For a missing switch-out: the processor now runs another thread, or the thread runs elsewhere.
 * The thread's running time ends at the last moment at which it is known to have run. */
static void close_unseen(struct cpu *cpu, struct cpu_processor *processor, uint64_t now_ns)
{
	const struct event_switch row = {.time = processor->seen_ns < now_ns ? processor->seen_ns
									     : now_ns,
					 .previous = processor->thread,
					 .cpu = (uint32_t)(processor - cpu->who.processors)};

	if (!processor->thread)
		return;
	put_switch(cpu, &row);
	count_unseen(cpu, processor->process, processor->thread);
	processor->thread = 0;
}

/* A thread that wakes another one is running at that moment, and so is a thread whose interrupt
 * does. */
static void see_waker(struct cpu *cpu, const struct kernel_in *in)
{
	struct process *process;
	const struct process_thread *thread =
		in->woken_ns ? cpu_machine_thread(cpu, &in->waker, in->woken_ns, &process) : NULL;

	for (uint32_t i = 0; thread && i < cpu->who.processor_count; i++) {
		struct cpu_processor *processor = &cpu->who.processors[i];

		if (processor->thread && processor->thread == thread->row.id &&
		    processor->seen_ns < in->woken_ns)
			processor->seen_ns = in->woken_ns;
	}
}

/* A thread leaves a processor. If another thread was on it by the records, a switch was missed. */
static void leave_processor(struct cpu *cpu, const struct process_thread *thread,
			    const struct kernel_out *out)
{
	struct cpu_processor *processor = find_processor(cpu, out->head.cpu);

	if (!processor)
		return;
	if (processor->thread == thread->row.id)
		processor->thread = 0;
	else if (processor->is_idle)
		count_unseen(cpu, thread->row.process, thread->row.id);
	close_unseen(cpu, processor, out->head.time_ns);
	/* any other thread reports its own switch-in, except the recorder's threads */
	processor->is_idle = !out->next.tid;
}

/* A thread enters a processor. If by the records another thread is still on it, or the thread is on
 * another processor, a switch was missed. */
static void enter_processor(struct cpu *cpu, const struct process_thread *thread,
			    const struct kernel_in *in)
{
	struct cpu_processor *processor = find_processor(cpu, in->head.cpu);

	for (uint32_t i = 0; i < cpu->who.processor_count; i++)
		if (cpu->who.processors[i].thread == thread->row.id)
			close_unseen(cpu, &cpu->who.processors[i], in->head.time_ns);
	if (!processor)
		return;
	close_unseen(cpu, processor, in->head.time_ns);
	*processor = (struct cpu_processor){.thread = thread->row.id,
					    .process = thread->row.process,
					    .seen_ns = in->head.time_ns};
}

void cpu_machine_put_losses(struct cpu *cpu, uint64_t begin_ns, uint64_t end_ns)
{
	const struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	size_t cursor = 0;
	uint64_t thread, value;

	while (hash_map_next(&cpu->who.unseen, &cursor, &thread, &value)) {
		const struct event_loss row = {.begin = begin_ns,
					       .end = end_ns,
					       .process = (uint32_t)(value >> 32),
					       .thread = (uint32_t)thread,
					       .kind = EVENT_SWITCH,
					       .reason = LOSS_UNSEEN,
					       .count = (uint32_t)value};

		trace_writer_row(cpu->recording->writer, EVENT_LOSS, &source, &row);
	}
	hash_map_clear(&cpu->who.unseen);
}

static void end_thread(struct cpu *cpu, struct process *process, const struct kernel_head *head)
{
	process_thread_end(cpu->processes, process, head->tid, head->time_ns);
	if (!process->living)
		processes_end(cpu->processes, head->tgid, head->time_ns);
}

static void take_out(struct cpu *cpu, struct process *process, struct process_thread *thread,
		     const struct kernel_out *out)
{
	struct event_switch row = {.time = out->head.time_ns,
				   .previous = thread->row.id,
				   .cpu = out->head.cpu,
				   .reason = SWITCH_BLOCKED};
	struct thread_wait wait = {0};

	if (out->head.flags & KERNEL_EXITED) {
		row.reason = SWITCH_EXITED;
	} else if (out->head.flags & KERNEL_PREEMPTED) {
		row.reason = SWITCH_PREEMPTED;
		switch_causes_preempted(cpu, thread, out, &row);
	} else if (!(out->head.flags & KERNEL_OWN_THREAD)) {
		switch_causes_fill_wait(cpu, process, out, &wait);
		row.wait_string = wait.bpf_string;
		row.holder = wait.bpf_holder;
	}
	leave_processor(cpu, thread, out);
	put_switch(cpu, &row);
	if (row.reason == SWITCH_EXITED)
		end_thread(cpu, process, &out->head);
}

static void take_in(struct cpu *cpu, const struct process_thread *thread,
		    const struct kernel_in *in)
{
	struct event_switch row = {
		.time = in->head.time_ns, .next = thread->row.id, .cpu = in->head.cpu};

	see_waker(cpu, in);
	enter_processor(cpu, thread, in);
	switch_causes_back(cpu, thread, in, &row);
	put_switch(cpu, &row);
}

void cpu_machine_take(void *context, const struct kernel_head *head)
{
	struct cpu *cpu = context;
	struct kernel_task task = {.tgid = head->tgid, .tid = head->tid};
	struct process_thread *thread;
	struct process *process;

	if (head->kind == KERNEL_RECORD_IN)
		memcpy(task.name, ((const struct kernel_in *)head)->name, sizeof(task.name));
	thread = cpu_machine_thread(cpu, &task, head->time_ns, &process);
	/* the recorder may learn of the end before it reads older records of the thread */
	if (thread && thread->row.end_ns && thread->row.end_ns < head->time_ns)
		thread = cpu_machine_begin_again(cpu, process, &task, head->time_ns);
	if (!thread)
		return;
	if (head->flags & KERNEL_OWN_THREAD)
		name_kernel_thread(cpu, process, thread->name);
	process_thread_describe(cpu->processes, process, thread);
	if (head->kind == KERNEL_RECORD_OUT)
		take_out(cpu, process, thread, (const struct kernel_out *)head);
	else
		take_in(cpu, thread, (const struct kernel_in *)head);
}
