/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug.c - code objects of processes, from the debugger interface of
 * Intel's drivers
 *
 * Runs in:  the recorder's main thread
 * Gets:     events of connections (eudebug_links.c)
 * Gives:    numbers of stopped threads; code objects (eudebug_code.c)
 * Owns:     render nodes, connections, the state in eudebug_private.h
 * Fails:    a process to which no connection can be made is noted, once per reason and GPU
 * Why:      A connection belongs to a process and a GPU, and the driver first reports everything
 *           that the process already has. So a connection may be made shortly after the process has
 *           opened the GPU. To notice that, the links in /proc/PID/fd are read every 100 ms, and
 *           after ten seconds once a second.
 */
#include "collect/intel/experimental/eudebug_private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/counter/source.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"

enum { DRM_MAJOR = 226, MAX_MINORS = 1 << 20, MAX_FILES = 4096 };
#define LOOK_NS       UINT64_C(100000000)
#define LOOK_LATER_NS UINT64_C(1000000000)
#define SOON_NS       UINT64_C(10000000000)
#define AGAIN_NS      UINT64_C(1000000000)

/* ---- notes ----------------------------------------------------------------------------------- */

static void put_note(const struct eudebug *debug, uint32_t state, const char *text)
{
	recording_note(debug->recording, "intel", state, 0, text);
	if (state != COLLECTOR_AVAILABLE)
		recording_warn(debug->recording, text);
}

static const struct eudebug_driver *driver_of(const struct gpu_node *node)
{
	return strcmp(node->driver, "i915") == 0 ? &eudebug_i915_driver : &eudebug_xe_driver;
}

void eudebug_explain(const struct gpu_node *node, pid_t pid, int error, char *text, size_t size)
{
	const char *lacks = driver_of(node)->lacks;
	const char *address = node->address;

	switch (error) {
	case EACCES:
	case EPERM:
		snprintf(text, size,
			 "GPU %s: process %d belongs to another user or forbids debuggers; record "
			 "it as its user or as root",
			 address, pid);
		break;
	case ENOTTY:
	case EINVAL:
		snprintf(text, size,
			 "GPU %s: %s; record the runtime's own calls instead (--collect "
			 "level_zero)",
			 address, lacks);
		break;
	case ENODEV:
	case EOPNOTSUPP:
		snprintf(text, size,
			 "GPU %s: debugging is switched off; 'echo 1 | sudo tee "
			 "/sys/class/drm/renderD%d/device/%s' enables it on GPUs that support it",
			 address, node->minor, driver_of(node)->folder_file);
		break;
	case EBUSY:
		snprintf(text, size,
			 "GPU %s: a debugger is attached to process %d already; only one can be at "
			 "a time",
			 address, pid);
		break;
	case ENOSPC:
		snprintf(text, size,
			 "GPU %s: process %d is not debugged; the limit is %d processes", address,
			 pid, MAX_EUDEBUG_LINKS);
		break;
	default:
		snprintf(text, size, "GPU %s: its driver refuses to debug process %d: %s", address,
			 pid, strerror(error));
	}
}

static void note_refused(struct eudebug *debug, struct eudebug_gpu *gpu, pid_t pid, int error)
{
	char text[700], reason[600];

	/* the process has ended */
	if (error == ENOENT || error == ESRCH)
		return;
	for (size_t i = 0; i < EUDEBUG_REASONS; i++) {
		if (gpu->refused[i] == error)
			return;
		if (gpu->refused[i])
			continue;
		gpu->refused[i] = error;
		eudebug_explain(&gpu->node, pid, error, reason, sizeof(reason));
		snprintf(text, sizeof(text), "intel:debug: %s", reason);
		put_note(debug, COLLECTOR_PARTIAL, text);
		return;
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct eudebug_debuggee *find_debuggee(const struct eudebug *debug, pid_t pid, size_t gpu)
{
	for (size_t i = 0; i < debug->debuggees_count; i++)
		if (debug->debuggees[i].pid == pid && debug->debuggees[i].gpu == gpu)
			return &debug->debuggees[i];
	return NULL;
}

static struct process *known_process(const struct eudebug *debug, pid_t pid)
{
	struct process *process = processes_find(debug->recording->processes, (uint32_t)pid);

	return process ? process : processes_find(debug->recording->others, (uint32_t)pid);
}

static struct process *process_of(struct eudebug *debug, pid_t pid, struct processes **ret_table)
{
	struct process *process = processes_find(debug->recording->processes, (uint32_t)pid);

	*ret_table = debug->recording->processes;
	if (process)
		return process;
	*ret_table = debug->recording->others;
	process = known_process(debug, pid);
	return process ? process
		       : processes_begin(debug->recording->others, (uint32_t)pid,
					 host_clocks_now_ns());
}

static bool is_stopped(const struct eudebug *debug, const struct eudebug_watched *watched)
{
	if (!debug->options.stops)
		return false;
	return debug->options.pid ? watched->pid == (pid_t)debug->options.pid : watched->is_program;
}

/* Temporary refusals: another debugger, or one of ours, is about to detach. */
static bool is_passing(int error)
{
	return error == EBUSY || error == ENOSPC || error == EAGAIN || error == EINTR ||
	       error == ENOMEM;
}

static void connect_to(struct eudebug *debug, const struct eudebug_watched *watched,
		       struct eudebug_debuggee *debuggee, uint64_t now_ns)
{
	struct eudebug_gpu *gpu = &debug->gpus[debuggee->gpu];
	const int link = eudebug_links_connect(debug->links, &gpu->node, watched->pid,
					       is_stopped(debug, watched));

	if (link < 0)
		note_refused(debug, gpu, watched->pid, -link);
	debuggee->link = link > 0 ? (uint32_t)link : 0;
	debuggee->again_ns = is_passing(-link) ? now_ns + AGAIN_NS : 0;
}

/* Connects to a process that has the GPU open. */
static void connect_process(struct eudebug *debug, const struct eudebug_watched *watched,
			    size_t gpu, uint64_t now_ns)
{
	struct eudebug_debuggee *known = find_debuggee(debug, watched->pid, gpu);
	struct eudebug_debuggee debuggee = {.pid = watched->pid, .gpu = gpu};
	struct process *process;

	if (known && known->again_ns && now_ns >= known->again_ns)
		connect_to(debug, watched, known, now_ns);
	if (known)
		return;
	process = process_of(debug, watched->pid, &debuggee.table);
	if (!process ||
	    array_grow(debug->debuggees, debug->debuggees_capacity, debug->debuggees_count + 1))
		return;
	connect_to(debug, watched, &debuggee, now_ns);
	debuggee.process = process_get(process);
	debug->debuggees[debug->debuggees_count++] = debuggee;
}

/* Returns the minor number of a GPU's node from its path; -1: not a GPU. The file itself is not
 * opened or stat'ed, because that could block on a dead file server. */
static int minor_of(const char *path)
{
	static const char *const names[] = {"/dev/dri/renderD", "/dev/dri/card"};
	char *end;

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		const size_t length = strlen(names[i]);
		unsigned long minor;

		if (strncmp(path, names[i], length) != 0 || !isdigit((unsigned char)path[length]))
			continue;
		minor = strtoul(path + length, &end, 10);
		return *end == '\0' && minor <= MAX_MINORS ? (int)minor : -1;
	}
	return -1;
}

/* Finds the GPU by the device number of an open file, as shown by /sys. MAX_EUDEBUG_GPUS: none. */
static size_t gpu_of_file(const struct eudebug *debug, int folder, const char *name)
{
	char path[80], target[512];
	ssize_t length = readlinkat(folder, name, target, sizeof(target) - 1);
	int minor;

	target[length > 0 ? length : 0] = '\0';
	minor = minor_of(target);
	if (minor < 0)
		return MAX_EUDEBUG_GPUS;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%d/device", DRM_MAJOR, minor);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return MAX_EUDEBUG_GPUS;
	target[length] = '\0';
	for (size_t i = 0; i < debug->gpus_count; i++)
		if (strcmp(basename(target), debug->gpus[i].node.address) == 0)
			return i;
	return MAX_EUDEBUG_GPUS;
}

static bool read_files(struct eudebug *debug, const struct eudebug_watched *watched,
		       uint64_t now_ns)
{
	const struct dirent *entry;
	char path[64];
	size_t gpu;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", watched->pid);
	folder = opendir(path);
	if (!folder)
		return errno != ENOENT;
	for (int i = 0; i < MAX_FILES && (entry = readdir(folder)) != NULL; i++) {
		gpu = gpu_of_file(debug, dirfd(folder), entry->d_name);
		if (gpu < MAX_EUDEBUG_GPUS)
			connect_process(debug, watched, gpu, now_ns);
	}
	closedir(folder);
	return true;
}

/* Reads the open files of a process in parts, because a program decides how many there are. False:
 * the process has ended, or may not be inspected. */
static bool look_at(struct eudebug *debug, struct eudebug_watched *watched, uint64_t now_ns)
{
	struct process *process = known_process(debug, watched->pid);
	bool is_there;

	if (process && !lookup_budget_is_due(&process->looks, now_ns))
		return true;
	watched->looked_ns = now_ns;
	is_there = read_files(debug, watched, now_ns);
	if (process)
		lookup_budget_spend(&process->looks, now_ns, host_clocks_now_ns());
	return is_there;
}

static void watch(struct eudebug *debug, pid_t pid, bool is_program)
{
	for (size_t i = 0; i < debug->watched_count; i++)
		if (debug->watched[i].pid == pid)
			return;
	if (pid == getpid() ||
	    array_grow(debug->watched, debug->watched_capacity, debug->watched_count + 1))
		return;
	debug->watched[debug->watched_count++] = (struct eudebug_watched){
		.pid = pid, .since_ns = host_clocks_now_ns(), .is_program = is_program};
}

void eudebug_watch(struct eudebug *debug, pid_t pid, bool is_program)
{
	const bool is_first = is_program && !debug->is_program_met;

	debug->is_program_met |= is_program;
	if (debug->options.all || (is_first && debug->options.stops && !debug->options.pid))
		watch(debug, pid, is_first);
}

static void watch_table(struct eudebug *debug, const struct processes *table)
{
	size_t cursor = 0;
	uint64_t pid, value;

	while (hash_map_next(&table->by_pid, &cursor, &pid, &value))
		if (!((const struct process *)(uintptr_t)value)->has_ended)
			watch(debug, (pid_t)pid, false);
}

/* Drops a process that has ended, because its pid may be reused. */
static void forget(struct eudebug *debug, size_t index)
{
	const pid_t pid = debug->watched[index].pid;

	for (size_t i = debug->debuggees_count; i-- > 0;)
		if (debug->debuggees[i].pid == pid)
			debug->debuggees[i].pid = 0;
	debug->watched[index] = debug->watched[--debug->watched_count];
}

static void look_for_processes(struct eudebug *debug)
{
	const uint64_t now_ns = host_clocks_now_ns();

	if (now_ns - debug->looked_ns < LOOK_NS)
		return;
	debug->looked_ns = now_ns;
	if (debug->options.all) {
		watch_table(debug, debug->recording->processes);
		watch_table(debug, debug->recording->others);
	}
	for (size_t i = debug->watched_count; i-- > 0;) {
		struct eudebug_watched *watched = &debug->watched[i];

		if (now_ns - watched->since_ns > SOON_NS &&
		    now_ns - watched->looked_ns < LOOK_LATER_NS)
			continue;
		if (!look_at(debug, watched, now_ns))
			forget(debug, i);
	}
}

/* ---- stops ----------------------------------------------------------------------------------- */

static const struct metric metrics[] = {
	{"gpu.eu.threads", "events",
	 "GPU threads of one process; duet stops them briefly to count them (intel:debug-stop)",
	 NULL, METRIC_LEVEL},
};

const struct source eudebug_source = {
	.name = "eu_debug",
	.file = "EU debug",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.own_hz = 1000000000 / EUDEBUG_STOP_EVERY_NS,
};

static uint32_t describe_series(const struct eudebug *debug,
				const struct eudebug_debuggee *debuggee, uint64_t now_ns)
{
	struct recording *recording = debug->recording;
	const struct event_series row = {
		.id = ++recording->last_series,
		.metric_string = recording_string(recording, metrics[0].name),
		.unit_string = recording_string(recording, metrics[0].unit),
		.source_string = recording_string(recording, eudebug_source.file),
		.type = SERIES_LEVEL,
		.host = recording->host,
		.device = debug->gpus[debuggee->gpu].device,
		.begin_ns = now_ns};

	recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_SERIES, &row);
	return row.id;
}

static void take_stop(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	const struct eudebug_debuggee *debuggee = eudebug_debuggee_of(debug, link_event->link);
	struct eudebug_gpu *gpu = debuggee ? &debug->gpus[debuggee->gpu] : NULL;
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	struct event_counter row = {.begin = link_event->time_ns - link_event->begin,
				    .end = link_event->time_ns,
				    .value = (int64_t)link_event->size};

	if (!gpu)
		return;
	if (!gpu->threads_series)
		gpu->threads_series = describe_series(debug, debuggee, row.begin);
	row.series = gpu->threads_series;
	source.source = row.series;
	trace_writer_row(debug->recording->writer, EVENT_COUNTER, &source, &row);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void end_link(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	struct eudebug_debuggee *debuggee = eudebug_debuggee_of(debug, link_event->link);
	char text[300];

	eudebug_end_code(debug, link_event);
	if (!debuggee)
		return;
	debuggee->link = 0;
	/* the process has ended */
	if (link_event->error == ENOTCONN || link_event->error == ENODEV)
		return;
	snprintf(text, sizeof(text), "intel:debug: GPU %s stopped reporting process %u: %s",
		 debug->gpus[debuggee->gpu].node.address, debuggee->process->row.pid,
		 strerror(link_event->error));
	put_note(debug, COLLECTOR_PARTIAL, text);
}

static void on_link_event(void *context, const struct eudebug_link_event *link_event)
{
	struct eudebug *debug = context;

	switch (link_event->kind) {
	case EUDEBUG_LINK_BINARY:
		eudebug_take_binary(debug, link_event);
		free(link_event->bytes);
		return;
	case EUDEBUG_LINK_BINARY_END:
		eudebug_end_binary(debug, link_event);
		return;
	case EUDEBUG_LINK_BOUND:
		eudebug_take_bound(debug, link_event);
		return;
	case EUDEBUG_LINK_SPACE_END:
		eudebug_end_places(debug, link_event);
		return;
	case EUDEBUG_LINK_PLACED:
		eudebug_take_placed(debug, link_event);
		return;
	case EUDEBUG_LINK_STOPPED:
		take_stop(debug, link_event);
		return;
	case EUDEBUG_LINK_CLOSED:
		end_link(debug, link_event);
		return;
	}
}

void eudebug_drain(struct eudebug *debug)
{
	look_for_processes(debug);
	eudebug_links_take(debug->links, on_link_event, debug);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void add_gpu(struct eudebug *debug, int minor)
{
	struct eudebug_gpu *gpu = &debug->gpus[debug->gpus_count];
	char name[100];
	struct device_facts facts = {.name = name, .vendor = "Intel"};

	if (debug->gpus_count == MAX_EUDEBUG_GPUS || !gpu_node_open(minor, &gpu->node))
		return;
	facts.address = gpu->node.address;
	facts.driver = gpu->node.driver;
	snprintf(name, sizeof(name), "Intel GPU %s", gpu->node.address);
	gpu->device = devices_meet(debug->recording, &facts);
	debug->gpus_count++;
}

static int check_options(const struct eudebug *debug)
{
	const uint32_t pid = debug->options.pid;
	char path[40];

	if (!debug->gpus_count)
		return error_set(-ENODEV, "intel:debug: there is no GPU of Intel's drivers xe "
					  "and i915 that this user may open");
	if (!debug->options.stops)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (pid && access(path, F_OK))
		return error_set(-EINVAL, "intel:debug-stop=%u: there is no such process", pid);
	if (!pid && !debug->recording->command)
		return error_set(-EINVAL, "intel:debug-stop=0 stops the program that duet starts, "
					  "but none was given; give the pid of a running process");
	return 0;
}

int eudebug_open(struct recording *recording, const struct eudebug_options *options,
		 struct eudebug **ret_debug)
{
	struct eudebug *debug = calloc(1, sizeof(*debug));
	int error;

	if (!debug)
		return error_set(-ENOMEM, "intel:debug: out of memory");
	debug->recording = recording;
	debug->options = *options;
	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++)
		add_gpu(debug, minor);
	error = check_options(debug);
	if (!error)
		error = eudebug_links_open(&debug->links);
	if (error) {
		eudebug_close(debug);
		return error;
	}
	if (options->stops && options->pid)
		watch(debug, (pid_t)options->pid, false);
	*ret_debug = debug;
	return 0;
}

static void note_counts(const struct eudebug *debug)
{
	struct eudebug_counts counts;
	char text[600];
	int length;

	eudebug_links_counted(debug->links, &counts);
	length = snprintf(text, sizeof(text),
			  "intel:debug: %zu processes, %" PRIu64 " events of which %" PRIu64
			  " were waited for, %" PRIu64 " kernels",
			  debug->debuggees_count, counts.events, counts.acknowledged,
			  debug->kernels);
	if (debug->reported)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "; %" PRIu64
				   " places left out, because their runtime reports them too",
				   debug->reported);
	if (debug->placeless)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "; %" PRIu64 " unbinds without a known place", debug->placeless);
	if (debug->unplaced || debug->left_out || counts.lost || counts.broken)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "; %" PRIu64 " places without a known kernel, %" PRIu64
				   " lost, %" PRIu64 " not understood",
				   debug->unplaced, debug->left_out + counts.lost, counts.broken);
	if (debug->options.stops)
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "; threads stopped %" PRIu64
			 " times, for %.1f ms at most and %.1f ms in all",
			 counts.stops, (double)counts.stopped_max_ns / 1e6,
			 (double)counts.stopped_ns / 1e6);
	put_note(debug,
		 counts.lost || counts.broken || debug->left_out ? COLLECTOR_PARTIAL
								 : COLLECTOR_AVAILABLE,
		 text);
}

void eudebug_close(struct eudebug *debug)
{
	if (!debug)
		return;
	if (debug->links) {
		eudebug_links_stop(debug->links);
		eudebug_links_take(debug->links, on_link_event, debug);
		note_counts(debug);
	}
	eudebug_links_close(debug->links);
	for (size_t i = 0; i < debug->binaries_count; i++)
		free(debug->binaries[i].kernels);
	for (size_t i = 0; i < debug->debuggees_count; i++)
		process_put(debug->debuggees[i].process);
	for (size_t i = 0; i < debug->gpus_count; i++)
		gpu_node_close(&debug->gpus[i].node);
	free(debug->binaries);
	free(debug->debuggees);
	free(debug->watched);
	free(debug->places);
	free(debug);
}
