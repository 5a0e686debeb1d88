/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_objects.c - the GPUs of a process, pseudo queues for their copy engines, and the
 * runtime's clock
 *
 * Runs in:  the profiled process: in OnLoad, and once for each recorder that attaches
 * Gets:     agents
 * Gives:    ids, descriptions of devices and queues, pairs of clocks
 * Owns:     the properties of each GPU, from OnLoad to the process's end
 * Fails:    by leaving out properties that the runtime does not provide
 * Why:      all queries to the runtime are made in OnLoad, so that a later recorder is served from
 *           memory, whichever call of the program attaches to it. The times of all GPUs are those
 *           of one clock, the nanoseconds of CLOCK_BOOTTIME, which the runtime derives from the
 *           GPU's own counter. Pairs are read from the runtime, not from the kernel, because it is
 *           the runtime's times that the recorder must align. CLOCK_BOOTTIME jumps ahead when the
 *           machine was suspended; the jump is subtracted, because the GPU's counter has no jump.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inject/amd/hsa.h"
#include "inject/clock_reads.h"
#include "inject/describe.h"

enum { MAX_DEVICES = 64, CONTEXT = 1, SUSPEND_LEAST_NS = 10000000 };

static struct {
	struct guest_lock lock;
	struct hsa_device devices[MAX_DEVICES];
	uint32_t count;
	char driver[32];
	_Atomic uint32_t last_queue;
	_Atomic uint32_t context_mode;
	struct clock_reads clock_reads;
	struct guest_lock suspend_lock;
	uint64_t boot_ns, awake_ns; /* the last readings of CLOCK_BOOTTIME and CLOCK_MONOTONIC */
	uint64_t skipped_ns;        /* suspended time since OnLoad */
	uint64_t before_ns,
		/* suspended time before the last suspend, and the time up to which it applies */
		before_until;
} objects;

/* ---- properties from the runtime ------------------------------------------------------------- */

static hsa_status add_pool(hsa_pool pool, void *data)
{
	struct hsa_device *device = data;
	uint32_t segment = UINT32_MAX;
	size_t bytes = 0;

	hsa_next.pool_get_info(pool, HSA_POOL_SEGMENT, &segment);
	hsa_next.pool_get_info(pool, HSA_POOL_SIZE, &bytes);
	/* The same memory may be listed several times, once for each way to cache it. */
	if (segment == HSA_SEGMENT_GLOBAL && bytes > device->memory_bytes)
		device->memory_bytes = bytes;
	if (segment == HSA_SEGMENT_GROUP)
		device->local_bytes = bytes;
	return HSA_SUCCESS;
}

static void agent_text(hsa_agent agent, uint32_t what, char text[64])
{
	char answer[256] = ""; /* the runtime writes at most 64 bytes, as specified */

	if (hsa_next.agent_get_info(agent, what, answer) != HSA_SUCCESS)
		answer[0] = '\0';
	memcpy(text, answer, 63);
	text[63] = '\0';
}

static uint32_t namesakes_before(const struct hsa_device *device)
{
	uint32_t count = 0;

	for (const struct hsa_device *other = objects.devices; other < device; other++)
		count += strcmp(other->name, device->name) == 0;
	return count;
}

/* Makes the key in the format of other runtimes: the PCI address; without it the UUID; otherwise
 * the name and a number among devices of that name. */
static void learn_key(struct hsa_device *device)
{
	uint32_t place = 0, domain = 0;
	char uuid[64], name[64];

	hsa_next.agent_get_info(device->agent, HSA_AGENT_BDFID, &place);
	hsa_next.agent_get_info(device->agent, HSA_AGENT_DOMAIN, &domain);
	if (place || domain) {
		snprintf(device->key, sizeof(device->key), "%04x:%02x:%02x.%x", domain,
			 place >> 8 & 0xff, place >> 3 & 0x1f, place & 7);
		return;
	}
	agent_text(device->agent, HSA_AGENT_UUID, uuid);
	memcpy(name, device->name, sizeof(name));
	if (uuid[0] && strcmp(uuid, "GPU-XX") != 0)
		memcpy(device->key, uuid, sizeof(device->key));
	else
		snprintf(device->key, sizeof(device->key), "hsa:%.40s#%u", name,
			 namesakes_before(device) + 1);
}

static hsa_status add_agent(hsa_agent agent, void *data)
{
	struct hsa_device *device = &objects.devices[objects.count];
	uint32_t type = UINT32_MAX;
	char product[64];

	if (hsa_next.agent_get_info(agent, HSA_AGENT_DEVICE, &type) != HSA_SUCCESS ||
	    type != HSA_DEVICE_GPU || objects.count == MAX_DEVICES)
		return HSA_SUCCESS;
	*device = (struct hsa_device){
		.id = objects.count + 1, .agent = agent, .copy_queue = hsa_new_queue()};
	agent_text(agent, HSA_AGENT_NAME, device->name);
	device->is_cdna3 =
		strncmp(device->name, "gfx94", 5) == 0 || strncmp(device->name, "gfx95", 5) == 0;
	agent_text(agent, HSA_AGENT_PRODUCT_NAME, product);
	if (product[0])
		memcpy(device->name, product, sizeof(product));
	agent_text(agent, HSA_AGENT_VENDOR_NAME, device->vendor);
	hsa_next.agent_get_info(agent, HSA_AGENT_COMPUTE_UNITS, &device->compute_units);
	hsa_next.agent_get_info(agent, MAX_HSA_AGENT_WORKGROUP, &device->group_most);
	hsa_next.agent_get_info(agent, HSA_AGENT_WAVEFRONT_SIZE, &device->group_multiple);
	hsa_next.iterate_pools(agent, add_pool, device);
	learn_key(device);
	objects.count++;
	return HSA_SUCCESS;
}

void hsa_devices_init(void)
{
	uint16_t major = 0, minor = 0;

	objects.count = 0;
	atomic_store(&objects.context_mode, 0);
	atomic_store(&objects.clock_reads.next, 0);
	atomic_store(&objects.clock_reads.interval, 0);
	hsa_next.system_get_info(HSA_SYSTEM_VERSION_MAJOR, &major);
	hsa_next.system_get_info(HSA_SYSTEM_VERSION_MINOR, &minor);
	snprintf(objects.driver, sizeof(objects.driver), "ROCr %u.%u", major, minor);
	hsa_next.iterate_agents(add_agent, NULL);
}

/* ---- lookups --------------------------------------------------------------------------------- */

struct hsa_device *hsa_device_of(hsa_agent agent)
{
	for (uint32_t i = 0; i < objects.count; i++)
		if (objects.devices[i].agent.handle == agent.handle)
			return &objects.devices[i];
	return NULL;
}

struct hsa_device *hsa_device_next(const struct hsa_device *device)
{
	uint32_t index = device ? device->id : 0;

	return index < objects.count ? &objects.devices[index] : NULL;
}

uint32_t hsa_new_queue(void)
{
	return atomic_fetch_add_explicit(&objects.last_queue, 1, memory_order_relaxed) + 1;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static bool describe_device(struct guest_thread *thread, const struct hsa_device *device)
{
	struct record_device record = {
		.head = {.kind = EVENT_DEVICE, .detail = DEVICE_GPU | RECORD_DEVICE_LOCAL},
		.device = device->id,
		.compute_units = device->compute_units,
		.memory_bytes = device->memory_bytes,
		.frequency_hz = 1000000000,
	};
	const char *texts[] = {device->key, device->name, device->vendor, objects.driver, "HSA"};
	const struct guest_tail tail = {texts, 5, sizeof(device->local_bytes),
					&device->local_bytes};

	return guest_put_with_texts(thread, &record.head, offsetof(struct record_device, texts),
				    &tail);
}

static bool describe_context(struct guest_thread *thread)
{
	struct record_context *record;

	if (atomic_load(&objects.context_mode) == thread->mode)
		return true;
	record = guest_reserve(thread, EVENT_CONTEXT, sizeof(*record), 0);
	if (!record)
		return false;
	record->handle = 0; /* HSA has no contexts: a process is one */
	record->context = CONTEXT;
	record->reserved = 0;
	ring_commit(&thread->writer);
	atomic_store(&objects.context_mode, thread->mode);
	return true;
}

static bool put_queue(struct guest_thread *thread, uint64_t handle, uint32_t id, uint32_t flags,
		      const struct hsa_device *device)
{
	/* A packet waits for earlier packets only if it has the barrier bit. */
	struct record_queue *record =
		guest_reserve(thread, EVENT_QUEUE, sizeof(*record),
			      flags | QUEUE_OUT_OF_ORDER | QUEUE_TIMED | QUEUE_DIRECT);

	if (!record)
		return false;
	record->handle = handle;
	record->queue = id;
	record->context = CONTEXT;
	record->device = device->id;
	record->reserved = 0;
	ring_commit(&thread->writer);
	return true;
}

bool hsa_describe_queue(struct guest_thread *thread, const struct hsa_queue *queue, uint32_t id,
			const struct hsa_device *device)
{
	return put_queue(thread, (uintptr_t)queue, id, QUEUE_TIMING_FORCED, device);
}

void hsa_describe_devices(struct guest_thread *thread)
{
	if (!guest_lock(&objects.lock))
		return;
	for (uint32_t i = 0; i < objects.count && describe_context(thread); i++) {
		struct hsa_device *device = &objects.devices[i];

		if (atomic_load(&device->mode) == thread->mode)
			continue;
		if (describe_device(thread, device) &&
		    put_queue(thread, 0, device->copy_queue, 0, device))
			atomic_store(&device->mode, thread->mode);
	}
	guest_unlock(&objects.lock);
}

/* ---- the clock ------------------------------------------------------------------------------- */

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The caller holds the lock. Detects a suspend since the last call. A time between the two calls
 * counts as before the suspend unless it is too late for that. */
static void look_for_suspend(void)
{
	uint64_t awake_ns = read_ns(CLOCK_MONOTONIC), boot_ns = read_ns(CLOCK_BOOTTIME);
	uint64_t expected_ns = objects.boot_ns + (awake_ns - objects.awake_ns);

	/* The thread lost its processor between the two readings, which looks like a suspend. The
	 * next call decides. */
	if (read_ns(CLOCK_MONOTONIC) - awake_ns > SUSPEND_LEAST_NS / 4)
		return;
	if (objects.boot_ns && boot_ns > expected_ns + SUSPEND_LEAST_NS) {
		objects.before_ns = objects.skipped_ns;
		objects.before_until = expected_ns + SUSPEND_LEAST_NS / 2;
		objects.skipped_ns += boot_ns - expected_ns;
	}
	objects.boot_ns = boot_ns;
	objects.awake_ns = awake_ns;
}

static uint64_t without_suspend(uint64_t time)
{
	return time - (time <= objects.before_until ? objects.before_ns : objects.skipped_ns);
}

void hsa_skip_suspend(struct hsa_times *times)
{
	if (!guest_lock(&objects.suspend_lock))
		return;
	look_for_suspend();
	times->start = times->start ? without_suspend(times->start) : 0;
	times->end = times->end ? without_suspend(times->end) : 0;
	guest_unlock(&objects.suspend_lock);
}

static void put_pairs(struct guest_thread *thread, uint64_t before, uint64_t time, uint64_t after)
{
	for (uint32_t i = 0; i < objects.count; i++)
		if (!clock_reads_put(thread, i + 1, time, before, after))
			return;
}

void hsa_read_clock(struct guest_thread *thread, bool is_end)
{
	uint64_t time = 0, before, after;
	struct hsa_times now_times;

	if (!clock_reads_take(thread, &objects.clock_reads, is_end))
		return;
	hsa_describe_devices(thread);
	before = guest_now(thread);
	if (hsa_next.system_get_info(HSA_SYSTEM_TIMESTAMP, &time) != HSA_SUCCESS)
		return;
	after = guest_now(thread);
	now_times = (struct hsa_times){time, time};
	hsa_skip_suspend(&now_times);
	put_pairs(thread, before, now_times.end, after);
}

void hsa_objects_forked(void)
{
	guest_unlock(&objects.lock);
	guest_unlock(&objects.suspend_lock);
}
