/* SPDX-License-Identifier: MIT
 *
 * analyze/account/overlap.h - which kernels, copies and processes a device executed at the same
 * time
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"
#include "base/pair_map.h"

/* A process that used the device. */
struct overlap_user {
	uint32_t process; /* index into the analysis */
	uint32_t active;
	uint64_t commands, share_ns; /* share_ns: part of the device's busy time */
	uint64_t waited_until;       /* its waits are counted up to here */
	uint64_t waited_ns; /* it had work ready while another process alone used the device */
	uint64_t kept_ns; /* the opposite: time for which others waited for it, summed over them */
};

/* An interval in which one process alone executed. */
struct overlap_stretch {
	uint64_t begin, end;
	uint32_t user;
};
enum {
	OVERLAP_STRETCHES = 4096
}; /* intervals kept; a wait through more of them is counted too short */

struct overlap_member {
	uint64_t ended;
	uint32_t class, user;
};

struct overlap {
	uint64_t from, to; /* the window; to may be UINT64_MAX until overlap_finish */
	/* complete after overlap_finish */
	uint64_t kernels_ns, copies_ns; /* kernels and no copies, copies and no kernels */
	uint64_t both_ns;
	uint64_t several_ns;   /* two commands or more */
	uint64_t processes_ns; /* commands of two processes or more */
	uint64_t waited_ns;    /* sum over all users */

	struct overlap_user *users;
	size_t users_count, users_capacity;
	struct pair_map user_rows;      /* (process index, 0) -> index */
	struct overlap_member *members; /* in execution: a heap, the earliest end on top */
	size_t members_count, members_capacity;
	uint64_t active[ACCOUNT_CLASS_COUNT];
	size_t active_users;
	uint32_t active_sum; /* exclusive or of the active users' indices: the index if one is
				active */
	/* owned; a ring; the newest is stretches[(stretches_count - 1) % OVERLAP_STRETCHES] */
	struct overlap_stretch *stretches;
	uint64_t stretches_count;
	uint64_t cursor;
};

void overlap_init(struct overlap *overlap, uint64_t from, uint64_t to);
void overlap_fini(struct overlap *overlap); /* NULL-safe */

/* Commands come in the order of their start. -ENOMEM. */
int overlap_add(struct overlap *overlap, uint64_t started, uint64_t ended, enum account_class class,
		uint32_t process);
/* Counts the wait of a command that was ready since `since`. Call before its overlap_add. Each
 * interval counts once per process: the wait of a command begins at the earliest where the
 * process's previous command started. -ENOMEM. */
int overlap_wait(struct overlap *overlap, uint64_t since, uint64_t started, uint32_t process);
/* Adds a command's share of the device's busy time to its process. */
void overlap_share(struct overlap *overlap, uint32_t process, uint64_t share_ns);
void overlap_finish(struct overlap *overlap, uint64_t to);
