/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/cpu_machine.c - the switches of all threads of the machine, by our programs inside the kernel alone
 *
 * Runs in:  the recorder
 * Gets:     their records   Gives: rows of switches; processes and threads, the kernel's own too
 * Owns:     nothing: what is known of processes is the recording's, and forgotten when they have ended
 * Fails:    what came faster than it could be read is lost and counted as switches
 * Why without perf: its events are a file for each thread or a ring of each processor with all that anybody maps, and what they say
 *           of a switch the programs say too. Stacks and samples are for programs that somebody asks for.
 */
#include "collect/cpu/cpu_private.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

/* One that is new, or whose number another one had. */
static struct process *find_process(struct cpu *cpu, uint32_t tgid, uint64_t time_ns)
{
	struct process *process = processes_find(cpu->processes, tgid);

	if (process && (!process->has_ended || process->row.end_ns >= time_ns))
		return process;
	return processes_begin(cpu->processes, tgid, time_ns);
}

static void name_thread(struct cpu *cpu, struct process *process, struct process_thread *thread,
			const char *comm, uint64_t time_ns)
{
	char name[PROCESS_NAME_BYTES];

	snprintf(name, sizeof(name), "%.*s", KERNEL_NAME_BYTES - 1, comm);
	if (name[0] && strcmp(name, thread->name) != 0)
		process_thread_rename(cpu->processes, process, thread, name, time_ns);
}

/* It has no program, and nothing of it is looked up: it is called as ps(1) does. */
static void name_kernel_thread(struct cpu *cpu, struct process *process, const char *name)
{
	char text[PROCESS_NAME_BYTES + 2];

	if (process->is_looked_at)
		return;
	process->is_looked_at = true;
	snprintf(text, sizeof(text), "[%s]", name);
	process->row.command_string = recording_string(cpu->recording, text);
}

struct process_thread *cpu_machine_thread(struct cpu *cpu, const struct kernel_task *task,
					  uint64_t time_ns, struct process **ret_process)
{
	struct process *process = task->tgid ? find_process(cpu, task->tgid, time_ns) : NULL;
	struct process_thread *thread =
		process ? process_thread(cpu->processes, process, task->tid, time_ns) : NULL;

	*ret_process = process;
	if (!thread)
		return NULL;
	if (task->name[0])
		name_thread(cpu, process, thread, task->name, time_ns);
	return thread;
}

/* Of the rows of a processor nobody is late, and there are fewer processors than threads. */
static void put_switch(struct cpu *cpu, const struct event_switch *row)
{
	const struct trace_source source = {.source = row->cpu + 1, .clock = CLOCK_ID_MONOTONIC};

	trace_writer_row(cpu->recording->writer, EVENT_SWITCH, &source, row);
}

/* thread 0: nobody. Returns who was there before; 0: nobody that is known. */
static uint32_t set_running(struct cpu *cpu, uint32_t processor, uint32_t thread)
{
	uint32_t *running = cpu->who.running, before;

	if (processor >= ARRAY_COUNT(cpu->who.running))
		return 0;
	if (processor >= cpu->who.running_count)
		cpu->who.running_count = processor + 1;
	/* it has gone from there, too, whether that was told or not */
	for (uint32_t i = 0; thread && i < cpu->who.running_count; i++)
		if (running[i] == thread && i != processor)
			running[i] = 0;
	before = running[processor];
	running[processor] = thread;
	return before;
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
		cpu_who_name_next(cpu, out, &row.wait_string, &row.holder);
	} else if (!(out->head.flags & KERNEL_OWN_THREAD)) {
		cpu_who_tell(cpu, process, out, &wait);
		row.wait_string = wait.told_string;
		row.holder = wait.told_holder;
	}
	set_running(cpu, out->head.cpu, 0);
	put_switch(cpu, &row);
	if (row.reason == SWITCH_EXITED)
		end_thread(cpu, process, &out->head);
}

static void take_in(struct cpu *cpu, const struct process_thread *thread,
		    const struct kernel_in *in)
{
	struct event_switch row = {
		.time = in->head.time_ns, .next = thread->row.id, .cpu = in->head.cpu};

	/* Of some threads the kernel never tells that they go; who comes says that they went. */
	row.previous = set_running(cpu, in->head.cpu, thread->row.id);
	if (row.previous == thread->row.id)
		row.previous = 0;
	cpu_who_name_waker(cpu, in, &row.waker, &row.waker_string);
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
	if (!thread || thread->row.end_ns)
		return;
	if (head->flags & KERNEL_OWN_THREAD)
		name_kernel_thread(cpu, process, thread->name);
	process_thread_describe(cpu->processes, process, thread);
	if (head->kind == KERNEL_RECORD_OUT)
		take_out(cpu, process, thread, (const struct kernel_out *)head);
	else
		take_in(cpu, thread, (const struct kernel_in *)head);
}
