/* SPDX-License-Identifier: MIT
 *
 * collect/counter/sampled_processes.c - the list of processes whose counters are read
 *
 * Runs in:  the main thread adds and removes; samplers' threads read
 * Gets:     pids
 * Gives:    changes of each slot, to samplers
 * Owns:     the list
 * Fails:    the counters of a 1025th process are not read
 * Why slots: a source keeps the files of a process open, in the process's slot. Each slot has a
 *           generation number, because the pid alone may be reused for another process.
 */
#include "collect/counter/sampled_processes.h"

void tracked_init(struct tracked *tracked)
{
	pthread_mutex_init(&tracked->lock, NULL);
}

void tracked_fini(struct tracked *tracked)
{
	pthread_mutex_destroy(&tracked->lock);
}

static size_t free_place(const struct tracked *tracked)
{
	for (size_t i = 0; i < tracked->count; i++)
		if (!tracked->places[i].pid)
			return i;
	return tracked->count;
}

size_t tracked_add(struct tracked *tracked, uint32_t pid, uint32_t process, uint64_t since_ns)
{
	size_t place;

	pthread_mutex_lock(&tracked->lock);
	place = free_place(tracked);
	if (place < MAX_TRACKED) {
		tracked->places[place] =
			(struct tracked_place){.pid = pid,
					       .generation = ++tracked->last_generation,
					       .process = process,
					       .since_ns = since_ns};
		tracked->count += place == tracked->count;
		tracked->version++;
	}
	pthread_mutex_unlock(&tracked->lock);
	return place;
}

void tracked_remove(struct tracked *tracked, size_t place)
{
	pthread_mutex_lock(&tracked->lock);
	tracked->places[place].pid = 0;
	tracked->version++;
	pthread_mutex_unlock(&tracked->lock);
}

void tracked_look(struct tracked *tracked, struct tracked_view *view,
		  void (*changed)(void *context, size_t place), void *context)
{
	if (view->version == atomic_load(&tracked->version))
		return;
	pthread_mutex_lock(&tracked->lock);
	for (size_t i = 0; i < tracked->count; i++) {
		struct tracked_place *seen = &view->places[i];
		const struct tracked_place *now = &tracked->places[i];
		bool is_other = seen->pid != now->pid || seen->generation != now->generation;

		*seen = *now;
		if (is_other)
			changed(context, i);
	}
	view->count = tracked->count;
	view->version = tracked->version;
	pthread_mutex_unlock(&tracked->lock);
}

uint64_t tracked_raise_peak(struct tracked *tracked, const struct tracked_view *view, size_t place,
			    uint64_t bytes)
{
	struct tracked_peak *peak = &tracked->peaks[place];
	uint32_t generation = view->places[place].generation;

	if (peak->generation != generation || peak->bytes < bytes)
		*peak = (struct tracked_peak){.generation = generation, .bytes = bytes};
	return peak->bytes;
}
