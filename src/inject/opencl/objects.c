/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/objects.c - resolve handles to devices, contexts, queues and kernels
 *
 * Runs in:  the profiled process; lookups on the hot path, the rest once per object
 * Gets:     OpenCL handles
 * Gives:    ids, and records that describe each object once per recorder
 * Owns:     the guest's data of each queue, device and program
 * Fails:    with id 0 if memory is refused or the runtime does not answer
 * Why:      objects are queried at their first use, not at their creation: unused objects cost
 *           nothing, the many functions that create objects need no hooks, and a recorder may
 *           attach after their creation. The runtime is never called with the guest's lock held: a
 *           callback of the program may wait for that lock while it holds one of the runtime's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inject/clock_reads.h"
#include "inject/opencl/handles.h"

/* Its binaries are queried once, after the launch of one of its kernels. */
struct opencl_program {
	uint32_t mode; /* attachment; 0: the binaries were queried */
};

struct opencl_device {
	cl_device_id handle;
	struct opencl_device *older; /* all devices ever seen, newest first */
	uint32_t id;
	_Atomic uint32_t mode;           /* attachment in which the device is described */
	const struct platform *platform; /* NULL: an unknown platform */
	/* host time of the next timer reading; UINT64_MAX: the device has no timer */
	_Atomic uint64_t next_read;
	_Atomic uint64_t interval; /* time between two readings */
};

static struct {
	_Atomic uint32_t last_context, last_device, last_queue, last_code;
	struct opencl_device *_Atomic newest_device;
	_Atomic bool any_forced;
} objects;

/* Properties of known platforms, by CL_PLATFORM_NAME. Other platforms have none of them, which is
 * safe.
 *
 * callbacks: CL_COMPLETE callbacks were tested. They come without a call of the program, so that
 * commands are complete in the trace even if the program ends by _exit or a signal. On other
 * platforms callbacks have hung, come late or crashed (reported for ROCm, Intel NEO), and the guest
 * polls.
 *
 * marks_graphs: the event of a command buffer belongs to a marker behind its commands.
 *
 * free_binaries: CL_PROGRAM_BINARIES only copies the result of the build. By their sources: NEO
 * (program/get_info.cpp packs the binary that it has), ROCclr (amdocl/cl_program.cpp copies
 * device::Program::binary()). PoCL is not among them: clGetProgramInfo.c calls build_poclbinary,
 * which compiles every kernel of the program. NVIDIA's source is closed. */
static const struct platform {
	const char *name;
	bool callbacks, marks_graphs, free_binaries;
} platforms[] = {
	{"Portable Computing Language", .callbacks = true, .marks_graphs = true},
	{"Intel(R) OpenCL Graphics", .free_binaries = true},
	{"Intel(R) OpenCL HD Graphics", .free_binaries = true},
	{"AMD Accelerated Parallel Processing", .free_binaries = true},
	{"Simulated OpenCL", .free_binaries = true},
};

uint32_t opencl_new_code(void)
{
	return atomic_fetch_add_explicit(&objects.last_code, 1, memory_order_relaxed) + 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void device_text(cl_device_id device, cl_uint what, char *text, size_t size)
{
	size_t got = 0;

	if (next.clGetDeviceInfo(device, what, size - 1, text, &got) != CL_SUCCESS ||
	    got > size - 1)
		got = 0;
	text[got] = '\0';
}

static bool ask_device(cl_device_id device, cl_uint what, void *value, size_t size)
{
	return next.clGetDeviceInfo(device, what, size, value, NULL) == CL_SUCCESS;
}

/* Reads the PCI address by the standard query or the vendors' older ones. */
static bool device_address(cl_device_id device, struct cl_pci_bus_info *pci)
{
	struct cl_topology_amd topology = {0};
	cl_uint slot = 0;

	if (ask_device(device, CL_DEVICE_PCI_BUS_INFO_KHR, pci, sizeof(*pci)))
		return true;
	*pci = (struct cl_pci_bus_info){0};
	if (ask_device(device, CL_DEVICE_PCI_BUS_ID_NV, &pci->bus, sizeof(pci->bus)) &&
	    ask_device(device, CL_DEVICE_PCI_SLOT_ID_NV, &slot, sizeof(slot))) {
		ask_device(device, CL_DEVICE_PCI_DOMAIN_ID_NV, &pci->domain, sizeof(pci->domain));
		pci->device = slot >> 3;
		pci->function = slot & 7;
		return true;
	}
	if (!ask_device(device, CL_DEVICE_TOPOLOGY_AMD, &topology, sizeof(topology)) ||
	    topology.type != CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
		return false;
	*pci = (struct cl_pci_bus_info){
		.bus = topology.bus, .device = topology.device, .function = topology.function};
	return true;
}

/* Number of devices with the same name that the platform lists before this one. */
static uint32_t namesakes_before(cl_device_id device, const char *name, cl_platform_id platform)
{
	enum { MAX_LISTED = 64 };
	const cl_ulong all_types = 0xffffffff;
	cl_device_id listed[MAX_LISTED];
	cl_uint count = 0;
	uint32_t before = 0;
	char other[512];

	if (!platform ||
	    next.clGetDeviceIDs(platform, all_types, MAX_LISTED, listed, &count) != CL_SUCCESS)
		return 0;
	for (cl_uint i = 0; i < count && i < MAX_LISTED; i++) {
		if (listed[i] == device)
			return before;
		device_text(listed[i], CL_DEVICE_NAME, other, sizeof(other));
		before += strcmp(other, name) == 0;
	}
	return 0; /* a part of a device is identified as the whole */
}

/* Makes the key: the UUID; without it the PCI address; otherwise the names. The platform's order
 * distinguishes devices whose names are equal, because it does not depend on which is used
 * first. */
static void device_key(cl_device_id device, const char *name, cl_platform_id platform,
		       const char *platform_name, char key[RECORD_TEXT_BYTES])
{
	struct cl_pci_bus_info pci;
	unsigned char uuid[16];
	uint32_t before;
	int at = 0;

	if (ask_device(device, CL_DEVICE_UUID_KHR, uuid, sizeof(uuid))) {
		for (int i = 0; i < 16; i++)
			at += snprintf(key + at, RECORD_TEXT_BYTES - (size_t)at,
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				       uuid[i]);
	} else if (device_address(device, &pci)) {
		snprintf(key, RECORD_TEXT_BYTES, "%04x:%02x:%02x.%x", pci.domain, pci.bus,
			 pci.device, pci.function);
	} else {
		at = snprintf(key, RECORD_TEXT_BYTES, "opencl:%.1000s:%.1000s", platform_name,
			      name);
		before = namesakes_before(device, name, platform);
		if (before)
			snprintf(key + at, RECORD_TEXT_BYTES - (size_t)at, "#%u", before + 1);
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

static const struct platform *known_platform(cl_platform_id platform)
{
	char name[256] = "";

	if (next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL) !=
	    CL_SUCCESS)
		return NULL;
	for (size_t i = 0; i < sizeof(platforms) / sizeof(platforms[0]); i++)
		if (strcmp(name, platforms[i].name) == 0)
			return &platforms[i];
	return NULL;
}

/* "OpenCL 2.1 …" */
static bool is_at_least_2_1(const char *version)
{
	unsigned int major = 0, minor = 0;

	return sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 &&
	       (major > 2 || (major == 2 && minor >= 1));
}

/* Properties of a device from the runtime. Queried without a lock, because a callback of the
 * program under one of the driver's locks may wait for ours. */
struct device_facts {
	uint32_t type;
	cl_uint compute_units;
	cl_ulong memory_bytes, local_bytes; /* local_bytes: 0 if unknown */
	const struct platform *known;
	bool has_timer;
	char key[RECORD_TEXT_BYTES], name[512], vendor[512], driver[512], platform[512];
};

static void ask_about_device(cl_device_id handle, struct device_facts *facts)
{
	cl_platform_id platform = NULL;
	size_t got = 0;

	facts->type = device_type(handle);
	facts->compute_units = 0;
	facts->memory_bytes = facts->local_bytes = 0;
	facts->known = NULL;
	facts->has_timer = false;
	ask_device(handle, CL_DEVICE_PLATFORM, &platform, sizeof(platform));
	if (platform) {
		if (next.clGetPlatformInfo(platform, CL_PLATFORM_VERSION,
					   sizeof(facts->platform) - 1, facts->platform,
					   &got) != CL_SUCCESS)
			got = 0;
		facts->known = known_platform(platform);
	}
	facts->platform[got < sizeof(facts->platform) ? got : 0] = '\0';
	/* The function table of an older driver ends before the timer, and the loader would call
	 * beyond it. */
	facts->has_timer = is_at_least_2_1(facts->platform);
	device_text(handle, CL_DEVICE_NAME, facts->name, sizeof(facts->name));
	device_text(handle, CL_DEVICE_VENDOR, facts->vendor, sizeof(facts->vendor));
	device_text(handle, CL_DRIVER_VERSION, facts->driver, sizeof(facts->driver));
	device_key(handle, facts->name, platform, facts->platform, facts->key);
	ask_device(handle, CL_DEVICE_MAX_COMPUTE_UNITS, &facts->compute_units, sizeof(cl_uint));
	ask_device(handle, CL_DEVICE_GLOBAL_MEM_SIZE, &facts->memory_bytes, sizeof(cl_ulong));
	ask_device(handle, CL_DEVICE_LOCAL_MEM_SIZE, &facts->local_bytes, sizeof(cl_ulong));
}

static bool describe_device(struct guest_thread *thread, const struct opencl_device *device,
			    const struct device_facts *facts)
{
	const char *texts[] = {facts->key, facts->name, facts->vendor, facts->driver,
			       facts->platform};
	const struct guest_tail tail = {texts, 5, sizeof(facts->local_bytes), &facts->local_bytes};
	struct record_device record = {
		.head = {.kind = EVENT_DEVICE, .detail = facts->type | RECORD_DEVICE_LOCAL},
		.device = device->id,
		.compute_units = facts->compute_units,
		.memory_bytes = facts->memory_bytes,
		.frequency_hz = 1000000000,
	};

	return guest_put_with_texts(thread, &record.head, offsetof(struct record_device, texts),
				    &tail);
}

/* The caller holds the lock. */
static struct opencl_device *device_structure(struct handle *entry, cl_device_id handle)
{
	struct opencl_device *device = entry->device;

	if (device)
		return device;
	device = handle_memory(sizeof(*device));
	if (!device)
		return NULL;
	device->handle = handle;
	device->older = atomic_load(&objects.newest_device);
	atomic_store(&objects.newest_device, device);
	entry->device = device;
	return device;
}

/* The caller holds the lock. */
static struct opencl_device *enter_device(struct guest_thread *thread, cl_device_id handle,
					  const struct device_facts *facts)
{
	struct handle *entry = handle_add(handle);
	struct opencl_device *device = entry ? device_structure(entry, handle) : NULL;

	if (!device || handle_is_known(thread, entry))
		return device;
	device->id = handle_give_id(thread, entry, &objects.last_device);
	device->platform = facts->known;
	device->next_read = facts->has_timer ? 0 : UINT64_MAX;
	device->interval = 1 << 22;
	if (describe_device(thread, device, facts)) {
		handle_make_known(thread, entry);
		atomic_store(&device->mode, thread->mode);
	}
	return device;
}

static struct opencl_device *learn_device(struct guest_thread *thread, cl_device_id handle)
{
	struct handle *entry = handle_find_known(thread, handle);
	struct device_facts facts;
	struct opencl_device *device;

	if (entry)
		return entry->device;
	if (!handle || !opencl_may_ask(thread))
		return NULL;
	ask_about_device(handle, &facts);
	if (!handles_lock())
		return NULL;
	device = enter_device(thread, handle, &facts);
	handles_unlock();
	return device;
}

uint32_t opencl_device(struct guest_thread *thread, cl_device_id handle)
{
	int saved = errno;
	struct opencl_device *device = learn_device(thread, handle);

	errno = saved;
	return device ? device->id : 0;
}

static __attribute__((noinline)) void read_timer(struct guest_thread *thread,
						 struct opencl_device *device, uint64_t now)
{
	uint64_t interval = atomic_load_explicit(&device->interval, memory_order_relaxed);
	cl_ulong device_time = 0, host_time = 0;
	uint64_t before, after;

	if (atomic_load(&device->mode) != thread->mode || guest_exit_has_begun())
		return;
	atomic_store_explicit(&device->next_read, now + interval, memory_order_relaxed);
	if (interval < clock_reads_longest(thread))
		atomic_store_explicit(&device->interval, 2 * interval, memory_order_relaxed);
	before = guest_now(thread);
	if (!next.clGetDeviceAndHostTimer ||
	    next.clGetDeviceAndHostTimer(device->handle, &device_time, &host_time) != CL_SUCCESS) {
		/* the device will never support it */
		atomic_store_explicit(&device->next_read, UINT64_MAX, memory_order_relaxed);
		return;
	}
	after = guest_now(thread);
	clock_reads_put(thread, device->id, device_time, before, after);
}

static bool timer_is_due(const struct opencl_device *device, uint64_t now)
{
	return now >= atomic_load_explicit(&device->next_read, memory_order_relaxed);
}

void opencl_read_device_timer(struct guest_thread *thread, const struct opencl_queue *queue,
			      uint64_t now)
{
	if (GUEST_UNLIKELY(queue->device && timer_is_due(queue->device, now)))
		read_timer(thread, queue->device, now);
}

void opencl_read_device_timers(struct guest_thread *thread, uint64_t now)
{
	for (struct opencl_device *device = atomic_load(&objects.newest_device); device;
	     device = device->older) {
		if (timer_is_due(device, now))
			read_timer(thread, device, now);
	}
}

/* ---- contexts and queues --------------------------------------------------------------------- */

/* The caller holds the lock. ret_known: the description was written. */
static uint32_t enter_context(struct guest_thread *thread, cl_context handle, bool *ret_known)
{
	struct handle *entry = handle_add(handle);
	struct record_context *record;

	*ret_known = true;
	if (!entry)
		return 0;
	if (handle_is_known(thread, entry))
		return entry->id;
	handle_give_id(thread, entry, &objects.last_context);
	record = guest_reserve(thread, EVENT_CONTEXT, sizeof(*record), 0);
	*ret_known = record != NULL;
	if (record) {
		record->handle = (uintptr_t)handle;
		record->context = entry->id;
		record->reserved = 0;
		ring_commit(&thread->writer);
		handle_make_known(thread, entry);
	}
	return entry->id;
}

static bool describe_queue(struct guest_thread *thread, const struct opencl_queue *queue,
			   uint32_t context)
{
	struct record_queue *record =
		guest_reserve(thread, EVENT_QUEUE, sizeof(*record), queue->flags);

	if (!record)
		return false;
	record->handle = (uintptr_t)queue->handle;
	record->queue = queue->id;
	record->context = context;
	record->device = queue->device ? queue->device->id : 0;
	record->reserved = 0;
	ring_commit(&thread->writer);
	return true;
}

/* The caller holds the lock. Returns the structure of a handle, new or from an earlier queue at
 * this address. */
static struct opencl_queue *queue_structure(struct handle *entry, cl_command_queue handle)
{
	struct opencl_queue *queue = entry->queue;

	if (queue)
		return queue;
	queue = handle_memory(sizeof(*queue));
	if (!queue)
		return NULL;
	queue->handle = handle;
	queue->first = queue->last = NO_COMMAND;
	entry->queue = queue;
	return queue;
}

/* Properties of a queue from the runtime, queried without a lock. */
struct queue_facts {
	cl_context context;
	struct opencl_device *device;
	cl_ulong properties;
};

/* The caller holds the lock. */
static struct opencl_queue *enter_queue(struct guest_thread *thread, cl_command_queue handle,
					const struct queue_facts *facts)
{
	struct handle *entry = handle_add(handle);
	struct opencl_queue *queue = entry ? queue_structure(entry, handle) : NULL;
	bool context_known, device_known;
	uint32_t context, flags;

	if (!queue || handle_is_known(thread, entry))
		return queue;
	context = enter_context(thread, facts->context, &context_known);
	device_known = facts->device && atomic_load(&facts->device->mode) == thread->mode;
	flags = queue->flags & QUEUE_TIMING_FORCED;
	if (facts->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		flags |= QUEUE_OUT_OF_ORDER;
	if ((facts->properties & CL_QUEUE_PROFILING_ENABLE) &&
	    (thread->options & RING_OPTION_DEVICE_TIME))
		flags |= QUEUE_TIMED;
	queue->flags = flags;
	queue->callbacks =
		facts->device && facts->device->platform && facts->device->platform->callbacks;
	queue->free_binaries =
		facts->device && facts->device->platform && facts->device->platform->free_binaries;
	queue->marks_graphs =
		facts->device && facts->device->platform && facts->device->platform->marks_graphs;
	queue->device = facts->device;
	queue->id = handle_give_id(thread, entry, &objects.last_queue);
	if (describe_queue(thread, queue, context) && context_known && device_known)
		handle_make_known(thread, entry);
	return queue;
}

static struct opencl_queue *learn_queue(struct guest_thread *thread, cl_command_queue handle)
{
	struct queue_facts facts = {0};
	struct opencl_queue *queue;
	cl_device_id device = NULL;

	if (next.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(facts.context),
				       &facts.context, NULL) != CL_SUCCESS)
		return NULL; /* not a queue: the runtime will refuse the call */
	next.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	next.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(facts.properties),
				   &facts.properties, NULL);
	facts.device = learn_device(thread, device);
	if (!handles_lock())
		return NULL;
	queue = enter_queue(thread, handle, &facts);
	handles_unlock();
	guest_hook_exit();
	return queue;
}

struct opencl_queue *opencl_meet_queue(struct guest_thread *thread, cl_command_queue handle)
{
	struct opencl_queue *queue;
	uint64_t begin;
	int saved;

	if (!handle || !opencl_may_ask(thread))
		return NULL;
	saved = errno;
	begin = guest_section_begin(thread);
	queue = learn_queue(thread, handle);
	guest_section_end(thread, GUEST_SECTION_OBJECT, begin);
	errno = saved;
	return queue;
}

void opencl_queue_made(cl_command_queue handle, bool forced, const cl_ulong *asked,
		       uint32_t asked_count, bool as_array)
{
	struct opencl_queue *queue = NULL;
	struct handle *entry;

	opencl_forget(handle);
	if (!handles_lock())
		return;
	entry = handle_add(handle);
	if (entry)
		queue = queue_structure(entry, handle);
	if (queue) {
		queue->flags = forced ? QUEUE_TIMING_FORCED : 0;
		queue->asked_as_array = as_array;
		queue->asked_count = asked_count < MAX_QUEUE_PROPERTIES ? asked_count : 0;
		for (uint32_t i = 0; i < queue->asked_count; i++)
			queue->asked[i] = asked[i];
		if (forced)
			atomic_store(&objects.any_forced, true);
	}
	handles_unlock();
}

bool opencl_any_forced(void)
{
	return atomic_load_explicit(&objects.any_forced, memory_order_relaxed);
}

struct opencl_queue *opencl_forced_queue(cl_command_queue handle)
{
	struct opencl_queue *queue;
	struct handle *entry;

	if (!atomic_load_explicit(&objects.any_forced, memory_order_relaxed))
		return NULL;
	entry = handle_find(handle);
	queue = entry ? entry->queue : NULL;
	return queue && (queue->flags & QUEUE_TIMING_FORCED) ? queue : NULL;
}

/* Key of a command buffer's entry. It differs from the address, because another object may get the
 * address later. */
static const void *command_buffer_key(cl_command_buffer_khr handle)
{
	return (const void *)((uintptr_t)handle | 1);
}

void opencl_command_buffer_made(cl_command_buffer_khr handle, cl_command_queue queue)
{
	struct handle *entry;

	if (!handles_lock())
		return;
	entry = handle_add(command_buffer_key(handle));
	if (entry)
		entry->made_for = queue;
	handles_unlock();
}

cl_command_queue opencl_command_buffer_queue(cl_command_buffer_khr handle)
{
	struct handle *entry = handle ? handle_find(command_buffer_key(handle)) : NULL;

	return entry ? entry->made_for : NULL;
}

void opencl_objects_forked(void)
{
	handles_forked();
}

/* ---- programs and kernels -------------------------------------------------------------------- */

/* The caller holds the lock. */
static void await_binaries(struct guest_thread *thread, struct handle *entry)
{
	struct opencl_program *program = entry->program;

	if (!program) {
		program = handle_memory(sizeof(*program));
		if (!program)
			return;
		entry->program = program;
	}
	program->mode = thread->mode;
}

/* The caller holds the lock. */
static uint32_t enter_program(struct guest_thread *thread, cl_program handle)
{
	struct handle *entry = handle_add(handle);

	if (!entry)
		return 0;
	if (!handle_is_known(thread, entry)) {
		handle_give_id(thread, entry, &objects.last_code);
		await_binaries(thread, entry);
		handle_make_known(thread, entry);
	}
	return entry->id;
}

/* True once per program and recorder. */
static bool program_claim_binaries(struct guest_thread *thread, cl_program handle)
{
	struct handle *entry;
	struct opencl_program *program;
	bool is_due;

	if (!handles_lock())
		return false;
	entry = handle_find_known(thread, handle);
	program = entry ? entry->program : NULL;
	is_due = program && program->mode == thread->mode;
	if (is_due)
		program->mode = 0;
	handles_unlock();
	return is_due;
}

uint32_t opencl_program(struct guest_thread *thread, cl_program handle)
{
	struct handle *entry = handle_find_known(thread, handle);
	uint32_t id;

	if (entry)
		return entry->id;
	if (!handle || !guest_is_current(thread) || !handles_lock())
		return 0;
	id = enter_program(thread, handle);
	handles_unlock();
	return id;
}

/* Hash of the properties by which a kernel created again at the same address is the same; never
 * 0. */
static uint32_t sign(const char *name, uint32_t program)
{
	uint32_t hash = 2166136261u ^ program;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash | 1;
}

/* Properties of a kernel from its program and the runtime; the runtime is queried without a
 * lock. */
struct kernel_facts {
	const char *name;
	uint32_t program;
	const struct opencl_device *device; /* device of the launch; NULL: unknown */
	struct record_needs needs;
};

static bool ask_kernel(cl_kernel kernel, cl_device_id device, cl_uint what, void *value,
		       size_t size)
{
	return next.clGetKernelWorkGroupInfo(kernel, device, what, size, value, NULL) == CL_SUCCESS;
}

static void ask_for_needs(cl_kernel handle, struct kernel_facts *facts)
{
	struct record_needs *needs = &facts->needs;
	cl_ulong local_bytes = CODE_UNKNOWN, private_bytes = CODE_UNKNOWN;
	size_t most = 0, multiple = 0;

	*needs = (struct record_needs){.local_bytes = CODE_UNKNOWN, .private_bytes = CODE_UNKNOWN};
	if (!facts->device)
		return;
	if (ask_kernel(handle, facts->device->handle, CL_KERNEL_WORK_GROUP_SIZE, &most,
		       sizeof(most)))
		needs->group_most = most;
	if (ask_kernel(handle, facts->device->handle, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
		       &multiple, sizeof(multiple)))
		needs->group_multiple = multiple;
	if (ask_kernel(handle, facts->device->handle, CL_KERNEL_LOCAL_MEM_SIZE, &local_bytes,
		       sizeof(local_bytes)))
		needs->local_bytes = local_bytes;
	if (ask_kernel(handle, facts->device->handle, CL_KERNEL_PRIVATE_MEM_SIZE, &private_bytes,
		       sizeof(private_bytes)))
		needs->private_bytes = private_bytes;
}

/* The caller holds the lock. True if the same kernel, created again with the same handle, is
 * already described. */
static bool is_described(const struct guest_thread *thread, const struct handle *entry,
			 uint32_t signature)
{
	return entry && entry->id_mode == thread->mode && entry->signature == signature;
}

/* The caller holds the lock. Without this, a program that creates its kernels again in each
 * iteration would describe a million of them within minutes. */
static uint32_t enter_kernel(struct guest_thread *thread, cl_kernel handle,
			     const struct kernel_facts *facts)
{
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_KERNEL | RECORD_CODE_NEEDS},
		.handle = (uintptr_t)handle,
		.parent = facts->program,
		.device = facts->device ? facts->device->id : 0,
	};
	const char *texts[] = {facts->name, ""};
	const struct guest_tail tail = {texts, 2, sizeof(facts->needs), &facts->needs};
	struct handle *entry = handle_add(handle);
	uint32_t signature = sign(facts->name, facts->program);

	if (!entry)
		return 0;
	if (handle_is_known(thread, entry))
		return entry->id;
	if (!is_described(thread, entry, signature)) {
		record.code = handle_give_id(thread, entry, &objects.last_code);
		if (!guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts),
					  &tail))
			return entry->id;
		entry->signature = signature;
	}
	handle_make_known(thread, entry);
	return entry->id;
}

/* Returns 0 if there is no room. */
static uint32_t meet_kernel(struct guest_thread *thread, cl_kernel handle,
			    struct kernel_facts *facts)
{
	bool described;
	uint32_t id;

	if (!handles_lock())
		return 0;
	described = is_described(thread, handle_find(handle), sign(facts->name, facts->program));
	handles_unlock();
	if (!described)
		ask_for_needs(handle, facts);
	if (!handles_lock())
		return 0;
	id = enter_kernel(thread, handle, facts);
	handles_unlock();
	return id;
}

static uint32_t learn_kernel(struct guest_thread *thread, cl_kernel handle,
			     const struct opencl_queue *queue)
{
	char name[RECORD_TEXT_BYTES] = "";
	struct kernel_facts facts = {.name = name, .device = queue ? queue->device : NULL};
	cl_program program = NULL;
	uint32_t id;
	bool first_met;

	if (next.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL) !=
	    CL_SUCCESS)
		return 0;
	next.clGetKernelInfo(handle, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	first_met = program && !handle_find_known(thread, program);
	facts.program = opencl_program(thread, program);
	id = meet_kernel(thread, handle, &facts);
	if (first_met && facts.program)
		opencl_keep_program(thread, program, facts.program, CL_SUCCESS);
	if (facts.program && queue && queue->free_binaries &&
	    program_claim_binaries(thread, program))
		opencl_keep_binaries(thread, program, facts.program);
	return id;
}

uint32_t opencl_kernel(struct guest_thread *thread, cl_kernel handle,
		       const struct opencl_queue *queue)
{
	struct handle *entry = handle_find_known(thread, handle);
	uint64_t begin;
	uint32_t id;
	int saved;

	if (GUEST_LIKELY(entry != NULL))
		return entry->id;
	if (!handle || !opencl_may_ask(thread))
		return 0;
	saved = errno;
	begin = guest_section_begin(thread);
	id = learn_kernel(thread, handle, queue);
	guest_section_end(thread, GUEST_SECTION_OBJECT, begin);
	errno = saved;
	return id;
}
