/* SPDX-License-Identifier: MIT
 *
 * collect/injected.c - the shared memory of one process and what comes out of it
 *
 * Runs in:  the recorder
 * Gets:     a pid that said hello   Gives: rows, things and losses in the trace
 * Owns:     the region's mapping, the maps of ids, a pidfd
 * Fails:    opening with -errno where even the smallest region is refused; later nothing can fail but the
 *           writer, which counts
 * Why:      the recorder makes the memory: a memfd made by the guest kills a program under `ulimit -f`
 *           (SIGXFSZ) and fails under `ulimit -v`. It is sealed, so a program cannot shrink it under the
 *           recorder's feet (SIGBUS). At the end of a recording its data are given back: the program keeps
 *           its mapping, and each recording would cost it 8 MiB a thread for the rest of its life.
 */
#include "collect/injected.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/decode.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/processes.h"
#include "collect/robust_region.h"
#include "collect/time_namespace.h"

/* Sparse: what is never written costs no memory. 8 MiB last 5 ms of calls without a pause. */
static const struct {
	uint32_t count, bytes;
} region_sizes[] = {{128, 16 << 20}, {128, 8 << 20}, {64, 1 << 20},
		    {16, 256 << 10}, {4, 64 << 10},  {1, 64 << 10}};

enum { REGION_SIZES = sizeof(region_sizes) / sizeof(region_sizes[0]), USUAL_BYTES = 8 << 20 };

/* Between two looks at the clock: up to 1 ms of the dearest records. */
enum { PIECE_BYTES = 64 << 10 };

static int make_region(size_t bytes, struct ring_region **ret_region, int *ret_fd)
{
	int fd = memfd_create("duet-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;
	struct ring_region *region;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto fail;
	region = robust_region_map(fd, bytes);
	if (!region)
		goto fail;
	*ret_region = region;
	*ret_fd = fd;
	return 0;
fail:
	error = -errno;
	close(fd);
	return error;
}

/* In the process's own CLOCK_MONOTONIC, which it compares it with. */
static void put_beat(const struct injected *injected, uint64_t now_ns)
{
	atomic_store_explicit(&injected->region->beat_ns, now_ns + (uint64_t)injected->shift_ns,
			      memory_order_relaxed);
}

/* Times in rings are those of the TSC, which no namespace shifts, or else of a clock that must not be shifted. */
static int check_clock(const struct injected *injected)
{
	if (!injected->shift_ns || injected->recording->tsc)
		return 0;
	return error_set(-ENOTSUP,
			 "process %d: its time namespace shifts CLOCK_MONOTONIC, and this machine "
			 "has no TSC to use instead; start it without a time namespace",
			 (int)injected->pid);
}

static int map_region(struct injected *injected, uint32_t options, int *ret_fd)
{
	struct stat about;
	int error = 0;

	for (int i = 0; i < REGION_SIZES; i++) {
		size_t bytes = ring_region_bytes(region_sizes[i].count, region_sizes[i].bytes);

		if (region_sizes[i].bytes > injected->ring_most)
			continue;
		error = make_region(bytes, &injected->region, ret_fd);
		if (error)
			continue;
		injected->region_bytes = bytes;
		injected->region_inode = fstat(*ret_fd, &about) == 0 ? about.st_ino : 0;
		injected->ring_count = region_sizes[i].count;
		injected->ring_bytes = region_sizes[i].bytes;
		injected->region->version = RING_VERSION;
		injected->region->ring_count = injected->ring_count;
		injected->region->ring_bytes = injected->ring_bytes;
		injected->region->clock =
			injected->recording->tsc ? RING_CLOCK_TSC : RING_CLOCK_MONOTONIC;
		injected->region->options = options;
		injected->wants_times = options & RING_OPTION_DEVICE_TIME;
		memcpy(injected->region->numbers, injected->numbers, sizeof(injected->numbers));
		put_beat(injected, host_clocks_now_ns());
		robust_region_own(injected->region);
		injected->region->magic = RING_MAGIC;
		return 0;
	}
	return error_set(error, "shared memory for process %d: %s", (int)injected->pid,
			 strerror(-error));
}

/* /proc knows processes by number only: what it says is believed when the process still lives afterwards. */
static int read_identity(struct injected *injected, struct proc_info *info)
{
	bool known = proc_read((uint32_t)injected->pid, info) == 0;

	if (!proc_is_alive(injected->pid_fd, (uint32_t)injected->pid))
		return error_set(-ESRCH, "process %d has ended", (int)injected->pid);
	if (!known) /* /proc may be hidden (hidepid) or not mounted */
		*info = (struct proc_info){0};
	return 0;
}

static void describe_process(struct injected *injected, const struct injected_peer *peer,
			     const struct proc_info *info)
{
	struct recording *recording = injected->recording;
	struct injected_process *process = injected->process;
	uint64_t kept_bytes = recording->kept_bytes;

	process->row = (struct event_process){
		.host = recording->host,
		.pid = (uint32_t)injected->pid,
		/* The guest's own word is not believed where the kernel's is to be had. */
		.ns_pid = info->ns_pid ? info->ns_pid : peer->ns_pid,
		.parent_pid = info->parent_pid,
		.uid = peer->uid,
		.name_string = recording_string(recording, info->name),
		.exe_string = recording_string(recording, info->exe),
		.command_string = recording_string(recording, info->command),
		.cgroup_string = recording_string(recording, info->cgroup),
		.status = -1,
		.rank = info->rank.rank,
		.local_rank = info->rank.local_rank,
		.rank_count = info->rank.count,
		.start_ticks = info->start_ticks,
		.begin_ns = host_clocks_now_ns(),
	};
	process_adopt(recording->processes, injected->process->row.pid, &injected->process->row);
	injected->kept_bytes += recording->kept_bytes - kept_bytes;
	injected->held_bytes += THING_BYTES;
	trace_writer_thing(recording->writer, EVENT_PROCESS, &injected->process->row);
}

/* Its own, or its sibling's: what a guest knows of its process another has said already. */
static struct injected_process *get_process(struct injected *sibling)
{
	struct injected_process *process = sibling ? sibling->process : calloc(1, sizeof(*process));

	if (process)
		process->references++;
	return process;
}

static void put_process(struct injected_process *process)
{
	if (process && --process->references == 0)
		free(process);
}

/* Once nothing else can fail: a process without a reference was never described. */
static int join_process(struct injected *injected, const struct injected_peer *peer,
			const struct proc_info *info)
{
	injected->process = get_process(peer->sibling);
	if (!injected->process)
		return error_set(-ENOMEM, "process %d: out of memory", (int)peer->pid);
	injected->attachment = injected->process->attachments++;
	injected->exe = strdup(info->exe);
	snprintf(injected->name, sizeof(injected->name), "%s", info->name);
	injected->held_bytes += injected->ring_count * sizeof(*injected->rings);
	if (!peer->sibling)
		describe_process(injected, peer, info);
	return 0;
}

static int make_rings(struct injected *injected, uint32_t options, int *ret_fd)
{
	int error = check_clock(injected);

	if (!error)
		error = map_region(injected, options, ret_fd);
	if (error)
		return error;
	injected->rings = calloc(injected->ring_count, sizeof(*injected->rings));
	if (!injected->rings) {
		robust_region_unmap(injected->region, injected->region_bytes);
		injected->region = NULL;
		close(*ret_fd);
		return error_set(-ENOMEM, "process %d: out of memory", (int)injected->pid);
	}
	for (uint32_t i = 0; i < injected->ring_count; i++)
		ring_reader_init(&injected->rings[i].reader, injected->region, injected->ring_bytes,
				 i);
	return 0;
}

enum { IMAGES_LOOKUPS = 16 }; /* what a reading of the mappings costs, in other files of /proc */

static void look_at_images(struct injected *injected)
{
	const struct images_process process = {injected->process->row.pid, injected->pid_fd,
					       injected->exe ? injected->exe : "",
					       &injected->looks};

	if (injected->recording->lookups < IMAGES_LOOKUPS)
		return;
	injected->recording->lookups -= IMAGES_LOOKUPS;
	images_begin(&injected->images, &process);
}

int injected_open(struct recording *recording, const struct injected_peer *peer, uint32_t options,
		  struct injected **ret_injected, int *ret_fd)
{
	struct injected *injected = calloc(1, sizeof(*injected));
	auto_free struct proc_info *info = calloc(1, sizeof(*info));
	int error;

	if (!injected || !info) {
		free(injected);
		if (peer->pid_fd >= 0)
			close(peer->pid_fd);
		return error_set(-ENOMEM, "process %d: out of memory", (int)peer->pid);
	}
	injected->recording = recording;
	injected->collector = peer->collector;
	injected->explain = peer->explain;
	snprintf(injected->guest, sizeof(injected->guest), "%s", peer->guest);
	injected->pid = peer->pid;
	injected->shift_ns = time_namespace_shift_ns((uint32_t)peer->pid);
	injected->pid_fd = peer->pid_fd;
	injected->ring_most = peer->ring_bytes ? peer->ring_bytes : USUAL_BYTES;
	memcpy(injected->numbers, peer->numbers, sizeof(injected->numbers));
	injected->room_bytes = UINT64_MAX;
	injected->looks = peer->looks;
	identities_init(&injected->codes_known);
	error = read_identity(injected, info);
	if (!error)
		error = make_rings(injected, options, ret_fd);
	if (!error && peer->on_region)
		peer->on_region(peer->context, injected, *ret_fd);
	if (!error)
		error = join_process(injected, peer, info);
	if (error) {
		injected_close(injected);
		return error;
	}
	injected->last_loss_ns = host_clocks_now_ns();
	look_at_images(injected);
	*ret_injected = injected;
	return 0;
}

static bool is_parent(const struct injected *parent, const struct injected *child)
{
	/* A number that was free again is that of a process younger than its children. */
	return parent->process->row.pid == child->process->row.parent_pid &&
	       parent->process->row.start_ticks <= child->process->row.start_ticks;
}

static void set_parent(struct injected *child, const struct injected *parent)
{
	child->process->row.parent = parent->process->row.id;
	trace_writer_thing(child->recording->writer, EVENT_PROCESS, &child->process->row);
}

void injected_relate(struct injected *one, struct injected *other)
{
	if (is_parent(one, other))
		set_parent(other, one);
	else if (is_parent(other, one))
		set_parent(one, other);
}

/* ---- losses ------------------------------------------------------------------------------------ */

static void put_loss(struct injected *injected, uint32_t thread, uint32_t kind, uint32_t reason,
		     uint64_t count, uint64_t now_ns)
{
	/* Nobody loses a record in less than a nanosecond: such a count was scribbled. */
	bool believed = count <= now_ns - injected->last_loss_ns;
	struct trace_source source = {.source = injected->process->row.id,
				      .clock = CLOCK_ID_MONOTONIC};
	struct event_loss row = {
		.begin = injected->last_loss_ns,
		.end = now_ns,
		.process = injected->process->row.id,
		.thread = thread,
		.kind = believed ? kind : EVENT_PADDING,
		.reason = believed ? reason : LOSS_RING_BROKEN,
		.count = believed ? count : 1,
	};

	trace_writer_row(injected->recording->writer, EVENT_LOSS, &source, &row);
}

static void count_kind(struct injected *injected, struct injected_ring *ring, uint32_t kind,
		       uint32_t reason, uint64_t now_ns)
{
	struct ring_control *control = ring->reader.control;
	bool nested = reason == LOSS_NESTED;
	uint64_t count = atomic_load_explicit(
		nested ? &control->nested[kind] : &control->lost[kind], memory_order_relaxed);
	uint64_t *written = nested ? &ring->nested[kind] : &ring->lost[kind];

	/* A count that goes down is a scribbler's. */
	if (count > *written)
		put_loss(injected, ring->thread.id, kind, reason, count - *written, now_ns);
	*written = count;
}

static void count_ring_losses(struct injected *injected, struct injected_ring *ring,
			      uint64_t now_ns)
{
	for (uint32_t kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		count_kind(injected, ring, kind, LOSS_RING_FULL, now_ns);
		count_kind(injected, ring, kind, LOSS_NESTED, now_ns);
	}
	if (ring->reader.broken_times) {
		put_loss(injected, ring->thread.id, EVENT_PADDING, LOSS_RING_BROKEN,
			 ring->reader.broken_times, now_ns);
		ring->reader.broken_times = 0;
	}
}

/* What the recorder itself counted. */
static void put_own_loss(struct injected *injected, uint32_t kind, uint32_t reason, uint64_t *count,
			 uint64_t now_ns)
{
	if (*count)
		put_loss(injected, 0, kind, reason, *count, now_ns);
	*count = 0;
}

/* Since the last time; one that goes down is a scribbler's. */
static uint64_t take_trouble(struct injected *injected, enum ring_trouble trouble)
{
	uint64_t *taken = &injected->trouble[trouble];
	uint64_t count = atomic_load(&injected->region->trouble[trouble]);
	uint64_t more = count > *taken ? count - *taken : 0;

	*taken = count;
	return more;
}

/* As the guest wrote it; "" where that is no version. */
static void take_python(const struct injected *injected, char ret_text[RING_PYTHON_BYTES])
{
	memcpy(ret_text, injected->region->python_unknown, RING_PYTHON_BYTES);
	ret_text[RING_PYTHON_BYTES - 1] = '\0';
	if (ret_text[strspn(ret_text, "0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ ._-")])
		ret_text[0] = '\0';
}

/* What is told of in words when the process is over; in %s its number and name. */
static const struct fact {
	enum ring_trouble trouble;
	bool is_loud; /* the user should know at once */
	/* There are no launch records of them, or nobody knows of how many. */
	enum { LOSES_NOTHING, LOSES_LAUNCHES, LOSES_UNKNOWN } loses;
	const char *one; /* without a count in front; NULL: counted */
	const char *many;
} facts[] = {
	{RING_TROUBLE_SIGNALS, false, LOSES_NOTHING, NULL,
	 "commands have no device times: all signals were under way, or ROCm gave no more"},
	{RING_TROUBLE_MODE, false, LOSES_NOTHING, NULL,
	 "dispatches have no device times: they carry a signal of the program's, and amd:lite "
	 "leaves those alone (amd:default times them)"},
	{RING_TROUBLE_BATCHES, false, LOSES_LAUNCHES, NULL,
	 "dispatches were submitted in batches (graph replay) and are left out: amd:full times "
	 "them"},
	{RING_TROUBLE_NOT_FOLLOWED, false, LOSES_UNKNOWN, NULL,
	 "packets (kernels and barriers) went into queues that are not followed: ROCm 7.0 to 7.2 "
	 "may crash of it (amd:force does it all the same)"},
	{RING_TROUBLE_QUEUE_SPECIAL, false, LOSES_UNKNOWN, NULL,
	 "packets (kernels and barriers) went into queues that are not followed: cooperative "
	 "ones, very small ones, or with a priority or a mask"},
	{RING_TROUBLE_QUEUE_REFUSED, false, LOSES_UNKNOWN, NULL,
	 "packets (kernels and barriers) went into queues that are not followed: ROCm or the "
	 "system refused what that takes, or all signals were under way"},
	{RING_TROUBLE_TOOL_BEHIND, true, LOSES_NOTHING, NULL,
	 "dispatches have no device times: another tool in HSA_TOOLS_LIB comes before duet's guest "
	 "and takes them; name libduet-rocm.so first in HSA_TOOLS_LIB"},
	{RING_TROUBLE_TOOL_BLIND, true, LOSES_NOTHING,
	 "another tool in HSA_TOOLS_LIB does not see the queues of this program: it makes plain "
	 "queues, which cannot be followed; name libduet-rocm.so first in HSA_TOOLS_LIB",
	 NULL},
	{RING_TROUBLE_KERNELS, false, LOSES_NOTHING, NULL,
	 "kernels have no name: how their code was loaded is not known"},
	{RING_TROUBLE_NO_QUEUE, true, LOSES_NOTHING,
	 "kernels were loaded and no queue was seen: this ROCm makes its queues in a way "
	 "that is not known, and no dispatch is recorded",
	 NULL},
	{RING_TROUBLE_LAYOUT, true, LOSES_NOTHING,
	 "the tables of this ROCm runtime are not known: nothing of it is recorded", NULL},
	{RING_TROUBLE_LEVEL_ZERO_VERSION, true, LOSES_NOTHING,
	 "this version of Level Zero's loader is not known, only those that begin with 1: nothing "
	 "of it is recorded",
	 NULL},
	{RING_TROUBLE_HIP_BEFORE, true, LOSES_NOTHING,
	 "calls of HIP are not recorded, only what they dispatch: the guest was not preloaded. A "
	 "wrapper that sets LD_PRELOAD must keep what is in it (LD_PRELOAD=OWN:$LD_PRELOAD)",
	 NULL},
	{RING_TROUBLE_NO_SAMPLES, true, LOSES_NOTHING,
	 "no instructions are sampled: this ROCm (6.2 is needed), its driver or its GPUs offer "
	 "no PC sampling, or another tool has it",
	 NULL},
	{RING_TROUBLE_QUEUES, false, LOSES_NOTHING, NULL,
	 "times a command was in a stream beyond the 65536 that are remembered: those of a GPU are "
	 "shown as one queue"},
	{RING_TROUBLE_CUDA_TIMES, false, LOSES_NOTHING, NULL,
	 "commands have no device times: CUPTI told of times that cannot be (it does after some 25 "
	 "million nodes of graphs)"},
	{RING_TROUBLE_CUDA_GRAPHS, true, LOSES_NOTHING,
	 "nodes of CUDA graphs came faster than may be recorded: from then on each launch of a "
	 "graph is one command (nvidia:graphs records them so from the start, DUET_CUDA_NODES says "
	 "how many a second may be)",
	 NULL},
	{RING_TROUBLE_CUDA_PC_FULL, true, LOSES_NOTHING, NULL,
	 "times the GPU's buffer of instruction samples was full, and what came then is lost: "
	 "sample "
	 "in shorter windows (nvidia:pc=WINDOW/PERIOD, in ms)"},
	{RING_TROUBLE_CUDA_PC_CODE, false, LOSES_NOTHING, NULL,
	 "instruction samples are of code that was not seen when it was loaded: they have no "
	 "place"},
	{RING_TROUBLE_CUDA_PC_RARE, true, LOSES_NOTHING,
	 "instruction samples took more than one hundredth of the time to read: there were fewer "
	 "windows of them than asked for, which changes no share",
	 NULL},
	{RING_TROUBLE_CUDA_PC_OVER, true, LOSES_NOTHING,
	 "instructions are no longer sampled in this process: the GPU's buffer was full again and "
	 "again, or the names that CUPTI gives took too much of the program's memory",
	 NULL},
	{RING_TROUBLE_CUDA_MEMORY, false, LOSES_NOTHING, NULL,
	 "allocations or releases of memory are left out of the counters cuda.memory: more than "
	 "65536 are remembered at no time, or threads of the program's held them up"},
	{RING_TROUBLE_CUDA_PC_CONTEXTS, true, LOSES_NOTHING, NULL,
	 "contexts have no instruction samples: a process has more than 16 of them, or CUPTI was "
	 "busy "
	 "with another one for longer than a program may wait"},
};

static void count_facts(struct injected *injected, uint64_t now_ns)
{
	for (size_t i = 0; i < ARRAY_COUNT(facts); i++) {
		uint64_t count = take_trouble(injected, facts[i].trouble);

		injected->facts[facts[i].trouble] += count;
		if (facts[i].loses != LOSES_NOTHING && count)
			put_loss(injected, 0,
				 facts[i].loses == LOSES_LAUNCHES ? EVENT_LAUNCH : EVENT_PADDING,
				 LOSS_TRACKING, count, now_ns);
	}
}

static void note_fact(const struct injected *injected, const struct fact *fact, uint64_t count)
{
	uint32_t pid = injected->process->row.pid;
	char text[320];

	if (fact->one)
		snprintf(text, sizeof(text), "%u %.64s: %s", pid, injected->name, fact->one);
	else
		snprintf(text, sizeof(text), "%u %.64s: %llu %s", pid, injected->name,
			 (unsigned long long)count, fact->many);
	recording_note(injected->recording, injected->collector, COLLECTOR_PARTIAL,
		       injected->process->row.id, text);
	if (fact->is_loud)
		recording_warn(injected->recording, text);
}

static void note_facts(const struct injected *injected)
{
	for (size_t i = 0; i < ARRAY_COUNT(facts); i++)
		if (injected->facts[facts[i].trouble])
			note_fact(injected, &facts[i], injected->facts[facts[i].trouble]);
}

/* The guest adds the property to queues that are created while it records: the others are older, or the runtime refuses. */
static void note_untimed_queues(const struct injected *injected)
{
	const uint32_t count = injected->untimed_queues;
	const bool from_start = injected->recording->command != NULL;
	char text[400];

	if (!count)
		return;
	snprintf(text, sizeof(text),
		 "the commands of %u %s of process %u (%s) have no device times, because %s. %s",
		 count, count == 1 ? "queue" : "queues", injected->process->row.pid, injected->name,
		 from_start ? "the runtime refuses CL_QUEUE_PROFILING_ENABLE"
			    : "they were created before the recording, without "
			      "CL_QUEUE_PROFILING_ENABLE",
		 from_start ? "Calls and launches are recorded"
			    : "To have times, start the program with DUET_OPENCL_PROFILING=1, or "
			      "record it "
			      "from its start (duet record -- PROGRAM)");
	recording_note(injected->recording, injected->collector, COLLECTOR_PARTIAL,
		       injected->process->row.id, text);
}

/* The guests' own time that has no rows. More of it than there was time was scribbled. */
static void take_own_time(struct injected *injected, uint64_t now_ns)
{
	struct event_process *process = &injected->process->row;
	struct recording *recording = injected->recording;
	uint64_t sections = take_trouble(injected, RING_TROUBLE_SECTIONS);
	uint64_t sections_ns =
		recording_ticks_ns(recording, take_trouble(injected, RING_TROUBLE_SECTIONS_TICKS));
	uint64_t calls = take_trouble(injected, RING_TROUBLE_TIMED_CALLS);
	uint64_t calls_ns =
		recording_ticks_ns(recording, take_trouble(injected, RING_TROUBLE_TIMED_TICKS));
	uint64_t most_ns = (now_ns - injected->last_loss_ns) * injected->rings_seen;

	if ((!sections && !calls) || sections_ns > most_ns || calls_ns > most_ns ||
	    sections > most_ns || calls > most_ns)
		return;
	process->guest_sections += sections;
	process->guest_sections_ns += sections_ns;
	process->guest_timed_calls += calls;
	process->guest_timed_ns += calls_ns;
	trace_writer_thing(recording->writer, EVENT_PROCESS, process);
}

/* What the guest counts beside losses. */
static void take_facts(struct injected *injected, uint64_t now_ns)
{
	struct event_process *process = &injected->process->row;
	uint64_t checked = take_trouble(injected, RING_TROUBLE_STACKS_CHECKED);
	uint64_t wrong = take_trouble(injected, RING_TROUBLE_STACKS_WRONG);
	char text[256], version[RING_PYTHON_BYTES];

	/* Nobody unwinds a stack in less than a nanosecond: what else is counted was scribbled. */
	if (checked <= now_ns - injected->last_loss_ns &&
	    wrong <= checked + process->stacks_checked) {
		process->stacks_checked += checked;
		process->stacks_wrong += wrong;
		if (checked || wrong)
			trace_writer_thing(injected->recording->writer, EVENT_PROCESS, process);
	}
	if (!take_trouble(injected, RING_TROUBLE_PYTHON_UNKNOWN) ||
	    injected->process->is_python_told)
		return;
	injected->process->is_python_told = true;
	take_python(injected, version);
	snprintf(text, sizeof(text),
		 "%u %.64s: this Python's frames are not known%s%s%s; native frames are kept",
		 process->pid, injected->name, version[0] ? " (version " : "", version,
		 version[0] ? ")" : "");
	recording_note(injected->recording, injected->collector, COLLECTOR_PARTIAL, process->id,
		       text);
	recording_warn(injected->recording, text);
}

void injected_count_losses(struct injected *injected, uint64_t now_ns)
{
	const bool is_ranges = strcmp(injected->collector, "ranges") == 0;
	const struct {
		uint32_t trouble, kind, reason;
	} troubles[] = {
		{RING_TROUBLE_NO_RING, is_ranges ? EVENT_RANGE : EVENT_API, LOSS_NO_RING},
		{RING_TROUBLE_TRACKING, EVENT_EXECUTION, LOSS_TRACKING},
		{RING_TROUBLE_NO_RING_LAUNCH, EVENT_LAUNCH, LOSS_NO_RING},
		{RING_TROUBLE_NO_RING_SAMPLE, EVENT_INSTRUCTION_SAMPLE, LOSS_NO_RING},
		{RING_TROUBLE_OBJECTS, EVENT_CODE, LOSS_TRACKING},
		{RING_TROUBLE_STACKS, LOSS_KIND_STACK, LOSS_TRACKING},
		{RING_TROUBLE_NO_RING_COUNTER, EVENT_COUNTER, LOSS_NO_RING},
	};

	for (uint32_t i = 0; i < injected->rings_seen; i++)
		count_ring_losses(injected, &injected->rings[i], now_ns);
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		uint64_t count = take_trouble(injected, troubles[i].trouble);

		if (count)
			put_loss(injected, 0, troubles[i].kind, troubles[i].reason, count, now_ns);
	}
	take_facts(injected, now_ns);
	take_own_time(injected, now_ns);
	count_facts(injected, now_ns);
	put_own_loss(injected, EVENT_EXECUTION, LOSS_TRACKING, &injected->waiting_lost, now_ns);
	put_own_loss(injected, EVENT_CODE, LOSS_TRACKING, &injected->undescribed, now_ns);
	put_own_loss(injected, EVENT_CODE, LOSS_TRACKING, &injected->contents_lost, now_ns);
	put_own_loss(injected, LOSS_KIND_STACK, LOSS_TRACKING, &injected->stacks_refused, now_ns);
	put_own_loss(injected, EVENT_RANGE, LOSS_TRACKING, &injected->ranges.lost, now_ns);
	put_own_loss(injected, EVENT_COUNTER, LOSS_TRACKING, &injected->counters.lost, now_ns);
	put_own_loss(injected, EVENT_PADDING, LOSS_RING_BROKEN, &injected->broken_times, now_ns);
	injected->last_loss_ns = now_ns;
}

/* ---- draining ---------------------------------------------------------------------------------- */

struct taking {
	struct injected *injected;
	struct injected_ring *ring;
};

static void take_record(void *context, const struct record *record)
{
	struct taking *taking = context;

	decode_record(taking->injected, taking->ring, record);
}

static void give_name(struct injected *injected, struct event_thread *row)
{
	struct recording *recording = injected->recording;
	char name[64];

	if (injected->room_bytes < sizeof(name) + TEXT_BYTES)
		return;
	proc_thread_name(injected->process->row.pid, row->tid, name);
	row->name_string = recording_string(recording, name);
}

static void begin_thread(struct injected *injected, struct injected_ring *ring)
{
	uint32_t ns_tid = ring->reader.control->tid;
	struct event_thread *row = &ring->thread;

	*row = (struct event_thread){
		.process = injected->process->row.id,
		.ns_tid = ns_tid,
		.tid = proc_thread(injected->process->row.pid, injected->process->row.ns_pid,
				   ns_tid, &injected->recording->lookups),
		.begin_ns = host_clocks_now_ns(),
	};
	give_name(injected, row);
	process_thread_adopt(injected->recording->processes, injected->process->row.pid, row);
	trace_writer_thing(injected->recording->writer, EVENT_THREAD, row);
	ring->used = true;
}

static void end_thread(struct injected *injected, struct injected_ring *ring)
{
	uint64_t now_ns = host_clocks_now_ns();

	decode_end_assembly(injected, ring);
	ranges_end_thread(injected, ring);
	/* Its ring may be another's before the next second. */
	count_ring_losses(injected, ring, now_ns);
	ring->thread.end_ns = now_ns;
	trace_writer_thing(injected->recording->writer, EVENT_THREAD, &ring->thread);
	ring->used = false;
}

static uint64_t head_of(const struct injected_ring *ring)
{
	return atomic_load_explicit(&ring->reader.control->head, memory_order_acquire);
}

/* How much of a ring is this round's: what it holds now, or held when it was frozen. Whatever a program
 * says, it is no more than the ring's size. */
static uint64_t bytes_ahead(const struct injected *injected, const struct injected_ring *ring)
{
	uint64_t end = injected->is_frozen ? ring->until : head_of(ring), tail = ring->reader.tail;

	if (!injected->is_frozen && end < tail)
		return 1; /* for ring_drain to see */
	if (end <= tail)
		return 0;
	return end - tail < injected->ring_bytes ? end - tail : injected->ring_bytes;
}

static size_t drain_ring(struct injected *injected, struct injected_ring *ring, uint64_t end_ns)
{
	struct taking taking = {injected, ring};
	uint32_t state = atomic_load_explicit(&ring->reader.control->state, memory_order_acquire);
	uint64_t left;
	size_t taken = 0, piece;

	if (!ring->used && (state == RING_BUSY || state == RING_CLOSED))
		begin_thread(injected, ring);
	if (!ring->used)
		return 0;
	left = bytes_ahead(injected, ring);
	while (left) {
		piece = ring_drain(&ring->reader, left < PIECE_BYTES ? left : PIECE_BYTES,
				   injected->recording->scratch, take_record, &taking);
		taken += piece;
		left = piece && piece < left ? left - piece : 0;
		if (left && host_clocks_now_ns() >= end_ns)
			break;
	}
	injected->has_more |= left != 0;
	if (!taken && state == RING_CLOSED) {
		end_thread(injected, ring);
		ring_recycle(&ring->reader);
	}
	return taken;
}

/* Threads take the lowest free ring, so the next unclaimed one ends the search. */
static void find_rings(struct injected *injected)
{
	while (!injected->is_frozen && injected->rings_seen < injected->ring_count &&
	       atomic_load_explicit(&injected->rings[injected->rings_seen].reader.control->state,
				    memory_order_relaxed) != RING_FREE)
		injected->rings_seen++;
}

void injected_freeze(struct injected *injected)
{
	find_rings(injected);
	for (uint32_t i = 0; i < injected->rings_seen; i++)
		injected->rings[i].until = head_of(&injected->rings[i]);
	injected->is_frozen = true;
}

static bool has_full_ring(const struct injected *injected)
{
	for (uint32_t i = 0; i < injected->rings_seen; i++)
		for (uint32_t kind = 0; kind < EVENT_KIND_COUNT; kind++)
			if (atomic_load_explicit(&injected->rings[i].reader.control->lost[kind],
						 memory_order_relaxed) >
			    injected->rings[i].lost[kind])
				return true;
	return false;
}

/* Of what it did without us it is only known that there may be something. */
static void put_gap(struct injected *injected)
{
	if (!injected->has_gap)
		put_loss(injected, 0, EVENT_PADDING, LOSS_GAP, 1, host_clocks_now_ns());
	injected->has_gap = true;
}

/* Where we were stopped for long the process may have given us up, and need not come back to tell. */
static void beat(struct injected *injected, uint64_t now_ns)
{
	uint64_t silent_ns = now_ns - injected->beat_ns;

	put_beat(injected, now_ns);
	if (injected->beat_ns && silent_ns >= UINT64_C(1000000) * RING_SILENT_MS &&
	    has_full_ring(injected))
		put_gap(injected);
	injected->beat_ns = now_ns;
}

void injected_beat(struct injected *injected)
{
	beat(injected, host_clocks_now_ns());
}

static struct made_code_owner owner_of_code(struct injected *injected)
{
	const struct event_process *process = &injected->process->row;

	return (struct made_code_owner){
		.recording = injected->recording,
		.images = &injected->images,
		.process = {process->pid, injected->pid_fd, injected->exe ? injected->exe : "",
			    &injected->looks},
		.ns_pid = process->ns_pid,
		.uid = process->uid,
		.process_id = process->id,
		.start_ticks = process->start_ticks,
		.is_limited = injected->room_bytes < UINT64_MAX / 2,
	};
}

/* Only where the round has time left: what it takes cannot be cut short. */
static void name_made_code(struct injected *injected, uint64_t end_ns)
{
	struct made_code_owner owner = owner_of_code(injected);
	uint64_t now_ns = host_clocks_now_ns();

	if (now_ns >= end_ns || !made_code_is_due(&injected->made, now_ns))
		return;
	if (look_time_is_due(&injected->looks, now_ns))
		made_code_name(&injected->made, &owner);
	else if (look_time_is_left(&injected->looks, now_ns))
		made_code_hold(&injected->made, &owner);
}

static void finish_made_code(struct injected *injected)
{
	struct made_code_owner owner = owner_of_code(injected);
	bool is_refused;
	size_t nameless = made_code_finish(&injected->made, &owner, &is_refused);
	char text[200];
	int length;

	if (!nameless)
		return;
	length = snprintf(text, sizeof(text),
			  "%zu %s in code that process %u made while it ran %s no name: ", nameless,
			  nameless == 1 ? "place" : "places", owner.process.pid,
			  nameless == 1 ? "has" : "have");
	if (is_refused)
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "the time for looking into files of user %u's programs is spent",
			 owner.uid);
	else
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "neither /tmp/perf-%u.map nor a jit-%u.dump that it mapped tells one",
			 owner.ns_pid, owner.ns_pid);
	recording_note(injected->recording, injected->collector, COLLECTOR_PARTIAL,
		       owner.process_id, text);
}

size_t injected_drain(struct injected *injected, uint64_t most_ns)
{
	uint64_t kept_bytes = injected->recording->kept_bytes, now_ns = host_clocks_now_ns();
	uint64_t end_ns = most_ns < UINT64_MAX - now_ns ? now_ns + most_ns : UINT64_MAX;
	uint32_t first = injected->next_ring;
	size_t most = 0;

	beat(injected, now_ns);
	find_rings(injected);
	injected->has_more = false;
	for (uint32_t i = 0; i < injected->rings_seen && !injected->has_more; i++) {
		uint32_t index = (first + i) % injected->rings_seen;
		size_t taken = drain_ring(injected, &injected->rings[index], end_ns);

		/* The ring that was not finished comes last, or it would be the only one. */
		injected->next_ring = index + 1;
		if (i + 1 < injected->rings_seen && host_clocks_now_ns() >= end_ns)
			injected->has_more = true;
		if (taken > most)
			most = taken;
	}
	if (injected->waiting_count || injected->nodes.waiting_count)
		decode_waiting(injected, false);
	name_made_code(injected, end_ns);
	injected->kept_bytes += injected->recording->kept_bytes - kept_bytes;
	return most;
}

/* Of what will not be read any more it is only known that there is something. */
static void count_unread(struct injected *injected, uint64_t now_ns)
{
	for (uint32_t i = 0; i < injected->rings_seen && injected->is_frozen; i++)
		if (injected->rings[i].used && bytes_ahead(injected, &injected->rings[i]))
			put_loss(injected, injected->rings[i].thread.id, EVENT_PADDING,
				 LOSS_RING_FULL, 1, now_ns);
}

bool injected_ask_last(struct injected *injected)
{
	uint32_t offered = RING_LAST_OFFERED;

	return injected->region && !injected->is_frozen &&
	       atomic_compare_exchange_strong(&injected->region->last, &offered, RING_LAST_ASKED);
}

bool injected_has_given_last(const struct injected *injected)
{
	return atomic_load(&injected->region->last) != RING_LAST_ASKED;
}

void injected_stop(struct injected *injected)
{
	robust_region_disown(injected->region);
}

/* Only the data, which no position depends on: the first page must go on saying that the recording has
 * ended, and a control page of zeros would offer a ring as free that a thread is still inside. What such a
 * thread writes from now on makes new pages, at most one ring's worth; what it had written is read. */
static void give_back_data(const struct injected *injected)
{
	uint8_t *slot = (uint8_t *)injected->region + RING_PAGE;

	for (uint32_t i = 0; i < injected->ring_count; i++) {
		/* Where it fails, memory is held until the program ends, as before. */
		if (madvise(slot + RING_PAGE, injected->ring_bytes, MADV_REMOVE) < 0)
			return;
		slot += ring_slot_bytes(injected->ring_bytes);
	}
}

static void free_rings(struct injected *injected)
{
	for (uint32_t i = 0; injected->rings && i < injected->ring_count; i++) {
		stacks_fini(&injected->rings[i].stacks);
		ranges_thread_fini(&injected->rings[i]);
		free(injected->rings[i].functions);
	}
	free(injected->rings);
	injected->rings = NULL;
}

/* What hangs on the region: threads, their losses, the memory. With a program that has ended that goes at
 * once; one that lives on has it mapped. */
static void close_region(struct injected *injected, bool lives_on)
{
	uint64_t now_ns = host_clocks_now_ns();

	if (!injected->region)
		return;
	count_unread(injected, now_ns);
	for (uint32_t i = 0; injected->rings && i < injected->rings_seen; i++)
		if (injected->rings[i].used)
			end_thread(injected, &injected->rings[i]);
	ranges_end(injected);
	program_counters_end(injected);
	injected_count_losses(injected, now_ns);
	if (lives_on) {
		injected_stop(injected);
		give_back_data(injected);
	}
	robust_region_unmap(injected->region, injected->region_bytes);
	injected->region = NULL;
	free_rings(injected);
}

bool injected_is_same_image(const struct injected *injected, bool if_unknown)
{
	uint32_t *lookups = &injected->recording->lookups;
	const uint32_t cost = PROC_MAPPINGS / 64; /* a line is that much cheaper than a file */

	if (*lookups < cost || !injected->region_inode)
		return if_unknown;
	*lookups -= cost;
	/* An exec leaves no mapping behind; a guest never unmaps a region's first page. */
	return proc_has_mapping(injected->process->row.pid, injected->region_inode);
}

bool injected_has_left(const struct injected *injected)
{
	return atomic_load_explicit(&injected->region->left, memory_order_relaxed);
}

int injected_renew(struct injected *injected, uint32_t options, uint64_t most_ns, int *ret_fd)
{
	injected_freeze(injected);
	if (!injected_has_left(injected))
		put_gap(injected);
	injected_drain(injected, most_ns);
	close_region(injected, true);
	injected->held_bytes -= injected->stack_bytes;
	injected->stack_bytes = 0;
	injected->rings_seen = injected->next_ring = 0;
	injected->is_frozen = injected->has_more = injected->has_gap = false;
	injected->beat_ns = 0;
	memset(injected->trouble, 0, sizeof(injected->trouble));
	injected->attachment = injected->process->attachments++;
	return make_rings(injected, options, ret_fd);
}

static void end_ids(struct injected *injected, enum event_kind kind, const struct id_map *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->items[i])
			trace_writer_end_thing(injected->recording->writer, kind, map->items[i],
					       injected->process->row.end_ns);
}

/* Or each segment would repeat them for ever. Devices are everybody's and live on. */
static void end_things(struct injected *injected)
{
	struct trace_writer *writer = injected->recording->writer;

	end_ids(injected, EVENT_CONTEXT, &injected->contexts);
	end_ids(injected, EVENT_CLOCK, &injected->device_clocks);
	end_ids(injected, EVENT_CODE, &injected->codes);
	for (size_t i = 0; i < injected->queues_capacity; i++)
		if (injected->queues[i].id)
			trace_writer_end_thing(writer, EVENT_QUEUE, injected->queues[i].id,
					       injected->process->row.end_ns);
	if (injected->note)
		trace_writer_end_thing(writer, EVENT_COLLECTOR, injected->note,
				       injected->process->row.end_ns);
}

/* A process lives as long as one of its guests. */
static void end_process(struct injected *injected)
{
	struct injected_process *process = injected->process;
	struct recording *recording = injected->recording;

	close_region(injected, proc_is_alive(injected->pid_fd, (uint32_t)injected->pid));
	decode_waiting(injected, true);
	finish_made_code(injected);
	note_facts(injected);
	note_untimed_queues(injected);
	process->row.end_ns = host_clocks_now_ns();
	trace_writer_thing(recording->writer, EVENT_PROCESS, &process->row);
	if (process->row.ended)
		end_things(injected);
	if (process->row.ended && process->references == 1)
		process_abandon(recording->processes, &process->row);
}

struct look_time injected_close(struct injected *injected)
{
	struct look_time looks = {0};

	if (!injected)
		return looks;
	if (injected->process)
		end_process(injected);
	else if (injected->region)
		robust_region_unmap(injected->region, injected->region_bytes);
	if (injected->pid_fd >= 0)
		close(injected->pid_fd);
	looks = injected->looks;
	put_process(injected->process);
	free_rings(injected);
	identities_fini(&injected->codes_known);
	free(injected->exe);
	made_code_fini(&injected->made);
	images_fini(&injected->images);
	program_counters_fini(&injected->counters);
	nodes_fini(&injected->nodes);
	free(injected->devices.items);
	free(injected->device_clocks.items);
	free(injected->contexts.items);
	free(injected->codes.items);
	free(injected->queues);
	free(injected->waiting);
	free(injected->waiting_queues);
	free(injected);
	return looks;
}
