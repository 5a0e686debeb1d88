/* SPDX-License-Identifier: MIT
 *
 * tests/programs/numbered.c - threads that do nothing but enqueue, each command with its number
 *
 *	numbered FILE THREADS [plain|timed [PAUSE]]
 *
 * The N-th command of a thread writes 1 + N % 65521 bytes into a queue of its own. FILE is shared
 * memory: for each thread its number as the kernel counts, and N, which is stored before the
 * command is enqueued. If there is room behind the 64 counters, for each thread follow 65521 pairs
 * of times (CLOCK_MONOTONIC, ns): pair N % 65521 is of before and after the N-th call; the second
 * is 0 until then. Ends when its standard input does. plain: queues without
 * CL_QUEUE_PROFILING_ENABLE. PAUSE: milliseconds between two commands, 2 at first.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "opencl_work.h"

enum { THREADS_MAX = 64, MODULUS = 65521 };

struct counter {
	_Atomic uint64_t tid, count;
};

struct times {
	_Atomic uint64_t before, after;
};

static struct {
	struct counter *counters;
	struct times *times; /* MODULUS of each thread; NULL: no room */
	struct work work;
	cl_command_queue_properties properties;
	struct timespec pause;
	_Atomic int has_ended;
} numbered;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Pair of the N-th call; NULL: there is none. */
static struct times *begin_call(const struct counter *counter, uint64_t number)
{
	struct times *times = numbered.times;

	if (!times)
		return NULL;
	times += (size_t)(counter - numbered.counters) * MODULUS + number % MODULUS;
	atomic_store(&times->after, 0);
	atomic_store(&times->before, now());
	return times;
}

static void *enqueue(void *argument)
{
	static char bytes[MODULUS];
	struct counter *counter = argument;
	cl_int status;
	cl_command_queue queue = clCreateCommandQueue(numbered.work.context, numbered.work.device,
						      numbered.properties, &status);
	cl_mem buffer =
		clCreateBuffer(numbered.work.context, CL_MEM_READ_WRITE, MODULUS, NULL, NULL);

	work_check(status, "clCreateCommandQueue");
	atomic_store(&counter->tid, (uint64_t)syscall(SYS_gettid));
	for (uint64_t number = 1; !atomic_load(&numbered.has_ended); number++) {
		struct times *times = begin_call(counter, number);

		atomic_store(&counter->count, number);
		work_check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 1 + number % MODULUS,
						bytes, 0, NULL, NULL),
			   "clEnqueueWriteBuffer");
		if (times)
			atomic_store(&times->after, now());
		nanosleep(&numbered.pause, NULL);
	}
	work_check(clFinish(queue), "clFinish");
	return NULL;
}

int main(int argc, char **argv)
{
	const int count = argc > 2 ? atoi(argv[2]) : 0;
	const int fd = argc > 2 ? open(argv[1], O_RDWR) : -1;
	const size_t counters_bytes = THREADS_MAX * sizeof(struct counter);
	pthread_t threads[THREADS_MAX];
	struct stat about;
	char byte;

	if (count < 1 || count > THREADS_MAX || fd < 0 || fstat(fd, &about) < 0)
		return 2;
	numbered.counters =
		mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (numbered.counters == MAP_FAILED)
		return 2;
	if ((size_t)about.st_size >=
	    counters_bytes + (size_t)count * MODULUS * sizeof(struct times))
		numbered.times = (struct times *)(numbered.counters + THREADS_MAX);
	numbered.properties =
		argc > 3 && strcmp(argv[3], "plain") == 0 ? 0 : CL_QUEUE_PROFILING_ENABLE;
	numbered.pause.tv_nsec = (argc > 4 ? atoi(argv[4]) : 2) * 1000000L;
	work_open(&numbered.work);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, enqueue, &numbered.counters[i]);
	printf("running\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	atomic_store(&numbered.has_ended, 1);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("ended\n");
	return 0;
}
