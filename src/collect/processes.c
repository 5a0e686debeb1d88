/* SPDX-License-Identifier: MIT
 *
 * collect/processes.c - one id per process and thread, whichever collector sees it first
 *
 * Runs in:  the recorder
 * Gets:     pids and tids
 * Gives:    rows and ids
 * Owns:     the table
 * Fails:    returns NULL without memory; the caller then writes no process or thread
 * Why a process is written only when a row refers to it: a shell script may start 5000 processes to
 *           which no row refers. Reading /proc for each takes 30 us, a third of the time that the
 *           script itself takes.
 */
#include "collect/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collect/proc.h"
#include "collect/stack/memory_map.h"

/* Min interval between two written names of a thread, so that a program that keeps renaming its
 * threads does not fill the trace. */
#define RENAME_NS UINT64_C(1000000000)

void processes_init(struct processes *processes, struct recording *recording)
{
	*processes = (struct processes){.recording = recording};
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
	jit_code_fini(&process->made);
	images_fini(&process->images);
	free(process->exe);
	memory_map_release(process->memory);
	python_remote_free(process->python);
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

/* ---- rows ------------------------------------------------------------------------------------ */

static void write_process(const struct processes *processes, const struct process *process)
{
	if (process->is_adopted)
		return;
	trace_writer_entity(processes->recording->writer, EVENT_PROCESS, &process->row);
}

static void write_thread(const struct processes *processes, const struct process_thread *thread)
{
	if (thread->is_adopted)
		return;
	trace_writer_entity(processes->recording->writer, EVENT_THREAD, &thread->row);
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
	if (before && !before->has_ended)
		processes_end(processes, pid, now_ns);
	if (hash_map_put_pointer(&processes->by_pid, pid, process)) {
		process_put(process);
		return NULL;
	}
	process_put(before);
	return process;
}

void process_inherit(struct process *process, const struct process *from, bool is_child)
{
	struct event_process *row = &process->row;

	row->uid = from->row.uid;
	row->cgroup_string = from->row.cgroup_string;
	row->rank = from->row.rank;
	row->local_rank = from->row.local_rank;
	row->rank_count = from->row.rank_count;
	row->parent = from->row.parent;
	row->parent_pid = from->row.parent_pid;
	process->is_attached = from->is_attached;
	if (!is_child) {
		process->is_paused = from->is_paused;
		return;
	}
	row->parent = from->is_described ? from->row.id : 0;
	row->parent_pid = from->row.pid;
	row->exe_string = from->row.exe_string;
	row->command_string = from->row.command_string;
	memcpy(process->name, from->name, sizeof(process->name));
	process->exe = from->exe ? strdup(from->exe) : NULL;
}

bool processes_begin_attaching(struct processes *processes, uint32_t pid)
{
	struct process *process = processes_find(processes, pid);
	const bool is_first = !process || !process->is_attached;

	if (process)
		process->is_attached = true;
	return is_first;
}

void processes_pause(struct processes *processes, uint32_t pid, bool is_paused)
{
	struct process *process = processes_find(processes, pid);

	if (process)
		process->is_paused = is_paused;
}

static void end_threads(struct processes *processes, struct process *process, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&process->threads, &cursor, NULL, &value)) {
		struct process_thread *thread = (void *)(uintptr_t)value;

		if (thread->row.end_ns)
			continue;
		thread->row.end_ns = now_ns;
		if (thread->is_described)
			write_thread(processes, thread);
	}
	process->living = 0;
}

void processes_end(struct processes *processes, uint32_t pid, uint64_t now_ns)
{
	struct process *process = processes_find(processes, pid);

	if (!process || process->has_ended)
		return;
	end_threads(processes, process, now_ns);
	process->has_ended = true;
	process->row.end_ns = now_ns;
	if (process->is_described)
		write_process(processes, process);
}

static bool is_long_ago(uint64_t end_ns, uint64_t now_ns)
{
	return end_ns && end_ns + PROCESSES_LINGER_NS < now_ns;
}

/* Returns one key to remove; 0: none. A map must not change during an iteration. */
static uint64_t find_old_thread(const struct process *process, uint64_t now_ns, size_t *cursor)
{
	uint64_t key, value;

	while (hash_map_next(&process->threads, cursor, &key, &value))
		if (is_long_ago(((struct process_thread *)(uintptr_t)value)->row.end_ns, now_ns))
			return key;
	return 0;
}

static void forget_threads(struct process *process, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t tid;

	if (process->threads.count == process->living)
		return;
	while ((tid = find_old_thread(process, now_ns, &cursor))) {
		free(hash_map_find_pointer(&process->threads, tid));
		hash_map_remove(&process->threads, tid, NULL);
		cursor = 0;
	}
}

static uint64_t find_old_process(const struct processes *processes, uint64_t now_ns, size_t *cursor)
{
	uint64_t key, value;

	while (hash_map_next(&processes->by_pid, cursor, &key, &value)) {
		struct process *process = (void *)(uintptr_t)value;

		if (process->has_ended && is_long_ago(process->row.end_ns, now_ns))
			return key;
		forget_threads(process, now_ns);
	}
	return 0;
}

void processes_forget(struct processes *processes, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t pid;

	while ((pid = find_old_process(processes, now_ns, &cursor))) {
		process_put(processes_find(processes, (uint32_t)pid));
		hash_map_remove(&processes->by_pid, pid, NULL);
		cursor = 0;
	}
}

/* Fills in what is not known yet. A forked child keeps its parent's program, because /proc may
 * already show the program after an exec. */
static void take_program(struct recording *recording, struct process *process,
			 const struct proc_info *info)
{
	struct event_process *row = &process->row;

	row->cgroup_string = recording_string(recording, info->cgroup);
	row->rank = info->rank.rank;
	row->local_rank = info->rank.local_rank;
	row->rank_count = info->rank.count;
	if (!process->name[0])
		row->name_string = recording_string(recording, info->name);
	if (row->exe_string)
		return;
	process->exe = strdup(info->exe);
	row->exe_string = recording_string(recording, info->exe);
	row->command_string = recording_string(recording, info->command);
}

void process_look(struct processes *processes, struct process *process)
{
	struct recording *recording = processes->recording;
	auto_free struct proc_info *info = NULL;
	struct event_process *row = &process->row;

	if (process->is_looked_at || !recording->lookups)
		return;
	process->is_looked_at = true;
	info = calloc(1, sizeof(*info));
	if (!info || proc_read(row->pid, info) < 0)
		return;
	recording->lookups--;
	row->parent_pid = info->parent_pid;
	row->uid = info->uid;
	row->ns_pid = info->ns_pid ? info->ns_pid : row->pid;
	row->start_ticks = info->start_ticks;
	take_program(recording, process, info);
}

uint32_t process_describe(struct processes *processes, struct process *process)
{
	struct event_process *row = &process->row;

	if (process->is_described)
		return row->id;
	process_look(processes, process);
	process->is_described = true;
	row->id = ++processes->recording->last_process;
	if (process->name[0])
		row->name_string = recording_string(processes->recording, process->name);
	processes->recording->kept_bytes += ENTITY_BYTES;
	write_process(processes, process);
	return row->id;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct process_thread *process_thread_begin(struct processes *processes, struct process *process,
					    uint32_t tid, uint64_t now_ns)
{
	struct process_thread *thread = calloc(1, sizeof(*thread));
	struct process_thread *before = hash_map_find_pointer(&process->threads, tid);

	if (!thread)
		return NULL;
	thread->row = (struct event_thread){.tid = tid, .ns_tid = tid, .begin_ns = now_ns};
	if (before && !before->row.end_ns)
		process_thread_end(processes, process, tid, now_ns);
	if (hash_map_put_pointer(&process->threads, tid, thread)) {
		free(thread);
		return NULL;
	}
	free(before);
	process->living++;
	return thread;
}

struct process_thread *process_thread(struct processes *processes, struct process *process,
				      uint32_t tid, uint64_t now_ns)
{
	struct process_thread *thread = hash_map_find_pointer(&process->threads, tid);

	return thread ? thread : process_thread_begin(processes, process, tid, now_ns);
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
	if (!thread->name[0] && recording->lookups) {
		recording->lookups--;
		proc_thread_name(process->row.pid, thread->row.tid, name);
		snprintf(thread->name, sizeof(thread->name), "%s", name);
	}
	thread->row.name_string = recording_string(recording, thread->name);
	recording->kept_bytes += ENTITY_BYTES;
	write_thread(processes, thread);
	return thread->row.id;
}

static void write_name(struct processes *processes, struct process *process,
		       struct process_thread *thread)
{
	if (!thread->is_described)
		return;
	thread->row.name_string = recording_string(processes->recording, thread->name);
	write_thread(processes, thread);
	if (thread->row.tid != process->row.pid || !process->is_described)
		return;
	process->row.name_string = thread->row.name_string;
	write_process(processes, process);
}

void process_thread_rename(struct processes *processes, struct process *process,
			   struct process_thread *thread, const char *name, uint64_t now_ns)
{
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	if (thread->row.tid == process->row.pid)
		snprintf(process->name, sizeof(process->name), "%s", name);
	if (thread->named_ns && now_ns - thread->named_ns < RENAME_NS)
		return;
	thread->named_ns = now_ns;
	write_name(processes, process, thread);
}

void process_thread_end(struct processes *processes, struct process *process, uint32_t tid,
			uint64_t now_ns)
{
	struct process_thread *thread = hash_map_find_pointer(&process->threads, tid);

	if (!thread || thread->row.end_ns)
		return;
	thread->row.end_ns = now_ns;
	process->living--;
	if (thread->named_ns)
		write_name(processes, process, thread);
	else if (thread->is_described)
		write_thread(processes, thread);
}

void process_adopt(struct processes *processes, uint32_t pid, struct event_process *ret_row)
{
	struct process *process = processes_find(processes, pid);
	const bool is_attached = process && process->is_attached && !process->has_ended;

	/* A process that is adopted already has called exec since, unless its guest was attached to
	 * another recorder. */
	if (!process || (process->is_adopted && !process->is_fed))
		process = processes_begin(processes, pid, ret_row->begin_ns);
	if (!process || !process->is_described) {
		ret_row->id = ++processes->recording->last_process;
	} else {
		ret_row->id = process->row.id;
		ret_row->begin_ns = process->row.begin_ns;
	}
	if (!process)
		return;
	process->is_attached = is_attached;
	if (process->is_fed)
		ret_row->guest_begin_ns = process->row.guest_begin_ns;
	process->row = *ret_row;
	process->is_described = process->is_adopted = true;
	process->is_fed = false;
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

void process_thread_launches(struct processes *processes, uint32_t pid,
			     const struct event_thread *row)
{
	struct process *process = processes_find(processes, pid);
	struct process_thread *thread =
		process ? hash_map_find_pointer(&process->threads, row->tid) : NULL;

	if (thread && thread->row.id == row->id)
		thread->has_launched = true;
}
