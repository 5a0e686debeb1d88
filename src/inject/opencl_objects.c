/* SPDX-License-Identifier: MIT
 *
 * inject/opencl_objects.c - which device, context, queue and kernel a handle means
 *
 * Runs in:  the profiled process; lookups on the hot path, the rest once per object
 * Gets:     OpenCL handles   Gives: ids, and records that describe each object once per recorder
 * Owns:     one table of handles and the queue structures, mapped on first use
 * Fails:    with id 0 where memory is refused or the runtime does not answer
 * Why:      objects are asked about when first used, not when created: it costs nothing for objects that are
 *           never used, needs no hook for each of the ways to make one, and works the same when the recorder
 *           comes late. A lookup is one hash and one compare, 2-3 ns.
 */
#include <stdio.h>
#include <string.h>

#include "inject/opencl.h"

enum { TABLE_BITS = 15, TABLE_SIZE = 1 << TABLE_BITS, TABLE_MOST = TABLE_SIZE / 4 * 3 };

/* A handle that was forgotten keeps its place, so that probing goes on past it. */
#define FORGOTTEN ((uintptr_t)1)

struct entry {
	_Atomic uintptr_t key;
	_Atomic uint32_t mode; /* of the attachment the id belongs to */
	uint32_t id;
	void *object; /* struct opencl_queue; a device's struct device */
	/* Apart from object: an address may be a queue now and a program later. */
	struct program *program;
};

/* Its binaries are kept when the program lets it go: PoCL compiles kernels to make a binary,
 * and what takes 150 ms with a cold cache must not stand between a build and a launch. */
struct program {
	uint32_t code;
	uint32_t mode; /* of the attachment; 0: kept, or gone */
};

struct device {
	uint32_t id;
	bool callbacks;
	uint64_t next_read; /* of its timer, host time; UINT64_MAX: it has none */
	uint64_t interval;  /* between two readings */
	cl_device_id handle;
};

static struct {
	struct guest_lock lock;
	struct entry *entries;
	uint32_t used;
	_Atomic uint32_t last_context, last_device, last_queue, last_code;
	struct opencl_queue *_Atomic newest;
	_Atomic bool any_forced;
	char *pool; /* structures are cut from here and never given back, only used again */
	size_t pool_left;
} objects;

/* Platforms on which CL_COMPLETE callbacks were tested: they come without a call of the program, so
 * that commands are complete in the trace even when it ends by _exit or a signal. Elsewhere they have
 * hung, come late or crashed (reported for ROCm, Intel NEO), and polling is used. */
static const char *const callback_platforms[] = {"Portable Computing Language"};

static void *pool_take(size_t bytes)
{
	enum { PIECE = 65536 };
	void *taken;

	bytes = (bytes + 15) & ~(size_t)15;
	if (objects.pool_left < bytes) {
		objects.pool = guest_memory(PIECE);
		objects.pool_left = objects.pool ? PIECE : 0;
		if (!objects.pool)
			return NULL;
	}
	taken = objects.pool;
	objects.pool += bytes;
	objects.pool_left -= bytes;
	return taken;
}

static uint32_t hash_of(uintptr_t key)
{
	return (uint32_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS));
}

static struct entry *find(const void *handle)
{
	uintptr_t key = (uintptr_t)handle;

	if (!objects.entries || key <= FORGOTTEN)
		return NULL;
	for (uint32_t i = hash_of(key);; i++) {
		struct entry *entry = &objects.entries[i & (TABLE_SIZE - 1)];
		uintptr_t found = atomic_load_explicit(&entry->key, memory_order_acquire);

		if (found == key)
			return entry;
		if (found == 0)
			return NULL;
	}
}

/* Under the lock: the entry of a handle, made where there is none. */
static struct entry *find_or_add(const void *handle)
{
	struct entry *entry = find(handle);
	uint32_t i = hash_of((uintptr_t)handle);

	if (entry || (uintptr_t)handle <= FORGOTTEN)
		return entry;
	if (!objects.entries)
		objects.entries = guest_memory(TABLE_SIZE * sizeof(*objects.entries));
	if (!objects.entries || objects.used >= TABLE_MOST)
		return NULL;
	while (atomic_load_explicit(&objects.entries[i & (TABLE_SIZE - 1)].key,
				    memory_order_relaxed) > FORGOTTEN)
		i++;
	entry = &objects.entries[i & (TABLE_SIZE - 1)];
	if (atomic_load_explicit(&entry->key, memory_order_relaxed) == 0)
		objects.used++;
	atomic_store_explicit(&entry->mode, 0, memory_order_relaxed);
	entry->id = 0;
	entry->object = NULL;
	entry->program = NULL;
	atomic_store_explicit(&entry->key, (uintptr_t)handle, memory_order_release);
	return entry;
}

/* Known to this recorder: the id, else 0. */
static struct entry *find_known(const struct guest_thread *thread, const void *handle)
{
	struct entry *entry = find(handle);

	if (GUEST_LIKELY(entry &&
			 atomic_load_explicit(&entry->mode, memory_order_acquire) == thread->mode))
		return entry;
	return NULL;
}

static void make_known(struct guest_thread *thread, struct entry *entry, uint32_t id)
{
	entry->id = id;
	atomic_store_explicit(&entry->mode, thread->mode, memory_order_release);
}

void opencl_forget(const void *handle)
{
	struct entry *entry = find(handle);

	/* The entry stays, with its queue structure: only what was known of it is void. */
	if (entry)
		atomic_store_explicit(&entry->mode, 0, memory_order_release);
}

uint32_t opencl_new_code(void)
{
	return atomic_fetch_add_explicit(&objects.last_code, 1, memory_order_relaxed) + 1;
}

/* ---- records with texts ------------------------------------------------------------------------ */

void opencl_put_with_texts(struct guest_thread *thread, struct record *head, uint32_t fixed_bytes,
			   const char *const *texts, uint32_t text_count)
{
	uint32_t lengths[8], total = fixed_bytes;
	uint8_t *record;

	for (uint32_t i = 0; i < text_count; i++) {
		lengths[i] = (uint32_t)strnlen(texts[i], RECORD_TEXT_BYTES - 1);
		total += lengths[i] + 1;
	}
	record = guest_reserve(thread, head->kind, (total + 7) & ~7u, head->detail);
	if (!record)
		return;
	memcpy(record + sizeof(*head), (uint8_t *)head + sizeof(*head),
	       fixed_bytes - sizeof(*head));
	memset(record + fixed_bytes, 0, ((total + 7) & ~7u) - fixed_bytes);
	for (uint32_t i = 0, at = fixed_bytes; i < text_count; at += lengths[i] + 1, i++)
		memcpy(record + at, texts[i], lengths[i]);
	ring_commit(&thread->writer);
}

/* ---- devices ----------------------------------------------------------------------------------- */

static void device_text(cl_device_id device, cl_uint what, char *text, size_t size)
{
	size_t got = 0;

	if (next.clGetDeviceInfo(device, what, size - 1, text, &got) != CL_SUCCESS ||
	    got > size - 1)
		got = 0;
	text[got] = '\0';
}

/* UUID, else PCI address, else the names: never a number that depends on who asks. */
static void device_key(cl_device_id device, const char *name, const char *platform,
		       char key[RECORD_TEXT_BYTES])
{
	unsigned char uuid[16];
	struct cl_pci_bus_info pci;
	int at = 0;

	if (next.clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, sizeof(uuid), uuid, NULL) ==
	    CL_SUCCESS) {
		for (int i = 0; i < 16; i++)
			at += snprintf(key + at, RECORD_TEXT_BYTES - (size_t)at,
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				       uuid[i]);
	} else if (next.clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(pci), &pci,
					NULL) == CL_SUCCESS) {
		snprintf(key, RECORD_TEXT_BYTES, "%04x:%02x:%02x.%x", pci.domain, pci.bus,
			 pci.device, pci.function);
	} else {
		snprintf(key, RECORD_TEXT_BYTES, "opencl:%.1000s:%.1000s", platform, name);
	}
}

static uint32_t device_type(cl_device_id device)
{
	cl_ulong type = 0;

	next.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	return type & 2   ? DEVICE_CPU
	       : type & 4 ? DEVICE_GPU
	       : type & 8 ? DEVICE_ACCELERATOR
			  : DEVICE_OTHER;
}

static bool has_callbacks(cl_platform_id platform)
{
	char name[256] = "";

	if (next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL) !=
	    CL_SUCCESS)
		return false;
	for (size_t i = 0; i < sizeof(callback_platforms) / sizeof(callback_platforms[0]); i++)
		if (strcmp(name, callback_platforms[i]) == 0)
			return true;
	return false;
}

/* "OpenCL 2.1 …" */
static bool is_at_least_2_1(const char *version)
{
	unsigned int major = 0, minor = 0;

	return sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 &&
	       (major > 2 || (major == 2 && minor >= 1));
}

static void describe_device(struct guest_thread *thread, struct device *device)
{
	char key[RECORD_TEXT_BYTES], name[512], vendor[512], driver[512], platform_name[512] = "";
	const char *texts[] = {key, name, vendor, driver, platform_name};
	struct record_device record = {
		.head = {.kind = EVENT_DEVICE, .detail = device_type(device->handle)},
		.device = device->id,
		.frequency_hz = 1000000000,
	};
	cl_platform_id platform = NULL;

	next.clGetDeviceInfo(device->handle, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	if (platform) {
		size_t got = 0;

		if (next.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(platform_name) - 1,
					   platform_name, &got) != CL_SUCCESS)
			got = 0;
		platform_name[got < sizeof(platform_name) ? got : 0] = '\0';
		/* An older driver's table ends before the timer, and the loader jumps all the same. */
		if (!is_at_least_2_1(platform_name))
			device->next_read = UINT64_MAX;
		device->callbacks = has_callbacks(platform);
	}
	device_text(device->handle, CL_DEVICE_NAME, name, sizeof(name));
	device_text(device->handle, CL_DEVICE_VENDOR, vendor, sizeof(vendor));
	device_text(device->handle, CL_DRIVER_VERSION, driver, sizeof(driver));
	device_key(device->handle, name, platform_name, key);
	next.clGetDeviceInfo(device->handle, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint),
			     &record.compute_units, NULL);
	next.clGetDeviceInfo(device->handle, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong),
			     &record.memory_bytes, NULL);
	opencl_put_with_texts(thread, &record.head, offsetof(struct record_device, texts), texts,
			      5);
}

/* Under the lock. */
static struct device *learn_device(struct guest_thread *thread, cl_device_id handle)
{
	struct entry *entry = find_or_add(handle);

	if (!entry)
		return NULL;
	if (!entry->object)
		entry->object = pool_take(sizeof(struct device));
	if (entry->object && atomic_load(&entry->mode) != thread->mode) {
		struct device *device = entry->object;

		*device = (struct device){
			.handle = handle,
			.id = atomic_fetch_add(&objects.last_device, 1) + 1,
			.interval = 1 << 22,
		};
		describe_device(thread, device);
		make_known(thread, entry, device->id);
	}
	return entry->object;
}

uint32_t opencl_device(struct guest_thread *thread, cl_device_id handle)
{
	struct entry *entry = find_known(thread, handle);
	struct device *device;

	if (entry)
		return entry->id;
	if (!guest_lock(&objects.lock))
		return 0;
	device = learn_device(thread, handle);
	guest_unlock(&objects.lock);
	return device ? device->id : 0;
}

void opencl_read_device_timer(struct guest_thread *thread, const struct opencl_queue *queue,
			      uint64_t now)
{
	struct device *device = queue->device;
	struct record_clock_pair *record;
	cl_ulong device_time = 0, host_time = 0;
	uint64_t before, after;

	if (GUEST_LIKELY(!device || now < device->next_read))
		return;
	device->next_read = now + device->interval;
	/* Often at first, for short programs; in the end about once a second whatever the unit of the host
	 * clock: 2^30 ns, or 2^32 cycles. */
	if (device->interval <
	    (thread->clock == RING_CLOCK_TSC ? UINT64_C(1) << 32 : UINT64_C(1) << 30))
		device->interval *= 2;
	before = guest_now(thread);
	if (!next.clGetDeviceAndHostTimer ||
	    next.clGetDeviceAndHostTimer(device->handle, &device_time, &host_time) != CL_SUCCESS) {
		device->next_read = UINT64_MAX; /* it will not learn to */
		return;
	}
	after = guest_now(thread);
	record = guest_reserve(thread, EVENT_CLOCK_PAIR, sizeof(*record), 0);
	if (!record)
		return;
	record->time = device_time;
	record->before = before;
	record->after = after;
	record->device = device->id;
	record->reserved = 0;
	ring_commit(&thread->writer);
}

/* ---- contexts and queues ----------------------------------------------------------------------- */

/* Under the lock. */
static uint32_t learn_context(struct guest_thread *thread, cl_context handle)
{
	struct entry *entry = find_or_add(handle);
	struct record_context *record;

	if (!entry)
		return 0;
	if (atomic_load(&entry->mode) == thread->mode)
		return entry->id;
	make_known(thread, entry, atomic_fetch_add(&objects.last_context, 1) + 1);
	record = guest_reserve(thread, EVENT_CONTEXT, sizeof(*record), 0);
	if (record) {
		record->handle = (uintptr_t)handle;
		record->context = entry->id;
		record->reserved = 0;
		ring_commit(&thread->writer);
	}
	return entry->id;
}

static void describe_queue(struct guest_thread *thread, const struct opencl_queue *queue,
			   uint32_t context, uint32_t device)
{
	struct record_queue *record =
		guest_reserve(thread, EVENT_QUEUE, sizeof(*record), queue->flags);

	if (!record)
		return;
	record->handle = (uintptr_t)queue->handle;
	record->queue = queue->id;
	record->context = context;
	record->device = device;
	record->reserved = 0;
	ring_commit(&thread->writer);
}

/* Under the lock: the structure of a handle, new or from an earlier queue at the same address. */
static struct opencl_queue *queue_structure(struct entry *entry, cl_command_queue handle)
{
	struct opencl_queue *queue = entry->object;

	if (queue)
		return queue;
	queue = pool_take(sizeof(*queue));
	if (!queue)
		return NULL;
	queue->handle = handle;
	queue->first = queue->last = NO_COMMAND;
	queue->older = atomic_load(&objects.newest);
	atomic_store(&objects.newest, queue);
	entry->object = queue;
	return queue;
}

/* Under the lock. */
static struct opencl_queue *learn_queue(struct guest_thread *thread, cl_command_queue handle)
{
	struct entry *entry = find_or_add(handle);
	struct opencl_queue *queue = entry ? queue_structure(entry, handle) : NULL;
	cl_context context = NULL;
	cl_device_id device_handle = NULL;
	cl_ulong properties = 0;
	struct device *device;
	uint32_t context_id;

	if (!queue || atomic_load(&entry->mode) == thread->mode)
		return queue;
	if (next.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL) !=
	    CL_SUCCESS)
		return NULL; /* not a queue at all: the call it was given to will say so */
	next.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(device_handle), &device_handle,
				   NULL);
	next.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				   NULL);
	device = learn_device(thread, device_handle);
	context_id = learn_context(thread, context);
	queue->flags &= QUEUE_TIMING_FORCED;
	if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		queue->flags |= QUEUE_OUT_OF_ORDER;
	if ((properties & CL_QUEUE_PROFILING_ENABLE) && (thread->options & RING_OPTION_DEVICE_TIME))
		queue->flags |= QUEUE_TIMED;
	queue->callbacks = device && device->callbacks;
	queue->device = device;
	queue->id = atomic_fetch_add(&objects.last_queue, 1) + 1;
	describe_queue(thread, queue, context_id, device ? device->id : 0);
	make_known(thread, entry, queue->id);
	return queue;
}

struct opencl_queue *opencl_queue(struct guest_thread *thread, cl_command_queue handle)
{
	struct entry *entry = find_known(thread, handle);
	struct opencl_queue *queue;

	if (GUEST_LIKELY(entry != NULL))
		return entry->object;
	if (!handle || !guest_lock(&objects.lock))
		return NULL;
	queue = learn_queue(thread, handle);
	guest_unlock(&objects.lock);
	return queue;
}

void opencl_queue_made(struct guest_thread *thread, cl_command_queue handle, bool forced,
		       const cl_ulong *asked, uint32_t asked_count, bool as_array)
{
	struct opencl_queue *queue = NULL;
	struct entry *entry;

	opencl_forget(handle);
	if (!guest_lock(&objects.lock))
		return;
	entry = find_or_add(handle);
	if (entry)
		queue = queue_structure(entry, handle);
	if (queue) {
		queue->flags = forced ? QUEUE_TIMING_FORCED : 0;
		queue->asked_as_array = as_array;
		queue->asked_count = asked_count < QUEUE_PROPERTIES_MOST ? asked_count : 0;
		for (uint32_t i = 0; i < queue->asked_count; i++)
			queue->asked[i] = asked[i];
		if (forced)
			atomic_store(&objects.any_forced, true);
		if (thread)
			learn_queue(thread, handle);
	}
	guest_unlock(&objects.lock);
}

bool opencl_any_forced(void)
{
	return atomic_load_explicit(&objects.any_forced, memory_order_relaxed);
}

const struct opencl_queue *opencl_forced_queue(cl_command_queue handle)
{
	struct entry *entry;
	const struct opencl_queue *queue;

	if (!atomic_load_explicit(&objects.any_forced, memory_order_relaxed))
		return NULL;
	entry = find(handle);
	queue = entry ? entry->object : NULL;
	return queue && queue->handle == handle && (queue->flags & QUEUE_TIMING_FORCED) ? queue
											: NULL;
}

struct opencl_queue *opencl_newest_queue(void)
{
	return atomic_load(&objects.newest);
}

/* The entry's object is the queue here, and a structure of ours for other handles: once the command
 * buffer is gone its address may be any object's, so the key is made one that no object has. */
static const void *command_buffer_key(cl_command_buffer_khr handle)
{
	return (const void *)((uintptr_t)handle | 1);
}

void opencl_command_buffer_made(cl_command_buffer_khr handle, cl_command_queue queue)
{
	struct entry *entry;

	if (!guest_lock(&objects.lock))
		return;
	entry = find_or_add(command_buffer_key(handle));
	if (entry)
		entry->object = queue;
	guest_unlock(&objects.lock);
}

cl_command_queue opencl_command_buffer_queue(cl_command_buffer_khr handle)
{
	struct entry *entry = handle ? find(command_buffer_key(handle)) : NULL;

	return entry ? entry->object : NULL;
}

void opencl_objects_reset(bool new_process)
{
	if (new_process)
		atomic_store(&objects.lock.taken, 0);
}

/* ---- programs and kernels ---------------------------------------------------------------------- */

/* Under the lock. */
static void await_binaries(struct guest_thread *thread, struct entry *entry)
{
	struct program *program = entry->program;

	if (!program) {
		program = pool_take(sizeof(*program));
		if (!program)
			return;
		entry->program = program;
	}
	program->code = entry->id;
	program->mode = thread->mode;
}

/* Under the lock. */
static uint32_t learn_program(struct guest_thread *thread, cl_program handle)
{
	struct entry *entry = find_or_add(handle);

	if (!entry)
		return 0;
	if (atomic_load(&entry->mode) != thread->mode) {
		make_known(thread, entry, opencl_new_code());
		await_binaries(thread, entry);
	}
	return entry->id;
}

/* Takes a program's turn: its code id where its binaries are still to be kept, else 0. */
static uint32_t take_program(const struct guest_thread *thread, struct program *program)
{
	bool due = program && program->mode == thread->mode;

	if (due)
		program->mode = 0;
	return due ? program->code : 0;
}

void opencl_program_released(struct guest_thread *thread, cl_program handle)
{
	struct entry *entry;
	uint32_t code;

	if (!guest_lock(&objects.lock))
		return;
	entry = find_known(thread, handle);
	code = take_program(thread, entry ? entry->program : NULL);
	guest_unlock(&objects.lock);
	if (code)
		opencl_keep_binaries(thread, handle, code);
}

uint32_t opencl_program(struct guest_thread *thread, cl_program handle)
{
	struct entry *entry = find_known(thread, handle);
	uint32_t id;

	if (entry)
		return entry->id;
	if (!guest_lock(&objects.lock))
		return 0;
	id = learn_program(thread, handle);
	guest_unlock(&objects.lock);
	return id;
}

/* Under the lock. *ret_program: a program first met here, to be described when the lock is free. */
static uint32_t learn_kernel(struct guest_thread *thread, cl_kernel handle, cl_program *ret_program)
{
	struct entry *entry = find_or_add(handle);
	struct record_code record = {.head = {.kind = EVENT_CODE, .detail = CODE_KERNEL}};
	char name[RECORD_TEXT_BYTES] = "";
	const char *texts[] = {name, ""};
	cl_program program = NULL;

	if (!entry || atomic_load(&entry->mode) == thread->mode)
		return entry ? entry->id : 0;
	if (next.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL) !=
	    CL_SUCCESS)
		return 0;
	next.clGetKernelInfo(handle, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	record.code = opencl_new_code();
	if (program && !find_known(thread, program))
		*ret_program = program;
	record.parent = program ? learn_program(thread, program) : 0;
	record.handle = (uintptr_t)handle;
	opencl_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), texts, 2);
	make_known(thread, entry, record.code);
	return record.code;
}

uint32_t opencl_kernel(struct guest_thread *thread, cl_kernel handle)
{
	struct entry *entry = find_known(thread, handle);
	cl_program program = NULL;
	uint32_t id;

	if (GUEST_LIKELY(entry != NULL))
		return entry->id;
	if (!handle || !guest_lock(&objects.lock))
		return 0;
	id = learn_kernel(thread, handle, &program);
	guest_unlock(&objects.lock);
	if (program)
		opencl_keep_program(thread, program, opencl_program(thread, program), CL_SUCCESS);
	return id;
}
