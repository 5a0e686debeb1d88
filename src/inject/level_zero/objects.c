/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/objects.c - devices, contexts, queues and lists: properties, ids, and clocks
 *
 * Runs in:  the profiled process, when objects are created, and at their first use while recording
 * Gets:     handles
 * Gives:    structures, ids, and records that describe each object once per recorder
 * Owns:     the ids
 * Fails:    with id 0 if memory is refused or the driver does not answer
 * Why:      an object is described at its first use while recorded, so that unused objects cost
 *           nothing and a recorder may attach later than the object was created. The driver is
 *           never called with the guest's lock held. A command's timestamp has 32 bits on many
 *           devices and wraps after four minutes: a reading of the device's clock next to the
 *           host's resolves the wrap.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inject/clock_reads.h"
#include "inject/level_zero/objects.h"

enum { MAX_MEMORIES = 8, INTEL = 0x8086 };

static struct {
	struct guest_lock lock;
	_Atomic uint32_t last_context, last_device, last_queue;
	struct level_zero_device *_Atomic newest_device;
	_Atomic uint64_t last_contents;
} objects;

void level_zero_objects_forked(void)
{
	atomic_store(&objects.lock.taken, 0);
	for (struct level_zero_device *device = atomic_load(&objects.newest_device); device;
	     device = device->older)
		atomic_store(&device->lock.taken, 0);
}

bool level_zero_lock_objects(void)
{
	if (guest_lock(&objects.lock))
		return true;
	guest_trouble(RING_TROUBLE_OBJECTS);
	return false;
}

void level_zero_unlock_objects(void)
{
	guest_unlock(&objects.lock);
}

uint64_t level_zero_new_contents(void)
{
	return atomic_fetch_add_explicit(&objects.last_contents, 1, memory_order_relaxed) + 1;
}

/* ---- creation of objects --------------------------------------------------------------------- */

void level_zero_context_made(ze_handle handle, ze_handle driver)
{
	struct level_zero_context *context = level_zero_add(handle, LEVEL_ZERO_CONTEXT);

	if (context)
		context->driver = driver;
}

static ze_handle first_driver(uint32_t *ret_count)
{
	uint32_t count = 1;
	ze_handle driver = NULL;

	*ret_count = 0;
	/* zeDriverGet sets the number of drivers if it is called with 0, and may leave it at 1 if
	 * called with 1. */
	if (!next.zeDriverGet || next.zeDriverGet(ret_count, NULL) != ZE_SUCCESS || !*ret_count ||
	    next.zeDriverGet(&count, &driver) != ZE_SUCCESS)
		return NULL;
	return driver;
}

void level_zero_context_met(ze_handle handle, ze_handle driver)
{
	struct level_zero_context *context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
	uint32_t count;

	if (!handle || context)
		return;
	if (!driver)
		driver = first_driver(&count);
	if (level_zero_lock_objects()) {
		context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
		if (!context)
			level_zero_context_made(handle, driver);
		guest_unlock(&objects.lock);
	}
}

/* Finds the context, or registers one whose creation the guest did not see. If there are several
 * drivers, the driver of that context is unknown. */
static struct level_zero_context *meet_context(ze_handle handle)
{
	struct level_zero_context *context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
	ze_handle driver;
	uint32_t count;

	if (context || !handle)
		return context;
	driver = first_driver(&count);
	if (level_zero_lock_objects()) {
		context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
		if (!context) {
			level_zero_context_made(handle, count == 1 ? driver : NULL);
			context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
		}
		guest_unlock(&objects.lock);
	}
	return context;
}

/* The caller holds the lock. */
static struct level_zero_device *add_device(ze_handle handle)
{
	struct level_zero_device *device = level_zero_find(handle, LEVEL_ZERO_DEVICE);

	if (device)
		return device;
	device = level_zero_add(handle, LEVEL_ZERO_DEVICE);
	if (!device)
		return NULL;
	device->older = atomic_load(&objects.newest_device);
	atomic_store(&objects.newest_device, device);
	return device;
}

struct level_zero_device *level_zero_device(ze_handle handle)
{
	struct level_zero_device *device = level_zero_find(handle, LEVEL_ZERO_DEVICE);

	if (device || !handle || !level_zero_lock_objects())
		return device;
	device = add_device(handle);
	guest_unlock(&objects.lock);
	return device;
}

static void fill_queue(struct level_zero_queue *queue, ze_handle context, ze_handle device,
		       const struct ze_queue_desc *desc)
{
	queue->context = meet_context(context);
	queue->device = level_zero_device(device);
	queue->ordinal = desc ? desc->ordinal : 0;
	queue->index = desc ? desc->index : 0;
	queue->is_synchronous = desc && desc->mode == ZE_QUEUE_MODE_SYNCHRONOUS;
	queue->flags = desc && (desc->flags & ZE_QUEUE_IN_ORDER) ? 0 : QUEUE_OUT_OF_ORDER;
	queue->first = queue->last = NO_COMMAND;
}

void level_zero_queue_made(ze_handle handle, ze_handle context, ze_handle device,
			   const struct ze_queue_desc *desc)
{
	struct level_zero_queue *queue = level_zero_add(handle, LEVEL_ZERO_QUEUE);

	if (queue)
		fill_queue(queue, context, device, desc);
}

/* The queue of an immediate list has no handle of its own. It gets the list's handle with bit 0
 * set; real handles are even. */
static ze_handle handle_of_queue(ze_handle list)
{
	return (ze_handle)((uintptr_t)list | 1);
}

/* desc: description of an immediate list; NULL: a regular list. */
void level_zero_list_made(ze_handle handle, ze_handle context, ze_handle device,
			  const struct ze_queue_desc *desc)
{
	struct level_zero_list *list = level_zero_add(handle, LEVEL_ZERO_LIST);

	if (!list)
		return;
	list->context = meet_context(context);
	list->device = level_zero_device(device);
	list->contents = level_zero_new_contents();
	if (!desc)
		return;
	list->queue = level_zero_add(handle_of_queue(handle), LEVEL_ZERO_QUEUE);
	if (list->queue)
		fill_queue(list->queue, context, device, desc);
}

/* A clone has the commands of another list and signals the same events. Their timestamps cannot be
 * attributed, so its commands count as unseen. */
void level_zero_clone_made(ze_handle handle, ze_handle from)
{
	const struct level_zero_list *known = level_zero_find(from, LEVEL_ZERO_LIST);
	struct level_zero_list *list = level_zero_add(handle, LEVEL_ZERO_LIST);

	if (!list || !known)
		return;
	list->context = known->context;
	list->device = known->device;
	list->contents = level_zero_new_contents();
	list->has_unseen = true;
}

void level_zero_module_made(ze_handle handle, ze_handle context, ze_handle device)
{
	struct level_zero_module *module = level_zero_add(handle, LEVEL_ZERO_MODULE);

	if (!module)
		return;
	module->context = meet_context(context);
	module->device = level_zero_device(device);
}

void level_zero_kernel_made(ze_handle handle, ze_handle module)
{
	struct level_zero_kernel *kernel = level_zero_add(handle, LEVEL_ZERO_KERNEL);

	if (kernel)
		kernel->module = level_zero_find(module, LEVEL_ZERO_MODULE);
}

struct level_zero_queue *level_zero_queue(ze_handle handle)
{
	struct level_zero_queue *queue = level_zero_find(handle, LEVEL_ZERO_QUEUE);
	const struct level_zero_list *list;

	if (queue)
		return queue;
	list = level_zero_find(handle, LEVEL_ZERO_LIST);
	return list ? list->queue : NULL;
}

/* ---- the device's clock ---------------------------------------------------------------------- */

static uint64_t host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t mask_of(uint32_t bits)
{
	return bits && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/* Under the device's lock. Returns the current time of the device's clock, extrapolated to 64
 * bits. */
static uint64_t expected_time(const struct level_zero_device *device, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns > device->last_ns ? now_ns - device->last_ns : 0;

	return device->last_time +
	       (uint64_t)((unsigned __int128)passed_ns * device->ticks_hz / 1000000000u);
}

/* Returns the time with these low bits that is nearest to `to`. */
static uint64_t nearest(uint64_t low, uint32_t bits, uint64_t to)
{
	uint64_t mask = mask_of(bits), ahead = (low - to) & mask;

	if (mask == UINT64_MAX)
		return low;
	return ahead <= mask / 2 ? to + ahead : to - (mask + 1 - ahead);
}

/* Extends a timestamp to 64 bits. Its command has ended, so the result is the last time with these
 * bits that is not in the future, with an eighth of the range as tolerance. */
uint64_t level_zero_extend(struct level_zero_device *device, uint64_t stamp)
{
	uint64_t mask = mask_of(device->stamp_bits), latest;

	stamp &= mask;
	if (mask == UINT64_MAX || !device->has_clock || !guest_lock(&device->lock))
		return stamp;
	latest = expected_time(device, host_ns()) + mask / 8;
	guest_unlock(&device->lock);
	return latest - ((latest - stamp) & mask);
}

/* thread NULL: no record is written. */
static void read_clock(struct guest_thread *thread, struct level_zero_device *device)
{
	uint64_t host = 0, time = 0, before = 0, after = 0, now_ns;

	if (!next.zeDeviceGetGlobalTimestamps)
		return;
	if (thread)
		before = guest_now(thread);
	if (next.zeDeviceGetGlobalTimestamps(device->object.handle, &host, &time) != ZE_SUCCESS)
		return;
	if (thread)
		after = guest_now(thread);
	now_ns = host_ns();
	if (!guest_lock(&device->lock))
		return;
	time &= mask_of(device->clock_bits);
	if (device->has_clock)
		time = nearest(time, device->clock_bits, expected_time(device, now_ns));
	device->last_time = time;
	device->last_ns = now_ns;
	device->has_clock = true;
	guest_unlock(&device->lock);
	if (thread)
		clock_reads_put(thread, device->object.id, time, before, after);
}

static void read_clock_when_due(struct guest_thread *thread, struct level_zero_device *device,
				uint64_t now)
{
	uint64_t interval = atomic_load_explicit(&device->interval, memory_order_relaxed);

	if (now < atomic_load_explicit(&device->next_read, memory_order_relaxed) ||
	    !level_zero_is_described(thread, &device->object))
		return;
	atomic_store_explicit(&device->next_read, now + interval, memory_order_relaxed);
	if (interval < clock_reads_longest(thread))
		atomic_store_explicit(&device->interval, 2 * interval, memory_order_relaxed);
	read_clock(thread, device);
}

void level_zero_read_clocks(struct guest_thread *thread, uint64_t now)
{
	for (struct level_zero_device *device = atomic_load(&objects.newest_device); device;
	     device = device->older)
		read_clock_when_due(thread, device, now);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Properties of a device from the driver, queried without a lock. */
struct device_facts {
	uint32_t type, compute_units, stamp_bits, clock_bits;
	uint64_t memory_bytes, local_bytes, ticks_hz;
	uint32_t groups_count;
	struct level_zero_group groups[MAX_LEVEL_ZERO_GROUPS];
	char key[64], name[256], vendor[32], driver[32];
};

/* Returns ticks per second. Older drivers report nanoseconds per tick; such values are smaller than
 * any timer's frequency. */
static uint64_t ticks_of(uint64_t resolution)
{
	enum { NO_FREQUENCY = 100000 };

	if (!resolution)
		return 1000000000;
	return resolution < NO_FREQUENCY ? 1000000000 / resolution : resolution;
}

static void format_key(ze_handle device, const struct ze_device_properties *properties, char *key,
		       size_t size)
{
	struct ze_pci_properties pci = {.type = ZE_TYPE_PCI_EXT_PROPERTIES};
	int at = 0;

	/* The PCI address, which the kernel drivers use too, so that both describe the same device.
	 */
	if (next.zeDevicePciGetPropertiesExt &&
	    next.zeDevicePciGetPropertiesExt(device, &pci) == ZE_SUCCESS) {
		at = snprintf(key, size, "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.device,
			      pci.function);
		if (properties->flags & ZE_DEVICE_IS_SUBDEVICE)
			snprintf(key + at, size - (size_t)at, "/%u", properties->subdevice_id);
		return;
	}
	for (int i = 0; i < 16; i++)
		at += snprintf(key + at, size - (size_t)at,
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
			       properties->uuid[i]);
}

static uint64_t ask_memory(ze_handle device)
{
	struct ze_memory_properties memories[MAX_MEMORIES];
	uint32_t count = MAX_MEMORIES;
	uint64_t bytes = 0;

	memset(memories, 0, sizeof(memories));
	for (int i = 0; i < MAX_MEMORIES; i++)
		memories[i].type = ZE_TYPE_DEVICE_MEMORY_PROPERTIES;
	if (!next.zeDeviceGetMemoryProperties ||
	    next.zeDeviceGetMemoryProperties(device, &count, memories) != ZE_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < count && i < MAX_MEMORIES; i++)
		bytes += memories[i].total_bytes;
	return bytes;
}

static void ask_groups(ze_handle device, struct device_facts *facts)
{
	struct ze_queue_group groups[MAX_LEVEL_ZERO_GROUPS];
	uint32_t count = MAX_LEVEL_ZERO_GROUPS;

	memset(groups, 0, sizeof(groups));
	for (int i = 0; i < MAX_LEVEL_ZERO_GROUPS; i++)
		groups[i].type = ZE_TYPE_QUEUE_GROUP_PROPERTIES;
	if (!next.zeDeviceGetCommandQueueGroupProperties ||
	    next.zeDeviceGetCommandQueueGroupProperties(device, &count, groups) != ZE_SUCCESS)
		return;
	facts->groups_count = count < MAX_LEVEL_ZERO_GROUPS ? count : MAX_LEVEL_ZERO_GROUPS;
	for (uint32_t i = 0; i < facts->groups_count; i++)
		facts->groups[i] = (struct level_zero_group){
			groups[i].engines, groups[i].flags & ZE_QUEUE_GROUP_COMPUTE};
}

static void ask_driver(ze_handle driver, char *text, size_t size)
{
	struct ze_driver_properties properties = {.type = ZE_TYPE_DRIVER_PROPERTIES};

	text[0] = '\0';
	if (driver && next.zeDriverGetProperties &&
	    next.zeDriverGetProperties(driver, &properties) == ZE_SUCCESS)
		snprintf(text, size, "%u.%u.%u", properties.version >> 24,
			 properties.version >> 16 & 0xff, properties.version & 0xffff);
}

static bool ask_properties(ze_handle device, struct ze_device_properties *properties)
{
	static const uint32_t types[] = {ZE_TYPE_DEVICE_PROPERTIES_1_2, ZE_TYPE_DEVICE_PROPERTIES};

	for (int i = 0; next.zeDeviceGetProperties && i < 2; i++) {
		*properties = (struct ze_device_properties){.type = types[i]};
		if (next.zeDeviceGetProperties(device, properties) == ZE_SUCCESS)
			return true;
	}
	return false;
}

static bool ask_about_device(ze_handle device, ze_handle driver, struct device_facts *facts)
{
	struct ze_compute_properties compute = {.type = ZE_TYPE_DEVICE_COMPUTE_PROPERTIES};
	struct ze_device_properties properties;

	if (!ask_properties(device, &properties))
		return false;
	facts->type = properties.device_type == ZE_DEVICE_GPU   ? DEVICE_GPU
		      : properties.device_type == ZE_DEVICE_CPU ? DEVICE_CPU
								: DEVICE_ACCELERATOR;
	facts->compute_units =
		properties.slices * properties.subslices_per_slice * properties.eus_per_subslice;
	facts->stamp_bits = properties.kernel_timestamp_bits;
	facts->clock_bits = properties.timestamp_bits;
	facts->ticks_hz = ticks_of(properties.timer_resolution);
	facts->memory_bytes = ask_memory(device);
	ask_groups(device, facts);
	facts->local_bytes =
		next.zeDeviceGetComputeProperties &&
				next.zeDeviceGetComputeProperties(device, &compute) == ZE_SUCCESS
			? compute.shared_local_bytes
			: 0;
	format_key(device, &properties, facts->key, sizeof(facts->key));
	properties.name[sizeof(properties.name) - 1] = '\0';
	memcpy(facts->name, properties.name, sizeof(facts->name));
	if (properties.vendor_id == INTEL)
		snprintf(facts->vendor, sizeof(facts->vendor), "Intel(R) Corporation");
	else
		snprintf(facts->vendor, sizeof(facts->vendor), "%#06x", properties.vendor_id);
	ask_driver(driver, facts->driver, sizeof(facts->driver));
	return true;
}

/* The caller holds the lock. */
static void describe_device(struct guest_thread *thread, struct level_zero_device *device,
			    const struct device_facts *facts)
{
	const char *texts[] = {facts->key, facts->name, facts->vendor, facts->driver, "Level Zero"};
	const struct guest_tail tail = {texts, 5, sizeof(facts->local_bytes), &facts->local_bytes};
	struct record_device record = {
		.head = {.kind = EVENT_DEVICE, .detail = facts->type | RECORD_DEVICE_LOCAL},
		.compute_units = facts->compute_units,
		.memory_bytes = facts->memory_bytes,
		.frequency_hz = facts->ticks_hz,
	};

	if (level_zero_is_described(thread, &device->object))
		return;
	level_zero_give_id(thread, &device->object, &objects.last_device);
	record.device = device->object.id;
	device->ticks_hz = facts->ticks_hz;
	device->stamp_bits = facts->stamp_bits;
	device->clock_bits = facts->clock_bits;
	device->groups_count = facts->groups_count;
	memcpy(device->groups, facts->groups, sizeof(device->groups));
	device->next_read = 0;
	device->interval = 1 << 22;
	if (guest_put_with_texts(thread, &record.head, offsetof(struct record_device, texts),
				 &tail))
		level_zero_make_described(thread, &device->object);
}

uint32_t level_zero_device_id(struct guest_thread *thread, struct level_zero_device *device,
			      ze_handle driver)
{
	struct device_facts facts = {0};

	if (!device)
		return 0;
	if (level_zero_is_described(thread, &device->object))
		return device->object.id;
	if (!ask_about_device(device->object.handle, driver, &facts) || !level_zero_lock_objects())
		return 0;
	describe_device(thread, device, &facts);
	guest_unlock(&objects.lock);
	read_clock_when_due(thread, device, guest_now(thread));
	return device->object.id;
}

/* ---- contexts and queues --------------------------------------------------------------------- */

/* The caller holds the lock. ret_known: the description was written. */
static uint32_t context_id(struct guest_thread *thread, struct level_zero_context *context,
			   bool *ret_known)
{
	struct record_context *record;

	*ret_known = true;
	if (!context || level_zero_is_described(thread, &context->object))
		return context ? context->object.id : 0;
	level_zero_give_id(thread, &context->object, &objects.last_context);
	record = guest_reserve(thread, EVENT_CONTEXT, sizeof(*record), 0);
	*ret_known = record != NULL;
	if (record) {
		record->handle = (uintptr_t)context->object.handle;
		record->context = context->object.id;
		record->reserved = 0;
		ring_commit(&thread->writer);
		level_zero_make_described(thread, &context->object);
	}
	return context->object.id;
}

/* The caller holds the lock. */
static void describe_queue(struct guest_thread *thread, struct level_zero_queue *queue,
			   uint32_t device)
{
	struct record_queue *record;
	bool is_context_known;
	uint32_t context;

	if (level_zero_is_described(thread, &queue->object))
		return;
	context = context_id(thread, queue->context, &is_context_known);
	level_zero_give_id(thread, &queue->object, &objects.last_queue);
	queue->flags &= ~(uint32_t)QUEUE_TIMED;
	if (device && (thread->options & LEVEL_ZERO_OPTION_TIME))
		queue->flags |= QUEUE_TIMED;
	record = guest_reserve(thread, EVENT_QUEUE, sizeof(*record), queue->flags);
	if (!record)
		return;
	record->handle = (uintptr_t)queue->object.handle & ~(uintptr_t)1;
	record->queue = queue->object.id;
	record->context = context;
	record->device = device;
	record->reserved = 0;
	ring_commit(&thread->writer);
	if (is_context_known)
		level_zero_make_described(thread, &queue->object);
}

uint32_t level_zero_queue_id(struct guest_thread *thread, struct level_zero_queue *queue)
{
	uint32_t device;
	uint64_t begin;
	int saved;

	if (!queue)
		return 0;
	if (GUEST_LIKELY(level_zero_is_described(thread, &queue->object)))
		return queue->object.id;
	if (!guest_is_current(thread))
		return 0;
	saved = errno;
	begin = guest_section_begin(thread);
	device = level_zero_device_id(thread, queue->device,
				      queue->context ? queue->context->driver : NULL);
	if (level_zero_lock_objects()) {
		describe_queue(thread, queue, device);
		guest_unlock(&objects.lock);
	}
	guest_section_end(thread, GUEST_SECTION_OBJECT, begin);
	errno = saved;
	return queue->object.id_mode == thread->mode ? queue->object.id : 0;
}
