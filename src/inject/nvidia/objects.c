/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/objects.c - ids for a process's devices, contexts, streams and kernels, and CUPTI's
 * clock
 *
 * Runs in:  the profiled process: at the first call or record that names an object
 * Gets:     CUDA's ordinals and CUPTI's ids
 * Gives:    ids, descriptions, pairs of clocks
 * Owns:     the properties of each, from the first cuInit to the process's end
 * Fails:    with id 0 without room for another one
 * Why:      a stream is identified by CUPTI's numbers of it and of its context, because records
 *           have both; a handle is reused when its stream is destroyed. Some programs make a stream
 *           for each request: slots of destroyed streams are reused, because a command whose queue
 *           has no id has no times either. A device is identified by its UUID, because its ordinal
 *           depends on the environment variable CUDA_VISIBLE_DEVICES. Records have times of
 *           CLOCK_MONOTONIC if CUPTI accepts it from the guest, otherwise of CLOCK_REALTIME. Pairs
 *           are read from CUPTI's clock, so that the recorder can align either clock.
 */
#include <stdio.h>
#include <string.h>

#include "inject/clock_reads.h"
#include "inject/describe.h"
#include "inject/nvidia/cuda.h"

enum {
	QUEUE_SETS = 1 << 13,
	QUEUE_WAYS = 8,
	MAX_QUEUE_IDS = (1 << 20) - MAX_CUDA_DEVICES, /* the recorder accepts a million */
	/* after this time the records of a destroyed stream have come */
	GONE_MS = 500,
	KERNELS = 1 << 16,
	MAX_KERNELS = KERNELS / 2,
	NAMES_BYTES = 32 << 20,
	MAX_CONTEXTS = 1 << 12
};

struct device {
	bool is_known;
	_Atomic uint32_t mode; /* attachment in which the object is described */
	uint32_t compute_units;
	uint64_t memory_bytes, local_bytes;
	char key[48], name[128], platform[48];
};

struct queue {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint32_t id, mode;
	_Atomic uint32_t gone; /* when its stream was destroyed; 0: the stream exists */
};

struct kernel {
	const char *_Atomic name; /* NULL: free */
	uint64_t hash;
	uint32_t code;
	_Atomic uint32_t mode;
	/* under the lock: the needs last described in attachment needs_mode */
	uint32_t needs_mode, registers, shared_bytes;
};

static struct {
	struct guest_lock lock;
	struct device devices[MAX_CUDA_DEVICES];
	char driver[32];
	struct queue queues[QUEUE_SETS][QUEUE_WAYS];
	/* one queue per device, for all streams that found no free slot */
	struct queue others[MAX_CUDA_DEVICES];
	uint32_t queue_count;
	_Atomic uint32_t contexts[MAX_CONTEXTS]; /* by CUPTI's id: as device.mode */
	/* number of changes after which handles may mean other streams */
	_Atomic uint32_t handles;
	struct kernel *_Atomic kernels; /* KERNELS entries */
	uint32_t kernel_count;
	_Atomic uint32_t last_code;
	char *names;
	size_t names_used;
	struct clock_reads clock_reads;
} objects;

/* ---- devices --------------------------------------------------------------------------------- */

static struct {
	CUresult (*get)(CUdevice *, int);
	CUresult (*get_name)(char *, int, CUdevice);
	CUresult (*get_uuid)(CUuuid *, CUdevice);
	CUresult (*get_attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*get_memory)(size_t *, CUdevice);
	CUresult (*get_version)(int *);
} driver;

static void find_driver(void)
{
	int version = 0;

	if (driver.get)
		return;
	*(void **)&driver.get_name = cuda_driver_function("cuDeviceGetName");
	*(void **)&driver.get_uuid = cuda_driver_function("cuDeviceGetUuid_v2");
	/* The older function exists before CUDA 11.4. It does not distinguish MIG instances. */
	if (!driver.get_uuid)
		*(void **)&driver.get_uuid = cuda_driver_function("cuDeviceGetUuid");
	*(void **)&driver.get_attribute = cuda_driver_function("cuDeviceGetAttribute");
	*(void **)&driver.get_memory = cuda_driver_function("cuDeviceTotalMem_v2");
	*(void **)&driver.get_version = cuda_driver_function("cuDriverGetVersion");
	*(void **)&driver.get = cuda_driver_function("cuDeviceGet");
	if (driver.get_version && !driver.get_version(&version))
		snprintf(objects.driver, sizeof(objects.driver), "CUDA %d.%d", version / 1000,
			 version % 1000 / 10);
}

static int attribute(CUdevice handle, CUdevice_attribute which)
{
	int value = 0;

	return driver.get_attribute && !driver.get_attribute(&value, which, handle) ? value : 0;
}

/* Formats a UUID as NVML does. */
static void format_uuid(const CUuuid *uuid, char key[48])
{
	const uint8_t *bytes = (const uint8_t *)uuid->bytes;
	int at = snprintf(key, 48, "GPU-");

	for (int i = 0; i < 16; i++)
		at += snprintf(key + at, (size_t)(48 - at), "%s%02x",
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

/* The caller holds the lock. */
static void learn_device(struct device *device, uint32_t ordinal)
{
	CUdevice handle = (CUdevice)ordinal;
	size_t bytes = 0;
	CUuuid uuid;
	int local, major;

	find_driver();
	snprintf(device->key, sizeof(device->key), "cuda:%u", ordinal);
	snprintf(device->name, sizeof(device->name), "NVIDIA GPU %u", ordinal);
	snprintf(device->platform, sizeof(device->platform), "CUDA");
	device->is_known = true;
	if (!driver.get || driver.get(&handle, (int)ordinal))
		return;
	if (driver.get_uuid && !driver.get_uuid(&uuid, handle))
		format_uuid(&uuid, device->key);
	if (driver.get_name)
		driver.get_name(device->name, sizeof(device->name) - 1, handle);
	if (driver.get_memory && !driver.get_memory(&bytes, handle))
		device->memory_bytes = bytes;
	device->compute_units =
		(uint32_t)attribute(handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	local = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	device->local_bytes = local > 0 ? (uint64_t)local : 0;
	major = attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	if (major > 0)
		snprintf(device->platform, sizeof(device->platform),
			 "CUDA, compute capability %d.%d", major,
			 attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

static bool describe_device(struct guest_thread *thread, const struct device *device)
{
	struct record_device record = {
		.head = {.kind = EVENT_DEVICE, .detail = DEVICE_GPU | RECORD_DEVICE_LOCAL},
		.device = (uint32_t)(device - objects.devices) + 1,
		.compute_units = device->compute_units,
		.memory_bytes = device->memory_bytes,
		.frequency_hz = 1000000000,
	};
	const char *texts[] = {device->key, device->name, "NVIDIA Corporation", objects.driver,
			       device->platform};
	const struct guest_tail tail = {texts, 5, sizeof(device->local_bytes),
					&device->local_bytes};

	return guest_put_with_texts(thread, &record.head, offsetof(struct record_device, texts),
				    &tail);
}

uint32_t cuda_device(struct guest_thread *thread, uint32_t ordinal)
{
	struct device *device = ordinal < MAX_CUDA_DEVICES ? &objects.devices[ordinal] : NULL;

	if (!device)
		return 0;
	if (atomic_load_explicit(&device->mode, memory_order_acquire) == thread->mode)
		return ordinal + 1;
	if (!guest_lock(&objects.lock))
		return ordinal + 1;
	if (!device->is_known)
		learn_device(device, ordinal);
	if (atomic_load(&device->mode) != thread->mode && describe_device(thread, device))
		atomic_store(&device->mode, thread->mode);
	guest_unlock(&objects.lock);
	cuda_read_clock(thread, true);
	return ordinal + 1;
}

uint32_t cuda_device_units(uint32_t device)
{
	return device && device <= MAX_CUDA_DEVICES ? objects.devices[device - 1].compute_units : 0;
}

void cuda_device_here(struct guest_thread *thread, uint32_t device)
{
	static _Thread_local struct {
		uint32_t mode;
		uint64_t described;
	} known __attribute__((tls_model("initial-exec")));
	const uint64_t bit = UINT64_C(1) << ((device - 1) % MAX_CUDA_DEVICES);

	if (known.mode != thread->mode)
		known.described = 0;
	known.mode = thread->mode;
	if (device && !(known.described & bit) &&
	    describe_device(thread, &objects.devices[device - 1]))
		known.described |= bit;
}

/* ---- streams --------------------------------------------------------------------------------- */

static uint32_t describe_context(struct guest_thread *thread, uint32_t context)
{
	struct record_context *record;

	if (context >= MAX_CONTEXTS)
		return 0;
	if (atomic_load(&objects.contexts[context]) == thread->mode)
		return context + 1;
	record = guest_reserve(thread, EVENT_CONTEXT, sizeof(*record), 0);
	if (!record)
		return 0;
	record->handle = context;
	record->context = context + 1;
	record->reserved = 0;
	ring_commit(&thread->writer);
	atomic_store(&objects.contexts[context], thread->mode);
	return context + 1;
}

static void describe_queue(struct guest_thread *thread, struct queue *queue, uint32_t device,
			   uint32_t context, uint32_t stream)
{
	uint32_t context_id = describe_context(thread, context);
	struct record_queue *record;
	uint32_t flags = QUEUE_TIMED;

	/* The queue has commands of several streams: the start of one does not show that earlier
	 * ones ended. */
	if (stream == CUPTI_INVALID_STREAM_ID)
		flags |= QUEUE_OUT_OF_ORDER;
	record = guest_reserve(thread, EVENT_QUEUE, sizeof(*record), flags);
	if (!record)
		return;
	record->handle = stream;
	record->queue = queue->id;
	record->context = context_id;
	record->device = device;
	record->reserved = 0;
	ring_commit(&thread->writer);
	atomic_store(&queue->mode, thread->mode);
}

static uint64_t key_of(uint32_t context, uint32_t stream)
{
	return ((uint64_t)context << 32 | stream) + 1;
}

/* CUPTI's numbers count up, so streams of about the same age fall into different sets. */
static struct queue *set_of(uint64_t key)
{
	return objects.queues[((uint32_t)key + (key >> 32) * 2654435761u) % QUEUE_SETS];
}

/* NULL: not found. */
static struct queue *find_queue(uint64_t key)
{
	struct queue *set = set_of(key);

	for (uint32_t i = 0; i < QUEUE_WAYS; i++)
		if (atomic_load_explicit(&set[i].key, memory_order_acquire) == key)
			return &set[i];
	return NULL;
}

/* Current time for `gone`; never 0, which means that the stream exists. */
static uint32_t now_gone(void)
{
	return (uint32_t)ring_now_ms() | 1;
}

static bool is_long_gone(const struct queue *queue)
{
	uint32_t gone = atomic_load(&queue->gone);

	return gone && now_gone() - gone > GONE_MS;
}

/* The caller holds the lock. Returns a free slot of the key's set, or that of the stream there that
 * was destroyed longest ago, at least GONE_MS. NULL: none. */
static struct queue *find_place(uint64_t key)
{
	struct queue *set = set_of(key), *best = NULL;

	for (uint32_t i = 0; i < QUEUE_WAYS; i++) {
		if (!atomic_load(&set[i].key))
			return &set[i];
		if (is_long_gone(&set[i]) &&
		    (!best || atomic_load(&set[i].gone) < atomic_load(&best->gone)))
			best = &set[i];
	}
	return best;
}

/* The caller holds the lock. NULL: no slot or no id is left. An id never stands for two streams. */
static struct queue *add_queue(uint64_t key)
{
	struct queue *queue = find_queue(key);

	if (queue)
		return queue;
	queue = objects.queue_count < MAX_QUEUE_IDS ? find_place(key) : NULL;
	if (!queue)
		return NULL;
	queue->id = ++objects.queue_count;
	atomic_store(&queue->gone, 0);
	atomic_store(&queue->mode, 0);
	atomic_store_explicit(&queue->key, key, memory_order_release);
	return queue;
}

/* The caller holds the lock. Returns the queue for all streams of a device that found no slot. */
static struct queue *other_queue(uint32_t device)
{
	struct queue *queue = &objects.others[device - 1];

	guest_trouble(NVIDIA_TROUBLE_QUEUES);
	if (!queue->id)
		queue->id = MAX_QUEUE_IDS + device;
	return queue;
}

uint32_t cuda_queue(struct guest_thread *thread, uint32_t device, uint32_t context, uint32_t stream)
{
	struct queue *queue = find_queue(key_of(context, stream));
	uint32_t device_id;

	if (queue && atomic_load(&queue->mode) == thread->mode)
		return queue->id;
	device_id = cuda_device(thread, device);
	if (!guest_lock(&objects.lock))
		return 0;
	queue = add_queue(key_of(context, stream));
	if (!queue && device_id) {
		queue = other_queue(device_id);
		stream = CUPTI_INVALID_STREAM_ID;
	}
	if (queue && atomic_load(&queue->mode) != thread->mode)
		describe_queue(thread, queue, device_id, context, stream);
	guest_unlock(&objects.lock);
	if (!queue)
		guest_trouble(RING_TROUBLE_OBJECTS);
	return queue ? queue->id : 0;
}

bool cuda_queue_is_shared(uint32_t queue)
{
	return queue > MAX_QUEUE_IDS;
}

/* Last stream of this thread, because most launches go to the same stream as the one before. */
static _Thread_local struct {
	CUcontext context;
	CUstream stream;
	uint32_t mode, handles, queue;
	bool is_per_thread;
} last_queue __attribute__((tls_model("initial-exec")));

void cuda_handles_changed(void)
{
	atomic_fetch_add(&objects.handles, 1);
}

static void all_go(uint32_t context)
{
	struct queue *queue = objects.queues[0];

	for (uint32_t i = 0; i < QUEUE_SETS * QUEUE_WAYS; i++)
		if ((atomic_load(&queue[i].key) - 1) >> 32 == context)
			atomic_store(&queue[i].gone, now_gone());
}

void cuda_stream_ends(CUcontext context, CUstream stream)
{
	struct queue *queue = NULL;
	uint32_t context_id, id;

	cuda_handles_changed();
	if (cuda_cupti.cuptiGetContextId(context, &context_id))
		return;
	if (!stream)
		all_go(context_id);
	else if (!cuda_cupti.cuptiGetStreamIdEx(context, stream, 0, &id))
		queue = find_queue(key_of(context_id, id));
	if (queue)
		atomic_store(&queue->gone, now_gone());
}

uint32_t cuda_queue_of(struct guest_thread *thread, CUcontext context, uint32_t context_id,
		       CUstream stream, bool is_per_thread)
{
	uint32_t handles = atomic_load_explicit(&objects.handles, memory_order_relaxed);
	uint32_t device = 0, id = 0;

	if (last_queue.mode == thread->mode && last_queue.handles == handles &&
	    last_queue.context == context && last_queue.stream == stream &&
	    last_queue.is_per_thread == is_per_thread)
		return last_queue.queue;
	if (cuda_cupti.cuptiGetDeviceId(context, &device) ||
	    cuda_cupti.cuptiGetStreamIdEx(context, stream, is_per_thread, &id))
		return 0;
	last_queue.queue = cuda_queue(thread, device, context_id, id);
	last_queue.context = context;
	last_queue.stream = stream;
	last_queue.is_per_thread = is_per_thread;
	last_queue.handles = handles;
	last_queue.mode = thread->mode;
	return last_queue.queue;
}

/* ---- kernels --------------------------------------------------------------------------------- */

uint32_t cuda_new_code(void)
{
	return atomic_fetch_add_explicit(&objects.last_code, 1, memory_order_relaxed) + 1;
}

static uint64_t hash_name(const char *name, size_t *ret_length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t length = 0;

	for (; name[length] && length < RECORD_TEXT_BYTES - 1; length++)
		hash = (hash ^ (uint8_t)name[length]) * UINT64_C(0x100000001b3);
	*ret_length = length;
	return hash ^ hash >> 32;
}

/* Returns the kernel's entry, or the one where it would be. Names are compared up to the stored
 * length. */
static struct kernel *find_kernel(struct kernel *kernels, const char *name, uint64_t hash,
				  size_t length)
{
	for (uint64_t i = hash;; i++) {
		struct kernel *kernel = &kernels[i % KERNELS];
		const char *there = atomic_load_explicit(&kernel->name, memory_order_acquire);

		if (!there ||
		    (kernel->hash == hash && strncmp(there, name, length) == 0 && !there[length]))
			return kernel;
	}
}

static bool make_room(void)
{
	if (!objects.names)
		objects.names = guest_memory(NAMES_BYTES);
	if (!atomic_load(&objects.kernels))
		atomic_store(&objects.kernels, guest_memory(KERNELS * sizeof(struct kernel)));
	return objects.names && atomic_load(&objects.kernels);
}

/* The caller holds the lock. NULL: there is no room. */
static struct kernel *add_kernel(const char *name, uint64_t hash, size_t length)
{
	struct kernel *kernel;
	char *copy;

	if (!make_room())
		return NULL;
	kernel = find_kernel(atomic_load(&objects.kernels), name, hash, length);
	if (atomic_load(&kernel->name))
		return kernel;
	if (objects.kernel_count == MAX_KERNELS || length >= NAMES_BYTES - objects.names_used)
		return NULL;
	copy = objects.names + objects.names_used;
	memcpy(copy, name, length);
	objects.names_used += length + 1;
	kernel->hash = hash;
	objects.kernel_count++;
	kernel->code = cuda_new_code();
	atomic_store_explicit(&kernel->name, copy, memory_order_release);
	return kernel;
}

static void describe_kernel(struct guest_thread *thread, struct kernel *kernel)
{
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_KERNEL},
		.code = kernel->code,
	};
	const char *texts[] = {atomic_load(&kernel->name), ""};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	if (guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail))
		atomic_store(&kernel->mode, thread->mode);
}

uint32_t cuda_kernel(struct guest_thread *thread, const char *name)
{
	struct kernel *kernels = atomic_load_explicit(&objects.kernels, memory_order_acquire);
	struct kernel *kernel = NULL;
	size_t length;
	uint64_t hash;

	if (!name)
		return 0;
	hash = hash_name(name, &length);
	if (kernels)
		kernel = find_kernel(kernels, name, hash, length);
	if (!kernel || !atomic_load(&kernel->name)) {
		if (!guest_lock(&objects.lock))
			return 0;
		kernel = add_kernel(name, hash, length);
		guest_unlock(&objects.lock);
	}
	if (!kernel) {
		guest_trouble(RING_TROUBLE_OBJECTS);
		return 0;
	}
	if (atomic_load_explicit(&kernel->mode, memory_order_relaxed) != thread->mode)
		describe_kernel(thread, kernel);
	return kernel->code;
}

/* The caller holds the lock. NULL: the kernel is not described. */
static struct kernel *kernel_with_needs(const struct guest_thread *thread, const char *name)
{
	struct kernel *kernels = atomic_load(&objects.kernels), *kernel;
	size_t length;
	uint64_t hash = hash_name(name, &length);

	kernel = kernels ? find_kernel(kernels, name, hash, length) : NULL;
	if (!kernel || !atomic_load(&kernel->name) || atomic_load(&kernel->mode) != thread->mode)
		return NULL;
	if (kernel->needs_mode != thread->mode)
		kernel->registers = kernel->shared_bytes = 0;
	kernel->needs_mode = thread->mode;
	return kernel;
}

void cuda_kernel_needs(struct guest_thread *thread, const char *name, uint32_t registers,
		       uint32_t shared_bytes)
{
	struct record_kernel_needs *record;
	struct kernel *kernel;

	if (!name || !registers)
		return;
	if (!guest_lock(&objects.lock)) {
		guest_trouble(RING_TROUBLE_OBJECTS);
		return;
	}
	kernel = kernel_with_needs(thread, name);
	if (kernel && (kernel->registers < registers || kernel->shared_bytes < shared_bytes)) {
		/* The kernel is described in this ring too, because its first description may be in
		 * a ring that is read later. */
		describe_kernel(thread, kernel);
		record = guest_reserve(thread, RECORD_KERNEL_NEEDS, sizeof(*record), 0);
		if (record) {
			if (kernel->registers < registers)
				kernel->registers = registers;
			if (kernel->shared_bytes < shared_bytes)
				kernel->shared_bytes = shared_bytes;
			record->local_bytes = kernel->shared_bytes;
			record->registers = kernel->registers;
			record->code = kernel->code;
			ring_commit(&thread->writer);
		}
	}
	guest_unlock(&objects.lock);
}

/* ---- the clock ------------------------------------------------------------------------------- */

static void put_pairs(struct guest_thread *thread, uint64_t before, uint64_t time, uint64_t after)
{
	for (uint32_t i = 0; i < MAX_CUDA_DEVICES; i++)
		if (atomic_load(&objects.devices[i].mode) == thread->mode &&
		    !clock_reads_put(thread, i + 1, time, before, after))
			return;
}

void cuda_read_clock(struct guest_thread *thread, bool is_end)
{
	uint64_t time = 0, before, after;

	if (!clock_reads_take(thread, &objects.clock_reads, is_end))
		return;
	before = guest_now(thread);
	if (cuda_cupti.cuptiGetTimestamp(&time))
		return;
	after = guest_now(thread);
	put_pairs(thread, before, time, after);
}

void cuda_objects_forked(void)
{
	guest_unlock(&objects.lock);
}
