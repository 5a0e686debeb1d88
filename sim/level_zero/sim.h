/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/sim.h - shared by the files of the simulated Level Zero driver
 *
 *	driver.c     entry points for the loader: tables of functions, the driver and its devices
 *	options.c    SIM_LEVEL_ZERO
 *	clock.c      host time, the devices' clock, and the log
 *	memory.c     allocations
 *	module.c     modules of native binaries (zebin), and their kernels
 *	event.c      event pools, events, fences
 *	list.c       contexts, command lists, appends
 *	queue.c      command queues, each with a thread that executes
 *	newer.c      functions that installed headers may be too old for, by their slots
 *	node.c       devices that are GPUs of sim/mock_xe: code, batches, submissions through their
 *	             driver
 *
 * Runs in a test program, loaded by the real libze_loader (ZE_ENABLE_ALT_DRIVERS). It
 * simulates a driver that no test machine has.
 */
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	MAX_SIM_DEVICES = 8,
	MAX_SIM_ARGUMENTS = 8,
	SIM_ARGUMENT_BYTES = 16,
	MAX_SIM_KERNELS = 32,
	SIM_NAME_BYTES = 64,
	SIM_PATTERN_BYTES = 16
};

struct sim_options {
	int64_t devices, hz, stamp_bits, clock_bits, offset_ns;
	int64_t no_base_address; /* a driver without zexKernelGetBaseAddress */
	int64_t no_binary;       /* … and one that gives no native binary */
	int64_t code; /* where the code of the first module goes, an address of the device */
	double kernel_us, copy_gbps, latency_us;
	char node[512]; /* render nodes, ':' between: each is a device; empty: devices of nothing */
	char log[512];  /* file to which the true times go, one line a command; empty: none */
	/* File to which every use of an object that was destroyed goes, one line each; such objects
	 * are never freed then. Empty: none, and they are. */
	char gone[512];
	double query_us; /* that a query of an event takes, asleep */
	/* A query of an event that finds this file removes it and sleeps for this time. Empty:
	 * never. */
	char slow[512];
	int64_t slow_ms;
};
extern struct sim_options sim_options;
/* False if SIM_LEVEL_ZERO is invalid; a line on stderr explains it. */
bool sim_options_read(void);

/* ---- objects --------------------------------------------------------------------------------- */

enum sim_kind {
	SIM_DRIVER = 0x5a45d001,
	SIM_DEVICE,
	SIM_CONTEXT,
	SIM_QUEUE,
	SIM_LIST,
	SIM_POOL,
	SIM_EVENT,
	SIM_FENCE,
	SIM_MODULE,
	SIM_KERNEL,
	SIM_GONE
};

/* First members of every object. */
struct sim_object {
	enum sim_kind kind;
	enum sim_kind was; /* magic of a destroyed object */
};

struct _ze_driver_handle_t {
	struct sim_object object;
};

struct sim_node;
struct _ze_device_handle_t {
	struct sim_object object;
	uint32_t index;
	struct sim_node *node; /* NULL: it is nothing but arithmetic */
};

struct _ze_context_handle_t {
	struct sim_object object;
};

struct _ze_event_pool_handle_t {
	struct sim_object object;
	uint32_t flags, count;
	/* never looked into where objects are freed: it may go first */
	ze_context_handle_t context;
};

struct _ze_event_handle_t {
	struct sim_object object;
	ze_event_pool_handle_t pool;
	bool is_signalled;       /* under sim_lock, as are … */
	uint64_t started, ended; /* ticks, all 64 bits */
	uint64_t ended_ns;
};

struct _ze_module_handle_t {
	struct sim_object object;
	uint8_t *bytes;
	size_t size;
	uint32_t count;
	struct {
		char name[SIM_NAME_BYTES];
		uint64_t address;
		uint64_t offset, size; /* of its code in the bytes */
	} kernels[MAX_SIM_KERNELS];
	struct sim_code *code; /* owned; its code on a node; NULL: not on a node */
};

struct _ze_kernel_handle_t {
	struct sim_object object;
	ze_module_handle_t module;
	uint32_t index, group[3];
	uint8_t arguments[MAX_SIM_ARGUMENTS][SIM_ARGUMENT_BYTES];
};

enum sim_command_kind {
	SIM_COMMAND_KERNEL,
	SIM_COMMAND_COPY,
	SIM_COMMAND_FILL,
	SIM_COMMAND_BARRIER,
	SIM_COMMAND_SIGNAL,
	SIM_COMMAND_RESET,
	SIM_COMMAND_TIMESTAMP
};

struct sim_command {
	enum sim_command_kind kind;
	char name[SIM_NAME_BYTES]; /* of a kernel */
	uint64_t address;          /* of its code */
	uint8_t arguments[MAX_SIM_ARGUMENTS][SIM_ARGUMENT_BYTES];
	uint64_t items;
	void *to;
	const void *from;
	size_t bytes, pattern_bytes;
	uint8_t pattern[SIM_PATTERN_BYTES];
	ze_event_handle_t event, subject; /* that it signals; that it is about */
	ze_event_handle_t *waits;         /* owned */
	uint32_t wait_count;
};

struct _ze_fence_handle_t {
	struct sim_object object;
	bool is_signalled; /* under sim_lock */
};

struct sim_work {
	struct sim_work *next;
	struct sim_command command; /* its waits are owned here too */
	ze_fence_handle_t fence;    /* signalled behind it; NULL: none */
	uint32_t sync;              /* of its submission, which ends with it; 0: none */
};

struct _ze_command_queue_handle_t {
	struct sim_object object;
	ze_device_handle_t device;
	uint32_t number, engine; /* engine: counted over the device's groups */
	bool is_synchronous;
	pthread_t thread;
	/* under sim_lock */
	struct sim_work *first, **last;
	bool is_busy, is_ending;
	uint64_t free_ns;            /* when the command before ends */
	struct sim_batches *batches; /* owned; NULL: its device has no node */
};

struct _ze_command_list_handle_t {
	struct sim_object object;
	ze_device_handle_t device;
	ze_command_queue_handle_t queue; /* of an immediate list; otherwise NULL */
	bool is_closed;
	struct sim_command *commands; /* owned */
	uint32_t count, capacity;
};

extern pthread_mutex_t sim_lock;
extern pthread_cond_t sim_changed;
extern struct _ze_device_handle_t sim_devices[MAX_SIM_DEVICES];

void *sim_new(enum sim_kind kind, size_t size);
bool sim_is(const void *handle, enum sim_kind kind);
void sim_free(void *object);

/* What the driver was asked for, for the program that looks it up. */
struct sim_counts {
	_Atomic unsigned long events, queries, binaries; /* made; of events; that were copied out */
};
extern struct sim_counts sim_level_zero_counts __attribute__((visibility("default")));

/* ---- clock ----------------------------------------------------------------------------------- */

uint64_t sim_now_ns(void);
void sim_sleep_until(uint64_t host_ns);
/* Value of the device's counter at a host time, with all 64 bits. */
uint64_t sim_ticks(uint64_t host_ns);
uint64_t sim_mask(int64_t bits);
void sim_log(const struct _ze_command_queue_handle_t *queue, const struct sim_command *command,
	     uint64_t started_ns, uint64_t ended_ns);

/* ---- the rest -------------------------------------------------------------------------------- */

/* ZE_MEMORY_TYPE_…; *ret_begin, *ret_size: of the allocation that holds it. */
ze_memory_type_t sim_memory_type(const void *memory, uint64_t *ret_begin, uint64_t *ret_size);
/* Executes a kernel's effect. False: the name is unknown, and nothing was done. */
bool sim_run_kernel(const struct sim_command *command);
/* Under the lock. */
void sim_signal(ze_event_handle_t event, uint64_t started_ns, uint64_t ended_ns);
/* Number of an engine of a group. False: there is none. */
bool sim_engine(uint32_t ordinal, uint32_t index, uint32_t *ret_engine);
/* NULL: it cannot be made, or there is no such engine. */
ze_command_queue_handle_t sim_queue_new(ze_device_handle_t device,
					const ze_command_queue_desc_t *desc);
void sim_queue_free(ze_command_queue_handle_t queue);
/* Adds copies of the commands to the queue's work. If the device has a node, the calling thread
 * submits the kernels to it. */
ze_result_t sim_queue_put(ze_command_queue_handle_t queue, const struct sim_command *commands,
			  uint32_t count, ze_fence_handle_t fence);
ze_result_t sim_queue_wait(ze_command_queue_handle_t queue, uint64_t timeout_ns);
/* A list with the same commands. */
ze_result_t sim_list_clone(ze_command_list_handle_t list, ze_command_list_handle_t *ret_list);
ze_context_handle_t sim_default_context(void);
ze_result_t sim_append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
			      const ze_group_count_t *groups, ze_event_handle_t event,
			      uint32_t wait_count, ze_event_handle_t *waits);
/* Waits on sim_changed, the lock held. False: the time is up. */
bool sim_wait_changed(uint64_t deadline_ns);
uint64_t sim_deadline(uint64_t timeout_ns);

/* ---- nodes ----------------------------------------------------------------------------------- */

enum { MAX_SIM_BATCH_KERNELS = 24 };

/* Opens the devices of the option `node`. False: one cannot be used; a line on stderr explains
 * it. */
bool sim_nodes_open(void);
/* Its address on PCI, by which the node's driver is known too. */
ze_pci_address_ext_t sim_node_pci(const struct sim_node *node);
/* Bytes bound in the node's address space. Fails by NULL. */
struct sim_code *sim_code_new(struct sim_node *node, const void *bytes, size_t size,
			      uint64_t *ret_address);
void sim_code_free(struct sim_code *code); /* NULL-safe */
/* Connection of a queue to its node. NULL on failure. */
struct sim_batches *sim_batches_new(struct sim_node *node);
void sim_batches_free(struct sim_batches *batches); /* NULL-safe */
/* Kernels at these addresses, MAX_SIM_BATCH_KERNELS at most, one behind the other. What it returns
 * is given to sim_batches_wait; 0: it failed. */
uint32_t sim_batches_submit(struct sim_batches *batches, const uint64_t *addresses, uint32_t count);
/* Waits until the submission has ended. */
void sim_batches_wait(struct sim_batches *batches, uint32_t sync);

void sim_fill_memory(ze_mem_dditable_t *table);
void sim_fill_modules(ze_module_dditable_t *table);
void sim_fill_kernels(ze_kernel_dditable_t *table);
void sim_fill_pools(ze_event_pool_dditable_t *table);
void sim_fill_events(ze_event_dditable_t *table);
void sim_fill_fences(ze_fence_dditable_t *table);
void sim_fill_contexts(ze_context_dditable_t *table);
void sim_fill_lists(ze_command_list_dditable_t *table);
void sim_fill_queues(ze_command_queue_dditable_t *table);
/* Functions that newer versions have in the same tables. */
void sim_fill_newer_drivers(ze_api_version_t version, void **slots);
void sim_fill_newer_lists(ze_api_version_t version, void **slots);
extern struct _ze_driver_handle_t sim_driver;
ze_result_t sim_kernel_address(ze_kernel_handle_t kernel, uint64_t *ret_address);
