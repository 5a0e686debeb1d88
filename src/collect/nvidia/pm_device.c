/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_device.c - PM sampling of one GPU, in a thread of its own
 *
 * Runs in:  the GPU's thread, which the main thread starts and stops
 * Gets:     a GPU, a rate
 * Gives:    rows, losses and notes in a series
 * Owns:     the sampling object, its configuration and its counter data
 * Fails:    a refusal is reported with CUPTI's text; a later failure ends the GPU's series with a
 *           note
 * Why one thread: all calls are made in one thread, because the kernel checks profiling rights per
 *           thread, and the main thread drops its rights once the recording runs. Decoding waits
 *           for the driver, which must not delay other threads.
 * Why a decoding every 10 ms: the hardware's buffer of 64 MiB holds some tenths of a second of
 *           samples at 10 kHz on a GPU with 132 multiprocessors; at 100 decodings per second the
 *           cost of wake-ups is negligible.
 */
#include "collect/nvidia/pm_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"
#include "collect/host_clocks.h"

enum {
	/* 10 MB on an H200. Clearing a larger one takes longer: with 5000 samples at 10 kHz the
	 * hardware's buffer became full meanwhile. */
	IMAGE_SAMPLES = 1024,
	HARDWARE_BYTES = 64 << 20,
	MIN_WAIT_NS = 10000000,
	MAX_WAIT_NS = 100000000,
	SAMPLES_A_WAIT = 16,
	SLACK_NS = 2000000, /* tolerance for times of the GPU */
	MAX_DECODES = 256,  /* consecutive decodings while data keeps coming */
	MAX_DRAINS = 50,
	MAX_FAILURES = 5,
	NAP_NS = 1000000,
	SERIES_SLOTS = PM_METRICS,
	ROOM_SECONDS = 5,
	MIN_ROWS = 1 << 14,
	MAX_ROWS = 1 << 20
};
#define OPEN_MS 30000 /* limit unless DUET_PM_WAIT_MS overrides it */

#define PM_CALL(device, name, params) CUPTI_CALL(&(device)->cupti, name, params)

/* ---- words ----------------------------------------------------------------------------------- */

static void refuse(struct pm_device *device, const char *text)
{
	snprintf(device->refusal, sizeof(device->refusal), "%s", text);
}

/* Refuses with CUPTI's result and the text of the table. */
static bool fail_reported(struct pm_device *device)
{
	cupti_format_failure(&device->cupti, device->refusal, sizeof(device->refusal));
	return false;
}

static void put_note(struct pm_device *device, enum pm_note which, const char *text)
{
	char *room = device->notes[which];

	if (!*room)
		snprintf(room, PM_TEXT_BYTES, "PM sampling of %s (%s): %.511s", device->gpu.name,
			 device->gpu.uuid, text);
	series_note(&device->series, room, 0);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct pm_moment now(struct pm_device *device)
{
	struct pm_moment moment = {.wall = wall_ns()};

	if (!PM_CALL(device, cuptiGetTimestamp, &moment.cupti))
		moment.cupti = 0;
	return moment;
}

static bool lies(uint64_t begin, uint64_t end, uint64_t from, uint64_t to)
{
	return begin < end && begin + SLACK_NS >= from && end <= to + SLACK_NS;
}

/* Finds the clock of the samples' times, which is not documented: either the one that was given to
 * CUPTI (as on an H200 with CUPTI 13.0), or its default. It is the clock whose times bracket the
 * end of the first sample, because sampling started before it and decoding ended after it. The
 * first sample begins when the device was enabled, up to 0.6 s before sampling started. */
static bool choose_clock(struct pm_device *device, uint64_t end)
{
	struct pm_moment to = now(device);
	uint32_t clock = 0;

	if (lies(end - 1, end, device->from.cupti, to.cupti))
		clock = device->clock;
	else if (lies(end - 1, end, device->from.wall, to.wall))
		clock = HOST_CLOCK_REALTIME;
	if (clock == HOST_CLOCK_REALTIME)
		put_note(device, PM_NOTE_CLOCK,
			 "times of samples are less exact: CUPTI took them from CLOCK_REALTIME "
			 "instead of duet's clock");
	if (!clock)
		put_note(device, PM_NOTE_CLOCK,
			 "times of samples are of an unknown clock, so they cannot be placed and "
			 "sampling was stopped");
	atomic_store(&device->rows_clock, clock);
	device->has_no_clock = !clock;
	return clock;
}

static uint64_t from_of(const struct pm_device *device)
{
	return device->rows_clock == device->clock ? device->from.cupti : device->from.wall;
}

static uint64_t to_now(struct pm_device *device)
{
	struct pm_moment to = now(device);

	return device->rows_clock == device->clock ? to.cupti : to.wall;
}

/* ---- begin ----------------------------------------------------------------------------------- */

static bool refuse_support(struct pm_device *device,
			   const struct cupti_profiler_device_supported_params *params)
{
	const struct {
		uint32_t level;
		const char *text;
	} reasons[] = {
		{params->ret_virtual_gpu,
		 "this virtual GPU may not be profiled; ask the administrator to enable its "
		 "profiling in the hypervisor"},
		{params->ret_confidential_compute,
		 "GPUs in confidential computing are not profiled"},
		{params->ret_sli, "GPUs that are joined by SLI cannot be profiled; switch SLI off"},
		{params->ret_cmp, "mining cards (CMP) are not profiled"},
		{params->ret_wsl, "PM sampling does not work in WSL"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
		    reasons[i].level == CUPTI_PROFILER_CONFIGURATION_DISABLED) {
			refuse(device, reasons[i].text);
			return false;
		}
	refuse(device, "this libcupti has no PM sampling of this GPU; set DUET_CUPTI to the "
		       "libcupti of a newer CUDA");
	return false;
}

static bool ask_device(struct pm_device *device)
{
	struct cupti_profiler_device_supported_params support = {
		.struct_bytes = CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE,
		.device = (CUdevice)device->gpu.index,
		.api = CUPTI_PROFILER_PM_SAMPLING};
	struct cupti_chip_name_params chip = {.struct_bytes = sizeof(chip),
					      .device_index = device->gpu.index};

	if (!PM_CALL(device, cuptiProfilerDeviceSupported, &support))
		return fail_reported(device);
	if (support.ret_is_supported != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
		return refuse_support(device, &support);
	if (!PM_CALL(device, cuptiDeviceGetChipName, &chip) || !chip.ret_name)
		return fail_reported(device);
	snprintf(device->chip, sizeof(device->chip), "%s", chip.ret_name);
	return true;
}

/* NULL: not reported; then all counters of the chip are assumed to exist. */
static uint8_t *ask_availability(struct pm_device *device)
{
	struct cupti_pm_sampling_counter_availability_params params = {
		.struct_bytes = sizeof(params), .device_index = device->gpu.index};

	if (!PM_CALL(device, cuptiPmSamplingGetCounterAvailability, &params))
		return NULL;
	params.image = calloc(1, params.image_bytes + 1);
	if (params.image && PM_CALL(device, cuptiPmSamplingGetCounterAvailability, &params))
		return params.image;
	free(params.image);
	return NULL;
}

static bool choose_metrics(struct pm_device *device)
{
	uint8_t *availability = ask_availability(device);
	bool is_good = pm_set_open(&device->set, &device->cupti, device->chip, availability,
				   device->unwanted);

	free(availability);
	if (!is_good)
		return fail_reported(device);
	return true;
}

static bool configure(struct pm_device *device)
{
	struct cupti_pm_sampling_set_config_params params = {
		.struct_bytes = sizeof(params),
		.object = device->object,
		.config_bytes = device->set.config_bytes,
		.config = device->set.config,
		.hardware_buffer_bytes = HARDWARE_BYTES,
		.interval = device->samples.interval_ns,
		.trigger_mode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
		.append_mode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST};

	/* An older libcupti rejects a struct that is longer than its own. */
	if (device->cupti.version < CUPTI_WITH_APPEND_MODE)
		params.struct_bytes =
			offsetof(struct cupti_pm_sampling_set_config_params, append_mode);
	if (device->trigger == PM_TRIGGER_CYCLE) {
		params.trigger_mode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
		params.interval = device->cycles;
	}
	if (PM_CALL(device, cuptiPmSamplingSetConfig, &params))
		return true;
	fail_reported(device);
	if (device->cupti.result == CUPTI_ERROR_INVALID_PARAMETER)
		snprintf(device->refusal, sizeof(device->refusal),
			 "the GPU does not accept %u samples a second; ask for fewer "
			 "(nvidia:pm=%uHz)",
			 device->hz, device->hz / 10 + 1);
	return false;
}

static bool clear_image(struct pm_device *device)
{
	struct cupti_pm_sampling_counter_data_initialize_params params = {
		.struct_bytes = sizeof(params),
		.object = device->object,
		.counter_data_bytes = device->image_bytes,
		.counter_data = device->image};

	return PM_CALL(device, cuptiPmSamplingCounterDataImageInitialize, &params);
}

static bool make_image(struct pm_device *device)
{
	struct cupti_pm_sampling_counter_data_size_params params = {
		.struct_bytes = sizeof(params),
		.object = device->object,
		.metric_names = device->set.names,
		.metric_count = device->set.count,
		.max_sample_count = IMAGE_SAMPLES};

	if (!PM_CALL(device, cuptiPmSamplingGetCounterDataSize, &params))
		return fail_reported(device);
	device->image_bytes = params.ret_bytes;
	device->image = calloc(1, params.ret_bytes + 1);
	if (!device->image) {
		refuse(device, "out of memory");
		return false;
	}
	return clear_image(device) || fail_reported(device);
}

static bool start_sampling(struct pm_device *device)
{
	struct cupti_pm_sampling_start_params params = {.struct_bytes = sizeof(params),
							.object = device->object};

	device->from = now(device);
	device->is_first = true;
	return PM_CALL(device, cuptiPmSamplingStart, &params);
}

static bool enable(struct pm_device *device)
{
	struct cupti_pm_sampling_enable_params params = {.struct_bytes = sizeof(params),
							 .device_index = device->gpu.index};

	if (!PM_CALL(device, cuptiPmSamplingEnable, &params))
		return fail_reported(device);
	device->object = params.ret_object;
	return true;
}

static bool open_all(struct pm_device *device)
{
	return ask_device(device) && choose_metrics(device) && enable(device) &&
	       configure(device) && make_image(device) &&
	       (start_sampling(device) || fail_reported(device));
}

/* Safe on a half-opened device. */
static void close_all(struct pm_device *device)
{
	struct cupti_pm_sampling_disable_params params = {.struct_bytes = sizeof(params),
							  .object = device->object};

	if (device->object)
		PM_CALL(device, cuptiPmSamplingDisable, &params);
	device->object = NULL;
	pm_set_close(&device->set, &device->cupti);
	free(device->image);
	device->image = NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Writes one sample. The first one after a start began before it and is dropped.
 * False: the sample was not read; sampling stops after MAX_FAILURES of these, and without a clock.
 */
static bool take_sample(struct pm_device *device, size_t index, uint64_t until)
{
	struct cupti_pm_sampling_sample_info_params params = {.struct_bytes = sizeof(params),
							      .object = device->object,
							      .counter_data = device->image,
							      .counter_data_bytes =
								      device->image_bytes,
							      .sample_index = index};
	double values[PM_METRICS] = {0};

	if (!PM_CALL(device, cuptiPmSamplingCounterDataGetSampleInfo, &params))
		return false;
	if (device->is_first) {
		device->is_first = false;
		return device->rows_clock || choose_clock(device, params.ret_end_ns);
	}
	/* A sample whose time cannot be placed leaves a gap, like a missing one. */
	if (!lies(params.ret_start_ns, params.ret_end_ns, from_of(device), until))
		return true;
	if (!pm_set_evaluate(&device->set, &device->cupti, device->image, device->image_bytes,
			     index, values))
		return false;
	pm_samples_put(&device->samples, params.ret_start_ns, params.ret_end_ns, values);
	return true;
}

static bool take_samples(struct pm_device *device)
{
	struct cupti_pm_sampling_counter_data_info_params info = {.struct_bytes = sizeof(info),
								  .counter_data = device->image,
								  .counter_data_bytes =
									  device->image_bytes};
	uint64_t until;

	if (!PM_CALL(device, cuptiPmSamplingGetCounterDataInfo, &info))
		return false;
	until = to_now(device);
	for (size_t i = 0; i < info.ret_completed_count; i++) {
		bool had_clock = device->rows_clock;

		if (!take_sample(device, i, until))
			return false;
		if (!had_clock)
			until = to_now(device);
	}
	return !info.ret_completed_count || clear_image(device);
}

/* Results of a decoding beside the samples. */
struct outcome {
	bool has_overflowed, has_more, is_over;
};

static bool decode(struct pm_device *device, struct outcome *outcome)
{
	struct cupti_pm_sampling_decode_data_params params = {
		.struct_bytes = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
		.object = device->object,
		.counter_data = device->image,
		.counter_data_bytes = device->image_bytes};
	bool is_good = PM_CALL(device, cuptiPmSamplingDecodeData, &params);
	bool is_full = !is_good && device->cupti.result == CUPTI_ERROR_OUT_OF_MEMORY;

	outcome->has_overflowed |= is_full || params.ret_overflow;
	outcome->has_more =
		is_good &&
		params.ret_stop_reason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
	outcome->is_over = is_good && params.ret_stop_reason ==
					      CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	return (is_good || is_full) && take_samples(device);
}

static bool drain(struct pm_device *device, struct outcome *outcome)
{
	for (uint32_t i = 0; i < MAX_DECODES; i++) {
		if (!decode(device, outcome))
			return false;
		if (!outcome->has_more)
			break;
	}
	return true;
}

static void nap(uint64_t ns)
{
	const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
				      .tv_nsec = (long)(ns % 1000000000)};

	nanosleep(&time, NULL);
}

static bool stop_sampling(struct pm_device *device)
{
	struct cupti_pm_sampling_stop_params params = {.struct_bytes = sizeof(params),
						       .object = device->object};

	return PM_CALL(device, cuptiPmSamplingStop, &params);
}

static bool stop_and_drain(struct pm_device *device)
{
	struct outcome outcome = {0};
	bool is_good = stop_sampling(device);

	/* A decoding may end early and is continued. */
	for (uint32_t i = 0; is_good && i < MAX_DRAINS && !outcome.is_over; i++) {
		is_good = drain(device, &outcome);
		if (is_good && !outcome.is_over)
			nap(NAP_NS);
	}
	return is_good;
}

/* Restarts sampling after an overflow. The hardware keeps the oldest samples: when its buffer is
 * full, no more are taken until a restart. */
static bool restart(struct pm_device *device)
{
	device->restarts++;
	put_note(device, PM_NOTE_OVERFLOW,
		 "the hardware's buffer was full before the recorder read it, so samples are "
		 "missing where its rows have gaps; sample at a lower rate, or leave a processor "
		 "to the recorder");
	if (!stop_and_drain(device))
		return false;
	pm_samples_overflow(&device->samples);
	if (start_sampling(device))
		return true;
	/* On an H200 CUPTI 13.0 did not start again after an overflow (999). */
	close_all(device);
	*device->refusal = '\0';
	return open_all(device);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool go_on(struct pm_device *device)
{
	struct outcome outcome = {0};

	if (drain(device, &outcome))
		device->failures = 0;
	else if (device->has_no_clock || ++device->failures == MAX_FAILURES)
		return false;
	return !outcome.has_overflowed || restart(device);
}

static void note_end(struct pm_device *device)
{
	char text[512], why[448];

	if (device->has_no_clock)
		return;
	if (*device->refusal)
		snprintf(why, sizeof(why), "%.447s", device->refusal);
	else
		cupti_format_failure(&device->cupti, why, sizeof(why));
	snprintf(text, sizeof(text), "sampling ended before the recording: %s", why);
	put_note(device, PM_NOTE_END, text);
}

static void *run(void *argument)
{
	struct pm_device *device = argument;
	bool is_good = true;

	prctl(PR_SET_NAME, "nvidia-pm");
	if (!open_all(device)) {
		close_all(device);
		atomic_store(&device->state, PM_REFUSED);
		return NULL;
	}
	atomic_store(&device->state, PM_SAMPLING);
	while (!atomic_load(&device->is_known) && !atomic_load(&device->is_stopping))
		nap(NAP_NS);
	pm_samples_begin(&device->samples, device->device, host_clocks_now_ns());
	while (is_good && !atomic_load(&device->is_stopping)) {
		nap(device->wait_ns);
		is_good = go_on(device);
	}
	if (is_good)
		stop_and_drain(device);
	else
		note_end(device);
	pm_samples_end(&device->samples, to_now(device), host_clocks_now_ns());
	close_all(device);
	atomic_store(&device->state, PM_ENDED);
	return NULL;
}

static uint64_t wait_of(uint32_t hz)
{
	uint64_t wait_ns = UINT64_C(1000000000) * SAMPLES_A_WAIT / hz;

	if (wait_ns < MIN_WAIT_NS)
		return MIN_WAIT_NS;
	return wait_ns < MAX_WAIT_NS ? wait_ns : MAX_WAIT_NS;
}

static size_t rows_of(uint32_t hz)
{
	size_t rows = (size_t)hz * PM_METRICS * ROOM_SECONDS;

	if (rows < MIN_ROWS)
		return MIN_ROWS;
	return rows < MAX_ROWS ? rows : MAX_ROWS;
}

static uint64_t open_ms(void)
{
	const char *asked = getenv("DUET_PM_WAIT_MS");
	uint64_t ms = asked ? strtoull(asked, NULL, 10) : 0;

	return ms && ms < 1000 * OPEN_MS ? ms : OPEN_MS;
}

static int wait_for_it(const struct pm_device *device)
{
	const uint64_t max_ms = open_ms(), end_ns = host_clocks_now_ns() + max_ms * 1000000;

	while (atomic_load(&device->state) == PM_OPENING) {
		if (host_clocks_now_ns() >= end_ns)
			return error_set(
				-ETIMEDOUT,
				"the driver did not answer within %llu ms (DUET_PM_WAIT_MS): see "
				"dmesg for 'Xid'",
				(unsigned long long)max_ms);
		nap(NAP_NS);
	}
	if (atomic_load(&device->state) == PM_REFUSED)
		return error_set(-EIO, "%s", device->refusal);
	return 0;
}

int pm_device_start(struct pm_device *device)
{
	device->trigger = pm_trigger_of(device->gpu.capability);
	device->cycles = pm_cycles_of(device->gpu.sm_hz, device->hz);
	device->wait_ns = wait_of(device->hz);
	if (series_open(&device->series, SERIES_SLOTS, rows_of(device->hz)))
		return error_set(-ENOMEM, "out of memory");
	pm_samples_init(&device->samples, &device->series, &device->set,
			UINT64_C(1000000000) / device->hz);
	device->is_started = thread_start(&device->thread, run, device);
	if (!device->is_started)
		return error_set(-EAGAIN, "cannot start its thread");
	return wait_for_it(device);
}

void pm_device_set_id(struct pm_device *device, uint32_t id, uint32_t clock)
{
	device->device = id;
	device->clock = clock;
	atomic_store(&device->is_known, true);
}

bool pm_device_stop(struct pm_device *device, uint64_t wait_ns)
{
	uint64_t end_ns = host_clocks_now_ns() + wait_ns;
	int state;

	if (!device->is_started)
		return true;
	atomic_store(&device->is_stopping, true);
	while ((state = atomic_load(&device->state)) != PM_ENDED && state != PM_REFUSED) {
		if (host_clocks_now_ns() >= end_ns)
			return false;
		nap(NAP_NS);
	}
	pthread_join(device->thread, NULL);
	device->is_started = false;
	return true;
}

void pm_device_free(struct pm_device *device)
{
	if (!device)
		return;
	series_close(&device->series);
	free(device);
}
