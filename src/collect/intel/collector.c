/* SPDX-License-Identifier: MIT
 *
 * collect/intel/collector.c - what Intel's GPUs execute, and why they do not: samples of their driver xe
 *
 * Runs in:  the recorder; each GPU's stream is read in a thread of its own
 * Gets:     on or off   Gives: devices, samples of instructions by their addresses
 * Owns:     render nodes and streams
 * Fails:    -ENODEV where there is no GPU of xe; a GPU that cannot be sampled is noted with the reason
 * Why by request: sampling keeps a GPU awake, and was not run on one yet
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/intel/driver.h"
#include "collect/intel/eu_stream.h"
#include "event/xe_abi.h"

enum {
	GPUS_MOST = 16,
	FIRST_MINOR = 128,
	LAST_MINOR = 191,
	CYCLES_MOST = 100000,
	RING_MIB_MOST = 1024,
	TELL_NS = 100000000,
	DRIVER_NS = 20000000
};

struct gpu {
	int node; /* owned */
	uint32_t device;
	struct eu_stream_facts facts;
	struct eu_stream *stream; /* owned */
	uint32_t stalls[EU_STALL_REASONS];
	uint64_t hardware_losses; /* written so far */
	uint64_t lost;
};

struct intel {
	struct recording *recording; /* borrowed */
	struct gpu gpus[GPUS_MOST];
	size_t count;
	uint64_t told_ns;
	uint32_t cycles_string;
	struct driver *driver; /* owned; NULL: not wanted, or not to be had */
};

static const struct collector_option collector_options[] = {
	{"CYCLES",
	 "so many of the GPU's cycles between two samples; the driver's usual rate otherwise"},
	{"driver", "what is handed to GPUs, by whom, and which kernels are in it, as the drivers xe and "
		   "i915 see it with rights: done anyway; -driver: not"},
	{"ring=MIB", "so much of that may wait to be read, a power of two up to 1024; otherwise 16"},
	{NULL, NULL},
};

static uint64_t read_cycles(const char *option)
{
	char *end;
	const unsigned long cycles = strtoul(option, &end, 10);

	return *end || end == option || cycles > CYCLES_MOST ? 0 : cycles;
}

/* 0: it is none. */
static uint32_t read_ring(const char *option)
{
	static const char before[] = "ring=";
	unsigned long size;
	char *end;

	if (strncmp(option, before, sizeof(before) - 1) != 0)
		return 0;
	option += sizeof(before) - 1;
	size = strtoul(option, &end, 10);
	return *end || end == option || size > RING_MIB_MOST || (size & (size - 1)) ? 0
										    : (uint32_t)size;
}

static bool has_option(const char *option)
{
	return read_cycles(option) != 0 || read_ring(option) != 0 || strcmp(option, "-driver") == 0;
}

static void choose(struct session_options *session, bool on, const char *option)
{
	session->intel = on;
	if (!on || !option) {
		session->intel_cycles = 0;
		session->intel_no_driver = false;
	} else if (read_cycles(option)) {
		session->intel_cycles = read_cycles(option);
	} else if (read_ring(option)) {
		session->intel_ring_mib = read_ring(option);
	} else {
		session->intel_no_driver = strcmp(option, "-driver") == 0;
	}
}

static bool is_chosen(const struct session_options *session)
{
	return session->intel;
}

/* ---- GPUs -------------------------------------------------------------------------------------- */

/* A render node of xe; -1: it is another driver's, or there is none. */
static int open_node(int minor)
{
	char path[64], name[16] = "";
	struct xe_version version = {.name_length = sizeof(name) - 1, .name = name};
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (ioctl(fd, XE_IOCTL_VERSION, &version) == 0 && strcmp(name, "xe") == 0)
		return fd;
	close(fd);
	return -1;
}

/* On PCI "0000:03:00.0". */
static void find_address(int minor, char *ret_address, size_t size)
{
	char path[64], target[512];
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%d/device", minor);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	snprintf(ret_address, size, "%s", length > 0 ? basename(target) : path);
}

static void note_failed(struct intel *intel, const char *address)
{
	char text[700];

	snprintf(text, sizeof(text), "GPU %s: %s", address, error_text());
	recording_note(intel->recording, "intel", COLLECTOR_PARTIAL, 0, text);
	recording_warn(intel->recording, text);
	error_clear();
}

static void describe(struct intel *intel, struct gpu *gpu, const char *address)
{
	char name[80];
	const struct device_facts facts = {
		.address = address, .name = name, .vendor = "Intel", .driver = "xe"};

	snprintf(name, sizeof(name), "Intel GPU %u.%02u", gpu->facts.major, gpu->facts.minor);
	gpu->device = devices_meet(intel->recording, &facts);
	for (uint32_t i = 0; i < gpu->facts.layout->reasons; i++)
		gpu->stalls[i] = recording_string(intel->recording, gpu->facts.layout->stalls[i]);
}

static void add_gpu(struct intel *intel, int minor, uint64_t cycles)
{
	struct gpu *gpu = &intel->gpus[intel->count];
	char address[300];

	*gpu = (struct gpu){.node = open_node(minor)};
	if (gpu->node < 0)
		return;
	find_address(minor, address, sizeof(address));
	if (eu_stream_ask(gpu->node, cycles, &gpu->facts) ||
	    eu_stream_open(gpu->node, &gpu->facts, &gpu->stream)) {
		note_failed(intel, address);
		close(gpu->node);
		return;
	}
	describe(intel, gpu, address);
	intel->count++;
}

/* ---- samples ----------------------------------------------------------------------------------- */

struct telling {
	struct intel *intel;
	struct gpu *gpu;
	uint64_t until_ns;
};

static void on_counts(void *context, uint64_t address, const uint32_t *counts, uint32_t *note)
{
	const struct telling *telling = context;
	const struct gpu *gpu = telling->gpu;
	const struct trace_source source = {.source = gpu->device, .clock = CLOCK_ID_MONOTONIC};
	struct event_instruction_sample row = {
		.begin = telling->intel->told_ns,
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

static void put_loss(struct intel *intel, uint64_t count, uint64_t until_ns)
{
	const struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	const struct event_loss row = {.begin = intel->told_ns,
				       .end = until_ns,
				       .kind = EVENT_INSTRUCTION_SAMPLE,
				       .reason = LOSS_RING_FULL,
				       .count = count};

	if (count)
		trace_writer_row(intel->recording->writer, EVENT_LOSS, &source, &row);
}

static void tell(struct intel *intel)
{
	const uint64_t now_ns = host_clocks_now_ns();

	for (size_t i = 0; i < intel->count; i++) {
		struct gpu *gpu = &intel->gpus[i];
		struct telling telling = {intel, gpu, now_ns};
		struct eu_stream_counts counts;

		eu_stream_tell(gpu->stream, on_counts, &telling);
		eu_stream_counted(gpu->stream, &counts);
		put_loss(intel,
			 counts.lost - gpu->lost + counts.hardware_losses - gpu->hardware_losses,
			 now_ns);
		gpu->lost = counts.lost;
		gpu->hardware_losses = counts.hardware_losses;
	}
	intel->told_ns = now_ns;
}

/* ---- the collector ----------------------------------------------------------------------------- */

static void close_state(void *state)
{
	struct intel *intel = state;

	if (!intel)
		return;
	driver_close(intel->driver);
	for (size_t i = 0; i < intel->count; i++)
		eu_stream_stop(intel->gpus[i].stream);
	tell(intel);
	for (size_t i = 0; i < intel->count; i++) {
		struct gpu *gpu = &intel->gpus[i];
		struct eu_stream_counts counts;
		char text[240];

		eu_stream_counted(gpu->stream, &counts);
		snprintf(text, sizeof(text),
			 "%" PRIu64 " rows of EU stalls, one sample in %" PRIu64
			 " cycles; the hardware lost some %" PRIu64 " times; the GPU was reset "
			 "%" PRIu64 " times",
			 counts.rows, gpu->facts.rate_cycles, counts.hardware_losses,
			 counts.resets);
		recording_note(intel->recording, "intel",
			       counts.hardware_losses || counts.resets ? COLLECTOR_PARTIAL
								       : COLLECTOR_AVAILABLE,
			       0, text);
		eu_stream_close(gpu->stream);
		close(gpu->node);
	}
	free(intel);
}

static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	struct intel *intel;

	*ret_state = NULL;
	if (!session->intel)
		return 0;
	intel = calloc(1, sizeof(*intel));
	if (!intel)
		return error_set(-ENOMEM, "intel: out of memory");
	intel->recording = recording;
	intel->told_ns = host_clocks_now_ns();
	intel->cycles_string = recording_string(recording, "cycles");
	for (int minor = FIRST_MINOR; minor <= LAST_MINOR && intel->count < GPUS_MOST; minor++)
		add_gpu(intel, minor, session->intel_cycles);
	if (!session->intel_no_driver &&
	    driver_open(recording, session->intel_ring_mib << 20,
			session->drm_hz && session->drm_jobs, &intel->driver)) {
		recording_note(recording, "intel", COLLECTOR_PARTIAL, 0, error_text());
		error_clear();
	}
	if (!intel->count && !intel->driver) {
		free(intel);
		return error_set(-ENODEV,
				 "no GPU whose instructions can be sampled by Intel's driver xe, and "
				 "none of xe or i915 whose submissions can be seen (duet doctor says "
				 "what is missing)");
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

	return intel->driver ? DRIVER_NS : TELL_NS;
}

static void drain(void *state)
{
	struct intel *intel = state;

	if (intel->driver)
		driver_drain(intel->driver);
	if (host_clocks_now_ns() - intel->told_ns >= TELL_NS)
		tell(intel);
}

static void catch_up(void *state)
{
	struct intel *intel = state;

	if (intel->driver)
		driver_drain(intel->driver);
	tell(intel);
}

static void each_second(void *state, uint64_t now_ns)
{
	struct intel *intel = state;

	if (intel->driver)
		driver_each_second(intel->driver, now_ns);
}

static int watch(void *state, pid_t pid)
{
	return 0;
}

static int attach(void *state, pid_t pid, int pid_fd)
{
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

extern const struct collector intel_collector;
const struct collector intel_collector = {
	.name = "intel",
	.help = "Intel's GPUs by their driver xe: which instructions execute, and why others wait",
	.options = collector_options,
	.has_option = has_option,
	.by_request = true,
	.choose = choose,
	.is_chosen = is_chosen,
	.work = &work,
};
