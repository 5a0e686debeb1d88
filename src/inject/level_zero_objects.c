/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero_objects.c - devices, contexts, queues, lists, modules and kernels: what they are, and their ids
 *
 * Runs in:  the profiled process: where objects are made, and where a recorder does not know one yet
 * Gets:     handles   Gives: structures, ids, and records that describe each object once per recorder
 * Owns:     the ids
 * Fails:    with id 0 where memory is refused or the driver does not answer
 * Why:      an object is described when it is first used while recorded, so that what is never used costs nothing and a
 *           recorder may come late. The driver is never asked with the lock held. A time stamp of a command has 32 bits
 *           on many devices and wraps after four minutes: the device's clock, read next to the host's, says which of
 *           the moments with these bits it was.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inject/clock_reads.h"
#include "inject/level_zero.h"

enum { MEMORIES_MOST = 8, BINARY_MOST = 16 << 20, INTEL = 0x8086 };

static struct {
	struct guest_lock lock;
	_Atomic uint32_t last_context, last_device, last_queue, last_code;
	struct level_zero_device *_Atomic newest_device;
} objects;

void level_zero_objects_forked(void)
{
	atomic_store(&objects.lock.taken, 0);
	for (struct level_zero_device *device = atomic_load(&objects.newest_device); device;
	     device = device->older)
		atomic_store(&device->lock.taken, 0);
}

static bool lock_objects(void)
{
	if (guest_lock(&objects.lock))
		return true;
	guest_trouble(RING_TROUBLE_OBJECTS);
	return false;
}

/* Under the lock: the same until the description is written, which takes several attempts where the ring is full. */
static void give_id(const struct guest_thread *thread, struct level_zero_object *object,
		    _Atomic uint32_t *last)
{
	if (object->id_mode == thread->mode)
		return;
	object->id = atomic_fetch_add_explicit(last, 1, memory_order_relaxed) + 1;
	object->id_mode = thread->mode;
	object->failed = 0;
}

static void make_described(const struct guest_thread *thread, struct level_zero_object *object)
{
	atomic_store_explicit(&object->mode, thread->mode, memory_order_release);
}

/* ---- what is made ------------------------------------------------------------------------------ */

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
	/* To be asked for none sets how many there are; to be asked for one may leave that at one. */
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
	if (lock_objects()) {
		context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
		if (!context)
			level_zero_context_made(handle, driver);
		guest_unlock(&objects.lock);
	}
}

/* One of the program's, or one that it got in a way that nobody saw. Of several drivers nobody knows whose that is. */
static struct level_zero_context *meet_context(ze_handle handle)
{
	struct level_zero_context *context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
	ze_handle driver;
	uint32_t count;

	if (context || !handle)
		return context;
	driver = first_driver(&count);
	if (lock_objects()) {
		context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
		if (!context) {
			level_zero_context_made(handle, count == 1 ? driver : NULL);
			context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
		}
		guest_unlock(&objects.lock);
	}
	return context;
}

/* Under the lock. */
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

static struct level_zero_device *meet_device(ze_handle handle)
{
	struct level_zero_device *device = level_zero_find(handle, LEVEL_ZERO_DEVICE);

	if (device || !handle || !lock_objects())
		return device;
	device = add_device(handle);
	guest_unlock(&objects.lock);
	return device;
}

static void fill_queue(struct level_zero_queue *queue, ze_handle context, ze_handle device,
		       const struct ze_queue_desc *desc)
{
	queue->context = meet_context(context);
	queue->device = meet_device(device);
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

/* The queue of an immediate list has no handle of its own; those of objects are even. */
static ze_handle handle_of_queue(ze_handle list)
{
	return (ze_handle)((uintptr_t)list | 1);
}

/* desc: of an immediate list; NULL: it is none. */
void level_zero_list_made(ze_handle handle, ze_handle context, ze_handle device,
			  const struct ze_queue_desc *desc)
{
	struct level_zero_list *list = level_zero_add(handle, LEVEL_ZERO_LIST);

	if (!list)
		return;
	list->context = meet_context(context);
	list->device = meet_device(device);
	list->contents = level_zero_new_contents();
	if (!desc)
		return;
	list->queue = level_zero_add(handle_of_queue(handle), LEVEL_ZERO_QUEUE);
	if (list->queue)
		fill_queue(list->queue, context, device, desc);
}

/* Its commands are the other's, and so are the events that they signal: whose a time stamp is nobody knows. */
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
	module->device = meet_device(device);
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

/* ---- the device's clock ------------------------------------------------------------------------ */

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

/* Under the device's lock: what its clock shows about now, with all bits. */
static uint64_t expected_time(const struct level_zero_device *device, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns > device->last_ns ? now_ns - device->last_ns : 0;

	return device->last_time +
	       (uint64_t)((unsigned __int128)passed_ns * device->ticks_hz / 1000000000u);
}

/* The time with these low bits that is next to another one. */
static uint64_t nearest(uint64_t low, uint32_t bits, uint64_t to)
{
	uint64_t mask = mask_of(bits), ahead = (low - to) & mask;

	if (mask == UINT64_MAX)
		return low;
	return ahead <= mask / 2 ? to + ahead : to - (mask + 1 - ahead);
}

/* A command was over when its time stamp is read: of all moments with these bits it is the last one that is not in the
 * future, give or take an eighth. */
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

/* thread: NULL where no record is wanted. */
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

/* ---- devices ----------------------------------------------------------------------------------- */

/* What the driver says of a device; asked without a lock. */
struct device_facts {
	uint32_t type, compute_units, stamp_bits, clock_bits;
	uint64_t memory_bytes, local_bytes, ticks_hz;
	char key[64], name[256], vendor[32], driver[32];
};

/* Cycles a second; older drivers give nanoseconds a cycle, which is what no timer's frequency is as small as. */
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

	/* As the kernel's drivers are known by, so that what they say of it is of the same device. */
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
	struct ze_memory_properties memories[MEMORIES_MOST];
	uint32_t count = MEMORIES_MOST;
	uint64_t bytes = 0;

	memset(memories, 0, sizeof(memories));
	for (int i = 0; i < MEMORIES_MOST; i++)
		memories[i].type = ZE_TYPE_DEVICE_MEMORY_PROPERTIES;
	if (!next.zeDeviceGetMemoryProperties ||
	    next.zeDeviceGetMemoryProperties(device, &count, memories) != ZE_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < count && i < MEMORIES_MOST; i++)
		bytes += memories[i].total_bytes;
	return bytes;
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

/* Under the lock. */
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
	give_id(thread, &device->object, &objects.last_device);
	record.device = device->object.id;
	device->ticks_hz = facts->ticks_hz;
	device->stamp_bits = facts->stamp_bits;
	device->clock_bits = facts->clock_bits;
	device->next_read = 0;
	device->interval = 1 << 22;
	if (guest_put_with_texts(thread, &record.head, offsetof(struct record_device, texts),
				 &tail))
		make_described(thread, &device->object);
}

static uint32_t device_id(struct guest_thread *thread, struct level_zero_device *device,
			  ze_handle driver)
{
	struct device_facts facts;

	if (!device)
		return 0;
	if (level_zero_is_described(thread, &device->object))
		return device->object.id;
	if (!ask_about_device(device->object.handle, driver, &facts) || !lock_objects())
		return 0;
	describe_device(thread, device, &facts);
	guest_unlock(&objects.lock);
	read_clock_when_due(thread, device, guest_now(thread));
	return device->object.id;
}

/* ---- contexts and queues ----------------------------------------------------------------------- */

/* Under the lock. *ret_known: its description was written. */
static uint32_t context_id(struct guest_thread *thread, struct level_zero_context *context,
			   bool *ret_known)
{
	struct record_context *record;

	*ret_known = true;
	if (!context || level_zero_is_described(thread, &context->object))
		return context ? context->object.id : 0;
	give_id(thread, &context->object, &objects.last_context);
	record = guest_reserve(thread, EVENT_CONTEXT, sizeof(*record), 0);
	*ret_known = record != NULL;
	if (record) {
		record->handle = (uintptr_t)context->object.handle;
		record->context = context->object.id;
		record->reserved = 0;
		ring_commit(&thread->writer);
		make_described(thread, &context->object);
	}
	return context->object.id;
}

/* Under the lock. */
static void describe_queue(struct guest_thread *thread, struct level_zero_queue *queue,
			   uint32_t device)
{
	struct record_queue *record;
	bool is_context_known;
	uint32_t context;

	if (level_zero_is_described(thread, &queue->object))
		return;
	context = context_id(thread, queue->context, &is_context_known);
	give_id(thread, &queue->object, &objects.last_queue);
	queue->flags &= ~(uint32_t)QUEUE_TIMED;
	if (device && (thread->options & RING_OPTION_LEVEL_ZERO_TIME))
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
		make_described(thread, &queue->object);
}

uint32_t level_zero_queue_id(struct guest_thread *thread, struct level_zero_queue *queue)
{
	uint32_t device;
	int saved;

	if (!queue)
		return 0;
	if (GUEST_LIKELY(level_zero_is_described(thread, &queue->object)))
		return queue->object.id;
	if (!guest_is_current(thread))
		return 0;
	saved = errno;
	device = device_id(thread, queue->device, queue->context ? queue->context->driver : NULL);
	if (lock_objects()) {
		describe_queue(thread, queue, device);
		guest_unlock(&objects.lock);
	}
	errno = saved;
	return queue->object.id_mode == thread->mode ? queue->object.id : 0;
}

/* ---- modules and kernels ----------------------------------------------------------------------- */

/* What could not be described, mostly because the ring was full, is tried again later and later: to ask for a binary
 * takes milliseconds. From 1 ms to 1 s (ns), a third to half of that in cycles. */
enum { ATTEMPT_FIRST_BITS = 20, ATTEMPT_LAST_BITS = 30 };

static bool is_attempt_due(const struct guest_thread *thread,
			   const struct level_zero_object *object)
{
	return object->id_mode != thread->mode || !object->failed ||
	       guest_now(thread) >= object->next_attempt;
}

/* Two threads may do so at once: then one of them tries sooner. */
static void note_attempt(const struct guest_thread *thread, struct level_zero_object *object)
{
	uint32_t bits = ATTEMPT_FIRST_BITS + object->failed;

	if (level_zero_is_described(thread, object)) {
		object->failed = 0;
		return;
	}
	object->failed++;
	object->next_attempt =
		guest_now(thread) +
		(UINT64_C(1) << (bits < ATTEMPT_LAST_BITS ? bits : (uint32_t)ATTEMPT_LAST_BITS));
}

/* How long the code of a kernel is, by its name. */
struct level_zero_text {
	uint64_t name_hash, size_bytes;
};

static uint64_t hash_name(const char *name, size_t length)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
	return hash;
}

/* The sections of a zebin, and their names; false: it is none, or not whole. */
static bool find_sections(const uint8_t *bytes, size_t size, Elf64_Ehdr *ret_head,
			  const char **ret_names, uint64_t *ret_names_bytes)
{
	Elf64_Shdr names;

	if (size < sizeof(*ret_head))
		return false;
	memcpy(ret_head, bytes, sizeof(*ret_head));
	if (memcmp(ret_head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    ret_head->e_shentsize != sizeof(names) || ret_head->e_shstrndx >= ret_head->e_shnum ||
	    ret_head->e_shoff > size ||
	    ret_head->e_shnum > (size - ret_head->e_shoff) / sizeof(names))
		return false;
	memcpy(&names, bytes + ret_head->e_shoff + ret_head->e_shstrndx * sizeof(names),
	       sizeof(names));
	if (names.sh_offset > size || names.sh_size > size - names.sh_offset || !names.sh_size ||
	    bytes[names.sh_offset + names.sh_size - 1])
		return false;
	*ret_names = (const char *)bytes + names.sh_offset;
	*ret_names_bytes = names.sh_size;
	return true;
}

/* A kernel's code is the section .text.NAME. Under the lock, once a module. */
static void learn_texts(struct level_zero_module *module, const uint8_t *bytes, size_t size)
{
	static const char prefix[] = ".text.";
	uint64_t names_bytes = 0;
	const char *names, *name;
	Elf64_Shdr section;
	Elf64_Ehdr head;

	if (module->texts || !find_sections(bytes, size, &head, &names, &names_bytes))
		return;
	module->texts = guest_memory(head.e_shnum * sizeof(*module->texts));
	if (!module->texts)
		return;
	module->texts_count = head.e_shnum;
	for (uint32_t i = 0; i < head.e_shnum; i++) {
		memcpy(&section, bytes + head.e_shoff + i * sizeof(section), sizeof(section));
		name = section.sh_name < names_bytes ? names + section.sh_name : "";
		if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		name += sizeof(prefix) - 1;
		module->texts[i].name_hash = hash_name(name, strlen(name));
		module->texts[i].size_bytes = section.sh_size;
	}
}

/* 0: not known. */
static uint64_t find_text(const struct level_zero_module *module, const char *name)
{
	uint64_t hash = hash_name(name, strlen(name));

	for (uint32_t i = 0; module && i < module->texts_count; i++)
		if (module->texts[i].name_hash == hash)
			return module->texts[i].size_bytes;
	return 0;
}

void level_zero_before_module_goes(ze_handle handle)
{
	struct level_zero_module *module = level_zero_find(handle, LEVEL_ZERO_MODULE);

	if (!module || !module->texts)
		return;
	guest_memory_free(module->texts, module->texts_count * sizeof(*module->texts));
	module->texts = NULL;
	module->texts_count = 0;
}

/* size 0: there is no content. Under the lock, so that nobody describes it a second time meanwhile. */
static void describe_module(struct guest_thread *thread, struct level_zero_module *module,
			    uint32_t device, const uint8_t *bytes, size_t size)
{
	const char *texts[] = {"", ""};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};
	struct record_code record = {
		.head = {.kind = EVENT_CODE, .detail = CODE_BINARY},
		.handle = (uintptr_t)module->object.handle,
		.size_bytes = size,
		.device = device,
	};

	if (level_zero_is_described(thread, &module->object))
		return;
	give_id(thread, &module->object, &objects.last_code);
	record.code = module->object.id;
	if (!guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail))
		return;
	make_described(thread, &module->object);
	if (size)
		learn_texts(module, bytes, size);
	if (size)
		guest_put_content(thread, module->object.id, bytes, size);
}

/* The module's native binary, a zebin; NULL: there is none, or no room for it. guest_memory_free(*ret_size) */
static uint8_t *ask_binary(struct guest_thread *thread, ze_handle module, size_t *ret_size)
{
	uint8_t *bytes;
	size_t size = 0;

	if (!(thread->options & RING_OPTION_CODE) || !next.zeModuleGetNativeBinary ||
	    next.zeModuleGetNativeBinary(module, &size, NULL) != ZE_SUCCESS || !size)
		return NULL;
	bytes = size <= BINARY_MOST ? guest_memory(size) : NULL;
	*ret_size = size;
	if (bytes && next.zeModuleGetNativeBinary(module, ret_size, bytes) == ZE_SUCCESS &&
	    *ret_size <= size) {
		*ret_size = size;
		return bytes;
	}
	guest_count_lost_code(thread);
	if (bytes)
		guest_memory_free(bytes, size);
	return NULL;
}

uint32_t level_zero_module_id(struct guest_thread *thread, struct level_zero_module *module)
{
	uint8_t *bytes;
	uint32_t device;
	size_t size = 0;
	int saved;

	if (!module)
		return 0;
	if (level_zero_is_described(thread, &module->object))
		return module->object.id;
	if (!is_attempt_due(thread, &module->object))
		return module->object.id;
	saved = errno;
	device =
		device_id(thread, module->device, module->context ? module->context->driver : NULL);
	bytes = ask_binary(thread, module->object.handle, &size);
	if (lock_objects()) {
		describe_module(thread, module, device, bytes, bytes ? size : 0);
		guest_unlock(&objects.lock);
	}
	if (bytes)
		guest_memory_free(bytes, size);
	note_attempt(thread, &module->object);
	errno = saved;
	return module->object.id_mode == thread->mode ? module->object.id : 0;
}

/* What the driver says of a kernel; asked without a lock. */
struct kernel_facts {
	char name[RECORD_TEXT_BYTES];
	uint32_t parent, device;
	/* As they go into the record, one behind the other. */
	struct {
		struct record_needs needs;
		struct record_place place; /* address 0: not known */
	} tail;
};

/* 0: the driver does not say. */
static uint64_t ask_address(struct level_zero_context *context, ze_handle kernel)
{
	ze_handle below = kernel;
	uint64_t address = 0;
	void *function = NULL;

	if (!context)
		return 0;
	if (!context->zex_asked && context->driver && next.zeDriverGetExtensionFunctionAddress) {
		if (next.zeDriverGetExtensionFunctionAddress(
			    context->driver, ZEX_KERNEL_GET_BASE_ADDRESS, &function) == ZE_SUCCESS)
			context->zex = (zex_kernel_get_base_address *)function;
		context->zex_asked = true;
	}
	if (!context->zex)
		return 0;
	/* Where there are several drivers the loader gives handles of its own. */
	if (level_zero_translate && level_zero_translate(ZEL_KERNEL, kernel, &below) != ZE_SUCCESS)
		return 0;
	return context->zex(below, &address) == ZE_SUCCESS ? address : 0;
}

static void ask_for_needs(ze_handle kernel, ze_handle device, struct record_needs *needs)
{
	struct ze_kernel_properties properties = {.type = ZE_TYPE_KERNEL_PROPERTIES};
	struct ze_compute_properties compute = {.type = ZE_TYPE_DEVICE_COMPUTE_PROPERTIES};

	*needs = (struct record_needs){.local_bytes = CODE_UNKNOWN, .private_bytes = CODE_UNKNOWN};
	if (next.zeDeviceGetComputeProperties &&
	    next.zeDeviceGetComputeProperties(device, &compute) == ZE_SUCCESS)
		needs->group_most = compute.group_most;
	if (!next.zeKernelGetProperties ||
	    next.zeKernelGetProperties(kernel, &properties) != ZE_SUCCESS)
		return;
	needs->group_multiple = properties.subgroup_most;
	needs->local_bytes = properties.local_bytes;
	needs->private_bytes = properties.private_bytes;
}

/* Under the lock. */
static void describe_kernel(struct guest_thread *thread, struct level_zero_kernel *kernel,
			    const struct kernel_facts *facts)
{
	const char *texts[] = {facts->name, ""};
	const bool is_placed = facts->tail.place.address != 0;
	const struct guest_tail tail = {texts, 2,
					is_placed ? sizeof(facts->tail) : sizeof(facts->tail.needs),
					&facts->tail};
	struct record_code record = {
		.head = {.kind = EVENT_CODE,
			 .detail = CODE_KERNEL | RECORD_CODE_NEEDS |
				   (is_placed ? RECORD_CODE_PLACED : 0)},
		.handle = (uintptr_t)kernel->object.handle,
		.parent = facts->parent,
		.device = facts->device,
	};

	if (level_zero_is_described(thread, &kernel->object))
		return;
	give_id(thread, &kernel->object, &objects.last_code);
	record.code = kernel->object.id;
	if (guest_put_with_texts(thread, &record.head, offsetof(struct record_code, texts), &tail))
		make_described(thread, &kernel->object);
}

static bool ask_name(ze_handle kernel, char name[RECORD_TEXT_BYTES])
{
	size_t size = RECORD_TEXT_BYTES - 1;

	if (!next.zeKernelGetName || next.zeKernelGetName(kernel, &size, name) != ZE_SUCCESS ||
	    size > RECORD_TEXT_BYTES - 1)
		return false;
	name[size] = '\0';
	return true;
}

static void learn_kernel(struct guest_thread *thread, struct level_zero_kernel *kernel,
			 uint64_t now)
{
	struct level_zero_module *module = kernel->module;
	struct level_zero_context *context = module ? module->context : NULL;
	struct level_zero_device *device = module ? module->device : NULL;
	struct kernel_facts facts = {.parent = level_zero_module_id(thread, module)};

	if (!ask_name(kernel->object.handle, facts.name))
		return;
	facts.tail.place.address = ask_address(context, kernel->object.handle);
	facts.tail.place.size_bytes = find_text(module, facts.name);
	facts.tail.place.time = now;
	facts.device = device_id(thread, device, context ? context->driver : NULL);
	ask_for_needs(kernel->object.handle, device ? device->object.handle : NULL,
		      &facts.tail.needs);
	if (!lock_objects())
		return;
	describe_kernel(thread, kernel, &facts);
	guest_unlock(&objects.lock);
}

uint32_t level_zero_kernel_id(struct guest_thread *thread, ze_handle handle, uint64_t now)
{
	struct level_zero_kernel *kernel = level_zero_find(handle, LEVEL_ZERO_KERNEL);
	int saved;

	if (!kernel)
		return 0;
	if (GUEST_LIKELY(level_zero_is_described(thread, &kernel->object)))
		return kernel->object.id;
	if (!guest_is_current(thread))
		return 0;
	if (is_attempt_due(thread, &kernel->object)) {
		saved = errno;
		learn_kernel(thread, kernel, now);
		note_attempt(thread, &kernel->object);
		errno = saved;
	}
	return kernel->object.id_mode == thread->mode ? kernel->object.id : 0;
}
