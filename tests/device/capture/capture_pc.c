/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_pc.c - PC samples of the captured program
 *
 * Runs in:  the captured program: starts in the callback of a new context, drains on the agent's
 *           thread
 * Gets:     contexts
 * Gives:    the table of stall reasons, blocks of samples
 * Owns:     the buffers that the samples come in. The functions' names are CUPTI's, shared by
 *           records, and are never freed. The buffer of the configuration is CUPTI's while sampling
 *           is on: it fills it at the end of each range, so it is read after Disable and never
 *           written to
 * Fails:    by a fact, and sampling of that context is off; an overflow of the hardware's buffer
 *           wedges the session, which is stopped and started again, three times at most
 */
#include "capture_agent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	LOCK_WAIT_S = 2,
	MAX_CONTEXTS = 8,
	MAX_REASONS = 128,
	PCS = 2000,
	MAX_RESTARTS = 3,
	MAX_BLOCKS = 4000,
	MAX_ROUNDS = 256
};

struct pcs {
	struct cupti_pc_sampling_data data;
	size_t stride;
};

struct session {
	CUcontext context;
	struct pcs drain, configured;
	uint64_t calls, overflows, samples, dropped, pcs;
	uint64_t landed; /* in the buffer of the configuration, at most, as seen when draining */
	uint64_t rest;   /* … and after Disable, all in all */
	uint64_t shown;  /* … and taken from there, as they were not given */
	uint64_t shown_range_id;
	size_t shown_count;
	uint32_t restarts;
	bool is_on;
	bool is_started; /* a range */
	bool is_deaf;    /* it gives no data any more, but is to be disabled */
};

static struct {
	pthread_mutex_t lock;
	struct session sessions[MAX_CONTEXTS];
	uint32_t count, reason_count, blocks;
	uint32_t reasons[MAX_REASONS];
	bool has_reasons;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t record_stride(const struct agent *agent)
{
	return agent->cupti.version >= 22 ? sizeof(struct cupti_pc_data)
					  : sizeof(struct cupti_pc_data_56);
}

static struct cupti_pc_data *record_at(const struct pcs *pcs, size_t index)
{
	return (struct cupti_pc_data *)((char *)pcs->data.pcs + index * pcs->stride);
}

static bool make_pcs(const struct agent *agent, struct pcs *ret_pcs)
{
	size_t stride = record_stride(agent);
	char *records = calloc(PCS, stride);
	struct cupti_pc_stall_reason *stalls =
		calloc((size_t)PCS * state.reason_count, sizeof(*stalls));

	if (!records || !stalls) {
		free(records);
		free(stalls);
		return false;
	}
	memset(ret_pcs, 0, sizeof(*ret_pcs));
	ret_pcs->stride = stride;
	ret_pcs->data.struct_bytes = sizeof(ret_pcs->data);
	ret_pcs->data.capacity_count = PCS;
	ret_pcs->data.pcs = (struct cupti_pc_data *)records;
	for (size_t i = 0; i < PCS; i++) {
		record_at(ret_pcs, i)->struct_bytes = stride;
		record_at(ret_pcs, i)->stalls = stalls + i * state.reason_count;
	}
	return true;
}

static void write_reasons(struct agent *agent, char **names)
{
	struct capture_stall_reason rows[MAX_REASONS];

	memset(rows, 0, sizeof(rows));
	for (uint32_t i = 0; i < state.reason_count; i++) {
		rows[i].index = state.reasons[i];
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", names[i]);
	}
	capture_write(agent->file, CAPTURE_STALL_REASONS, 0,
		      &(struct capture_part){rows, state.reason_count * sizeof(*rows)}, 1);
}

static bool find_reasons(struct agent *agent, CUcontext context)
{
	static char texts[MAX_REASONS][CUPTI_STALL_REASON_STRING_SIZE];
	char *names[MAX_REASONS];
	size_t count = 0;
	struct cupti_pc_sampling_num_stall_reasons_params ask = {
		.struct_bytes = CUpti_PCSamplingGetNumStallReasonsParamsSize,
		.context = context,
		.ret_count = &count};
	struct cupti_pc_sampling_stall_reasons_params get = {
		.struct_bytes = CUpti_PCSamplingGetStallReasonsParamsSize,
		.context = context,
		.ret_indices = state.reasons,
		.ret_names = names};

	if (state.has_reasons)
		return true;
	if (!CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingGetNumStallReasons, &ask))
		return false;
	capture_fact(agent->file, "pc.stall_reasons", "%zu", count);
	if (!count || count > MAX_REASONS)
		return false;
	for (uint32_t i = 0; i < MAX_REASONS; i++)
		names[i] = texts[i];
	get.count = count;
	if (!CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingGetStallReasons, &get))
		return false;
	state.reason_count = (uint32_t)count;
	state.has_reasons = true;
	write_reasons(agent, names);
	return true;
}

static uint32_t fill_infos(const struct agent *agent, struct session *session,
			   struct cupti_pc_sampling_configuration_info infos[6])
{
	uint32_t count = 0;

	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
		.value.collection_mode =
			agent->options.pc == CAPTURE_PC_SERIALIZED
				? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
				: CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON,
		.value.stall_reasons = {state.reason_count, state.reasons}};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT,
		.value.output_format = CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
		.value.data_buffer = &session->configured.data};
	if (agent->options.period_log2)
		infos[count++] = (struct cupti_pc_sampling_configuration_info){
			.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD,
			.value.period_exponent = agent->options.period_log2};
	if (agent->options.pc == CAPTURE_PC_RANGES)
		infos[count++] = (struct cupti_pc_sampling_configuration_info){
			.attribute =
				CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL,
			.value.is_start_stop_controlled = 1};
	return count;
}

static bool configure(struct agent *agent, struct session *session)
{
	struct cupti_pc_sampling_configuration_info infos[6];
	struct cupti_pc_sampling_configuration_params params = {
		.struct_bytes = CUpti_PCSamplingConfigurationInfoParamsSize,
		.context = session->context,
		.info_count = fill_infos(agent, session, infos),
		.infos = infos};
	bool done = CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingSetConfigurationAttribute,
			       &params);

	for (size_t i = 0; i < params.info_count; i++)
		if (infos[i].ret_status != 0)
			capture_fact(agent->file, "failed.pc_attribute", "%u: %d %s",
				     infos[i].attribute, (int)infos[i].ret_status,
				     capture_cupti_text(&agent->cupti, infos[i].ret_status));
	return done;
}

static bool start_range(struct agent *agent, struct session *session)
{
	struct cupti_pc_sampling_start_params params = {
		.struct_bytes = CUpti_PCSamplingStartParamsSize, .context = session->context};

	if (agent->options.pc != CAPTURE_PC_RANGES || session->is_started)
		return true;
	session->is_started = CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingStart, &params);
	return session->is_started;
}

static void stop_range(struct agent *agent, struct session *session)
{
	struct cupti_pc_sampling_stop_params params = {
		.struct_bytes = CUpti_PCSamplingStopParamsSize, .context = session->context};

	if (!session->is_started)
		return;
	session->is_started = false;
	CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingStop, &params);
}

static void read_back(struct agent *agent, const struct session *session)
{
	static const struct {
		uint32_t attribute;
		const char *key;
	} asked[] = {
		{CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, "pc.period_log2"},
		{CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE, "pc.mode"},
		{CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE, "pc.scratch_bytes"},
		{CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE,
		 "pc.hardware_bytes"}};

	for (uint32_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		struct cupti_pc_sampling_configuration_info info = {.attribute =
									    asked[i].attribute};
		struct cupti_pc_sampling_configuration_params params = {
			.struct_bytes = CUpti_PCSamplingConfigurationInfoParamsSize,
			.context = session->context,
			.info_count = 1,
			.infos = &info};

		if (CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingGetConfigurationAttribute,
			       &params))
			capture_fact(agent->file, asked[i].key, "%llu",
				     (unsigned long long)info.value.raw[0]);
	}
}

static bool turn_on(struct agent *agent, struct session *session)
{
	struct cupti_pc_sampling_enable_params params = {
		.struct_bytes = CUpti_PCSamplingEnableParamsSize, .context = session->context};
	uint64_t begin_ns = capture_now_ns();

	if (!CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingEnable, &params))
		return false;
	session->is_on = true;
	if (!find_reasons(agent, session->context))
		return false;
	/* A new one each time: what the library keeps in that of before is not known. */
	if ((!session->drain.stride && !make_pcs(agent, &session->drain)) ||
	    !make_pcs(agent, &session->configured))
		return false;
	if (!configure(agent, session) || !start_range(agent, session))
		return false;
	capture_fact(agent->file, "pc.enable_ns", "%llu",
		     (unsigned long long)(capture_now_ns() - begin_ns));
	return true;
}

/* One record into `at`, which has room for a head, all its reasons and a name of 4096 bytes. */
static size_t put_record(const struct agent *agent, const struct cupti_pc_data *record, char *at)
{
	struct capture_pc head = {
		.crc = record->cubin_crc,
		.pc_offset = record->pc_offset_bytes,
		.function_index = record->function_index,
		.correlation_id = agent->cupti.version >= 22 ? record->correlation_id : 0,
		.name_length =
			record->function_name ? (uint32_t)strnlen(record->function_name, 4096) : 0};
	char *begin = at;

	at += sizeof(head);
	for (size_t i = 0; i < record->stall_count && i < state.reason_count; i++) {
		if (!record->stalls[i].sample_count)
			continue;
		memcpy(at, &record->stalls[i].stall_index, 4);
		memcpy(at + 4, &record->stalls[i].sample_count, 4);
		at += 8;
		head.reason_count++;
	}
	memcpy(begin, &head, sizeof(head));
	memset(at, 0, (head.name_length + 7) / 8 * 8);
	memcpy(at, record->function_name ? record->function_name : "", head.name_length);
	return (size_t)(at - begin) + (head.name_length + 7) / 8 * 8;
}

static void write_block(struct agent *agent, struct session *session, const struct pcs *pcs,
			cupti_result result)
{
	const struct cupti_pc_sampling_data *data = &pcs->data;
	size_t count = data->pc_count < PCS ? data->pc_count : PCS, used = 0;
	size_t most = sizeof(struct capture_pc) + 8u * state.reason_count + 4096;
	struct capture_pc_block block = {.total_count = data->pc_count + data->remaining_count,
					 .remaining_count = data->remaining_count,
					 .total_samples = data->sample_count,
					 .dropped_samples = data->dropped_count,
					 .other_samples = data->foreign_sample_count,
					 .hardware_buffer_full = data->is_hardware_buffer_full,
					 .status = (uint32_t)result,
					 .period_log2 = agent->options.period_log2,
					 .range_id = (uint32_t)data->range_id};
	uint32_t source = pcs == &session->configured ? CAPTURE_PC_CONFIGURED : 0;
	char *bytes = malloc(count * most + 8);

	session->samples += data->sample_count;
	session->dropped += data->dropped_count;
	session->pcs += count;
	if (!bytes || (!count && result == 0 && !data->sample_count) ||
	    state.blocks >= MAX_BLOCKS) {
		free(bytes);
		return;
	}
	for (size_t i = 0; i < count; i++)
		used += put_record(agent, record_at(pcs, i), bytes + used);
	block.collected_count = count;
	capture_write(agent->file, CAPTURE_PC_SAMPLES, source | state.blocks++,
		      (struct capture_part[]){{&block, sizeof(block)}, {bytes, used}}, 2);
	free(bytes);
}

/* What did not come before goes to the buffer of the configuration. */
static bool turn_off(struct agent *agent, struct session *session)
{
	struct cupti_pc_sampling_disable_params params = {
		.struct_bytes = CUpti_PCSamplingDisableParamsSize, .context = session->context};

	stop_range(agent, session);
	session->is_on = false;
	if (!CUPTI_CALL(&agent->cupti, agent->file, cuptiPCSamplingDisable, &params))
		return false;
	if (session->configured.stride) {
		session->rest += session->configured.data.pc_count;
		write_block(agent, session, &session->configured, 0);
	}
	return true;
}

static size_t landed_count(const struct session *session)
{
	return __atomic_load_n(&session->configured.data.pc_count, __ATOMIC_RELAXED);
}

/* Behind what was given last, or in the buffer of the configuration, from which it is given too. */
static bool has_more(const struct session *session)
{
	return session->drain.data.remaining_count || landed_count(session) ||
	       __atomic_load_n(&session->configured.data.remaining_count, __ATOMIC_RELAXED);
}

/* Only the buffer that is ours alone is emptied before. */
static cupti_result get_data(struct agent *agent, struct session *session)
{
	struct cupti_pc_sampling_get_data_params params = {
		.struct_bytes = CUpti_PCSamplingGetDataParamsSize,
		.context = session->context,
		.data = &session->drain.data};
	cupti_result result;

	if (landed_count(session) > session->landed)
		session->landed = landed_count(session);
	session->drain.data.pc_count = session->drain.data.remaining_count = 0;
	session->drain.data.sample_count = session->drain.data.dropped_count = 0;
	session->calls++;
	result = agent->cupti.call.cuptiPCSamplingGetData(&params);
	capture_cupti_said(&agent->cupti, agent->file, "cuptiPCSamplingGetData", result);
	write_block(agent, session, &session->drain, result);
	return result;
}

/* Should the library not give what landed, the next range's samples take its place; this one is
 * over, so nobody writes there now. Each state of the buffer once. */
static void show_landed(struct agent *agent, struct session *session)
{
	const struct cupti_pc_sampling_data *live = &session->configured.data;

	if (agent->options.pc == CAPTURE_PC_CONTINUOUS || !live->pc_count ||
	    (live->range_id == session->shown_range_id && live->pc_count == session->shown_count))
		return;
	session->shown_range_id = live->range_id;
	session->shown_count = live->pc_count;
	session->shown += live->pc_count;
	write_block(agent, session, &session->configured, 0);
}

static void drain(struct agent *agent, struct session *session)
{
	for (uint32_t round = 0; round < MAX_ROUNDS && session->is_on && !session->is_deaf;
	     round++) {
		cupti_result result = get_data(agent, session);

		if (result == 0) {
			if (session->drain.data.pc_count && has_more(session))
				continue;
			show_landed(agent, session);
			return;
		}
		session->overflows += result == CUPTI_ERROR_OUT_OF_MEMORY;
		if (result != CUPTI_ERROR_OUT_OF_MEMORY || session->restarts++ >= MAX_RESTARTS) {
			session->is_deaf = true;
			return;
		}
		turn_off(agent, session);
		turn_on(agent, session);
	}
}

/* A callback may hold a lock of the library that the thread waits for which drains. */
static bool lock_in_time(struct agent *agent, const char *why)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LOCK_WAIT_S;
	if (pthread_mutex_timedlock(&state.lock, &until) == 0)
		return true;
	capture_fact(agent->file, "pc.lock", "not had in %d s at %s", LOCK_WAIT_S, why);
	return false;
}

void capture_pc_context(struct agent *agent, CUcontext context)
{
	struct session *session;

	if (agent->options.pc == CAPTURE_PC_OFF || !lock_in_time(agent, "start"))
		return;
	if (state.count < MAX_CONTEXTS) {
		session = &state.sessions[state.count++];
		session->context = context;
		if (turn_on(agent, session)) {
			capture_fact(agent->file, "pc.on", "1");
			read_back(agent, session);
		} else {
			capture_fact(agent->file, "pc.on", "0");
			session->is_on = session->is_on && !turn_off(agent, session);
		}
	}
	pthread_mutex_unlock(&state.lock);
}

void capture_pc_late(struct agent *agent)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	uint32_t (*current)(CUcontext * ret_context) = NULL, result = 1;
	CUcontext context = NULL;

	if (library)
		*(void **)&current = dlsym(library, "cuCtxGetCurrent");
	if (current)
		result = current(&context);
	capture_fact(agent->file, "late.context", "%d result %u", context != NULL, result);
	if (context)
		capture_pc_context(agent, context);
}

/* A callback that comes while another thread drains, and waits for what it holds in the library,
 * does not wait for that thread. */
void capture_pc_drain(struct agent *agent)
{
	if (agent->options.pc == CAPTURE_PC_OFF || pthread_mutex_trylock(&state.lock) != 0)
		return;
	for (uint32_t i = 0; i < state.count; i++) {
		struct session *session = &state.sessions[i];

		if (!session->is_on || !session->drain.stride)
			continue;
		stop_range(agent, session);
		drain(agent, session);
		if (session->is_on)
			start_range(agent, session);
	}
	pthread_mutex_unlock(&state.lock);
}

void capture_pc_stop(struct agent *agent, CUcontext context)
{
	if (agent->options.pc == CAPTURE_PC_OFF || !lock_in_time(agent, "stop"))
		return;
	for (uint32_t i = 0; i < state.count; i++) {
		struct session *session = &state.sessions[i];

		if (!session->is_on || (context && session->context != context))
			continue;
		stop_range(agent, session);
		if (session->drain.stride)
			drain(agent, session);
		if (session->is_on)
			turn_off(agent, session);
	}
	pthread_mutex_unlock(&state.lock);
}

void capture_pc_facts(struct agent *agent)
{
	if (agent->options.pc == CAPTURE_PC_OFF || !lock_in_time(agent, "facts"))
		return;
	capture_fact(agent->file, "pc.contexts", "%u", state.count);
	for (uint32_t i = 0; i < state.count; i++)
		capture_fact(agent->file, "pc.session",
			     "samples %llu dropped %llu pcs %llu calls %llu overflows %llu "
			     "restarts %u landed %llu rest %llu shown %llu",
			     (unsigned long long)state.sessions[i].samples,
			     (unsigned long long)state.sessions[i].dropped,
			     (unsigned long long)state.sessions[i].pcs,
			     (unsigned long long)state.sessions[i].calls,
			     (unsigned long long)state.sessions[i].overflows,
			     state.sessions[i].restarts,
			     (unsigned long long)state.sessions[i].landed,
			     (unsigned long long)state.sessions[i].rest,
			     (unsigned long long)state.sessions[i].shown);
	pthread_mutex_unlock(&state.lock);
}
