/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/samples.c - sample the instructions that GPUs execute, on request
 *
 * Runs in:  the profiled process: started with a context; reading on the helper's thread
 * Gets:     CUPTI's PC sampling (CUDA 11.3 and newer)
 * Gives:    buffers of samples, which sample_records.c records
 * Owns:     one session for each context, with its buffers
 * Fails:    by sampling nothing, which is reported with CUPTI's result; samples dropped by CUPTI
 *           and the GPU are counted. If the helper is inside CUPTI for too long while the program
 *           destroys a context, CUPTI is not called for that context any more
 * Why:      sampling is on from a context's creation to its end, at a rate of at most 4 million
 *           samples a second, and is never stopped and started again within a context's life: with
 *           CUPTI 13.0 on an H200, cuptiPCSamplingStop while kernels ran did not return, and the
 *           program hung. At CUPTI's default rate on the H200, a sample every 2^11 cycles, the
 *           GPU's buffer of 512 MiB was full after 0.4 s, and the program hung too. A full buffer
 *           gives nothing more until sampling was off and on again. The last samples come when
 *           sampling is disabled, into a buffer that CUPTI owns until then
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/nvidia/samples.h"

enum {
	MAX_SESSIONS = 16,
	MAX_ROUNDS = 256,
	MAX_RESTARTS = 8,
	VERSION_11_5 = 16,
	VERSION_12_0 = 19
};

/* Size of the GPU's buffer for each context. At most 4 million samples a second are read every 100
 * ms: this is four times as much as they take. */
enum { BUFFER_BYTES = 64 << 20 };
/* A multiprocessor gives four samples each 2^exponent cycles, and has about 2^31 cycles a second.
 */
enum { EXPONENT_OF_ONE = 11, UNKNOWN_UNITS = 256 };

static struct {
	struct guest_lock lock;
	struct cuda_session sessions[MAX_SESSIONS];
	bool is_wanted;
	bool is_resting;     /* no recorder: sampling is off until there is one */
	uint32_t ended_mode; /* attachment whose last samples were taken */
	uint32_t exponent;   /* requested; 0: by the size of the GPU */
} samples;

/* ---- options --------------------------------------------------------------------------------- */

static void take_exponent(const struct guest_thread *thread)
{
	samples.exponent = thread->numbers[NVIDIA_NUMBER_PC_EXPONENT];
}

/* Sampling that has ended for good does not resume in this process; each recording gets this
 * trouble. */
static void report_over(void)
{
	if (cuda_samples_are_over)
		guest_trouble(NVIDIA_TROUBLE_PC_OVER);
}

bool cuda_samples_begin(const struct guest_thread *thread)
{
	if (!(thread->options & NVIDIA_OPTION_PC))
		return false;
	take_exponent(thread);
	cuda_samples_are_exact = thread->options & NVIDIA_OPTION_PC_EXACT;
	samples.is_resting = false;
	samples.is_wanted = true;
	report_over();
	return true;
}

static bool has_functions(void)
{
	return cuda_cupti.cuptiPCSamplingEnable && cuda_cupti.cuptiPCSamplingDisable &&
	       cuda_cupti.cuptiPCSamplingGetData &&
	       cuda_cupti.cuptiPCSamplingSetConfigurationAttribute &&
	       cuda_cupti.cuptiPCSamplingGetNumStallReasons &&
	       cuda_cupti.cuptiPCSamplingGetStallReasons;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t data_bytes(void)
{
	return cuda_version >= VERSION_12_0 ? sizeof(struct cupti_pc_sampling_data)
	       : cuda_version >= VERSION_11_5
		       ? offsetof(struct cupti_pc_sampling_data, is_hardware_buffer_full)
		       : offsetof(struct cupti_pc_sampling_data, foreign_sample_count);
}

static bool make_pcs(struct cuda_pcs *pcs, uint32_t all_reasons)
{
	struct cupti_pc_stall_reason *stalls;

	memset(pcs, 0, sizeof(*pcs));
	pcs->stride = cuda_version >= VERSION_12_4 ? sizeof(struct cupti_pc_data)
						   : sizeof(struct cupti_pc_data_56);
	pcs->memory_bytes = PCS * (pcs->stride + all_reasons * sizeof(*stalls));
	pcs->memory = guest_memory(pcs->memory_bytes);
	if (!pcs->memory)
		return false;
	stalls = (void *)((char *)pcs->memory + PCS * pcs->stride);
	pcs->data.struct_bytes = data_bytes();
	pcs->data.capacity_count = PCS;
	pcs->data.pcs = pcs->memory;
	for (size_t i = 0; i < PCS; i++) {
		cuda_pc_at(pcs, i)->struct_bytes = pcs->stride;
		cuda_pc_at(pcs, i)->stalls = stalls + i * all_reasons;
	}
	return true;
}

static void free_pcs(struct cuda_pcs *pcs)
{
	if (pcs->memory)
		guest_memory_free(pcs->memory, pcs->memory_bytes);
	memset(pcs, 0, sizeof(*pcs));
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* Records samples from the configured buffer, once sampling is off. */
static void put_landed(struct guest_thread *thread, struct cuda_session *session, uint64_t end)
{
	const struct cupti_pc_sampling_data *live = &session->configured.data;

	if (live->pc_count)
		cuda_put_pcs(thread, session, &session->configured, end);
}

/* ---- enabling and disabling ------------------------------------------------------------------ */

/* The last one is the size of the buffer, the one before it the period. */
enum { MAX_INFOS = 6, NEEDED_INFOS = 4 };

static bool is_exponent(uint32_t exponent)
{
	return exponent >= NVIDIA_PC_MIN_EXPONENT && exponent <= NVIDIA_PC_MAX_EXPONENT;
}

/* log2 of the cycles between two samples: the more multiprocessors, the more cycles. */
static uint32_t exponent_of(const struct cuda_session *session)
{
	uint32_t units = cuda_device_units(session->device), exponent = EXPONENT_OF_ONE;

	if (is_exponent(samples.exponent))
		return samples.exponent;
	/* The rate of a small GPU would fill the buffer of a large one. */
	units = units ? units : UNKNOWN_UNITS;
	while (units > 1u << (exponent - EXPONENT_OF_ONE) && exponent < NVIDIA_PC_MAX_EXPONENT)
		exponent++;
	return exponent;
}

static uint32_t fill_infos(struct cuda_session *session,
			   struct cupti_pc_sampling_configuration_info infos[MAX_INFOS])
{
	uint32_t count = 0;

	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
		.value.collection_mode =
			cuda_samples_are_exact ? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
					       : CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON,
		.value.stall_reasons = {session->reasons.count, session->reasons.indices}};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT,
		.value.output_format = CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
		.value.data_buffer = &session->configured.data};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD,
		.value.period_exponent = exponent_of(session)};
	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE,
		.value.hardware_buffer_bytes = BUFFER_BYTES};
	return count;
}

/* Returns the sampling period in cycles, as CUPTI has it. */
static uint64_t ask_period(const struct cuda_session *session)
{
	struct cupti_pc_sampling_configuration_info info = {
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD};
	struct cupti_pc_sampling_configuration_params params = {.struct_bytes = sizeof(params),
								.context = session->context,
								.info_count = 1,
								.infos = &info};

	if (!cuda_cupti.cuptiPCSamplingGetConfigurationAttribute ||
	    cuda_cupti.cuptiPCSamplingGetConfigurationAttribute(&params) ||
	    !is_exponent(info.value.period_exponent))
		return 0;
	return UINT64_C(1) << info.value.period_exponent;
}

static bool configure_session(struct guest_thread *thread, struct cuda_session *session)
{
	struct cupti_pc_sampling_configuration_info infos[MAX_INFOS];
	struct cupti_pc_sampling_configuration_params params = {.struct_bytes = sizeof(params),
								.context = session->context,
								.info_count =
									fill_infos(session, infos),
								.infos = infos};
	cupti_result result;

	/* An attribute that CUPTI refuses keeps CUPTI's own value. */
	do
		result = cuda_cupti.cuptiPCSamplingSetConfigurationAttribute(&params);
	while (result == CUPTI_ERROR_INVALID_PARAMETER && params.info_count-- > NEEDED_INFOS);
	if (!cuda_samples_was_done(thread, "cuptiPCSamplingSetConfigurationAttribute", result))
		return false;
	session->period = ask_period(session);
	return true;
}

/* True if the context is being destroyed and the program waits no longer: CUPTI may not be called
 * for it. */
static bool is_gone(const struct cuda_session *session)
{
	return atomic_load(&session->gone) == atomic_load(&session->context);
}

static void turn_off(struct guest_thread *thread, struct cuda_session *session)
{
	struct cupti_pc_sampling_disable_params params = {.struct_bytes = sizeof(params),
							  .context = session->context};

	session->is_on = false;
	if (is_gone(session) || cuda_cupti.cuptiPCSamplingDisable(&params)) {
		/* CUPTI may still write into the buffer, so it is not freed. */
		memset(&session->configured, 0, sizeof(session->configured));
		return;
	}
	if (!session->configured.stride || !thread)
		return;
	/* Samples that were not read before arrive here. remaining_count is the number of entries
	 * that found no room. */
	put_landed(thread, session, cuda_samples_now());
	ring_count_lost(&thread->writer, EVENT_INSTRUCTION_SAMPLE,
			session->configured.data.remaining_count);
}

static bool turn_on(struct guest_thread *thread, struct cuda_session *session)
{
	struct cupti_pc_sampling_enable_params params = {.struct_bytes = sizeof(params),
							 .context = session->context};

	if (is_gone(session) || !CUDA_SAMPLES_CALL(thread, cuptiPCSamplingEnable, &params))
		return false;
	session->is_on = true;
	if (!cuda_find_reasons(thread, session))
		return false;
	free_pcs(&session->configured);
	if ((!session->drain.stride && !make_pcs(&session->drain, session->reasons.all_count)) ||
	    !make_pcs(&session->configured, session->reasons.all_count)) {
		cuda_samples_refused(thread, "cuptiPCSamplingEnable", CUPTI_ERROR_OUT_OF_MEMORY);
		return false;
	}
	if (!configure_session(thread, session))
		return false;
	session->begin = session->read = cuda_samples_now();
	return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static cupti_result get_data(struct cuda_session *session)
{
	struct cupti_pc_sampling_get_data_params params = {.struct_bytes = sizeof(params),
							   .context = session->context,
							   .data = &session->drain.data};
	struct cupti_pc_sampling_data *data = &session->drain.data;

	data->pc_count = data->remaining_count = 0;
	data->sample_count = data->dropped_count = 0;
	data->is_hardware_buffer_full = 0;
	return cuda_cupti.cuptiPCSamplingGetData(&params);
}

static bool has_more(const struct cuda_session *session)
{
	return session->drain.data.pc_count &&
	       (session->drain.data.remaining_count || session->configured.data.pc_count ||
		session->configured.data.remaining_count);
}

/* The GPU's buffer was full. Disables and enables sampling again, at most MAX_RESTARTS times. */
static void begin_anew(struct guest_thread *thread, struct cuda_session *session)
{
	guest_trouble(NVIDIA_TROUBLE_PC_FULL);
	turn_off(thread, session);
	if (session->restarts++ == MAX_RESTARTS)
		guest_trouble(NVIDIA_TROUBLE_PC_OVER);
	else if (!turn_on(thread, session) && session->is_on)
		turn_off(thread, session);
}

/* is_last: sampling is about to end, so it is not restarted if the GPU's buffer was full. */
static void drain_session(struct guest_thread *thread, struct cuda_session *session, bool is_last)
{
	uint64_t end = cuda_samples_now();
	cupti_result result = CUPTI_SUCCESS;
	bool has_samples = false;

	for (uint32_t round = 0; round < MAX_ROUNDS && !result && !is_gone(session); round++) {
		result = get_data(session);
		has_samples |= session->drain.data.pc_count != 0;
		cuda_put_pcs(thread, session, &session->drain, end);
		if (!has_more(session))
			break;
	}
	/* The samples that CUPTI has kept since then come later: on an H200 the last ones came 0.8
	 * s after their kernels, when sampling was disabled. */
	if (has_samples)
		session->read = end;
	if (is_gone(session))
		return;
	if (result == CUPTI_ERROR_OUT_OF_MEMORY && is_last)
		guest_trouble(NVIDIA_TROUBLE_PC_FULL);
	else if (result == CUPTI_ERROR_OUT_OF_MEMORY)
		begin_anew(thread, session);
	else if (result)
		cuda_samples_refused(thread, "cuptiPCSamplingGetData", result);
}

/* NULL: no session here, or CUPTI may not be called for its context. */
static struct cuda_session *session_at(uint32_t place)
{
	struct cuda_session *session = &samples.sessions[place];

	return session->context && !is_gone(session) ? session : NULL;
}

static void drain_all(struct guest_thread *thread)
{
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i) && samples.sessions[i].is_on)
			drain_session(thread, &samples.sessions[i], false);
}

/* Takes all samples and disables sampling. The last ones may be as old as those that CUPTI would
 * have given before. */
static void end_session(struct guest_thread *thread, struct cuda_session *session)
{
	const uint64_t read = session->read;

	if (!session->is_on)
		return;
	drain_session(thread, session, true);
	session->read = read;
	turn_off(thread, session);
}

/* thread NULL: its samples are not wanted. */
static void remove_session(struct guest_thread *thread, struct cuda_session *session)
{
	if (thread)
		end_session(thread, session);
	if (session->is_on)
		turn_off(NULL, session);
	free_pcs(&session->drain);
	free_pcs(&session->configured);
	memset(session, 0, sizeof(*session));
}

/* The caller holds the lock. */
static void remove_all(struct guest_thread *thread)
{
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i))
			remove_session(thread, &samples.sessions[i]);
}

/* The last samples of this attachment were taken: nothing is sampled until the next one. */
static bool has_ended(const struct guest_thread *thread)
{
	return samples.is_resting && samples.ended_mode == thread->mode;
}

/* The caller holds the lock. There is a recorder again. */
static void resume_sessions(struct guest_thread *thread)
{
	samples.is_resting = false;
	for (uint32_t i = 0; i < MAX_SESSIONS; i++) {
		struct cuda_session *session = session_at(i);

		if (!session)
			continue;
		session->restarts = 0;
		/* A session whose context was created in the meantime is on. */
		if (!session->is_on && !turn_on(thread, session))
			remove_session(NULL, session);
	}
}

void cuda_samples_turn(struct guest_thread *thread)
{
	if (!samples.is_wanted || !guest_lock(&samples.lock))
		return;
	if (cuda_samples_are_over) {
		/* Otherwise the GPU would go on sampling without a reader, and would keep its
		 * memory. */
		remove_all(thread);
	} else {
		if (samples.is_resting && !has_ended(thread))
			resume_sessions(thread);
		drain_all(thread);
	}
	guest_unlock(&samples.lock);
}

void cuda_samples_last(struct guest_thread *thread)
{
	if (!samples.is_wanted || samples.is_resting || !guest_lock(&samples.lock))
		return;
	samples.is_resting = true;
	samples.ended_mode = thread->mode;
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i))
			end_session(thread, &samples.sessions[i]);
	guest_unlock(&samples.lock);
}

void cuda_samples_rest(void)
{
	if (!samples.is_wanted || samples.is_resting || !guest_lock(&samples.lock))
		return;
	samples.is_resting = true;
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i) && samples.sessions[i].is_on)
			turn_off(NULL, &samples.sessions[i]);
	guest_unlock(&samples.lock);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static struct cuda_session *find_session(CUcontext context)
{
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (atomic_load(&samples.sessions[i].context) == context)
			return &samples.sessions[i];
	return NULL;
}

/* Frees a session whose context was destroyed without it. CUPTI is not called, and memory that it
 * may still write to is not freed. */
static void free_gone_session(struct cuda_session *session)
{
	free_pcs(&session->drain);
	memset(session, 0, sizeof(*session));
}

/* The caller holds the lock. NULL: there is no room, or the context has a session. */
static struct cuda_session *find_place(CUcontext context)
{
	struct cuda_session *session = find_session(context);

	if (session && !is_gone(session))
		return NULL;
	/* Prefers the session of an earlier context at this address, then a free one. */
	if (!session)
		session = find_session(NULL);
	for (uint32_t i = 0; i < MAX_SESSIONS && !session; i++)
		if (!session_at(i))
			session = &samples.sessions[i];
	if (!session)
		guest_trouble(NVIDIA_TROUBLE_PC_CONTEXTS);
	else if (session->context)
		free_gone_session(session);
	return session;
}

/* The caller holds the lock. */
static void add_session(struct guest_thread *thread, CUcontext context)
{
	struct cuda_session *session = has_ended(thread) ? NULL : find_place(context);
	uint32_t ordinal = 0;

	if (!session)
		return;
	if (!has_functions()) {
		cuda_samples_refused(thread, "cuptiPCSamplingEnable", 0);
		return;
	}
	if (!cuda_cupti.cuptiGetDeviceId(context, &ordinal))
		session->device = cuda_device(thread, ordinal);
	session->context = context;
	if (!turn_on(thread, session))
		remove_session(NULL, session);
}

void cuda_samples_add(CUcontext context)
{
	struct guest_thread *thread = samples.is_wanted && context ? guest_enter() : NULL;

	if (!thread || cuda_samples_are_over)
		return;
	if (!guest_lock(&samples.lock)) {
		guest_trouble(NVIDIA_TROUBLE_PC_CONTEXTS);
		return;
	}
	add_session(thread, context);
	guest_unlock(&samples.lock);
}

/* Marks the context as gone, so that a helper inside CUPTI returns soon and releases the lock. If
 * it does not, CUPTI is not called for this context any more. */
void cuda_samples_remove(CUcontext context)
{
	struct cuda_session *session = samples.is_wanted && context ? find_session(context) : NULL;

	/* A session already marked as gone belongs to an earlier context at this address. */
	if (!session || atomic_exchange(&session->gone, context) == context ||
	    !guest_lock(&samples.lock))
		return;
	/* The session may have been freed or reused meanwhile. */
	session = find_session(context);
	if (session) {
		atomic_store(&session->gone, NULL);
		remove_session(guest_enter(), session);
	}
	guest_unlock(&samples.lock);
}

void cuda_samples_end(struct guest_thread *thread)
{
	if (!samples.is_wanted || !guest_lock(&samples.lock))
		return;
	samples.is_wanted = false;
	remove_all(thread);
	guest_unlock(&samples.lock);
}

bool cuda_samples_renew(struct guest_thread *thread, bool *ret_is_kept)
{
	const bool is_exact = thread->options & NVIDIA_OPTION_PC_EXACT;

	*ret_is_kept = samples.is_wanted && thread->options & NVIDIA_OPTION_PC &&
		       is_exact == cuda_samples_are_exact;
	if (*ret_is_kept) {
		/* Drops samples from the time between the recordings. The next turn enables
		 * sampling again. */
		cuda_samples_rest();
		if (guest_lock(&samples.lock)) {
			take_exponent(thread);
			guest_unlock(&samples.lock);
		}
		report_over();
		return true;
	}
	cuda_samples_end(thread);
	cuda_samples_refusal_is_reported = false;
	return cuda_samples_begin(thread);
}

void cuda_samples_forked(void)
{
	guest_unlock(&samples.lock);
	samples.is_wanted = false;
}
