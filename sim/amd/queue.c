/* SPDX-License-Identifier: MIT
 *
 * sim/amd/queue.c - queues and their doorbells; the thread that simulates all GPUs of the process
 *
 * Runs in:  a program that uses ROCr, on the threads that call ioctl. The GPU has its own thread,
 *           with all signals blocked, from the first queue on
 * Owns:     the list of queues, under one lock that the GPU's thread holds for a turn through all
 *           of them; the file in memory with the doorbells of all GPUs
 * Fails:    EINVAL, ENOMEM; ENOSPC if a page of doorbells is full
 * Why:      a doorbell is a store to memory, which wakes no thread, so it must be polled. One
 *           thread polls all queues: eight threads that sleep for 20 us each would take a processor
 *           from the program.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sim.h"

/* As KFD, offsets into /dev/kfd have the kind of mapping in their topmost bits and the GPU below.
 * The thunk cuts the lower half off when it maps a page of doorbells. */
#define DOORBELL_OFFSET (UINT64_C(1) << 62)
enum { GPU_SHIFT = 46 };

enum { AWAKE_NS = 50000, NAP_LEAST_NS = 3000, NAP_MAX_NS = 1000000 };

static struct {
	struct sim_queue *first;
	bool runs;
	int doorbell_file; /* 0: none */
	_Atomic uint64_t *doorbells;
	bool taken[MAX_SIM_GPUS][MAX_SIM_QUEUES];
} all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static atomic_uint wanting; /* threads that want the lock, which the GPU then leaves to them */

static void take_lock(void)
{
	wanting++;
	pthread_mutex_lock(&lock);
	wanting--;
}

/* The memory of the parent's queues is not touched, because its thread may have been using it. */
void sim_queue_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&filled, NULL);
	if (all.doorbell_file)
		close(all.doorbell_file);
	memset(&all, 0, sizeof(all));
	wanting = 0;
}

/* ---- the GPU --------------------------------------------------------------------------------- */

/* Stays awake for a while after work, then sleeps for a sixteenth of the time since the last work.
 * New work is seen late by at most that part, and an idle GPU costs the program almost nothing. */
static void rest(uint64_t idle_ns, uint64_t now_ns, uint64_t wake_ns)
{
	uint64_t nap_ns = idle_ns / 16 < NAP_MAX_NS ? idle_ns / 16 : NAP_MAX_NS;

	if (wake_ns < now_ns + nap_ns)
		nap_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
	if (idle_ns < AWAKE_NS || nap_ns < NAP_LEAST_NS)
		sim_pause();
	else
		sim_nap(nap_ns);
	while (wanting)
		sched_yield();
}

/* A turn through all queues. False: nothing happened. */
static bool turn(uint64_t *ret_wake_ns)
{
	bool moved = false;

	*ret_wake_ns = SIM_NEVER;
	for (struct sim_queue *queue = all.first; queue; queue = queue->next) {
		if (queue->is_stopped)
			continue;
		moved |= queue->aql ? sim_aql_step(queue) : sim_sdma_step(queue);
		if (queue->wake_ns < *ret_wake_ns)
			*ret_wake_ns = queue->wake_ns;
	}
	return moved;
}

static void *run_gpu(void *unused)
{
	uint64_t moved_ns = 0, now_ns, wake_ns;

	prctl(PR_SET_NAME, "sim-gpu");
	prctl(PR_SET_TIMERSLACK, 1000);
	pthread_mutex_lock(&lock);
	for (;;) {
		bool moved;

		while (!all.first)
			pthread_cond_wait(&filled, &lock);
		moved = turn(&wake_ns);
		now_ns = sim_now();
		if (moved)
			moved_ns = now_ns;
		pthread_mutex_unlock(&lock);
		rest(now_ns - moved_ns, now_ns, wake_ns);
		pthread_mutex_lock(&lock);
	}
	return NULL;
}

/* Under the lock. The program's signals are its own threads' business. */
static int start_gpu(void)
{
	pthread_t thread;
	sigset_t everything, before;
	int error;

	if (all.runs)
		return 0;
	sigfillset(&everything);
	pthread_sigmask(SIG_SETMASK, &everything, &before);
	error = pthread_create(&thread, NULL, run_gpu, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return -error;
	pthread_detach(thread);
	all.runs = true;
	return 0;
}

/* ---- doorbells ------------------------------------------------------------------------------- */

/* Under the lock. */
static int open_doorbells(void)
{
	size_t bytes = MAX_SIM_GPUS * SIM_DOORBELL_BYTES;
	void *address = MAP_FAILED;
	int file, error = 0;

	if (all.doorbells)
		return 0;
	file = memfd_create("sim-doorbells", MFD_CLOEXEC);
	if (file >= 0 && ftruncate(file, (off_t)bytes) == 0)
		address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (address == MAP_FAILED) {
		error = -errno;
		if (file >= 0)
			close(file);
		return error;
	}
	all.doorbell_file = file;
	all.doorbells = address;
	return 0;
}

bool sim_doorbell_file(uint64_t offset, int *ret_fd, uint64_t *ret_offset)
{
	if (!(offset & DOORBELL_OFFSET))
		return false;
	*ret_fd = all.doorbell_file;
	*ret_offset = ((offset & ~DOORBELL_OFFSET) >> GPU_SHIFT) * SIM_DOORBELL_BYTES;
	return true;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static struct sim_queue *new_queue(const struct kfd_ioctl_create_queue_args *given)
{
	struct sim_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->gpu = (uint32_t)sim_gpu_index(given->gpu_id);
	queue->ring = (char *)(uintptr_t)given->ring_base_address;
	queue->ring_bytes = given->ring_size;
	queue->wake_ns = SIM_NEVER;
	queue->read_pointer = (void *)(uintptr_t)given->read_pointer_address;
	/* the pointer is in ROCr's own description of the queue, which has the flag for timestamps
	 */
	if (given->queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
		queue->aql = (amd_queue_t *)((char *)queue->read_pointer -
					     offsetof(amd_queue_t, read_dispatch_id));
	return queue;
}

/* Under the lock. */
static int insert(struct sim_queue *queue)
{
	uint32_t slot = 0;
	int error;

	while (slot < MAX_SIM_QUEUES && all.taken[queue->gpu][slot])
		slot++;
	if (slot == MAX_SIM_QUEUES)
		return -ENOSPC;
	error = open_doorbells();
	if (!error)
		error = start_gpu();
	if (error)
		return error;
	all.taken[queue->gpu][slot] = true;
	queue->slot = slot;
	queue->doorbell = &all.doorbells[queue->gpu * MAX_SIM_QUEUES + slot];
	/* an index, of which 0 is one; a count */
	*queue->doorbell = queue->latest_doorbell = queue->aql ? UINT64_MAX : 0;
	queue->next = all.first;
	all.first = queue;
	pthread_cond_signal(&filled);
	return 0;
}

int sim_queue_create(void *arguments)
{
	struct kfd_ioctl_create_queue_args *given = arguments;
	struct sim_queue *queue;
	int error;

	if (sim_gpu_index(given->gpu_id) < 0 || given->queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE)
		return -EINVAL;
	queue = new_queue(given);
	if (!queue)
		return -ENOMEM;
	take_lock();
	error = insert(queue);
	pthread_mutex_unlock(&lock);
	if (error) {
		free(queue);
		return error;
	}
	given->queue_id = queue->gpu * MAX_SIM_QUEUES + queue->slot;
	given->doorbell_offset = DOORBELL_OFFSET | (uint64_t)queue->gpu << GPU_SHIFT |
				 queue->slot * sizeof(uint64_t);
	return 0;
}

/* Under the lock. Where the queue is linked, or the end of the list. */
static struct sim_queue **find(uint32_t id)
{
	struct sim_queue **link = &all.first;

	while (*link && (*link)->gpu * MAX_SIM_QUEUES + (*link)->slot != id)
		link = &(*link)->next;
	return link;
}

int sim_queue_destroy(void *arguments)
{
	uint32_t id = ((struct kfd_ioctl_destroy_queue_args *)arguments)->queue_id;
	struct sim_queue **link, *queue;

	take_lock();
	link = find(id);
	queue = *link;
	if (queue) {
		*link = queue->next;
		all.taken[queue->gpu][queue->slot] = false;
	}
	pthread_mutex_unlock(&lock);
	free(queue);
	return queue ? 0 : -EINVAL;
}

/* A share of 0 stops the queue. Other shares and priorities make no difference here. */
int sim_queue_update(void *arguments)
{
	const struct kfd_ioctl_update_queue_args *given = arguments;
	struct sim_queue *queue;

	take_lock();
	queue = *find(given->queue_id);
	if (queue)
		queue->is_stopped = given->queue_percentage == 0;
	pthread_mutex_unlock(&lock);
	return queue ? 0 : -EINVAL;
}
