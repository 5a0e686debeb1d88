/* SPDX-License-Identifier: MIT
 *
 * tests/programs/awkward.c - programs that fork, end threads and reuse handles where it is awkward
 *
 *	awkward forks SECONDS      fork() while other threads enqueue; each child calls OpenCL
 *	awkward fork-callback      a destructor callback forks; the child returns from the call it
 *	                           was made in
 *	awkward fork-signal N      a signal handler forks N times, wherever it comes; the children
 *	                           go on there
 *	awkward handles            all rings are taken; a thread without one makes a kernel where
 *	                           another was
 *	awkward link               a program is linked with a callback where another program was
 *	awkward idle SECONDS       everything is made and released again and again; what takes long
 *	                           is counted
 *	awkward churn SECONDS      eight threads launch, each new after 40 launches
 *	awkward errno              a table of calls: those that change errno
 *	awkward big-source MIB, big-binary MIB
 *	awkward cancel SECONDS     100 threads are cancelled while they launch, four are not
 *
 * What a mode prints is the same with and without a profiler, but for what it says of itself with
 * `fact`.
 */
#include "opencl_work.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int number_of(int argc, char **argv, int otherwise)
{
	return argc > 0 ? atoi(argv[0]) : otherwise;
}

static void launch(const struct work *w)
{
	size_t size = 256;

	work_check(clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
		   "clEnqueueNDRangeKernel");
}

/* 0 where the child ended well, else the signal or 1000 + its status. */
static int fate_of(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) ? 1000 + WEXITSTATUS(status) : 0;
}

/* What a child does to show that it lives: not with the driver's locks, which may be held by
 * threads that it does not have. */
static void live_and_end(const struct work *w)
{
	char name[128];

	clGetPlatformInfo(w->platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
	clGetPlatformInfo(w->platform, CL_PLATFORM_VERSION, sizeof name, name, NULL);
	_exit(0);
}

/* ---- forks ---- */

enum { ENQUEUERS = 4 };

static atomic_bool stop, go;

/* Only until the fork: what is enqueued takes memory, and the next fork has to copy it. */
static void *enqueue_when_told(void *data)
{
	const struct work *w = data;
	static char bytes[8];

	while (!stop) {
		if (go)
			work_check(clEnqueueWriteBuffer(w->queue, w->buffer, CL_FALSE, 0,
							sizeof bytes, bytes, 0, NULL, NULL),
				   "clEnqueueWriteBuffer");
		else
			sched_yield();
	}
	return NULL;
}

/* Behind a closed gate no command ends, so that each is one that was never known before. */
static int mode_forks(int argc, char **argv)
{
	double end_s = now_s() + number_of(argc, argv, 4);
	struct work w = {0};
	pthread_t threads[ENQUEUERS];
	cl_event gate;
	cl_int status;
	int died = 0;

	work_open(&w);
	gate = clCreateUserEvent(w.context, &status);
	work_check(status, "clCreateUserEvent");
	work_check(clEnqueueMarkerWithWaitList(w.queue, 1, &gate, NULL), "clEnqueueMarker");
	for (int i = 0; i < ENQUEUERS; i++)
		pthread_create(&threads[i], NULL, enqueue_when_told, &w);
	for (unsigned int i = 0; now_s() < end_s; i++) {
		pid_t child;

		go = true;
		usleep(i * 7919 % 50);
		child = fork();
		go = false;
		if (child == 0) {
			alarm(10);
			live_and_end(&w);
		}
		died += fate_of(child) != 0;
	}
	stop = true;
	for (int i = 0; i < ENQUEUERS; i++)
		pthread_join(threads[i], NULL);
	printf("children that died: %d\n", died);
	fflush(stdout);
	_exit(0); /* with the gate closed there is no end */
}

static volatile pid_t child_of_call = -1;

static void CL_CALLBACK fork_in_destructor(cl_mem memory, void *data)
{
	child_of_call = fork();
}

static int mode_fork_callback(int argc, char **argv)
{
	struct work w = {0};
	cl_mem memory;
	cl_int status;

	work_open(&w);
	work_step(&w);
	memory = clCreateBuffer(w.context, 0, 64, NULL, &status);
	work_check(status, "clCreateBuffer");
	work_check(clSetMemObjectDestructorCallback(memory, fork_in_destructor, NULL),
		   "clSetMemObjectDestructorCallback");
	work_check(clReleaseMemObject(memory), "clReleaseMemObject");
	if (child_of_call == 0)
		live_and_end(&w);
	printf("the child's fate: %d\n", fate_of(child_of_call));
	for (int i = 0; i < 9; i++)
		work_step(&w);
	work_close(&w);
	return 0;
}

static void fork_in_handler(int number)
{
	int saved = errno;

	if (child_of_call < 0)
		child_of_call = fork();
	errno = saved;
}

/* Calls that take no memory: fork() itself would wait for malloc's lock, which this thread
 * holds. */
static void call_until_forked(const struct work *w, unsigned int delay_us)
{
	const struct itimerval once = {.it_value = {0, delay_us}};
	cl_uint count;

	child_of_call = -1;
	setitimer(ITIMER_REAL, &once, NULL);
	while (child_of_call < 0) {
		clGetPlatformIDs(0, NULL, &count);
		clGetDeviceInfo(w->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof count, &count, NULL);
		clRetainContext(w->context);
		clReleaseContext(w->context);
		clFlush(w->queue);
	}
}

static int mode_fork_signal(int argc, char **argv)
{
	int times = number_of(argc, argv, 50), died = 0;
	struct work w = {0};

	signal(SIGALRM, fork_in_handler);
	work_open(&w);
	for (int i = 0; i < times; i++) {
		call_until_forked(&w, 500 + (unsigned int)i * 7919 % 3000);
		if (child_of_call == 0)
			live_and_end(&w);
		died += fate_of(child_of_call) != 0;
		work_step(&w);
	}
	work_close(&w);
	printf("children that died: %d\n", died);
	return 0;
}

/* ---- handles that are used again ---- */

enum { RINGS = 128 };

static pthread_barrier_t rings_taken;

/* Takes a ring and keeps it. */
static void *hold_ring(void *data)
{
	const struct work *w = data;
	char name[128];

	clGetPlatformInfo(w->platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
	pthread_barrier_wait(&rings_taken);
	pause();
	return NULL;
}

struct renewal {
	struct work *work;
	cl_kernel made;
};

static void *renew_kernel(void *data)
{
	struct renewal *renewal = data;
	struct work *w = renewal->work;
	const void *place = w->kernel;
	cl_int status;

	work_check(clReleaseKernel(w->kernel), "clReleaseKernel");
	for (int i = 0; i < 1000 && renewal->made != place; i++) {
		renewal->made = clCreateKernel(w->program, "other", &status);
		work_check(status, "clCreateKernel");
	}
	return NULL;
}

static int mode_handles(int argc, char **argv)
{
	const char *text =
		"kernel void first(global float *x) {} kernel void other(global float *x) {}";
	struct work w = {0};
	struct renewal renewal = {.work = &w};
	pthread_t thread;
	pthread_attr_t small;
	const void *place;
	cl_int status;

	mallopt(M_ARENA_MAX, 1); /* or what one thread frees another does not get */
	work_open(&w);
	clReleaseKernel(w.kernel);
	clReleaseProgram(w.program);
	w.program = clCreateProgramWithSource(w.context, 1, &text, NULL, &status);
	work_check(clBuildProgram(w.program, 1, &w.device, "", NULL, NULL), "clBuildProgram");
	w.kernel = clCreateKernel(w.program, "first", &status);
	work_check(status, "clCreateKernel");
	launch(&w);
	work_check(clFinish(w.queue), "clFinish");

	place = w.kernel;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&rings_taken, NULL, RINGS);
	for (int i = 0; i < RINGS - 1; i++)
		pthread_create(&thread, &small, hold_ring, &w);
	pthread_barrier_wait(&rings_taken);
	pthread_create(&thread, NULL, renew_kernel, &renewal);
	pthread_join(thread, NULL);
	printf("same handle: %d\n", (const void *)renewal.made == place);
	w.kernel = renewal.made;
	for (int i = 0; i < 5; i++)
		launch(&w);
	work_check(clFinish(w.queue), "clFinish");
	fflush(stdout);
	_exit(0);
}

static void CL_CALLBACK on_linked(cl_program program, void *data)
{
	atomic_store((atomic_bool *)data, true);
}

static cl_program link_one(const struct work *w, cl_program object)
{
	static atomic_bool linked;
	double end_s = now_s() + 10;
	cl_int status;
	cl_program program;

	linked = false;
	program = clLinkProgram(w->context, 1, &w->device, "", 1, &object, on_linked, &linked,
				&status);
	work_check(status, "clLinkProgram");
	while (!linked && now_s() < end_s)
		usleep(1000);
	return program;
}

static cl_program compile_one(const struct work *w, const char *text)
{
	cl_int status;
	cl_program program = clCreateProgramWithSource(w->context, 1, &text, NULL, &status);

	work_check(clCompileProgram(program, 1, &w->device, "", 0, NULL, NULL, NULL, NULL),
		   "clCompileProgram");
	return program;
}

static void use_once(const struct work *w, cl_program program)
{
	struct work once = *w;
	cl_int status;

	once.kernel = clCreateKernel(program, "same", &status);
	work_check(status, "clCreateKernel");
	clSetKernelArg(once.kernel, 0, sizeof once.buffer, &once.buffer);
	launch(&once);
	clFinish(once.queue);
	clReleaseKernel(once.kernel);
}

static int mode_link(int argc, char **argv)
{
	struct work w = {0};
	cl_program objects[2], program;
	const void *place;

	work_open(&w);
	objects[0] = compile_one(&w, "kernel void same(global float *x) { x[0] = 1; }");
	objects[1] = compile_one(&w, "kernel void same(global float *x) { x[0] = 2; x[1] = 3; }");
	program = link_one(&w, objects[0]);
	use_once(&w, program);
	place = program;
	clReleaseProgram(program);
	for (int i = 0; i < 100; i++) {
		program = link_one(&w, objects[1]);
		if (program == place)
			break;
	}
	printf("same handle: %d\n", program == place);
	use_once(&w, program);
	return 0;
}

/* ---- recorders that come and go ---- */

static int mode_idle(int argc, char **argv)
{
	double end_s = now_s() + number_of(argc, argv, 6);
	int slow = 0;

	while (now_s() < end_s) {
		double begin_s = now_s();
		struct work w = {0};

		work_open(&w);
		work_close(&w);
		slow += now_s() - begin_s > 0.2;
		usleep(10000);
	}
	printf("slow calls: %d\n", slow);
	return 0;
}

enum { LAUNCHERS = 8, LAUNCHES_A_LIFE = 40 };

/* A ring that a thread leaves is free for another some milliseconds later: few enough threads for
 * that. */
static void *launch_for_a_life(void *data)
{
	for (int i = 0; i < LAUNCHES_A_LIFE; i++) {
		launch(data);
		usleep(100);
	}
	return NULL;
}

static void *launch_in_new_threads(void *data)
{
	while (!stop) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, launch_for_a_life, data) == 0)
			pthread_join(thread, NULL);
	}
	return NULL;
}

static int mode_churn(int argc, char **argv)
{
	struct work w = {0};
	pthread_t threads[LAUNCHERS];
	double end_s;

	work_open(&w);
	for (int i = 0; i < LAUNCHERS; i++)
		pthread_create(&threads[i], NULL, launch_in_new_threads, &w);
	printf("running\n");
	fflush(stdout);
	end_s = now_s() + number_of(argc, argv, 8);
	while (now_s() < end_s) {
		cl_int status;
		cl_context context = clCreateContext(NULL, 1, &w.device, NULL, NULL, &status);

		work_check(status, "clCreateContext");
		clReleaseContext(context);
		work_check(clFinish(w.queue), "clFinish");
		usleep(2000);
	}
	stop = true;
	for (int i = 0; i < LAUNCHERS; i++)
		pthread_join(threads[i], NULL);
	work_close(&w);
	printf("ended\n");
	return 0;
}

/* ---- errno ---- */

enum { ERRNO = 4242 };

/* A call, and what it has made of errno where that is not what it was. */
#define TRY(...)                                                                        \
	do {                                                                            \
		errno = ERRNO;                                                          \
		__VA_ARGS__;                                                            \
		if (errno != ERRNO)                                                     \
			printf("%s: errno %d: %s\n", thread_name, errno, #__VA_ARGS__); \
		tried++;                                                                \
	} while (0)

static int tried;

static void try_commands(const char *thread_name, cl_context context, cl_command_queue queue,
			 cl_kernel kernel, cl_mem buffer)
{
	size_t size = 256;
	cl_event event = NULL, gate = NULL;
	cl_int status;
	cl_ulong time;
	char bytes[64] = {0};
	void *mapped = NULL;

	TRY(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
	TRY(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
	TRY(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, &event));
	TRY(clWaitForEvents(1, &event));
	TRY(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
	TRY(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
	TRY(clRetainEvent(event));
	TRY(clReleaseEvent(event));
	TRY(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof bytes, bytes, 1, &event, NULL));
	TRY(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof bytes, bytes, 0, NULL, NULL));
	TRY(clEnqueueCopyBuffer(queue, buffer, buffer, 0, 128, 64, 0, NULL, NULL));
	TRY(clEnqueueFillBuffer(queue, buffer, bytes, 4, 0, 64, 0, NULL, NULL));
	TRY(mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL,
					&status));
	TRY(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
	TRY(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
	TRY(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
	TRY(clEnqueueMigrateMemObjects(queue, 1, &buffer, 0, 0, NULL, NULL));
	TRY(clEnqueueNDRangeKernel(queue, kernel, 9, NULL, &size, NULL, 0, NULL, NULL));
	TRY(gate = clCreateUserEvent(context, &status));
	TRY(clSetUserEventStatus(gate, CL_COMPLETE));
	TRY(clReleaseEvent(gate));
	TRY(clReleaseEvent(event));
	TRY(clFlush(queue));
	TRY(clFinish(queue));
}

/* Everything is made by the thread itself: with the first call it gets its ring, or the process its
 * recorder. */
static void *try_calls(void *name)
{
	const char *thread_name = name, *text = "kernel void twice(global float *x) { x[0] *= 2; }";
	cl_platform_id platform = NULL;
	cl_device_id device = NULL;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel, kernels[4];
	cl_mem buffer, part;
	cl_buffer_region region = {0, 64};
	cl_uint count;
	cl_int status;
	size_t size;
	char answer[512];

	TRY(clGetPlatformIDs(1, &platform, NULL));
	TRY(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof answer, answer, NULL));
	TRY(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	TRY(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CUSTOM, 1, &device, NULL));
	TRY(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof answer, answer, NULL));
	TRY(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
	TRY(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL));
	TRY(queue = clCreateCommandQueue(context, device, 0, &status));
	TRY(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof answer, answer, NULL));
	TRY(buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status));
	TRY(part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
	TRY(clReleaseMemObject(part));
	TRY(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL));
	TRY(program = clCreateProgramWithSource(context, 1, &text, NULL, &status));
	TRY(clBuildProgram(program, 1, &device, "", NULL, NULL));
	TRY(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL));
	TRY(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size));
	TRY(kernel = clCreateKernel(program, "twice", &status));
	TRY(clCreateKernel(program, "missing", &status));
	TRY(clCreateKernelsInProgram(program, 4, kernels, &count));
	TRY(clReleaseKernel(kernels[0]));
	TRY(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof answer, answer, NULL));
	TRY(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof size, &size,
				     NULL));
	try_commands(thread_name, context, queue, kernel, buffer);
	TRY(clReleaseMemObject(buffer));
	TRY(clReleaseKernel(kernel));
	TRY(clReleaseProgram(program));
	TRY(clReleaseCommandQueue(queue));
	TRY(clReleaseContext(context));
	return NULL;
}

static int mode_errno(int argc, char **argv)
{
	pthread_t thread;

	try_calls("first thread");
	pthread_create(&thread, NULL, try_calls, "second thread");
	pthread_join(thread, NULL);
	printf("tried %d calls\n", tried);
	return 0;
}

/* ---- code that is too large to be kept ---- */

enum { MIB = 1 << 20 };

/* A kernel and a comment, so that it has the size. */
static char *make_text(const char *head, size_t size)
{
	char *text = malloc(size + 1);
	size_t at = (size_t)snprintf(text, size + 1, "%skernel void big(global float *x) { }\n//",
				     head);

	for (; at < size; at++)
		text[at] = (char)('a' + at * 7919 % 26);
	text[size] = '\0';
	return text;
}

/* A binary is asked for once its kernel was launched. */
static void build_and_launch(const struct work *w, cl_program program)
{
	size_t size = 256;
	cl_int status;
	cl_kernel kernel;

	work_check(clBuildProgram(program, 1, &w->device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "big", &status);
	work_check(status, "clCreateKernel");
	work_check(clSetKernelArg(kernel, 0, sizeof w->buffer, &w->buffer), "clSetKernelArg");
	work_check(clEnqueueNDRangeKernel(w->queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL),
		   "clEnqueueNDRangeKernel");
	work_check(clFinish(w->queue), "clFinish");
	work_check(clReleaseKernel(kernel), "clReleaseKernel");
	work_check(clReleaseProgram(program), "clReleaseProgram");
}

static int mode_big_source(int argc, char **argv)
{
	const char *text = make_text("", (argc > 0 ? (size_t)atoi(argv[0]) : 2) * MIB);
	struct work w = {0};
	cl_int status;
	cl_program program;

	work_open(&w);
	program = clCreateProgramWithSource(w.context, 1, &text, NULL, &status);
	work_check(status, "clCreateProgramWithSource");
	build_and_launch(&w, program);
	work_close(&w);
	return 0;
}

/* Over the simulated driver, whose binaries are a word and a text. */
static int mode_big_binary(int argc, char **argv)
{
	size_t size = (argc > 0 ? (size_t)atoi(argv[0]) : 5) * MIB;
	const unsigned char *binary = (const unsigned char *)make_text("SIMOPENCL\n", size);
	struct work w = {0};
	cl_int status;
	cl_program program;

	work_open(&w);
	program = clCreateProgramWithBinary(w.context, 1, &w.device, &size, &binary, NULL, &status);
	work_check(status, "clCreateProgramWithBinary");
	build_and_launch(&w, program);
	work_close(&w);
	return 0;
}

/* ---- cancelled threads ---- */

enum { CANCELLED = 100, SPARED = 4 };

/* begun and done differ by the threads that were cancelled inside of a launch. */
static atomic_uint begun, done, spared_launches;
static const struct work *shared;

static void launch_counted(void)
{
	atomic_fetch_add(&begun, 1);
	launch(shared);
	atomic_fetch_add(&done, 1);
}

/* Some 10 us: faster than this no recorder and no device follows. */
static void compute(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

/* May be cancelled wherever a library has a cancellation point. Most wait for a processor, many of
 * them for a lock whose holder does so too. */
static void *launch_deferred(void *unused)
{
	for (;;) {
		launch_counted();
		compute();
		pthread_testcancel();
	}
	return NULL;
}

/* May be cancelled at any instruction between two launches. */
static void *launch_asynchronous(void *unused)
{
	for (;;) {
		launch_counted();
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
		compute();
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	}
	return NULL;
}

static void *launch_to_the_end(void *unused)
{
	while (!stop) {
		launch_counted();
		atomic_fetch_add(&spared_launches, 1);
		usleep(100);
	}
	return NULL;
}

static int mode_cancel(int argc, char **argv)
{
	double pause_s = number_of(argc, argv, 2) / (double)CANCELLED;
	pthread_t cancelled[CANCELLED], spared[SPARED];
	unsigned int before, after;
	struct work w = {0};

	work_open(&w);
	shared = &w;
	for (int i = 0; i < SPARED; i++)
		pthread_create(&spared[i], NULL, launch_to_the_end, NULL);
	for (int i = 0; i < CANCELLED; i++)
		pthread_create(&cancelled[i], NULL, i % 2 ? launch_deferred : launch_asynchronous,
			       NULL);
	for (int i = 0; i < CANCELLED; i++) {
		usleep((unsigned int)(pause_s * 1e6));
		pthread_cancel(cancelled[i]);
	}
	for (int i = 0; i < CANCELLED; i++)
		pthread_join(cancelled[i], NULL);
	before = spared_launches;
	usleep(300000);
	after = spared_launches;
	stop = true;
	for (int i = 0; i < SPARED; i++)
		pthread_join(spared[i], NULL);
	work_check(clFinish(w.queue), "clFinish");
	work_close(&w);
	printf("the others went on: %d\n", after > before);
	fprintf(stderr, "fact begun %u done %u\n", begun, done);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} modes[] = {{"forks", mode_forks},
		     {"fork-callback", mode_fork_callback},
		     {"fork-signal", mode_fork_signal},
		     {"handles", mode_handles},
		     {"link", mode_link},
		     {"idle", mode_idle},
		     {"churn", mode_churn},
		     {"errno", mode_errno},
		     {"big-source", mode_big_source},
		     {"big-binary", mode_big_binary},
		     {"cancel", mode_cancel}};

	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run(argc - 2, argv + 2);
	fprintf(stderr, "awkward: no such mode\n");
	return 2;
}
