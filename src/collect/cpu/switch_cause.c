/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/switch_cause.c - causes of switches: preemptor, waker, lock holder, file or disk of a
 * wait
 *
 * Runs in:  the recorder
 * Gets:     records of duet's BPF programs
 * Gives:    strings and thread ids for switch rows
 * Owns:     the loaded BPF programs, names of processes and devices
 * Fails:    rows lack the causes; a note gives the reason and the remedy
 * Why:      if a device idles because its thread was preempted, the user needs the name of the
 *           other process. If the thread waits for a lock, the user needs the holder. The kernel
 *           reveals both only to root (or to a process with CAP_BPF and CAP_PERFMON).
 */
#include "collect/cpu/cpu_private.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/kernel/device_names.h"
#include "collect/kernel/fd_describe.h"
#include "collect/proc.h"
#include "collect/start/rights.h"

#define HASH_ODD UINT64_C(0x9e3779b97f4a7c15)

enum {
	/* max number of names for locks and faulted pages; a program may have a lock in each node
	 * of a list */
	MAX_LOCKS = 1024,
	/* max number of names of processes outside the recording; a process may fork without end */
	MAX_NAMES = 4096,
	/* a BPF record without its perf record after this time: perf lost that one */
	SWEEP_NS = 2000000000,
	MAX_WAITS = 1024,     /* calls with a file; network ports make their number unlimited */
	MAX_PATHS = 512,      /* a program may read any number of files */
	MAX_PATH_LOOKS = 200, /* a second */
	MAX_STACKS = 1 << 18,
	STACKS_ROUND = 32, /* new stacks per round; walking one takes some 15 us */
	CONTENDED = 2,     /* value that glibc stores in a mutex before it waits for it */
	MUTEX_KINDS = 1024 /* above all values of __kind, in glibc 2.18 and later */
};

/* A user who asked for BPF gets a warning, others a hint in the report. */
static void note_refused(struct cpu *cpu, const char *reason)
{
	char text[PATH_MAX + 800];

	snprintf(
		text, sizeof(text),
		"preemptors, wakers, and the locks and disks that threads wait for are unknown: %s",
		reason);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	(cpu->who.is_wanted ? recording_warn : recording_hint)(cpu->recording, text);
}

static void note_no_rights(struct cpu *cpu)
{
	char setcap[PATH_MAX + 100], text[PATH_MAX + 200];

	rights_setcap_text(RIGHTS_BPF, setcap, sizeof(setcap));
	snprintf(text, sizeof(text), "BPF needs more rights: record as root, or %s", setcap);
	note_refused(cpu, text);
}

void switch_causes_open(struct cpu *cpu, const struct kernel_watch_options *options, bool is_wanted)
{
	struct switch_causes *who = &cpu->who;
	int error;

	hash_map_init(&who->names);
	hash_map_init(&who->waits);
	hash_map_init(&who->paths);
	hash_map_init(&who->locks);
	hash_map_init(&who->stacks);
	who->is_wanted = is_wanted;
	if (!is_wanted && !rights_can_load()) {
		note_no_rights(cpu);
		return;
	}
	error = kernel_watch_start(options, &who->watch);
	/* -ENOSYS: duet was built without BPF; a note would appear in every recording */
	if (error && (is_wanted || error != -ENOSYS))
		note_refused(cpu, error_text());
	error_clear();
}

static void note_lost_processes(struct cpu *cpu, uint64_t count)
{
	char text[240];

	if (!count)
		return;
	snprintf(text, sizeof(text),
		 "preemptors and wakers of the threads of %" PRIu64 " process%s are unknown: too "
		 "many processes ran at the same time",
		 count, count == 1 ? "" : "es");
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

static void note_lost(struct cpu *cpu)
{
	char text[160];

	if (!cpu->who.lost)
		return;
	snprintf(text, sizeof(text),
		 "the preemptor or waker of %" PRIu64 " switches is unknown: their records came "
		 "faster than they could be read",
		 cpu->who.lost);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

/* "the waker of 3 wakings, the kernel stack of 1 switch"; "": nothing is missing. */
void switch_causes_losses_text(const struct kernel_losses *losses, char *ret_text, size_t size)
{
	const struct {
		uint64_t count;
		const char *one, *more, *what;
	} parts[] = {
		{losses->wakings, "waking", "wakings", "the waker"},
		{losses->kernel_stacks, "switch", "switches", "the kernel stack"},
		{losses->user_stacks, "switch", "switches", "the user stack"},
		{losses->python_samples, "sample", "samples", "the Python frames"},
	};
	size_t length = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(parts) && length < size; i++)
		if (parts[i].count)
			length += (size_t)snprintf(
				ret_text + length, size - length, "%s%s of %" PRIu64 " %s",
				length ? ", " : "", parts[i].what, parts[i].count,
				parts[i].count == 1 ? parts[i].one : parts[i].more);
}

static void note_losses(struct cpu *cpu)
{
	struct kernel_losses losses;
	char what[240], text[320];

	kernel_watch_losses(cpu->who.watch, &losses);
	switch_causes_losses_text(&losses, what, sizeof(what));
	if (!*what)
		return;
	snprintf(text, sizeof(text),
		 "causes of switches are missing because BPF tables were full: %s", what);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

void switch_causes_close(struct cpu *cpu)
{
	struct switch_causes *who = &cpu->who;

	if (who->is_ready) {
		note_lost_processes(cpu, kernel_watch_lost_processes(who->watch));
		note_losses(cpu);
	}
	note_lost(cpu);
	kernel_watch_stop(who->watch);
	who->watch = NULL;
	who->is_ready = false;
	hash_map_fini(&who->names);
	hash_map_fini(&who->waits);
	hash_map_fini(&who->paths);
	hash_map_fini(&who->locks);
	memory_places_fini(&who->places);
	hash_map_fini(&who->stacks);
}

/* ---- becoming ready -------------------------------------------------------------------------- */

static void note_missing(struct cpu *cpu)
{
	size_t count;
	const struct kernel_program_report *reports = kernel_watch_reports(cpu->who.watch, &count);
	char text[600];

	for (size_t i = 0; i < count; i++) {
		if (reports[i].state == KERNEL_PROGRAM_RUNS ||
		    reports[i].state == KERNEL_PROGRAM_SPARED || !reports[i].lacks)
			continue;
		snprintf(text, sizeof(text), "%s is not recorded: the kernel %s%s%s",
			 reports[i].lacks,
			 reports[i].state == KERNEL_PROGRAM_ABSENT ? "has no attach point for it"
								   : "refused the BPF program",
			 reports[i].reason[0] ? ": " : "", reports[i].reason);
		recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	}
}

/* A program that replaces another one may give less certain data. Nothing is missing then. */
static void note_weakened(struct cpu *cpu)
{
	size_t count;
	const struct kernel_program_report *reports = kernel_watch_reports(cpu->who.watch, &count);

	for (size_t i = 0; i < count; i++)
		if (reports[i].state == KERNEL_PROGRAM_RUNS && reports[i].weakens)
			recording_note(cpu->recording, "cpu", COLLECTOR_AVAILABLE, 0,
				       reports[i].weakens);
}

/* The profiled program already runs while the BPF programs are being loaded. */
static void note_blind(struct cpu *cpu)
{
	const struct switch_causes *who = &cpu->who;
	char text[200];

	if (!who->begin_ns)
		return;
	snprintf(text, sizeof(text),
		 "preemptors and wakers are known from %.1f ms on, when the BPF programs had been "
		 "loaded",
		 (double)(host_clocks_now_ns() - who->begin_ns) / 1e6);
	recording_note(cpu->recording, "cpu", COLLECTOR_AVAILABLE, 0, text);
}

static void add_all(struct cpu *cpu)
{
	size_t cursor = 0;
	uint64_t pid, value;

	while (hash_map_next(&cpu->processes->by_pid, &cursor, &pid, &value))
		if (!((const struct process *)(uintptr_t)value)->has_ended)
			kernel_watch_add(cpu->who.watch, (uint32_t)pid);
}

/* Drops rights that are no longer needed: everything is attached, and the program has started. */
static void give_up_rights(struct cpu *cpu, bool keeps_bpf)
{
	if (!cpu->who.begin_ns)
		return;
	kernel_frames_load_namer(&cpu->walker->kernel_frames);
	rights_keep_recording(keeps_bpf);
}

static void look_whether_ready(struct cpu *cpu)
{
	struct switch_causes *who = &cpu->who;
	const char *reason;

	switch (kernel_watch_state(who->watch, &reason)) {
	case KERNEL_WATCH_LOADS:
		return;
	case KERNEL_WATCH_REFUSED:
		give_up_rights(cpu, false);
		note_refused(cpu, reason);
		kernel_watch_stop(who->watch);
		who->watch = NULL;
		return;
	case KERNEL_WATCH_READY:
		who->is_ready = true;
		give_up_rights(cpu, kernel_watch_needs_right(who->watch));
		note_missing(cpu);
		note_weakened(cpu);
		note_blind(cpu);
		if (!who->is_machine)
			add_all(cpu);
		if (cpu->rings)
			perf_rings_run(cpu->rings, kernel_watch_sample_program(who->watch));
		cpu_interrupts_read(cpu);
	}
}

void switch_causes_drain(struct cpu *cpu)
{
	if (cpu->who.watch && !cpu->who.is_ready)
		look_whether_ready(cpu);
	if (!cpu->who.is_ready)
		return;
	/* after the drain, so that stacks allowed earlier are no longer in the ring */
	if (!kernel_watch_drain(cpu->who.watch))
		kernel_watch_allow_stacks(cpu->who.watch, STACKS_ROUND);
}

void switch_causes_begin_process(struct cpu *cpu, uint32_t pid)
{
	struct switch_causes *who = &cpu->who;

	if (!who->begin_ns)
		who->begin_ns = host_clocks_now_ns();
	if (who->is_ready)
		kernel_watch_add(who->watch, pid);
}

void switch_causes_end_process(struct cpu *cpu, uint32_t pid)
{
	if (cpu->who.is_ready)
		kernel_watch_remove(cpu->who.watch, pid);
}

uint64_t switch_causes_each_second(struct cpu *cpu, uint64_t now_ns)
{
	uint64_t lost;

	if (!cpu->who.is_ready)
		return 0;
	cpu->who.paths_looked = 0;
	lost = kernel_watch_sweep(cpu->who.watch, now_ns - SWEEP_NS);
	if (cpu->who.is_machine)
		return lost;
	cpu->who.lost += lost;
	return 0;
}

/* ---- preemptor and waker --------------------------------------------------------------------- */

/* Finds the thread in the recording; NULL: it is not recorded. */
static struct process_thread *recorded(struct cpu *cpu, const struct kernel_task *task,
				       uint64_t time_ns, struct process **ret_process)
{
	struct process *process;

	if (cpu->who.is_machine)
		return cpu_machine_thread(cpu, task, time_ns, ret_process);
	process = processes_find(cpu->processes, task->tgid);
	*ret_process = process;
	return process && !process->has_ended
		       ? process_thread(cpu->processes, process, task->tid, time_ns)
		       : NULL;
}

static uint32_t describe(struct cpu *cpu, const struct kernel_task *task, uint64_t time_ns)
{
	struct process *process;
	struct process_thread *thread = recorded(cpu, task, time_ns, &process);

	return thread ? process_thread_describe(cpu->processes, process, thread) : 0;
}

/* The key includes the name, because a pid may be reused and a process may call exec. */
static uint64_t other_key(const struct kernel_task *task)
{
	uint64_t parts[KERNEL_NAME_BYTES / sizeof(uint64_t)] = {0};
	uint64_t key = task->tgid;

	/* bytes after the NUL may be the rest of an older name */
	memcpy(parts, task->name, strnlen(task->name, sizeof(parts)));
	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		key = (key ^ parts[i]) * HASH_ODD;
		key ^= key >> 29;
	}
	return key;
}

/* "NAME (process PID)". The kernel reports the name of the thread; the process's may differ. */
static void name_other(const struct kernel_task *task, char *ret_text, size_t size)
{
	char name[64] = "";

	if (task->tid == task->tgid)
		snprintf(name, sizeof(name), "%.*s", KERNEL_NAME_BYTES, task->name);
	else
		proc_thread_name(task->tgid, task->tgid, name);
	if (*name)
		snprintf(ret_text, size, "%s (process %u)", name, task->tgid);
	else /* it has ended */
		snprintf(ret_text, size, "%.*s (thread of process %u)", KERNEL_NAME_BYTES,
			 task->name, task->tgid);
}

static uint32_t other_string(struct cpu *cpu, const struct kernel_task *task)
{
	struct switch_causes *who = &cpu->who;
	const uint64_t key = other_key(task);
	uint32_t string = (uint32_t)hash_map_get(&who->names, key, 0);
	char text[100];

	if (string)
		return string;
	if (who->names.count >= MAX_NAMES)
		return recording_string(cpu->recording, "[one of many other processes]");
	if (task->tgid == (uint32_t)getpid() && proc_counts_as_machine())
		snprintf(text, sizeof(text), "duet's own recorder");
	else
		name_other(task, text, sizeof(text));
	string = recording_string(cpu->recording, text);
	hash_map_put(&who->names, key, string);
	return string;
}

/* Sets the trace's thread, or the string for a thread that is not recorded. */
static void name_task(struct cpu *cpu, const struct kernel_task *task, uint64_t time_ns,
		      uint32_t *ret_thread, uint32_t *ret_string)
{
	*ret_thread = describe(cpu, task, time_ns);
	*ret_string = *ret_thread ? 0 : other_string(cpu, task);
}

void switch_causes_preempted(struct cpu *cpu, struct process_thread *thread,
			     const struct kernel_out *out, struct event_switch *row)
{
	/* if the processor idles, though the thread could run, it is throttled as well */
	const bool is_limited = (out->head.flags & KERNEL_THROTTLED) || !out->next.tid;

	thread->preempted_ns = is_limited ? 0 : out->head.time_ns;
	if (is_limited) {
		row->wait_string = recording_string(cpu->recording, SWITCH_CPU_LIMIT);
		return;
	}
	row->holder = describe(cpu, &out->next, out->head.time_ns);
	row->wait_string = other_string(cpu, &out->next);
}

static void name_waker(struct cpu *cpu, const struct kernel_in *in, uint32_t *ret_thread,
		       uint32_t *ret_string)
{
	if (!in->woken_ns)
		return;
	if ((in->head.flags & KERNEL_INTERRUPT) || !in->waker.tid)
		*ret_string = recording_string(cpu->recording, "interrupt");
	else
		name_task(cpu, &in->waker, in->woken_ns, ret_thread, ret_string);
}

void switch_causes_back(struct cpu *cpu, const struct process_thread *thread,
			const struct kernel_in *in, struct event_switch *row)
{
	name_waker(cpu, in, &row->waker, &row->waker_string);
	if (!in->left_ns || in->left_ns != thread->preempted_ns)
		return;
	row->holder = describe(cpu, &in->rival, in->left_ns);
	row->wait_string = other_string(cpu, &in->rival);
}

void switch_causes_came(struct cpu *cpu, const struct process_thread *thread,
			struct event_switch *row)
{
	const struct kernel_in *in =
		cpu->who.is_ready ? kernel_watch_in(cpu->who.watch, thread->row.tid, row->time)
				  : NULL;

	if (in)
		switch_causes_back(cpu, thread, in, row);
}

/* ---- cause of a wait ------------------------------------------------------------------------- */

/* Returns the tid of a futex's owner in its own pid namespace; 0: not known. In a glibc mutex, the
 * owner and the kind follow the futex word. Other futexes have other data there, so the word, the
 * system call's argument and the kind are checked; a few may still match. */
static uint32_t lock_owner(const struct kernel_out *out)
{
	const uint32_t command = (uint32_t)out->arguments[1] & FUTEX_CMD_MASK;
	const struct kernel_lock *lock = &out->lock;

	if (!(out->head.flags & KERNEL_HAS_LOCK))
		return 0;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
		return lock->word & FUTEX_TID_MASK;
	if ((command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
	    (uint32_t)out->arguments[2] == CONTENDED && lock->word == CONTENDED &&
	    lock->kind < MUTEX_KINDS)
		return lock->owner;
	return 0;
}

/* Finds a living thread of the process by its tid in the process's pid namespace. */
static struct process_thread *thread_by_own_number(const struct process *process, uint32_t tid)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&process->threads, &cursor, NULL, &value)) {
		struct process_thread *thread = (struct process_thread *)(uintptr_t)value;

		if ((thread->row.ns_tid ? thread->row.ns_tid : thread->row.tid) == tid &&
		    !thread->row.end_ns)
			return thread;
	}
	return NULL;
}

/* Finds the thread that holds the mutex. NULL: not a mutex, the holder is about to unlock it or has
 * ended, or the owner is the waiting thread itself. */
static struct process_thread *find_holder(const struct process *process,
					  const struct kernel_out *out)
{
	const uint32_t owner = lock_owner(out);
	struct process_thread *thread = owner ? thread_by_own_number(process, owner) : NULL;

	return thread && thread->row.tid != out->head.tid ? thread : NULL;
}

/* A file system gives the number of a deleted file to another one, and changes the generation. A
 * path is looked up again after this time where the file system keeps no generation. */
#define PATH_LASTS_NS 1000000000u

/* "read (/data/train.bin, disk sda)"; 0: the path is not known, or too many are. */
static uint32_t path_string(struct cpu *cpu, uint32_t pid, const struct kernel_out *out,
			    const char *call)
{
	struct switch_causes *who = &cpu->who;
	const uint64_t number = out->file_inode * HASH_ODD ^ out->file_generation;
	const uint64_t object = (number * HASH_ODD ^ out->file_device) * HASH_ODD;
	const uint64_t key = object ^ object >> 29 ^ file_words_key(out);
	const uint64_t period = (uint64_t)(uint32_t)(out->head.time_ns / PATH_LASTS_NS) << 32;
	const uint64_t *known;
	uint32_t string;
	char path[512], name[512], text[1200];

	/* an anonymous file has a name in the record, and no path */
	if (!S_ISREG(out->file_mode) || !out->file_inode || who->is_machine || out->file_name[0])
		return 0;
	known = hash_map_find(&who->paths, key);
	if (known && (out->file_generation || *known >> 32 == period >> 32))
		return (uint32_t)*known;
	if ((!known && who->paths.count >= MAX_PATHS) || who->paths_looked >= MAX_PATH_LOOKS)
		return 0;
	who->paths_looked++;
	if (!file_path(pid, out, path, sizeof(path)))
		return 0;
	if (file_words(pid, out, name, sizeof(name)))
		snprintf(text, sizeof(text), "%s (%s, %s)", call, path, name);
	else
		snprintf(text, sizeof(text), "%s (%s)", call, path);
	string = recording_string(cpu->recording, text);
	hash_map_put(&who->paths, key, period | string);
	return string;
}

/* "read (disk sda)". */
static uint32_t call_string(struct cpu *cpu, uint32_t pid, const struct kernel_out *out,
			    const char *call)
{
	const uint64_t key = file_words_key(out);
	uint32_t string = path_string(cpu, pid, out, call);
	char name[512], text[600];

	if (!string)
		string = (uint32_t)hash_map_get(&cpu->who.waits, key, 0);
	if (string)
		return string;
	if (cpu->who.waits.count >= MAX_WAITS)
		return recording_string(cpu->recording, call);
	if (file_words(pid, out, name, sizeof(name)))
		snprintf(text, sizeof(text), "%s (%s)", call, name);
	else
		snprintf(text, sizeof(text), "%s", call);
	string = recording_string(cpu->recording, text);
	hash_map_put(&cpu->who.waits, key, string);
	return string;
}

/* "mutex (server+0x40c0)": the address distinguishes locks. */
static uint32_t lock_string(struct cpu *cpu, const struct process *process, const char *what,
			    const struct kernel_out *out)
{
	struct switch_causes *who = &cpu->who;
	const struct memory_moment moment = {out->head.time_ns, out->mappings};
	const uint64_t address = out->arguments[0];
	const uint64_t key = (uint64_t)process->row.id << 48 ^ address << 1 ^ (what[0] == 'm');
	const uint64_t *known = hash_map_find(&who->locks, key);
	const struct proc_maps *maps;
	char name[300], text[400];
	uint32_t string;

	/* the name is valid only for the same state of the mappings */
	if (known && moment.state && *known >> 32 == moment.state)
		return (uint32_t)*known;
	if (!known && who->locks.count >= MAX_LOCKS)
		return recording_string(cpu->recording, what);
	maps = memory_places_maps(&who->places, process->row.id, process->row.pid, address,
				  &moment);
	memory_places_variable(maps, address, name, sizeof(name));
	snprintf(text, sizeof(text), "%s (%s)", what, name);
	string = recording_string(cpu->recording, text);
	hash_map_put(&who->locks, key, (uint64_t)(maps ? moment.state : 0) << 32 | string);
	return string;
}

/* Names the disk of a mapped file. The file itself may be a disk; stat(2) is called only for paths
 * below /dev, because other file systems may not answer. */
static bool name_disk(uint32_t pid, const struct proc_mapping *mapping, char *ret_text, size_t size)
{
	char path[PATH_MAX + 32];
	struct stat status;

	if (strncmp(mapping->path, "/dev/", 5) != 0)
		return mapping->inode && device_name(pid, mapping->device_major,
						     mapping->device_minor, ret_text, size);
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, mapping->path);
	return stat(path, &status) == 0 && S_ISBLK(status.st_mode) &&
	       device_name(pid, major(status.st_rdev), minor(status.st_rdev), ret_text, size);
}

/* Key of a fault: mapping of the page, and the disk request that the thread waits for. */
static uint64_t fault_key(const struct process *process, const struct proc_mapping *mapping,
			  const struct kernel_out *out)
{
	uint64_t key = (file_words_key(out) ^ process->row.id) * HASH_ODD;

	if (mapping)
		key = (key ^ mapping->start ^ mapping->inode << 20) * HASH_ODD;
	return (key ^ key >> 29) | 1;
}

/* "page fault (/data/model.bin, disk sda)". */
static uint32_t fault_string(struct cpu *cpu, const struct process *process,
			     const struct kernel_out *out)
{
	const struct memory_moment moment = {out->head.time_ns, out->mappings};
	const uint32_t pid = process->row.pid;
	const uint64_t address = out->fault_address;
	const struct proc_maps *maps = NULL;
	const struct proc_mapping *mapping = NULL;
	struct hash_map *known = &cpu->who.locks;
	char file[512] = "", disk[512] = "", text[1200];
	uint32_t string;
	uint64_t key;

	if (out->head.flags & KERNEL_FAULT)
		maps = memory_places_maps(&cpu->who.places, process->row.id, pid, address, &moment);
	if (maps)
		mapping = proc_maps_find(maps, address);
	key = fault_key(process, mapping, out);
	string = (uint32_t)hash_map_get(known, key, 0);
	if (string)
		return string;
	if (known->count >= MAX_LOCKS)
		return recording_string(cpu->recording, "page fault");
	if (mapping)
		memory_places_file(maps, address, file, sizeof(file));
	if (!file_words(pid, out, disk, sizeof(disk)) && mapping)
		name_disk(pid, mapping, disk, sizeof(disk));
	if (*file || *disk)
		snprintf(text, sizeof(text), "page fault (%s%s%s)", file,
			 *file && *disk ? ", " : "", disk);
	else
		snprintf(text, sizeof(text), "page fault");
	string = recording_string(cpu->recording, text);
	hash_map_put(known, key, string);
	return string;
}

/* "select" and "poll" without descriptors are sleeps: Python's time.sleep before 3.11 does so. */
static bool has_no_descriptors(const char *call, const struct kernel_out *out)
{
	if (strcmp(call, "select") == 0 || strcmp(call, "pselect6") == 0)
		return out->arguments[0] == 0;
	return (strcmp(call, "poll") == 0 || strcmp(call, "ppoll") == 0) && out->arguments[1] == 0;
}

/* 0: no name is known for the cause. */
static uint32_t wait_string(struct cpu *cpu, const struct process *process,
			    const struct kernel_out *out)
{
	const struct blocked_place place = {.call = (int32_t)out->call};
	const char *call = blocked_call_name(&place);

	if (out->head.flags & KERNEL_STOPPED)
		return recording_string(cpu->recording, "stopped");
	if (out->call < 0)
		return fault_string(cpu, process, out);
	if (blocked_is_futex(&place))
		return lock_string(cpu, process, call, out);
	if (call && has_no_descriptors(call, out))
		return recording_string(cpu->recording, "sleep (select or poll)");
	return call ? call_string(cpu, process->row.pid, out, call) : 0;
}

/* The copy of the lock is from the moment of the switch, so its holder is exact however late the
 * record is read. */
static bool is_python_lock(struct cpu *cpu, struct process *process, const struct kernel_out *out,
			   struct cpu_lock *ret_lock)
{
	const struct blocked_place place = {.call = (int32_t)out->call};
	const struct cpu_futex futex = {.tid = out->head.tid,
					.address = out->arguments[0],
					.since_ns = out->head.time_ns,
					.copied = &out->lock};

	return blocked_is_futex(&place) && cpu_python_lock(cpu, process, &futex, ret_lock);
}

void switch_causes_fill_wait(struct cpu *cpu, struct process *process, const struct kernel_out *out,
			     struct thread_wait *wait)
{
	struct process_thread *holder;
	struct cpu_lock lock;

	if (is_python_lock(cpu, process, out, &lock)) {
		wait->bpf_holder = lock.holder;
		wait->bpf_string = recording_string(cpu->recording, SWITCH_PYTHON_LOCK);
		return;
	}
	holder = find_holder(process, out);
	if (holder) {
		wait->bpf_holder = process_thread_describe(cpu->processes, process, holder);
		wait->bpf_string = lock_string(cpu, process, "mutex", out);
		return;
	}
	wait->bpf_string = wait_string(cpu, process, out);
}

/* The trace's stack for a stack id from BPF; 0: none, or its Python frames are missing. A look
 * during the wait then reads both. */
static uint32_t user_stack(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t known)
{
	const uint64_t key = known ^ (uint64_t)process->row.id << 32;
	struct hash_map *stacks = &cpu->who.stacks;
	const uint32_t there = (uint32_t)hash_map_get(stacks, key, 0);
	struct kernel_python_stack *python;
	struct kernel_stack *stack_row;
	uint32_t stack = 0;

	if (!known || there)
		return there;
	stack_row = kernel_watch_take_user_stack(cpu->who.watch, known, &python);
	if (stacks->count >= MAX_STACKS)
		hash_map_clear(stacks);
	if (stack_row)
		stack = cpu_bpf_stack(cpu, process, tid, stack_row, python);
	free(stack_row);
	free(python);
	if (stack)
		hash_map_put(stacks, key, stack);
	return stack;
}

void switch_causes_took(struct cpu *cpu, struct process *process, struct process_thread *thread,
			struct event_switch *row)
{
	const uint32_t tid = thread->row.tid;
	const struct kernel_out *out =
		cpu->who.is_ready ? kernel_watch_out(cpu->who.watch, tid, row->time) : NULL;
	uint64_t known;

	if (!out)
		return;
	known = out->user_stack;
	switch_causes_preempted(cpu, thread, out, row);
	row->stack = user_stack(cpu, process, tid, known);
}

void switch_causes_holds(struct cpu *cpu, struct process *process, struct process_thread *thread,
			 uint64_t time_ns)
{
	const uint32_t tid = thread->row.tid;
	const struct kernel_out *found =
		cpu->who.is_ready ? kernel_watch_out(cpu->who.watch, tid, time_ns) : NULL;
	uint64_t addresses[MAX_KERNEL_FRAMES];
	struct kernel_out out;
	uint32_t stack;

	if (!found || (found->head.flags & KERNEL_PREEMPTED))
		return;
	out = *found;
	switch_causes_fill_wait(cpu, process, &out, &thread->wait);
	stack = user_stack(cpu, process, tid, out.user_stack);
	if (stack)
		stack = kernel_frames_put(
			&cpu->walker->kernel_frames, addresses,
			kernel_watch_stack(cpu->who.watch, out.stack, addresses, MAX_KERNEL_FRAMES),
			stack);
	thread->wait.bpf_stack = stack;
}
