/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_samples.c - sample the instructions that GPUs execute, on request
 *
 * Runs in:  the profiled process: started at its first queue; samples arrive in a thread of the
 *           runtime
 * Gets:     the runtime's table for sampling (ROCm 6.2 and newer)
 * Gives:    a record per sample
 * Owns:     one session for each GPU, and the memory that its samples are copied to
 * Fails:    by sampling nothing, which is counted; samples that the runtime or the guest loses are
 *           counted too
 * Why:      the runtime makes the driver stop waves (host trap) or uses the hardware (stochastic,
 *           with the reason why a wave waits), and collects the samples in its own thread, so the
 *           guest needs none. Sampling must be configured before queues are created. This file was
 *           written from the runtime's headers and not yet tried on a GPU.
 */
#include <errno.h>
#include <string.h>

#include "inject/amd/hsa.h"

enum {
	MAX_SESSIONS = 64,
	BUFFER_BYTES = 256 << 10, /* the runtime's callback is called for each full buffer */
	MAX_TAKEN = 16 << 20,     /* at most this much of the size that the runtime reports */
	LATENCY_US = 1000
};

/* Interval between two samples; the GPU may limit it. */
enum { WANTED_US = 1000, WANTED_CYCLES = 1 << 20 };

enum pc_unit {
#define PC_UNIT(number, name, text) PC_UNIT_##name = (number),
#include "event/pc_sampling.h"
#undef PC_UNIT
};

struct session {
	hsa_pcs handle;
	const struct hsa_device *device;
	struct hsa_pcs_configuration how;
	uint64_t interval;
};

static struct {
	struct guest_lock lock;
	bool is_begun;
	struct session sessions[MAX_SESSIONS];
	uint32_t count;
} samples;

/* ---- method ---------------------------------------------------------------------------------- */

/* Prefers stochastic sampling, because it records why a wave waits. */
static hsa_status choose(const struct hsa_pcs_configuration *offered, void *data)
{
	struct session *session = data;
	bool is_known = offered->method <= HSA_PCS_STOCHASTIC &&
			offered->units <= HSA_PCS_UNIT_INSTRUCTIONS && offered->longest > 0;

	if (is_known && (!session->how.longest || offered->method > session->how.method))
		session->how = *offered;
	return HSA_SUCCESS;
}

static uint64_t power_below(uint64_t value)
{
	return value ? UINT64_C(1) << (63 - __builtin_clzll(value)) : 0;
}

static uint64_t interval_of(const struct hsa_pcs_configuration *how)
{
	uint64_t wanted = how->units == HSA_PCS_UNIT_US ? WANTED_US : WANTED_CYCLES;

	if (wanted > how->longest)
		wanted = how->longest;
	if (wanted < how->shortest)
		wanted = how->shortest;
	return how->flags & HSA_PCS_POWER_OF_2 ? power_below(wanted) : wanted;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Returns 0 if the wave issued or the reason is unknown. The position of the reason's bits is known
 * only for CDNA 3 and 4. */
static uint32_t stall_of(const struct session *session, const struct hsa_pcs_sample *sample)
{
	uint32_t bits = sample->snapshot;

	if (session->how.method != HSA_PCS_STOCHASTIC || !session->device->is_cdna3 ||
	    !(bits & HSA_PCS_SNAPSHOT_VALID) || bits & HSA_PCS_SNAPSHOT_ERROR ||
	    bits & HSA_PCS_SNAPSHOT_ISSUED)
		return 0;
	return (bits >> HSA_PCS_SNAPSHOT_REASON & 7) + 1;
}

static void put_sample(struct guest_thread *thread, const struct session *session,
		       const struct hsa_pcs_sample *sample)
{
	bool is_us = session->how.units == HSA_PCS_UNIT_US;
	uint32_t unit = is_us ? PC_UNIT_NS : session->how.units;
	struct hsa_times time = {sample->time, sample->time};
	struct record_instruction *record;
	struct hsa_code_position place;

	/* Before the record is reserved, because this may describe a kernel. */
	hsa_find_code_position(thread, sample->pc, &place);
	hsa_skip_suspend(&time);
	record = guest_reserve(thread, EVENT_INSTRUCTION_SAMPLE, sizeof(*record),
			       stall_of(session, sample) | unit << 16);
	if (!record)
		return;
	record->time = time.end;
	record->offset = place.offset;
	record->period = session->interval * (is_us ? 1000 : 1);
	record->code = place.code;
	record->device = session->device->id;
	ring_commit(&thread->writer);
}

/* Runs in the runtime's thread, or in ours at the end. Samples that are not copied would be
 * delivered again. */
static void on_samples(void *data, size_t bytes, size_t lost, hsa_pcs_copy *copy, void *what)
{
	const struct session *session = data;
	struct guest_thread *thread = guest_enter();
	struct hsa_pcs_sample *taken = bytes && bytes <= MAX_TAKEN ? guest_memory(bytes) : NULL;
	size_t count = bytes / sizeof(*taken);
	int saved = errno;

	if (taken && copy(what, bytes, taken) != HSA_SUCCESS) {
		guest_memory_free(taken, bytes);
		taken = NULL;
	}
	for (size_t i = 0; i < count && taken && thread; i++)
		put_sample(thread, session, &taken[i]);
	if (thread)
		ring_count_lost(&thread->writer, EVENT_INSTRUCTION_SAMPLE,
				lost + (taken ? 0 : count));
	else
		guest_trouble_many(RING_TROUBLE_NO_RING_SAMPLE, lost + count);
	if (taken)
		guest_memory_free(taken, bytes);
	errno = saved;
}

/* ---- start and end --------------------------------------------------------------------------- */

static bool begin_session(struct session *session, const struct hsa_device *device)
{
	*session = (struct session){.device = device};
	if (hsa_next.pcs->iterate(device->agent, choose, session) != HSA_SUCCESS ||
	    !session->how.longest)
		return false;
	session->interval = interval_of(&session->how);
	if (hsa_next.pcs->create(device->agent, session->how.method, session->how.units,
				 session->interval, LATENCY_US, BUFFER_BYTES, on_samples, session,
				 &session->handle) != HSA_SUCCESS)
		return false;
	if (hsa_next.pcs->start(session->handle) == HSA_SUCCESS)
		return true;
	hsa_next.pcs->destroy(session->handle);
	return false;
}

static void begin_all(void)
{
	for (struct hsa_device *device = hsa_device_next(NULL);
	     hsa_next.pcs && device && samples.count < MAX_SESSIONS;
	     device = hsa_device_next(device))
		samples.count += begin_session(&samples.sessions[samples.count], device);
	if (!samples.count)
		guest_trouble(AMD_TROUBLE_NO_SAMPLES);
}

void hsa_samples_begin(void)
{
	if (!(hsa_options & AMD_OPTION_PCS) || !guest_lock(&samples.lock))
		return;
	if (!samples.is_begun)
		begin_all();
	samples.is_begun = true;
	guest_unlock(&samples.lock);
}

void hsa_samples_end(void)
{
	uint32_t count;

	if (!guest_lock(&samples.lock))
		return;
	count = samples.count;
	samples.count = 0;
	samples.is_begun = false;
	guest_unlock(&samples.lock);
	/* Without the lock, because flushing delivers the remaining samples. */
	for (uint32_t i = 0; i < count; i++) {
		hsa_next.pcs->stop(samples.sessions[i].handle);
		hsa_next.pcs->flush(samples.sessions[i].handle);
		hsa_next.pcs->destroy(samples.sessions[i].handle);
	}
}

void hsa_samples_forked(void)
{
	atomic_store(&samples.lock.taken, 0);
	samples.count = 0;
	samples.is_begun = false;
}
