/* SPDX-License-Identifier: MIT
 *
 * collect/drm/jobs.c - assembles jobs of GPUs from the kernel's records of their states
 *
 * Runs in:  the recorder's thread that reads the kernel's records; it does not depend on their
 *           source
 * Gets:     records, some of which may be missing
 * Gives:    jobs
 * Owns:     open jobs: at most 3 MB
 * Fails:    inconsistent records are counted. Without room, the oldest open entry is dropped: first
 *           fences that belong to no scheduler's job, because many of them are never signaled, then
 *           jobs.
 * Why:      The kernel identifies a job by its fence. Its scheduler makes two more fences, and the
 *           driver a third. A fence counts as a job only if its driver uses no scheduler; otherwise
 *           each job would be counted three times. The scheduler's record of a job and its fence's
 *           record are equivalent, so one of them may be lost.
 */
#include "collect/drm/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

enum {
	MAX_ENDED = 256, /* ended jobs are kept to recognize late records from other processors */
	/* More contexts than src/bpf/drm.bpf.c remembers, so that it reports again those that are
	 * dropped here. */
	MAX_NAMES = 8192,
	MAX_COMPOSED = 8192,
	MAX_CONTEXTS = MAX_NAMES + MAX_COMPOSED,
	MAX_DRIVERS = 16,
	NOWHERE = UINT32_MAX
};

/* MADE is open too, for a fence that may not be a job. */
enum place { FREE, MADE, OPEN, ENDED, PLACES };

struct entry {
	struct job job;
	bool is_job;
	enum place place;
	uint32_t previous, next; /* in the list of its place; NOWHERE: none */
};

/* A list of entries in the order of arrival. */
struct entries {
	uint32_t first, last, count;
};

struct names {
	char driver[DRM_NAME_BYTES], timeline[DRM_NAME_BYTES];
};

/* Member of a ring list in order of last use. There is a list of named contexts and a list of
 * composed ones; each has a head that is not a context. */
struct context {
	uint32_t number;
	uint32_t previous, next;
};

struct jobs {
	jobs_on_job on_job;
	void *context;
	struct entry entries[MAX_JOBS_OPEN];
	struct entries places[PLACES];
	struct hash_map by_fence; /* fence -> index into entries */
	/* First the contexts with names, then composed ones, whose names are not needed. */
	struct context contexts[MAX_CONTEXTS + 2];
	struct names names[MAX_NAMES];
	struct hash_map by_context;                /* context -> index into contexts */
	char drivers[MAX_DRIVERS][DRM_NAME_BYTES]; /* drivers that use a scheduler */
	size_t drivers_count;
	struct jobs_counts counts;
};

/* Drivers of fences that stand for other fences. */
static const char *const composed[] = {"drm_sched", "dma_fence_array", "dma_fence_chain",
				       "dma-fence"};

/* ---- entries --------------------------------------------------------------------------------- */

static uint32_t index_of(const struct jobs *jobs, const struct entry *entry)
{
	return (uint32_t)(entry - jobs->entries);
}

static void take_out(struct jobs *jobs, struct entry *entry)
{
	struct entries *from = &jobs->places[entry->place];

	*(entry->previous == NOWHERE ? &from->first : &jobs->entries[entry->previous].next) =
		entry->next;
	*(entry->next == NOWHERE ? &from->last : &jobs->entries[entry->next].previous) =
		entry->previous;
	from->count--;
}

static void put_last(struct jobs *jobs, struct entry *entry, enum place place)
{
	struct entries *to = &jobs->places[place];
	const uint32_t index = index_of(jobs, entry);

	entry->place = place;
	entry->previous = to->last;
	entry->next = NOWHERE;
	*(to->last == NOWHERE ? &to->first : &jobs->entries[to->last].next) = index;
	to->last = index;
	to->count++;
}

static void move_entry(struct jobs *jobs, struct entry *entry, enum place place)
{
	take_out(jobs, entry);
	put_last(jobs, entry, place);
}

/* If two fences have one key, the later one is found, so the caller compares the fences. */
static uint64_t key_of(uint64_t context, uint64_t number)
{
	return context * UINT64_C(0x9e3779b97f4a7c15) ^ number;
}

static struct entry *find_entry(struct jobs *jobs, const struct drm_fence *fence)
{
	const uint64_t index =
		hash_map_get(&jobs->by_fence, key_of(fence->context, fence->number), NOWHERE);
	struct entry *entry = index == NOWHERE ? NULL : &jobs->entries[index];

	return entry && entry->job.context == fence->context && entry->job.number == fence->number
		       ? entry
		       : NULL;
}

static void release(struct jobs *jobs, struct entry *entry)
{
	const uint64_t key = key_of(entry->job.context, entry->job.number);

	if (hash_map_get(&jobs->by_fence, key, NOWHERE) == index_of(jobs, entry))
		hash_map_remove(&jobs->by_fence, key, NULL);
	move_entry(jobs, entry, FREE);
}

/* ---- delivery -------------------------------------------------------------------------------- */

static void put_in_order(struct job *job)
{
	/* The clock that interrupts may read can differ by some ns between processors. */
	if (job->run_ns && job->run_ns < job->queued_ns)
		job->run_ns = job->queued_ns;
	if (job->done_ns && job->done_ns < job->run_ns)
		job->done_ns = job->run_ns;
	if (job->done_ns && job->done_ns < job->queued_ns)
		job->done_ns = job->queued_ns;
}

static void deliver_job(struct jobs *jobs, struct job *job)
{
	put_in_order(job);
	jobs->counts.emitted++;
	jobs->counts.unqueued += !job->queued_ns;
	jobs->on_job(jobs->context, job);
}

/* "amdgpu" also matches its fences that are named "amdgpu_amdkfd_fence". */
static bool has_scheduler(const struct jobs *jobs, const char *driver)
{
	for (size_t i = 0; i < jobs->drivers_count; i++) {
		const size_t length = strlen(jobs->drivers[i]);

		if (strncmp(jobs->drivers[i], driver, length) == 0 &&
		    (!driver[length] || driver[length] == '_'))
			return true;
	}
	return false;
}

static bool is_composed(const char *driver)
{
	for (size_t i = 0; i < ARRAY_COUNT(composed); i++)
		if (strcmp(composed[i], driver) == 0)
			return true;
	return false;
}

static uint32_t circle_of(uint32_t index)
{
	return MAX_CONTEXTS + (index >= MAX_NAMES);
}

static void use_last(struct jobs *jobs, uint32_t index)
{
	struct context *context = &jobs->contexts[index];
	struct context *end = &jobs->contexts[circle_of(index)];

	context->previous = end->previous;
	context->next = circle_of(index);
	jobs->contexts[end->previous].next = index;
	end->previous = index;
}

static void take_from_circle(struct jobs *jobs, uint32_t index)
{
	const struct context *context = &jobs->contexts[index];

	jobs->contexts[context->previous].next = context->next;
	jobs->contexts[context->next].previous = context->previous;
}

/* Returns the index of a context and marks it as used. NOWHERE: its names were never reported, or
 * were dropped. */
static uint32_t use_context(struct jobs *jobs, uint64_t context)
{
	const uint64_t index = hash_map_get(&jobs->by_context, (uint32_t)context, NOWHERE);

	if (index != NOWHERE) {
		take_from_circle(jobs, (uint32_t)index);
		use_last(jobs, (uint32_t)index);
	}
	return (uint32_t)index;
}

/* False: the fence is not a job. */
static bool name_fence(struct jobs *jobs, struct job *job)
{
	const uint32_t index = use_context(jobs, job->context);
	const struct names *names;

	if (index == NOWHERE) {
		jobs->counts.unnamed++;
		return false;
	}
	if (index >= MAX_NAMES)
		return false;
	names = &jobs->names[index];
	if (has_scheduler(jobs, names->driver))
		return false;
	memcpy(job->driver, names->driver, sizeof(job->driver));
	memcpy(job->ring, names->timeline, sizeof(job->ring));
	job->flags |= JOB_IS_FENCE;
	return true;
}

static void finish(struct jobs *jobs, struct entry *entry)
{
	if (!entry->is_job && !name_fence(jobs, &entry->job)) {
		release(jobs, entry);
		return;
	}
	deliver_job(jobs, &entry->job);
	move_entry(jobs, entry, ENDED);
	if (jobs->places[ENDED].count > MAX_ENDED)
		release(jobs, &jobs->entries[jobs->places[ENDED].first]);
}

/* Drops an entry whose end will not be seen. */
static void give_up(struct jobs *jobs, struct entry *entry)
{
	if (entry->is_job) {
		jobs->counts.unended++;
		deliver_job(jobs, &entry->job);
	}
	release(jobs, entry);
}

static bool is_open(const struct entry *entry)
{
	return entry->place == MADE || entry->place == OPEN;
}

/* ---- states ---------------------------------------------------------------------------------- */

static struct entry *open_entry(struct jobs *jobs, const struct drm_fence *fence)
{
	struct entry *entry;

	if (jobs->places[FREE].first == NOWHERE) {
		const uint32_t made = jobs->places[MADE].first;

		give_up(jobs, &jobs->entries[made == NOWHERE ? jobs->places[OPEN].first : made]);
	}
	entry = &jobs->entries[jobs->places[FREE].first];
	if (hash_map_put(&jobs->by_fence, key_of(fence->context, fence->number),
			 index_of(jobs, entry)))
		return NULL;
	entry->job = (struct job){.context = fence->context, .number = fence->number};
	entry->is_job = false;
	move_entry(jobs, entry, MADE);
	return entry;
}

/* For a state that starts a fence: an existing entry with its numbers is an earlier fence. */
static struct entry *begin_entry(struct jobs *jobs, const struct drm_fence *fence)
{
	struct entry *entry = find_entry(jobs, fence);

	if (entry && entry->place == ENDED)
		release(jobs, entry);
	else if (entry)
		give_up(jobs, entry);
	return open_entry(jobs, fence);
}

/* For a later state. NULL: the job has ended already, or there is no room. */
static struct entry *go_on(struct jobs *jobs, const struct drm_fence *fence)
{
	struct entry *entry = find_entry(jobs, fence);

	if (!entry)
		return open_entry(jobs, fence);
	if (is_open(entry))
		return entry;
	jobs->counts.late++;
	return NULL;
}

static void set_thread(struct job *job, const struct drm_fence *fence)
{
	job->tgid = fence->head.tgid;
	job->tid = fence->head.tid;
	memcpy(job->thread, fence->thread, sizeof(job->thread));
	job->thread[sizeof(job->thread) - 1] = '\0';
}

static void copy_name(char to[DRM_NAME_BYTES], const char from[DRM_NAME_BYTES])
{
	memcpy(to, from, DRM_NAME_BYTES - 1);
	to[DRM_NAME_BYTES - 1] = '\0';
}

static void set_ring(struct jobs *jobs, struct entry *entry, const struct drm_job *record)
{
	copy_name(entry->job.driver, record->driver);
	copy_name(entry->job.device, record->device);
	copy_name(entry->job.ring, record->ring);
	entry->job.scheduler = record->scheduler;
	entry->job.client = record->client;
	entry->is_job = true;
	if (entry->place == MADE)
		move_entry(jobs, entry, OPEN);
	if (jobs->drivers_count < MAX_DRIVERS && !has_scheduler(jobs, entry->job.driver))
		copy_name(jobs->drivers[jobs->drivers_count++], entry->job.driver);
}

static void on_queued(struct jobs *jobs, const void *data)
{
	const struct drm_job *record = data;
	struct entry *entry = find_entry(jobs, &record->fence);

	/* i915 reports a user's job twice in a row. */
	if (entry && entry->place == OPEN && entry->is_job && !entry->job.run_ns &&
	    entry->job.queued_ns && entry->job.tid == record->fence.head.tid)
		return;
	/* Keep the entry of its fence, which this thread or one that works for it has created. */
	if (!entry || entry->is_job)
		entry = begin_entry(jobs, &record->fence);
	if (!entry)
		return;
	entry->job.queued_ns = record->fence.head.time_ns;
	set_thread(&entry->job, &record->fence);
	set_ring(jobs, entry, record);
}

static void on_run(struct jobs *jobs, const void *data)
{
	const struct drm_job *record = data;
	struct entry *entry = go_on(jobs, &record->fence);

	if (!entry)
		return;
	/* The fence was created, but its queueing was not seen. */
	if (!entry->is_job)
		entry->job.queued_ns = 0;
	entry->job.run_ns = record->fence.head.time_ns;
	set_ring(jobs, entry, record);
}

static void end_entry(struct jobs *jobs, const struct drm_fence *record, uint32_t flags)
{
	struct entry *entry = find_entry(jobs, record);

	if (!entry) {
		jobs->counts.unseen++;
		return;
	}
	if (entry->place == ENDED)
		return; /* its fence was reported already */
	entry->job.done_ns = record->head.time_ns;
	entry->job.flags |= flags;
	finish(jobs, entry);
}

static void on_done(struct jobs *jobs, const void *record)
{
	end_entry(jobs, record, 0);
}

static void on_retired(struct jobs *jobs, const void *record)
{
	end_entry(jobs, record, JOB_ENDED_BEFORE);
}

static void on_init(struct jobs *jobs, const void *data)
{
	const struct drm_fence *record = data;
	struct entry *entry = begin_entry(jobs, record);

	use_context(jobs, record->context);
	if (!entry)
		return;
	entry->job.queued_ns = record->head.time_ns;
	set_thread(&entry->job, record);
}

static void on_emit(struct jobs *jobs, const void *data)
{
	const struct drm_fence *record = data;
	struct entry *entry = find_entry(jobs, record);

	if (!entry)
		entry = open_entry(jobs, record);
	if (!entry || entry->place == ENDED || entry->is_job)
		return;
	if (!entry->job.tid)
		set_thread(&entry->job, record);
	entry->job.run_ns = record->head.time_ns;
}

static void on_signaled(struct jobs *jobs, const void *data)
{
	const struct drm_fence *record = data;
	struct entry *entry = find_entry(jobs, record);

	/* Most are fences that were created before the recording, or that are not jobs. */
	if (entry && is_open(entry))
		end_entry(jobs, record, 0);
}

/* Returns the slot for a context's names: its own, or the least recently used one. */
static uint32_t place_of_names(struct jobs *jobs, uint64_t context, bool nameless)
{
	const uint32_t known = use_context(jobs, context);
	uint32_t index;

	if (known != NOWHERE && (known >= MAX_NAMES) == nameless)
		return known;
	index = jobs->contexts[MAX_CONTEXTS + nameless].next;
	if (hash_map_get(&jobs->by_context, jobs->contexts[index].number, NOWHERE) == index)
		hash_map_remove(&jobs->by_context, jobs->contexts[index].number, NULL);
	take_from_circle(jobs, index);
	use_last(jobs, index);
	return index;
}

static void on_names(struct jobs *jobs, const void *data)
{
	const struct drm_timeline *record = data;
	struct names names;
	uint32_t index;

	copy_name(names.driver, record->driver);
	copy_name(names.timeline, record->timeline);
	index = place_of_names(jobs, record->context, is_composed(names.driver));
	jobs->contexts[index].number = (uint32_t)record->context;
	if (index < MAX_NAMES)
		jobs->names[index] = names;
	/* Without memory, the context has no names. */
	hash_map_put(&jobs->by_context, (uint32_t)record->context, index);
}

static void on_wait(struct jobs *jobs, const void *record)
{
	(void)jobs, (void)record; /* waits concern a thread, not a job */
}

static const struct {
	size_t size;
	void (*take)(struct jobs *jobs, const void *record);
} kinds[] = {
	[DRM_RECORD_QUEUED] = {sizeof(struct drm_job), on_queued},
	[DRM_RECORD_RUN] = {sizeof(struct drm_job), on_run},
	[DRM_RECORD_DONE] = {sizeof(struct drm_fence), on_done},
	[DRM_RECORD_RETIRED] = {sizeof(struct drm_fence), on_retired},
	[DRM_RECORD_INIT] = {sizeof(struct drm_fence), on_init},
	[DRM_RECORD_EMIT] = {sizeof(struct drm_fence), on_emit},
	[DRM_RECORD_SIGNALED] = {sizeof(struct drm_fence), on_signaled},
	[DRM_RECORD_WAIT_START] = {sizeof(struct drm_fence), on_wait},
	[DRM_RECORD_WAIT_END] = {sizeof(struct drm_fence), on_wait},
	[DRM_RECORD_TIMELINE] = {sizeof(struct drm_timeline), on_names},
};

void jobs_take(struct jobs *jobs, const void *record, size_t size)
{
	const struct kernel_head *head = record;

	if (size < sizeof(*head) || head->kind >= ARRAY_COUNT(kinds) || !kinds[head->kind].take ||
	    size < kinds[head->kind].size)
		jobs->counts.malformed++;
	else
		kinds[head->kind].take(jobs, record);
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct jobs *jobs_new(jobs_on_job on_job, void *context)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	jobs->on_job = on_job;
	jobs->context = context;
	for (int place = 0; place < PLACES; place++)
		jobs->places[place] = (struct entries){NOWHERE, NOWHERE, 0};
	for (uint32_t i = 0; i < MAX_JOBS_OPEN; i++)
		put_last(jobs, &jobs->entries[i], FREE);
	for (uint32_t i = MAX_CONTEXTS; i < MAX_CONTEXTS + 2; i++)
		jobs->contexts[i].previous = jobs->contexts[i].next = i;
	for (uint32_t i = 0; i < MAX_CONTEXTS; i++)
		use_last(jobs, i);
	return jobs;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	hash_map_fini(&jobs->by_fence);
	hash_map_fini(&jobs->by_context);
	free(jobs);
}

void jobs_end(struct jobs *jobs)
{
	while (jobs->places[MADE].first != NOWHERE)
		release(jobs, &jobs->entries[jobs->places[MADE].first]);
	while (jobs->places[OPEN].first != NOWHERE) {
		struct entry *entry = &jobs->entries[jobs->places[OPEN].first];

		deliver_job(jobs, &entry->job);
		release(jobs, entry);
	}
}

const struct jobs_counts *jobs_counted(const struct jobs *jobs)
{
	return &jobs->counts;
}
