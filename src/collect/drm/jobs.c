/* SPDX-License-Identifier: MIT
 *
 * collect/drm/jobs.c - jobs of GPUs, put together from what the kernel tells of their states
 *
 * Runs in:  the recorder's thread that reads the kernel's records; knows nothing of where they come from
 * Gets:     records, some of which may be missing   Gives: jobs
 * Owns:     what is open: 3 MB, however much is going on
 * Fails:    what does not fit together is counted; what has been open longest makes room, a fence of which no
 *           scheduler has told before any job: many are never signaled
 * Why:      the kernel names a job by its fence, and its scheduler makes two more, the driver a third. A fence is a job
 *           of its own only where its driver uses no scheduler: else each job would be told three times. What a
 *           scheduler says of a job and what its fence says are the same, so that one may be lost.
 */
#include "collect/drm/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

enum {
	ENDED_MOST =
		256, /* of jobs that have ended, to know what comes late: records of several processors */
	/* Contexts: more than src/bpf/drm.bpf.c remembers to have told, so that it tells again what is forgotten here. */
	NAMES_MOST = 8192,
	COMPOSED_MOST = 8192,
	CONTEXTS_MOST = NAMES_MOST + COMPOSED_MOST,
	DRIVERS_MOST = 16,
	NOWHERE = UINT32_MAX
};

/* MADE: open, too, a fence that may be no job. */
enum place { FREE, MADE, OPEN, ENDED, PLACES };

struct entry {
	struct job job;
	bool is_job;
	enum place place;
	uint32_t previous, next; /* of its place; NOWHERE: none */
};

/* Entries in the order in which they came. */
struct entries {
	uint32_t first, last, count;
};

struct names {
	char driver[DRM_NAME_BYTES], timeline[DRM_NAME_BYTES];
};

/* In a circle by last use, of those with names or of the composed ones; between the last and the first is the circle's
 * own, which is no context. */
struct context {
	uint32_t number;
	uint32_t previous, next;
};

struct jobs {
	jobs_on_job on_job;
	void *context;
	struct entry entries[JOBS_OPEN_MOST];
	struct entries places[PLACES];
	struct hash_map by_fence; /* index into entries */
	/* First those with names, then composed ones: of them it is only known that they are. */
	struct context contexts[CONTEXTS_MOST + 2];
	struct names names[NAMES_MOST];
	struct hash_map by_context;                 /* index into contexts */
	char drivers[DRIVERS_MOST][DRM_NAME_BYTES]; /* those with a scheduler */
	size_t drivers_count;
	struct jobs_counts counts;
};

/* Fences that only stand for others. */
static const char *const composed[] = {"drm_sched", "dma_fence_array", "dma_fence_chain",
				       "dma-fence"};

/* ---- entries ----------------------------------------------------------------------------------- */

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

static void move(struct jobs *jobs, struct entry *entry, enum place place)
{
	take_out(jobs, entry);
	put_last(jobs, entry, place);
}

/* Two fences of one key are told apart by who looks; the later one is found. */
static uint64_t key_of(uint64_t context, uint64_t number)
{
	return context * UINT64_C(0x9e3779b97f4a7c15) ^ number;
}

static struct entry *find(struct jobs *jobs, const struct drm_fence *fence)
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
	move(jobs, entry, FREE);
}

/* ---- telling ----------------------------------------------------------------------------------- */

static void put_in_order(struct job *job)
{
	/* The clock that can be read in an interrupt may go back by some ns from one processor to the next. */
	if (job->run_ns && job->run_ns < job->queued_ns)
		job->run_ns = job->queued_ns;
	if (job->done_ns && job->done_ns < job->run_ns)
		job->done_ns = job->run_ns;
	if (job->done_ns && job->done_ns < job->queued_ns)
		job->done_ns = job->queued_ns;
}

static void tell(struct jobs *jobs, struct job *job)
{
	put_in_order(job);
	jobs->counts.told++;
	jobs->counts.unqueued += !job->queued_ns;
	jobs->on_job(jobs->context, job);
}

/* Of "amdgpu", too, where its fence calls itself "amdgpu_amdkfd_fence". */
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
	return CONTEXTS_MOST + (index >= NAMES_MOST);
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

/* Index of a context that is in use, NOWHERE: its names were never told, or are forgotten. */
static uint32_t use_context(struct jobs *jobs, uint64_t context)
{
	const uint64_t index = hash_map_get(&jobs->by_context, (uint32_t)context, NOWHERE);

	if (index != NOWHERE) {
		take_from_circle(jobs, (uint32_t)index);
		use_last(jobs, (uint32_t)index);
	}
	return (uint32_t)index;
}

/* False: the fence is no job. */
static bool name_fence(struct jobs *jobs, struct job *job)
{
	const uint32_t index = use_context(jobs, job->context);
	const struct names *names;

	if (index == NOWHERE) {
		jobs->counts.unnamed++;
		return false;
	}
	if (index >= NAMES_MOST)
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
	tell(jobs, &entry->job);
	move(jobs, entry, ENDED);
	if (jobs->places[ENDED].count > ENDED_MOST)
		release(jobs, &jobs->entries[jobs->places[ENDED].first]);
}

/* It is not known how it ended, and will not be. */
static void give_up(struct jobs *jobs, struct entry *entry)
{
	if (entry->is_job) {
		jobs->counts.unended++;
		tell(jobs, &entry->job);
	}
	release(jobs, entry);
}

static bool is_open(const struct entry *entry)
{
	return entry->place == MADE || entry->place == OPEN;
}

/* ---- states ------------------------------------------------------------------------------------ */

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
	move(jobs, entry, MADE);
	return entry;
}

/* Of a state that begins something: a fence of this name that is there is an earlier one. */
static struct entry *begin(struct jobs *jobs, const struct drm_fence *fence)
{
	struct entry *entry = find(jobs, fence);

	if (entry && entry->place == ENDED)
		release(jobs, entry);
	else if (entry)
		give_up(jobs, entry);
	return open_entry(jobs, fence);
}

/* Of a state that goes on; NULL: it comes too late, or there is no room. */
static struct entry *go_on(struct jobs *jobs, const struct drm_fence *fence)
{
	struct entry *entry = find(jobs, fence);

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
		move(jobs, entry, OPEN);
	if (jobs->drivers_count < DRIVERS_MOST && !has_scheduler(jobs, entry->job.driver))
		copy_name(jobs->drivers[jobs->drivers_count++], entry->job.driver);
}

static void on_queued(struct jobs *jobs, const void *data)
{
	const struct drm_job *record = data;
	struct entry *entry = find(jobs, &record->fence);

	/* i915 tells twice of a user's job, one right after the other. */
	if (entry && entry->place == OPEN && entry->is_job && !entry->job.run_ns &&
	    entry->job.queued_ns && entry->job.tid == record->fence.head.tid)
		return;
	/* Its fence has been made, by who now queues it or by a thread that does that for others. */
	if (!entry || entry->is_job)
		entry = begin(jobs, &record->fence);
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
	/* Made, but nobody saw it queued. */
	if (!entry->is_job)
		entry->job.queued_ns = 0;
	entry->job.run_ns = record->fence.head.time_ns;
	set_ring(jobs, entry, record);
}

static void end(struct jobs *jobs, const struct drm_fence *record, uint32_t flags)
{
	struct entry *entry = find(jobs, record);

	if (!entry) {
		jobs->counts.unseen++;
		return;
	}
	if (entry->place == ENDED)
		return; /* by its fence */
	entry->job.done_ns = record->head.time_ns;
	entry->job.flags |= flags;
	finish(jobs, entry);
}

static void on_done(struct jobs *jobs, const void *record)
{
	end(jobs, record, 0);
}

static void on_retired(struct jobs *jobs, const void *record)
{
	end(jobs, record, JOB_ENDED_BEFORE);
}

static void on_init(struct jobs *jobs, const void *data)
{
	const struct drm_fence *record = data;
	struct entry *entry = begin(jobs, record);

	use_context(jobs, record->context);
	if (!entry)
		return;
	entry->job.queued_ns = record->head.time_ns;
	set_thread(&entry->job, record);
}

static void on_emit(struct jobs *jobs, const void *data)
{
	const struct drm_fence *record = data;
	struct entry *entry = find(jobs, record);

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
	struct entry *entry = find(jobs, record);

	/* Most are of fences that were made before anybody listened, or of those that are no job. */
	if (entry && is_open(entry))
		end(jobs, record, 0);
}

/* Where a context's names go: where they are, or in the place of what was not used for longest. */
static uint32_t place_of_names(struct jobs *jobs, uint64_t context, bool nameless)
{
	const uint32_t known = use_context(jobs, context);
	uint32_t index;

	if (known != NOWHERE && (known >= NAMES_MOST) == nameless)
		return known;
	index = jobs->contexts[CONTEXTS_MOST + nameless].next;
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
	if (index < NAMES_MOST)
		jobs->names[index] = names;
	/* Without memory it has no name. */
	hash_map_put(&jobs->by_context, (uint32_t)record->context, index);
}

static void on_wait(struct jobs *jobs, const void *record)
{
	(void)jobs, (void)record; /* of a thread, and not of the job */
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

/* ---- the whole --------------------------------------------------------------------------------- */

struct jobs *jobs_new(jobs_on_job on_job, void *context)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	jobs->on_job = on_job;
	jobs->context = context;
	hash_map_init(&jobs->by_fence);
	hash_map_init(&jobs->by_context);
	for (int place = 0; place < PLACES; place++)
		jobs->places[place] = (struct entries){NOWHERE, NOWHERE, 0};
	for (uint32_t i = 0; i < JOBS_OPEN_MOST; i++)
		put_last(jobs, &jobs->entries[i], FREE);
	for (uint32_t i = CONTEXTS_MOST; i < CONTEXTS_MOST + 2; i++)
		jobs->contexts[i].previous = jobs->contexts[i].next = i;
	for (uint32_t i = 0; i < CONTEXTS_MOST; i++)
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

		tell(jobs, &entry->job);
		release(jobs, entry);
	}
}

const struct jobs_counts *jobs_counted(const struct jobs *jobs)
{
	return &jobs->counts;
}
