/* SPDX-License-Identifier: MIT
 *
 * sim/amd/sim.h - simulated AMD GPUs for the real ROCr and HIP; shared by the files of this folder
 *
 *	options.c    SIM_KFD
 *	preload.c    functions of libc that are replaced: files, ioctl, mmap, CLOCK_BOOTTIME
 *	libdrm.c     functions of libdrm_amdgpu
 *	topology.c   the files below /sys/devices/virtual/kfd
 *	driver.c     /dev/kfd: the table of ioctls and the small ones
 *	memory.c     … memory that the GPU can access
 *	event.c      … events, with which the GPU wakes the host
 *	queue.c      … queues and their doorbells; the thread that simulates all GPUs
 *	arrivals.c   when the GPU received the packets of a queue
 *	aql.c        the processor of AQL packets: dispatches and barriers
 *	sdma.c       the copy engine
 *	kernel.c     name and properties of a dispatched kernel
 *	execute.c    the kernels that are executed on the host
 *	blit.c       … those of ROCr itself
 *	clock.c      host time, simulated suspends, the GPU's counter
 *	log.c        a log of the correct times of all work, and a trace for debugging
 *
 * A library for LD_PRELOAD, below libhsakmt or a ROCr that includes it. It replaces nothing of
 * ROCr, needs no kernel driver, and a killed process leaves nothing behind. Each process has its
 * own GPUs.
 *
 * The times of work are computed: a kernel starts when the GPU has received it and its queue is
 * free, and ends a fixed time later, whenever the GPU's thread gets a processor. So the GPU's times
 * do not depend on the load of the machine.
 *
 * SIM_KFD is a list of NAME=VALUE with commas between:
 *
 *	gpus=1             1 to 8
 *	gfx=gfx90a         their target
 *	kernel_us=20       duration of a kernel
 *	us_NAME=N          … and of the kernel NAME
 *	item_ns=0          … and for each work-item in addition
 *	copy_gbps=20       GB/s of the copy engines
 *	drift_ppm=0        how much faster than the host's clock the GPU's counter is
 *	jump_ms=0          the machine is suspended for this time: CLOCK_BOOTTIME jumps ahead of
 *	                   CLOCK_MONOTONIC …
 *	jump_at=1          … when this process's Nth dispatch starts; ROCr's own are not counted
 *	jump_at_ns=N       … or, instead, at this time of CLOCK_MONOTONIC, which is the same for all
 *	                   processes
 *	jump_gpu=1         0: the GPU's counter stops meanwhile
 *	never=NAME         this kernel never completes
 *	gws=0              global wave syncs, which cooperative queues need; a real GPU has 64
 *	never_at=0         this process's Nth dispatch never completes; with several queues,
 *	                   the count is over all of them
 *	execute=1          1: kernels that execute.c knows are executed; 0: only ROCr's own
 *	log=FILE           a line for each kernel, barrier and copy: kind, process, GPU, queue,
 *	                   packet, start and end in ns of CLOCK_BOOTTIME as the program sees it;
 *	                   work-items, signals or bytes; name or -. A queue is named by HSA's id, a
 *	                   copy engine's by its place in the page of doorbells, a packet by its
 *	                   index in the queue or, of a copy engine, how many bytes are before it
 *	trace=0            1: ioctls, 2: packets too, on stderr
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <hsa/amd_hsa_kernel_code.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <linux/kfd_ioctl.h>

#define SIM_EXPORT __attribute__((visibility("default")))
#define SIM_NEVER  UINT64_MAX

enum {
	MAX_SIM_GPUS = 8,
	MAX_SIM_QUEUES = 1024, /* of a GPU: 8 bytes each of two pages of doorbells */
	SIM_NAME_BYTES = 96,
	SIM_GPU_ID = 0x1001,      /* KFD's id of the first GPU */
	SIM_RENDER_MINOR = 128,   /* … and its render node */
	SIM_DOORBELL_BYTES = 8192 /* of a GPU */
};

#define SIM_VRAM_BYTES  (UINT64_C(16) << 30)
#define SIM_COUNTER_KHZ 100000

/* ---- options --------------------------------------------------------------------------------- */

struct sim_options {
	int64_t gpus, jump_at, jump_at_ns, jump_gpu, never_at, execute, gws, trace;
	double kernel_us, item_ns, copy_gbps, drift_ppm, jump_ms;
	char gfx[16], never[SIM_NAME_BYTES], log[256];
	/* worked out of gfx */
	uint32_t gfx_major, gfx_minor, gfx_step;
};

/* Read once, at the first call. Aborts where SIM_KFD makes no sense: no test may pass then. */
const struct sim_options *sim_options(void);
/* Duration of a kernel in ns: from us_NAME, or kernel_us. */
uint64_t sim_kernel_ns(const char *name);

/* ---- clock ----------------------------------------------------------------------------------- */

/* CLOCK_BOOTTIME without the simulated suspend; all times inside the simulation use it. */
uint64_t sim_now(void);
/* Value of KFD's clock and of the program's CLOCK_BOOTTIME at such a time. */
uint64_t sim_system_ns(uint64_t now_ns);
/* Value of the GPU's counter at such a time. */
uint64_t sim_ticks(uint64_t now_ns);
/* The machine was suspended at this time. */
void sim_suspend(uint64_t now_ns);
/* Not much longer than a microsecond. */
void sim_pause(void);
void sim_nap(uint64_t ns);

/* ---- libc as it is without this library ------------------------------------------------------ */

int sim_real_clock_gettime(clockid_t clock, struct timespec *ret_time);

/* ---- log ------------------------------------------------------------------------------------- */

struct sim_truth {
	const char *kind, *name;
	uint32_t gpu;
	uint64_t queue_id, packet, start_ns, end_ns, amount;
};

void sim_log(const struct sim_truth *truth);
/* A line on stderr where trace is at least the level. */
void sim_trace(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line on stderr and aborts, for errors on which a real GPU would hang. */
_Noreturn void sim_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns the content of the file, which the caller frees; NULL: the file is not simulated, or does
 * not exist. */
char *sim_topology_read(const char *path);
bool sim_topology_has(const char *path);
/* The name of the index-th entry of a folder of the topology; false: there is none. */
bool sim_topology_entry(const char *path, size_t index, char ret_name[16]);

/* ---- driver ---------------------------------------------------------------------------------- */

/* 0 or -errno, as all that an ioctl comes to. */
int sim_ioctl(unsigned long request, void *arguments);
/* The index of the GPU that KFD calls so, or -1. */
int sim_gpu_index(uint32_t gpu_id);

int sim_memory_alloc(void *arguments);
int sim_memory_free(void *arguments);
int sim_memory_map(void *arguments);
int sim_memory_unmap(void *arguments);
/* Returns the host address of a GPU address; NULL: not mapped. */
void *sim_host_pointer(uint64_t address, uint64_t size_bytes);
/* The start of the memory around an address, or 0. */
uint64_t sim_memory_base(uint64_t address);

int sim_event_create(void *arguments);
int sim_event_destroy(void *arguments);
int sim_event_set(void *arguments);
int sim_event_reset(void *arguments);
int sim_event_wait(void *arguments);
/* From the GPU. */
void sim_event_raise(uint32_t id);
/* How many threads wait for it: its test has no other way to know that they do. */
unsigned sim_event_waiting(uint32_t id);

int sim_queue_create(void *arguments);
int sim_queue_destroy(void *arguments);
int sim_queue_update(void *arguments);
/* The file that mmap of a doorbell is to take, and from where. False: not a doorbell. */
bool sim_doorbell_file(uint64_t offset, int *ret_fd, uint64_t *ret_offset);

/* Called after fork, in the child: drops the parent's state. */
void sim_memory_forget(void);
void sim_event_forget(void);
void sim_queue_forget(void);

/* ---- queues ---------------------------------------------------------------------------------- */

/* Stores when the GPU received the work up to a position in a queue. Without room, the latest entry
 * is merged with the one before, whose work then seems to have come later. */
struct sim_arrivals {
	struct {
		uint64_t end, at_ns;
	} steps[64];
	size_t count;
};

void sim_arrivals_add(struct sim_arrivals *arrivals, uint64_t end, uint64_t at_ns);
/* Returns when the work at the position came; forgets earlier positions. */
uint64_t sim_arrivals_get(struct sim_arrivals *arrivals, uint64_t position);

struct sim_kernel;

/* A kernel that runs. */
struct sim_flight {
	const struct sim_kernel *kernel;
	uint64_t packet, start_ns, end_ns, signal, arguments, items;
};

enum { MAX_SIM_FLIGHTS = 64 };

struct sim_queue {
	struct sim_queue *next;
	uint32_t gpu, slot;
	char *ring;
	uint64_t ring_bytes;
	_Atomic uint64_t *doorbell, *read_pointer;
	struct sim_arrivals arrivals;
	uint64_t consumed; /* packets of AQL, bytes of SDMA */
	uint64_t known;    /* … that the GPU knows of */
	uint64_t clock_ns; /* how far this queue got: nothing starts before */
	uint64_t wake_ns;  /* when something of it ends, or SIM_NEVER */
	bool is_stopped;
	amd_queue_t *aql; /* NULL: SDMA */
	/* AQL: */
	/* the doorbell's last value, and the position up to which packets may be valid */
	uint64_t latest_doorbell, rung;
	struct sim_flight flights[MAX_SIM_FLIGHTS];
	size_t flight_count;
	uint64_t ended_ns; /* the latest end of all that was dispatched */
};

/* One turn of the thread that is the GPU, with the queue's lock held. True: something happened. */
bool sim_aql_step(struct sim_queue *queue);
bool sim_sdma_step(struct sim_queue *queue);

/* ---- kernels --------------------------------------------------------------------------------- */

/* Executes a kernel's effect on memory. arguments: the kernel arguments; items: work-items of its
 * grid. */
typedef void sim_execute(const char *arguments, uint64_t items);

struct sim_kernel {
	uint64_t object;
	const char *name; /* "": no name at this address */
	uint64_t duration_ns;
	bool never_completes, is_rocrs;
	sim_execute *execute; /* NULL: nothing that we know of */
};

/* By the thread of the GPU only. Valid until the code caches are flushed and no flight is left. */
const struct sim_kernel *sim_kernel_find(uint64_t object);
void sim_kernel_flush(void);
sim_execute *sim_execute_find(const char *name);
/* The same for a kernel without a name, which gets one of ours; NULL: not a kernel of ROCr. */
const char *sim_blit_find(uint64_t object, sim_execute **ret_execute);
/* The memory of a kernel at an address that is one of its arguments. Aborts where the GPU has
 * none. */
void *sim_array(uint64_t address, uint64_t bytes);
