/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_injected.c - what a process shares with the recorder, and what it keeps of it
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "harness.h"

#include "bench.h"

/* The region as the guest maps it. */
struct guest {
	struct injected *injected;
	struct ring_region *region;
	int fd;
};

static void guest_open(struct bench *bench, struct guest *guest)
{
	bench_open(bench);
	REQUIRE(!injected_open(bench->recording, getpid(), (uint32_t)getpid(), 0, &guest->injected,
			       &guest->fd));
	guest->region = mmap(NULL, guest->injected->region_bytes, PROT_READ | PROT_WRITE,
			     MAP_SHARED, guest->fd, 0);
	REQUIRE(guest->region != MAP_FAILED);
}

static uint64_t held_bytes(const struct guest *guest)
{
	struct stat about = {0};

	fstat(guest->fd, &about);
	return (uint64_t)about.st_blocks * 512;
}

/* Calls of clFinish of one queue. */
static uint32_t write_calls(struct ring_writer *writer, uint32_t count)
{
	uint32_t written = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct record_api *record = ring_reserve(writer, EVENT_API, RECORD_API_BYTES);

		if (!record)
			continue;
		*record = (struct record_api){
			.head = {.kind = EVENT_API, .size = RECORD_API_BYTES, .detail = 47},
			.begin = i + 1,
			.end = i + 2,
		};
		ring_commit(writer);
		written++;
	}
	return written;
}

TEST(a_program_that_lives_on_keeps_no_memory)
{
	enum { CALLS = 100000 };
	struct bench bench;
	struct guest guest;
	struct ring_writer writer, other;
	size_t bytes, count = 0;
	uint32_t ring_count, ring_bytes;

	guest_open(&bench, &guest);
	ring_count = guest.injected->ring_count;
	ring_bytes = guest.injected->ring_bytes;
	bytes = guest.injected->region_bytes;
	REQUIRE(ring_claim(guest.region, ring_count, ring_bytes, (uint32_t)getpid(), &writer));
	CHECK_EQUAL(write_calls(&writer, CALLS), CALLS);
	CHECK(held_bytes(&guest) > CALLS * RECORD_API_BYTES);
	injected_stop(guest.injected);
	while (injected_drain(guest.injected))
		;
	injected_close(guest.injected);
	printf("# %llu bytes are held after the end\n", (unsigned long long)held_bytes(&guest));
	CHECK(held_bytes(&guest) <= 3 * RING_PAGE);
	/* a thread that is still inside goes on until its ring is full, and learns that it is over */
	CHECK_EQUAL(atomic_load(&guest.region->enabled), 0);
	CHECK(guest.region->magic == RING_MAGIC);
	CHECK(write_calls(&writer, 2 * ring_bytes / RECORD_API_BYTES) < ring_bytes);
	CHECK(atomic_load(&writer.control->lost[EVENT_API]) > 0);
	/* its ring is nobody else's */
	REQUIRE(ring_claim(guest.region, ring_count, ring_bytes, 1, &other));
	CHECK(other.control != writer.control);
	ring_close(&writer);
	munmap(guest.region, bytes);
	close(guest.fd);
	bench_read(&bench);
	free(ROWS(&bench, EVENT_API, struct event_api, &count, NULL));
	CHECK_EQUAL(count, CALLS);
	bench_close(&bench);
}

int main(void)
{
	RUN(a_program_that_lives_on_keeps_no_memory);
	return harness_end();
}
