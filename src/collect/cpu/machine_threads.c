/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/machine_threads.c - threads of the machine that BPF records name
 *
 * Runs in:  the recorder
 * Gets:     tasks of BPF records
 * Gives:    processes and threads, named after their tasks
 * Owns:     nothing; the recording owns the processes
 * Fails:    with NULL if memory is short
 */
#include "collect/cpu/cpu_private.h"

#include <stdio.h>
#include <string.h>

/* Finds the process, or creates it if it is new or its pid was reused. */
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

struct process_thread *cpu_machine_begin_again(struct cpu *cpu, struct process *process,
					       const struct kernel_task *task, uint64_t time_ns)
{
	struct process_thread *thread =
		process_thread_begin(cpu->processes, process, task->tid, time_ns);

	if (thread && task->name[0])
		name_thread(cpu, process, thread, task->name, time_ns);
	return thread;
}
