/* SPDX-License-Identifier: MIT
 *
 * collect/intel/collector.c - the collector "intel": EU stall samples, OA counters and submissions
 * of Intel GPUs
 *
 * Runs in:  the recorder; each GPU's stream is read in a thread of its own, counters in a sampler's
 *           thread
 * Gets:     the options of --collect intel
 * Gives:    devices, samples of instructions by their addresses, counters (oa_source.h)
 * Owns:     render nodes and streams
 * Fails:    -ENODEV if there is no Intel GPU; a GPU that cannot be sampled is noted with the reason
 * Why:      This collector is never a default, because sampling keeps a GPU awake and has not been
 *           run on a real GPU yet
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/collector.h"
#include "collect/counter/counters.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/intel/driver.h"
#include "collect/intel/eu_stream.h"
#include "collect/intel/experimental/eudebug.h"
#include "collect/intel/experimental/oa_sets.h"
#include "collect/intel/oa_source.h"
#include "collect/proc.h"

enum {
	MAX_GPUS = 32,
	MAX_NOTES = MAX_GPUS + 4, /* one per GPU, and for other sources that fail to open */
	MAX_CYCLES = 100000,
	MAX_RING_MIB = 1024,
	TELL_NS = 100000000,
	DRIVER_NS = 20000000,
	UNSAMPLED_NS = 1000000000, /* an end of sampling is reported after this time */
	MEMORY_USUAL = 1 << 28
};

/* A GT whose instructions are sampled. */
struct gpu {
	struct gpu_node node;
	uint32_t device;
	struct eu_stream_facts facts;
	struct eu_stream *stream; /* owned */
	uint32_t stalls[EU_STALL_REASONS];
	uint64_t hardware_losses; /* losses that are written already */
	uint64_t lost;
	uint64_t ends;     /* ends of its stream that are written already */
	uint64_t since_ns; /* start of an end that is not written yet; 0: none */
	bool is_warned;    /* the user was warned that sampling has stopped */
};

struct intel {
	struct recording *recording; /* borrowed */
	struct gpu gpus[MAX_GPUS];
	size_t count;
	struct quota budget; /* memory limit of all streams */
	int64_t memory;      /* memory limit of the whole recorder, in bytes */
	uint64_t opened_ns, emitted_ns;
	uint32_t cycles_string;
	struct counters *counters; /* owned; of OA units; NULL: not read */
	struct driver *driver;     /* owned; submissions; NULL: not wanted, or not available */
	struct eudebug *debug; /* owned; debugger interface; NULL: not wanted, or not available */
	/* Sources that failed to open. Whether that is an error depends on whether another one
	 * opens. */
	char unopened[MAX_NOTES][700];
	size_t unopened_count;
};

/* Option bits of the collector. */
enum {
	INTEL_ON = 1,     /* EU stall samples and submissions */
	INTEL_OA = 2,     /* counters of OA units */
	INTEL_CYCLES = 4, /* the user gave the cycles between two samples */
	INTEL_NO_DRIVER = 8,
	INTEL_SYSCALLS = 16,
	INTEL_DEBUG = 32,      /* code objects through the debugger interface */
	INTEL_DEBUG_STOPS = 64 /* threads of debug_pid are stopped and counted */
};

struct intel_options {
	struct collector_choice choice;
	uint32_t oa_hz;
	uint32_t ring_mib;              /* size of the ring of submissions; 0: the default */
	uint32_t debug_pid;             /* 0: the program that duet starts */
	char oa_set[OA_SET_NAME_BYTES]; /* a set of the driver's list; "": duet's own */
	uint64_t cycles;
};
_Static_assert(sizeof(struct intel_options) <= COLLECTOR_OPTIONS_BYTES,
	       "the options of intel fit into a slot");

/* The text behind the word; NULL: another text. */
static const char *value_of(const char *option, const char *word)
{
	const size_t length = strlen(word);

	return strncmp(option, word, length) == 0 ? option + length : NULL;
}

static bool parse_number(const char *text, unsigned long most, unsigned long *ret_number)
{
	char *end;

	*ret_number = strtoul(text, &end, 10);
	return !*end && end != text && *text != '-' && *ret_number <= most;
}

/* The functions read_* parse one option each. They set an error if the text begins like the option
 * and its value is invalid. */
static int read_cycles(const char *text, void *options)
{
	struct intel_options *own = options;
	unsigned long cycles;

	if (parse_number(text, MAX_CYCLES, &cycles) && cycles) {
		own->cycles = cycles;
		return 0;
	}
	if (!*text || text[strspn(text, "0123456789")])
		return -ENOENT;
	return error_set(-EINVAL,
			 "intel:%s: two samples are 1 to %d of the GPU's cycles apart, for example "
			 "intel:2000",
			 text, MAX_CYCLES);
}

static int read_oa(const char *text, void *options)
{
	struct intel_options *own = options;
	const char *value = value_of(text, "oa=");
	const uint32_t hz = value                     ? counters_frequency(value, OA_MAX_HZ)
			    : strcmp(text, "oa") == 0 ? OA_USUAL_HZ
						      : 0;

	if (hz)
		own->oa_hz = hz;
	if (hz || !value)
		return hz ? 0 : -ENOENT;
	return error_set(
		-EINVAL,
		"intel:%s: the OA unit is read 1 to %d times a second, for example intel:oa=%d",
		text, OA_MAX_HZ, OA_USUAL_HZ);
}

static int read_oa_set(const char *text, void *options)
{
	struct intel_options *own = options;
	const char *name = value_of(text, "oa-set=");

	if (!name)
		return -ENOENT;
	if (!*name || strlen(name) >= OA_SET_NAME_BYTES)
		return error_set(-EINVAL,
				 "intel:%s: a metric set's name has 1 to %d bytes: "
				 "intel:oa-set=NAME (duet list oa-sets)",
				 text, OA_SET_NAME_BYTES - 1);
	snprintf(own->oa_set, sizeof(own->oa_set), "%s", name);
	if (!own->oa_hz)
		own->oa_hz = OA_USUAL_HZ;
	return 0;
}

static int read_ring(const char *text, void *options)
{
	struct intel_options *own = options;
	const char *value = value_of(text, "ring=");
	unsigned long mib;

	if (!value)
		return -ENOENT;
	if (!parse_number(value, MAX_RING_MIB, &mib) || !mib || (mib & (mib - 1)))
		return error_set(-EINVAL,
				 "intel:%s: the ring size is a power of two from 1 to %d MiB, for "
				 "example intel:ring=64",
				 text, MAX_RING_MIB);
	own->ring_mib = (uint32_t)mib;
	return 0;
}

static int read_debug_stop(const char *text, void *options)
{
	struct intel_options *own = options;
	const char *value = value_of(text, "debug-stop=");
	unsigned long pid;

	if (!value_of(text, "debug-stop"))
		return -ENOENT;
	if (!value || !parse_number(value, INT32_MAX, &pid))
		return error_set(-EINVAL,
				 "'%s' is invalid: it is debug-stop=PID, with the pid of one "
				 "process; 0 is the program that duet starts",
				 text);
	own->debug_pid = (uint32_t)pid;
	return 0;
}

static const struct collector_option intel_options[] = {
	{"CYCLES",
	 "sample the instruction pointers of EUs (execution units) every CYCLES GPU cycles "
	 "(default: the driver's period)",
	 .set = INTEL_ON | INTEL_CYCLES, .read = read_cycles},
	{"oa",
	 "read busy time of the GPU and of its EUs, and the GPU's clock, from its OA counters, 100 "
	 "times a second; takes no instruction samples unless CYCLES is given too",
	 .set = INTEL_OA, .read = read_oa},
	{"oa=HZ",
	 "read the OA counters HZ times a second, 1 to 1000, rounded up to a rate of the hardware"},
	{"oa-set=NAME", "also read the counters of the metric set NAME (duet list oa-sets)",
	 .set = INTEL_OA, .read = read_oa_set},
	{"driver",
	 "record submissions to GPUs and their kernels, through the drivers xe and i915; needs "
	 "root or BPF rights; on by default; -driver: off",
	 .set = INTEL_ON, .clear = INTEL_NO_DRIVER},
	{"-driver", NULL, .set = INTEL_ON | INTEL_NO_DRIVER},
	{"ring=MIB",
	 "size of the kernel's buffer for submissions, in MiB: a power of two up to 1024 (default "
	 "16)",
	 .set = INTEL_ON, .read = read_ring},
	{"syscalls",
	 "trace system calls to find submissions if neither the driver's functions nor drm_ioctl "
	 "can be traced; each system call of the machine then takes some 0.1 us longer",
	 .set = INTEL_ON | INTEL_SYSCALLS},
	{"debug",
	 "record code objects and their addresses in each process that opens a GPU, through the "
	 "debugger interface of Intel's own builds of xe and i915",
	 .set = INTEL_ON | INTEL_DEBUG},
	{"-debug", NULL, .set = INTEL_ON, .clear = INTEL_DEBUG | INTEL_DEBUG_STOPS},
	{"debug-stop=PID",
	 "count the GPU threads of process PID ten times a second, stopping all of them briefly, "
	 "and record its code objects; 0: the program that duet starts",
	 .set = INTEL_ON | INTEL_DEBUG_STOPS, .read = read_debug_stop},
	{NULL},
};

/* Refuses debug-stop=PID for a process that does not exist. */
static int settle_options(void *options, bool is_named)
{
	const struct intel_options *own = options;
	const pid_t pid = (pid_t)own->debug_pid;

	if (!(own->choice.words & INTEL_DEBUG_STOPS) || !pid || kill(pid, 0) == 0 || errno != ESRCH)
		return 0;
	return error_set(
		-ESRCH,
		"intel:debug-stop=%d: there is no process %d; 0 is the program that duet starts",
		pid, pid);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static void note_error(struct intel *intel, const char *text)
{
	if (intel->unopened_count < MAX_NOTES)
		snprintf(intel->unopened[intel->unopened_count++], sizeof(intel->unopened[0]), "%s",
			 text);
	error_clear();
}

/* Notes sources that failed to open: as a missing part if another source works, otherwise as a
 * refusal. */
static void warn_unopened(const struct intel *intel, bool has_any)
{
	for (size_t i = 0; i < intel->unopened_count; i++) {
		const char *text = intel->unopened[i];

		recording_note(intel->recording, "intel",
			       has_any ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED, 0, text);
		recording_warn(intel->recording, text);
	}
}

static void note_failed(struct intel *intel, const struct gpu_node *node)
{
	char text[700];

	snprintf(text, sizeof(text), "GPU %s: %s", node->address, error_text());
	note_error(intel, text);
}

static void describe(struct intel *intel, struct gpu *gpu)
{
	char name[80];
	const struct device_facts facts = {.address = gpu->node.address,
					   .name = name,
					   .vendor = "Intel",
					   .driver = gpu->node.driver};

	snprintf(name, sizeof(name), "Intel GPU %u.%02u", gpu->facts.major, gpu->facts.minor);
	gpu->device = devices_meet(intel->recording, &facts);
	for (uint32_t i = 0; i < gpu->facts.layout->reasons; i++)
		gpu->stalls[i] = recording_string(intel->recording, gpu->facts.layout->stalls[i]);
}

/* False: the GPU has fewer GTs. */
static bool add_gpu(struct intel *intel, int minor, uint32_t nth, uint64_t cycles)
{
	struct gpu *gpu = &intel->gpus[intel->count];
	char text[700];
	int error;

	if (intel->count == MAX_GPUS)
		return false;
	*gpu = (struct gpu){.device = 0};
	if (!gpu_node_open(minor, &gpu->node)) {
		if (gpu_node_is_shut("", minor, text, sizeof(text)))
			note_error(intel, text);
		return false;
	}
	error = eu_stream_ask(&gpu->node, nth, cycles, &gpu->facts);
	if (!error)
		error = eu_stream_open(&gpu->node, &gpu->facts, &intel->budget, &gpu->stream);
	if (!error) {
		describe(intel, gpu);
		intel->count++;
		return true;
	}
	if (error != -ENOENT || !nth)
		note_failed(intel, &gpu->node);
	error_clear();
	gpu_node_close(&gpu->node);
	return false;
}

/* ---- samples --------------------------------------------------------------------------------- */

struct telling {
	struct intel *intel;
	struct gpu *gpu;
	uint64_t since_ns, until_ns;
};

static void on_counts(void *context, uint64_t address, const uint32_t *counts, uint32_t *note)
{
	const struct telling *telling = context;
	const struct gpu *gpu = telling->gpu;
	const struct trace_source source = {.source = gpu->device, .clock = CLOCK_ID_MONOTONIC};
	struct event_instruction_sample row = {
		.begin = telling->since_ns,
		.end = telling->until_ns,
		.offset = address,
		.period = gpu->facts.rate_cycles,
		.period_unit_string = telling->intel->cycles_string,
		.device = gpu->device,
	};

	for (uint32_t i = 0; i < gpu->facts.layout->reasons; i++) {
		if (!counts[i])
			continue;
		row.count = counts[i];
		row.stall_string = gpu->stalls[i];
		trace_writer_row(telling->intel->recording->writer, EVENT_INSTRUCTION_SAMPLE,
				 &source, &row);
	}
}

static void put_loss(const struct telling *telling, enum event_loss_reason reason, uint64_t count)
{
	recording_lose(telling->intel->recording, EVENT_INSTRUCTION_SAMPLE, reason,
		       telling->since_ns, telling->until_ns, count);
}

static void warn_end(const struct telling *telling, const struct eu_stream_counts *counts)
{
	const struct gpu *gpu = telling->gpu;
	char text[700];

	eu_stream_refused(gpu->stream, counts->error);
	snprintf(text, sizeof(text),
		 "sampling of GPU %s has stopped until its stream can be opened again: %s",
		 gpu->node.address, error_text());
	error_clear();
	recording_warn(telling->intel->recording, text);
}

/* Writes a loss row for each end of the stream: from the end until it is open again. The amount
 * lost is unknown. */
static void put_ends(struct telling *telling, const struct eu_stream_counts *counts, bool is_last)
{
	struct gpu *gpu = telling->gpu;
	const uint64_t ends = counts->resets + counts->breaks;

	if (ends == gpu->ends)
		return;
	if (!gpu->since_ns)
		gpu->since_ns = telling->since_ns;
	if (counts->ended_ns && !is_last) {
		if (telling->until_ns - counts->ended_ns >= UNSAMPLED_NS && !gpu->is_warned)
			warn_end(telling, counts);
		gpu->is_warned |= telling->until_ns - counts->ended_ns >= UNSAMPLED_NS;
		return;
	}
	telling->since_ns = gpu->since_ns;
	for (; gpu->ends < ends; gpu->ends++)
		put_loss(telling, LOSS_GAP, LOSS_COUNT_UNKNOWN);
	gpu->since_ns = 0;
	gpu->is_warned = false;
}

static void put_losses(struct telling *telling, bool is_last)
{
	struct gpu *gpu = telling->gpu;
	struct eu_stream_counts counts;

	eu_stream_counted(gpu->stream, &counts);
	if (counts.lost != gpu->lost)
		put_loss(telling, LOSS_RING_FULL, counts.lost - gpu->lost);
	/* one row, however often the hardware had no room */
	if (counts.hardware_losses != gpu->hardware_losses)
		put_loss(telling, LOSS_RING_FULL, LOSS_COUNT_UNKNOWN);
	gpu->lost = counts.lost;
	gpu->hardware_losses = counts.hardware_losses;
	put_ends(telling, &counts, is_last);
}

static void write_all_samples(struct intel *intel, bool is_last)
{
	const uint64_t now_ns = host_clocks_now_ns();

	for (size_t i = 0; i < intel->count; i++) {
		struct gpu *gpu = &intel->gpus[i];
		struct telling telling = {
			intel, gpu,
			eu_stream_sampled_since(&gpu->facts, intel->opened_ns, intel->emitted_ns),
			now_ns};

		eu_stream_emit(gpu->stream, on_counts, &telling);
		put_losses(&telling, is_last);
	}
	intel->emitted_ns = now_ns;
}

/* ---- the collector --------------------------------------------------------------------------- */

static void note_end(struct intel *intel, const struct gpu *gpu,
		     const struct eu_stream_counts *counts)
{
	char text[700];

	eu_stream_refused(gpu->stream, counts->error);
	snprintf(text, sizeof(text),
		 "GPU %s: no samples for the last %" PRIu64 " ms, because its stream had ended: %s",
		 gpu->node.address, (host_clocks_now_ns() - counts->ended_ns) / 1000000,
		 error_text());
	error_clear();
	recording_note(intel->recording, "intel", COLLECTOR_PARTIAL, 0, text);
}

static void close_gpu(struct intel *intel, struct gpu *gpu)
{
	struct eu_stream_counts counts;
	char text[240];

	eu_stream_counted(gpu->stream, &counts);
	if (counts.ended_ns)
		note_end(intel, gpu, &counts);
	snprintf(text, sizeof(text),
		 "%" PRIu64 " rows of EU stalls, one sample in %" PRIu64
		 " cycles; the hardware lost some %" PRIu64 " times; the GPU was reset %" PRIu64
		 " times%s",
		 counts.rows, gpu->facts.rate_cycles, counts.hardware_losses, counts.resets,
		 counts.breaks ? "; its stream ended for another reason, too" : "");
	recording_note(intel->recording, "intel",
		       counts.hardware_losses || counts.resets || counts.breaks
			       ? COLLECTOR_PARTIAL
			       : COLLECTOR_AVAILABLE,
		       0, text);
	eu_stream_close(gpu->stream);
	gpu_node_close(&gpu->node);
}

static void close_state(void *state)
{
	struct intel *intel = state;

	if (!intel)
		return;
	eudebug_close(intel->debug);
	driver_close(intel->driver);
	for (size_t i = 0; i < intel->count; i++)
		eu_stream_stop(intel->gpus[i].stream);
	write_all_samples(intel, true);
	for (size_t i = 0; i < intel->count; i++)
		close_gpu(intel, &intel->gpus[i]);
	counters_close(intel->counters);
	free(intel);
}

static int open_stalls(struct intel *intel, uint64_t cycles)
{
	intel->opened_ns = intel->emitted_ns = host_clocks_now_ns();
	intel->cycles_string = recording_string(intel->recording, "cycles");
	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++)
		for (uint32_t nth = 0; add_gpu(intel, minor, nth, cycles); nth++)
			;
	if (intel->count)
		return 0;
	return error_set(-ENODEV, "no GPU whose instructions can be sampled by Intel's drivers "
				  "(duet doctor explains what is missing)");
}

static int open_oa(struct intel *intel, const struct intel_options *own)
{
	struct counters_options options = {.collector = "intel",
					   .group.sources = &oa_sources,
					   .names = {[GROUP_MACHINE] = "intel-oa"},
					   .group.hz = OA_READS_HZ,
					   .close_context = oa_units_close,
					   .group.root = ""};
	struct oa_units *units;
	const int error = oa_units_open(intel->recording, own->oa_hz, own->oa_set, &units);

	if (error)
		return error;
	options.group.sources_context = units;
	return counters_open(intel->recording, &options, &intel->counters);
}

static void open_driver(struct intel *intel, const struct session_options *session)
{
	const struct intel_options *own = collector_options(session, "intel");
	const struct driver_options options = {.ring_bytes = own->ring_mib << 20,
					       .is_timed =
						       session_has_option(session, "drm", "jobs"),
					       .waits = session->command != NULL,
					       .may_see_calls = own->choice.words & INTEL_SYSCALLS};
	int error;

	if (own->choice.words & INTEL_NO_DRIVER)
		return;
	error = driver_open(intel->recording, &options, &intel->driver);
	/* -ENODEV: without a GPU, sampling reports the error */
	if (error && error != -ENODEV)
		note_error(intel, error_text());
	error_clear();
}

static void open_debug(struct intel *intel, const struct intel_options *own)
{
	const struct eudebug_options options = {.all = own->choice.words & INTEL_DEBUG,
						.stops = own->choice.words & INTEL_DEBUG_STOPS,
						.pid = own->debug_pid};

	if ((options.all || options.stops) &&
	    eudebug_open(intel->recording, &options, &intel->debug))
		note_error(intel, error_text());
}

static void open_sampling(struct intel *intel, const struct session_options *session)
{
	const struct intel_options *own = collector_options(session, "intel");

	if (open_stalls(intel, own->choice.words & INTEL_CYCLES ? own->cycles : 0))
		note_error(intel, error_text());
	open_driver(intel, session);
	open_debug(intel, own);
}

/* The tables get the memory that no other part uses. A part of it stays free: for tables that exist
 * twice while they are rebuilt, for chunks that are being filled, and for rows that arrive before
 * the next check. */
static void share_memory(struct intel *intel)
{
	const int64_t own = (int64_t)own_memory_bytes(), taken = (int64_t)intel->budget.used;
	const int64_t limit = intel->memory / 4 * 3 - (own - taken);

	intel->recording->is_memory_full = own > intel->memory;
	intel->budget.limit = limit > 0 ? (uint64_t)limit : 0;
}

/* Opens all parts. Each may fail without the others. */
static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	const struct intel_options *own = collector_options(session, "intel");
	struct intel *intel;
	bool has_any;

	*ret_state = NULL;
	if (!session_collects(session, "intel"))
		return 0;
	intel = calloc(1, sizeof(*intel));
	if (!intel)
		return error_set(-ENOMEM, "intel: out of memory");
	intel->recording = recording;
	intel->memory =
		session->memory_bytes > INT64_MAX ? INT64_MAX : (int64_t)session->memory_bytes;
	if (!intel->memory)
		intel->memory = MEMORY_USUAL;
	share_memory(intel);
	if (own->choice.words & INTEL_ON)
		open_sampling(intel, session);
	if (own->oa_hz && open_oa(intel, own))
		note_error(intel, error_text());
	has_any = intel->count || intel->counters || intel->driver || intel->debug;
	warn_unopened(intel, has_any);
	if (!has_any) {
		free(intel);
		return 0;
	}
	*ret_state = intel;
	return 0;
}

static uint64_t interval_ns(const void *state)
{
	const struct intel *intel = state;

	return intel->driver || intel->debug ? DRIVER_NS : TELL_NS;
}

static void drain(void *state)
{
	struct intel *intel = state;

	counters_drain(intel->counters);
	if (intel->driver)
		driver_drain(intel->driver);
	if (intel->debug)
		eudebug_drain(intel->debug);
	if (host_clocks_now_ns() - intel->emitted_ns >= TELL_NS)
		write_all_samples(intel, false);
}

static void look_for_processes(void *state)
{
	counters_look(((struct intel *)state)->counters);
}

static void catch_up(void *state, uint64_t until_ns)
{
	struct intel *intel = state;

	counters_catch_up(intel->counters, until_ns);
	if (intel->driver)
		driver_drain(intel->driver);
	if (intel->debug)
		eudebug_drain(intel->debug);
	write_all_samples(intel, false);
}

static void each_second(void *state, uint64_t now_ns)
{
	struct intel *intel = state;

	share_memory(intel);
	counters_count_losses(intel->counters, now_ns);
	if (intel->driver)
		driver_each_second(intel->driver, now_ns);
}

static int watch(void *state, pid_t pid)
{
	struct intel *intel = state;

	if (intel->debug)
		eudebug_watch(intel->debug, pid, true);
	return 0;
}

static int attach(void *state, pid_t pid, int pid_fd)
{
	struct intel *intel = state;

	if (intel->debug)
		eudebug_watch(intel->debug, pid, false);
	return 0;
}

static const struct collector_work work = {
	.open = open_state,
	.watch = watch,
	.attach = attach,
	.interval_ns = interval_ns,
	.drain = drain,
	.look = look_for_processes,
	.catch_up = catch_up,
	.each_second = each_second,
	.close = close_state,
};

/* Sources for lists of metrics: those of oa_sources, and those that no sampler reads. */
static const struct source *const counted[] = {&oa_source, &eudebug_source, &own_source};
static const struct source_list counted_sources = {counted, ARRAY_COUNT(counted)};

const struct collector intel_collector = {
	.name = "intel",
	.help = "Intel GPUs by their kernel driver: EU stall samples, busy time and clock, "
		"submissions with their kernels",
	.unverified = true,
	.sources = &counted_sources,
	.options = intel_options,
	.named = {.set = INTEL_ON, .clear = INTEL_CYCLES | INTEL_NO_DRIVER | INTEL_SYSCALLS},
	.chosen_by = INTEL_ON | INTEL_OA,
	.by_request = true,
	.settle = settle_options,
	.work = &work,
};
