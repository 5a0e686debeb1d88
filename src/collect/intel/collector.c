/* SPDX-License-Identifier: MIT
 *
 * collect/intel/collector.c - what Intel's GPUs execute, and why they do not: samples and counters of their drivers
 *
 * Runs in:  the recorder; each GPU's stream is read in a thread of its own, counters in a sampler's
 * Gets:     on or off, how often   Gives: devices, samples of instructions by their addresses, counters (oa_source.h)
 * Owns:     render nodes and streams
 * Fails:    -ENODEV where there is no GPU of theirs; a GPU that cannot be sampled is noted with the reason
 * Why by request: sampling keeps a GPU awake, and was not run on one yet
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
#include "collect/counters.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/intel/driver.h"
#include "collect/intel/eu_stream.h"
#include "collect/intel/eudebug.h"
#include "collect/intel/oa_sets.h"
#include "collect/intel/oa_source.h"
#include "collect/own_memory.h"

enum {
	GPUS_MOST = 32,
	NOTES_MOST = GPUS_MOST + 4, /* of what was not opened */
	CYCLES_MOST = 100000,
	RING_MIB_MOST = 1024,
	TELL_NS = 100000000,
	DRIVER_NS = 20000000,
	UNSAMPLED_NS = 1000000000, /* … and it is said */
	MEMORY_USUAL = 1 << 28
};

/* A GT whose instructions are sampled. */
struct gpu {
	struct gpu_node node;
	uint32_t device;
	struct eu_stream_facts facts;
	struct eu_stream *stream; /* owned */
	uint32_t stalls[EU_STALL_REASONS];
	uint64_t hardware_losses; /* written so far */
	uint64_t lost;
	uint64_t ends;     /* of its stream, likewise */
	uint64_t since_ns; /* an end is not written yet: when it began; 0: there is none */
	bool is_told;      /* that it is not sampled any more */
};

/* What was not opened: how bad that is, is known when all the rest was tried. */
struct unopened {
	char text[700];
};

struct intel {
	struct recording *recording; /* borrowed */
	struct gpu gpus[GPUS_MOST];
	size_t count;
	struct stalls_budget budget; /* of all streams */
	int64_t memory;              /* of the whole recorder, bytes */
	uint64_t opened_ns, told_ns;
	uint32_t cycles_string;
	struct counters *counters; /* owned; of OA units; NULL: they are not read */
	struct driver *driver;     /* owned; NULL: not wanted, or not to be had */
	struct eudebug *debug;     /* the same */
	struct unopened unopened[NOTES_MOST];
	size_t unopened_count;
};

#define SYSCALLS "syscalls"

static const struct collector_option collector_options[] = {
	{"CYCLES",
	 "which instructions execute, with so many of the GPU's cycles between two samples; the "
	 "driver's usual rate otherwise"},
	{"oa", "how much of the time the GPU and its EUs are busy, and at which clock, by their OA "
	       "unit, 100 times a second; instead of samples, or beside them where both are said"},
	{"oa=HZ", "… so many times a second, 1 to 1000, or the next that the hardware has"},
	{"oa-set=NAME",
	 "… the counters of a metric set of theirs, too, of those that duet list oa-sets names"},
	{"driver",
	 "what is handed to GPUs, by whom, and which kernels are in it, as the drivers xe and "
	 "i915 see it with rights: done anyway; -driver: not"},
	{"ring=MIB",
	 "so much of that may wait to be read, a power of two up to 1024; otherwise 16"},
	{SYSCALLS,
	 "… where a kernel shows neither the driver's functions nor the way into all drivers: by "
	 "what all system calls are, each of which then takes some 0.1 us more, on the whole "
	 "machine"},
	{"debug", "code objects with their places, as debuggers of GPU programs are told them by "
		  "Intel's own "
		  "builds of xe and i915: of each process that opens a GPU; beside samples, as all "
		  "options but oa and oa-set are"},
	{"debug-stop=PID",
	 "how many threads a process has on the GPU: all are stopped for a moment, ten times a "
	 "second; 0: of the program that is started. Its code objects too"},
	{NULL, NULL},
};

static uint64_t read_cycles(const char *option)
{
	char *end;
	const unsigned long cycles = strtoul(option, &end, 10);

	return *end || end == option || cycles > CYCLES_MOST ? 0 : cycles;
}

/* 0: it is none. */
static uint32_t read_oa_hz(const char *option)
{
	if (strcmp(option, "oa") == 0)
		return OA_USUAL_HZ;
	return strncmp(option, "oa=", 3) == 0 ? counters_frequency(option + 3, OA_MOST_HZ) : 0;
}

/* MiB, a power of two; 0: it is none. */
static uint32_t read_ring(const char *option)
{
	static const char before[] = "ring=";
	unsigned long size;
	char *end;

	if (strncmp(option, before, sizeof(before) - 1) != 0)
		return 0;
	option += sizeof(before) - 1;
	size = strtoul(option, &end, 10);
	return *end || end == option || size > RING_MIB_MOST || (size & (size - 1))
		       ? 0
		       : (uint32_t)size;
}

/* False: it is none. */
static bool read_debug_stop(const char *option, uint32_t *ret_pid)
{
	static const char before[] = "debug-stop=";
	unsigned long pid;
	char *end;

	if (strncmp(option, before, sizeof(before) - 1) != 0)
		return false;
	option += sizeof(before) - 1;
	errno = 0;
	pid = strtoul(option, &end, 10);
	if (*end || end == option || *option == '-' || errno || pid > INT32_MAX)
		return false;
	*ret_pid = (uint32_t)pid;
	return true;
}

/* NULL: it is none. */
static const char *read_oa_set(const char *option)
{
	static const char before[] = "oa-set=";
	const char *name = option + sizeof(before) - 1;

	if (strncmp(option, before, sizeof(before) - 1) != 0)
		return NULL;
	return *name && strlen(name) < OA_SET_NAME_BYTES ? name : NULL;
}

static bool has_option(const char *option)
{
	return read_cycles(option) != 0 || read_oa_hz(option) != 0 || read_ring(option) != 0 ||
	       read_oa_set(option) || strcmp(option, "-driver") == 0 ||
	       strcmp(option, "-debug") == 0 || strcmp(option, SYSCALLS) == 0;
}

static bool has_word(const char *option, const char *word)
{
	return strncmp(option, word, strlen(word)) == 0;
}

/* What a value may be: an option that begins so and was not taken has one that it may not. */
static int check_option(const char *option)
{
	uint32_t pid;

	if (has_option(option) || read_debug_stop(option, &pid))
		return 0;
	if (*option && strspn(option, "0123456789") == strlen(option))
		return error_set(-EINVAL,
				 "intel:%s: between two samples are 1 to %d of the GPU's cycles",
				 option, CYCLES_MOST);
	if (has_word(option, "oa="))
		return error_set(
			-EINVAL,
			"intel:%s: the OA unit is read 1 to %d times a second: intel:oa=%d", option,
			OA_MOST_HZ, OA_USUAL_HZ);
	if (has_word(option, "oa-set="))
		return error_set(-EINVAL,
				 "intel:%s: it is intel:oa-set=NAME, with a metric set's name of "
				 "1 to %d bytes (duet list oa-sets)",
				 option, OA_SET_NAME_BYTES - 1);
	if (has_word(option, "ring="))
		return error_set(-EINVAL,
				 "intel:%s: the ring has a power of two from 1 to %d MiB: "
				 "intel:ring=64",
				 option, RING_MIB_MOST);
	if (has_word(option, "debug-stop"))
		return error_set(
			-EINVAL,
			"'%s' makes no sense: it is debug-stop=PID, with the number of one "
			"process; 0 is the program that is started",
			option);
	return -ENOENT;
}

static void choose_debug(struct session_options *session, const char *option)
{
	session->intel_debug |= strcmp(option, "debug") == 0;
	session->intel_debug_stops |= read_debug_stop(option, &session->intel_debug_pid);
	if (strcmp(option, "-debug") == 0)
		session->intel_debug = session->intel_debug_stops = false;
}

static void choose(struct session_options *session, bool on, const char *option)
{
	const uint32_t oa_hz = on && option ? read_oa_hz(option) : 0;
	const char *set = on && option ? read_oa_set(option) : NULL;

	if (!on) {
		session->intel_oa_hz = 0;
		session->intel_oa_set[0] = '\0';
	}
	if (set) {
		snprintf(session->intel_oa_set, sizeof(session->intel_oa_set), "%s", set);
		if (!session->intel_oa_hz)
			session->intel_oa_hz = OA_USUAL_HZ;
		return;
	}
	if (oa_hz) {
		session->intel_oa_hz = oa_hz;
		return;
	}
	session->intel = on;
	if (!on || !option) {
		session->intel_cycles = 0;
		session->intel_no_driver = session->intel_syscalls = false;
		if (!on)
			session->intel_debug = session->intel_debug_stops = false;
	} else if (strcmp(option, SYSCALLS) == 0) {
		session->intel_syscalls = true;
	} else if (read_cycles(option)) {
		session->intel_cycles = read_cycles(option);
	} else if (read_ring(option)) {
		session->intel_ring_mib = read_ring(option);
	} else if (strstr(option, "debug")) {
		choose_debug(session, option);
	} else {
		session->intel_no_driver = strcmp(option, "-driver") == 0;
	}
}

static bool is_chosen(const struct session_options *session)
{
	return session->intel || session->intel_oa_hz;
}

/* A process that has ended is nobody's to stop. */
static int settle(struct session_options *session, bool is_named)
{
	const pid_t pid = (pid_t)session->intel_debug_pid;

	if (!session->intel_debug_stops || !pid || kill(pid, 0) == 0 || errno != ESRCH)
		return 0;
	return error_set(-ESRCH,
			 "intel:debug-stop=%d: there is no process %d; 0 is the program that is "
			 "started",
			 pid, pid);
}

/* ---- GPUs -------------------------------------------------------------------------------------- */

static void note_error(struct intel *intel, const char *text)
{
	if (intel->unopened_count < NOTES_MOST)
		snprintf(intel->unopened[intel->unopened_count++].text,
			 sizeof(intel->unopened[0].text), "%s", text);
	error_clear();
}

/* A part is missing where there is another. */
static void tell_unopened(const struct intel *intel, bool has_any)
{
	for (size_t i = 0; i < intel->unopened_count; i++) {
		const char *text = intel->unopened[i].text;

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

/* False: the GPU has not so many GTs. */
static bool add_gpu(struct intel *intel, int minor, uint32_t nth, uint64_t cycles)
{
	struct gpu *gpu = &intel->gpus[intel->count];
	char text[700];
	int error;

	if (intel->count == GPUS_MOST)
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

/* ---- samples ----------------------------------------------------------------------------------- */

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
	const struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	const struct event_loss row = {.begin = telling->since_ns,
				       .end = telling->until_ns,
				       .kind = EVENT_INSTRUCTION_SAMPLE,
				       .reason = reason,
				       .count = count};

	trace_writer_row(telling->intel->recording->writer, EVENT_LOSS, &source, &row);
}

static void tell_end(const struct telling *telling, const struct eu_stream_counts *counts)
{
	const struct gpu *gpu = telling->gpu;
	char text[700];

	eu_stream_refused(gpu->stream, counts->error);
	snprintf(text, sizeof(text), "GPU %s is not sampled any more until it can be again: %s",
		 gpu->node.address, error_text());
	error_clear();
	recording_warn(telling->intel->recording, text);
}

/* A row for each end of the stream, from there until it is open again: how much is missing nobody knows. */
static void put_ends(struct telling *telling, const struct eu_stream_counts *counts, bool is_last)
{
	struct gpu *gpu = telling->gpu;
	const uint64_t ends = counts->resets + counts->breaks;

	if (ends == gpu->ends)
		return;
	if (!gpu->since_ns)
		gpu->since_ns = telling->since_ns;
	if (counts->ended_ns && !is_last) {
		if (telling->until_ns - counts->ended_ns >= UNSAMPLED_NS && !gpu->is_told)
			tell_end(telling, counts);
		gpu->is_told |= telling->until_ns - counts->ended_ns >= UNSAMPLED_NS;
		return;
	}
	telling->since_ns = gpu->since_ns;
	for (; gpu->ends < ends; gpu->ends++)
		put_loss(telling, LOSS_GAP, LOSS_COUNT_UNKNOWN);
	gpu->since_ns = 0;
	gpu->is_told = false;
}

static void put_losses(struct telling *telling, bool is_last)
{
	struct gpu *gpu = telling->gpu;
	struct eu_stream_counts counts;

	eu_stream_counted(gpu->stream, &counts);
	if (counts.lost != gpu->lost)
		put_loss(telling, LOSS_RING_FULL, counts.lost - gpu->lost);
	/* once, however often the hardware had no room */
	if (counts.hardware_losses != gpu->hardware_losses)
		put_loss(telling, LOSS_RING_FULL, LOSS_COUNT_UNKNOWN);
	gpu->lost = counts.lost;
	gpu->hardware_losses = counts.hardware_losses;
	put_ends(telling, &counts, is_last);
}

static void tell(struct intel *intel, bool is_last)
{
	const uint64_t now_ns = host_clocks_now_ns();

	for (size_t i = 0; i < intel->count; i++) {
		struct gpu *gpu = &intel->gpus[i];
		struct telling telling = {
			intel, gpu,
			eu_stream_sampled_since(&gpu->facts, intel->opened_ns, intel->told_ns),
			now_ns};

		eu_stream_tell(gpu->stream, on_counts, &telling);
		put_losses(&telling, is_last);
	}
	intel->told_ns = now_ns;
}

/* ---- the collector ----------------------------------------------------------------------------- */

static void note_end(struct intel *intel, const struct gpu *gpu,
		     const struct eu_stream_counts *counts)
{
	char text[700];

	eu_stream_refused(gpu->stream, counts->error);
	snprintf(text, sizeof(text),
		 "GPU %s was not sampled for the last %" PRIu64 " ms, its stream had ended: %s",
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
		 " cycles; the hardware lost some %" PRIu64 " times; the GPU was reset "
		 "%" PRIu64 " times%s",
		 counts.rows, gpu->facts.rate_cycles, counts.hardware_losses, counts.resets,
		 counts.breaks ? "; its stream broke off otherwise, too" : "");
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
	tell(intel, true);
	for (size_t i = 0; i < intel->count; i++)
		close_gpu(intel, &intel->gpus[i]);
	counters_close(intel->counters);
	free(intel);
}

static int open_stalls(struct intel *intel, uint64_t cycles)
{
	intel->opened_ns = intel->told_ns = host_clocks_now_ns();
	intel->cycles_string = recording_string(intel->recording, "cycles");
	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++)
		for (uint32_t nth = 0; add_gpu(intel, minor, nth, cycles); nth++)
			;
	if (intel->count)
		return 0;
	return error_set(-ENODEV, "no GPU whose instructions can be sampled by Intel's drivers "
				  "(duet doctor says what is missing)");
}

static int open_oa(struct intel *intel, const struct session_options *session)
{
	struct counters_options options = {.collector = "intel",
					   .sources = &oa_sources,
					   .names = {[GROUP_MACHINE] = "intel-oa"},
					   .hz = OA_READS_HZ,
					   .close_context = oa_units_close,
					   .root = ""};
	struct oa_units *units;
	const int error = oa_units_open(intel->recording, session->intel_oa_hz,
					session->intel_oa_set, &units);

	if (error)
		return error;
	options.context = units;
	return counters_open(intel->recording, &options, &intel->counters);
}

static void open_driver(struct intel *intel, const struct session_options *session)
{
	const struct driver_options options = {.ring_bytes = session->intel_ring_mib << 20,
					       .is_timed = session->drm_hz && session->drm_jobs,
					       .waits = session->command != NULL,
					       .may_see_calls = session->intel_syscalls};
	int error;

	if (session->intel_no_driver)
		return;
	error = driver_open(intel->recording, &options, &intel->driver);
	/* without a GPU there is none for samples either, which says so */
	if (error && error != -ENODEV)
		note_error(intel, error_text());
	error_clear();
}

static void open_debug(struct intel *intel, const struct session_options *session)
{
	const struct eudebug_options options = {.all = session->intel_debug,
						.stops = session->intel_debug_stops,
						.pid = session->intel_debug_pid};

	if ((options.all || options.stops) &&
	    eudebug_open(intel->recording, &options, &intel->debug))
		note_error(intel, error_text());
}

static void open_sampling(struct intel *intel, const struct session_options *session)
{
	if (open_stalls(intel, session->intel_cycles))
		note_error(intel, error_text());
	open_driver(intel, session);
	open_debug(intel, session);
}

/* What everybody else has is not the tables'. A part stays free: for tables that are there twice while they are tidied up, for chunks that
 * are being filled, and for what comes until the next look. */
static void share_memory(struct intel *intel)
{
	const int64_t own = (int64_t)own_memory_bytes(), taken = atomic_load(&intel->budget.taken);

	intel->recording->is_memory_full = own > intel->memory;
	stalls_budget_set(&intel->budget, intel->memory / 4 * 3 - (own - taken));
}

/* Each goes without the others. */
static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	struct intel *intel;
	bool has_any;

	*ret_state = NULL;
	if (!is_chosen(session))
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
	if (session->intel)
		open_sampling(intel, session);
	if (session->intel_oa_hz && open_oa(intel, session))
		note_error(intel, error_text());
	has_any = intel->count || intel->counters || intel->driver || intel->debug;
	tell_unopened(intel, has_any);
	if (!has_any) {
		free(intel);
		return 0;
	}
	*ret_state = intel;
	return 0;
}

static int descriptor(const void *state)
{
	return -1;
}

static uint64_t interval_ns(const void *state)
{
	const struct intel *intel = state;

	return intel->driver || intel->debug ? DRIVER_NS : TELL_NS;
}

static void drain(void *state)
{
	struct intel *intel = state;

	if (intel->counters)
		counters_drain(intel->counters);
	if (intel->driver)
		driver_drain(intel->driver);
	if (intel->debug)
		eudebug_drain(intel->debug);
	if (host_clocks_now_ns() - intel->told_ns >= TELL_NS)
		tell(intel, false);
}

static void catch_up(void *state)
{
	struct intel *intel = state;

	if (intel->counters)
		counters_drain(intel->counters);
	if (intel->driver)
		driver_drain(intel->driver);
	if (intel->debug)
		eudebug_drain(intel->debug);
	tell(intel, false);
}

static void each_second(void *state, uint64_t now_ns)
{
	struct intel *intel = state;

	share_memory(intel);
	if (intel->counters)
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
	.descriptor = descriptor,
	.interval_ns = interval_ns,
	.drain = drain,
	.catch_up = catch_up,
	.each_second = each_second,
	.close = close_state,
};

extern const struct source oa_source, own_source;
/* Those of oa_sources, and what no sampler reads. */
static const struct source *const counted[] = {&oa_source, &eudebug_source, &own_source};
static const struct source_list counted_sources = {counted, ARRAY_COUNT(counted)};

extern const struct collector intel_collector;
const struct collector intel_collector = {
	.name = "intel",
	.help = "Intel's GPUs by their kernel driver: which instructions execute, and why others "
		"wait; how busy they are, and their clock; what is handed to them, by whom",
	.sources = &counted_sources,
	.options = collector_options,
	.has_option = has_option,
	.check_option = check_option,
	.by_request = true,
	.choose = choose,
	.is_chosen = is_chosen,
	.settle = settle,
	.work = &work,
};
