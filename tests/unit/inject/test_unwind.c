/* SPDX-License-Identifier: MIT */
/* inject/unwind.c against libgcc's unwinder, on frames of every shape that compilers make. Built
 * without frame pointers. */
#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "harness.h"
#include "unwind_probe.h"

#define NOINLINE __attribute__((noinline))

static volatile int sink;
static _Thread_local unsigned int seed = 1;

static unsigned int random_number(unsigned int below)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % below;
}

/* What the innermost frame does. */
static _Thread_local struct unwind taken;
static _Thread_local volatile uint32_t wrong, stacks, cut_short; /* handlers change them */

static NOINLINE int take(void)
{
	bool same = false;

	if (!probe(&taken, &same))
		return 0; /* in a signal handler that interrupted another */
	stacks++;
	wrong += !same;
	cut_short += taken.end != UNWIND_COMPLETE;
	return (int)taken.count;
}

/* In front of the C library's, for libgcc in the probe too: it takes the loader's lock. */
static _Atomic uint32_t loader_looks;

__attribute__((visibility("default"))) int
dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

	*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	loader_looks++;
	return real(callback, data);
}

static void begin(void)
{
	wrong = stacks = cut_short = 0;
}

#define CHECK_ALL()                        \
	do {                               \
		CHECK_EQUAL(wrong, 0);     \
		CHECK_EQUAL(cut_short, 0); \
		CHECK(stacks > 0);         \
	} while (0)

/* ---- shapes ---------------------------------------------------------------------------------- */

typedef int shape(int depth);
static int go_on(int depth);

static NOINLINE int plain(int depth)
{
	return go_on(depth) * 3 + 1;
}

static NOINLINE int large(int depth)
{
	volatile char buffer[5000];

	buffer[depth] = (char)depth;
	return go_on(depth) + buffer[depth];
}

static NOINLINE int variable(int depth)
{
	char *buffer = alloca(16 + random_number(4000));

	memset(buffer, depth, 16);
	return go_on(depth) + buffer[7];
}

struct wide {
	_Alignas(64) char bytes[128];
};

static NOINLINE int aligned(int depth)
{
	struct wide wide;

	memset(&wide, depth, sizeof(wide));
	sink = ((uintptr_t)&wide & 63) != 0;
	return go_on(depth) + wide.bytes[3];
}

static NOINLINE int aligned_variable(int depth)
{
	struct wide wide;
	char *buffer = alloca(16 + random_number(300));

	memset(&wide, depth, sizeof(wide));
	memset(buffer, depth, 16);
	return go_on(depth) + wide.bytes[3] + buffer[1];
}

static NOINLINE int jumping(int depth)
{
	jmp_buf place;
	volatile int result = 0;

	if (setjmp(place) == 0) {
		result = go_on(depth);
		longjmp(place, 1);
	}
	return result + 1;
}

static NOINLINE int tail(int depth)
{
	return go_on(depth); /* a jump: no frame is left */
}

static NOINLINE int registers(int depth)
{
	int a = depth * 3, b = depth * 5, c = depth * 7, d = depth * 11, e = depth * 13,
	    f = depth ^ 9;
	int result = go_on(depth);

	return result + a * b + c * d + e * f + a + b + c + d + e + f;
}

static _Thread_local bool sorted_inside;
static _Thread_local int sorted_depth;

static int compare(const void *a, const void *b)
{
	if (!sorted_inside) {
		sorted_inside = true;
		sink += go_on(sorted_depth);
	}
	return *(const int *)a - *(const int *)b;
}

static NOINLINE int sorting(int depth)
{
	int numbers[] = {depth + 512, depth + 256, depth};

	sorted_inside = false;
	sorted_depth = depth;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	return numbers[0];
}

static NOINLINE int many_arguments(int depth, int b, int c, int d, int e, int f, int g, int h,
				   int i)
{
	return go_on(depth) + b + c + d + e + f + g + h + i;
}

static NOINLINE int passing(int depth)
{
	return many_arguments(depth, 1, 2, 3, 4, 5, 6, depth, 8) + 1;
}

static shape *const shapes[] = {plain,   large, variable,  aligned, aligned_variable,
				jumping, tail,  registers, sorting, passing};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static NOINLINE int go_on(int depth)
{
	if (depth <= 0)
		return take();
	return shapes[random_number(SHAPES)](depth - 1) + 1;
}

TEST(each_shape)
{
	for (int i = 0; i < SHAPES; i++) {
		begin();
		sink += shapes[i](1);
		CHECK_ALL();
	}
}

TEST(random_stacks)
{
	begin();
	for (int i = 0; i < 3000; i++)
		sink += go_on((int)random_number(40));
	CHECK_ALL();
}

/* The caller is in it, and main. */
static uint64_t address_of(void *function)
{
	return (uint64_t)(uintptr_t)function;
}

TEST(frames_are_return_addresses)
{
	begin();
	sink += plain(0);
	CHECK_ALL();
	/* take, go_on (perhaps a jump), plain, this test, harness, main, libc */
	REQUIRE(taken.count >= 5);
	CHECK(taken.frames[0] - address_of((void *)take) < 200);
	CHECK(taken.frames[1] - address_of((void *)plain) < 100 ||
	      taken.frames[2] - address_of((void *)plain) < 100);
	CHECK_EQUAL(taken.truncated, 0);
}

/* ---- depth ----------------------------------------------------------------------------------- */

static NOINLINE int recurse(int depth)
{
	volatile int here = depth;
	int result = depth ? recurse(depth - 1) : take();

	return result + here;
}

TEST(depths)
{
	static const int depths[] = {1,   100, 115, 116, 117, 118, 119, 120, 121, 122, 123,
				     124, 125, 126, 127, 128, 129, 130, 131, 255, 256, 400,
				     500, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510,
				     511, 512, 513, 600, 767, 768, 769, 5000};
	uint32_t base = 0;

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		for (int again = 0; again < 3; again++) {
			begin();
			sink += recurse(depths[i]);
			CHECK_ALL();
			if (!base)
				base = taken.count - 1;
			CHECK_EQUAL(taken.count + taken.truncated, base + (uint32_t)depths[i]);
			CHECK_EQUAL(taken.count <= MAX_UNWIND_FRAMES, 1);
		}
	}
}

/* ---- other stacks ---------------------------------------------------------------------------- */

static void on_signal(int number)
{
	(void)number;
	sink += go_on(3);
}

static NOINLINE int interrupted(bool own_stack)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = own_stack ? SA_ONSTACK : 0};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return sink;
}

TEST(signal_handlers)
{
	for (int i = 0; i < 20; i++) {
		begin();
		interrupted(i % 2);
		CHECK_ALL();
		sink += go_on(5); /* back on the ordinary one */
		CHECK_ALL();
	}
}

/* Interrupted anywhere: in the middle of prologues too. */
static volatile int keep_going;

static void on_timer(int number)
{
	(void)number;
	if (!keep_going)
		return;
	take();
}

TEST(interrupted_anywhere)
{
	struct sigaction action = {.sa_handler = on_timer};
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct itimerspec often = {{0, 200000}, {0, 200000}};

	sigaction(SIGUSR2, &action, NULL);
	REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	begin();
	keep_going = 1;
	timer_settime(timer, 0, &often, NULL);
	for (int i = 0; i < 300000; i++)
		sink += shapes[random_number(SHAPES - 2)](0) > 0 && stacks > 100000;
	keep_going = 0;
	timer_delete(timer);
	CHECK(stacks > 100);
	CHECK_EQUAL(wrong, 0);
	/* In a prologue that aligns the stack the frame begins where r10 says, which is not
	 * followed: such a stack says that it ends early. */
	CHECK(cut_short * 20 < stacks);
}

static ucontext_t outside, inside[4];

static void fiber(int number)
{
	for (int i = 0; i < 50; i++) {
		sink += go_on((int)random_number(6));
		swapcontext(&inside[number], &outside);
	}
}

TEST(fibers)
{
	void *memory[4];

	begin();
	for (int i = 0; i < 4; i++) {
		memory[i] = mmap(NULL, 262144, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		getcontext(&inside[i]);
		inside[i].uc_stack.ss_sp = memory[i];
		inside[i].uc_stack.ss_size = 262144;
		inside[i].uc_link = &outside;
		makecontext(&inside[i], (void (*)(void))fiber, 1, i);
	}
	for (int round = 0; round < 50; round++)
		for (int i = 0; i < 4; i++)
			swapcontext(&outside, &inside[i]);
	CHECK_EQUAL(wrong, 0);
	CHECK(stacks >= 200);
	for (int i = 0; i < 4; i++)
		munmap(memory[i], 262144);
}

/* ---- threads --------------------------------------------------------------------------------- */

static _Atomic uint32_t all_wrong, all_stacks;

static void *thread_main(void *number)
{
	seed = (unsigned int)(uintptr_t)number * 77 + 5;
	begin();
	for (int i = 0; i < 2000; i++)
		sink = go_on((int)random_number(30));
	all_wrong += wrong;
	all_stacks += stacks;
	return NULL;
}

static void run_threads(void *(*body)(void *))
{
	pthread_t threads[8];

	all_wrong = all_stacks = 0;
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, body, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(all_wrong, 0);
	CHECK(all_stacks >= 8);
}

TEST(eight_threads)
{
	run_threads(thread_main);
}

/* ---- libraries that come and go -------------------------------------------------------------- */

static const char *plugin_paths[2];

static NOINLINE bool run_plugin(int which, void **ret_address)
{
	void *library = dlopen(plugin_paths[which], RTLD_NOW | RTLD_LOCAL);
	int (*run)(int (*)(void));

	if (!library) {
		printf("# %s\n", dlerror());
		return false;
	}
	*ret_address = dlsym(library, "plugin_run");
	run = (int (*)(int (*)(void))) * ret_address;
	sink += run(take);
	sink += run(take);
	dlclose(library);
	return true;
}

TEST(unloaded_and_loaded)
{
	void *first = NULL, *second = NULL;
	int same_place = 0;

	begin();
	for (int i = 0; i < 20; i++) {
		REQUIRE(run_plugin(0, &first));
		REQUIRE(run_plugin(1, &second));
		same_place += first == second;
	}
	CHECK_ALL();
	CHECK(same_place >
	      0); /* else nothing was tested: plugin_run is the same code but for its frame */
	CHECK(probe_counts().flushed >= 39);
}

static void *thread_with_plugins(void *number)
{
	void *address;

	begin();
	for (int i = 0; i < 30; i++) {
		run_plugin((int)((uintptr_t)number & 1), &address);
		sink = go_on(3);
	}
	all_wrong += wrong;
	all_stacks += stacks;
	return NULL;
}

TEST(unloaded_by_eight_threads)
{
	run_threads(thread_with_plugins);
}

/* ---- the same and not the same --------------------------------------------------------------- */

static NOINLINE uint64_t at_one_place(void)
{
	uint64_t hash = probe_quick();

	__asm__ volatile("" : : : "memory");
	return hash;
}

static NOINLINE uint64_t at_another_place(void)
{
	uint64_t hash = probe_quick();

	__asm__ volatile("nop" : : : "memory");
	return hash;
}

TEST(hashes)
{
	uint64_t one = 0, other = 0, learned;

	/* volatile: a loop taken apart by the compiler would call from several places */
	for (volatile int i = 0; i < 10; i++) {
		uint64_t first = at_one_place(), second = at_another_place();

		if (i) {
			CHECK(first == one);
			CHECK(second == other);
		}
		one = first;
		other = second;
	}
	CHECK(one != other && one && other);
	learned = probe_counts().learned;
	for (volatile int i = 0; i < 1000; i++)
		sink += (int)at_one_place();
	CHECK(probe_counts().learned - learned <= 4);
}

/* A function that tables say nothing of: the stack ends there, and says so. */
TEST(code_without_tables)
{
	static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, /* sub rsp, 8 */
					     0xff, 0xd7,             /* call rdi */
					     0x48, 0x83, 0xc4, 0x08, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	begin();
	sink += ((int (*)(int (*)(void)))page)(take);
	CHECK_EQUAL(taken.end, UNWIND_NO_RULE);
	CHECK(taken.count >= 2);
	CHECK(taken.frames[taken.count - 1] - (uint64_t)(uintptr_t)page < sizeof(code));
	munmap(page, 4096);
}

/* A fork waits for who looks at the loader's counters, once a stack, and not for who looks for a
 * row of each frame. */
TEST(rows_are_found_without_the_loaders_lock)
{
	begin();
	loader_looks = 0;
	seed = 4711;
	for (int i = 0; i < 20; i++)
		sink += go_on(30);
	CHECK(stacks >= 20 && loader_looks > 0);
	CHECK(loader_looks <= stacks + 2);
	CHECK_ALL();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	plugin_paths[0] = argv[1];
	plugin_paths[1] = argv[2];
#if defined(__x86_64__)
	RUN(each_shape);
	RUN(frames_are_return_addresses);
	RUN(random_stacks);
	RUN(depths);
	RUN(signal_handlers);
	RUN(interrupted_anywhere);
	RUN(fibers);
	RUN(eight_threads);
	RUN(unloaded_and_loaded);
	RUN(unloaded_by_eight_threads);
	RUN(hashes);
	RUN(rows_are_found_without_the_loaders_lock);
	RUN(code_without_tables);
#else
	(void)test_each_shape;
#endif
	return harness_end();
}
