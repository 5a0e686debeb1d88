/* SPDX-License-Identifier: MIT
 *
 * inject/cuda_samples.c - samples of the instructions that GPUs execute, where the user asks for them
 *
 * Runs in:  the profiled process: begun where a context is made; windows and reading on the helper's thread
 * Gets:     CUPTI's PC sampling (CUDA 11.3 and newer)   Gives: a record for each instruction and reason in a window
 * Owns:     one session for each context, and the memory that its samples come in
 * Fails:    by sampling nothing, which is told with CUPTI's answer; what CUPTI and the GPU drop is counted. A context that
 *           goes away while the helper is in CUPTI for longer than a program may wait is asked about nothing any more
 * Why:      sampling is on for windows of 20 ms in each second, at a place in it that changes, so that neither its cost nor a
 *           program's own rhythm is in the way; where reading takes more than one hundredth of the time, windows become
 *           rarer. Names of functions are CUPTI's, shared by records of which nobody knows when the last one came: they
 *           are never freed, and when those that came are 32 MiB, sampling ends. At a window's end samples land in a
 *           buffer that CUPTI owns while sampling is on, from which it may give them or not: that one is read too, each
 *           state of it once, and never written. What comes after a window is read before the next one begins, and has
 *           the times of its own. The GPU's own buffer, where it was full, gives nothing more until sampling was off and
 *           on again. Chips number their reasons each in its own way, so that each session asks for itself. Written by
 *           the headers of CUDA 13.0 and not yet tried on a GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/cuda.h"
#include "inject/describe.h"

enum {
	SESSIONS_MOST = 16,
	REASONS_MOST = 128,
	STALL_NAMES_MOST = 512, /* of all chips */
	PCS = 4096,             /* that come at a time */
	ROUNDS_MOST = 256,
	RESTARTS_MOST = 8,
	SLOWER_MOST = 64,
	COST_PART = 100, /* of the time */
	NAMES = 1 << 15,
	NAMES_MOST = NAMES / 2,
	NAMES_BYTES_MOST = 32 << 20,
	STALL_FIRST = RECORD_FUNCTION_FIRST + 2048, /* calls are below */
	VERSION_11_5 = 16,
	VERSION_12_0 = 19,
	VERSION_12_4 = 22
};

/* How long a sample may take to us. */
#define LATE_NS UINT64_C(300000000)

enum { WINDOW_MS = 20, PERIOD_MS = 1000, LEAST_MS = 1, MOST_MS = 3600000 };

/* How an event's unit of a period is numbered. */
enum pc_unit {
#define PC_UNIT(number, name, text) PC_UNIT_##name = (number),
#include "event/pc_sampling.h"
#undef PC_UNIT
};

struct pcs {
	struct cupti_pc_sampling_data data;
	size_t stride;
	void *memory;
	size_t memory_bytes;
};

/* Of one chip, those that count each sample once. */
struct reasons {
	uint32_t indices[REASONS_MOST];
	uint32_t names[REASONS_MOST]; /* places in samples.names */
	uint32_t count, all_count;
};

struct session {
	CUcontext _Atomic context; /* written under the lock; NULL: free */
	CUcontext _Atomic gone;    /* the context, once nothing may be asked about it any more */
	struct pcs drain, configured;
	struct reasons reasons;
	bool is_on, is_started;
	uint32_t device, restarts;
	uint64_t period; /* cycles; 0: not known */
	uint64_t begin;  /* of the window, by CUPTI's clock … */
	uint64_t end;    /* … where it is over … */
	uint64_t read;   /* … and when samples were read last */
	uint64_t shown_range_id;
	size_t shown_count;
};

static struct {
	struct guest_lock lock;
	struct session sessions[SESSIONS_MOST];
	char names[STALL_NAMES_MOST][CUPTI_STALL_REASON_STRING_SIZE];
	uint32_t name_count;
	bool is_wanted, is_exact, is_over, is_told; /* is_told: of the first refusal */
	bool is_resting; /* nobody records: all is off until somebody does */
	/* Windows, in ms of the clock of ring_now_ms. */
	uint32_t window_ms, period_ms, slower;
	uint64_t next_ms, end_ms;
	bool is_open, has_begun;
	uint64_t spent_ns, random;
	const void **given; /* NAMES: functions' names that came */
	uint32_t given_count;
	size_t given_bytes;
} samples;

/* ---- what is wanted ---------------------------------------------------------------------------- */

/* As the recorder has put them there. */
static void take_windows(const struct guest_thread *thread)
{
	const uint32_t window = thread->numbers[RING_NUMBER_CUDA_PC_WINDOW_MS];
	const uint32_t period = thread->numbers[RING_NUMBER_CUDA_PC_PERIOD_MS];
	const bool is_said = window >= LEAST_MS && window <= period && period <= MOST_MS;

	samples.window_ms = is_said ? window : WINDOW_MS;
	samples.period_ms = is_said ? period : PERIOD_MS;
	samples.slower = 1;
}

/* Sampling that is over stays so in this process: each recording is told. */
static void tell_over(void)
{
	if (samples.is_over)
		guest_trouble(RING_TROUBLE_CUDA_PC_OVER);
}

bool cuda_samples_begin(const struct guest_thread *thread)
{
	if (!(thread->options & RING_OPTION_CUDA_PC))
		return false;
	take_windows(thread);
	samples.is_exact = thread->options & RING_OPTION_CUDA_PC_EXACT;
	samples.random = ring_now_ms() | 1;
	samples.is_resting = samples.is_open = samples.has_begun = false;
	samples.next_ms = 0;
	samples.is_wanted = true;
	tell_over();
	return true;
}

/* ---- refusals ---------------------------------------------------------------------------------- */

/* Once: all contexts are told the same. */
static void refused(struct guest_thread *thread, const char *function, cupti_result result)
{
	if (samples.is_told)
		return;
	samples.is_told = true;
	cuda_refused(thread, REFUSED_PART, function, result, "");
}

#define CALL(thread, function, params) was_done(thread, #function, cuda_cupti.function(params))

static bool was_done(struct guest_thread *thread, const char *function, cupti_result result)
{
	if (result)
		refused(thread, function, result);
	return !result;
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

/* ---- memory ------------------------------------------------------------------------------------ */

static struct cupti_pc_data *record_at(const struct pcs *pcs, size_t index)
{
	return (struct cupti_pc_data *)(void *)((char *)pcs->data.pcs + index * pcs->stride);
}

static size_t data_bytes(void)
{
	return cuda_version >= VERSION_12_0 ? sizeof(struct cupti_pc_sampling_data)
	       : cuda_version >= VERSION_11_5
		       ? offsetof(struct cupti_pc_sampling_data, is_hardware_buffer_full)
		       : offsetof(struct cupti_pc_sampling_data, foreign_sample_count);
}

static bool make_pcs(struct pcs *pcs, uint32_t all_reasons)
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
		record_at(pcs, i)->struct_bytes = pcs->stride;
		record_at(pcs, i)->stalls = stalls + i * all_reasons;
	}
	return true;
}

static void free_pcs(struct pcs *pcs)
{
	if (pcs->memory)
		guest_memory_free(pcs->memory, pcs->memory_bytes);
	memset(pcs, 0, sizeof(*pcs));
}

/* ---- reasons ----------------------------------------------------------------------------------- */

#define REASON_PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define REASON_TWIN   "_not_issued"

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Its place among the names of all chips; STALL_NAMES_MOST: there is no room. */
static uint32_t keep_name(const char *name)
{
	uint32_t place = 0;

	while (place < samples.name_count && strcmp(samples.names[place], name) != 0)
		place++;
	if (place < samples.name_count || place == STALL_NAMES_MOST)
		return place;
	strcpy(samples.names[place], name);
	samples.name_count++;
	return place;
}

/* Counts of samples, and the twins that count a part of the same ones, are left out. */
static void keep_reasons(struct reasons *reasons, const uint32_t *indices,
			 char (*names)[CUPTI_STALL_REASON_STRING_SIZE])
{
	const size_t prefix = strlen(REASON_PREFIX);

	for (uint32_t i = 0; i < reasons->all_count; i++) {
		uint32_t place;

		names[i][CUPTI_STALL_REASON_STRING_SIZE - 1] = '\0';
		if (strncmp(names[i], REASON_PREFIX, prefix) != 0 ||
		    ends_with(names[i], REASON_TWIN) || !names[i][prefix])
			continue;
		place = keep_name(names[i] + prefix);
		if (place == STALL_NAMES_MOST)
			continue;
		reasons->indices[reasons->count] = indices[i];
		reasons->names[reasons->count++] = place;
	}
}

static bool find_reasons(struct guest_thread *thread, struct session *session)
{
	static char texts[REASONS_MOST][CUPTI_STALL_REASON_STRING_SIZE];
	struct reasons *reasons = &session->reasons;
	uint32_t indices[REASONS_MOST];
	char *names[REASONS_MOST];
	size_t count = 0;
	struct cupti_pc_sampling_num_stall_reasons_params ask = {
		.struct_bytes = CUpti_PCSamplingGetNumStallReasonsParamsSize,
		.context = session->context,
		.ret_count = &count};
	struct cupti_pc_sampling_stall_reasons_params get = {
		.struct_bytes = CUpti_PCSamplingGetStallReasonsParamsSize,
		.context = session->context,
		.ret_indices = indices,
		.ret_names = names};

	if (reasons->count)
		return true;
	if (!CALL(thread, cuptiPCSamplingGetNumStallReasons, &ask))
		return false;
	for (uint32_t i = 0; i < REASONS_MOST; i++)
		names[i] = texts[i];
	get.count = count < REASONS_MOST ? count : REASONS_MOST;
	if (!CALL(thread, cuptiPCSamplingGetStallReasons, &get))
		return false;
	reasons->all_count = (uint32_t)get.count;
	keep_reasons(reasons, indices, texts);
	if (!reasons->count)
		refused(thread, "cuptiPCSamplingGetStallReasons", CUPTI_ERROR_NOT_SUPPORTED);
	return reasons->count > 0;
}

/* Its name's place; STALL_NAMES_MOST: it was not asked for, as twins are not. */
static uint32_t name_of(const struct reasons *reasons, uint32_t index)
{
	for (uint32_t i = 0; i < reasons->count; i++)
		if (reasons->indices[i] == index)
			return reasons->names[i];
	return STALL_NAMES_MOST;
}

/* A name's number in this ring, which describes it first; 0: there is no room for that. */
static uint32_t number_of(struct guest_thread *thread, uint32_t name)
{
	static _Thread_local struct {
		uint32_t mode;
		uint64_t described[STALL_NAMES_MOST / 64];
	} known __attribute__((tls_model("initial-exec")));

	if (known.mode != thread->mode) {
		memset(known.described, 0, sizeof(known.described));
		known.mode = thread->mode;
	}
	if (!(known.described[name / 64] >> name % 64 & 1)) {
		struct record_function record = {
			.head = {.kind = RECORD_FUNCTION, .detail = STALL_FIRST + name}};
		const char *texts[] = {samples.names[name]};
		const struct guest_tail tail = {.texts = texts, .text_count = 1};

		if (!guest_put_with_texts(thread, &record.head,
					  offsetof(struct record_function, texts), &tail))
			return 0;
		known.described[name / 64] |= UINT64_C(1) << name % 64;
	}
	return STALL_FIRST + name;
}

/* ---- what comes -------------------------------------------------------------------------------- */

/* Counts a name that CUPTI has given away, the first time. */
static void note_name(struct guest_thread *thread, const char *name)
{
	uint64_t place = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	if (!samples.given)
		samples.given = guest_memory(NAMES * sizeof(*samples.given));
	if (!samples.given)
		return;
	while (samples.given[place % NAMES] && samples.given[place % NAMES] != name)
		place++;
	if (samples.given[place % NAMES])
		return;
	samples.given[place % NAMES] = name;
	samples.given_bytes += strlen(name) + 1;
	if ((++samples.given_count < NAMES_MOST && samples.given_bytes < NAMES_BYTES_MOST) ||
	    samples.is_over)
		return;
	samples.is_over = true;
	if (guest_is_current(thread))
		guest_trouble(RING_TROUBLE_CUDA_PC_OVER);
}

static void put_stall(struct guest_thread *thread, const struct session *session,
		      const struct record_samples *samples_of_pc,
		      const struct cupti_pc_stall_reason *stall)
{
	uint32_t name = stall->sample_count ? name_of(&session->reasons, stall->stall_index)
					    : STALL_NAMES_MOST;
	uint32_t unit = session->period ? PC_UNIT_CYCLES : PC_UNIT_SAMPLES, number;
	struct record_samples *record;

	if (name == STALL_NAMES_MOST)
		return;
	/* Without its reason's name the record would be of no use. */
	number = number_of(thread, name);
	record =
		number ? guest_reserve(thread, RECORD_SAMPLES, sizeof(*record), number | unit << 16)
		       : NULL;
	if (!record) {
		ring_count_lost(&thread->writer, EVENT_INSTRUCTION_SAMPLE, stall->sample_count);
		return;
	}
	memcpy((char *)record + sizeof(record->head),
	       (const char *)samples_of_pc + sizeof(record->head),
	       sizeof(*record) - sizeof(record->head));
	record->count = stall->sample_count;
	ring_commit(&thread->writer);
}

/* Of what is read now: samples may lie in CUPTI for some rounds of its own thread, which collects them each 100 ms. */
static uint64_t begin_of(const struct session *session)
{
	return session->read > session->begin + LATE_NS ? session->read - LATE_NS : session->begin;
}

static void put_pc(struct guest_thread *thread, const struct session *session,
		   const struct cupti_pc_data *pc, uint64_t end)
{
	struct cuda_place place = {0, 0};
	struct record_samples record = {
		.begin = begin_of(session),
		.end = end,
		.period = session->period ? session->period : 1,
		.device = session->device,
	};

	if (!cuda_find_place(thread, pc->cubin_crc, pc->function_name, &place))
		guest_trouble(RING_TROUBLE_CUDA_PC_CODE);
	else
		record.offset = place.offset + pc->pc_offset_bytes;
	record.code = place.code;
	if (samples.is_exact && cuda_version >= VERSION_12_4 && pc->correlation_id)
		record.correlation = cuda_correlation(pc->correlation_id);
	for (size_t i = 0; i < pc->stall_count && i < session->reasons.all_count; i++)
		put_stall(thread, session, &record, &pc->stalls[i]);
}

static void put_pcs(struct guest_thread *thread, const struct session *session,
		    const struct pcs *pcs, uint64_t end)
{
	size_t count = pcs->data.pc_count < PCS ? pcs->data.pc_count : PCS;

	if (count)
		cuda_device_here(thread, session->device);
	for (size_t i = 0; i < count; i++) {
		const struct cupti_pc_data *pc = record_at(pcs, i);

		if (pc->function_name)
			note_name(thread, pc->function_name);
		put_pc(thread, session, pc, end);
	}
	ring_count_lost(&thread->writer, EVENT_INSTRUCTION_SAMPLE, pcs->data.dropped_count);
}

static uint64_t cupti_now(void)
{
	uint64_t time = 0;

	return cuda_cupti.cuptiGetTimestamp(&time) ? 0 : time;
}

/* Of what is read now: what comes when a window is over was sampled in it. */
static uint64_t end_of(const struct session *session)
{
	return session->end ? session->end : cupti_now();
}

/* Should CUPTI not give what has landed, the next window's samples take its place. */
static void put_landed(struct guest_thread *thread, struct session *session, uint64_t end)
{
	const struct cupti_pc_sampling_data *live = &session->configured.data;

	if (session->is_started || !live->pc_count ||
	    (live->range_id == session->shown_range_id && live->pc_count == session->shown_count))
		return;
	session->shown_range_id = live->range_id;
	session->shown_count = live->pc_count;
	put_pcs(thread, session, &session->configured, end);
}

/* ---- on and off -------------------------------------------------------------------------------- */

static uint32_t fill_infos(struct session *session,
			   struct cupti_pc_sampling_configuration_info infos[5])
{
	uint32_t count = 0;

	infos[count++] = (struct cupti_pc_sampling_configuration_info){
		.attribute = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
		.value.collection_mode =
			samples.is_exact ? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
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

/* As CUPTI has chosen it by the size of the GPU: what is set is refused or worse on some. */
static uint64_t ask_period(const struct session *session)
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

static bool configure(struct guest_thread *thread, struct session *session)
{
	struct cupti_pc_sampling_configuration_info infos[5];
	struct cupti_pc_sampling_configuration_params params = {
		.struct_bytes = CUpti_PCSamplingConfigurationInfoParamsSize,
		.context = session->context,
		.info_count = fill_infos(session, infos),
		.infos = infos};

	if (!CALL(thread, cuptiPCSamplingSetConfigurationAttribute, &params))
		return false;
	session->period = ask_period(session);
	return true;
}

/* Its context goes away, and who destroys it waits no more: CUPTI is not to be asked about it. */
static bool is_gone(const struct session *session)
{
	return atomic_load(&session->gone) == atomic_load(&session->context);
}

static void turn_off(struct guest_thread *thread, struct session *session)
{
	struct cupti_pc_sampling_disable_params params = {
		.struct_bytes = CUpti_PCSamplingDisableParamsSize, .context = session->context};

	session->is_on = false;
	if (is_gone(session) || cuda_cupti.cuptiPCSamplingDisable(&params)) {
		/* It may still write there. */
		memset(&session->configured, 0, sizeof(session->configured));
		return;
	}
	if (!session->configured.stride || !thread)
		return;
	/* What nobody has read before comes here; of what found no room there, CUPTI says of how many places it is. */
	put_landed(thread, session, end_of(session));
	ring_count_lost(&thread->writer, EVENT_INSTRUCTION_SAMPLE,
			session->configured.data.remaining_count);
}

static bool turn_on(struct guest_thread *thread, struct session *session)
{
	struct cupti_pc_sampling_enable_params params = {
		.struct_bytes = CUpti_PCSamplingEnableParamsSize, .context = session->context};

	if (is_gone(session) || !CALL(thread, cuptiPCSamplingEnable, &params))
		return false;
	session->is_on = true;
	if (!find_reasons(thread, session))
		return false;
	free_pcs(&session->configured);
	session->shown_range_id = session->shown_count = 0;
	if ((!session->drain.stride && !make_pcs(&session->drain, session->reasons.all_count)) ||
	    !make_pcs(&session->configured, session->reasons.all_count)) {
		refused(thread, "cuptiPCSamplingEnable", CUPTI_ERROR_OUT_OF_MEMORY);
		return false;
	}
	return configure(thread, session);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static cupti_result get_data(struct session *session)
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

static bool has_more(const struct session *session)
{
	return session->drain.data.pc_count &&
	       (session->drain.data.remaining_count || session->configured.data.pc_count ||
		session->configured.data.remaining_count);
}

/* The GPU's buffer was full: it is off, and on again, some times. */
static void begin_anew(struct guest_thread *thread, struct session *session)
{
	guest_trouble(RING_TROUBLE_CUDA_PC_FULL);
	session->is_started = false;
	turn_off(thread, session);
	if (session->restarts++ == RESTARTS_MOST)
		guest_trouble(RING_TROUBLE_CUDA_PC_OVER);
	else if (!turn_on(thread, session) && session->is_on)
		turn_off(thread, session);
}

static void drain(struct guest_thread *thread, struct session *session)
{
	uint64_t end = end_of(session);
	cupti_result result = CUPTI_SUCCESS;

	for (uint32_t round = 0; round < ROUNDS_MOST && !result && !is_gone(session); round++) {
		result = get_data(session);
		put_pcs(thread, session, &session->drain, end);
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
		refused(thread, "cuptiPCSamplingGetData", result);
}

/* ---- windows ----------------------------------------------------------------------------------- */

static void start_range(struct guest_thread *thread, struct session *session)
{
	struct cupti_pc_sampling_start_params params = {
		.struct_bytes = CUpti_PCSamplingStartParamsSize, .context = session->context};

	if (!session->is_on || session->is_started || samples.is_over)
		return;
	/* What came late is of the window before. */
	if (session->end)
		drain(thread, session);
	if (!session->is_on || is_gone(session))
		return;
	session->begin = session->read = cupti_now();
	session->end = 0;
	session->is_started = CALL(thread, cuptiPCSamplingStart, &params);
}

static void stop_range(struct guest_thread *thread, struct session *session)
{
	struct cupti_pc_sampling_stop_params params = {
		.struct_bytes = CUpti_PCSamplingStopParamsSize, .context = session->context};

	if (!session->is_started || is_gone(session))
		return;
	session->is_started = false;
	CALL(thread, cuptiPCSamplingStop, &params);
	session->end = cupti_now();
	drain(thread, session);
}

static uint64_t random_below(uint64_t most)
{
	samples.random =
		samples.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return most ? (samples.random >> 33) % most : 0;
}

/* Somewhere in the period that begins when this one would end. */
static void plan_next(uint64_t now_ms)
{
	uint64_t period_ms = (uint64_t)samples.period_ms * samples.slower;

	samples.next_ms = now_ms + (period_ms - samples.window_ms) / 2 +
			  random_below(period_ms - samples.window_ms + 1);
}

/* NULL: there is none at this place, or none that CUPTI may be asked about. */
static struct session *session_at(uint32_t place)
{
	struct session *session = &samples.sessions[place];

	return session->context && !is_gone(session) ? session : NULL;
}

/* One that is always open is closed for no time at all. */
static void open_windows(struct guest_thread *thread, uint64_t now_ms)
{
	samples.is_open = true;
	samples.end_ms = now_ms + samples.window_ms;
	for (uint32_t i = 0; i < SESSIONS_MOST; i++)
		if (session_at(i))
			start_range(thread, &samples.sessions[i]);
}

static void close_windows(struct guest_thread *thread, uint64_t now_ms)
{
	samples.is_open = false;
	for (uint32_t i = 0; i < SESSIONS_MOST; i++)
		if (session_at(i))
			stop_range(thread, &samples.sessions[i]);
	plan_next(now_ms);
}

/* In the middle of a long window: the GPU's buffer is not to become full. */
static void drain_all(struct guest_thread *thread)
{
	for (uint32_t i = 0; i < SESSIONS_MOST; i++)
		if (session_at(i) && samples.sessions[i].is_started) {
			drain(thread, &samples.sessions[i]);
			/* It may have been begun anew. */
			start_range(thread, &samples.sessions[i]);
		}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* After a window: what it has cost decides how long the pause is. */
static void adapt(void)
{
	uint64_t allowed_ns = (uint64_t)samples.period_ms * samples.slower * 1000000 / COST_PART;

	if (samples.spent_ns > allowed_ns && samples.slower < SLOWER_MOST &&
	    samples.window_ms < samples.period_ms) {
		samples.slower *= 2;
		guest_trouble(RING_TROUBLE_CUDA_PC_RARE);
	} else if (samples.spent_ns * 4 < allowed_ns && samples.slower > 1) {
		samples.slower /= 2;
	}
	samples.spent_ns = 0;
}

/* Under the lock. */
static void turn(struct guest_thread *thread)
{
	uint64_t begin_ns = now_ns(), now_ms = ring_now_ms();

	/* The first one is open until something runs: before that nothing is sampled. */
	if (samples.is_open && !samples.has_begun && cuda_slots_were_used()) {
		samples.has_begun = true;
		samples.end_ms = now_ms + samples.window_ms;
	}
	if (samples.is_open && samples.has_begun && now_ms >= samples.end_ms) {
		close_windows(thread, now_ms);
		samples.spent_ns += now_ns() - begin_ns;
		adapt();
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

static void remove_session(struct guest_thread *thread, struct session *session)
{
	if (thread)
		stop_range(thread, session);
	if (session->is_on)
		turn_off(thread, session);
	free_pcs(&session->drain);
	free_pcs(&session->configured);
	memset(session, 0, sizeof(*session));
}

/* Under the lock. */
static void remove_all(struct guest_thread *thread)
{
	for (uint32_t i = 0; i < SESSIONS_MOST; i++)
		if (session_at(i))
			remove_session(thread, &samples.sessions[i]);
}

/* Under the lock: somebody records again. */
static void wake(struct guest_thread *thread)
{
	samples.is_resting = samples.is_open = samples.has_begun = false;
	samples.next_ms = 0;
	for (uint32_t i = 0; i < SESSIONS_MOST; i++) {
		struct session *session = session_at(i);

		if (!session)
			continue;
		session->restarts = 0;
		/* One of a context that was made since then is on. */
		if (!session->is_on && !turn_on(thread, session))
			remove_session(thread, session);
	}
}

uint32_t cuda_samples_turn(struct guest_thread *thread, uint32_t most_ms)
{
	uint64_t now_ms, due_ms;

	if (!samples.is_wanted || !guest_lock(&samples.lock))
		return most_ms;
	if (samples.is_over) {
		/* The GPU samples for nobody, and has memory for it. */
		remove_all(thread);
		guest_unlock(&samples.lock);
		return most_ms;
	}
	if (samples.is_resting)
		wake(thread);
	turn(thread);
	now_ms = ring_now_ms();
	due_ms = !samples.is_open    ? samples.next_ms
		 : samples.has_begun ? samples.end_ms
				     : now_ms + WINDOW_MS;
	guest_unlock(&samples.lock);
	if (due_ms <= now_ms)
		return LEAST_MS;
	return due_ms - now_ms < most_ms ? (uint32_t)(due_ms - now_ms) : most_ms;
}

void cuda_samples_rest(void)
{
	if (!samples.is_wanted || samples.is_resting || !guest_lock(&samples.lock))
		return;
	samples.is_resting = true;
	for (uint32_t i = 0; i < SESSIONS_MOST; i++)
		if (session_at(i)) {
			struct session *session = &samples.sessions[i];

			session->is_started = false;
			session->end = 0;
			if (session->is_on)
				turn_off(NULL, session);
		}
	guest_unlock(&samples.lock);
}

/* ---- contexts ---------------------------------------------------------------------------------- */

static struct session *find_session(CUcontext context)
{
	for (uint32_t i = 0; i < SESSIONS_MOST; i++)
		if (atomic_load(&samples.sessions[i].context) == context)
			return &samples.sessions[i];
	return NULL;
}

/* Frees one whose context went away without it: CUPTI is asked nothing, and what it may still write to stays. */
static void bury(struct session *session)
{
	free_pcs(&session->drain);
	memset(session, 0, sizeof(*session));
}

/* Under the lock; NULL: there is no room, or the context has one. */
static struct session *find_place(CUcontext context)
{
	struct session *session = find_session(context);

	if (session && !is_gone(session))
		return NULL;
	/* The one before at this address; else a free one. */
	if (!session)
		session = find_session(NULL);
	for (uint32_t i = 0; i < SESSIONS_MOST && !session; i++)
		if (!session_at(i))
			session = &samples.sessions[i];
	if (!session)
		guest_trouble(RING_TROUBLE_CUDA_PC_CONTEXTS);
	else if (session->context)
		bury(session);
	return session;
}

/* Under the lock. The first window is open as soon as there is a context: a program may be short. */
static void add_session(struct guest_thread *thread, CUcontext context)
{
	struct session *session = find_place(context);
	uint32_t ordinal = 0;

	if (!session)
		return;
	if (!has_functions()) {
		refused(thread, "cuptiPCSamplingEnable", 0);
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

	if (!thread || samples.is_over)
		return;
	if (!guest_lock(&samples.lock)) {
		guest_trouble(RING_TROUBLE_CUDA_PC_CONTEXTS);
		return;
	}
	add_session(thread, context);
	guest_unlock(&samples.lock);
}

/* The helper, where it is in CUPTI, ends with this context as soon as it is out of there, so that the lock is to be had; where
 * it stays for long, nobody asks about the context any more. */
void cuda_samples_remove(CUcontext context)
{
	struct session *session = samples.is_wanted && context ? find_session(context) : NULL;

	/* Where it is gone already, it is one that was at this address before. */
	if (!session || atomic_exchange(&session->gone, context) == context ||
	    !guest_lock(&samples.lock))
		return;
	/* It may be another's place by now, or nobody's. */
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
	const bool is_exact = thread->options & RING_OPTION_CUDA_PC_EXACT;

	*ret_is_kept = samples.is_wanted && thread->options & RING_OPTION_CUDA_PC &&
		       is_exact == samples.is_exact;
	if (*ret_is_kept) {
		/* What was sampled in between is nobody's; the next turn switches it on again. */
		cuda_samples_rest();
		if (guest_lock(&samples.lock)) {
			take_windows(thread);
			guest_unlock(&samples.lock);
		}
		tell_over();
		return true;
	}
	cuda_samples_end(thread);
	samples.is_told = false;
	return cuda_samples_begin(thread);
}

void cuda_samples_forked(void)
{
	guest_unlock(&samples.lock);
	samples.is_wanted = false;
}
