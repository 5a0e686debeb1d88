/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_pm.c - samples the counters of a whole GPU, from a process without
 * work on it
 *
 *	capture_pm OUT [seconds=N] [hz=N] [set=base|triage] [stamp=default|monotonic|biased]
 *	    [images=N]
 *		[device=N] [overflow=1] [context=1] [what=TEXT]
 *	capture_pm --metrics CHIP [base|triage]   which metrics of a set fit into one pass; no GPU
 *	                                          is needed
 *	capture_pm --offline FILE                 the images of a file, evaluated again; no GPU is
 *	                                          needed
 *
 * Runs in:  a process of its own
 * Gets:     counters of all processes' work
 * Gives:    a capture: images, samples, clocks
 * Owns:     the sampling object and the images
 * Fails:    with a fact for the call that failed, and status 1; 3: there is no usable driver
 * Why:      the configuration's image has to stay as long as sampling is on
 */
#include "capture_pm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MAX_SAMPLES = 256,
	NO_DRIVER = 3,
	HARDWARE_BYTES = 64 << 20,
	POLL_MS = 5,
	MAX_STOPS = 20,
	MAX_DRAINS = 50
};

struct sampler {
	struct capture_cupti cupti;
	struct capture_file *file;
	struct pm_host host;
	cupti_pm_sampling_object object;
	const char *out, *set, *what;
	char chip[64];
	uint8_t *availability;
	uint8_t *image;
	size_t image_bytes, device;
	double seconds, hz;
	enum capture_stamp stamp;
	uint32_t images_left, stops;
	bool has_overflow, has_context;
	uint64_t samples, decodes, overflows, full, others, first_ns, last_ns;
	uint32_t last_reason;
};

#define PM_CALL(sampler, name, params) CUPTI_CALL(&(sampler)->cupti, (sampler)->file, name, params)

static bool parse_word(struct sampler *sampler, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = 0;
	if (!strcmp(word, "seconds"))
		sampler->seconds = atof(value);
	else if (!strcmp(word, "hz"))
		sampler->hz = atof(value);
	else if (!strcmp(word, "set"))
		sampler->set = value;
	else if (!strcmp(word, "what"))
		sampler->what = value;
	else if (!strcmp(word, "images"))
		sampler->images_left = (uint32_t)atoi(value);
	else if (!strcmp(word, "device"))
		sampler->device = (size_t)atoi(value);
	else if (!strcmp(word, "overflow"))
		sampler->has_overflow = atoi(value) == 1;
	else if (!strcmp(word, "context"))
		sampler->has_context = atoi(value) == 1;
	else
		return !strcmp(word, "stamp") && capture_stamp_parse(value, &sampler->stamp);
	return sampler->seconds > 0 && sampler->hz > 0;
}

static bool open_driver(uint32_t *ret_version)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	uint32_t (*init)(unsigned flags) = NULL, (*version)(int *ret_version) = NULL, result;
	int number = 0;

	if (library) {
		*(void **)&init = dlsym(library, "cuInit");
		*(void **)&version = dlsym(library, "cuDriverGetVersion");
	}
	if (!init || !version) {
		fprintf(stderr, "capture_pm: no driver here\n");
		return false;
	}
	result = init(0);
	if (result)
		fprintf(stderr, "capture_pm: cuInit: %u\n", result);
	else if (version(&number) == 0)
		*ret_version = (uint32_t)number;
	return result == 0;
}

/* Whether sampling minds that there is a context in this process, or wants one. */
static void make_context(struct sampler *sampler)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	uint32_t (*retain)(void **ret_context, int device) = NULL, (*set)(void *context) = NULL;
	uint32_t result = 1;
	void *context = NULL;

	if (!sampler->has_context || !library)
		return;
	*(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
	*(void **)&set = dlsym(library, "cuCtxSetCurrent");
	if (retain && set) {
		result = retain(&context, (int)sampler->device);
		result = result ? result : set(context);
	}
	capture_fact(sampler->file, "pm.context", "%d result %u", result == 0, result);
}

static bool ask_device(struct sampler *sampler)
{
	struct cupti_profiler_initialize_params init = {
		.struct_bytes = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
	struct cupti_profiler_device_supported_params support = {
		.struct_bytes = CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE,
		.device = (CUdevice)sampler->device,
		.api = CUPTI_PROFILER_PM_SAMPLING};
	struct cupti_chip_name_params chip = {.struct_bytes =
						      CUpti_Device_GetChipName_Params_STRUCT_SIZE,
					      .device_index = sampler->device};

	if (!PM_CALL(sampler, cuptiProfilerInitialize, &init))
		return false;
	if (PM_CALL(sampler, cuptiDeviceGetChipName, &chip) && chip.ret_name)
		snprintf(sampler->chip, sizeof(sampler->chip), "%s", chip.ret_name);
	capture_fact(sampler->file, "chip", "%s", sampler->chip);
	if (PM_CALL(sampler, cuptiProfilerDeviceSupported, &support))
		capture_fact(sampler->file, "supported",
			     "all %u architecture %u sli %u vgpu %u confidential %u cmp %u wsl %u",
			     support.ret_is_supported, support.ret_architecture, support.ret_sli,
			     support.ret_virtual_gpu, support.ret_confidential_compute,
			     support.ret_cmp, support.ret_wsl);
	return *sampler->chip;
}

/* The host's half takes none for an answer: every counter of the chip counts as there. */
static void ask_availability(struct sampler *sampler)
{
	struct cupti_pm_sampling_counter_availability_params params = {
		.struct_bytes = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE,
		.device_index = sampler->device};
	bool good = PM_CALL(sampler, cuptiPmSamplingGetCounterAvailability, &params);

	if (good) {
		params.image = calloc(1, params.image_bytes + 1);
		good = params.image &&
		       PM_CALL(sampler, cuptiPmSamplingGetCounterAvailability, &params);
	}
	capture_fact(sampler->file, "pm.availability", good ? "%zu bytes" : "none, and on without",
		     params.image_bytes);
	if (!good) {
		free(params.image);
		return;
	}
	sampler->availability = params.image;
	capture_write(sampler->file, CAPTURE_PM_IMAGE, CAPTURE_IMAGE_AVAILABILITY,
		      &(struct capture_part){params.image, params.image_bytes}, 1);
}

static bool choose_metrics(struct sampler *sampler)
{
	const char *names[MAX_PM_METRICS];
	struct pm_host finder = {.cupti = &sampler->cupti, .file = sampler->file};
	size_t count =
		pm_host_names(&finder, sampler->chip, sampler->availability, sampler->set, names);
	uint64_t begin_ns = capture_now_ns();
	static char text[MAX_PM_METRICS * 160];
	int used = 0;

	if (!pm_host_choose(&sampler->host, sampler->chip, sampler->availability, names, count)) {
		capture_fact(sampler->file, "pm.metrics", "0 of %zu", count);
		return false;
	}
	capture_fact(sampler->file, "pm.metrics", "%zu of %zu", sampler->host.metric_count, count);
	capture_fact(sampler->file, "pm.choose_ns", "%llu",
		     (unsigned long long)(capture_now_ns() - begin_ns));
	for (size_t i = 0; i < sampler->host.metric_count && used < (int)sizeof(text) - 160; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%.158s\n",
				 sampler->host.metrics[i]);
	capture_write(sampler->file, CAPTURE_PM_METRICS, 0,
		      &(struct capture_part){text, (size_t)used}, 1);
	capture_write(sampler->file, CAPTURE_PM_IMAGE, CAPTURE_IMAGE_CONFIG,
		      &(struct capture_part){sampler->host.config, sampler->host.config_bytes}, 1);
	return true;
}

static bool enable(struct sampler *sampler)
{
	struct cupti_pm_sampling_enable_params on = {
		.struct_bytes = CUpti_PmSampling_Enable_Params_STRUCT_SIZE,
		.device_index = sampler->device};
	struct cupti_pm_sampling_set_config_params set = {
		.struct_bytes = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE,
		.config_bytes = sampler->host.config_bytes,
		.config = sampler->host.config,
		.hardware_buffer_bytes = sampler->has_overflow ? 1 << 20 : HARDWARE_BYTES,
		.interval = (uint64_t)(1e9 / sampler->hz),
		.trigger_mode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
		.append_mode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST};
	uint64_t begin_ns = capture_now_ns();

	if (!PM_CALL(sampler, cuptiPmSamplingEnable, &on))
		return false;
	capture_fact(sampler->file, "pm.enable_ns", "%llu",
		     (unsigned long long)(capture_now_ns() - begin_ns));
	sampler->object = set.object = on.ret_object;
	capture_fact(sampler->file, "pm.interval_ns", "%llu", (unsigned long long)set.interval);
	return PM_CALL(sampler, cuptiPmSamplingSetConfig, &set);
}

static bool clear_image(struct sampler *sampler)
{
	struct cupti_pm_sampling_counter_data_initialize_params params = {
		.struct_bytes = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
		.object = sampler->object,
		.counter_data_bytes = sampler->image_bytes,
		.counter_data = sampler->image};

	return PM_CALL(sampler, cuptiPmSamplingCounterDataImageInitialize, &params);
}

static bool make_image(struct sampler *sampler)
{
	struct cupti_pm_sampling_counter_data_size_params params = {
		.struct_bytes = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
		.object = sampler->object,
		.metric_names = sampler->host.metrics,
		.metric_count = sampler->host.metric_count,
		.max_sample_count = MAX_SAMPLES};

	if (!PM_CALL(sampler, cuptiPmSamplingGetCounterDataSize, &params))
		return false;
	sampler->image_bytes = params.ret_bytes;
	sampler->image = calloc(1, params.ret_bytes + 1);
	capture_fact(sampler->file, "pm.image_bytes", "%zu", params.ret_bytes);
	return sampler->image && clear_image(sampler);
}

static bool start(struct sampler *sampler)
{
	struct cupti_pm_sampling_start_params params = {
		.struct_bytes = CUpti_PmSampling_Start_Params_STRUCT_SIZE,
		.object = sampler->object};

	return PM_CALL(sampler, cuptiPmSamplingStart, &params);
}

static bool stop(struct sampler *sampler)
{
	struct cupti_pm_sampling_stop_params params = {
		.struct_bytes = CUpti_PmSampling_Stop_Params_STRUCT_SIZE,
		.object = sampler->object};

	return PM_CALL(sampler, cuptiPmSamplingStop, &params);
}

/* One sample of the image into a row: start, end, values. */
static bool read_sample(struct sampler *sampler, size_t index, uint64_t *row)
{
	struct cupti_pm_sampling_sample_info_params params = {
		.struct_bytes = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
		.object = sampler->object,
		.counter_data = sampler->image,
		.counter_data_bytes = sampler->image_bytes,
		.sample_index = index};
	double values[MAX_PM_METRICS];

	if (!PM_CALL(sampler, cuptiPmSamplingCounterDataGetSampleInfo, &params) ||
	    !pm_host_evaluate(&sampler->host, sampler->image, sampler->image_bytes, index, values))
		return false;
	row[0] = params.ret_start_ns;
	row[1] = params.ret_end_ns;
	memcpy(row + 2, values, sampler->host.metric_count * sizeof(*values));
	sampler->first_ns = sampler->first_ns ? sampler->first_ns : row[0];
	sampler->last_ns = row[1];
	return true;
}

static void write_samples(struct sampler *sampler, size_t count,
			  const struct cupti_pm_sampling_decode_data_params *decode)
{
	size_t width = 2 + sampler->host.metric_count, good = 0;
	uint64_t *rows = calloc(count + 1, width * sizeof(*rows));
	struct capture_pm_block block = {.value_count = (uint32_t)sampler->host.metric_count,
					 .is_overflow = decode->ret_overflow,
					 .stop_reason = decode->ret_stop_reason};

	if (!rows)
		return;
	while (good < count && read_sample(sampler, good, rows + good * width))
		good++;
	if (good && sampler->images_left) {
		sampler->images_left--;
		capture_write(sampler->file, CAPTURE_PM_IMAGE, CAPTURE_IMAGE_COUNTERS,
			      &(struct capture_part){sampler->image, sampler->image_bytes}, 1);
	}
	block.count = (uint32_t)good;
	capture_write(sampler->file, CAPTURE_PM_SAMPLES, (uint32_t)sampler->decodes,
		      (struct capture_part[]){{&block, sizeof(block)},
					      {rows, good * width * sizeof(*rows)}},
		      2);
	sampler->samples += good;
	free(rows);
}

/* Returns whether there may be more to decode at once. */
static bool decode(struct sampler *sampler)
{
	struct cupti_pm_sampling_decode_data_params params = {
		.struct_bytes = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
		.object = sampler->object,
		.counter_data = sampler->image,
		.counter_data_bytes = sampler->image_bytes};
	struct cupti_pm_sampling_counter_data_info_params info = {
		.struct_bytes = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
		.counter_data = sampler->image,
		.counter_data_bytes = sampler->image_bytes};
	bool said = PM_CALL(sampler, cuptiPmSamplingDecodeData, &params);

	sampler->decodes++;
	sampler->last_reason = params.ret_stop_reason;
	sampler->overflows += !said || params.ret_overflow;
	sampler->full +=
		params.ret_stop_reason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
	sampler->others +=
		said && params.ret_stop_reason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER;
	if (!PM_CALL(sampler, cuptiPmSamplingGetCounterDataInfo, &info))
		return false;
	if (info.ret_completed_count || params.ret_overflow)
		write_samples(sampler, info.ret_completed_count, &params);
	if (info.ret_completed_count && !clear_image(sampler))
		return false;
	return said &&
	       params.ret_stop_reason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
}

static void drain(struct sampler *sampler)
{
	for (uint32_t i = 0; i < 256 && decode(sampler); i++)
		;
}

static void wait_ms(double ms)
{
	struct timespec time = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)((ms - 1000 * (double)(time_t)(ms / 1000)) * 1e6)};

	nanosleep(&time, NULL);
}

/* Once the hardware's buffer is full, nothing more comes until sampling starts again. */
static bool restart(struct sampler *sampler)
{
	capture_fact(sampler->file, "pm.overflow_at_ns", "%llu",
		     (unsigned long long)capture_now_ns());
	if (++sampler->stops > MAX_STOPS || !stop(sampler))
		return false;
	drain(sampler);
	return start(sampler);
}

static void sample(struct sampler *sampler)
{
	uint64_t end_ns = capture_now_ns() + (uint64_t)(sampler->seconds * 1e9);
	uint64_t next_ns = capture_now_ns() + 1000000000;

	if (!start(sampler))
		return;
	printf("pm ready\n"); /* whoever waits for it begins its work now */
	if (sampler->has_overflow)
		wait_ms(1000 * sampler->seconds / 2);
	while (capture_now_ns() < end_ns) {
		uint64_t overflows = sampler->overflows;

		wait_ms(POLL_MS);
		drain(sampler);
		if (sampler->overflows > overflows && !restart(sampler))
			return;
		if (capture_now_ns() > next_ns) {
			capture_clocks_write(&sampler->cupti, sampler->file, 10);
			next_ns += 1000000000;
		}
	}
	capture_fact(sampler->file, "pm.stopped", "%d", stop(sampler));
	sampler->last_reason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER;
	for (uint32_t i = 0; i < MAX_DRAINS; i++) {
		drain(sampler);
		if (sampler->last_reason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS)
			break;
		wait_ms(1);
	}
}

static void finish(struct sampler *sampler)
{
	struct cupti_pm_sampling_disable_params off = {
		.struct_bytes = CUpti_PmSampling_Disable_Params_STRUCT_SIZE,
		.object = sampler->object};
	struct cupti_profiler_deinitialize_params end = {
		.struct_bytes = CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE};

	capture_fact(sampler->file, "pm.samples", "%llu", (unsigned long long)sampler->samples);
	capture_fact(sampler->file, "pm.decodes", "%llu", (unsigned long long)sampler->decodes);
	capture_fact(sampler->file, "pm.overflows", "%llu", (unsigned long long)sampler->overflows);
	capture_fact(sampler->file, "pm.full", "%llu", (unsigned long long)sampler->full);
	capture_fact(sampler->file, "pm.other", "%llu", (unsigned long long)sampler->others);
	capture_fact(sampler->file, "pm.first_ns", "%llu", (unsigned long long)sampler->first_ns);
	capture_fact(sampler->file, "pm.last_ns", "%llu", (unsigned long long)sampler->last_ns);
	capture_clocks_write(&sampler->cupti, sampler->file, 100);
	if (sampler->object)
		PM_CALL(sampler, cuptiPmSamplingDisable, &off);
	pm_host_close(&sampler->host);
	PM_CALL(sampler, cuptiProfilerDeInitialize, &end);
	printf("pm samples=%llu metrics=%zu overflows=%llu\n", (unsigned long long)sampler->samples,
	       sampler->host.metric_count, (unsigned long long)sampler->overflows);
}

static int run(struct sampler *sampler)
{
	uint32_t driver = 0;
	bool good;

	if (!open_driver(&driver))
		return NO_DRIVER;
	if (capture_cupti_open(&sampler->cupti) != 0) {
		fprintf(stderr, "capture_pm: no libcupti is found\n");
		return 1;
	}
	if (capture_open(sampler->out, sampler->what, sampler->cupti.version, driver,
			 &sampler->file) != 0) {
		fprintf(stderr, "capture_pm: %s cannot be written\n", sampler->out);
		return 1;
	}
	sampler->host.cupti = &sampler->cupti;
	sampler->host.file = sampler->file;
	capture_fact(sampler->file, "cupti.path", "%s", sampler->cupti.path);
	make_context(sampler);
	capture_stamp_register(&sampler->cupti, sampler->file, sampler->stamp);
	capture_clocks_write(&sampler->cupti, sampler->file, 100);
	good = ask_device(sampler);
	if (good)
		ask_availability(sampler);
	good = good && choose_metrics(sampler) && enable(sampler) && make_image(sampler);
	if (good)
		sample(sampler);
	finish(sampler);
	capture_close(sampler->file);
	return good && sampler->samples ? 0 : 1;
}

int main(int argc, char **argv)
{
	static struct sampler sampler = {.seconds = 3,
					 .hz = 1000,
					 .set = "base",
					 .what = "pm sampling",
					 .stamp = CAPTURE_STAMP_MONOTONIC,
					 .images_left = 2};

	/* what was found out before the library crashes is not lost */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && !strcmp(argv[1], "--metrics"))
		return pm_show_metrics(argv[2], argc > 3 ? argv[3] : "base");
	if (argc == 3 && !strcmp(argv[1], "--offline"))
		return pm_offline(argv[2]);
	sampler.out = argc > 1 ? argv[1] : "";
	for (int i = 2; i < argc; i++)
		if (!parse_word(&sampler, argv[i]))
			sampler.out = "";
	if (!*sampler.out || *sampler.out == '-') {
		fprintf(stderr, "usage: capture_pm OUT [seconds=N] [hz=N] [set=base|triage] "
				"[stamp=default|monotonic|biased] [images=N] [device=N] "
				"[overflow=1] [context=1]\n");
		return 2;
	}
	return run(&sampler);
}
