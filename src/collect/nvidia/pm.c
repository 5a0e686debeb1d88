/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm.c - PM sampling: hardware counters of whole GPUs, thousands of times a second
 *
 * Runs in:  the recorder's main thread; each GPU has a thread of its own (pm_device.c)
 * Gets:     a rate
 * Gives:    devices, clocks and their pairs, rows, losses, notes
 * Owns:     the GPUs' threads and series
 * Fails:    a GPU that refuses to be sampled is noted with the remedy; the recording goes on
 * Why:      The recorder samples, not the guest, because the counters are of the whole GPU and of
 *           all processes, and a GPU allows one sampler. Nothing is loaded into the program, and
 *           the program needs no rights.
 */
#include "collect/nvidia/pm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/counter/series_rows.h"
#include "collect/counter/source.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/holders.h"
#include "collect/nvidia/nvidia.h"
#include "collect/nvidia/pm_device.h"

enum {
	SOURCE_FIRST = 32, /* first source number of rows; lower ones are those of counters */
	BRACKETS = 20,     /* number of clock readings, of which the narrowest is used */
	BRACKETS_FIRST = 200,
	OWN_ROWS = 256,
	OWN_SOURCE = SOURCE_FIRST - 1
};
#define STOP_NS UINT64_C(3000000000)

struct sampled {
	struct pm_device *device; /* owned */
	uint64_t refused;         /* refused rows that are written as losses already */
	uint64_t cpu_ns;          /* CPU time of its thread at the last reading */
	uint32_t slot;            /* its slot in pm.own */
};

struct pm {
	struct recording *recording;
	struct cupti cupti;
	bool has_profiler; /* cuptiProfilerInitialize succeeded once and must be undone once */
	bool is_one_left;  /* a thread hangs inside CUPTI and may return at any time */
	struct sampled sampled[MAX_PM_GPUS];
	size_t count;
	struct series own; /* CPU time of the sampling threads */
	uint64_t counted_ns;
};

static const char clocks_held[] =
	"during PM sampling, the driver may hold the GPU's clocks at a fixed rate, so kernels may "
	"take longer or more constant time than without it; compare only recordings of one kind";

/* ---- options --------------------------------------------------------------------------------- */

int pm_option_read(const char *option, uint32_t *ret_hz)
{
	const char *text = option + strlen("pm");
	unsigned long long hz;
	char *end;

	if (strncmp(option, "pm", strlen("pm")) != 0 || (*text && *text != '='))
		return -ENOENT;
	if (!*text) {
		*ret_hz = PM_USUAL_HZ;
		return 0;
	}
	text++;
	hz = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (hz && strcmp(end, "kHz") == 0 && hz < PM_MAX_HZ)
		hz *= 1000;
	else if (hz && *end && strcmp(end, "Hz") != 0)
		hz = 0;
	if (hz < PM_LEAST_HZ || hz > PM_MAX_HZ)
		return error_set(-EINVAL,
				 "nvidia:%s: the rate is from %u to %u samples a second of each "
				 "GPU, for example nvidia:pm=1000Hz or nvidia:pm=10kHz",
				 option, PM_LEAST_HZ, PM_MAX_HZ);
	*ret_hz = (uint32_t)hz;
	return 0;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void put_note(struct pm *pm, enum event_collector_state state, const char *text)
{
	recording_note(pm->recording, "nvidia", state, 0, text);
}

static void add_holders(char *text, size_t size)
{
	struct holder holders[MAX_HOLDERS];
	size_t count = holders_find("", false, holders), used = strlen(text);

	if (!count || used + 16 > size)
		return;
	used += (size_t)snprintf(text + used, size - used, "; running: ");
	holders_format(holders, count, text + used, size - used);
}

/* Adds the GPU's name, and possible holders of the counters, to the error chain. */
static void word_refusal(const struct pm_device *device, int error)
{
	char text[1024];

	snprintf(text, sizeof(text), "no PM sampling of %s (%s): %s", device->gpu.name,
		 device->gpu.uuid, error_text());
	if (device->cupti.result == CUPTI_ERROR_HARDWARE_BUSY)
		add_holders(text, sizeof(text));
	error_set(error, "%s", text);
}

static void list_left_out(const struct pm_device *device, char *text, size_t size)
{
	const char *before = "; not on this chip, or not together with the others: ";
	size_t used = strlen(text);

	for (size_t i = 0; i < PM_METRICS && used < size; i++) {
		if (!device->set.is_left_out[i])
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", before,
					 pm_metrics[i].name);
		before = ", ";
	}
}

static void note_sampled(struct pm *pm, const struct pm_device *device)
{
	char text[1536];

	snprintf(text, sizeof(text), "PM sampling of %s (%s, %s): %zu counters, %u times a second",
		 device->gpu.name, device->gpu.uuid, device->chip, device->set.count, device->hz);
	if (device->trigger == PM_TRIGGER_CYCLE)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", approximately: this chip takes a sample every %llu cycles of its "
			 "system clock",
			 (unsigned long long)device->cycles);
	list_left_out(device, text, sizeof(text));
	put_note(pm, COLLECTOR_AVAILABLE, text);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static uint32_t describe_clock(struct recording *recording, uint32_t device)
{
	const struct event_clock clock = {.id = ++recording->last_clock,
					  .type = CLOCK_TYPE_DEVICE,
					  .device = device,
					  .frequency_hz = 1000000000,
					  .begin_ns = host_clocks_now_ns()};

	recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_CLOCK, &clock);
	return clock.id;
}

/* Reads cuptiGetTimestamp between two readings of the host's clock several times, and keeps the
 * narrowest. False: it failed. */
static bool read_pair(struct pm *pm, unsigned int times, struct event_clock_pair *ret_pair)
{
	bool has_one = false;

	for (unsigned int i = 0; i < times; i++) {
		struct event_clock_pair pair = {.host_lower_ns = host_clocks_now_ns()};

		if (!CUPTI_CALL(&pm->cupti, cuptiGetTimestamp, &pair.time))
			return has_one;
		pair.host_upper_ns = host_clocks_now_ns();
		if (has_one && pair.host_upper_ns - pair.host_lower_ns >=
				       ret_pair->host_upper_ns - ret_pair->host_lower_ns)
			continue;
		*ret_pair = pair;
		has_one = true;
	}
	return has_one;
}

static void write_pair(struct pm *pm, unsigned int times)
{
	struct event_clock_pair pair;

	if (!read_pair(pm, times, &pair))
		return;
	for (size_t i = 0; i < pm->count; i++) {
		const struct trace_source source = {.source = OWN_SOURCE,
						    .clock = pm->sampled[i].device->clock};

		trace_writer_row(pm->recording->writer, EVENT_CLOCK_PAIR, &source, &pair);
	}
}

/* ---- begin ----------------------------------------------------------------------------------- */

static int open_profiler(struct pm *pm)
{
	struct cupti_profiler_initialize_params params = {.struct_bytes = sizeof(params)};
	char text[PM_TEXT_BYTES];
	int error = cupti_open_driver(&pm->cupti);

	if (!error)
		error = cupti_open_library(&pm->cupti, CUPTI_WITH_PM_SAMPLING);
	if (error)
		return error_note(error, "no PM sampling");
	/* Done before sampling starts, so that all times are of the host's clock. If it is refused,
	 * the times are CLOCK_REALTIME, and the clock pairs record the offset. */
	CUPTI_CALL(&pm->cupti, cuptiActivityRegisterTimestampCallback, host_clocks_now_ns);
	pm->has_profiler = CUPTI_CALL(&pm->cupti, cuptiProfilerInitialize, &params);
	if (pm->has_profiler)
		return 0;
	cupti_format_failure(&pm->cupti, text, sizeof(text));
	return error_set(-EIO, "no PM sampling: %s", text);
}

/* Gets the device's id, which is shared with its commands and NVML's values. */
static uint32_t meet_device(struct recording *recording, const struct pm_gpu *gpu)
{
	/* A MIG instance has the address of the whole GPU, which must not identify it. */
	const bool has_address = *gpu->address && !gpu->is_instance;
	const struct device_facts facts = {.uuid = gpu->uuid,
					   .address = has_address ? gpu->address : NULL,
					   .name = gpu->name,
					   .vendor = "NVIDIA Corporation",
					   .memory_bytes = gpu->memory_bytes};

	return devices_meet(recording, &facts);
}

static int start_gpu(struct pm_device *device)
{
	uint32_t capability = device->gpu.capability;

	if (pm_trigger_of(capability) == PM_TRIGGER_NONE)
		return error_set(
			-ENOTSUP,
			"its compute capability is %u.%u; PM sampling needs 7.5 (Turing) or newer",
			capability / 10, capability % 10);
	return pm_device_start(device);
}

static int open_gpu(struct pm *pm, const struct pm_gpu *gpu, uint32_t hz, uint64_t unwanted)
{
	struct pm_device *device = calloc(1, sizeof(*device));
	uint32_t id;
	int error;

	if (!device)
		return error_set(-ENOMEM, "PM sampling: out of memory");
	device->cupti = pm->cupti;
	device->gpu = *gpu;
	device->hz = hz;
	device->unwanted = unwanted;
	error = start_gpu(device);
	if (!error) {
		id = meet_device(pm->recording, gpu);
		/* The note comes first: with its id the device's thread may open it again. */
		note_sampled(pm, device);
		pm_device_set_id(device, id, describe_clock(pm->recording, id));
		pm->sampled[pm->count++] =
			(struct sampled){.device = device, .slot = SERIES_NO_SLOT};
		return 0;
	}
	word_refusal(device, error);
	/* A thread that still tries to start needs its memory. */
	if (pm_device_stop(device, 0))
		pm_device_free(device);
	else
		pm->is_one_left = true;
	return error;
}

/* Starts all GPUs. If none can be sampled, the first error is returned; otherwise each refusal is
 * noted. */
static int open_gpus(struct pm *pm, uint32_t hz, uint64_t unwanted)
{
	struct pm_gpu gpus[MAX_PM_GPUS];
	size_t count = pm_gpus_find(&pm->cupti, gpus), refused = 0;
	char refusals[MAX_PM_GPUS][PM_TEXT_BYTES];
	int error = count ? 0 : error_set(-ENODEV, "no PM sampling: CUDA finds no GPU");

	for (size_t i = 0; i < count; i++) {
		int gpu_error = open_gpu(pm, &gpus[i], hz, unwanted);

		if (gpu_error)
			snprintf(refusals[refused++], PM_TEXT_BYTES, "%s", error_text());
		error = error ? error : gpu_error;
	}
	if (!pm->count && refused)
		return error_set(error, "%s", refusals[0]);
	for (size_t i = 0; i < refused; i++) {
		put_note(pm, COLLECTOR_REFUSED, refusals[i]);
		recording_warn(pm->recording, refusals[i]);
	}
	return pm->count ? 0 : error;
}

int pm_open(struct recording *recording, uint32_t hz, const struct counter_choice *choice,
	    struct pm **ret_pm)
{
	struct pm *pm = calloc(1, sizeof(*pm));
	int error;

	if (!pm)
		return error_set(-ENOMEM, "PM sampling: out of memory");
	pm->recording = recording;
	pm->counted_ns = host_clocks_now_ns();
	error = series_open(&pm->own, MAX_PM_GPUS, OWN_ROWS);
	if (!error)
		error = open_profiler(pm);
	if (!error)
		error = open_gpus(pm, hz, counter_choice_left_out(choice, &nvidia_pm_source));
	if (error) {
		pm_close(pm);
		return error;
	}
	write_pair(pm, BRACKETS_FIRST);
	put_note(pm, COLLECTOR_AVAILABLE, clocks_held);
	recording_hint(recording, clocks_held);
	*ret_pm = pm;
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void pm_drain(struct pm *pm)
{
	static const struct trace_source own = {.source = OWN_SOURCE, .clock = CLOCK_ID_MONOTONIC};

	for (size_t i = 0; i < pm->count; i++) {
		struct pm_device *device = pm->sampled[i].device;
		uint32_t clock = atomic_load(&device->rows_clock);
		const struct trace_source source = {.source = SOURCE_FIRST + (uint32_t)i,
						    .clock = clock ? clock : CLOCK_ID_MONOTONIC};

		series_rows_write(&device->series, pm->recording, "nvidia", &source);
	}
	series_rows_write(&pm->own, pm->recording, "nvidia", &own);
}

static uint64_t thread_ns(const struct pm_device *device)
{
	struct timespec time;
	clockid_t clock;

	if (!device->is_started || pthread_getcpuclockid(device->thread, &clock) ||
	    clock_gettime(clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void put_cost(struct pm *pm, struct sampled *sampled, uint64_t now_ns)
{
	struct series_slot about = {.metric = &own_source.metrics[0],
				    .file = own_source.file,
				    .limit = 1000000000,
				    .interval_ns = 1000000000};
	uint64_t cpu_ns = thread_ns(sampled->device);

	snprintf(about.of.instance, sizeof(about.of.instance), "nvidia-pm %u",
		 sampled->device->gpu.index);
	if (cpu_ns <= sampled->cpu_ns)
		return;
	if (sampled->slot == SERIES_NO_SLOT)
		sampled->slot = series_begin(&pm->own, &about, pm->counted_ns);
	if (sampled->slot != SERIES_NO_SLOT)
		series_put(&pm->own, sampled->slot, pm->counted_ns, now_ns,
			   (int64_t)(cpu_ns - sampled->cpu_ns), 0);
	sampled->cpu_ns = cpu_ns;
}

static void put_costs(struct pm *pm, uint64_t now_ns)
{
	for (size_t i = 0; i < pm->count; i++) {
		put_cost(pm, &pm->sampled[i], now_ns);
		recording_lose_more(pm->recording, EVENT_COUNTER, LOSS_RING_FULL, pm->counted_ns,
				    now_ns, atomic_load(&pm->sampled[i].device->series.refused),
				    &pm->sampled[i].refused);
	}
	pm->counted_ns = now_ns;
}

void pm_each_second(struct pm *pm, uint64_t now_ns)
{
	write_pair(pm, BRACKETS);
	put_costs(pm, now_ns);
}

/* ---- end ------------------------------------------------------------------------------------- */

static void close_profiler(struct pm *pm)
{
	struct cupti_profiler_deinitialize_params params = {.struct_bytes = sizeof(params)};

	if (pm->has_profiler && !pm->is_one_left)
		CUPTI_CALL(&pm->cupti, cuptiProfilerDeInitialize, &params);
}

static bool stop_all(struct pm *pm)
{
	bool all = true;

	/* Signals all threads before the first one is joined. */
	for (size_t i = 0; i < pm->count; i++)
		atomic_store(&pm->sampled[i].device->is_stopping, true);
	for (size_t i = 0; i < pm->count; i++) {
		if (pm_device_stop(pm->sampled[i].device, STOP_NS))
			continue;
		all = false;
		put_note(pm, COLLECTOR_PARTIAL,
			 "PM sampling: the driver did not answer at the end of the recording, so "
			 "the last samples are missing");
	}
	return all;
}

void pm_close(struct pm *pm)
{
	bool all;

	if (!pm)
		return;
	if (pm->count) {
		write_pair(pm, BRACKETS_FIRST);
		put_costs(pm, host_clocks_now_ns());
	}
	all = stop_all(pm);
	pm_drain(pm);
	put_costs(pm, host_clocks_now_ns());
	for (size_t i = 0; i < pm->count; i++)
		trace_writer_end_entity(pm->recording->writer, EVENT_CLOCK,
					pm->sampled[i].device->clock, host_clocks_now_ns());
	if (!all)
		return;
	close_profiler(pm);
	for (size_t i = 0; i < pm->count; i++)
		pm_device_free(pm->sampled[i].device);
	series_close(&pm->own);
	free(pm);
}

/* ---- list of metrics ------------------------------------------------------------------------- */

/* For the list of metrics; nothing is read through it. */
const struct source nvidia_pm_source = {
	.name = "pm",
	.file = "cuptiPmSampling",
	.metrics = pm_metrics,
	.metrics_count = PM_METRICS,
	.group = GROUP_MACHINE,
	.own_hz = PM_MAX_HZ,
};
