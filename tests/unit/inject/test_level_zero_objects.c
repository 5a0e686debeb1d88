/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_level_zero_objects.c - how modules are described
 *
 * Why:      to put a content sleeps while the ring has no room, and every other thread of the
 * program would wait for a lock that is held meanwhile
 */
#include <stdlib.h>

#include "harness.h"

#include "inject/describe.h"
#include "inject/level_zero/level_zero.h"

enum { BINARY_BYTES = 100 };

/* ---- the rest of the guest ------------------------------------------------------------------- */

struct guest_page guest_page;
struct level_zero_functions next;
zel_translate_handle *level_zero_translate;

static struct guest_thread thread = {.mode = GUEST_RECORDING, .options = RING_OPTION_CODE};
static ze_handle module = (ze_handle)0x1000, context = (ze_handle)0x2000;
static uint32_t described, contents, waits;
static bool is_ring_full;

bool guest_still_recording(void)
{
	return true;
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

void guest_memory_free(void *memory, size_t bytes)
{
	(void)bytes;
	free(memory);
}

/* There is one thread here: who finds it taken would wait. */
bool guest_lock(struct guest_lock *lock)
{
	bool is_free = !atomic_exchange(&lock->taken, 1);

	waits += !is_free;
	return is_free;
}

bool guest_put_with_texts(struct guest_thread *of, struct record *head, uint32_t fixed_bytes,
			  const struct guest_tail *tail)
{
	(void)of;
	(void)head;
	(void)fixed_bytes;
	(void)tail;
	described += !is_ring_full;
	return !is_ring_full;
}

void guest_count_lost_code(struct guest_thread *of)
{
	(void)of;
}

/* Another thread meets an object meanwhile. */
void guest_put_content(struct guest_thread *of, uint32_t code, const uint8_t *bytes, size_t size)
{
	CHECK(of == &thread);
	CHECK_EQUAL(code, 1);
	CHECK_EQUAL(size, BINARY_BYTES);
	CHECK_EQUAL(bytes[0], 7);
	level_zero_context_met(context, NULL);
	CHECK(level_zero_find(context, LEVEL_ZERO_CONTEXT) != NULL);
	contents++;
}

static ze_result native_binary(ze_handle of, size_t *size, uint8_t *bytes)
{
	CHECK(of == module);
	if (bytes)
		memset(bytes, 7, BINARY_BYTES);
	*size = BINARY_BYTES;
	return ZE_SUCCESS;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(content_is_put_without_a_lock)
{
	struct level_zero_module *known;

	atomic_store(&guest_page.mode, thread.mode);
	next.zeModuleGetNativeBinary = native_binary;
	level_zero_module_made(module, NULL, NULL);
	known = level_zero_find(module, LEVEL_ZERO_MODULE);
	REQUIRE(known);
	is_ring_full = true;
	CHECK_EQUAL(level_zero_module_id(&thread, known), 1);
	CHECK_EQUAL(contents, 0);
	is_ring_full = false;
	known->object.next_attempt = 0;
	CHECK_EQUAL(level_zero_module_id(&thread, known), 1);
	CHECK_EQUAL(level_zero_module_id(&thread, known), 1);
	CHECK_EQUAL(described, 1);
	CHECK_EQUAL(contents, 1);
	CHECK_EQUAL(waits, 0);
}

int main(void)
{
	RUN(content_is_put_without_a_lock);
	return harness_end();
}
