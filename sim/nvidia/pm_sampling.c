/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/pm_sampling.c - counters of a device over time in the simulated CUPTI
 *
 * Runs in:  a program that has called cuInit
 * Gets:     a configuration
 * Gives:    a sample for each interval between start and stop
 * Owns:     one object for each device
 * Fails:    35 and 26 if SIM_NVIDIA requests it; overflow if samples were not decoded for too long
 * Why:      a sample follows from its number alone, so nothing runs between two decodings
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

#define AVAILABILITY_MAGIC UINT64_C(0x6c6961766d697353)

struct CUpti_PmSampling_Object {
	bool is_used, is_configured, is_running, is_full;
	uint32_t device_id, append_mode;
	uint64_t interval_ns, start_ns, stop_ns; /* CLOCK_MONOTONIC */
	uint64_t decoded_count, decoding_count;
	uint64_t first_ns; /* of the first start */
	bool was_full;     /* pm_full_ms has come */
};

static struct CUpti_PmSampling_Object objects[MAX_SIM_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t calls_inside; /* of cuptiPmSamplingEnable that take long */

bool sim_pm_is_inside(void)
{
	return calls_inside != 0;
}

static void hang(uint64_t device_index)
{
	const int64_t ms = sim_options()->pm_hang_ms;
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	if (!ms || device_index + 1 != sim_visible_count())
		return;
	calls_inside++;
	nanosleep(&time, NULL);
	calls_inside--;
}

static bool is_object(cupti_pm_sampling_object object)
{
	return object >= objects && object < objects + MAX_SIM_DEVICES && object->is_used;
}

/* -> 0 with the lock held */
static cupti_result hold(cupti_pm_sampling_object object)
{
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	pthread_mutex_lock(&lock);
	if (is_object(object))
		return CUPTI_SUCCESS;
	pthread_mutex_unlock(&lock);
	return CUPTI_ERROR_INVALID_PARAMETER;
}

static cupti_result release(cupti_result result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- objects --------------------------------------------------------------------------------- */

cupti_result
cuptiPmSamplingGetCounterAvailability(struct cupti_pm_sampling_counter_availability_params *params)
{
	const uint64_t image[2] = {AVAILABILITY_MAGIC, 1};

	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!params || params->device_index >= sim_visible_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim_options()->privileges)
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (params->image && params->image_bytes < sizeof(image))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (params->image)
		memcpy(params->image, image, sizeof(image));
	params->image_bytes = sizeof(image);
	return CUPTI_SUCCESS;
}

/* Without a driver 1, and not 999. */
cupti_result cuptiPmSamplingEnable(struct cupti_pm_sampling_enable_params *params)
{
	cupti_result result = CUPTI_SUCCESS;

	SIM_FAIL_AS_ASKED();
	if (!params || !sim_driver() || params->device_index >= sim_visible_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim_options()->privileges)
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (sim_options()->busy)
		return CUPTI_ERROR_HARDWARE_BUSY;
	hang(params->device_index);
	pthread_mutex_lock(&lock);
	if (objects[params->device_index].is_used) {
		result = CUPTI_ERROR_INVALID_OPERATION;
	} else {
		params->ret_object = &objects[params->device_index];
		*params->ret_object = (struct CUpti_PmSampling_Object){
			.is_used = true, .device_id = (uint32_t)params->device_index};
	}
	return release(result);
}

cupti_result cuptiPmSamplingDisable(struct cupti_pm_sampling_disable_params *params)
{
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	result = params ? hold(params->object) : CUPTI_ERROR_INVALID_PARAMETER;
	if (result)
		return result;
	*params->object = (struct CUpti_PmSampling_Object){0};
	return release(CUPTI_SUCCESS);
}

static cupti_result check_config(const struct cupti_pm_sampling_set_config_params *params)
{
	const struct sim_config_image *image = (const void *)params->config;

	if (!image || params->config_bytes < sizeof(*image) || !params->interval ||
	    image->magic != SIM_CONFIG_MAGIC)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (image->pass_count != 1)
		return CUPTI_ERROR_NOT_SUPPORTED;
	/* Turing and GA100 have no timer for it; Turing keeps the oldest alone. */
	if (params->trigger_mode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL &&
	    (sim_capability() == 75 || sim_capability() == 80))
		return CUPTI_ERROR_NOT_SUPPORTED;
	/* An older one knows no longer struct than its own. */
	if (sim_options()->version < 26 &&
	    params->struct_bytes >= CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

cupti_result cuptiPmSamplingSetConfig(struct cupti_pm_sampling_set_config_params *params)
{
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	result = params ? check_config(params) : CUPTI_ERROR_INVALID_PARAMETER;
	if (!result)
		result = hold(params->object);
	if (result)
		return result;
	if (params->object->is_running)
		return release(CUPTI_ERROR_INVALID_OPERATION);
	params->object->is_configured = true;
	params->object->append_mode = sim_options()->version < 26 ? 0 : params->append_mode;
	params->object->interval_ns = params->interval;
	if (params->trigger_mode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL)
		params->object->interval_ns =
			params->interval * 1000 / (uint64_t)sim_options()->sm_mhz;
	return release(CUPTI_SUCCESS);
}

cupti_result cuptiPmSamplingStart(struct cupti_pm_sampling_start_params *params)
{
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	result = params ? hold(params->object) : CUPTI_ERROR_INVALID_PARAMETER;
	if (result)
		return result;
	if (!params->object->is_configured || params->object->is_running)
		return release(CUPTI_ERROR_INVALID_OPERATION);
	params->object->is_running = true;
	params->object->is_full = false;
	params->object->decoded_count = 0;
	params->object->stop_ns = 0;
	params->object->start_ns = sim_now();
	if (!params->object->first_ns)
		params->object->first_ns = params->object->start_ns;
	return release(CUPTI_SUCCESS);
}

cupti_result cuptiPmSamplingStop(struct cupti_pm_sampling_stop_params *params)
{
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	result = params ? hold(params->object) : CUPTI_ERROR_INVALID_PARAMETER;
	if (result)
		return result;
	if (!params->object->is_running)
		return release(CUPTI_ERROR_INVALID_OPERATION);
	params->object->is_running = false;
	params->object->stop_ns = sim_now();
	return release(CUPTI_SUCCESS);
}

/* ---- counter data ---------------------------------------------------------------------------- */

cupti_result
cuptiPmSamplingGetCounterDataSize(struct cupti_pm_sampling_counter_data_size_params *params)
{
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	result = params && params->max_sample_count ? hold(params->object)
						    : CUPTI_ERROR_INVALID_PARAMETER;
	if (result)
		return result;
	/* 12.x knows no metrics before it has a configuration */
	if (!params->object->is_configured && sim_options()->version < 130000)
		return release(CUPTI_ERROR_INVALID_OPERATION);
	params->ret_bytes = sizeof(struct sim_data_image) +
			    params->max_sample_count * sizeof(struct sim_sample);
	return release(CUPTI_SUCCESS);
}

cupti_result cuptiPmSamplingCounterDataImageInitialize(
	struct cupti_pm_sampling_counter_data_initialize_params *params)
{
	struct sim_data_image *image;

	SIM_FAIL_AS_ASKED();
	if (!params || !params->counter_data ||
	    params->counter_data_bytes < sizeof(*image) + sizeof(struct sim_sample))
		return CUPTI_ERROR_INVALID_PARAMETER;
	image = (struct sim_data_image *)(void *)params->counter_data;
	image->magic = SIM_DATA_MAGIC;
	image->count = 0;
	image->capacity = (uint32_t)((params->counter_data_bytes - sizeof(*image)) /
				     sizeof(struct sim_sample));
	return CUPTI_SUCCESS;
}

static const struct sim_data_image *data_of(const uint8_t *bytes)
{
	const struct sim_data_image *image = (const void *)bytes;

	return image && image->magic == SIM_DATA_MAGIC ? image : NULL;
}

static bool is_full_now(const struct CUpti_PmSampling_Object *object, uint64_t end_ns)
{
	uint64_t full_ns = (uint64_t)sim_options()->pm_full_ms * 1000000;

	return full_ns && !object->was_full && end_ns >= object->first_ns + full_ns;
}

/* Under the lock: how many samples there are by now, and whether the hardware buffer has become
 * full. */
static uint64_t produced(struct CUpti_PmSampling_Object *object)
{
	uint64_t end_ns = object->stop_ns ? object->stop_ns : sim_now();
	uint64_t count = object->start_ns ? (end_ns - object->start_ns) / object->interval_ns : 0;
	uint64_t most = (uint64_t)sim_options()->pm_buffer;

	if (object->is_full)
		return object->decoding_count;
	if (is_full_now(object, end_ns)) {
		object->is_full = object->was_full = true;
		object->decoding_count =
			((uint64_t)sim_options()->pm_full_ms * 1000000) / object->interval_ns;
		return object->decoding_count;
	}
	if (count - object->decoded_count <= most)
		return count;
	if (object->append_mode == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST) {
		object->decoded_count = count - most;
		return count;
	}
	object->is_full = true;
	object->decoding_count = object->decoded_count + most;
	return object->decoding_count;
}

/* A time of CLOCK_MONOTONIC, as samples have it. */
static uint64_t shown(uint64_t host_ns)
{
	switch (sim_options()->pm_clock) {
	case 1:
		return host_ns + (sim_realtime() - sim_now());
	case 2:
		return host_ns / 2;
	default:
		return sim_stamp(host_ns);
	}
}

/* Under the lock. */
static void decode_one(struct CUpti_PmSampling_Object *object, struct sim_sample *ret_sample)
{
	uint64_t start_ns = object->start_ns + object->decoded_count * object->interval_ns;
	uint64_t end_ns = start_ns + object->interval_ns;
	double load = sim_options()->pm_load;

	if (load < 0)
		load = (double)sim_driver()->busy_ns(object->device_id, start_ns, end_ns) /
		       (double)object->interval_ns;
	*ret_sample = (struct sim_sample){.start_ns = shown(start_ns),
					  .end_ns = shown(end_ns),
					  .load = load,
					  .index = object->decoded_count++};
}

cupti_result cuptiPmSamplingDecodeData(struct cupti_pm_sampling_decode_data_params *params)
{
	static _Atomic uint64_t decodings;
	const int64_t other_every = sim_options()->pm_other_every;
	struct sim_data_image *image;
	uint64_t count;
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	image = params ? (struct sim_data_image *)(void *)params->counter_data : NULL;
	if (!data_of((const uint8_t *)image))
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = hold(params->object);
	if (result)
		return result;
	sim_stamp_pair();
	count = produced(params->object);
	while (params->object->decoded_count < count && image->count < image->capacity)
		decode_one(params->object, &image->samples[image->count++]);
	params->ret_overflow = params->object->is_full;
	params->ret_stop_reason = params->object->decoded_count < count
					  ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
					  : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	if (other_every && ++decodings % (uint64_t)other_every == 0)
		params->ret_stop_reason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER;
	return release(CUPTI_SUCCESS);
}

cupti_result
cuptiPmSamplingGetCounterDataInfo(struct cupti_pm_sampling_counter_data_info_params *params)
{
	const struct sim_data_image *image;

	SIM_FAIL_AS_ASKED();
	image = params ? data_of(params->counter_data) : NULL;
	if (!image)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_total_count = image->capacity;
	params->ret_populated_count = params->ret_completed_count = image->count;
	return CUPTI_SUCCESS;
}

cupti_result
cuptiPmSamplingCounterDataGetSampleInfo(struct cupti_pm_sampling_sample_info_params *params)
{
	const struct sim_data_image *image;

	SIM_FAIL_AS_ASKED();
	image = params ? data_of(params->counter_data) : NULL;
	if (!image || params->sample_index >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_start_ns = image->samples[params->sample_index].start_ns;
	params->ret_end_ns = image->samples[params->sample_index].end_ns;
	return CUPTI_SUCCESS;
}
