/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eudebug.c - code objects of processes, as a debugger of their GPU programs is told them
 *
 * Runs in:  the recorder's main thread
 * Gets:     what connections tell (eudebug_links.c)   Gives: code objects with their bytes, kernels with their places; how
 *           many threads stood still
 * Owns:     render nodes, connections, kernels of each binary
 * Fails:    a process that cannot be connected to is noted with the reason, once for each reason and GPU
 * Why processes are looked for: a connection is to a process and a GPU, and the driver tells all that a process has already:
 *           it is enough to see soon that it has opened the GPU. Each 100 ms, by the links in its /proc/PID/fd, and after ten
 *           seconds each second.
 */
#include "collect/intel/eudebug.h"

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
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/intel/eudebug_links.h"
#include "collect/processes.h"
#include "collect/source.h"
#include "symbol/zebin.h"

enum {
	GPUS_MOST = 32,
	DRM_MAJOR = 226,
	MINORS_MOST = 1 << 20,
	FILES_MOST = 4096,
	PLACES_MOST = 1 << 20,
	REASONS = 8
};
#define LOOK_NS       UINT64_C(100000000)
#define LOOK_LATER_NS UINT64_C(1000000000)
#define SOON_NS       UINT64_C(10000000000)
#define AGAIN_NS      UINT64_C(1000000000)

/* A process and a GPU, from the attempt to connect on. */
struct debuggee {
	pid_t pid;
	size_t gpu;
	uint32_t link;           /* 0: there is none */
	uint64_t again_ns;       /* 0: … and it is not tried again */
	struct process *process; /* a reference */
	struct processes *table;
};

/* A process that is looked at. */
struct watched {
	pid_t pid;
	uint64_t since_ns, looked_ns;
	bool is_program;
};

struct kernel {
	uint32_t name_string;
	uint64_t address, size;
};

struct binary {
	uint32_t link, code;
	uint64_t client, number;
	struct kernel *kernels; /* owned */
	size_t count;
};

/* Of a binary, or of a kernel in it. */
struct place {
	uint32_t link, code; /* 0: its binary is not known yet */
	uint64_t client, space, binary;
	uint64_t begin, size, time_ns;
};

struct eudebug {
	struct recording *recording; /* borrowed */
	struct eudebug_options options;
	struct eudebug_links *links; /* owned */
	struct gpu {
		struct gpu_node node;
		uint32_t device;
		int refused[REASONS]; /* errors that were noted */
		uint32_t threads_series;
	} gpus[GPUS_MOST];
	size_t gpus_count;
	struct debuggee *debuggees; /* owned, as are all lists */
	size_t debuggees_count, debuggees_capacity;
	struct watched *watched;
	size_t watched_count, watched_capacity;
	struct binary *binaries;
	size_t binaries_count, binaries_capacity;
	struct place *places;
	size_t places_count, places_capacity;
	uint64_t looked_ns;
	uint64_t kernels, told, unplaced, left_out;
	uint64_t placeless; /* unbound: nobody says where */
	bool is_program_met;
};

/* ---- notes ------------------------------------------------------------------------------------- */

static void note(const struct eudebug *debug, uint32_t state, const char *text)
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
			 "GPU %s: process %d is another user's, or shuts debuggers out: record it "
			 "as its user or as root",
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
			 "/sys/class/drm/renderD%d/device/%s' switches it on, where the GPU has it",
			 address, node->minor, driver_of(node)->folder_file);
		break;
	case EBUSY:
		snprintf(text, size,
			 "GPU %s: a debugger is attached to process %d already: there can be one "
			 "at a "
			 "time",
			 address, pid);
		break;
	case ENOSPC:
		snprintf(text, size,
			 "GPU %s: process %d is one too many: %d are debugged at a time", address,
			 pid, EUDEBUG_LINKS_MOST);
		break;
	default:
		snprintf(text, size, "GPU %s: its driver refuses to have process %d debugged: %s",
			 address, pid, strerror(error));
	}
}

static void note_refused(struct eudebug *debug, struct gpu *gpu, pid_t pid, int error)
{
	char text[700], reason[600];

	/* it has ended */
	if (error == ENOENT || error == ESRCH)
		return;
	for (size_t i = 0; i < REASONS; i++) {
		if (gpu->refused[i] == error)
			return;
		if (gpu->refused[i])
			continue;
		gpu->refused[i] = error;
		eudebug_explain(&gpu->node, pid, error, reason, sizeof(reason));
		snprintf(text, sizeof(text), "code objects by debugging: %s", reason);
		note(debug, COLLECTOR_PARTIAL, text);
		return;
	}
}

/* ---- processes --------------------------------------------------------------------------------- */

static struct debuggee *find_debuggee(const struct eudebug *debug, pid_t pid, size_t gpu)
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

static bool is_stopped(const struct eudebug *debug, const struct watched *watched)
{
	if (!debug->options.stops)
		return false;
	return debug->options.pid ? watched->pid == (pid_t)debug->options.pid : watched->is_program;
}

/* What may be over soon: somebody else's debugger goes, or one of ours. */
static bool is_passing(int error)
{
	return error == EBUSY || error == ENOSPC || error == EAGAIN || error == EINTR ||
	       error == ENOMEM;
}

static void connect_to(struct eudebug *debug, const struct watched *watched,
		       struct debuggee *debuggee, uint64_t now_ns)
{
	struct gpu *gpu = &debug->gpus[debuggee->gpu];
	const int link = eudebug_links_connect(debug->links, &gpu->node, watched->pid,
					       is_stopped(debug, watched));

	if (link < 0)
		note_refused(debug, gpu, watched->pid, -link);
	debuggee->link = link > 0 ? (uint32_t)link : 0;
	debuggee->again_ns = is_passing(-link) ? now_ns + AGAIN_NS : 0;
}

/* It has the GPU open. */
static void meet(struct eudebug *debug, const struct watched *watched, size_t gpu, uint64_t now_ns)
{
	struct debuggee *known = find_debuggee(debug, watched->pid, gpu);
	struct debuggee debuggee = {.pid = watched->pid, .gpu = gpu};
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

/* Of a GPU's node, by its name; -1: it is none. To ask the file itself is to wait for whoever answers for it: a server of files
 * that is gone. */
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
		return *end == '\0' && minor <= MINORS_MOST ? (int)minor : -1;
	}
	return -1;
}

/* GPUs by the device that a file is of, as /sys names it; GPUS_MOST: it is none of them. */
static size_t gpu_of_file(const struct eudebug *debug, int folder, const char *name)
{
	char path[80], target[512];
	ssize_t length = readlinkat(folder, name, target, sizeof(target) - 1);
	int minor;

	target[length > 0 ? length : 0] = '\0';
	minor = minor_of(target);
	if (minor < 0)
		return GPUS_MOST;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%d/device", DRM_MAJOR, minor);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return GPUS_MOST;
	target[length] = '\0';
	for (size_t i = 0; i < debug->gpus_count; i++)
		if (strcmp(basename(target), debug->gpus[i].node.address) == 0)
			return i;
	return GPUS_MOST;
}

static bool read_files(struct eudebug *debug, const struct watched *watched, uint64_t now_ns)
{
	const struct dirent *entry;
	char path[64];
	size_t gpu;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", watched->pid);
	folder = opendir(path);
	if (!folder)
		return errno != ENOENT;
	for (int i = 0; i < FILES_MOST && (entry = readdir(folder)) != NULL; i++) {
		gpu = gpu_of_file(debug, dirfd(folder), entry->d_name);
		if (gpu < GPUS_MOST)
			meet(debug, watched, gpu, now_ns);
	}
	closedir(folder);
	return true;
}

/* What it takes is up to the program. False: it is not there any more, or not ours to look at. */
static bool look_at(struct eudebug *debug, struct watched *watched, uint64_t now_ns)
{
	struct process *process = known_process(debug, watched->pid);
	bool is_there;

	if (process && !look_time_is_due(&process->looks, now_ns))
		return true;
	watched->looked_ns = now_ns;
	is_there = read_files(debug, watched, now_ns);
	if (process)
		look_time_spend(&process->looks, now_ns, host_clocks_now_ns());
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
	debug->watched[debug->watched_count++] = (struct watched){
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

/* A number of a process that has ended is another's later. */
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
		struct watched *watched = &debug->watched[i];

		if (now_ns - watched->since_ns > SOON_NS &&
		    now_ns - watched->looked_ns < LOOK_LATER_NS)
			continue;
		if (!look_at(debug, watched, now_ns))
			forget(debug, i);
	}
}

/* ---- code -------------------------------------------------------------------------------------- */

static struct debuggee *debuggee_of(const struct eudebug *debug, uint32_t link)
{
	for (size_t i = 0; i < debug->debuggees_count; i++)
		if (debug->debuggees[i].link == link)
			return &debug->debuggees[i];
	return NULL;
}

static struct binary *find_binary(const struct eudebug *debug, uint32_t link, uint64_t client,
				  uint64_t number)
{
	for (size_t i = debug->binaries_count; i-- > 0;) {
		struct binary *binary = &debug->binaries[i];

		if (binary->link == link && binary->client == client && binary->number == number)
			return binary;
	}
	return NULL;
}

static uint32_t describe_binary(struct eudebug *debug, const struct debuggee *debuggee,
				const struct eudebug_told *told)
{
	struct recording *recording = debug->recording;
	struct event_code row = {.id = ++recording->last_code,
				 .process = process_describe(debuggee->table, debuggee->process),
				 .type = CODE_BINARY,
				 .device = debug->gpus[debuggee->gpu].device,
				 .size_bytes = told->size,
				 .begin_ns = told->time_ns};

	/* the writer counts what it cannot write */
	if (trace_writer_content(recording->writer, told->bytes, told->size, &row.hash_low,
				 &row.hash_high) < 0)
		row.hash_low = row.hash_high = 0;
	recording->kept_bytes += THING_BYTES + CONTENT_BYTES;
	trace_writer_thing(recording->writer, EVENT_CODE, &row);
	return row.id;
}

static void describe_kernel(struct eudebug *debug, const struct debuggee *debuggee,
			    const struct binary *binary, const struct kernel *kernel,
			    const struct place *place)
{
	struct recording *recording = debug->recording;
	struct place own = *place;
	struct event_code row = {.process = debuggee->process->row.id,
				 .parent = binary->code,
				 .type = CODE_KERNEL,
				 .name_string = kernel->name_string,
				 .device = debug->gpus[debuggee->gpu].device,
				 .size_bytes = kernel->size,
				 .begin_ns = place->time_ns,
				 .address = kernel->address ? kernel->address : place->begin};

	if (debug->places_count == PLACES_MOST ||
	    array_grow(debug->places, debug->places_capacity, debug->places_count + 1)) {
		debug->left_out++;
		return;
	}
	row.id = own.code = ++recording->last_code;
	recording->kept_bytes += THING_BYTES;
	trace_writer_thing(recording->writer, EVENT_CODE, &row);
	debug->places[debug->places_count++] = own;
	debug->kernels++;
}

/* Those that lie there. What nobody has linked is known only where it is alone. */
static void place_kernels(struct eudebug *debug, const struct binary *binary,
			  const struct place *place)
{
	const struct debuggee *debuggee = debuggee_of(debug, place->link);
	uint64_t before = debug->kernels;

	if (!debuggee || !binary->code)
		return;
	if (devices_has_user(debug->recording, debug->gpus[debuggee->gpu].device,
			     debuggee->process->row.id)) {
		debug->told++;
		return;
	}
	for (size_t i = 0; i < binary->count; i++) {
		const struct kernel *kernel = &binary->kernels[i];
		const bool is_there = kernel->address
					      ? kernel->address >= place->begin &&
							kernel->address - place->begin < place->size
					      : binary->count == 1;

		if (is_there)
			describe_kernel(debug, debuggee, binary, kernel, place);
	}
	debug->unplaced += debug->kernels == before;
}

static int read_kernels(struct eudebug *debug, const struct eudebug_told *told,
			struct binary *binary)
{
	const struct zebin_kernel *kernels;
	struct zebin *zebin;
	int error = zebin_open(told->bytes, told->size, &zebin);

	if (error)
		return error;
	binary->count = zebin_kernels(zebin, &kernels);
	binary->kernels = calloc(binary->count + 1, sizeof(*binary->kernels));
	for (size_t i = 0; binary->kernels && i < binary->count; i++)
		binary->kernels[i] = (struct kernel){
			.name_string = recording_string(debug->recording, kernels[i].name),
			.address = kernels[i].address,
			.size = kernels[i].size_bytes};
	zebin_close(zebin);
	return binary->kernels ? 0 : -ENOMEM;
}

static void take_binary(struct eudebug *debug, const struct eudebug_told *told)
{
	const struct debuggee *debuggee = debuggee_of(debug, told->link);
	struct binary binary = {.link = told->link, .client = told->client, .number = told->binary};

	/* i915 has other things of the same kind, and a runtime may have code in a form of its own */
	if (!debuggee || !zebin_is(told->bytes, told->size) ||
	    array_grow(debug->binaries, debug->binaries_capacity, debug->binaries_count + 1))
		return;
	if (read_kernels(debug, told, &binary)) {
		error_clear();
		debug->left_out++;
		return;
	}
	binary.code = describe_binary(debug, debuggee, told);
	debug->binaries[debug->binaries_count++] = binary;
	/* what was placed before it could be read */
	for (size_t i = debug->places_count; i-- > 0;) {
		const struct place place = debug->places[i];

		if (place.code || place.link != told->link || place.client != told->client ||
		    place.binary != told->binary)
			continue;
		debug->places[i] = debug->places[--debug->places_count];
		place_kernels(debug, &binary, &place);
	}
}

/* The last one takes its place. */
static void end_place(struct eudebug *debug, size_t index, uint64_t time_ns)
{
	if (debug->places[index].code)
		trace_writer_end_thing(debug->recording->writer, EVENT_CODE,
				       debug->places[index].code, time_ns);
	debug->places[index] = debug->places[--debug->places_count];
}

/* Of an address space: what overlaps, or all of it. */
static void end_places(struct eudebug *debug, const struct eudebug_told *told)
{
	const bool is_all = told->kind == EUDEBUG_TOLD_SPACE_END;

	for (size_t i = debug->places_count; i-- > 0;) {
		const struct place *place = &debug->places[i];

		if (place->link == told->link && place->client == told->client &&
		    place->space == told->space &&
		    (is_all || (place->begin < told->begin + told->size &&
				told->begin < place->begin + place->size)))
			end_place(debug, i, told->time_ns);
	}
}

/* What all of a buffer is unbound by has neither place nor size: it may lie anywhere. Code that lay there goes on until other
 * code comes to its place. */
static void take_bound(struct eudebug *debug, const struct eudebug_told *told)
{
	if (told->size)
		end_places(debug, told);
	else
		debug->placeless++;
}

static void take_placed(struct eudebug *debug, const struct eudebug_told *told)
{
	const struct binary *binary = find_binary(debug, told->link, told->client, told->binary);
	const struct place place = {.link = told->link,
				    .client = told->client,
				    .space = told->space,
				    .binary = told->binary,
				    .begin = told->begin,
				    .size = told->size,
				    .time_ns = told->time_ns};

	if (binary) {
		place_kernels(debug, binary, &place);
		return;
	}
	if (debug->places_count < PLACES_MOST &&
	    !array_grow(debug->places, debug->places_capacity, debug->places_count + 1))
		debug->places[debug->places_count++] = place;
	else
		debug->left_out++;
}

static void free_binary(struct eudebug *debug, struct binary *binary)
{
	free(binary->kernels);
	*binary = debug->binaries[--debug->binaries_count];
}

static void end_binary(struct eudebug *debug, const struct eudebug_told *told)
{
	struct binary *binary = find_binary(debug, told->link, told->client, told->binary);

	if (!binary)
		return;
	/* its kernels lie where they are until they are unbound */
	trace_writer_end_thing(debug->recording->writer, EVENT_CODE, binary->code, told->time_ns);
	free_binary(debug, binary);
}

/* ---- stops ------------------------------------------------------------------------------------- */

static const struct metric metrics[] = {
	{"gpu.eu.threads", "events",
	 "threads that a process has on the GPU, which are stopped to be counted "
	 "(intel:debug-stop)",
	 NULL, METRIC_LEVEL},
};

const struct source eudebug_source = {
	.name = "eu_debug",
	.file = "EU debug",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.own_hz = 1000000000 / EUDEBUG_STOP_EVERY_NS,
};

static uint32_t describe_series(const struct eudebug *debug, const struct debuggee *debuggee,
				uint64_t now_ns)
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

	recording->kept_bytes += THING_BYTES;
	trace_writer_thing(recording->writer, EVENT_SERIES, &row);
	return row.id;
}

static void take_stop(struct eudebug *debug, const struct eudebug_told *told)
{
	const struct debuggee *debuggee = debuggee_of(debug, told->link);
	struct gpu *gpu = debuggee ? &debug->gpus[debuggee->gpu] : NULL;
	struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	struct event_counter row = {.begin = told->time_ns - told->begin,
				    .end = told->time_ns,
				    .value = (int64_t)told->size};

	if (!gpu)
		return;
	if (!gpu->threads_series)
		gpu->threads_series = describe_series(debug, debuggee, row.begin);
	row.series = gpu->threads_series;
	source.source = row.series;
	trace_writer_row(debug->recording->writer, EVENT_COUNTER, &source, &row);
}

/* ---- ends -------------------------------------------------------------------------------------- */

static void end_link(struct eudebug *debug, const struct eudebug_told *told)
{
	struct debuggee *debuggee = debuggee_of(debug, told->link);
	char text[300];

	for (size_t i = debug->places_count; i-- > 0;)
		if (debug->places[i].link == told->link)
			end_place(debug, i, told->time_ns);
	for (size_t i = debug->binaries_count; i-- > 0;)
		if (debug->binaries[i].link == told->link)
			free_binary(debug, &debug->binaries[i]);
	if (!debuggee)
		return;
	debuggee->link = 0;
	/* its process has ended */
	if (told->error == ENOTCONN || told->error == ENODEV)
		return;
	snprintf(text, sizeof(text),
		 "code objects by debugging: GPU %s tells no more of process %u: %s",
		 debug->gpus[debuggee->gpu].node.address, debuggee->process->row.pid,
		 strerror(told->error));
	note(debug, COLLECTOR_PARTIAL, text);
}

static void on_told(void *context, const struct eudebug_told *told)
{
	struct eudebug *debug = context;

	switch (told->kind) {
	case EUDEBUG_TOLD_BINARY:
		take_binary(debug, told);
		free(told->bytes);
		return;
	case EUDEBUG_TOLD_BINARY_END:
		end_binary(debug, told);
		return;
	case EUDEBUG_TOLD_BOUND:
		take_bound(debug, told);
		return;
	case EUDEBUG_TOLD_SPACE_END:
		end_places(debug, told);
		return;
	case EUDEBUG_TOLD_PLACED:
		take_placed(debug, told);
		return;
	case EUDEBUG_TOLD_STOPPED:
		take_stop(debug, told);
		return;
	case EUDEBUG_TOLD_CLOSED:
		end_link(debug, told);
		return;
	}
}

void eudebug_drain(struct eudebug *debug)
{
	look_for_processes(debug);
	eudebug_links_take(debug->links, on_told, debug);
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static void add_gpu(struct eudebug *debug, int minor)
{
	struct gpu *gpu = &debug->gpus[debug->gpus_count];
	char name[100];
	struct device_facts facts = {.name = name, .vendor = "Intel"};

	if (debug->gpus_count == GPUS_MOST || !gpu_node_open(minor, &gpu->node))
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
		return error_set(-ENODEV, "code objects by debugging: no GPU of Intel's drivers xe "
					  "and i915 that this user may open");
	if (!debug->options.stops)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (pid && access(path, F_OK))
		return error_set(-EINVAL, "intel:debug-stop=%u: there is no such process", pid);
	if (!pid && !debug->recording->command)
		return error_set(-EINVAL, "intel:debug-stop=0 stops the program that duet starts, "
					  "and none is: name a process that runs");
	return 0;
}

int eudebug_open(struct recording *recording, const struct eudebug_options *options,
		 struct eudebug **ret_debug)
{
	struct eudebug *debug = calloc(1, sizeof(*debug));
	int error;

	if (!debug)
		return error_set(-ENOMEM, "code objects by debugging: out of memory");
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
			  "code objects by debugging: %zu processes, %" PRIu64 " events of which "
			  "%" PRIu64 " were waited for, %" PRIu64 " kernels",
			  debug->debuggees_count, counts.events, counts.acknowledged,
			  debug->kernels);
	if (debug->told)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "; %" PRIu64 " places left out: their runtime tells of the same",
				   debug->told);
	if (debug->placeless)
		length +=
			snprintf(text + length, sizeof(text) - (size_t)length,
				 "; %" PRIu64 " times something was unbound of which no place was "
				 "told",
				 debug->placeless);
	if (debug->unplaced || debug->left_out || counts.lost || counts.broken)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "; %" PRIu64 " places with no kernel that is known, %" PRIu64
				   " lost, %" PRIu64 " not understood",
				   debug->unplaced, debug->left_out + counts.lost, counts.broken);
	if (debug->options.stops)
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "; threads stopped %" PRIu64
			 " times, for %.1f ms at most and %.1f ms in all",
			 counts.stops, (double)counts.stopped_most_ns / 1e6,
			 (double)counts.stopped_ns / 1e6);
	note(debug,
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
		eudebug_links_take(debug->links, on_told, debug);
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
