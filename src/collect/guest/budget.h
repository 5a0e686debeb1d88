/* SPDX-License-Identifier: MIT
 *
 * collect/guest/budget.h - how much memory the recorder spends on one guest
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/quota.h"

/* Memory limits of one guest. All code that keeps something for a guest's record asks here first.
 * Otherwise a program that describes devices and kernels without end would use up the recorder's
 * memory. */
struct guest_budget {
	struct quota *user;     /* borrowed; shared by all guests of the user; NULL: no limit */
	uint64_t kept;          /* bytes charged to the user until the recording ends */
	struct quota described; /* part of kept: everything but stacks */
	struct quota names;     /* part of kept: names of ranges */
	struct quota held;      /* bytes charged until the guest ends: id tables, pending rows */
	struct quota stacks;    /* part of held: tables of stacks */
	struct quota contents;  /* part of held: incomplete contents */
};

void guest_budget_init(struct guest_budget *budget, struct quota *user);
/* Releases the bytes that are charged until the guest ends. */
void guest_budget_fini(struct guest_budget *budget);

/* Whether there is room for bytes that stay until the recording ends. They are charged afterwards
 * by guest_budget_keep, because most texts are known already and cost nothing. */
bool guest_budget_has(const struct guest_budget *budget, uint64_t bytes);
void guest_budget_keep(struct guest_budget *budget, uint64_t bytes);

/* Charges bytes that stay until the guest ends. False: no room. */
bool guest_budget_hold(struct guest_budget *budget, uint64_t bytes);
/* Charges bytes that are allocated already; never refuses. */
void guest_budget_charge(struct guest_budget *budget, uint64_t bytes);
void guest_budget_release(struct guest_budget *budget, uint64_t bytes);

/* guest_budget_hold for one of the two parts, `stacks` or `contents`. */
bool guest_budget_hold_part(struct guest_budget *budget, struct quota *part, uint64_t bytes);
void guest_budget_release_part(struct guest_budget *budget, struct quota *part, uint64_t bytes);
