/* SPDX-License-Identifier: MIT
 *
 * tests/programs/storm.c - launches kernels from stacks of all shapes, and says in each launch
 * which
 *
 *	storm LAUNCHES A.so B.so [CPP.so]
 *
 * Eight threads go paths as storm.h says, some 100000 of them new ones and the others from 256.
 * Meanwhile the first thread unloads the plugin that they go through and loads the other one, which
 * lies at the same address; 100 times. Built with -O2 -fomit-frame-pointer -fexceptions. Prints
 * what it launched, and how often the plugins took turns.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "storm.h"

enum {
	THREADS = 8,
	TURNS = 100,
	NEW_PATHS = 100000,
	DEPTH = 150,
	OTHER_STACK_BYTES = 1 << 20,
	FREQUENT_PATHS = 256
};

static struct {
	unsigned int wanted;
	atomic_uint launched;
	cl_context context;
	cl_device_id device;
	cl_kernel kernel;
	storm_hop *table[STORM_HOPS];
	/* the plugin */
	pthread_rwlock_t lock;
	void *opened;
	uint32_t plugin; /* 1: a, 2: b */
	storm_enter *enter, *launch;
	unsigned int turns, same_address;
} storm;

static _Thread_local struct storm_path *volatile current; /* for signal handlers */
static _Thread_local volatile int
	*volatile fired; /* the C library says that timer_settime calls nothing */
static _Thread_local timer_t timer;
static _Thread_local unsigned int plugin_depth;

static void must(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "storm: %s: OpenCL error %d\n", what, status);
	exit(1);
}

static void need(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "storm: %s\n", what);
	exit(1);
}

/* ---- hops ---- */

static STORM_FRAME void launch_now(struct storm_path *path, uint32_t place, uint32_t hops)
{
	const size_t size[3] = {path->code, path->plugin | place, hops};

	must(clEnqueueNDRangeKernel(path->queue, path->kernel, 3, NULL, size, NULL, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
	atomic_fetch_add(&storm.launched, 1);
}

static STORM_FRAME void hop_launch(struct storm_path *path)
{
	launch_now(path, STORM_END, path->hops);
	path->returns++;
}

static STORM_FRAME void hop_plain(struct storm_path *path)
{
	storm_go_on(path);
	path->returns++;
}

static STORM_FRAME void hop_alloca(struct storm_path *path)
{
	size_t size = 16 + path->left % 3001;
	volatile char *memory = alloca(size);

	memory[0] = memory[size - 1] = 1;
	storm_go_on(path);
	path->returns += (uint32_t)memory[0];
}

/* The one that leaves no frame. */
static STORM_FRAME void hop_tail(struct storm_path *path)
{
	storm_go_on(path);
}

static _Thread_local bool compared;

static STORM_FRAME int compare(const void *one, const void *other)
{
	if (!compared) {
		compared = true;
		storm_go_on(current);
	}
	return *(const int *)one - *(const int *)other;
}

static STORM_FRAME void hop_qsort(struct storm_path *path)
{
	int numbers[3] = {3, 1, 2};

	compared = false;
	qsort(numbers, 3, sizeof numbers[0], compare);
	path->returns += (uint32_t)numbers[0];
}

/* What is thrown must not cross the kernel's frame. */
static inline __attribute__((always_inline)) void go_on_in_handler(void)
{
	uint32_t catchers = current->catchers;

	current->catchers = 0;
	storm_go_on(current);
	current->catchers = catchers;
}

static STORM_FRAME void on_signal(int number)
{
	go_on_in_handler();
}

static STORM_FRAME void hop_signal(struct storm_path *path)
{
	pthread_kill(pthread_self(), SIGUSR1);
	path->returns++;
}

static STORM_FRAME void on_other_stack(int number)
{
	go_on_in_handler();
}

static STORM_FRAME void hop_other_stack(struct storm_path *path)
{
	pthread_kill(pthread_self(), SIGUSR2);
	path->returns++;
}

static STORM_FRAME void on_timer(int number)
{
	*fired = 1;
	go_on_in_handler();
}

static STORM_FRAME int leaf(int value)
{
	volatile int words[4] = {value, 1, 2, 3};

	return words[value & 3];
}

static STORM_FRAME void spin(volatile int *until)
{
	int value = 0;

	while (!*until)
		value += leaf(value);
}

/* The handler comes at any instruction from here to the end of spin. */
static STORM_FRAME void hop_interrupted(struct storm_path *path)
{
	const struct itimerspec soon = {.it_value = {0, 20000}};
	volatile int *outer = fired;
	volatile int mine = 0;

	fired = &mine;
	timer_settime(timer, 0, &soon, NULL);
	spin(&mine);
	fired = outer;
	path->returns++;
}

static void leave_plugin(const bool *outermost)
{
	plugin_depth--;
	if (*outermost)
		pthread_rwlock_unlock(&storm.lock);
}

/* Held while the plugin is on the stack, whichever way it is left. A second time would wait for a
 * writer that waits for the first. */
#define ENTER_PLUGIN(path)                                                             \
	__attribute__((cleanup(leave_plugin))) const bool outermost = !plugin_depth++; \
	if (outermost)                                                                 \
		pthread_rwlock_rdlock(&storm.lock);                                    \
	(path)->plugin = storm.plugin

static STORM_FRAME void called_back(struct storm_path *path)
{
	storm_go_on(path);
	path->returns++;
}

static STORM_FRAME void hop_plugin(struct storm_path *path)
{
	ENTER_PLUGIN(path);
	storm.enter(path, called_back);
	path->returns++;
}

static void count_launch(struct storm_path *path)
{
	path->returns++;
	atomic_fetch_add(&storm.launched, 1);
}

static STORM_FRAME void hop_plugin_launch(struct storm_path *path)
{
	ENTER_PLUGIN(path);
	storm.launch(path, count_launch);
	path->returns++;
}

static STORM_FRAME void hop_aligned(struct storm_path *path)
{
	_Alignas(64) volatile char aligned[64];
	volatile char *more = alloca(1 + path->left % 500);

	aligned[0] = more[0] = 1;
	storm_go_on(path);
	path->returns += (uint32_t)(aligned[0] + more[0]);
}

static STORM_FRAME uint64_t ten_arguments(struct storm_path *path, uint64_t b, uint64_t c,
					  uint64_t d, uint64_t e, uint64_t f, uint64_t g,
					  uint64_t h, uint64_t i, uint64_t j)
{
	storm_go_on(path);
	return b + c + d + e + f + g + h + i + j;
}

static STORM_FRAME void hop_ten(struct storm_path *path)
{
	uint64_t n = path->left;

	path->returns += (uint32_t)ten_arguments(path, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6,
						 n + 7, n + 8);
}

static STORM_FRAME void recurse(struct storm_path *path, int depth)
{
	if (depth > 1)
		recurse(path, depth - 1);
	else
		storm_go_on(path);
	path->returns++;
}

static STORM_FRAME void hop_deep(struct storm_path *path)
{
	recurse(path, DEPTH);
	path->returns++;
}

static storm_hop *const c_table[STORM_HOPS] = {
	hop_launch,      hop_plain,       hop_alloca, hop_tail,         hop_qsort, hop_signal,
	hop_other_stack, hop_interrupted, hop_plugin, hop_aligned,      hop_ten,   hop_plain,
	hop_launch,      hop_plain,       hop_deep,   hop_plugin_launch};

/* ---- paths ---- */

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* The dear ones are rare; of these at most one a path: a handler's timer may be 50 us late, and a
 * deep stack is 150 frames. */
static uint64_t random_path(uint64_t *state)
{
	static const uint8_t cheap[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 8, 11, 13, 2, 3};
	uint64_t random = random_next(state), path = 0;
	unsigned int length = random % 11, dear = random >> 8 & 63;

	for (unsigned int i = 0; i < length; i++)
		path |= (uint64_t)cheap[random_next(state) % sizeof cheap] << 4 * i;
	if (dear == 1)
		path |= UINT64_C(7) << 4 * length++;
	if (dear == 2)
		path |= UINT64_C(14) << 4 * length++;
	if (random & 1 << 16)
		path |= (random & 1 << 17 ? UINT64_C(12) : UINT64_C(15)) << 4 * length;
	return path;
}

static STORM_FRAME void go_path(struct storm_path *path, uint64_t code)
{
	path->code = path->left = code;
	path->hops = 0;
	path->plugin = 0;
	storm_go_on(path);
	path->returns++;
}

static void prepare_signals(void)
{
	stack_t other = {.ss_sp = malloc(OTHER_STACK_BYTES), .ss_size = OTHER_STACK_BYTES};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};

	need(sigaltstack(&other, NULL) == 0, "sigaltstack");
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	need(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
}

static STORM_FRAME void *worker(void *number)
{
	uint64_t state = UINT64_C(88172645463325252) + (uintptr_t)number * 1000003;
	struct storm_path path = {
		.table = storm.table, .launch = launch_now, .kernel = storm.kernel};
	cl_int status;

	path.queue = clCreateCommandQueue(storm.context, storm.device, 0, &status);
	must(status, "clCreateCommandQueue");
	current = &path;
	prepare_signals();
	for (unsigned int i = 1; storm.launched < storm.wanted; i++) {
		uint64_t often =
			(random_next(&state) % FREQUENT_PATHS + 1) * UINT64_C(0x9e3779b97f4a7c15);

		go_path(&path, random_path(i % (1 + storm.wanted / NEW_PATHS) ? &often : &state));
		if (i % 500 == 0)
			must(clFinish(path.queue), "clFinish");
	}
	must(clFinish(path.queue), "clFinish");
	return NULL;
}

/* ---- plugins ---- */

static void load_plugin(const char *path, uint32_t number)
{
	const void *old = (void *)storm.enter;

	storm.opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	need(storm.opened, dlerror());
	storm.plugin = number;
	storm.enter = (storm_enter *)dlsym(storm.opened, number == 1 ? "a_enter" : "b_enter");
	storm.launch = (storm_enter *)dlsym(storm.opened, number == 1 ? "a_launch" : "b_launch");
	need(storm.enter && storm.launch, "a plugin without its functions");
	storm.same_address += (void *)storm.enter == old;
}

static void take_turns(char **plugins)
{
	while (storm.launched < storm.wanted) {
		usleep(500);
		if (storm.launched / (storm.wanted / TURNS + 1) <= storm.turns)
			continue;
		pthread_rwlock_wrlock(&storm.lock);
		dlclose(storm.opened);
		load_plugin(plugins[2 - storm.plugin], 3 - storm.plugin);
		storm.turns++;
		pthread_rwlock_unlock(&storm.lock);
	}
}

/* ---- all ---- */

static void open_all(void)
{
	const char *text = "kernel void storm(global float *x) { }";
	cl_platform_id platform;
	cl_program program;
	cl_int status;

	must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &storm.device, NULL),
	     "clGetDeviceIDs");
	storm.context = clCreateContext(NULL, 1, &storm.device, NULL, NULL, &status);
	must(status, "clCreateContext");
	program = clCreateProgramWithSource(storm.context, 1, &text, NULL, &status);
	must(status, "clCreateProgramWithSource");
	must(clBuildProgram(program, 1, &storm.device, "", NULL, NULL), "clBuildProgram");
	storm.kernel = clCreateKernel(program, "storm", &status);
	must(status, "clCreateKernel");
}

static void fill_table(const char *cpp)
{
	void *library = cpp ? dlopen(cpp, RTLD_NOW) : NULL;
	storm_fill *fill = library ? (storm_fill *)dlsym(library, "storm_fill_table") : NULL;

	memcpy(storm.table, c_table, sizeof c_table);
	need(!cpp || fill, "no C++ part");
	if (fill)
		fill(storm.table);
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler,
				   .sa_flags = SA_RESTART | SA_NODEFER | flags};

	need(sigaction(number, &action, NULL) == 0, "sigaction");
}

int main(int argc, char **argv)
{
	pthread_rwlockattr_t kind;
	pthread_t threads[THREADS];

	need(argc >= 4, "usage: storm LAUNCHES A.so B.so [CPP.so]");
	storm.wanted = (unsigned int)strtoul(argv[1], NULL, 10);
	pthread_rwlockattr_init(&kind);
	pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&storm.lock, &kind);
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_other_stack, SA_ONSTACK);
	handle(SIGRTMIN, on_timer, 0);
	open_all();
	fill_table(argv[4]);
	load_plugin(argv[2], 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	take_turns(argv + 2);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("launched %u\nturns %u at the same address %u\n", storm.launched, storm.turns,
	       storm.same_address);
	return 0;
}
