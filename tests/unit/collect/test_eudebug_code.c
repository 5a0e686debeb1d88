/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_eudebug_code.c - what a recording says of the code that a debugger of GPU
 * programs is told
 */
#include "bench.h"
#include "harness.h"

#include "collect/intel/experimental/eudebug.c"
#include "collect/intel/experimental/eudebug_code.c"

enum { CLIENT = 3, SPACE = 5, LINK = 1, CODES = 3 };

static struct bench bench;
static struct eudebug *debug;
static int connect_error, connects;

/* A driver that there is none of. */
static int made_ioctl(int fd, unsigned long request, void *argument)
{
	connects++;
	errno = connect_error;
	return -1;
}

static void begin(void)
{
	struct eudebug_debuggee debuggee = {.pid = 1, .link = LINK};

	bench_open(&bench);
	debug = calloc(1, sizeof(*debug));
	if (!debug || eudebug_links_open(&debug->links))
		abort();
	debug->recording = bench.recording;
	debug->gpus_count = 1;
	debug->gpus[0].node = (struct gpu_node){.fd = -1, .ioctl = made_ioctl};
	strcpy(debug->gpus[0].node.driver, "xe");
	strcpy(debug->gpus[0].node.address, "0000:03:00.0");
	if (array_grow(debug->debuggees, debug->debuggees_capacity, 1))
		abort();
	debuggee.process = process_get(process_of(debug, getpid(), &debuggee.table));
	debug->debuggees[debug->debuggees_count++] = debuggee;
	connects = connect_error = 0;
}

static void end(void)
{
	eudebug_close(debug);
	bench_read(&bench);
}

/* One kernel at each of the addresses 0x1000, 0x2000, … of two address spaces. */
static void place_some(void)
{
	struct eudebug_kernel kernel = {.size = 0x100};
	const struct eudebug_binary binary = {
		.link = LINK, .client = CLIENT, .code = 1, .kernels = &kernel, .count = 1};

	for (uint64_t i = 1; i <= CODES; i++) {
		for (uint64_t space = SPACE; space < SPACE + 2; space++) {
			const struct eudebug_place place = {.link = LINK,
							    .client = CLIENT,
							    .space = space,
							    .begin = 0x1000 * i,
							    .size = 0x100,
							    .time_ns = 10};

			place_kernels(debug, &binary, &place);
		}
	}
}

static void tell(enum eudebug_link_event_kind kind, uint64_t begin_at, uint64_t size)
{
	const struct eudebug_link_event told = {.kind = kind,
						.link = LINK,
						.client = CLIENT,
						.space = SPACE,
						.begin = begin_at,
						.size = size,
						.time_ns = 20};

	on_link_event(debug, &told);
}

static size_t count_ended(void)
{
	const struct event_code *codes;
	const size_t count = trace_reader_entities(bench.reader, EVENT_CODE, (const void **)&codes);
	size_t ended = 0;

	CHECK_EQUAL(count, 2 * CODES);
	for (size_t i = 0; i < count; i++)
		ended += codes[i].end_ns == 20;
	return ended;
}

static bool is_noted(const char *text)
{
	const struct event_collector *notes;
	const size_t count =
		trace_reader_entities(bench.reader, EVENT_COLLECTOR, (const void **)&notes);
	bool is_there = false;

	for (size_t i = 0; i < count; i++)
		is_there |= strstr(text_of(&bench, notes[i].reason_string), text) != NULL;
	return is_there;
}

/* All of a data buffer is unbound: no word of the kernels. */
TEST(what_is_unbound_without_a_place_ends_nothing)
{
	begin();
	place_some();
	tell(EUDEBUG_LINK_BOUND, 0, 0);
	end();
	CHECK_EQUAL(count_ended(), 0);
	CHECK(is_noted("1 unbinds without a known place"));
	bench_close(&bench);
}

TEST(what_is_unbound_ends_what_overlaps)
{
	begin();
	place_some();
	tell(EUDEBUG_LINK_BOUND, 0x20ff, 1);
	tell(EUDEBUG_LINK_BOUND, 0x2100, 0xf00);
	end();
	CHECK_EQUAL(count_ended(), 1);
	CHECK(!is_noted("unbinds without a known place"));
	bench_close(&bench);
}

TEST(an_address_space_ends_with_all_in_it)
{
	begin();
	place_some();
	tell(EUDEBUG_LINK_SPACE_END, 0, 0);
	end();
	CHECK_EQUAL(count_ended(), CODES);
	bench_close(&bench);
}

/* ---- processes ------------------------------------------------------------------------------- */

TEST(files_are_known_by_their_names)
{
	CHECK_EQUAL(minor_of("/dev/dri/renderD128"), 128);
	CHECK_EQUAL(minor_of("/dev/dri/card1"), 1);
	CHECK_EQUAL(minor_of("/dev/dri/card"), -1);
	CHECK_EQUAL(minor_of("/dev/dri/renderD-1"), -1);
	CHECK_EQUAL(minor_of("/dev/dri/renderD128 (deleted)"), -1);
	CHECK_EQUAL(minor_of("/dev/dri/renderD99999999999999999999"), -1);
	CHECK_EQUAL(minor_of("/mnt/server/dev/dri/renderD128"), -1);
	CHECK_EQUAL(minor_of("socket:[128]"), -1);
}

/* What a look takes is its user's. */
TEST(looks_at_files_are_charged)
{
	struct eudebug_watched watched = {.pid = getpid()};
	struct process *process;
	uint64_t due_ns;

	begin();
	process = known_process(debug, getpid());
	REQUIRE(process != NULL);
	CHECK(look_at(debug, &watched, host_clocks_now_ns()));
	due_ns = process->looks.until_ns;
	CHECK(due_ns > host_clocks_now_ns() || due_ns > watched.looked_ns);
	watched.looked_ns = 0;
	CHECK(look_at(debug, &watched, due_ns - 1));
	CHECK_EQUAL(watched.looked_ns, 0);
	CHECK(look_at(debug, &watched, due_ns));
	CHECK_EQUAL(watched.looked_ns, due_ns);
	end();
	bench_close(&bench);
}

/* A debugger is attached, and goes. */
TEST(who_was_refused_is_tried_again)
{
	const struct eudebug_watched watched = {.pid = getpid()};

	begin();
	connect_error = EBUSY;
	connect_process(debug, &watched, 0, 1);
	CHECK_EQUAL(connects, 1);
	connect_process(debug, &watched, 0, AGAIN_NS);
	CHECK_EQUAL(connects, 1);
	connect_error = EACCES;
	connect_process(debug, &watched, 0, AGAIN_NS + 1);
	CHECK_EQUAL(connects, 2);
	/* that stays so */
	connect_process(debug, &watched, 0, 10 * AGAIN_NS);
	CHECK_EQUAL(connects, 2);
	CHECK_EQUAL(debug->debuggees_count, 2);
	end();
	CHECK(is_noted("a debugger is attached"));
	CHECK(is_noted("forbids debuggers"));
	bench_close(&bench);
}

int main(void)
{
	RUN(what_is_unbound_without_a_place_ends_nothing);
	RUN(what_is_unbound_ends_what_overlaps);
	RUN(an_address_space_ends_with_all_in_it);
	RUN(files_are_known_by_their_names);
	RUN(looks_at_files_are_charged);
	RUN(who_was_refused_is_tried_again);
	return harness_end();
}
