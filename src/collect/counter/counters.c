/* SPDX-License-Identifier: MIT
 *
 * collect/counter/counters.c - a collector of counters: runs samplers, keeps the list of processes,
 * writes rows
 *
 * Runs in:  the recorder's main thread; samplers have their own
 * Gets:     rows from samplers
 * Gives:    rows and descriptions of series, to the writer
 * Owns:     a group of sources for each sampler, the list of processes
 * Fails:    losses are counted; a sampler that hangs in the kernel at the end is left alone with
 *           its memory
 * Why:      Samplers have threads of their own, because the main thread may wait for a disk for
 *           seconds, and reads the guests' rings first. A sampler in the main thread would read its
 *           values too late.
 */
#include "collect/counter/counters.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/counter/sampled_processes.h"
#include "collect/counter/series_rows.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"
#include "collect/start/process_tree.h"

enum {
	DRAIN_NS = 100000000,
	LOOK_NS = 100000000,  /* interval of looks for new and ended processes */
	LOOK_SHARE = 100,     /* the interval grows if a look takes more than 1/100 of it */
	FIND_NS = 1000000000, /* interval of searches for the names of all processes */
	COMMAND_BYTES = 64,
	PATIENCE_NS =
		1000000000, /* max wait for another collector to report a process, or for an exec */
	LAST_NS = 300000000, /* max time for the last reading */
	STOP_NS = 1000000000
};

/* A process whose counters are read. */
struct member {
	struct process *process; /* a reference */
	size_t place;
	bool is_ours; /* no other collector reports it */
};

struct counters {
	struct recording *recording;
	struct counters_options options;
	struct group groups[GROUP_COUNT];
	bool is_open[GROUP_COUNT];
	struct tracked tracked;
	struct process_tree process_tree;
	struct hash_map members; /* pid -> struct member *, owned */
	struct hash_map seen;    /* pid -> time when first seen, of processes that are waited for */
	pid_t program;           /* 0: none, or read for the last time */
	bool is_program_begun;
	uint64_t begin_ns, last_look_ns, next_find_ns;
	uint64_t look_ns;                                    /* interval of looks */
	uint64_t refused[GROUP_COUNT], unnamed[GROUP_COUNT]; /* losses that are written already */
	uint64_t untracked, untracked_written;
	uint64_t counted_ns;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static void take_rows(struct counters *counters)
{
	for (size_t i = 0; i < GROUP_COUNT; i++) {
		const struct trace_source source = {.source = (uint32_t)i + 1,
						    .clock = CLOCK_ID_MONOTONIC};

		if (counters->is_open[i])
			series_rows_write(&counters->groups[i].series, counters->recording,
					  counters->options.collector, &source);
	}
}

static void put_loss(struct counters *counters, uint32_t reason, uint64_t count, uint64_t *written,
		     uint64_t now_ns)
{
	recording_lose_more(counters->recording, EVENT_COUNTER, reason, counters->counted_ns,
			    now_ns, count, written);
}

void counters_count_losses(void *state, uint64_t now_ns)
{
	struct counters *counters = state;

	if (!counters)
		return;
	for (size_t i = 0; i < GROUP_COUNT; i++) {
		const struct series *series = &counters->groups[i].series;

		if (!counters->is_open[i])
			continue;
		put_loss(counters, LOSS_RING_FULL, series->refused, &counters->refused[i], now_ns);
		put_loss(counters, LOSS_TRACKING, series->unnamed, &counters->unnamed[i], now_ns);
	}
	put_loss(counters, LOSS_TRACKING, counters->untracked, &counters->untracked_written,
		 now_ns);
	counters->counted_ns = now_ns;
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct member *find_member(const struct counters *counters, uint32_t pid)
{
	return hash_map_find_pointer(&counters->members, pid);
}

static void leave(struct counters *counters, uint32_t pid)
{
	struct member *member = find_member(counters, pid);

	if (!member)
		return;
	hash_map_remove(&counters->members, pid, NULL);
	tracked_remove(&counters->tracked, member->place);
	process_put(member->process);
	free(member);
}

/* Adds a process. since_ns: its counters start at 0 then; 0: it existed before. */
static void join_process(struct counters *counters, struct process *process, bool is_ours,
			 uint64_t since_ns)
{
	struct processes *processes = counters->recording->processes;
	struct member *member = calloc(1, sizeof(*member));

	if (!member)
		return;
	member->place = tracked_add(&counters->tracked, process->row.pid,
				    process_describe(processes, process), since_ns);
	if (member->place == MAX_TRACKED) {
		if (!counters->untracked++)
			recording_note(
				counters->recording, counters->options.collector, COLLECTOR_PARTIAL,
				0, "more than 1024 processes; counters of the others are absent");
		free(member);
		return;
	}
	member->process = process_get(process);
	member->is_ours = is_ours;
	if (hash_map_put_pointer(&counters->members, process->row.pid, member)) {
		tracked_remove(&counters->tracked, member->place);
		process_put(process);
		free(member);
	}
}

/* Waits for another collector that may report the process soon, with more facts than /proc has.
 * False: not yet. */
static bool is_awaited(struct counters *counters, uint32_t pid, uint64_t now_ns)
{
	uint64_t since_ns = hash_map_get(&counters->seen, pid, now_ns);

	if (!counters->options.has_others || now_ns - since_ns > PATIENCE_NS)
		return false;
	hash_map_put(&counters->seen, pid, since_ns);
	return true;
}

static void meet_process(struct counters *counters, const struct tree_process *relative,
			 uint64_t now_ns)
{
	struct processes *processes = counters->recording->processes;
	struct process *process = processes_find(processes, relative->pid);
	bool is_ours = !process || process->has_ended;
	uint64_t since_ns = hash_map_get(&counters->seen, relative->pid, counters->last_look_ns);

	if (is_ours && is_awaited(counters, relative->pid, now_ns))
		return;
	hash_map_remove(&counters->seen, relative->pid, NULL);
	if (is_ours)
		process = processes_begin(processes, relative->pid, now_ns);
	if (process)
		join_process(counters, process, is_ours, relative->is_running ? 0 : since_ns);
}

/* Handles an exec: the process is a new one in the trace, and counts up to now belong to the old
 * one. */
static void follow(struct counters *counters, const struct tree_process *relative,
		   struct member *member, uint64_t now_ns)
{
	struct processes *processes = counters->recording->processes;
	struct process *before = process_get(member->process), *process;
	bool is_ours = member->is_ours && relative->has_changed;

	process = is_ours ? processes_begin(processes, relative->pid, now_ns)
			  : processes_find(processes, relative->pid);
	if (process && process != before && !process->has_ended) {
		leave(counters, relative->pid);
		if (is_ours)
			process_inherit(process, before, false);
		join_process(counters, process, is_ours, 0);
	}
	process_put(before);
}

/* Whether this is the started program before its exec, when it still runs the recorder's code.
 * After PATIENCE_NS the exec is assumed. Notes in is_program_begun that it was seen or assumed. */
static bool is_recorder(struct counters *counters, const struct tree_process *relative,
			uint64_t now_ns)
{
	if ((pid_t)relative->pid != counters->program || counters->is_program_begun)
		return false;
	counters->is_program_begun =
		relative->has_changed || now_ns - counters->begin_ns > PATIENCE_NS;
	return !counters->is_program_begun;
}

static void see_end(struct counters *counters, uint32_t pid, uint64_t now_ns)
{
	const struct member *member = find_member(counters, pid);

	if (member && member->is_ours)
		processes_end(counters->recording->processes, pid, now_ns);
	leave(counters, pid);
	hash_map_remove(&counters->seen, pid, NULL);
}

/* ---- processes that the user chose by name ----------------------------------------------------
 */

/* The name is read again at each look, because exec and prctl change it. */
static bool is_process_chosen(const struct counters *counters, uint32_t pid)
{
	const struct name_patterns *patterns = &counters->options.group.choice.processes;
	auto_free char *text = NULL;
	char path[COMMAND_BYTES];

	if (name_patterns_is_empty(patterns))
		return true;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (read_file(path, COMMAND_BYTES, &text, NULL) < 0) {
		error_clear();
		return false;
	}
	text[strcspn(text, "\n")] = '\0';
	return name_patterns_match(patterns, text);
}

/* Adds processes of the whole machine. Their counters start with the first reading. */
static void find_processes(struct counters *counters, uint64_t now_ns)
{
	DIR *folder;
	const struct dirent *entry;

	if (!counters->options.finds_processes || now_ns < counters->next_find_ns)
		return;
	counters->next_find_ns = now_ns + FIND_NS;
	folder = opendir("/proc");
	while (folder && (entry = readdir(folder))) {
		const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		/* One that has ended meanwhile, or that does not fit into memory, is left out. */
		if (pid && !find_member(counters, pid) && is_process_chosen(counters, pid))
			(void)process_tree_add(&counters->process_tree, pid, -1, true);
	}
	if (folder)
		closedir(folder);
}

static void look_for_processes(struct counters *counters, uint64_t now_ns)
{
	uint64_t used_ns = host_clocks_own_ns();
	struct tree_process *relative;
	size_t cursor = 0;

	find_processes(counters, now_ns);
	process_tree_look(&counters->process_tree);
	while ((relative = process_tree_next(&counters->process_tree, &cursor))) {
		struct member *member = find_member(counters, relative->pid);

		if (!relative->is_there)
			see_end(counters, relative->pid, now_ns);
		else if (is_recorder(counters, relative, now_ns))
			continue;
		else if (!is_process_chosen(counters, relative->pid))
			see_end(counters, relative->pid, now_ns);
		else if (member)
			follow(counters, relative, member, now_ns);
		else
			meet_process(counters, relative, now_ns);
	}
	process_tree_forget(&counters->process_tree);
	counters->last_look_ns = now_ns;
	used_ns = (host_clocks_own_ns() - used_ns) * LOOK_SHARE;
	counters->look_ns = used_ns > LOOK_NS ? used_ns : LOOK_NS;
}

/* Takes a last reading of the program, between its end and our wait for it. /proc still has its
 * final values. */
static void read_last_of_program(struct counters *counters)
{
	siginfo_t about = {0};

	if (!counters->program ||
	    waitid(P_PID, (id_t)counters->program, &about, WEXITED | WNOHANG | WNOWAIT) != 0)
		return;
	if (about.si_pid != counters->program)
		return;
	sampler_tick_now(&counters->groups[GROUP_PROCESSES].sampler, LAST_NS);
	counters->program = 0;
}

static int add_to_family(struct counters *counters, pid_t pid, int pid_fd, bool is_running)
{
	int error = 0;

	counters->process_tree.environment = counters->recording->mark;
	if (!counters->process_tree.is_open)
		error = process_tree_init(&counters->process_tree);
	if (!error)
		error = process_tree_add(&counters->process_tree, (uint32_t)pid, pid_fd,
					 is_running);
	return error;
}

int counters_watch(void *state, pid_t pid)
{
	struct counters *counters = state;

	if (!counters)
		return 0;
	counters->program = pid;
	return add_to_family(counters, pid, -1, false);
}

int counters_attach(void *state, pid_t pid, int pid_fd)
{
	int error = state ? add_to_family(state, pid, pid_fd, true) : 0;

	if (state && !error)
		look_for_processes(state, host_clocks_now_ns());
	return error;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void on_absent(void *context, const struct source *source, const char *why)
{
	struct counters *counters = context;

	recording_note(counters->recording, counters->options.collector, COLLECTOR_PARTIAL, 0, why);
}

static int open_group(struct counters *counters, enum group_id id)
{
	struct group_options options = counters->options.group;
	int error;

	options.id = id;
	options.name = counters->options.names[id];
	options.tracked = counters->options.has_processes ? &counters->tracked : NULL;
	options.on_absent = on_absent;
	options.context = counters;
	if (!options.name || (id == GROUP_PROCESSES && !options.tracked))
		return 0;
	error = group_open(&counters->groups[id], &options);
	counters->is_open[id] = !error;
	return error ? error : group_start(&counters->groups[id]);
}

static void close_context(const struct counters_options *options)
{
	if (options->close_context)
		options->close_context(options->group.sources_context);
}

int counters_open(struct recording *recording, const struct counters_options *options,
		  struct counters **ret_counters)
{
	struct counters *counters = calloc(1, sizeof(*counters));
	int error = 0;

	if (!counters) {
		close_context(options);
		return error_set(-ENOMEM, "counters: out of memory");
	}
	counters->recording = recording;
	counters->options = *options;
	counters->begin_ns = counters->last_look_ns = counters->counted_ns = host_clocks_now_ns();
	tracked_init(&counters->tracked);
	for (unsigned int i = 0; i < GROUP_COUNT && !error; i++)
		error = open_group(counters, i);
	if (!error && options->finds_processes)
		error = process_tree_init(&counters->process_tree);
	if (error) {
		counters_close(counters);
		return error_set(error, "counters: %s",
				 error == -EAGAIN ? "cannot start a thread" : "out of memory");
	}
	*ret_counters = counters;
	return 0;
}

uint64_t counters_interval_ns(const void *state)
{
	return state ? DRAIN_NS : UINT64_MAX;
}

void counters_catch_up(void *state, uint64_t until_ns)
{
	if (!state)
		return;
	read_last_of_program(state);
	take_rows(state);
}

void counters_look(void *state)
{
	struct counters *counters = state;
	uint64_t now_ns = host_clocks_now_ns();

	if (counters && counters->process_tree.is_open &&
	    now_ns - counters->last_look_ns >= counters->look_ns)
		look_for_processes(counters, now_ns);
}

void counters_drain(void *state)
{
	counters_catch_up(state, UINT64_MAX);
	counters_look(state);
}

/* False: a sampler hangs and may continue at any time. */
static bool stop_samplers(struct counters *counters)
{
	bool all = true;

	for (size_t i = 0; i < GROUP_COUNT; i++) {
		if (!counters->is_open[i])
			continue;
		sampler_tick_now(&counters->groups[i].sampler, LAST_NS);
		if (sampler_stop(&counters->groups[i].sampler, STOP_NS))
			continue;
		all = false;
		recording_note(counters->recording, counters->options.collector, COLLECTOR_PARTIAL,
			       0,
			       "a file of /proc or /sys was still being read at the end of the "
			       "recording; its last values are absent");
	}
	return all;
}

void counters_close(void *state)
{
	struct counters *counters = state;
	uint64_t pid;
	size_t cursor = 0;

	if (!counters)
		return;
	if (!stop_samplers(counters)) {
		take_rows(counters);
		counters_count_losses(counters, host_clocks_now_ns());
		return;
	}
	take_rows(counters);
	counters_count_losses(counters, host_clocks_now_ns());
	for (size_t i = 0; i < GROUP_COUNT; i++)
		if (counters->is_open[i])
			group_close(&counters->groups[i]);
	for (; hash_map_next(&counters->members, &cursor, &pid, NULL); cursor = 0)
		leave(counters, (uint32_t)pid);
	hash_map_fini(&counters->members);
	hash_map_fini(&counters->seen);
	process_tree_fini(&counters->process_tree);
	tracked_fini(&counters->tracked);
	close_context(&counters->options);
	free(counters);
}

uint32_t counters_frequency(const char *option, uint32_t max_hz)
{
	char *end;
	unsigned long hz = strtoul(option, &end, 10);

	if (strcmp(end, "Hz") == 0)
		end += strlen(end);
	return *end == '\0' && *option >= '1' && *option <= '9' && hz <= max_hz ? (uint32_t)hz : 0;
}
