/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/sample_records.c - turn CUPTI's samples into records
 *
 * Runs in:  the profiled process, on the helper's thread or in the call that ends a context
 * Gets:     buffers of samples that CUPTI has filled
 * Gives:    a record for each instruction and reason in a reading
 * Owns:     the names of stall reasons, and the list of function names that CUPTI has allocated
 * Fails:    by counting the samples of a record that has no room
 * Why:      CUPTI allocates the names of functions and shares them between records. No record shows
 *           that it is the last one with its name, so names are never freed. When all names take 32
 *           MiB, sampling ends. Each chip numbers its reasons in its own way, so each session
 *           queries the numbers of its chip.
 */
#include <string.h>

#include "inject/describe.h"
#include "inject/nvidia/samples.h"

enum {
	MAX_STALL_NAMES = 512, /* names of all chips together */
	NAMES = 1 << 15,
	MAX_NAMES = NAMES / 2,
	MAX_NAMES_BYTES = 32 << 20,
	STALL_FIRST = RECORD_FUNCTION_FIRST + 2048 /* numbers below are calls */
};

/* Longest time between a sample and its delivery. */
#define LATE_NS UINT64_C(300000000)

/* Numbers of the units of an event's period. */
enum pc_unit {
#define PC_UNIT(number, name, text) PC_UNIT_##name = (number),
#include "event/pc_sampling.h"
#undef PC_UNIT
};

static struct {
	char names[MAX_STALL_NAMES][CUPTI_STALL_REASON_STRING_SIZE];
	uint32_t name_count;
	const void **given; /* NAMES entries: function names from CUPTI, to count each once */
	uint32_t given_count;
	size_t given_bytes;
} known;

bool cuda_samples_are_over, cuda_samples_are_exact, cuda_samples_refusal_is_reported;

/* ---- refusals -------------------------------------------------------------------------------- */

void cuda_samples_refused(struct guest_thread *thread, const char *function, cupti_result result)
{
	if (cuda_samples_refusal_is_reported)
		return;
	cuda_samples_refusal_is_reported = true;
	cuda_refused(thread, REFUSED_PART, function, result, "");
}

bool cuda_samples_was_done(struct guest_thread *thread, const char *function, cupti_result result)
{
	if (result)
		cuda_samples_refused(thread, function, result);
	return !result;
}

/* ---- reasons --------------------------------------------------------------------------------- */

#define REASON_PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define REASON_TWIN   "_not_issued"

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Returns the index of the name among those of all chips; MAX_STALL_NAMES: no room. */
static uint32_t keep_name(const char *name)
{
	uint32_t place = 0;

	while (place < known.name_count && strcmp(known.names[place], name) != 0)
		place++;
	if (place < known.name_count || place == MAX_STALL_NAMES)
		return place;
	strcpy(known.names[place], name);
	known.name_count++;
	return place;
}

/* Leaves out counters of all samples, and the twins (REASON_TWIN), which count a part of the same
 * samples again. */
static void keep_reasons(struct cuda_reasons *reasons, const uint32_t *indices,
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
		if (place == MAX_STALL_NAMES)
			continue;
		reasons->indices[reasons->count] = indices[i];
		reasons->names[reasons->count++] = place;
	}
}

bool cuda_find_reasons(struct guest_thread *thread, struct cuda_session *session)
{
	static char texts[MAX_REASONS][CUPTI_STALL_REASON_STRING_SIZE];
	struct cuda_reasons *reasons = &session->reasons;
	uint32_t indices[MAX_REASONS];
	char *names[MAX_REASONS];
	size_t count = 0;
	struct cupti_pc_sampling_num_stall_reasons_params ask = {
		.struct_bytes = sizeof(ask), .context = session->context, .ret_count = &count};
	struct cupti_pc_sampling_stall_reasons_params get = {.struct_bytes = sizeof(get),
							     .context = session->context,
							     .ret_indices = indices,
							     .ret_names = names};

	if (reasons->count)
		return true;
	if (!CUDA_SAMPLES_CALL(thread, cuptiPCSamplingGetNumStallReasons, &ask))
		return false;
	for (uint32_t i = 0; i < MAX_REASONS; i++)
		names[i] = texts[i];
	get.count = count < MAX_REASONS ? count : MAX_REASONS;
	if (!CUDA_SAMPLES_CALL(thread, cuptiPCSamplingGetStallReasons, &get))
		return false;
	reasons->all_count = (uint32_t)get.count;
	keep_reasons(reasons, indices, texts);
	if (!reasons->count)
		cuda_samples_refused(thread, "cuptiPCSamplingGetStallReasons",
				     CUPTI_ERROR_NOT_SUPPORTED);
	return reasons->count > 0;
}

/* Returns the index of the reason's name; MAX_STALL_NAMES: this reason is not sampled, such as the
 * twins. */
static uint32_t name_of(const struct cuda_reasons *reasons, uint32_t index)
{
	for (uint32_t i = 0; i < reasons->count; i++)
		if (reasons->indices[i] == index)
			return reasons->names[i];
	return MAX_STALL_NAMES;
}

/* Returns the name's function number, which is described first in this ring; 0: no room for the
 * description. */
static uint32_t number_of(struct guest_thread *thread, uint32_t name)
{
	static _Thread_local struct {
		uint32_t mode;
		uint64_t described[MAX_STALL_NAMES / 64];
	} thread_names __attribute__((tls_model("initial-exec")));

	if (thread_names.mode != thread->mode) {
		memset(thread_names.described, 0, sizeof(thread_names.described));
		thread_names.mode = thread->mode;
	}
	if (!(thread_names.described[name / 64] >> name % 64 & 1)) {
		struct record_function record = {
			.head = {.kind = RECORD_FUNCTION, .detail = STALL_FIRST + name}};
		const char *texts[] = {known.names[name]};
		const struct guest_tail tail = {.texts = texts, .text_count = 1};

		if (!guest_put_with_texts(thread, &record.head,
					  offsetof(struct record_function, texts), &tail))
			return 0;
		thread_names.described[name / 64] |= UINT64_C(1) << name % 64;
	}
	return STALL_FIRST + name;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Counts each name from CUPTI once. */
static void count_name(struct guest_thread *thread, const char *name)
{
	uint64_t place = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	if (!known.given)
		known.given = guest_memory(NAMES * sizeof(*known.given));
	if (!known.given)
		return;
	while (known.given[place % NAMES] && known.given[place % NAMES] != name)
		place++;
	if (known.given[place % NAMES])
		return;
	known.given[place % NAMES] = name;
	known.given_bytes += strlen(name) + 1;
	if ((++known.given_count < MAX_NAMES && known.given_bytes < MAX_NAMES_BYTES) ||
	    cuda_samples_are_over)
		return;
	cuda_samples_are_over = true;
	if (guest_is_current(thread))
		guest_trouble(NVIDIA_TROUBLE_PC_OVER);
}

static void put_stall(struct guest_thread *thread, const struct cuda_session *session,
		      const struct record_samples *samples_of_pc,
		      const struct cupti_pc_stall_reason *stall)
{
	uint32_t name = stall->sample_count ? name_of(&session->reasons, stall->stall_index)
					    : MAX_STALL_NAMES;
	uint32_t unit = session->period ? PC_UNIT_CYCLES : PC_UNIT_SAMPLES, number;
	struct record_samples *record;

	if (name == MAX_STALL_NAMES)
		return;
	/* A record without its reason's name would be useless. */
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

/* Start of the samples read now. CUPTI's own thread collects them every 100 ms, so they may be some
 * rounds older than the last ones. */
static uint64_t begin_of(const struct cuda_session *session)
{
	return session->read > session->begin + LATE_NS ? session->read - LATE_NS : session->begin;
}

static void put_pc(struct guest_thread *thread, const struct cuda_session *session,
		   const struct cupti_pc_data *pc, uint64_t end)
{
	struct cuda_code_position place = {0, 0};
	struct record_samples record = {
		.begin = begin_of(session),
		.end = end,
		.period = session->period ? session->period : 1,
		.device = session->device,
	};

	if (!cuda_find_place(thread, pc->cubin_crc, pc->function_name, &place))
		guest_trouble(NVIDIA_TROUBLE_PC_CODE);
	else
		record.offset = place.offset + pc->pc_offset_bytes;
	record.code = place.code;
	if (cuda_samples_are_exact && cuda_version >= VERSION_12_4 && pc->correlation_id)
		record.correlation = cuda_correlation(pc->correlation_id);
	for (size_t i = 0; i < pc->stall_count && i < session->reasons.all_count; i++)
		put_stall(thread, session, &record, &pc->stalls[i]);
}

void cuda_put_pcs(struct guest_thread *thread, const struct cuda_session *session,
		  const struct cuda_pcs *pcs, uint64_t end)
{
	size_t count = pcs->data.pc_count < PCS ? pcs->data.pc_count : PCS;

	if (count)
		cuda_device_here(thread, session->device);
	for (size_t i = 0; i < count; i++) {
		const struct cupti_pc_data *pc = cuda_pc_at(pcs, i);

		if (pc->function_name)
			count_name(thread, pc->function_name);
		put_pc(thread, session, pc, end);
	}
	ring_count_lost(&thread->writer, EVENT_INSTRUCTION_SAMPLE, pcs->data.dropped_count);
}

uint64_t cuda_samples_now(void)
{
	uint64_t time = 0;

	return cuda_cupti.cuptiGetTimestamp(&time) ? 0 : time;
}
