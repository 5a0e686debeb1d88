/* SPDX-License-Identifier: MIT
 *
 * collect/guest/budget.c - how much memory the recorder spends on one guest
 *
 * Runs in:  the recorder
 * Gets:     sizes of the data that the recorder must keep for a guest's records
 * Gives:    the answer whether there is room
 * Owns:     nothing
 * Fails:    without room the entity is not described; calls and commands are still recorded
 * Why:      A real program describes some thousands of devices, queues and kernels, with 100 KiB of
 *           text. The limits are about a hundred times that, and they keep one guest from filling
 *           the machine's memory.
 */
#include "collect/guest/budget.h"

enum {
	DESCRIBED_BYTES_MAX = 32 << 20,
	NAME_BYTES_MAX = 32 << 20,
	HELD_BYTES_MAX = 512 << 20,
	STACK_BYTES_MAX = 256 << 20,
	CONTENT_BYTES_MAX = 64 << 20
};

void guest_budget_init(struct guest_budget *budget, struct quota *user)
{
	*budget = (struct guest_budget){
		.user = user,
		.described = {.limit = DESCRIBED_BYTES_MAX},
		.names = {.limit = NAME_BYTES_MAX},
		.held = {.limit = HELD_BYTES_MAX},
		.stacks = {.limit = STACK_BYTES_MAX},
		.contents = {.limit = CONTENT_BYTES_MAX},
	};
}

void guest_budget_fini(struct guest_budget *budget)
{
	guest_budget_release(budget, budget->held.used);
}

bool guest_budget_has(const struct guest_budget *budget, uint64_t bytes)
{
	return quota_has(&budget->described, bytes) && quota_has(budget->user, bytes);
}

void guest_budget_keep(struct guest_budget *budget, uint64_t bytes)
{
	budget->kept += bytes;
	quota_charge(budget->user, bytes);
}

bool guest_budget_hold(struct guest_budget *budget, uint64_t bytes)
{
	if (!quota_take(&budget->held, bytes))
		return false;
	if (quota_take(budget->user, bytes))
		return true;
	quota_give_back(&budget->held, bytes);
	return false;
}

void guest_budget_charge(struct guest_budget *budget, uint64_t bytes)
{
	quota_charge(&budget->held, bytes);
	quota_charge(budget->user, bytes);
}

void guest_budget_release(struct guest_budget *budget, uint64_t bytes)
{
	quota_give_back(&budget->held, bytes);
	quota_give_back(budget->user, bytes);
}

bool guest_budget_hold_part(struct guest_budget *budget, struct quota *part, uint64_t bytes)
{
	if (!quota_take(part, bytes))
		return false;
	if (guest_budget_hold(budget, bytes))
		return true;
	quota_give_back(part, bytes);
	return false;
}

void guest_budget_release_part(struct guest_budget *budget, struct quota *part, uint64_t bytes)
{
	quota_give_back(part, bytes);
	guest_budget_release(budget, bytes);
}
