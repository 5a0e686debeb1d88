/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_cuda_modules.c - where in a cubin a function begins, by its name
 *
 * Why:      two names that half a hash takes for one are no accident in a library of ten thousand
 * kernels
 */
#include <stdlib.h>

#include "harness.h"

#include "inject/nvidia/cuda.h"
#include "inject/describe.h"
#include "sim/nvidia/driver.h"

enum { CRC = 77, KERNELS = 3 };

/* The 32 bits that were once compared are the same of the first two. */
static const char *const names[KERNELS] = {"kernel_25656", "kernel_148962", "reduce"};

/* ---- the rest of the guest ------------------------------------------------------------------- */

struct guest_page guest_page;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));
struct cupti_functions cuda_cupti;

static struct ring_region region = {.enabled = 1};
static struct guest_thread thread = {.mode = GUEST_RECORDING, .region = &region};
static uint32_t last_code, contents;

struct guest_thread *guest_enter_slow(void)
{
	return NULL;
}

void guest_section_end(struct guest_thread *of, enum guest_section section, uint64_t begin)
{
	(void)of;
	(void)section;
	(void)begin;
}

void guest_trouble(uint32_t trouble)
{
	(void)trouble;
}

void *guest_memory(size_t bytes)
{
	return calloc(1, bytes);
}

bool guest_lock(struct guest_lock *lock)
{
	return !atomic_exchange(&lock->taken, 1);
}

bool guest_put_with_texts(struct guest_thread *of, struct record *head, uint32_t fixed_bytes,
			  const struct guest_tail *tail)
{
	(void)of;
	(void)head;
	(void)fixed_bytes;
	(void)tail;
	return true;
}

void guest_put_content(struct guest_thread *of, uint32_t code, const uint8_t *bytes, size_t size)
{
	(void)of;
	(void)code;
	(void)bytes;
	(void)size;
	contents++;
}

uint32_t cuda_device(struct guest_thread *of, uint32_t device)
{
	(void)of;
	return device + 1;
}

uint32_t cuda_new_code(void)
{
	return ++last_code;
}

static cupti_result crc_of(struct cupti_cubin_crc_params *params)
{
	params->ret_crc = CRC;
	return CUPTI_SUCCESS;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void load(char *const *of, size_t count, size_t *ret_bytes)
{
	uint32_t text_bytes;
	uint8_t *cubin = sim_make_cubin(of, count, ret_bytes, &text_bytes);
	struct cupti_module_resource resource = {.cubin_bytes = *ret_bytes,
						 .cubin = (const char *)cubin};

	REQUIRE(cubin);
	cuda_cupti.cuptiGetCubinCrc = crc_of;
	atomic_store(&guest_page.mode, thread.mode);
	guest_self = &thread;
	cuda_module_loaded(NULL, &resource);
	free(cubin);
}

TEST(functions_are_told_apart_by_their_names)
{
	char *copies[KERNELS];
	struct cuda_code_position places[KERNELS] = {{0, 0}}, again;
	size_t bytes = 0;

	for (int i = 0; i < KERNELS; i++)
		REQUIRE((copies[i] = strdup(names[i])) != NULL);
	load(copies, KERNELS, &bytes);
	CHECK_EQUAL(contents, 1);
	for (int i = 0; i < KERNELS; i++) {
		CHECK(cuda_find_place(&thread, CRC, names[i], &places[i]));
		CHECK(places[i].offset && places[i].offset < bytes);
		for (int k = 0; k < i; k++)
			CHECK(places[i].code != places[k].code &&
			      places[i].offset != places[k].offset);
	}
	CHECK(cuda_find_place(&thread, CRC, names[1], &again));
	CHECK_EQUAL(again.code, places[1].code);
	CHECK(!cuda_find_place(&thread, CRC, "other", &again));
	CHECK(!cuda_find_place(&thread, CRC + 1, names[0], &again));
	CHECK(!cuda_find_place(&thread, CRC, NULL, &again));
	for (int i = 0; i < KERNELS; i++)
		free(copies[i]);
}

int main(void)
{
	RUN(functions_are_told_apart_by_their_names);
	return harness_end();
}
