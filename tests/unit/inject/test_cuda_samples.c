/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_cuda_samples.c - samples of instructions, with a CUPTI that does what is
 * planned, and no other thread
 *
 * Why:      what is lost, and what comes while a context goes away, is a matter of a moment that no
 * program hits at will
 */
#include <stdlib.h>

#include "harness.h"

#include "inject/nvidia/cuda.h"
#include "inject/describe.h"

enum { RING_BYTES = 1 << 16, FIRST = 3 };

/* ---- the rest of the guest ------------------------------------------------------------------- */

struct guest_page guest_page;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));
struct cupti_functions cuda_cupti;
uint32_t cuda_version = 130000;

static struct guest_thread thread;
static struct ring_region *region;
static uint64_t troubles[RING_TROUBLE_COUNT];
static bool has_no_room; /* for names */
static char described[64][64];
static uint32_t described_count, refusals;

struct guest_thread *guest_enter_slow(void)
{
	return NULL;
}

bool guest_still_recording(void)
{
	return true;
}

void guest_trouble(uint32_t trouble)
{
	troubles[trouble]++;
}

/* What CUPTI may still write to when its context has gone is left there on purpose: it is no leak
 * to be found. */
static void *given[256];
static size_t given_count;

void *guest_memory(size_t bytes)
{
	void *memory = calloc(1, bytes);

	given[given_count++ % 256] = memory;
	return memory;
}

void guest_memory_free(void *memory, size_t bytes)
{
	(void)bytes;
	for (size_t i = 0; i < 256; i++)
		if (given[i] == memory)
			given[i] = NULL;
	free(memory);
}

/* Who has it stays in the way for longer than anybody waits. */
bool guest_lock(struct guest_lock *lock)
{
	return !atomic_exchange(&lock->taken, 1);
}

bool guest_put_with_texts(struct guest_thread *of, struct record *head, uint32_t fixed_bytes,
			  const struct guest_tail *tail)
{
	(void)of;
	(void)fixed_bytes;
	if (has_no_room)
		return false;
	snprintf(described[described_count % 64], sizeof(described[0]), "%u %s", head->detail,
		 tail->texts[0]);
	described_count++;
	return true;
}

void cuda_refused(struct guest_thread *of, enum record_refusal refusal, const char *function,
		  cupti_result result, const char *holder)
{
	(void)of;
	(void)refusal;
	(void)result;
	(void)holder;
	printf("# refused: %s\n", function);
	refusals++;
}

uint32_t cuda_device(struct guest_thread *of, uint32_t device)
{
	(void)of;
	return device + 1;
}

void cuda_device_here(struct guest_thread *of, uint32_t device)
{
	(void)of;
	(void)device;
}

bool cuda_find_place(struct guest_thread *of, uint64_t crc, const char *name,
		     struct cuda_code_position *ret_place)
{
	(void)of;
	(void)crc;
	(void)name;
	*ret_place = (struct cuda_code_position){.code = 9, .offset = 64};
	return true;
}

uint64_t cuda_correlation(uint32_t correlation)
{
	return correlation;
}

uint32_t cuda_device_units(uint32_t device)
{
	(void)device;
	return 132;
}

/* ---- a CUPTI --------------------------------------------------------------------------------- */

static struct context {
	bool is_on, is_gone;
	uint32_t first; /* index of a reason */
	struct cupti_pc_sampling_data *data;
	/* What the next cuptiPCSamplingGetData gives, once. */
	uint32_t index, count, twins;
	const char *name;
	uint32_t left_at_disable;
	bool is_destroyed_meanwhile;
	int calls, wrong_calls;
} contexts[2];

static char handles[2];

static CUcontext handle_of(int number)
{
	return (CUcontext)(void *)&handles[number];
}

static struct context *context_of(CUcontext handle)
{
	struct context *context = &contexts[(char *)(void *)handle - handles];

	context->calls++;
	context->wrong_calls += context->is_gone;
	return context;
}

static cupti_result enable(struct cupti_pc_sampling_enable_params *params)
{
	context_of(params->context)->is_on = true;
	return CUPTI_SUCCESS;
}

static cupti_result disable(struct cupti_pc_sampling_disable_params *params)
{
	struct context *context = context_of(params->context);

	context->is_on = false;
	context->data->remaining_count = context->left_at_disable;
	return CUPTI_SUCCESS;
}

static cupti_result get_data(struct cupti_pc_sampling_get_data_params *params)
{
	struct context *context = context_of(params->context);
	struct cupti_pc_sampling_data *data = params->data;
	struct cupti_pc_data *pc = data->pcs;

	if (context->is_destroyed_meanwhile) {
		context->is_destroyed_meanwhile = false;
		cuda_samples_remove(params->context);
		context->is_gone = true;
	}
	data->pc_count = context->count != 0;
	if (!context->count)
		return CUPTI_SUCCESS;
	pc->function_name = (char *)(uintptr_t)context->name;
	pc->stall_count = context->twins ? 2 : 1;
	pc->stalls[0] = (struct cupti_pc_stall_reason){context->index, context->count};
	if (context->twins)
		pc->stalls[1] = (struct cupti_pc_stall_reason){context->index + 1, context->twins};
	context->count = 0;
	return CUPTI_SUCCESS;
}

static cupti_result configure(struct cupti_pc_sampling_configuration_params *params)
{
	struct context *context = context_of(params->context);

	for (size_t i = 0; i < params->info_count; i++)
		if (params->infos[i].attribute ==
		    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
			context->data = params->infos[i].value.data_buffer;
	return CUPTI_SUCCESS;
}

static cupti_result count_reasons(struct cupti_pc_sampling_num_stall_reasons_params *params)
{
	*params->ret_count = 4;
	return CUPTI_SUCCESS;
}

/* Two, each with its twin. */
static cupti_result get_reasons(struct cupti_pc_sampling_stall_reasons_params *params)
{
	static const char *const names[] = {"wait", "wait_not_issued", "drain", "drain_not_issued"};
	const struct context *context = context_of(params->context);

	for (uint32_t i = 0; i < 4; i++) {
		params->ret_indices[i] = FIRST + (context->first + i) % 4;
		snprintf(params->ret_names[i], CUPTI_STALL_REASON_STRING_SIZE,
			 "smsp__pcsamp_warps_issue_stalled_%s", names[i]);
	}
	return CUPTI_SUCCESS;
}

static cupti_result device_of(CUcontext context, uint32_t *ret_device)
{
	*ret_device = (uint32_t)((char *)(void *)context - handles);
	return CUPTI_SUCCESS;
}

static cupti_result timestamp(uint64_t *ret_ns)
{
	static uint64_t now = 1000;

	*ret_ns = now += 1000;
	return CUPTI_SUCCESS;
}

static void begin(void)
{
	cuda_cupti = (struct cupti_functions){
		.cuptiPCSamplingEnable = enable,
		.cuptiPCSamplingDisable = disable,
		.cuptiPCSamplingGetData = get_data,
		.cuptiPCSamplingSetConfigurationAttribute = configure,
		.cuptiPCSamplingGetNumStallReasons = count_reasons,
		.cuptiPCSamplingGetStallReasons = get_reasons,
		.cuptiGetDeviceId = device_of,
		.cuptiGetTimestamp = timestamp,
	};
	if (!region) {
		region = calloc(1, ring_region_bytes(1, RING_BYTES));
		REQUIRE(region && ring_claim(region, 1, RING_BYTES, 1, &thread.writer));
	}
	atomic_store(&region->enabled, 1);
	thread.mode++;
	thread.mode += thread.mode < GUEST_RECORDING ? GUEST_RECORDING : 0;
	thread.options = NVIDIA_OPTION_PC;
	thread.region = region;
	atomic_store(&guest_page.mode, thread.mode);
	guest_self = &thread;
	memset(contexts, 0, sizeof(contexts));
	memset(troubles, 0, sizeof(troubles));
	has_no_room = false;
	described_count = refusals = 0;
	REQUIRE(cuda_samples_begin(&thread));
}

static struct record_samples last;
static uint32_t samples_count;

static void take(void *context, const struct record *record)
{
	(void)context;
	if (record->kind != RECORD_SAMPLES)
		return;
	memcpy(&last, record, sizeof(last));
	samples_count++;
}

/* Records of samples since the last time. */
static uint32_t read_records(void)
{
	static struct ring_reader reader;
	static _Alignas(8) uint8_t scratch[1 << 16];

	if (!reader.control)
		ring_reader_init(&reader, region, RING_BYTES, 0);
	samples_count = 0;
	ring_drain(&reader, RING_BYTES, scratch, take, NULL);
	return samples_count;
}

static uint64_t lost(void)
{
	return atomic_exchange(&thread.writer.control->lost[EVENT_INSTRUCTION_SAMPLE], 0);
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(a_reason_whose_name_finds_no_room_loses_its_samples_and_says_so)
{
	begin();
	cuda_samples_add(handle_of(0));
	CHECK(contexts[0].is_on);
	contexts[0].index = FIRST;
	contexts[0].count = 7;
	contexts[0].twins = 3;
	contexts[0].name = "step";
	has_no_room = true;
	cuda_samples_turn(&thread);
	CHECK_EQUAL(read_records(), 0);
	CHECK_EQUAL(lost(), 7);
	has_no_room = false;
	contexts[0].count = 7;
	cuda_samples_turn(&thread);
	CHECK_EQUAL(read_records(), 1);
	CHECK_EQUAL(last.count, 7);
	CHECK_EQUAL(lost(), 0);
	cuda_samples_end(&thread);
	CHECK_EQUAL(refusals, 0);
	CHECK_EQUAL(contexts[0].wrong_calls, 0);
}

TEST(what_finds_no_room_at_the_end_is_counted)
{
	begin();
	cuda_samples_add(handle_of(0));
	contexts[0].left_at_disable = 5;
	cuda_samples_end(&thread);
	CHECK(!contexts[0].is_on);
	CHECK_EQUAL(lost(), 5);
}

TEST(chips_number_reasons_each_in_its_own_way)
{
	begin();
	contexts[1].first = 2;
	cuda_samples_add(handle_of(0));
	cuda_samples_add(handle_of(1));
	for (int i = 0; i < 2; i++) {
		contexts[i].index = FIRST;
		contexts[i].count = 1;
		contexts[i].name = "step";
		cuda_samples_turn(&thread);
		CHECK_EQUAL(read_records(), 1);
		CHECK_EQUAL(last.device, (uint64_t)i + 1);
	}
	CHECK_EQUAL(described_count, 2);
	CHECK(strstr(described[0], " wait"));
	CHECK(strstr(described[1], " drain"));
	CHECK_EQUAL((uint64_t)atoi(described[1]), last.head.detail & 0xffff);
	cuda_samples_end(&thread);
}

TEST(a_context_that_goes_away_while_it_is_read_is_asked_about_nothing)
{
	begin();
	cuda_samples_add(handle_of(0));
	contexts[0].count = 4;
	contexts[0].index = FIRST;
	contexts[0].name = "step";
	contexts[0].is_destroyed_meanwhile = true;
	cuda_samples_turn(&thread);
	CHECK(contexts[0].is_gone);
	/* What had come is kept. */
	CHECK_EQUAL(read_records(), 1);
	cuda_samples_turn(&thread);
	CHECK_EQUAL(contexts[0].wrong_calls, 0);
	/* Another one at its address. */
	contexts[0].is_gone = contexts[0].is_on = false;
	cuda_samples_add(handle_of(0));
	CHECK(contexts[0].is_on);
	cuda_samples_remove(handle_of(0));
	CHECK(!contexts[0].is_on);
	cuda_samples_end(&thread);
	CHECK_EQUAL(contexts[0].wrong_calls, 0);
}

TEST(one_that_was_never_sampled_is_not_asked_about_when_it_goes)
{
	begin();
	cuda_samples_add(handle_of(0));
	contexts[0].is_destroyed_meanwhile = true;
	cuda_samples_turn(&thread);
	contexts[0].calls = 0;
	cuda_samples_remove(handle_of(0));
	cuda_samples_end(&thread);
	CHECK_EQUAL(contexts[0].calls, 0);
}

TEST(without_a_recorder_the_gpu_is_left_alone)
{
	begin();
	cuda_samples_add(handle_of(0));
	cuda_samples_rest();
	CHECK(!contexts[0].is_on);
	contexts[0].calls = 0;
	cuda_samples_rest();
	CHECK_EQUAL(contexts[0].calls, 0);
	cuda_samples_turn(&thread);
	CHECK(contexts[0].is_on);
	cuda_samples_end(&thread);
	CHECK(!contexts[0].is_on);
}

/* The last one: it is so for the rest of the process. */
TEST(where_sampling_is_over_the_gpu_is_left_alone)
{
	enum { NAME_BYTES = 17 << 20 };
	char *names[2];

	begin();
	cuda_samples_add(handle_of(0));
	for (int i = 0; i < 2; i++) {
		names[i] = malloc(NAME_BYTES);
		REQUIRE(names[i]);
		memset(names[i], 'a', NAME_BYTES);
		names[i][NAME_BYTES - 1] = '\0';
		contexts[0].count = 1;
		contexts[0].index = FIRST;
		contexts[0].name = names[i];
		CHECK(contexts[0].is_on);
		cuda_samples_turn(&thread);
	}
	CHECK_EQUAL(troubles[NVIDIA_TROUBLE_PC_OVER], 1);
	cuda_samples_turn(&thread);
	CHECK(!contexts[0].is_on);
	contexts[0].calls = 0;
	cuda_samples_turn(&thread);
	cuda_samples_end(&thread);
	CHECK_EQUAL(contexts[0].calls, 0);
	free(names[0]);
	free(names[1]);
}

int main(void)
{
	RUN(a_reason_whose_name_finds_no_room_loses_its_samples_and_says_so);
	RUN(what_finds_no_room_at_the_end_is_counted);
	RUN(chips_number_reasons_each_in_its_own_way);
	RUN(a_context_that_goes_away_while_it_is_read_is_asked_about_nothing);
	RUN(one_that_was_never_sampled_is_not_asked_about_when_it_goes);
	RUN(without_a_recorder_the_gpu_is_left_alone);
	RUN(where_sampling_is_over_the_gpu_is_left_alone);
	return harness_end();
}
