/* SPDX-License-Identifier: MIT
 *
 * tests/programs/numbered.c - threads that do nothing but enqueue, each command with its number
 *
 *	numbered FILE THREADS [plain]
 *
 * The N-th command of a thread writes 1 + N % 65521 bytes into a queue of its own. FILE is shared
 * memory: for each thread its number as the kernel counts, and N, which is stored before the
 * command is enqueued. Ends when its standard input does. plain: queues without
 * CL_QUEUE_PROFILING_ENABLE.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opencl_work.h"

enum { THREADS_MAX = 64, MODULUS = 65521 };

struct counter {
	_Atomic uint64_t tid, count;
};

static struct {
	struct counter *counters;
	struct work work;
	cl_command_queue_properties properties;
	_Atomic int has_ended;
} numbered;

static void *enqueue(void *argument)
{
	static const struct timespec pause = {0, 2000000};
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
		atomic_store(&counter->count, number);
		work_check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 1 + number % MODULUS,
						bytes, 0, NULL, NULL),
			   "clEnqueueWriteBuffer");
		nanosleep(&pause, NULL);
	}
	work_check(clFinish(queue), "clFinish");
	return NULL;
}

int main(int argc, char **argv)
{
	const int count = argc > 2 ? atoi(argv[2]) : 0;
	const int fd = argc > 2 ? open(argv[1], O_RDWR) : -1;
	pthread_t threads[THREADS_MAX];
	char byte;

	if (count < 1 || count > THREADS_MAX || fd < 0)
		return 2;
	numbered.counters = mmap(NULL, THREADS_MAX * sizeof(struct counter), PROT_READ | PROT_WRITE,
				 MAP_SHARED, fd, 0);
	if (numbered.counters == MAP_FAILED)
		return 2;
	numbered.properties = argc > 3 ? 0 : CL_QUEUE_PROFILING_ENABLE;
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
