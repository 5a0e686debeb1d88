/* SPDX-License-Identifier: MIT
 *
 * bpf/drm.bpf.c - GPU jobs of any driver that uses the kernel's scheduler or its fences
 *
 * Runs in:  the kernel, wherever a job is queued, run or ended, and a fence is made, signaled or
 *           waited for
 * Gets:     jobs of the whole machine: a GPU is shared, and its other users matter
 * Gives:    drm_job, drm_fence, drm_timeline in `records`
 * Fails:    records without room are counted in `counts`
 * Why:      the scheduler's events are the same for all drivers that use it: under stable names
 *           since 6.17, before that under others. i915 has a scheduler of its own, and drivers of
 *           displays and virtual GPUs have none; but their fences show the start and end of work,
 *           too. The verifier allows an event's argument to be NULL, so each argument is checked
 *           first: Linux 7.3 refuses a program without these checks.
 */
#include "bpf/drm_types.h"
#include "bpf/maps.h"

#include "event/drm_record.h"

enum {
	LOCATION_OFFSET = 0xffff
}; /* bits of a __data_loc that hold the offset; the length is in the bits above */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

RING(records, 4 << 20);

/* Contexts whose names were sent: fewer than src/collect/drm/jobs.c keeps. The names of an evicted
 * one are sent again. */
MAP(named, LRU_HASH, 2048, __u32, __u8);

/* Index 0: records without room. */
COUNTS(1)

static __always_inline void *reserve(__u32 size)
{
	void *record = bpf_ringbuf_reserve(&records, size, 0);

	if (record)
		__builtin_memset(record, 0, size);
	else
		count(0);
	return record;
}

static __always_inline void fill_head(struct kernel_head *head, __u32 kind)
{
	head->time_ns = bpf_ktime_get_ns();
	head->kind = kind;
}

static __always_inline bool is_of_thread(__u32 kind)
{
	return kind == DRM_RECORD_QUEUED || kind == DRM_RECORD_INIT || kind == DRM_RECORD_EMIT ||
	       kind == DRM_RECORD_WAIT_START || kind == DRM_RECORD_WAIT_END;
}

static __always_inline void fill_fence(struct drm_fence *record, __u32 kind,
				       const struct dma_fence *fence)
{
	__u64 current;

	fill_head(&record->head, kind);
	record->context = BPF_CORE_READ(fence, context);
	record->number = BPF_CORE_READ(fence, seqno);
	if (!is_of_thread(kind))
		return;
	current = bpf_get_current_pid_tgid();
	record->head.tid = (__u32)current;
	record->head.tgid = current >> 32;
	bpf_get_current_comm(record->thread, sizeof(record->thread));
}

static __always_inline int put_fence(__u32 kind, const struct dma_fence *fence)
{
	struct drm_fence *record = fence ? reserve(sizeof(*record)) : NULL;

	if (!record)
		return 0;
	fill_fence(record, kind, fence);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void fill_device(struct drm_job *record, const struct device *device)
{
	bpf_probe_read_kernel_str(record->device, sizeof(record->device),
				  BPF_CORE_READ(device, kobj.name));
	bpf_probe_read_kernel_str(record->driver, sizeof(record->driver),
				  BPF_CORE_READ(device, driver, name));
}

/* ---- the kernel's scheduler of GPUs ---------------------------------------------------------- */

static __always_inline int put_job(__u32 kind, const struct drm_sched_job *job)
{
	struct drm_job *record = job ? reserve(sizeof(*record)) : NULL;
	struct drm_gpu_scheduler *scheduler;
	struct drm_sched_fence *fence;

	if (!record)
		return 0;
	fence = BPF_CORE_READ(job, s_fence);
	fill_fence(&record->fence, kind, &fence->finished);
	if (bpf_core_field_exists(fence->drm_client_id))
		record->client = BPF_CORE_READ(fence, drm_client_id);
	scheduler = BPF_CORE_READ(job, sched);
	record->scheduler = (__u64)scheduler;
	bpf_probe_read_kernel_str(record->ring, sizeof(record->ring),
				  BPF_CORE_READ(scheduler, name));
	fill_device(record, BPF_CORE_READ(scheduler, dev));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline int put_done(const struct drm_sched_fence *fence)
{
	return fence ? put_fence(DRM_RECORD_DONE, &fence->finished) : 0;
}

#define ON_JOB(name, event, kind)                     \
	SEC("tp_btf/" #event)                         \
	int BPF_PROG(name, struct drm_sched_job *job) \
	{                                             \
		return put_job(kind, job);            \
	}

#define ON_DONE(name, event)                              \
	SEC("tp_btf/" #event)                             \
	int BPF_PROG(name, struct drm_sched_fence *fence) \
	{                                                 \
		return put_done(fence);                   \
	}

ON_JOB(on_job_queue, drm_sched_job_queue, DRM_RECORD_QUEUED)
ON_JOB(on_job_run, drm_sched_job_run, DRM_RECORD_RUN)
ON_DONE(on_job_done, drm_sched_job_done)

/* The same before 6.17. */
ON_JOB(on_old_job_queue, drm_sched_job, DRM_RECORD_QUEUED)
ON_JOB(on_old_job_run, drm_run_job, DRM_RECORD_RUN)
ON_DONE(on_old_job_done, drm_sched_process_job)

/* ---- i915 ------------------------------------------------------------------------------------ */

static __always_inline int put_request(const struct i915_request *request)
{
	struct drm_job *record = request ? reserve(sizeof(*record)) : NULL;
	struct intel_engine_cs *engine;

	if (!record)
		return 0;
	fill_fence(&record->fence, DRM_RECORD_QUEUED, &request->fence);
	engine = BPF_CORE_READ(request, engine);
	record->scheduler = (__u64)engine;
	BPF_CORE_READ_STR_INTO(&record->ring, engine, name);
	fill_device(record, BPF_CORE_READ(engine, i915, drm.dev));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

#define ON_REQUEST(name, event)                          \
	SEC("tp_btf/" #event)                            \
	int BPF_PROG(name, struct i915_request *request) \
	{                                                \
		return put_request(request);             \
	}

/* A user's request, before its dependencies are known; the kernel's own requests are only added. */
ON_REQUEST(on_request_queue, i915_request_queue)
ON_REQUEST(on_request_add, i915_request_add)

SEC("tp_btf/i915_request_retire")
int BPF_PROG(on_request_retire, struct i915_request *request)
{
	return request ? put_fence(DRM_RECORD_RETIRED, &request->fence) : 0;
}

/* ---- fences ---------------------------------------------------------------------------------- */

#define ON_FENCE(name, event, kind)                 \
	SEC("tp_btf/" #event)                       \
	int BPF_PROG(name, struct dma_fence *fence) \
	{                                           \
		return put_fence(kind, fence);      \
	}

ON_FENCE(on_fence_init, dma_fence_init, DRM_RECORD_INIT)
ON_FENCE(on_fence_emit, dma_fence_emit, DRM_RECORD_EMIT)
ON_FENCE(on_fence_signaled, dma_fence_signaled, DRM_RECORD_SIGNALED)
ON_FENCE(on_fence_wait_start, dma_fence_wait_start, DRM_RECORD_WAIT_START)
ON_FENCE(on_fence_wait_end, dma_fence_wait_end, DRM_RECORD_WAIT_END)

/* A fence's names come from code of its driver; the kernel runs that code only for an event that
 * contains the texts. */
SEC("tracepoint/dma_fence/dma_fence_init")
int on_fence_names(struct trace_event_raw_dma_fence *event)
{
	const __u32 driver = event->__data_loc_driver & LOCATION_OFFSET;
	const __u32 timeline = event->__data_loc_timeline & LOCATION_OFFSET;
	struct drm_timeline *record;
	__u32 context = event->context;
	const __u8 one = 1;

	if (bpf_map_lookup_elem(&named, &context) ||
	    bpf_map_update_elem(&named, &context, &one, BPF_NOEXIST))
		return 0;
	record = reserve(sizeof(*record));
	if (!record) {
		bpf_map_delete_elem(&named, &context);
		return 0;
	}
	fill_head(&record->head, DRM_RECORD_TIMELINE);
	record->context = context;
	bpf_probe_read_kernel_str(record->driver, sizeof(record->driver), (char *)event + driver);
	bpf_probe_read_kernel_str(record->timeline, sizeof(record->timeline),
				  (char *)event + timeline);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
