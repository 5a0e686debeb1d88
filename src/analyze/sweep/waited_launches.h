/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/waited_launches.h - launches that waited until the device had done everything
 */
#pragma once

#include "analyze/sweep/sweep.h"

/* Sets command->waited if its launch waited until the device was idle. Comes before the account
 * adds the command. -ENOMEM. */
int sweep_find_waited(struct sweep *sweep, const struct joined *joined, uint32_t path,
		      struct account_command *command);
void sweep_add_waited(struct analysis_waited *row, const struct account_idle *idle);
/* Counts the thread's last launch if this call is the first one that waits for it. */
void sweep_count_waited(struct sweep *sweep, size_t thread, const struct event_api *row);
