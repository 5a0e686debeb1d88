/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/attach.c - attaches the CPU collector to processes and their threads
 *
 * Runs in:  the recorder
 * Gets:     pids
 * Gives:    perf events on all threads of the processes, and waits of the threads that are already
 *           blocked; without perf, an entry in the polled list
 * Owns:     nothing
 * Fails:    with the kernel's reason; a refusal of perf events switches to polling
 * Why the list of threads is read repeatedly: a process may start threads while its threads are
 *           attached one by one. The list in /proc/PID/task is therefore read until it contains no
 *           new thread, at most MAX_LISTS times.
 */
#include "collect/cpu/cpu_private.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/host_clocks.h"

enum { MAX_LISTS = 16 };

static int add_to_family(struct cpu *cpu, pid_t pid, int pid_fd, bool is_running)
{
	int error = 0;

	cpu->polled.process_tree.environment = cpu->recording->mark;
	if (!cpu->polled.process_tree.is_open)
		error = process_tree_init(&cpu->polled.process_tree);
	if (!error)
		error = process_tree_add(&cpu->polled.process_tree, (uint32_t)pid, pid_fd,
					 is_running);
	return error ? error_set(error, "process %d: %s", (int)pid, strerror(-error)) : 0;
}

/* With several -p: adds a process that was attached before the kernel refused a later one. */
static void add_known(struct cpu *cpu, struct process *process)
{
	if (!process->has_ended && add_to_family(cpu, (pid_t)process->row.pid, -1, true))
		error_clear();
}

/* If the kernel refused perf events, notes the reason and switches to polling. Returns any other
 * error. */
static int look_instead(struct cpu *cpu, int error)
{
	char reason[PATH_MAX + 400];

	if (!cpu_is_refusal(error))
		return error;
	snprintf(reason, sizeof(reason), "%s", error_text());
	cpu_drain_all(cpu, host_clocks_now_ns());
	error_clear();
	error_set(error, "%s", reason);
	cpu_use_states(cpu);
	cpu->source_string = recording_string(cpu->recording, cpu->state.source.name);
	cpu_for_each_process(cpu, add_known);
	return 0;
}

int cpu_attach_program(void *state, pid_t pid)
{
	struct cpu *cpu = state;
	int error =
		cpu->rings ? look_instead(cpu, perf_rings_attach(cpu->rings, pid, -1, true)) : 0;

	switch_causes_begin_process(cpu, (uint32_t)pid);
	if (!error && !cpu->rings)
		error = add_to_family(cpu, pid, -1, false);
	return error;
}

/* Starts a wait for a thread that is already blocked when it is attached: no switch record reports
 * that. before_ns: a time before the attachment, so that all records of the thread are later. */
static void find_waiting(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t before_ns)
{
	struct process_thread *thread = process_thread(cpu->processes, process, tid, before_ns);
	struct blocked_place where;
	enum thread_place place = blocked_find(&cpu->walker->reader, process->row.pid, tid, &where);

	if (place == THREAD_REFUSED)
		cpu_note_closed(cpu, process);
	if (!thread || place != THREAD_WAITS)
		return;
	process_thread_describe(cpu->processes, process, thread);
	cpu_begin_wait(cpu, process, thread, before_ns, 0);
}

/* Attaches the threads in /proc/PID/task that are not in `seen` yet. *ret_count: their number. */
static int attach_listed(struct cpu *cpu, struct process *process, int pid_fd, DIR *tasks,
			 struct hash_map *seen, size_t *ret_count)
{
	struct dirent *entry;

	*ret_count = 0;
	while ((entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		uint64_t before_ns = host_clocks_now_ns();
		int error;

		if (!tid || hash_map_find(seen, tid))
			continue;
		error = perf_rings_attach(cpu->rings, (pid_t)tid, pid_fd, false);
		if (error && error != -ESRCH)
			return error;
		if (hash_map_put(seen, tid, 1))
			return error_set(-ENOMEM, "perf events: out of memory");
		if (!error)
			find_waiting(cpu, process, tid, before_ns);
		*ret_count += !error;
	}
	return 0;
}

/* A thread that an attached thread starts is attached with it. A thread that a not yet attached one
 * starts appears in the next pass over the list. perf_rings removes the duplicate records of
 * threads that were attached both ways. */
static int attach_threads(struct cpu *cpu, struct process *process, int pid_fd)
{
	struct hash_map seen = {0};
	char folder[64];
	size_t count = 1, attached = 0;
	int error = 0;

	snprintf(folder, sizeof(folder), "/proc/%u/task", process->row.pid);
	for (int i = 0; i < MAX_LISTS && count && !error; i++) {
		DIR *tasks = opendir(folder);

		if (!tasks)
			break;
		error = attach_listed(cpu, process, pid_fd, tasks, &seen, &count);
		attached += count;
		closedir(tasks);
	}
	if (!error && !attached)
		error = error_set(-ESRCH, "process %u has ended", process->row.pid);
	hash_map_fini(&seen);
	return error;
}

int cpu_attach_process(void *state, pid_t pid, int pid_fd)
{
	struct cpu *cpu = state;
	uint64_t now_ns = host_clocks_now_ns();
	struct process *process = processes_find(cpu->processes, (uint32_t)pid);
	int error = 0;

	/* a guest may have described it already */
	if (!process || process->has_ended)
		process = processes_begin(cpu->processes, (uint32_t)pid, now_ns);

	if (!process)
		return error_set(-ENOMEM, "process %d: out of memory", (int)pid);
	if (cpu->rings)
		error = look_instead(cpu, attach_threads(cpu, process, pid_fd));
	/* BPF programs record all threads of the machine: nothing is polled */
	if (!error && !cpu->rings && !cpu->who.is_machine)
		error = add_to_family(cpu, pid, pid_fd, true);
	if (error) {
		processes_end(cpu->processes, (uint32_t)pid, now_ns);
		return error;
	}
	cpu_read_memory(cpu, process);
	switch_causes_begin_process(cpu, (uint32_t)pid);
	return 0;
}
