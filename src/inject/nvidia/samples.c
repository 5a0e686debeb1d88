/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/samples.c - sample the instructions that GPUs execute, on request
 *
 * Runs in:  the profiled process: started with a context; windows and reading on the helper's
 *           thread
 * Gets:     CUPTI's PC sampling (CUDA 11.3 and newer)
 * Gives:    buffers of samples, which sample_records.c records
 * Owns:     one session for each context, with its buffers
 * Fails:    by sampling nothing, which is reported with CUPTI's result; samples dropped by CUPTI
 *           and the GPU are counted. If the helper is inside CUPTI for too long while the program
 *           destroys a context, CUPTI is not called for that context any more
 * Why:      sampling is on for windows of 20 ms in each second, at a changing position in it, so
 *           that neither its cost nor a program's own rhythm matters; if reading takes more than
 *           one hundredth of the time, windows become rarer. At a window's end samples are in a
 *           buffer that CUPTI owns while sampling is on, and which it may deliver or not: the guest
 *           reads that buffer too, each state once, and never writes to it. Samples that come after
 *           a window are read before the next one starts, and get the times of their own window. A
 *           full GPU buffer gives nothing more until sampling was off and on again. Written from
 *           the headers of CUDA 13.0 and not yet tried on a GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/nvidia/samples.h"

enum {
	MAX_SESSIONS = 16,
	MAX_ROUNDS = 256,
	MAX_RESTARTS = 8,
	MAX_SLOWER = 64,
	COST_PART = 100, /* reading may take 1/COST_PART of the time */
	VERSION_11_5 = 16,
	VERSION_12_0 = 19
};

enum { WINDOW_MS = 20, PERIOD_MS = 1000, MIN_MS = 1, MAX_MS = 3600000 };

static struct {
	struct guest_lock lock;
	struct cuda_session sessions[MAX_SESSIONS];
	bool is_wanted;
	bool is_resting; /* no recorder: sampling is off until there is one */
	/* Windows, in ms of ring_now_ms. */
	uint32_t window_ms, period_ms, slower;
	uint64_t next_ms, end_ms;
	bool is_open, has_begun;
	uint64_t spent_ns, random;
} samples;

/* ---- options --------------------------------------------------------------------------------- */

/* Reads the lengths of windows from the recorder's options. */
static void take_windows(const struct guest_thread *thread)
{
	const uint32_t window = thread->numbers[NVIDIA_NUMBER_PC_WINDOW_MS];
	const uint32_t period = thread->numbers[NVIDIA_NUMBER_PC_PERIOD_MS];
	const bool is_said = window >= MIN_MS && window <= period && period <= MAX_MS;

	samples.window_ms = is_said ? window : WINDOW_MS;
	samples.period_ms = is_said ? period : PERIOD_MS;
	samples.slower = 1;
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
	take_windows(thread);
	cuda_samples_are_exact = thread->options & NVIDIA_OPTION_PC_EXACT;
	samples.random = ring_now_ms() | 1;
	samples.is_resting = samples.is_open = samples.has_begun = false;
	samples.next_ms = 0;
	samples.is_wanted = true;
	report_over();
	return true;
}

static bool has_functions(void)
{
	return cuda_cupti.cuptiPCSamplingEnable && cuda_cupti.cuptiPCSamplingDisable &&
	       cuda_cupti.cuptiPCSamplingStart && cuda_cupti.cuptiPCSamplingStop &&
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

/* End of the samples read now. Samples that come after the window's end were taken inside it. */
static uint64_t end_of(const struct cuda_session *session)
{
	return session->end ? session->end : cuda_samples_now();
}

/* Records samples from the configured buffer while sampling is stopped. If CUPTI never delivers
 * them, the next window's samples overwrite them. */
static void put_landed(struct guest_thread *thread, struct cuda_session *session, uint64_t end)
{
	const struct cupti_pc_sampling_data *live = &session->configured.data;

	if (session->is_started || !live->pc_count ||
	    (live->range_id == session->shown_range_id && live->pc_count == session->shown_count))
		return;
	session->shown_range_id = live->range_id;
	session->shown_count = live->pc_count;
	cuda_put_pcs(thread, session, &session->configured, end);
}

/* ---- enabling and disabling ------------------------------------------------------------------ */

static uint32_t fill_infos(struct cuda_session *session,
			   struct cupti_pc_sampling_configuration_info infos[5])
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
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL,
		.value.is_start_stop_controlled = 1};
	return count;
}

/* Returns the sampling period that CUPTI chose by the size of the GPU. The guest does not set it,
 * because some versions refuse the value or work worse with it. */
static uint64_t ask_period(const struct cuda_session *session)
{
	struct cupti_pc_sampling_configuration_info info = {
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD};
	struct cupti_pc_sampling_configuration_params params = {
		.struct_bytes = CUpti_PCSamplingConfigurationInfoParamsSize,
		.context = session->context,
		.info_count = 1,
		.infos = &info};

	if (!cuda_cupti.cuptiPCSamplingGetConfigurationAttribute ||
	    cuda_cupti.cuptiPCSamplingGetConfigurationAttribute(&params) ||
	    info.value.period_exponent < 5 || info.value.period_exponent > 31)
		return 0;
	return UINT64_C(1) << info.value.period_exponent;
}

static bool configure_session(struct guest_thread *thread, struct cuda_session *session)
{
	struct cupti_pc_sampling_configuration_info infos[5];
	struct cupti_pc_sampling_configuration_params params = {
		.struct_bytes = CUpti_PCSamplingConfigurationInfoParamsSize,
		.context = session->context,
		.info_count = fill_infos(session, infos),
		.infos = infos};

	if (!CUDA_SAMPLES_CALL(thread, cuptiPCSamplingSetConfigurationAttribute, &params))
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
	struct cupti_pc_sampling_disable_params params = {
		.struct_bytes = CUpti_PCSamplingDisableParamsSize, .context = session->context};

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
	put_landed(thread, session, end_of(session));
	ring_count_lost(&thread->writer, EVENT_INSTRUCTION_SAMPLE,
			session->configured.data.remaining_count);
}

static bool turn_on(struct guest_thread *thread, struct cuda_session *session)
{
	struct cupti_pc_sampling_enable_params params = {
		.struct_bytes = CUpti_PCSamplingEnableParamsSize, .context = session->context};

	if (is_gone(session) || !CUDA_SAMPLES_CALL(thread, cuptiPCSamplingEnable, &params))
		return false;
	session->is_on = true;
	if (!cuda_find_reasons(thread, session))
		return false;
	free_pcs(&session->configured);
	session->shown_range_id = session->shown_count = 0;
	if ((!session->drain.stride && !make_pcs(&session->drain, session->reasons.all_count)) ||
	    !make_pcs(&session->configured, session->reasons.all_count)) {
		cuda_samples_refused(thread, "cuptiPCSamplingEnable", CUPTI_ERROR_OUT_OF_MEMORY);
		return false;
	}
	return configure_session(thread, session);
}

/* ---- reading --------------------------------------------------------------------------------- */

static cupti_result get_data(struct cuda_session *session)
{
	struct cupti_pc_sampling_get_data_params params = {
		.struct_bytes = CUpti_PCSamplingGetDataParamsSize,
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
	session->is_started = false;
	turn_off(thread, session);
	if (session->restarts++ == MAX_RESTARTS)
		guest_trouble(NVIDIA_TROUBLE_PC_OVER);
	else if (!turn_on(thread, session) && session->is_on)
		turn_off(thread, session);
}

static void drain_session(struct guest_thread *thread, struct cuda_session *session)
{
	uint64_t end = end_of(session);
	cupti_result result = CUPTI_SUCCESS;

	for (uint32_t round = 0; round < MAX_ROUNDS && !result && !is_gone(session); round++) {
		result = get_data(session);
		cuda_put_pcs(thread, session, &session->drain, end);
		if (!has_more(session))
			break;
	}
	put_landed(thread, session, end);
	session->read = end;
	if (is_gone(session))
		return;
	if (result == CUPTI_ERROR_OUT_OF_MEMORY)
		begin_anew(thread, session);
	else if (result)
		cuda_samples_refused(thread, "cuptiPCSamplingGetData", result);
}

/* ---- windows --------------------------------------------------------------------------------- */

static void start_range(struct guest_thread *thread, struct cuda_session *session)
{
	struct cupti_pc_sampling_start_params params = {
		.struct_bytes = CUpti_PCSamplingStartParamsSize, .context = session->context};

	if (!session->is_on || session->is_started || cuda_samples_are_over)
		return;
	/* Samples that came late belong to the previous window. */
	if (session->end)
		drain_session(thread, session);
	if (!session->is_on || is_gone(session))
		return;
	session->begin = session->read = cuda_samples_now();
	session->end = 0;
	session->is_started = CUDA_SAMPLES_CALL(thread, cuptiPCSamplingStart, &params);
}

static void stop_range(struct guest_thread *thread, struct cuda_session *session)
{
	struct cupti_pc_sampling_stop_params params = {
		.struct_bytes = CUpti_PCSamplingStopParamsSize, .context = session->context};

	if (!session->is_started || is_gone(session))
		return;
	session->is_started = false;
	CUDA_SAMPLES_CALL(thread, cuptiPCSamplingStop, &params);
	session->end = cuda_samples_now();
	drain_session(thread, session);
}

static uint64_t random_below(uint64_t most)
{
	samples.random =
		samples.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return most ? (samples.random >> 33) % most : 0;
}

/* Plans the next window at a random position in the next period. */
static void plan_next(uint64_t now_ms)
{
	uint64_t period_ms = (uint64_t)samples.period_ms * samples.slower;

	samples.next_ms = now_ms + (period_ms - samples.window_ms) / 2 +
			  random_below(period_ms - samples.window_ms + 1);
}

/* NULL: no session here, or CUPTI may not be called for its context. */
static struct cuda_session *session_at(uint32_t place)
{
	struct cuda_session *session = &samples.sessions[place];

	return session->context && !is_gone(session) ? session : NULL;
}

/* If windows are as long as periods, the next one opens at once. */
static void open_windows(struct guest_thread *thread, uint64_t now_ms)
{
	samples.is_open = true;
	samples.end_ms = now_ms + samples.window_ms;
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i))
			start_range(thread, &samples.sessions[i]);
}

static void close_windows(struct guest_thread *thread, uint64_t now_ms)
{
	samples.is_open = false;
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i))
			stop_range(thread, &samples.sessions[i]);
	plan_next(now_ms);
}

/* In the middle of a long window, so that the GPU's buffer does not become full. */
static void drain_all(struct guest_thread *thread)
{
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i) && samples.sessions[i].is_started) {
			drain_session(thread, &samples.sessions[i]);
			/* The drain may have restarted sampling. */
			start_range(thread, &samples.sessions[i]);
		}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* After a window: adapts the pause to the cost of the window. */
static void adapt_pause(void)
{
	uint64_t allowed_ns = (uint64_t)samples.period_ms * samples.slower * 1000000 / COST_PART;

	if (samples.spent_ns > allowed_ns && samples.slower < MAX_SLOWER &&
	    samples.window_ms < samples.period_ms) {
		samples.slower *= 2;
		guest_trouble(NVIDIA_TROUBLE_PC_RARE);
	} else if (samples.spent_ns * 4 < allowed_ns && samples.slower > 1) {
		samples.slower /= 2;
	}
	samples.spent_ns = 0;
}

/* The caller holds the lock. */
static void run_windows(struct guest_thread *thread)
{
	uint64_t begin_ns = now_ns(), now_ms = ring_now_ms();

	/* The first window stays open until a command runs, because nothing is sampled before that.
	 */
	if (samples.is_open && !samples.has_begun && cuda_slots_were_used()) {
		samples.has_begun = true;
		samples.end_ms = now_ms + samples.window_ms;
	}
	if (samples.is_open && samples.has_begun && now_ms >= samples.end_ms) {
		close_windows(thread, now_ms);
		samples.spent_ns += now_ns() - begin_ns;
		adapt_pause();
	} else if (samples.is_open && samples.has_begun) {
		drain_all(thread);
		samples.spent_ns += now_ns() - begin_ns;
	}
	if (!samples.is_open && now_ms >= samples.next_ms) {
		begin_ns = now_ns();
		open_windows(thread, now_ms);
		samples.spent_ns += now_ns() - begin_ns;
	}
}

static void remove_session(struct guest_thread *thread, struct cuda_session *session)
{
	if (thread)
		stop_range(thread, session);
	if (session->is_on)
		turn_off(thread, session);
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

/* The caller holds the lock. There is a recorder again. */
static void resume_sessions(struct guest_thread *thread)
{
	samples.is_resting = samples.is_open = samples.has_begun = false;
	samples.next_ms = 0;
	for (uint32_t i = 0; i < MAX_SESSIONS; i++) {
		struct cuda_session *session = session_at(i);

		if (!session)
			continue;
		session->restarts = 0;
		/* A session whose context was created in the meantime is on. */
		if (!session->is_on && !turn_on(thread, session))
			remove_session(thread, session);
	}
}

uint32_t cuda_samples_turn(struct guest_thread *thread, uint32_t max_ms)
{
	uint64_t now_ms, due_ms;

	if (!samples.is_wanted || !guest_lock(&samples.lock))
		return max_ms;
	if (cuda_samples_are_over) {
		/* Otherwise the GPU would go on sampling without a reader, and would keep its
		 * memory. */
		remove_all(thread);
		guest_unlock(&samples.lock);
		return max_ms;
	}
	if (samples.is_resting)
		resume_sessions(thread);
	run_windows(thread);
	now_ms = ring_now_ms();
	due_ms = !samples.is_open    ? samples.next_ms
		 : samples.has_begun ? samples.end_ms
				     : now_ms + WINDOW_MS;
	guest_unlock(&samples.lock);
	if (due_ms <= now_ms)
		return MIN_MS;
	return due_ms - now_ms < max_ms ? (uint32_t)(due_ms - now_ms) : max_ms;
}

void cuda_samples_rest(void)
{
	if (!samples.is_wanted || samples.is_resting || !guest_lock(&samples.lock))
		return;
	samples.is_resting = true;
	for (uint32_t i = 0; i < MAX_SESSIONS; i++)
		if (session_at(i)) {
			struct cuda_session *session = &samples.sessions[i];

			session->is_started = false;
			session->end = 0;
			if (session->is_on)
				turn_off(NULL, session);
		}
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

/* The caller holds the lock. The first window opens as soon as there is a context, because the
 * program may be short. */
static void add_session(struct guest_thread *thread, CUcontext context)
{
	struct cuda_session *session = find_place(context);
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
	if (!turn_on(thread, session)) {
		remove_session(thread, session);
		return;
	}
	if (samples.is_open)
		start_range(thread, session);
	else if (!samples.next_ms)
		open_windows(thread, ring_now_ms());
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
			take_windows(thread);
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
