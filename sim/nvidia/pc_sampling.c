/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/pc_sampling.c - samples of program counters in the simulated CUPTI
 *
 * Runs in:  a program that uses CUDA
 * Gets:     kernels that ran
 * Gives:    samples for each PC and stall reason, in proportion to a kernel's time
 * Owns:     for each context its configuration and the samples that were not read yet. Only CUPTI
 *           writes to the buffer of the configuration: samples land there at the end of a range,
 *           which is cuptiPCSamplingStop or, in serialized mode, a kernel's end; and at Disable
 * Fails:    35 and 26 if SIM_NVIDIA requests it; 8 after the hardware buffer was full, until
 *           disabled and enabled; aborts for a destroyed context, which the real library reads
 *           without a check
 * Why:      each multiprocessor gives a sample every 2^n cycles of a kernel, so the sum over the
 *           PCs of a function is its time to within one sample
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

enum { CONTEXTS = 64, INSTRUCTION_BYTES = 16, EXPONENT_DEFAULT = 12, STALLS_OF_PC = 3 };

/* Each has a twin with _not_issued behind it. The index of a name is of this chip alone. */
static const char *const reasons[] = {"barrier",
				      "branch_resolving",
				      "dispatch_stall",
				      "drain",
				      "imc_miss",
				      "lg_throttle",
				      "long_scoreboard",
				      "math_pipe_throttle",
				      "membar",
				      "mio_throttle",
				      "misc",
				      "no_instructions",
				      "not_selected",
				      "selected",
				      "short_scoreboard",
				      "sleeping",
				      "tex_throttle",
				      "wait",
				      "warpgroup_arrive"};
enum {
	REASONS = sizeof(reasons) / sizeof(reasons[0]),
	REASON_SELECTED = 13,
	REASON_FIRST_INDEX = 3
};

struct pc {
	struct sim_kernel kernel; /* its name interned */
	uint32_t instruction, correlation_id, samples;
	bool is_planned;
	uint32_t planned[REASONS]; /* samples of each reason */
};

/* A line of SIM_NVIDIA's pc_plan. */
struct plan {
	char kernel[SIM_NAME_BYTES];
	uint32_t instruction, reason, samples;
};

enum { MAX_PLANS = 256 };

static struct plan plans[MAX_PLANS];
static size_t plan_count;
static pthread_once_t plan_once = PTHREAD_ONCE_INIT;

struct run {
	struct run *next;
	struct sim_kernel kernel;
	uint32_t correlation_id;
	uint64_t start_ns, end_ns;
};

static struct context {
	bool is_enabled, is_controlled, is_sampling, is_wedged;
	uint32_t mode, exponent, device_id;
	uint64_t range_id, foreign, dropped, unread;
	struct run *runs;
	struct pc *pcs; /* from pc_first on: not read yet */
	size_t pc_first, pc_count;
	struct cupti_pc_sampling_configuration_info infos[10]; /* as they were given */
	struct cupti_pc_sampling_data *data;
} contexts[CONTEXTS];

static atomic_int serialized_count; /* contexts in that mode */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- kernels --------------------------------------------------------------------------------- */

bool sim_pc_is_serialized(uint32_t context_id)
{
	bool is_so = false;

	if (context_id >= CONTEXTS)
		return false;
	pthread_mutex_lock(&lock);
	is_so = contexts[context_id].is_sampling &&
		contexts[context_id].mode == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
	pthread_mutex_unlock(&lock);
	return is_so;
}

void sim_pc_on_kernel(const struct sim_work *work)
{
	struct context *context;
	struct run *run;

	if (work->context_id >= CONTEXTS)
		return;
	context = &contexts[work->context_id];
	pthread_mutex_lock(&lock);
	run = context->is_sampling ? calloc(1, sizeof(*run)) : NULL;
	if (run) {
		run->kernel = *work->kernel;
		run->kernel.name = sim_intern(work->kernel->name);
		run->start_ns = work->start_ns;
		run->end_ns = work->end_ns;
		if (context->mode == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED)
			run->correlation_id = work->correlation_id;
		run->next = context->runs;
		context->runs = run;
	}
	pthread_mutex_unlock(&lock);
}

static uint32_t reason_named(const char *name)
{
	for (uint32_t i = 0; i < REASONS; i++)
		if (strcmp(reasons[i], name) == 0)
			return i;
	return REASONS;
}

/* Aborts for an invalid value, as for a misspelled option. */
static void read_plan(void)
{
	FILE *file = *sim_options()->pc_plan ? fopen(sim_options()->pc_plan, "r") : NULL;
	char reason[64];
	int got = 0;

	while (file && plan_count < MAX_PLANS) {
		struct plan *plan = &plans[plan_count];

		got = fscanf(file, "%95s %" SCNu32 " %63s %" SCNu32, plan->kernel,
			     &plan->instruction, reason, &plan->samples);
		plan->reason = got == 4 ? reason_named(reason) : REASONS;
		if (plan->reason == REASONS)
			break;
		plan_count++;
	}
	if (*sim_options()->pc_plan && (!file || got != EOF)) {
		fprintf(stderr, "sim-nvidia: '%s' is no plan of samples\n", sim_options()->pc_plan);
		abort();
	}
	if (file)
		fclose(file);
}

/* Under the lock. Adds samples to a PC, or adds a PC. reason: REASONS if not from a plan. */
static void add_samples(struct context *context, const struct run *run, uint32_t instruction,
			uint32_t samples, uint32_t reason)
{
	struct pc *more;

	for (size_t i = context->pc_first; i < context->pc_count; i++) {
		struct pc *pc = &context->pcs[i];

		if (pc->kernel.cubin_crc != run->kernel.cubin_crc ||
		    pc->kernel.index != run->kernel.index || pc->instruction != instruction ||
		    pc->correlation_id != run->correlation_id)
			continue;
		pc->samples += samples;
		if (reason < REASONS)
			pc->planned[reason] += samples;
		return;
	}
	more = realloc(context->pcs, (context->pc_count + 1) * sizeof(*more));
	if (!more)
		return;
	context->pcs = more;
	more = &more[context->pc_count++];
	*more = (struct pc){.kernel = run->kernel,
			    .instruction = instruction,
			    .correlation_id = run->correlation_id,
			    .samples = samples,
			    .is_planned = reason < REASONS};
	if (reason < REASONS)
		more->planned[reason] = samples;
}

/* Under the lock. */
static void take_planned(struct context *context, const struct run *run)
{
	for (size_t i = 0; i < plan_count; i++) {
		if (strcmp(plans[i].kernel, run->kernel.name) != 0)
			continue;
		context->unread += plans[i].samples;
		add_samples(context, run, plans[i].instruction, plans[i].samples, plans[i].reason);
	}
}

/* Every third instruction is as heavy as eight others. */
static uint64_t weight_until(uint32_t instruction)
{
	return instruction + (uint64_t)7 * ((instruction + 2) / 3);
}

/* Under the lock. */
static void take_samples(struct context *context, const struct run *run)
{
	uint32_t count = run->kernel.text_bytes / INSTRUCTION_BYTES;
	uint64_t cycles = (run->end_ns - run->start_ns) * (uint64_t)sim_options()->sm_mhz / 1000;
	uint64_t samples = cycles * (uint64_t)sim_options()->sms >> context->exponent, so_far = 0;
	uint64_t whole = weight_until(count);

	pthread_once(&plan_once, read_plan);
	if (plan_count) {
		take_planned(context, run);
		return;
	}
	if (context->unread + samples > (uint64_t)sim_options()->pc_buffer) {
		context->is_wedged = true;
		context->dropped += samples;
		return;
	}
	context->unread += samples;
	context->foreign += samples / 50;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t until = samples * weight_until(i + 1) / whole;

		if (until > so_far)
			add_samples(context, run, i, (uint32_t)(until - so_far), REASONS);
		so_far = until;
	}
}

/* Under the lock: what is over by now; not at a range's end: and has come through the hardware's
 * buffer. */
static void take_runs(struct context *context, bool is_range_end)
{
	const bool has_lag = !is_range_end || sim_options()->pc_late;
	uint64_t now_ns = sim_now() - (has_lag ? (uint64_t)sim_options()->pc_lag_us * 1000 : 0);
	struct run **link = &context->runs, *run;

	while ((run = *link)) {
		if (run->end_ns > now_ns) {
			link = &run->next;
			continue;
		}
		*link = run->next;
		take_samples(context, run);
		free(run);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint32_t reason_of(uint32_t instruction)
{
	static const uint8_t cycle[] = {6, 6, 17, 14,
					0, 7, 5}; /* by far the most: long_scoreboard */

	return cycle[instruction % sizeof(cycle)];
}

/* Of a reason on the chip of a device, and of its twin behind it. */
static uint32_t index_of(uint32_t device_id, uint32_t reason)
{
	if (sim_options()->pc_chips && device_id % 2)
		reason = REASONS - 1 - reason;
	return REASON_FIRST_INDEX + 2 * reason;
}

/* Is the reason among those that were chosen? */
static bool is_chosen(const struct context *context, uint32_t index)
{
	const struct cupti_pc_sampling_configuration_info *info =
		&context->infos[CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON];

	if (!info->attribute)
		return true;
	for (size_t i = 0; i < info->value.stall_reasons.count; i++)
		if (info->value.stall_reasons.indices[i] == index)
			return true;
	return false;
}

/* Each with its twin, which counts a part of the same samples. */
static size_t write_planned(const struct context *context, const struct pc *pc,
			    struct cupti_pc_stall_reason *ret_stalls)
{
	size_t count = 0;

	for (uint32_t i = 0; i < REASONS; i++) {
		uint32_t index = index_of(context->device_id, i);

		if (pc->planned[i] && is_chosen(context, index))
			ret_stalls[count++] = (struct cupti_pc_stall_reason){index, pc->planned[i]};
		if (pc->planned[i] / 2 && is_chosen(context, index + 1))
			ret_stalls[count++] =
				(struct cupti_pc_stall_reason){index + 1, pc->planned[i] / 2};
	}
	return count;
}

static size_t write_share(const struct context *context, const struct pc *pc,
			  struct cupti_pc_stall_reason *ret_stalls)
{
	uint32_t main = index_of(context->device_id, reason_of(pc->instruction)),
		 stalled = pc->samples - pc->samples / 4;
	const struct cupti_pc_stall_reason all[STALLS_OF_PC] = {
		{main, stalled},
		{main + 1, stalled / 2},
		{index_of(context->device_id, REASON_SELECTED), pc->samples / 4}};
	size_t count = 0;

	for (size_t i = 0; i < STALLS_OF_PC; i++)
		if (all[i].sample_count && is_chosen(context, all[i].stall_index))
			ret_stalls[count++] = all[i];
	return count;
}

static size_t write_stalls(const struct context *context, const struct pc *pc,
			   struct cupti_pc_stall_reason *ret_stalls)
{
	if (pc->is_planned)
		return write_planned(context, pc, ret_stalls);
	return write_share(context, pc, ret_stalls);
}

/* Before 12.4 a record has 56 bytes, without correlation id. */
static size_t record_bytes(void)
{
	return sim_options()->version < 22 ? sizeof(struct cupti_pc_data_56)
					   : sizeof(struct cupti_pc_data);
}

static void write_pc(const struct context *context, const struct pc *pc, char *name,
		     struct cupti_pc_data *ret_record)
{
	ret_record->struct_bytes = record_bytes();
	ret_record->cubin_crc = pc->kernel.cubin_crc;
	ret_record->pc_offset_bytes = (uint64_t)pc->instruction * INSTRUCTION_BYTES;
	ret_record->function_index = pc->kernel.index;
	ret_record->function_name = name;
	ret_record->stall_count =
		ret_record->stalls ? write_stalls(context, pc, ret_record->stalls) : 0;
	if (record_bytes() == sizeof(*ret_record))
		ret_record->correlation_id = pc->correlation_id;
}

static struct cupti_pc_data *record_at(const struct cupti_pc_sampling_data *data, size_t index)
{
	return (struct cupti_pc_data *)(void *)((uint8_t *)data->pcs + index * record_bytes());
}

/* A record has its own room for reasons. */
static void copy_record(const struct cupti_pc_data *from, struct cupti_pc_data *to)
{
	struct cupti_pc_stall_reason *stalls = to->stalls;

	memcpy(to, from, record_bytes());
	to->stalls = stalls;
	if (stalls && from->stalls)
		memcpy(stalls, from->stalls, from->stall_count * sizeof(*stalls));
	else
		to->stall_count = 0;
}

/* Under the lock. Copies unread samples as far as the buffer has room. The program frees the name;
 * here all records of a function share one. */
static void append(struct context *context, struct cupti_pc_sampling_data *data)
{
	const struct pc *before = NULL;
	char *name = NULL;

	while (context->pc_first < context->pc_count && data->pc_count < data->capacity_count) {
		const struct pc *pc = &context->pcs[context->pc_first++];

		if (!before || before->kernel.name != pc->kernel.name)
			name = strdup(pc->kernel.name);
		write_pc(context, pc, name, record_at(data, data->pc_count++));
		data->sample_count += pc->samples;
		context->unread -= pc->samples;
		before = pc;
	}
	data->remaining_count = context->pc_count - context->pc_first;
	data->range_id = context->range_id;
	if (!data->remaining_count)
		context->pc_first = context->pc_count = 0;
}

/* Under the lock, at a range's end: its data go to the buffer of the configuration. Only there do
 * they exist from then on, so that a program which writes to that buffer loses them. */
static void land(struct context *context)
{
	if (context->data && sim_options()->pc_keep)
		context->data->pc_count = context->data->sample_count = 0;
	if (context->data)
		append(context, context->data);
}

/* Under the lock: records of the buffer of the configuration, the oldest first. */
static void move_landed(struct context *context, struct cupti_pc_sampling_data *to)
{
	struct cupti_pc_sampling_data *from = context->data;
	size_t count;

	if (!from || from == to || sim_options()->pc_keep)
		return;
	count = from->pc_count < to->capacity_count ? from->pc_count : to->capacity_count;
	for (size_t i = 0; i < from->pc_count; i++)
		copy_record(record_at(from, i),
			    i < count ? record_at(to, i) : record_at(from, i - count));
	to->pc_count = count;
	to->sample_count = from->sample_count;
	from->pc_count -= count;
	from->sample_count = 0;
}

/* Under the lock. */
static void hand_over(struct context *context, struct cupti_pc_sampling_data *data)
{
	data->sample_count = data->pc_count = 0;
	move_landed(context, data);
	append(context, data);
	if (context->data && context->data != data) {
		context->data->remaining_count = data->remaining_count;
		data->remaining_count += context->data->pc_count;
	}
	data->dropped_count = context->dropped;
	data->is_hardware_buffer_full = context->is_wedged;
	data->foreign_sample_count = context->foreign;
	data->sample_count += context->foreign;
	context->foreign = context->dropped = 0;
}

void sim_pc_on_exit(uint32_t context_id)
{
	struct context *context;
	uint64_t end_ns = 0;

	if (context_id >= CONTEXTS || !atomic_load(&serialized_count))
		return;
	context = &contexts[context_id];
	pthread_mutex_lock(&lock);
	for (const struct run *run = context->runs; run; run = run->next)
		end_ns = run->end_ns > end_ns ? run->end_ns : end_ns;
	pthread_mutex_unlock(&lock);
	if (!end_ns || !sim_pc_is_serialized(context_id))
		return;
	sim_sleep_until(end_ns);
	pthread_mutex_lock(&lock);
	context->range_id++;
	take_runs(context, true);
	land(context);
	pthread_mutex_unlock(&lock);
}

/* -> the context, locked; or NULL and why */
static struct context *hold(CUcontext handle, bool is_enabled, cupti_result *ret_result)
{
	uint32_t id, device_id;

	*ret_result = CUPTI_SUCCESS;
	if (!sim_driver())
		*ret_result = CUPTI_ERROR_UNKNOWN;
	else if (!sim_driver()->context_ids(handle, &id, &device_id) || id >= CONTEXTS)
		*ret_result = CUPTI_ERROR_INVALID_CONTEXT;
	if (*ret_result)
		return NULL;
	if (handle && !sim_driver()->is_context(handle)) {
		fprintf(stderr, "sim-nvidia: PC sampling of context %u, which is destroyed\n", id);
		abort();
	}
	pthread_mutex_lock(&lock);
	contexts[id].device_id = device_id;
	if (contexts[id].is_enabled == is_enabled)
		return &contexts[id];
	pthread_mutex_unlock(&lock);
	*ret_result = CUPTI_ERROR_INVALID_OPERATION;
	return NULL;
}

cupti_result cuptiPCSamplingGetData(struct cupti_pc_sampling_get_data_params *params)
{
	static atomic_bool was_slow;
	struct cupti_pc_sampling_data *data;
	struct context *context;
	cupti_result result;
	bool is_slow;

	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_PCSamplingGetDataParamsSize || !params->data)
		return CUPTI_ERROR_INVALID_PARAMETER;
	context = hold(params->context, true, &result);
	if (!context)
		return result;
	data = params->data;
	take_runs(context, false);
	hand_over(context, data);
	if (context->is_wedged)
		result = CUPTI_ERROR_OUT_OF_MEMORY;
	is_slow = sim_options()->pc_slow_ms && data->pc_count && context != &contexts[1];
	pthread_mutex_unlock(&lock);
	if (is_slow && !atomic_exchange(&was_slow, true))
		sim_sleep_until(sim_now() + (uint64_t)sim_options()->pc_slow_ms * 1000000);
	return result;
}

/* ---- enabling and configuring ---------------------------------------------------------------- */

cupti_result cuptiPCSamplingEnable(struct cupti_pc_sampling_enable_params *params)
{
	struct context *context;
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_PCSamplingEnableParamsSize)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (sim_driver() && !sim_options()->privileges)
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (sim_driver() && sim_options()->busy)
		return CUPTI_ERROR_HARDWARE_BUSY;
	context = hold(params->context, false, &result);
	if (!context)
		return result;
	*context = (struct context){.is_enabled = true,
				    .is_sampling = true,
				    .device_id = context->device_id,
				    .mode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS,
				    .exponent = EXPONENT_DEFAULT};
	pthread_mutex_unlock(&lock);
	return result;
}

cupti_result cuptiPCSamplingDisable(struct cupti_pc_sampling_disable_params *params)
{
	struct context *context;
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_PCSamplingDisableParamsSize)
		return CUPTI_ERROR_INVALID_PARAMETER;
	context = hold(params->context, true, &result);
	if (!context)
		return result;
	take_runs(context, true);
	land(context);
	if (context->data) {
		context->data->foreign_sample_count = context->foreign;
		context->data->sample_count += context->foreign;
		context->data->dropped_count += context->dropped;
	}
	while (context->runs) {
		struct run *next = context->runs->next;

		free(context->runs);
		context->runs = next;
	}
	free(context->pcs);
	if (context->mode == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED)
		atomic_fetch_sub(&serialized_count, 1);
	*context = (struct context){0};
	pthread_mutex_unlock(&lock);
	return result;
}

static cupti_result control(CUcontext handle, bool is_start)
{
	struct context *context;
	cupti_result result;

	context = hold(handle, true, &result);
	if (!context)
		return result;
	if (!context->is_controlled || context->is_sampling == is_start) {
		result = CUPTI_ERROR_INVALID_OPERATION;
	} else {
		if (!is_start)
			take_runs(context, true);
		context->is_sampling = is_start;
		context->range_id += is_start;
		if (!is_start)
			land(context);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

cupti_result cuptiPCSamplingStart(struct cupti_pc_sampling_start_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_PCSamplingStartParamsSize)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return control(params->context, true);
}

cupti_result cuptiPCSamplingStop(struct cupti_pc_sampling_stop_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_PCSamplingStopParamsSize)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return control(params->context, false);
}

/* Under the lock. */
static cupti_result configure(struct context *context,
			      const struct cupti_pc_sampling_configuration_info *info)
{
	switch (info->attribute) {
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
		if (info->value.period_exponent < 5 || info->value.period_exponent > 31 ||
		    sim_options()->pc_fixed)
			return CUPTI_ERROR_INVALID_PARAMETER;
		context->exponent = info->value.period_exponent;
		break;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
		if (info->value.collection_mode < 1 || info->value.collection_mode > 2)
			return CUPTI_ERROR_INVALID_PARAMETER;
		if (context->mode != info->value.collection_mode)
			atomic_fetch_add(
				&serialized_count,
				info->value.collection_mode ==
						CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS
					? -1
					: 1);
		context->mode = info->value.collection_mode;
		break;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL:
		context->is_controlled = info->value.is_start_stop_controlled;
		context->is_sampling = !context->is_controlled;
		break;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
		context->data = info->value.data_buffer;
		break;
	default:
		break;
	}
	context->infos[info->attribute] = *info;
	return CUPTI_SUCCESS;
}

cupti_result
cuptiPCSamplingSetConfigurationAttribute(struct cupti_pc_sampling_configuration_params *params)
{
	cupti_result result, one;
	struct context *context;

	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_PCSamplingConfigurationInfoParamsSize ||
	    !params->infos)
		return CUPTI_ERROR_INVALID_PARAMETER;
	context = hold(params->context, true, &result);
	if (!context)
		return result;
	for (size_t i = 0; i < params->info_count; i++) {
		one = params->infos[i].attribute < 1 || params->infos[i].attribute > 9
			      ? CUPTI_ERROR_INVALID_PARAMETER
			      : configure(context, &params->infos[i]);
		params->infos[i].ret_status = one;
		if (one)
			result = one;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

cupti_result
cuptiPCSamplingGetConfigurationAttribute(struct cupti_pc_sampling_configuration_params *params)
{
	struct context *context;
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_PCSamplingConfigurationInfoParamsSize ||
	    !params->infos)
		return CUPTI_ERROR_INVALID_PARAMETER;
	context = hold(params->context, true, &result);
	if (!context)
		return result;
	for (size_t i = 0; i < params->info_count; i++) {
		struct cupti_pc_sampling_configuration_info *info = &params->infos[i];

		if (info->attribute < 1 || info->attribute > 9) {
			info->ret_status = result = CUPTI_ERROR_INVALID_PARAMETER;
			continue;
		}
		info->value = context->infos[info->attribute].value;
		if (info->attribute == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
			info->value.period_exponent = context->exponent;
		if (info->attribute == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
			info->value.collection_mode = context->mode;
		info->ret_status = CUPTI_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- stall reasons and cubins ---------------------------------------------------------------- */

cupti_result
cuptiPCSamplingGetNumStallReasons(struct cupti_pc_sampling_num_stall_reasons_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!params || !params->ret_count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*params->ret_count = (size_t)2 * REASONS;
	return CUPTI_SUCCESS;
}

cupti_result cuptiPCSamplingGetStallReasons(struct cupti_pc_sampling_stall_reasons_params *params)
{
	uint32_t device_id = 0;

	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!params || !params->ret_indices || !params->ret_names)
		return CUPTI_ERROR_INVALID_PARAMETER;
	sim_driver()->context_ids(params->context, NULL, &device_id);
	for (size_t i = 0; i < params->count && i < (size_t)2 * REASONS; i++) {
		params->ret_indices[i] = index_of(device_id, (uint32_t)i / 2) + (uint32_t)i % 2;
		strcpy(params->ret_names[i], "smsp__pcsamp_warps_issue_stalled_");
		strcat(params->ret_names[i], reasons[i / 2]);
		strcat(params->ret_names[i], i % 2 ? "_not_issued" : "");
	}
	return CUPTI_SUCCESS;
}

static _Atomic(cupti_crc_function) crc_function;

cupti_result cuptiRegisterComputeCrcCallback(cupti_crc_function function)
{
	SIM_FAIL_AS_ASKED();
	crc_function = function;
	return CUPTI_SUCCESS;
}

cupti_result cuptiGetCubinCrc(struct cupti_cubin_crc_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params || params->struct_bytes < CUpti_GetCubinCrcParamsSize || !params->cubin ||
	    !params->cubin_bytes)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_crc = sim_cubin_crc(params->cubin, params->cubin_bytes);
	return CUPTI_SUCCESS;
}

/* Lines that go up with the offset; names are for the program to free. */
cupti_result cuptiGetSassToSourceCorrelation(struct cupti_sass_to_source_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!params || !params->cubin || !params->function_name)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_line = 10 + (uint32_t)(params->pc_offset_bytes / INSTRUCTION_BYTES / 4);
	params->ret_file_name = strdup("kernels.cu");
	params->ret_directory = strdup("/sim");
	return params->ret_file_name && params->ret_directory ? CUPTI_SUCCESS
							      : CUPTI_ERROR_OUT_OF_MEMORY;
}
