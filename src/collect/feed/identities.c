/* SPDX-License-Identifier: MIT
 *
 * collect/feed/identities.c - which rows of another recorder are ours, and the numbers of their
 * commands in our recording
 *
 * Runs in:  the recorder
 * Gets:     processes, their numbers of commands in the other recording, times of pauses
 * Gives:    numbers that no two commands of a process share
 * Owns:     a row for each process that was taken over
 * Fails:    after 8192 attachments of a process a command has no number
 * Why:      Recorders and attachments come and go while a process runs, so a fixed part of the
 *           number for each of both runs out. A number for each pair that occurs does not.
 */
#include "collect/feed/identities.h"

#include <stdlib.h>

#include "base/array.h"
#include "collect/correlation.h"

void feed_identities_init(struct feed_identities *identities)
{
	*identities = (struct feed_identities){0};
	hash_map_init(&identities->origins);
	hash_map_init(&identities->by_id);
}

void feed_identities_fini(struct feed_identities *identities)
{
	hash_map_fini(&identities->origins);
	hash_map_fini(&identities->by_id);
	free(identities->processes);
	*identities = (struct feed_identities){0};
}

struct taken_process *feed_identities_find(const struct feed_identities *identities, uint32_t id)
{
	const size_t place = (size_t)hash_map_get(&identities->by_id, id, 0);

	return place ? &identities->processes[place - 1] : NULL;
}

struct taken_process *feed_identities_add(struct feed_identities *identities, uint32_t id,
					  uint32_t pid, uint32_t uid)
{
	const struct taken_process added = {.pid = pid, .uid = uid, .id = id};
	struct taken_process *process = feed_identities_find(identities, id);

	if (process)
		return process;
	if (array_append(identities->processes, identities->capacity, identities->count, added))
		return NULL;
	if (hash_map_put(&identities->by_id, id, identities->count)) {
		identities->count--;
		return NULL;
	}
	return &identities->processes[identities->count - 1];
}

bool feed_identities_translate(struct feed_identities *identities, uint32_t process, uint32_t place,
			       uint64_t correlation, uint64_t *ret_correlation)
{
	const uint64_t key = (uint64_t)process << 32 |
			     (uint64_t)(place & 0x1ffff) << CORRELATION_ORIGIN_BITS |
			     correlation_origin(correlation);
	const uint64_t *known = hash_map_find(&identities->origins, key);
	struct taken_process *owner;
	uint64_t number;

	if (known) {
		number = *known;
	} else {
		owner = feed_identities_find(identities, process);
		if (!owner || owner->origins == CORRELATION_TAKEN_OVER ||
		    hash_map_put(&identities->origins, key, owner->origins))
			return false;
		number = owner->origins++;
	}
	*ret_correlation = correlation_of_taken_over(correlation, (uint32_t)number);
	return true;
}

static struct feed_pause *last_pause(struct taken_process *process)
{
	return process->pauses_count ? &process->pauses[process->pauses_count - 1] : NULL;
}

void taken_process_want(struct taken_process *process, bool is_wanted, uint64_t time)
{
	struct feed_pause *last = last_pause(process);
	const bool is_paused = last && last->end == UINT64_MAX;

	if (is_wanted == !is_paused)
		return;
	if (is_wanted) {
		last->end = time;
		return;
	}
	if (process->pauses_count == FEED_PAUSES) {
		for (uint32_t i = 1; i < FEED_PAUSES; i++)
			process->pauses[i - 1] = process->pauses[i];
		process->pauses_count--;
	}
	process->pauses[process->pauses_count++] = (struct feed_pause){time, UINT64_MAX};
}

bool feed_identities_is_paused(const struct feed_identities *identities, uint32_t process,
			       uint64_t time, uint64_t since)
{
	const struct taken_process *found = feed_identities_find(identities, process);

	for (uint32_t i = 0; found && i < found->pauses_count; i++)
		if (time >= found->pauses[i].begin + since && time < found->pauses[i].end)
			return true;
	return false;
}
