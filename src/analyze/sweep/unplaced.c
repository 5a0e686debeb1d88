/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/unplaced.c - launches in flight that name no described queue
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     these launches; the launches of commands in the account
 * Gives:    to the accounts of devices: since when a command may be in flight
 * Owns:     the launches
 * Fails:    -ENOMEM
 * Why:      only a command's row names the queue in files of other tools. A recording that was cut
 *           ends with launches whose commands ran later. Such a launch may be of any device to
 *           which its process launches, but not of one to which a later launch is known.
 */
#include "analyze/sweep/untimed.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "base/array.h"
#include "base/number.h"

void sweep_unplaced_fini(struct sweep_unplaced *unplaced)
{
	free(unplaced->launches);
	free(unplaced->users);
	pair_map_fini(&unplaced->users_index);
}

int sweep_unplaced_add(struct sweep_unplaced *unplaced, uint32_t process, uint64_t enter)
{
	return array_append(unplaced->launches, unplaced->capacity, unplaced->count,
			    (struct unplaced_launch){process, enter});
}

int sweep_unplaced_note_user(struct sweep_unplaced *unplaced, uint32_t process, size_t device,
			     uint64_t enter)
{
	const uint32_t index =
		pair_map_add(&unplaced->users_index, process, device, unplaced->users,
			     unplaced->users_capacity, unplaced->users_count,
			     (struct device_user){.process = process, .device = (uint32_t)device});
	struct device_user *user;

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	user = &unplaced->users[index];
	user->latest_enter = larger(user->latest_enter, enter);
	return 0;
}

static int compare_launches(const void *left, const void *right)
{
	const struct unplaced_launch *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->enter > b->enter) - (a->enter < b->enter);
}

static void place_earliest(const struct sweep_unplaced *unplaced, const struct device_user *user,
			   struct account *account)
{
	const struct unplaced_launch latest = {user->process, user->latest_enter};
	const size_t first = LOWER_BOUND(unplaced->count, i,
					 compare_launches(&unplaced->launches[i], &latest) <= 0);

	if (first < unplaced->count && unplaced->launches[first].process == user->process)
		account_in_flight(account, unplaced->launches[first].enter);
}

void sweep_unplaced_place(struct sweep_unplaced *unplaced, struct analysis *analysis)
{
	if (unplaced->count)
		qsort(unplaced->launches, unplaced->count, sizeof(*unplaced->launches),
		      compare_launches);
	for (size_t i = 0; i < unplaced->users_count; i++)
		place_earliest(unplaced, &unplaced->users[i],
			       &analysis->devices[unplaced->users[i].device].account);
}
