/* SPDX-License-Identifier: MIT
 *
 * collect/processes.c - the processes and threads of a recording, whoever sees them first
 *
 * Runs in:  the recorder
 * Gets:     pids and tids   Gives: rows and ids
 * Owns:     the table
 * Fails:    with NULL where memory is out; the caller goes without
 * Why:      a process is written when something of it is: a shell script starts 5000 that do nothing worth a row,
 *           and to read /proc for each (30 us) would be a third of what the script costs.
 */
#include "collect/processes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "collect/memory_map.h"
#include "collect/proc.h"

void processes_init(struct processes *processes, struct recording *recording)
{
	*processes = (struct processes){.recording = recording};
	hash_map_init(&processes->by_pid);
}

struct process *process_get(struct process *process)
{
	process->references++;
	return process;
}

void process_put(struct process *process)
{
	size_t cursor = 0;
	uint64_t value;

	if (!process || --process->references)
		return;
	while (hash_map_next(&process->threads, &cursor, NULL, &value))
		free((void *)(uintptr_t)value);
	hash_map_fini(&process->threads);
	made_code_fini(&process->made);
	images_fini(&process->images);
	free(process->exe);
	memory_map_fini(process->memory);
	free(process->memory);
	free(process);
}

void processes_fini(struct processes *processes)
{
	size_t cursor = 0;
	uint64_t value;

	if (!processes)
		return;
	while (hash_map_next(&processes->by_pid, &cursor, NULL, &value))
		process_put((void *)(uintptr_t)value);
	hash_map_fini(&processes->by_pid);
}

struct process *processes_find(const struct processes *processes, uint32_t pid)
{
	return hash_map_find_pointer(&processes->by_pid, pid);
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void write_process(const struct processes *processes, const struct process *process)
{
	if (process->is_adopted)
		return;
	trace_writer_thing(processes->recording->writer, EVENT_PROCESS, &process->row);
}

static void write_thread(const struct processes *processes, const struct process_thread *thread)
{
	if (thread->is_adopted)
		return;
	trace_writer_thing(processes->recording->writer, EVENT_THREAD, &thread->row);
}

struct process *processes_begin(struct processes *processes, uint32_t pid, uint64_t now_ns)
{
	struct process *process = calloc(1, sizeof(*process)), *before;

	if (!process)
		return NULL;
	before = processes_find(processes, pid);
	process->references = 1;
	process->row = (struct event_process){.host = processes->recording->host,
					      .pid = pid,
					      .ns_pid = pid,
					      .status = -1,
					      .begin_ns = now_ns};
	hash_map_init(&process->threads);
	if (before)
		processes_end(processes, pid, now_ns);
	if (hash_map_put_pointer(&processes->by_pid, pid, process)) {
		process_put(process);
		return NULL;
	}
	return process;
}

static void end_threads(struct processes *processes, struct process *process, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&process->threads, &cursor, NULL, &value)) {
		struct process_thread *thread = (void *)(uintptr_t)value;

		if (!thread->is_described)
			continue;
		thread->row.end_ns = now_ns;
		write_thread(processes, thread);
	}
}

void processes_end(struct processes *processes, uint32_t pid, uint64_t now_ns)
{
	struct process *process = processes_find(processes, pid);

	if (!process)
		return;
	end_threads(processes, process, now_ns);
	process->row.end_ns = now_ns;
	if (process->is_described)
		write_process(processes, process);
	hash_map_remove(&processes->by_pid, pid, NULL);
	process_put(process);
}

uint32_t process_describe(struct processes *processes, struct process *process)
{
	struct recording *recording = processes->recording;
	auto_free struct proc_info *info = NULL;
	struct event_process *row = &process->row;

	if (process->is_described)
		return row->id;
	process->is_described = true;
	row->id = ++recording->last_process;
	info = calloc(1, sizeof(*info));
	if (info && recording->lookups && proc_read(row->pid, info) == 0) {
		recording->lookups--;
		row->parent_pid = info->parent_pid;
		row->uid = info->uid;
		row->ns_pid = info->ns_pid ? info->ns_pid : row->pid;
		row->start_ticks = info->start_ticks;
		process->exe = strdup(info->exe);
		row->exe_string = recording_string(recording, info->exe);
		row->command_string = recording_string(recording, info->command);
		row->cgroup_string = recording_string(recording, info->cgroup);
		if (!row->name_string)
			row->name_string = recording_string(recording, info->name);
	}
	recording->kept_bytes += THING_BYTES;
	write_process(processes, process);
	return row->id;
}

/* ---- threads ----------------------------------------------------------------------------------- */

struct process_thread *process_thread(struct processes *processes, struct process *process,
				      uint32_t tid, uint64_t now_ns)
{
	struct process_thread *thread = hash_map_find_pointer(&process->threads, tid);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->row = (struct event_thread){.tid = tid, .ns_tid = tid, .begin_ns = now_ns};
	if (hash_map_put_pointer(&process->threads, tid, thread)) {
		free(thread);
		return NULL;
	}
	return thread;
}

uint32_t process_thread_describe(struct processes *processes, struct process *process,
				 struct process_thread *thread)
{
	struct recording *recording = processes->recording;
	char name[64] = "";

	if (thread->is_described)
		return thread->row.id;
	thread->is_described = true;
	thread->row.process = process_describe(processes, process);
	thread->row.id = ++recording->last_thread;
	if (!thread->row.name_string && recording->lookups) {
		recording->lookups--;
		proc_thread_name(process->row.pid, thread->row.tid, name);
		thread->row.name_string = recording_string(recording, name);
	}
	recording->kept_bytes += THING_BYTES;
	write_thread(processes, thread);
	return thread->row.id;
}

void process_thread_renamed(struct processes *processes, struct process *process,
			    struct process_thread *thread)
{
	if (thread->is_described)
		write_thread(processes, thread);
	if (process->is_described && thread->row.tid == process->row.pid)
		write_process(processes, process);
}

void process_thread_end(struct processes *processes, struct process *process, uint32_t tid,
			uint64_t now_ns)
{
	struct process_thread *thread = hash_map_find_pointer(&process->threads, tid);

	if (!thread)
		return;
	thread->row.end_ns = now_ns;
	if (thread->is_described)
		write_thread(processes, thread);
	hash_map_remove(&process->threads, tid, NULL);
	free(thread);
}

void process_adopt(struct processes *processes, uint32_t pid, struct event_process *ret_row)
{
	struct process *process = processes_find(processes, pid);

	/* Who is adopted twice was another image in between. */
	if (!process || process->is_adopted)
		process = processes_begin(processes, pid, ret_row->begin_ns);
	if (!process || !process->is_described) {
		ret_row->id = ++processes->recording->last_process;
	} else {
		ret_row->id = process->row.id;
		ret_row->begin_ns = process->row.begin_ns;
	}
	if (!process)
		return;
	process->row = *ret_row;
	process->is_described = process->is_adopted = true;
}

void process_abandon(struct processes *processes, const struct event_process *row)
{
	struct process *process = processes_find(processes, row->pid);

	if (process && process->row.id == row->id)
		processes_end(processes, row->pid, row->end_ns);
}

void process_thread_adopt(struct processes *processes, uint32_t pid, struct event_thread *ret_row)
{
	struct process *process = processes_find(processes, pid);
	struct process_thread *thread =
		process && process->row.id == ret_row->process
			? process_thread(processes, process, ret_row->tid, ret_row->begin_ns)
			: NULL;

	if (!thread || !thread->is_described) {
		ret_row->id = ++processes->recording->last_thread;
	} else {
		ret_row->id = thread->row.id;
		ret_row->begin_ns = thread->row.begin_ns;
	}
	if (!thread)
		return;
	thread->row = *ret_row;
	thread->is_described = thread->is_adopted = true;
}
